"""Find the evaluation that measures a wanted difference: the fewest ratings, the least accuracy, the cheapest mix.

`find_smallest_number` solves for one field of a `Plan`, `find_cheapest_mix` for its numbers of ratings; the difference
is one of alphas, shares of adequate outputs of two systems. `compute_detections` answers the reverse question, which
difference each of many plans measures. `constrain` everywhere: the metric's rho + eta > 1 is taken as known.

Counts are taken at their expectation, unrounded. Rounded ones, as the published calculator has them, make the
measurable difference jump up and down as a number of ratings grows by one, so that "the smallest number" would be a
matter of luck; unrounded, it falls smoothly. An answer n reaches the wanted difference and n - 1 does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.special import ndtr, ndtri

from simlab.analysis.adequacy import likelihood, posterior
from simlab.analysis.adequacy.joint_power import joint_detectable_difference, joint_power
from simlab.analysis.adequacy.measurable_difference import (
    Among,
    approximate_power,
    detectable_difference,
    joint_difference,
    measurable_difference,
)
from simlab.analysis.adequacy.plans import Plan, check, critical_value, difference_moments, ravel, set_expected_counts
from simlab.types import Floats, InputError

Numbers: TypeAlias = Plan[float]
Unknown = Literal["n_human", "n_metric", "n_calibration", "accuracy"]
MOST = 10**9
"""More ratings than anybody collects; the difference that is measurable with this number is called the limit."""
PRECISION = 1e-4
"""Step in which the least accuracy is searched."""
HALF = 0.5
"""The power with which a measurable difference is found; plans for it are the published ones."""
TWO = Among()
REMEDIES = {
    "n_human": "ask for a larger difference",
    "n_metric": "add human ratings, raise n_calibration, or take a better metric",
    "n_calibration": "add human or metric ratings, or take a better metric",
    "accuracy": "add human or metric ratings, or raise n_calibration",
}
# Points per axis in each round, by the number of axes: points of two axes multiply, so each axis gets fewer.
_STEPS = {1: (25, 13, 13, 13, 13), 2: (11, 7, 7, 7, 7, 7)}
Row: TypeAlias = dict[str, Any]


class RatingPrices(NamedTuple):
    """Prices of one rating each; `calibration` None: a calibration output costs a human and a metric rating."""

    human: float
    metric: float
    calibration: float | None = None

    @property
    def each(self) -> tuple[float, float, float]:
        """Give the prices of a human rating, a metric rating and a calibration output."""
        return self.human, self.metric, self.human + self.metric if self.calibration is None else self.calibration


class Mix(NamedTuple):
    """Cheapest plan, its price per system, and epsilon, the difference that it measures."""

    plan: Numbers
    price: float
    epsilon: float


def measurable_epsilon(plan: Numbers, *, level: float = 0.05, constrain: bool = False, joint: bool = False) -> float:
    """Return the measurable difference at expected counts, not rounded: the published one, or the `joint` one.

    `joint`: both systems rely on the same calibration; else each has its own.

    Raises InputError for a plan that cannot be.

    >>> round(measurable_epsilon(Plan(100, 1000, 0.7, 0.7, 0.6)), 3)
    0.085
    """
    rows = ravel(check(plan, level)[0])
    if not joint:
        return float(_epsilon(rows, level, constrain)[0])
    expected = set_expected_counts(rows, whole=False)
    return float(
        expected.measurable_difference(difference_moments(expected, None, constrain)[1] / np.sqrt(2), level)[0]
    )


def _epsilon(rows: Plan[Floats], level: float, constrain: bool) -> Floats:
    return set_expected_counts(rows, whole=False).epsilon(level, constrain)


def find_smallest_number(
    unknown: Unknown,
    plan: Numbers,
    difference: float,
    *,
    level: float = 0.05,
    power: float = 0.5,
    constrain: bool = False,
    joint: bool = False,
    among: Among = TWO,
) -> float:
    """Return the smallest value of `unknown` for which the plan measures a `difference`; the others are the plan's.

    With `power` .5 the measurable difference is at most that large, which as a true difference is found half the time;
    with more, a true difference is found with this power, as `approximate_power` and `joint_power` say.
    `unknown="accuracy"` varies rho = eta from .5 (a metric that knows nothing) to 1, to four decimals; the others
    are whole numbers. `joint` is for systems that share one calibration: where rho and eta are estimated, they need
    less. `among` holds the number of systems that are compared in pairs, the correction for all pairs, and which
    differences are to be found with the power. Raises InputError, with the limit, where no value suffices, and for a
    power that is not from .5 to below 1.

    >>> find_smallest_number("n_human", Plan(0, 0, 0.7, 0.7, 0.6), 0.05)
    735.0
    >>> find_smallest_number("accuracy", Plan(0, 1000, 1, 1, 0.6), 0.1)
    0.718
    """
    if not 0 < difference < 1:
        raise InputError(f"difference={difference:g} is not between 0 and 1; give a difference of two shares")
    if not HALF <= power < 1:
        raise InputError(f"power={power:g} is not from .5 to below 1")
    wanted = PlanRequirement(difference, among.power(power), among.level(level), constrain, joint, power)

    def is_enough(value: float) -> bool:
        return wanted.is_met_by(_set(plan, unknown, value))

    most: float = 1 if unknown == "accuracy" else MOST
    if not is_enough(most):
        raise _report_out_of_reach(unknown, wanted, wanted.limit(_set(plan, unknown, most)))
    if unknown == "accuracy":
        return _least_accuracy(is_enough)
    if is_enough(0):
        return 0.0
    low, high = 0, 1
    while not is_enough(high):
        low, high = high, min(2 * high, MOST)
    return float(_bisect(is_enough, low, high))


class PlanRequirement(NamedTuple):
    """Requirement of a plan: a difference that is to be measurable, or found with a power.

    `power` and `level` are those of a single pair, `requested_power` is the power that was asked for.
    """

    difference: float
    power: float
    level: float
    constrain: bool
    joint: bool
    requested_power: float

    def is_met_by(self, plan: Numbers) -> bool:
        """True if a plan reaches it."""
        if self.power == HALF:
            return self.limit(plan) <= self.difference
        find = joint_power if self.joint else approximate_power
        # Without any rating there is no power.
        return bool(find(plan, self.difference, level=self.level, constrain=self.constrain) >= self.power)

    def limit(self, plan: Numbers) -> float:
        """Return the least difference that a plan reaches."""
        if self.power == HALF:
            return measurable_epsilon(plan, level=self.level, constrain=self.constrain, joint=self.joint)
        find = joint_detectable_difference if self.joint else detectable_difference
        return float(find(plan, power=self.power, level=self.level, constrain=self.constrain))


def _bisect(enough: Callable[[int], bool], low: int, high: int) -> int:
    """Return the whole number that is enough while the one before it is not; `high` is enough and `low` is not."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _set(plan: Numbers, unknown: Unknown, value: float) -> Numbers:
    if unknown == "accuracy":
        return plan._replace(rho=value, eta=value)
    return plan._replace(**{unknown: int(value)})


def _least_accuracy(enough: Callable[[float], bool]) -> float:
    """Bisect in steps of PRECISION; at .5 the metric says nothing, and just above it next to nothing."""
    low, high = round(0.5 / PRECISION), round(1 / PRECISION)
    # At .5 exactly rho + eta = 1 is refused as carrying no information, so the test stands a hair above.
    if enough((low + 0.01) * PRECISION):
        return 0.5
    return round(_bisect(lambda k: enough(k * PRECISION), low, high) * PRECISION, 4)


def _report_out_of_reach(unknown: str, wanted: PlanRequirement, limit: float) -> InputError:
    what = "is measurable" if wanted.power == HALF else f"is found with power {wanted.requested_power:g}"
    least = f"the least that {what} with these settings is {limit:.3g}"
    if np.isnan(limit):
        least = f"no difference {what} with these settings"
    return InputError(
        f"difference={wanted.difference:g} is out of reach for any {unknown}: {least}; {REMEDIES[unknown]}"
    )


def find_cheapest_mix(
    plan: Numbers,
    difference: float,
    prices: RatingPrices,
    *,
    level: float = 0.05,
    power: float = 0.5,
    constrain: bool = False,
    among: Among = TWO,
) -> Mix:
    """Find the cheapest numbers of human and metric ratings, per system, that measure a `difference`.

    `power` and `among` as in `find_smallest_number`; above .5 the search aims at a measurable difference that is
    smaller by the factor of normal laws, and its result is filled up to the power. The plan's own n_human and n_metric
    do not count. Where its `n_calibration` is not None, that is chosen, too, and paid for. Numbers of metric ratings
    and calibration outputs are searched on a grid that narrows around its best point; the human ratings that are still
    missing follow. The price is within about one per cent of the least one.
    Raises InputError for prices that are not positive.

    >>> mix = find_cheapest_mix(Plan(0, 0, 0.9, 0.9, 0.6), 0.05, RatingPrices(0.15, 0.001))
    >>> mix.plan.n_human, mix.plan.n_metric, round(mix.price, 2)
    (0, 1167, 1.17)
    """
    if not all(np.isfinite(price) and price > 0 for price in prices.each):
        raise InputError(
            f"prices of {prices.human:g} and {prices.metric:g} are not all positive; give what ratings cost"
        )
    wanted = PlanRequirement(difference, among.power(power), among.level(level), constrain, False, power)
    bare = plan._replace(n_metric=0, n_calibration=_refuse_zero(plan))
    # The cheapest mix costs no more than human ratings alone, which bounds every axis; log1p keeps 0 on its scale.
    alone = int(find_smallest_number("n_human", bare, difference, level=level, power=power, among=among))
    # The difference found with a power is 1 + z(power) / z(1 - level / 2) times the measurable one.
    measurable = difference / (1 + float(ndtri(wanted.power)) / critical_value(wanted.level))
    human, metric, calibration = prices.each
    ends = [np.log1p([0, alone * human / metric])]
    if plan.n_calibration is not None:
        ends.append(np.log1p([0, alone * human / calibration]))
    best = np.inf, np.zeros(len(ends))
    for k in _STEPS[len(ends)]:
        axes: list[Floats] = [
            np.unique(np.rint(np.expm1(np.linspace(low, high, k))).astype(float)) for low, high in ends
        ]
        points: Floats = np.stack([x.ravel() for x in np.meshgrid(*axes, indexing="ij")], axis=1)
        needed = _count_missing_humans(plan, points, alone, measurable, wanted.level, constrain)
        price = needed * human + points @ [metric, calibration][: len(ends)]
        # Only prices are compared: with equal prices a tuple would go on to compare arrays, which have no order.
        best = min(best, (float(price.min()), points[price.argmin()]), key=lambda priced: priced[0])
        ends = [_refine_axis(axis, at, low, high) for axis, at, (low, high) in zip(axes, best[1], ends, strict=True)]
    return _complete_mix(plan, best[1], wanted, prices)


def _refuse_zero(plan: Numbers) -> int | None:
    return None if plan.n_calibration is None else 0


def _refine_axis(axis: Floats, at: float, low: float, high: float) -> Floats:
    """Return the neighbours of a point as the ends of the next grid, on the logarithmic scale of the search."""
    k = int(np.searchsorted(axis, at))
    return np.array([np.log1p(axis[max(k - 1, 0)]), np.log1p(axis[min(k + 1, len(axis) - 1)])])


def _count_missing_humans(
    plan: Numbers, points: Floats, alone: int, difference: float, level: float, constrain: bool
) -> Floats:
    """Return for each `points[point]` = (n_metric, n_calibration) how many human ratings are missing, at most `alone`.

    The precision 1 / epsilon^2 is nearly linear in the number of human ratings: the Illinois variant of the secant
    method finds where it is enough.
    """
    ones = np.ones(len(points))
    known = [plan.rho * ones, plan.eta * ones, plan.alpha * ones, *points.T[1:]]
    wanted = 1 / difference**2

    def count_missing(n_human: Floats) -> Floats:
        return 1 / _epsilon(Plan(n_human, points[:, 0], *known), level, constrain) ** 2 - wanted

    low, high = 0 * ones, alone * ones
    at_low, at_high = count_missing(low), count_missing(high)
    enough = at_low >= 0
    # The root need not be exact: `_complete_mix` fills up the number that is found to the exact one.
    for _ in range(6):
        with np.errstate(divide="ignore", invalid="ignore"):
            middle = np.clip(high - at_high * (high - low) / (at_high - at_low), low, high)
        there = count_missing(np.where(np.isfinite(middle), middle, high))
        above = there >= 0
        at_low, at_high = np.where(above, at_low / 2, there), np.where(above, there, at_high / 2)
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    # A root that is whole but for rounding must not cost one more rating.
    return np.where(enough, 0.0, np.ceil(high - 1e-9))


def _complete_mix(plan: Numbers, point: Floats, wanted: PlanRequirement, prices: RatingPrices) -> Mix:
    """Fill up with as many human ratings as are missing, exactly, then drop metric ratings that are not needed."""
    n_calibration = int(point[1]) if len(point) > 1 else None
    chosen = plan._replace(n_metric=int(point[0]), n_calibration=n_calibration)
    level, constrain = wanted.level, wanted.constrain
    n_human = find_smallest_number(
        "n_human", chosen, wanted.difference, level=level, power=wanted.power, constrain=constrain
    )
    chosen = chosen._replace(n_human=int(n_human))
    if chosen.n_metric:

        def is_enough(n: int) -> bool:
            return wanted.is_met_by(chosen._replace(n_metric=n))

        chosen = chosen._replace(n_metric=0 if is_enough(0) else _bisect(is_enough, 0, int(chosen.n_metric)))
    human, metric, calibration = prices.each
    price = chosen.n_human * human + chosen.n_metric * metric + (n_calibration or 0) * calibration
    return Mix(chosen, price, measurable_epsilon(chosen, level=level, constrain=constrain))


def compute_detections(rows: Sequence[Row], difference: float | None = None) -> list[Row]:
    """Return the measurable and detectable differences of each setting, and the power at a `difference`.

    A setting has `n_human`, `n_metric`, `n_calibration`, `rho`, `eta`, `alpha`, `level` and `power`; None stands for
    what is not there. It may have `n_systems`, `multiplicity` and `find`, the fields of `Among`; then differences are
    between any two of so many systems. An answer has `epsilon` (each system has its own calibration) and `detectable`
    (the difference that is found with the `power`), both also as `_joint` (one calibration for both), and `flipped`:
    the metric was turned round, since rho + eta < 1. With a `difference` it has `power_published` and `power_joint`,
    with `posterior` (`nuts`: epsilon rests on draws of alpha) R-hat and effective number of these draws, else NaN.

    Raises InputError for settings that cannot be.
    """
    answers: list[Row] = [{} for _ in rows]
    for alike in _group_rows(rows):
        columns = _columns([rows[k] for k in alike], rows[alike[0]], difference)
        for position, k in enumerate(alike):
            answers[k] = {name: column[position].item() for name, column in columns.items()}
    return answers


def _group_rows(rows: Sequence[Row]) -> Iterable[list[int]]:
    """Group rows that one call can compute."""
    groups: dict[Any, list[int]] = {}
    for k, row in enumerate(rows):
        groups.setdefault(
            (
                row["level"],
                row["power"],
                read_compared_systems(row),
                row["n_calibration"] is None,
                row.get("posterior"),
            ),
            [],
        ).append(k)
    return groups.values()


def read_compared_systems(row: Row) -> Among:
    """Return the number of systems of a setting and how pairs are tested: two systems unless `row` has other values.

    Raises InputError for values that cannot be.
    """
    return Among(**{name: row[name] for name in Among._fields if name in row}).validate()


def _columns(rows: Sequence[Row], first: Row, difference: float | None) -> dict[str, Any]:
    """Return the answers of `compute_detections`, arrays by name, for rows that share the options of `first`."""
    names = ["n_human", "n_metric", "rho", "eta", "alpha"]
    names += [] if first["n_calibration"] is None else ["n_calibration"]
    # Without metric ratings any metric will do.
    plan = Plan(*(np.array([1.0 if row[name] is None else row[name] for row in rows]) for name in names))
    systems = read_compared_systems(first)
    level, power = systems.level(first["level"]), systems.power(first["power"])
    detectable = detectable_difference(plan, level=level, power=power)
    published = measurable_difference(plan, level=level, posterior=first.get("posterior", "quadrature"))
    joint = joint_difference(plan, level=level)
    answer = {
        "epsilon": published.epsilon,
        "epsilon_joint": joint.epsilon,
        "detectable": detectable,
        "detectable_joint": joint_detectable_difference(plan, level=level, power=power),
        "flipped": published.flipped,
    }
    if "posterior" in first:
        unknown = np.full(len(rows), np.nan)
        answer |= {
            name: unknown if value is None else value
            for name, value in (("r_hat", published.r_hat), ("ess", published.ess))
        }
    if difference is not None:
        answer["power_published"] = systems.family_power(approximate_power(plan, difference, level=level))
        answer["power_joint"] = systems.family_power(joint_power(plan, difference, level=level))
    return answer


def rules(level: float = 0.05) -> dict[str, Any]:
    """Return the constants and quadrature rules of `measurable_difference`, as plain numbers and lists.

    `refining` and `panels` are the quantiles at which panels over alpha are cut, `panel` the rule within one, `outer`
    the number of Gauss-Jacobi nodes and `inner` the rule over rho, eta and q.

    >>> rules()["cells"], round(rules()["critical"], 2), len(rules()["panels"])
    (64, 1.96, 15)
    """
    return {
        "critical": critical_value(level),
        "cells": likelihood.CELLS,
        "rounds": likelihood.ROUNDS,
        "temper": likelihood.TEMPER,
        "refining": _cuts(likelihood.CELLS),
        "panels": _cuts(posterior.PANELS),
        "panel": _rule(posterior.PER_PANEL),
        "outer": likelihood.SIZES[0],
        "inner": _rule(likelihood.SIZES[1]),
        "tail": likelihood.TAIL,
        "most": MOST,
    }


def _cuts(n: int) -> list[float]:
    return [float(p) for p in ndtr(np.linspace(-likelihood.REACH, likelihood.REACH, n + 1))]


def _rule(k: int) -> dict[str, list[float]]:
    node, weight = likelihood.legendre(k)
    return {"node": node.tolist(), "weight": weight.tolist()}
