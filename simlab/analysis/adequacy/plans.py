"""Plans of evaluations with binary ratings, and their counts: expected ones, or drawn.

`check` validates a `Plan`, `ravel` flattens it to rows, `set_expected_counts` or `draw_counts` turn these into
`PlannedCounts`, whose methods give the posterior of alpha, the share of adequate outputs, and the measurable
difference of two systems. `constrain`: the metric's rho + eta > 1 is taken as known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np
from scipy.special import ndtri

from simlab.analysis.adequacy.joint import AdequacyCounts, difference, difference_at_known_rates
from simlab.analysis.adequacy.posterior import check_metric, posterior_rows
from simlab.effort import ChainEffort
from simlab.types import Bools, Floats, InputError

if TYPE_CHECKING:
    from simlab.analysis.adequacy.nuts import Sampled

N_co = TypeVar("N_co", covariant=True)


class Plan(NamedTuple, Generic[N_co]):
    """A planned evaluation of a system: numbers, or arrays that broadcast.

    Source: von Däniken et al. 2022.

    `n_human` and `n_metric` ratings of outputs that are adequate with probability `alpha`; the metric says adequate of
    adequate outputs with probability `rho`, inadequate of others with `eta`. `n_calibration` outputs are rated by both
    to estimate rho and eta (None: these are known).
    """

    n_human: N_co
    n_metric: N_co
    rho: N_co
    eta: N_co
    alpha: N_co
    n_calibration: N_co | None = None


def map_arrays(plan: Plan[Floats], change: Callable[[Floats], Floats]) -> Plan[Floats]:
    """Change every array of a plan alike."""
    return Plan(*(change(x) for x in plan if x is not None))


def ravel(plan: Plan[Floats]) -> Plan[Floats]:
    """Broadcast the fields of a plan and flatten each to `[row]`, a row per setting."""
    shape = np.broadcast_shapes(*(x.shape for x in plan if x is not None))
    return map_arrays(plan, lambda x: np.broadcast_to(x, shape).ravel())


def adequate_call_probability(plan: Plan[Floats]) -> Floats:
    """Return q, the probability that the metric calls an output adequate."""
    return plan.alpha * (plan.rho + plan.eta - 1) + 1 - plan.eta


class PlannedCounts(NamedTuple):
    """Counts of an evaluation `[row]`, and the metric's `quality` (rho, eta).

    `calibration` (TP of P adequate outputs called adequate by the metric, TN of N others called inadequate) is None
    where rho and eta are known.
    """

    counts: AdequacyCounts
    quality: tuple[Floats, Floats]
    calibration: tuple[Floats, Floats, Floats, Floats] | None

    @property
    def rated(self) -> Bools:
        """Mark where there is any rating of alpha."""
        return np.asarray(self.counts.n + self.counts.m > 0)

    def measurable_difference(self, sd: Floats, level: float) -> Floats:
        """Return the published measurable difference from alpha's posterior `sd[row]`; 1 where nothing is rated."""
        return np.where(self.rated, critical_value(level) * np.sqrt(2) * sd, 1.0)

    def epsilon(self, level: float, constrain: bool) -> Floats:
        """Return the published measurable difference of these counts."""
        return self.measurable_difference(self.sd(constrain)[1], level)

    def sd(self, constrain: bool) -> tuple[Floats, Floats]:
        """Return mean and standard deviation of the posterior of alpha, `[row]`."""
        inferred = posterior_rows([*self.counts, *(self.calibration or self.quality)], constrain)
        return inferred.mean, inferred.sd

    def sample(self, constrain: bool, size: ChainEffort) -> Sampled:
        """Return the posterior of alpha sampled by NUTS, with R-hat and effective draws."""
        from simlab.analysis.adequacy.nuts import sample_posterior

        rows = np.broadcast_arrays(*self.counts, *(self.calibration or self.quality))
        return sample_posterior(*rows[:4], metric=rows[4:], constrain=constrain, level=0.05, seed=0, size=size)


def set_expected_counts(
    rows: Plan[Floats],
    calibration_counts: bool = False,
    *,
    metric: tuple[Floats, Floats] | None = None,
    whole: bool = True,
) -> PlannedCounts:
    """Set each count to its expectation; `whole`: rounded half to even, as the published calculator does.

    `calibration_counts`: human ratings of calibration outputs also count for alpha. `metric`: the rho and eta that the
    metric ratings follow, where these are not those that the calibration finds.
    """
    near = np.round if whole else np.asarray
    calibration = None
    q = adequate_call_probability(rows if metric is None else rows._replace(rho=metric[0], eta=metric[1]))
    if rows.n_calibration is not None:
        p = near(rows.alpha * rows.n_calibration)
        n = rows.n_calibration - p
        # Rates apply to the rounded P and N, as in the published calculator.
        calibration = near(rows.rho * p), p, near(rows.eta * n), n
    return _make_planned(
        rows, near(rows.alpha * rows.n_human), near(q * rows.n_metric), calibration, calibration_counts
    )


def draw_counts(rng: np.random.Generator, rows: Plan[Floats], calibration_counts: bool = False) -> PlannedCounts:
    """Draw each count from its binomial law; `calibration_counts` is that of `set_expected_counts`."""
    calibration = None
    if rows.n_calibration is not None:
        p = rng.binomial(rows.n_calibration.astype(int), rows.alpha)
        n = rows.n_calibration.astype(int) - p
        calibration = tuple(x.astype(float) for x in (rng.binomial(p, rows.rho), p, rng.binomial(n, rows.eta), n))
    n_plus = rng.binomial(rows.n_human.astype(int), rows.alpha).astype(float)
    m_plus = rng.binomial(rows.n_metric.astype(int), np.clip(adequate_call_probability(rows), 0, 1)).astype(float)
    return _make_planned(rows, n_plus, m_plus, calibration, calibration_counts)  # type: ignore[arg-type]


def _make_planned(
    rows: Plan[Floats],
    n_plus: Floats,
    m_plus: Floats,
    calibration: tuple[Floats, Floats, Floats, Floats] | None,
    calibration_counts: bool,
) -> PlannedCounts:
    n = rows.n_human
    if calibration is not None and calibration_counts:
        # Humans called all P outputs adequate, whatever the metric said of them.
        n_plus, n = n_plus + calibration[1], n + calibration[1] + calibration[3]
    return PlannedCounts(AdequacyCounts(n_plus, n, m_plus, rows.n_metric), (rows.rho, rows.eta), calibration)


def difference_moments(
    first: PlannedCounts, second: AdequacyCounts | None, constrain: bool, correlation: float = 0.0
) -> tuple[Floats, Floats]:
    """Return mean and standard deviation `[row]` of alpha_1 - alpha_2 under the joint posterior.

    `second` None: the second system has the counts of the first. `correlation` is that of the adequacy of both systems'
    outputs for the same input, where both are rated on the same inputs.
    """
    if first.calibration is None:
        return difference_at_known_rates(first.counts, second, *first.quality, correlation)
    return difference(first.counts, second, first.calibration, constrain=constrain, correlation=correlation)


def other_alpha(alpha: Floats, difference: Floats | float) -> Floats:
    """Return the alpha of another system: `difference` below an alpha from .5 on, above a smaller one.

    Raises InputError where no alpha is that far away.
    """
    other = np.where(alpha >= 0.5, alpha - difference, alpha + difference)
    # The tolerance lets the largest possible difference pass in spite of rounding.
    if np.any((other < -1e-12) | (other > 1 + 1e-12)):
        most = float(np.maximum(alpha, 1 - alpha).min())
        raise InputError(
            f"difference={np.max(difference):g} is more than {most:g}, which is as far as another system's alpha can "
            "be; give a smaller one"
        )
    return np.clip(other, 0.0, 1.0)


def critical_value(level: float) -> float:
    """Return the normal quantile of a two-sided test at a level."""
    return float(ndtri(1 - level / 2))


def check(plan: Plan[Any], level: float) -> tuple[Plan[Floats], Bools]:
    """Broadcast a plan and turn metrics with rho + eta < 1 round; return it and where that was done.

    Raises InputError for counts, shares or levels that cannot be, and where metric ratings carry no information.
    """
    laid = Plan(*np.broadcast_arrays(*(np.asarray(x, float) for x in plan if x is not None)))
    for name in ("n_human", "n_metric", "n_calibration"):
        if getattr(laid, name) is not None:
            count(name, getattr(laid, name))
    fraction("alpha", laid.alpha)
    if not 0 < level < 1:
        raise InputError(f"level={level:g} is not between 0 and 1")
    used = laid.n_metric > 0
    # Where there are no metric ratings rho and eta are never used, so they may even add up to 1.
    check_metric(np.where(used, laid.rho, 1.0), np.where(used, laid.eta, 1.0))
    fraction("rho", laid.rho)
    fraction("eta", laid.eta)
    flipped = np.asarray(laid.rho + laid.eta < 1)
    rho, eta = (np.where(flipped, 1 - x, x) for x in (laid.rho, laid.eta))
    return laid._replace(rho=rho, eta=eta), flipped


def count(name: str, value: Floats) -> None:
    """Raise InputError unless all are whole numbers from 0 on."""
    wrong = ~((value >= 0) & (value == np.round(value)) & (value <= 1e12))
    if wrong.any():
        raise InputError(f"{name}={value[wrong][0]:g} is not a number of ratings; give a whole number from 0 to 1e12")


def fraction(name: str, value: Floats) -> None:
    """Raise InputError unless all are from 0 to 1."""
    wrong = ~((value >= 0) & (value <= 1))
    if wrong.any():
        raise InputError(f"{name}={value[wrong][0]:g} is not a share; give a number from 0 to 1")
