"""Say which difference between two systems' alphas a planned evaluation can measure.

Three answers: the published epsilon, for which the posteriors of two systems measured alike are independent; the joint
one, where they share the estimate of the metric's rho and eta; and, since both are critical values that a true
difference of that size reaches half the time, the difference that is found with a wanted power.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from simlab.analysis.adequacy.joint import given
from simlab.analysis.adequacy.plans import (
    Plan,
    Planned,
    apart,
    called_adequate,
    check,
    critical,
    drawn,
    each,
    expected,
    fraction,
    other_alpha,
    ravel,
)
from simlab.rng import stream
from simlab.types import Bools, Floats, InputError

QUANTILES = 0.05, 0.25, 0.5, 0.75, 0.95
LENIENCE = 0.01


class Measurable(NamedTuple):
    """Hold the measurable difference; `flipped` says where a metric with rho + eta < 1 was turned round.

    With `counts="drawn"`, `epsilon` is the mean over `n` draws, with its Monte-Carlo standard error and `quantiles`
    `[..., QUANTILES]`; `power` is the share of draws in which a given difference was found, with its error. Where a
    number or an array is wanted, it is epsilon.
    """

    epsilon: Floats
    flipped: Bools
    quantiles: Floats | None = None
    mcse: Floats | None = None
    n: int | None = None
    power: Floats | None = None
    power_mcse: Floats | None = None

    def __float__(self) -> float:
        """Give epsilon of a single setting."""
        return float(self.epsilon)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """Give epsilon of all settings."""
        return np.array(self.epsilon, dtype=dtype, copy=copy)


class Joint(NamedTuple):
    """Hold the joint measurable difference, the bias of a metric that is not the same for both, and what is found.

    `detectable` is the true difference that is found with the wanted power, NaN where no system is that different.
    """

    epsilon: Floats
    bias: Floats
    detectable: Floats


def measurable_difference(
    plan: Plan[ArrayLike],
    *,
    counts: Literal["expected", "drawn"] = "expected",
    level: float = 0.05,
    constrain: bool = False,
    calibration_counts: bool = False,
    difference: float | None = None,
    draws: int = 200,
    seed: int = 0,
) -> Measurable:
    """Return the difference of alphas that is measurable at `level` when two systems are measured alike; all broadcast.

    `epsilon = z(1 - level/2) sqrt(2) s`, s the posterior standard deviation of one system's alpha; 1 by convention with
    neither human nor metric ratings. `n_calibration` doubly rated outputs serve to estimate rho and eta (None: known);
    with `calibration_counts` their human ratings also tell of alpha. `counts="expected"`: every count is its rounded
    expectation; `"drawn"`: counts are drawn, and `difference` asks for the power to find it, the other system being
    better than a system below .5 and worse than one above. Source: von Däniken et al. 2022, sections 3 and 4.

    Raises InputError for a plan that cannot be, fewer than 2 draws, and a `difference` that no other alpha can have.

    >>> measurable_difference(Plan([0, 100], 1000, 0.7, 0.7, 0.6)).epsilon.round(3).tolist()
    [0.109, 0.085]
    """
    checked, flipped = check(plan, level)
    shape, rows = flipped.shape, ravel(checked)
    if counts == "expected":
        epsilon = expected(rows, calibration_counts).epsilon(level, constrain)
        return Measurable(epsilon.reshape(shape), flipped)
    if draws < 2:
        raise InputError(f"draws={draws} is fewer than 2; an error needs at least two draws")
    many = each(rows, lambda x: np.repeat(x, draws))
    rng = stream(seed, "measurable_difference")
    first = drawn(rng, many, calibration_counts)
    mean, sd = first.sd(constrain)
    epsilon = first.measurable(sd, level).reshape(*shape, draws)
    over_draws = Measurable(
        epsilon.mean(-1),
        flipped,
        np.moveaxis(np.quantile(epsilon, QUANTILES, axis=-1), 0, -1),
        epsilon.std(-1, ddof=1) / np.sqrt(draws),
        draws,
    )
    if difference is None:
        return over_draws
    other = drawn(rng, many._replace(alpha=other_alpha(many.alpha, difference)), calibration_counts).sd(constrain)
    claims = (np.abs(mean - other[0]) > critical(level) * np.hypot(sd, other[1])) & first.rated
    power = claims.reshape(*shape, draws).mean(-1)
    # Adding a success and a failure keeps the error of a share of 0 or 1 from being nothing.
    smooth = (power * draws + 1) / (draws + 2)
    return over_draws._replace(power=power, power_mcse=np.sqrt(smooth * (1 - smooth) / draws))


def joint_difference(
    plan: Plan[ArrayLike],
    *,
    rho_other: ArrayLike | None = None,
    eta_other: ArrayLike | None = None,
    power: float = 0.8,
    level: float = 0.05,
    constrain: bool = False,
    correlation: float = 0.0,
) -> Joint:
    """Return `z sd(alpha_1 - alpha_2)` of the joint posterior: one calibration, the same rho and eta, for both systems.

    `correlation`: that of the adequacy of two systems' outputs for the same input, if both are rated on the same
    inputs. `bias`: by how much the estimate of alpha_1 - alpha_2 is off when the metric has `rho_other`, `eta_other`
    on the second system; by default it is .01 more lenient there (rho higher, eta lower by .01), which shifts what it
    says by .01 whatever alpha. With rho and eta known the systems only share inputs.
    `detectable = (1 + z(power) / z(1 - level/2)) epsilon`: a difference is found when the posterior means differ by
    more than the epsilon of two equal systems with the mean of their counts.

    Raises InputError for a plan that cannot be, a correlation beyond 1, and one of `rho_other`, `eta_other` alone.

    >>> float(joint_difference(Plan(0, 10_000, 0.7, 0.7, 0.6, 100)).epsilon.round(3))
    0.072
    """
    checked, flipped = check(plan, level)
    if not -1 <= correlation <= 1:
        raise InputError(f"correlation={correlation:g} is not between -1 and 1")
    shape, rows = flipped.shape, ravel(checked)
    one = expected(rows)
    _, sd = apart(one, None, constrain, correlation)
    epsilon = one.measurable(sd / np.sqrt(2), level)
    two = expected(rows, metric=_other(rows, flipped, rho_other, eta_other)).counts
    bias = apart(one, two, constrain)[0]
    detectable = (1 + float(ndtri(power)) / critical(level)) * epsilon
    detectable[(detectable > np.maximum(rows.alpha, 1 - rows.alpha)) | ~one.rated] = np.nan
    return Joint(*(x.reshape(shape) for x in (epsilon, bias, detectable)))


def _other(rows: Plan[Floats], flipped: Bools, rho: ArrayLike | None, eta: ArrayLike | None) -> tuple[Floats, Floats]:
    """Return the metric's rho and eta on the second system, turned round where they are for the first."""
    if (rho is None) != (eta is None):
        raise InputError("rho_other and eta_other go together; give both or neither")
    if rho is None or eta is None:
        return np.minimum(rows.rho + LENIENCE, 1.0), np.maximum(rows.eta - LENIENCE, 0.0)
    other = [np.broadcast_to(np.asarray(x, float), flipped.shape) for x in (rho, eta)]
    for name, value in zip(("rho_other", "eta_other"), other, strict=True):
        fraction(name, value)
    turned = [np.where(flipped, 1 - x, x).ravel() for x in other]
    return turned[0], turned[1]


def detectable_difference(
    plan: Plan[ArrayLike],
    *,
    power: float = 0.8,
    level: float = 0.05,
    constrain: bool = False,
    calibration_counts: bool = False,
) -> Floats:
    """Return the true difference that is found with a power; NaN where no other system is different enough.

    A difference is found when the posterior means differ by more than `z(1 - level/2)` times the posterior standard
    deviation of their difference, each system having its own ratings and its own calibration. The other system is worse
    than one from .5 on, better than one below, and has its own spread. The means are taken as normal around those at
    expected, unrounded counts. With rho and eta known their variance follows from that of the counts, else it is taken
    to be the posterior's.

    Raises InputError for a plan that cannot be, and a power that is not from .5 to below 1.
    """
    checked, flipped = check(plan, level)
    if not 0.5 <= power < 1:
        raise InputError(f"power={power:g} is not from .5 to below 1")
    rows = ravel(checked)
    farthest = np.maximum(rows.alpha, 1 - rows.alpha)
    z, more = critical(level), float(ndtri(power))
    step = np.full(flipped.size, np.nan)
    apart, known = farthest / 2, rows.n_calibration is None
    # The difference of the means is nearly proportional to that of the alphas, so few steps reach the fixed point.
    for _ in range(12 if known else 4):
        away = rows._replace(alpha=other_alpha(rows.alpha, np.minimum(apart, farthest)))
        plans = [expected(x, calibration_counts, whole=False) for x in (rows, away)]
        mean, sd, error = _seen(plans, [rows, away], constrain)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.minimum(apart, farthest) * (z * sd + more * error) / np.abs(mean)
        apart = np.where(np.isfinite(step), step, farthest)
    rated = rows.n_human + rows.n_metric > 0
    return np.where(rated & (step <= farthest), step, np.nan).reshape(flipped.shape)


def power_of(
    plan: Plan[ArrayLike],
    difference: float,
    *,
    level: float = 0.05,
    constrain: bool = False,
) -> Floats:
    """Return how often a true `difference` is found, by the approximation that `detectable_difference` inverts.

    NaN where there is no rating; differences found in the wrong direction do not count.

    Raises InputError for a plan that cannot be, and a `difference` that no other alpha can have.
    """
    checked, flipped = check(plan, level)
    rows = ravel(checked)
    away = rows._replace(alpha=other_alpha(rows.alpha, difference))
    mean, sd, error = _seen([expected(x, whole=False) for x in (rows, away)], [rows, away], constrain)
    power = ndtr((np.abs(mean) - critical(level) * sd) / np.maximum(error, 1e-300))
    return np.where(rows.n_human + rows.n_metric > 0, power, np.nan).reshape(flipped.shape)


def _seen(plans: list[Planned], rows: list[Plan[Floats]], constrain: bool) -> tuple[Floats, Floats, Floats]:
    """Return the mean difference that is seen of two systems, its posterior sd, and its sd over repetitions."""
    if plans[0].calibration is None:
        posteriors = [given(r.rho[:, None], r.eta[:, None], p.counts) for p, r in zip(plans, rows, strict=True)]
        variance = sum(
            r.n_human * r.alpha * (1 - r.alpha) * g.human[:, 0] ** 2
            + r.n_metric * called_adequate(r) * (1 - called_adequate(r)) * g.metric[:, 0] ** 2
            for g, r in zip(posteriors, rows, strict=True)
        )
        sd = np.sqrt(posteriors[0].variance + posteriors[1].variance)[:, 0]
        return (posteriors[0].mean - posteriors[1].mean)[:, 0], sd, np.sqrt(variance)
    one, two = (plan.sd(constrain) for plan in plans)
    sd = np.hypot(one[1], two[1])
    return one[0] - two[0], sd, sd
