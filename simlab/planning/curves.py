"""Fit curves of a measure and of money over the sizes of a family of designs, for sizes that were not simulated.

A share is a straight line on the probit scale over the logarithm of the size, as the power of a test of means nearly is
(its standard error falls with the root of the size until what raters differ in is left). Money is a straight line over
the size itself. Call `curves` with the measures of the designs that were tried, which returns a `Curve` for each
family.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from simlab.answers.plan import SIZE, Figure
from simlab.planning.bench import figure, is_within_limits, measure_value
from simlab.planning.terms import Design, MeasuredDesign, PlanRequest, family, replace_setting, size_of
from simlab.types import Estimate, Floats

SURE = 1.96
UNKNOWN = Figure(value=math.nan, mcse=math.nan, low=math.nan, high=math.nan, worlds=0)
LEAST_ERROR = 1e-3
FARTHEST = 100.0
"""Largest size for which a line is used, as a multiple of the largest size that was simulated."""


class WeightedLine(NamedTuple):
    """A weighted straight line `a + b x`, the covariance of a and b, and the least and the greatest size."""

    at: Floats
    covariance: Floats
    reach: tuple[float, float]

    def value(self, x: float) -> tuple[float, float]:
        """Return the line's value at x and its standard error."""
        row = np.array([1.0, x])
        return float(row @ self.at), float(math.sqrt(max(row @ self.covariance @ row, 0.0)))


class Curve(NamedTuple):
    """Curves of a family: its measure (probit over log size) and its money (over size), by its size.

    `rise` is None where one size was looked at: nothing says how the measure rises.
    """

    design: Design
    rise: WeightedLine | None
    money: WeightedLine
    largest: Figure

    def figure(self, size: float) -> Figure:
        """Return the measure (a share) at a size, with its 95 % interval."""
        if self.rise is None:
            return UNKNOWN
        at, error = self.rise.value(math.log(size))
        value, low, high = (_share(one) for one in (at, at - SURE * error, at + SURE * error))
        return Figure(value=value, mcse=_slope(at) * error, low=low, high=high, worlds=0)

    def cost(self, size: float) -> float:
        """Return the money that a size takes."""
        return self.money.value(size)[0]

    def size_for(self, money: float) -> float:
        """Return the size that this amount of money pays; NaN where money does not rise with size."""
        a, b = self.money.at
        return float((money - a) / b) if b > 0 else math.nan

    def find_size(self, least: float) -> tuple[float, float, float]:
        """Return the size at which the share is `least`, with a 95 % interval (Fieller 1954); infinite: none is."""
        if self.rise is None:
            return math.nan, math.nan, math.nan
        return _crossing(self.rise, _probit(least))

    def make_design(self, size: float) -> Design:
        """Return the design of the family that has a size."""
        return set_size(self.design, int(size))


def curves(tried: Mapping[Design, MeasuredDesign], measure: str, wanted: PlanRequest) -> list[Curve]:
    """Fit a curve of `measure` to each family of designs that were tried, except designs often cut off."""
    groups: dict[Design, list[Design]] = {}
    for design, looked in tried.items():
        if size_of(design) is not None and measure in looked and "money" in looked and _end_probability(looked, wanted):
            groups.setdefault(family(design), []).append(design)
    return [curve({design: tried[design] for design in designs}, measure) for designs in groups.values()]


def curve(tried: Mapping[Design, MeasuredDesign], measure: str) -> Curve:
    """Fit one family's curve; `tried` holds at least one size of it."""
    designs = list(tried)
    sizes = np.array([float(size_of(design) or 1) for design in designs])
    figures = [figure(measure, tried[design][measure]) for design in designs]
    money = np.array([measure_value(tried[design], "money") for design in designs])
    rise = _rise(sizes, [tried[design][measure] for design in designs], figures) if len(sizes) > 1 else None
    return Curve(designs[0], rise, _money(sizes, money), figures[int(np.argmax(sizes))])


def set_size(design: Design, size: int) -> Design:
    """Return a design with another size."""
    return replace_setting(design, SIZE, size)


def _end_probability(looked: MeasuredDesign, wanted: PlanRequest) -> bool:
    # Beyond the money a design is as good as one within it, as long as its campaigns are not cut.
    unlimited = PlanRequest(wanted.targets, wanted.limits.model_copy(update={"money": None}), wanted.smallest)
    return is_within_limits(looked, unlimited)


def _rise(sizes: Floats, estimates: Sequence[Estimate], figures: Sequence[Figure]) -> WeightedLine:
    """Fit probits over log sizes by weighted least squares; designs met the same worlds, so that their errors agree.

    The covariance is that of the line's influence values by world. Scatter beyond the errors widens it.
    """
    slopes = np.array([_slope(_probit(_clip_share(one))) for one in figures])
    errors = np.array([_error(one) for one in figures]) / slopes
    y = np.array([_probit(_clip_share(one)) for one in figures])
    at, solve = _solve_line(np.log(sizes), y, errors)
    shared = np.zeros((max(len(estimate.influence) for estimate in estimates), 2))
    alone = np.zeros((2, 2))
    for k, (estimate, shown) in enumerate(zip(estimates, figures, strict=True)):
        n = len(estimate.influence)
        if n > 1 and shown.mcse > 0:
            shared[:n] += np.outer(np.asarray(estimate.influence) / math.sqrt(n * (n - 1)) / slopes[k], solve[:, k])
        else:
            alone += np.outer(solve[:, k], solve[:, k]) * errors[k] ** 2
    freedom = len(y) - 2
    excess = float(np.sum(((y - at[0] - at[1] * np.log(sizes)) / errors) ** 2)) / freedom if freedom > 0 else 1.0
    # Points that happen to lie close to a line do not tell it better than their errors allow.
    return WeightedLine(at, (shared.T @ shared + alone) * max(excess, 1.0), (float(sizes.min()), float(sizes.max())))


def _solve_line(x: Floats, y: Floats, errors: Floats) -> tuple[Floats, Floats]:
    """Return the weighted least-squares line `(a, b)`, and the matrix `[2, point]` that makes it of `y`."""
    rows = np.column_stack([np.ones_like(x), x])
    weights = 1 / errors**2
    inverse: Floats = np.linalg.pinv(rows.T @ (weights[:, None] * rows)).astype(float)
    solve: Floats = inverse @ (rows.T * weights)
    return solve @ y, solve


def _money(sizes: Floats, money: Floats) -> WeightedLine:
    """Fit money over size; designs met the same documents, so that its errors do not matter here."""
    reach = (float(sizes.min()), float(sizes.max()))
    if len(np.unique(sizes)) > 1:
        # Weights as if errors grew with the size, as those of money do.
        return WeightedLine(_solve_line(sizes, money, np.maximum(sizes, 1.0))[0], np.zeros((2, 2)), reach)
    # What one size costs is all by the document, unless another says otherwise.
    return WeightedLine(np.array([0.0, float(money.mean() / sizes.mean())]), np.zeros((2, 2)), reach)


def _crossing(line: WeightedLine, level: float) -> tuple[float, float, float]:
    """Return where a line over log size has a level, and the interval of sizes at which it might."""
    a, b = line.at
    far = line.reach[1] * FARTHEST
    at = _size((level - a) / b, far) if b > 0 else math.inf
    (vaa, vab), (_, vbb) = line.covariance
    t = SURE**2
    # (a + b x - level)^2 <= t (vaa + 2 vab x + vbb x^2), solved for x.
    quadratic, linear, constant = b**2 - t * vbb, 2 * ((a - level) * b - t * vab), (a - level) ** 2 - t * vaa
    root = linear**2 - 4 * quadratic * constant
    # Fieller's interval has no end where the slope may be 0.
    if b <= 0 or quadratic <= 0 or root < 0:
        return at, 0.0, math.inf
    low, high = sorted((-linear + sign * math.sqrt(root)) / (2 * quadratic) for sign in (-1, 1))
    return at, _size(low, far), _size(high, far)


def _size(log_size: float, far: float) -> float:
    return math.exp(log_size) if log_size < math.log(far) else math.inf


def _clip_share(figure: Figure) -> float:
    """Keep a share off 0 and 1, where a probit is infinite: by half a world."""
    half = 0.5 / max(figure.worlds, 1)
    return min(max(figure.value, half), 1 - half)


def _error(figure: Figure) -> float:
    """Return an error of a share that is never 0: worlds that agree do not know it better than all worlds could."""
    value = _clip_share(figure)
    return max(figure.mcse if figure.mcse > 0 else math.sqrt(value * (1 - value) / max(figure.worlds, 1)), LEAST_ERROR)


def _probit(share: float) -> float:
    from scipy.special import ndtri

    return float(ndtri(share))


def _share(at: float) -> float:
    from scipy.special import ndtr

    return float(ndtr(at))


def _slope(at: float) -> float:
    return math.exp(-(at**2) / 2) / math.sqrt(2 * math.pi)


def rank_families(curves: Sequence[Curve], money: float) -> list[Curve]:
    """Order families by their measure for an amount of money, best first; those that it does not pay are left out."""
    paid = [one for one in curves if one.size_for(money) >= 1]
    return sorted(paid, key=lambda one: -_share_at_size(one, one.size_for(money)))


def _share_at_size(curve: Curve, size: float) -> float:
    return curve.largest.value if curve.rise is None else curve.figure(size).value
