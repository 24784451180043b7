"""Solve for the value of a numeric axis from which a measure reaches a target: the inverse of its curve.

Call `solve_curve` with the values of the axis, the measure in each cell and its influence values; it returns a
`Crossing`. The curve is monotone: the cells, weighted by their errors, in isotonic regression (Barlow and others 1972),
and a monotone cubic through them (PCHIP; Fritsch and Butland 1984), over the logarithm of an axis whose values grow by
factors. It rises or falls as the cells do on the whole. The 90 % interval has the percentiles of the crossings of cells
that are moved by their errors, clusters in common. What lies beyond the sweep is infinite. Coverage is simulated in
tests/comparing/test_solving.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np

from simlab.rng import stream
from simlab.types import Floats, InputError

RESAMPLES = 500
"""Random moves of the cells by their errors, from which the interval of a crossing comes."""
LEVEL = 0.9
"""Level of that interval."""
HALVINGS = 40
"""Steps of bisection that locate a crossing between two values of the axis."""
LEAST_CELLS = 3
"""Cells with a value that a curve needs: two show a straight line, and not how well it fits."""

Reach = Literal["crossed", "not_reached", "reached_everywhere"]
"""Whether a target is reached from some value of the axis on, at none of the sweep's values, or at all of them."""
Side = Literal["from", "up_to"]


class Crossing(NamedTuple):
    """Value along an axis at which a target is reached: `side` says whether from `value` on, or up to it.

    `low` and `high` bound it (90 %); an end beyond the sweep is infinite, and so is `value` where it is not crossed.
    `mcse` is the standard error of crossings within the sweep, NaN where these are few. `cells` is the number of cells
    with a value.
    """

    reach: Reach
    side: Side
    value: float
    mcse: float
    low: float
    high: float
    cells: int


def solve_curve(
    x: Floats, value: Floats, influence: Floats, target: float, *, less_is_better: bool = False
) -> Crossing:
    """Estimate from where on `value[cell]`, over ascending `x[cell]`, reaches a target: is as large, or as small.

    `influence[cell, cluster]` are the jackknife influence values of clusters (NaN: there is none). `target` is the
    value to reach: at most it with `less_is_better`, else at least. Raises InputError where fewer than three cells have
    a value.
    """
    known = np.isfinite(value) & np.isfinite(np.asarray(x, float))
    if (cells := int(known.sum())) < LEAST_CELLS:
        raise InputError(
            f"{cells} cells have a value along the axis, and a curve needs {LEAST_CELLS}; sweep more values"
        )
    at, y = np.asarray(x, float)[known], np.asarray(value, float)[known]
    k = np.isfinite(influence).sum(-1, keepdims=True)
    errors = (np.nan_to_num(influence) / np.sqrt(np.where(k > 1, k * (k - 1), np.inf)))[known]
    variance = (errors**2).sum(1)
    # A cell without an error, such as a share of 0, would take all of the weight and pin the curve.
    weight = 1 / np.maximum(variance, max(float(variance.max()) * 1e-3, 1e-30))
    sign = -1.0 if less_is_better else 1.0
    forward, back = _scale(at)
    place = forward(at)
    # Reached from somewhere on, or up to there, as the cells rise or fall on the whole.
    centred = place - np.average(place, weights=weight)
    turned = -1.0 if float(np.sum(weight * centred * sign * y)) < 0 else 1.0
    order = np.argsort(turned * place)
    line = _Line((turned * place)[order], weight[order], sign * target)
    # A fixed stream: the same store has the same interval each time that it is read.
    drawn = stream(0, "solve").standard_normal((errors.shape[1], RESAMPLES))
    moved = y[:, None] + errors @ drawn
    crossing = float(line.crossings((sign * y)[None, order])[0])
    crossings = line.crossings((sign * moved.T)[:, order])
    # Crossings beyond the sweep are infinite, and nothing lies between them and others: no interpolation.
    low, high = np.quantile(crossings, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], method="inverted_cdf")
    first, last = sorted(_apply_if_finite(back, turned * end) for end in (low, high))
    inside = np.array([back(turned * end) for end in crossings if np.isfinite(end)])
    reach: Reach = "crossed" if np.isfinite(crossing) else "not_reached" if crossing > 0 else "reached_everywhere"
    mcse = float(inside.std(ddof=1)) if len(inside) > RESAMPLES / 2 else float("nan")
    return Crossing(
        reach, "from" if turned > 0 else "up_to", _apply_if_finite(back, turned * crossing), mcse, first, last, cells
    )


class _Line(NamedTuple):
    """Ascending places of cells, their weights, and the value to reach from below."""

    place: Floats
    weight: Floats
    target: float

    def crossings(self, y: Floats) -> Floats:
        """Return where the fitted curves of `y[curve, cell]` reach the target: -inf if everywhere, inf if nowhere."""
        from scipy.interpolate import PchipInterpolator

        fitted = self._fit_isotonic(y)
        reached = fitted >= self.target
        # The piece of the curve in which the target is passed, and the cubic there.
        piece = np.clip(reached.argmax(1) - 1, 0, len(self.place) - 2)
        cubic = PchipInterpolator(self.place, fitted, axis=1).c[:, piece, np.arange(len(y))]
        low, high = np.zeros(len(y)), np.diff(self.place)[piece]
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            below = ((cubic[0] * middle + cubic[1]) * middle + cubic[2]) * middle + cubic[3] < self.target
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        crossing = self.place[piece] + high
        return np.asarray(np.where(reached[:, 0], -np.inf, np.where(reached[:, -1], crossing, np.inf)))

    def _fit_isotonic(self, y: Floats) -> Floats:
        """Return the weighted least squares fits that rise: the max-min formula, over the mean of all runs of cells."""
        n = len(self.weight)
        whole = np.concatenate([[0.0], np.cumsum(self.weight)])
        sums = np.concatenate([np.zeros((len(y), 1)), np.cumsum(self.weight * y, axis=1)], axis=1)
        first, last = np.indices((n, n))
        run = np.where(last >= first, whole[last + 1] - whole[first], 1.0)
        mean = np.where(last >= first, (sums[:, last + 1] - sums[:, first]) / run, np.inf)
        # Of the runs from `first` that end at a cell or after it the least mean; of their beginnings the greatest.
        least = np.minimum.accumulate(mean[:, :, ::-1], axis=2)[:, :, ::-1]
        return np.asarray(np.where(first <= last, least, -np.inf).max(1))


def _scale(x: Floats) -> tuple[Callable[[Floats], Floats], Callable[[float], float]]:
    """Return the logarithm and its inverse where values grow by factors more evenly than by steps."""
    if (x > 0).all() and _unevenness(np.log(x)) < _unevenness(x):
        return np.log, lambda place: float(np.exp(place))
    return np.asarray, float


def _apply_if_finite(back: Callable[[float], float], place: float) -> float:
    return back(place) if np.isfinite(place) else float(place)


def _unevenness(x: Floats) -> float:
    gaps = np.diff(x)
    return float(gaps.std() / gaps.mean())
