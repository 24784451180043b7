"""Calculate the difference between two systems' alphas that a planned evaluation can measure.

alpha is the share of a system's outputs that are adequate; rho and eta are the probabilities that the metric calls
adequate outputs adequate, and others inadequate. `constrain` everywhere: rho + eta > 1 is taken as known.

All take a `Plan` (numbers of ratings and rates). `measurable_difference` returns the published epsilon, for which the
posteriors of two systems measured alike are independent; `joint_difference` that of systems that share the estimate of
rho and eta; and, since a true difference of that size is found half the time, `detectable_difference` the one that is
found with a wanted power. `approximate_power` is its inverse. `Among` adapts level and power to several systems.

Systems that are measured alike have estimates that scatter alike, and independently given what the metric's rates are.
So all that several systems add is two numbers, whatever the ratings: the level at which a pair is tested, so that of
equal systems no pair is called different too often, and the power of a single pair that comes with the power wanted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from simlab.analysis.adequacy.joint import integrate_alpha
from simlab.analysis.adequacy.likelihood import legendre
from simlab.analysis.adequacy.plans import (
    Plan,
    PlannedCounts,
    adequate_call_probability,
    check,
    critical_value,
    difference_moments,
    draw_counts,
    fraction,
    map_arrays,
    other_alpha,
    ravel,
    set_expected_counts,
)
from simlab.analysis.chains import SHORT
from simlab.messages import show, suggest
from simlab.rng import stream
from simlab.types import Bools, Floats, InputError

QUANTILES = 0.05, 0.25, 0.5, 0.75, 0.95
"""Quantiles of `Measurable.quantiles`."""
LENIENCE = 0.01
"""By how much rho is higher and eta lower for the other system in `joint_difference`, if nothing else is given."""
Rule: TypeAlias = Literal["max_t", "holm", "none"]
"""max_t: the largest difference of all pairs keeps the level; holm: each pair is held against its share of the level,
as the first step of Holm's rule does; none: each pair by itself."""
Find: TypeAlias = Literal["pair", "best", "all"]
"""What is found with the power: pair: any given pair; best: one system that stands out is told from every other; all:
every pair of a better and a worse half."""
PosteriorBy: TypeAlias = Literal["quadrature", "nuts"]
"""How alpha's posterior is worked out: integrated, or sampled by NumPyro."""
RULES: tuple[Rule, ...] = get_args(Rule)
FINDS: tuple[Find, ...] = get_args(Find)
POSTERIORS: tuple[PosteriorBy, ...] = get_args(PosteriorBy)
MOST_SYSTEMS = 10_000
# Normal laws are integrated over nine standard deviations to either side; less than 1e-18 lies beyond.
NODES, FAR = 200, 9.0


class Measurable(NamedTuple):
    """Measurable difference of each setting; `flipped` marks where a metric with rho + eta < 1 was turned round.

    Source: von Däniken et al. 2022.

    With `counts="drawn"`, `epsilon` is the mean over `n` draws, with its Monte-Carlo standard error and `quantiles`
    `[..., QUANTILES]`; `power` is the share of draws in which a given difference was found, with its error. Where a
    number or an array is wanted, it is epsilon. `r_hat` and `ess` are those of alpha, where it was sampled.
    """

    epsilon: Floats
    flipped: Bools
    quantiles: Floats | None = None
    mcse: Floats | None = None
    n: int | None = None
    power: Floats | None = None
    power_mcse: Floats | None = None
    r_hat: Floats | None = None
    ess: Floats | None = None

    def __float__(self) -> float:
        """Give epsilon of a single setting."""
        return float(self.epsilon)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """Give epsilon of all settings."""
        return np.array(self.epsilon, dtype=dtype, copy=copy)


class Joint(NamedTuple):
    """Joint measurable difference, the bias of a metric that is not the same for both, and the detectable difference.

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
    posterior: PosteriorBy = "quadrature",
) -> Measurable:
    """Return the difference of alphas that is measurable at `level` when two systems are measured alike; all broadcast.

    `epsilon = z(1 - level/2) sqrt(2) s`, s the posterior standard deviation of one system's alpha; 1 by convention with
    neither human nor metric ratings. `n_calibration` doubly rated outputs serve to estimate rho and eta (None: known);
    with `calibration_counts` their human ratings also tell of alpha. `counts="expected"`: every count is its rounded
    expectation; `"drawn"`: counts are drawn, and `difference` asks for the power to find it, the other system being
    better than a system below .5 and worse than one above. `posterior="nuts"` samples alpha's posterior by NumPyro
    (4 chains of 1,000 draws), of expected counts only. Source: von Däniken et al. 2022, sections 3 and 4.

    Raises InputError for a plan that cannot be, fewer than 2 draws, a `difference` that no other alpha can have, and
    chains that disagree.

    >>> measurable_difference(Plan([0, 100], 1000, 0.7, 0.7, 0.6)).epsilon.round(3).tolist()
    [0.109, 0.085]
    """
    checked, flipped = check(plan, level)
    shape, rows = flipped.shape, ravel(checked)
    if posterior == "nuts":
        if counts != "expected":
            raise InputError("posterior=nuts goes with counts=expected; take posterior=quadrature for drawn counts")
        planned = set_expected_counts(rows, calibration_counts)
        sampled = planned.sample(constrain, SHORT)
        results = planned.measurable_difference(sampled.posterior.sd, level), sampled.r_hat, sampled.ess
        epsilon, r_hat, ess = (one.reshape(shape) for one in results)
        return Measurable(epsilon, flipped, r_hat=r_hat, ess=ess)
    if counts == "expected":
        epsilon = set_expected_counts(rows, calibration_counts).epsilon(level, constrain)
        return Measurable(epsilon.reshape(shape), flipped)
    if draws < 2:
        raise InputError(f"draws={draws} is fewer than 2; an error needs at least two draws")
    many = map_arrays(rows, lambda x: np.repeat(x, draws))
    rng = stream(seed, "measurable_difference")
    first = draw_counts(rng, many, calibration_counts)
    mean, sd = first.sd(constrain)
    epsilon = first.measurable_difference(sd, level).reshape(*shape, draws)
    over_draws = Measurable(
        epsilon.mean(-1),
        flipped,
        np.moveaxis(np.quantile(epsilon, QUANTILES, axis=-1), 0, -1),
        epsilon.std(-1, ddof=1) / np.sqrt(draws),
        draws,
    )
    if difference is None:
        return over_draws
    other = draw_counts(rng, many._replace(alpha=other_alpha(many.alpha, difference)), calibration_counts).sd(constrain)
    claims = (np.abs(mean - other[0]) > critical_value(level) * np.hypot(sd, other[1])) & first.rated
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

    With 10,000 metric ratings, rho = eta = .7, alpha = .6 and 100 calibration outputs:

    >>> float(joint_difference(Plan(0, 10_000, 0.7, 0.7, 0.6, 100)).epsilon.round(3))
    0.072
    """
    checked, flipped = check(plan, level)
    if not -1 <= correlation <= 1:
        raise InputError(f"correlation={correlation:g} is not between -1 and 1")
    shape, rows = flipped.shape, ravel(checked)
    planned = set_expected_counts(rows)
    _, sd = difference_moments(planned, None, constrain, correlation)
    epsilon = planned.measurable_difference(sd / np.sqrt(2), level)
    second = set_expected_counts(rows, metric=_rates_of_second_system(rows, flipped, rho_other, eta_other)).counts
    bias = difference_moments(planned, second, constrain)[0]
    detectable = (1 + float(ndtri(power)) / critical_value(level)) * epsilon
    detectable[(detectable > np.maximum(rows.alpha, 1 - rows.alpha)) | ~planned.rated] = np.nan
    return Joint(*(x.reshape(shape) for x in (epsilon, bias, detectable)))


def _rates_of_second_system(
    rows: Plan[Floats], flipped: Bools, rho: ArrayLike | None, eta: ArrayLike | None
) -> tuple[Floats, Floats]:
    """Return the metric's rho and eta `[row]` on the second system, turned round where they are for the first."""
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
    z, more = critical_value(level), float(ndtri(power))
    step = np.full(flipped.size, np.nan)
    apart, known = farthest / 2, rows.n_calibration is None
    # The difference of the means is nearly proportional to that of the alphas, so few steps reach the fixed point.
    for _ in range(12 if known else 4):
        away = rows._replace(alpha=other_alpha(rows.alpha, np.minimum(apart, farthest)))
        plans = [set_expected_counts(x, calibration_counts, whole=False) for x in (rows, away)]
        mean, sd, error = _expected_differences(plans, [rows, away], constrain)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.minimum(apart, farthest) * (z * sd + more * error) / np.abs(mean)
        apart = np.where(np.isfinite(step), step, farthest)
    rated = rows.n_human + rows.n_metric > 0
    return np.where(rated & (step <= farthest), step, np.nan).reshape(flipped.shape)


def approximate_power(
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
    mean, sd, error = _expected_differences(
        [set_expected_counts(x, whole=False) for x in (rows, away)], [rows, away], constrain
    )
    power = ndtr((np.abs(mean) - critical_value(level) * sd) / np.maximum(error, 1e-300))
    return np.where(rows.n_human + rows.n_metric > 0, power, np.nan).reshape(flipped.shape)


def _expected_differences(
    plans: list[PlannedCounts], rows: list[Plan[Floats]], constrain: bool
) -> tuple[Floats, Floats, Floats]:
    """Return the mean difference that is seen of two systems, its posterior sd, and its sd over repetitions."""
    if plans[0].calibration is None:
        posteriors = [
            integrate_alpha(r.rho[:, None], r.eta[:, None], p.counts) for p, r in zip(plans, rows, strict=True)
        ]
        # Delta method: `human` and `metric` are the slopes of the mean in the two counts, and these are binomial.
        variance = sum(
            r.n_human * r.alpha * (1 - r.alpha) * g.human[:, 0] ** 2
            + r.n_metric * adequate_call_probability(r) * (1 - adequate_call_probability(r)) * g.metric[:, 0] ** 2
            for g, r in zip(posteriors, rows, strict=True)
        )
        sd = np.sqrt(posteriors[0].variance + posteriors[1].variance)[:, 0]
        return (posteriors[0].mean - posteriors[1].mean)[:, 0], sd, np.sqrt(variance)
    first, second = (plan.sd(constrain) for plan in plans)
    sd = np.hypot(first[1], second[1])
    return first[0] - second[0], sd, sd


class Among(NamedTuple):
    """Number of systems, the correction for all their pairs, and the differences that are to be found.

    Sources: Tukey 1953; Hayter 1984.

    >>> eight = Among(8)
    >>> round(eight.level(0.05), 5), round(eight.power(0.8), 2), round(Among(8, find="all").power(0.8), 3)
    (0.00244, 0.8, 0.979)
    """

    n_systems: int = 2
    multiplicity: Rule = "max_t"
    find: Find = "pair"

    def validate(self) -> Among:
        """Return itself, numbers as int; raise InputError for a number, rule or target that cannot be."""
        if not (2 <= self.n_systems <= MOST_SYSTEMS and self.n_systems == round(self.n_systems)):
            raise InputError(f"n_systems={self.n_systems:g} is not a number of systems; give 2 to {MOST_SYSTEMS}")
        for name, known in (("multiplicity", RULES), ("find", FINDS)):
            if (value := getattr(self, name)) not in known:
                raise InputError(f"{name}={show(value)} is unknown; {suggest(str(value), known)}")
        return self._replace(n_systems=int(self.n_systems))

    @property
    def n_pairs(self) -> int:
        """Count the pairs."""
        return self.n_systems * (self.n_systems - 1) // 2

    def level(self, level: float) -> float:
        """Return the level of a single pair; of two systems it is `level`.

        With max_t no two of equal systems are called different with probability 1 - `level`: the bar is a quantile of
        the studentised range, exact where all estimates have the same spread and cautious else (Tukey 1953; Hayter
        1984). Raises InputError for a level that is not between 0 and 1.
        """
        if not 0 < level < 1:
            raise InputError(f"level={level:g} is not between 0 and 1")
        if self.n_systems == 2 or self.multiplicity == "none":
            return level
        if self.multiplicity == "holm":
            return level / self.n_pairs
        # The range is in units of one system's spread, a pair's difference has sqrt(2) times that.
        bar = _bisect_rising(lambda x: range_probability(x * np.sqrt(2), self.n_systems), 1 - level)
        return float(2 * ndtr(-bar))

    def power(self, power: float) -> float:
        """Return the power of a single pair that is needed to find the differences named by `find` with a `power`.

        Raises InputError for a power that is not from .5 to below 1.
        """
        if not 0.5 <= power < 1:
            raise InputError(f"power={power:g} is not from .5 to below 1")
        if self._alone:
            return power
        return float(ndtr(_bisect_rising(lambda u: float(self._separation_probability(np.array([u]))[0]), power)))

    def family_power(self, power: Floats) -> Floats:
        """Return how often the differences named by `find` are found, given each single pair's power; NaN stays NaN."""
        power = np.asarray(power, float)
        if self._alone:
            return power
        known = np.nan_to_num(power.ravel(), nan=0.5)
        joint_power = self._separation_probability(np.asarray(ndtri(np.clip(known, 1e-300, 1 - 1e-16)))).reshape(
            power.shape
        )
        return np.where(np.isnan(power), np.nan, joint_power)

    @property
    def _alone(self) -> bool:
        return self.n_systems == 2 or self.find == "pair"

    def _separation_probability(self, u: Floats) -> Floats:
        """Return the probability that the lowest of some normal variables passes the highest of the others by a bar.

        A single pair does with the probability Phi(`u`). Integrated over the lowest.
        """
        better = 1 if self.find == "best" else self.n_systems // 2
        x, weight = _line()
        lowest = weight * better * np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi) * ndtr(-x) ** (better - 1)
        return np.asarray(ndtr(x + np.sqrt(2) * u[:, None]) ** (self.n_systems - better) @ lowest)


def range_probability(width: float, n: int) -> float:
    """Return the probability that n independent standard normal variables lie within a `width`.

    >>> round(range_probability(4.2863, 8), 4)
    0.95
    """
    x, weight = _line()
    lowest = weight * n * np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)
    return float(lowest @ np.maximum(ndtr(x + width) - ndtr(x), 0.0) ** (n - 1))


def _line() -> tuple[Floats, Floats]:
    node, part = legendre(NODES)
    return 2 * FAR * node - FAR, 2 * FAR * part


def _bisect_rising(rising: Callable[[float], float], wanted: float) -> float:
    """Bisect for where a rising function passes a value, between 0 and 40."""
    low, high = 0.0, 40.0
    # Sixty halvings of 40 go below the spacing of doubles.
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < wanted else (low, middle)
    return high
