"""Find the limit that keeps a plan from a larger design, remedies for missed targets, and effects of other money.

Throughout `search` is the result of a search, `bench` simulates further designs, `ground` is the study that all designs
share and `wanted` the request.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from simlab.answers.plan import Figures, LargestDesign, MissedTarget, OtherMoney, Remedy, Target, TriedDesign
from simlab.planning.bench import (
    ENDED,
    figures,
    first_target,
    is_within_limits,
    measure_extra_design,
    measure_value,
    reaches,
)
from simlab.planning.crossings import AssumptionScale
from simlab.planning.curves import SURE, UNKNOWN, Curve, curves
from simlab.planning.rivals import sizes
from simlab.planning.terms import (
    Assumption,
    Bench,
    Design,
    Flip,
    Ground,
    MeasuredDesign,
    PlanRequest,
    SearchResult,
    family,
    replace_setting,
    size_of,
)
from simlab.rng import stream
from simlab.types import Floats

Binds: TypeAlias = Literal["money", "deadline", "documents", "raters", "none"]
ENDS: Mapping[Binds, str] = {"money": "ended_by_money", "deadline": "ended_by_deadline", "raters": "ended_by_nobody"}
"""Measures of the share of campaigns that a limit ends, by the limit."""
WORLDS = 24

PRICE = "budget.price_per_rating"
OTHERS = ("budget.price_per_hour", "budget.price_per_rater")
RESAMPLED = 400
TAIL = 0.05

FACTORS = (0.9, 1.1)
LEVEL = 0.05
MORE_RATERS = (1.5, 2.0, 3.0)
WORLDS_PER_SUM = 96


def find_binding_limit(
    search: SearchResult, bench: Bench, ground: Ground, wanted: PlanRequest
) -> tuple[Binds, LargestDesign]:
    """Return the limit that the next larger design of the best one's family exceeds, and both designs.

    "documents": there is no larger size; "raters": no rater is left to ask; "none": no limit is known.
    """
    best = search.best
    if (larger := _larger_design(best, search, ground)) is None:
        return "documents" if size_of(best) is not None else "none", LargestDesign(
            design=best, next=None, ended_by=math.nan
        )
    looked = search.tried.get(larger) or measure_extra_design(bench, larger, WORLDS)
    if not looked:
        return "none", LargestDesign(design=best, next=larger, ended_by=math.nan)
    name, share = _find_limit(looked, wanted)
    return name, LargestDesign(design=best, next=larger, ended_by=share)


def front(tried: Mapping[Design, MeasuredDesign], wanted: PlanRequest) -> tuple[TriedDesign, ...]:
    """Return all designs that were tried, cheapest first, and mark the Pareto front of money, days and first target."""
    measure = first_target(wanted).measure
    measured = {design: looked for design, looked in tried.items() if measure in looked and "money" in looked}
    ordered = sorted(
        measured, key=lambda one: (measure_value(measured[one], "money"), -measure_value(measured[one], measure))
    )
    return tuple(
        TriedDesign(
            design=design,
            front=not any(
                _is_better(measured[other], measured[design], measure) for other in ordered if other != design
            ),
            reaches=reaches(measured[design], wanted),
            within=is_within_limits(measured[design], wanted),
            measures=figures(measured[design]),
        )
        for design in ordered
    )


def _is_better(other: MeasuredDesign, design: MeasuredDesign, measure: str) -> bool:
    """True if a design is at least as good in all ways, and better in one."""
    gains = [measure_value(other, measure) - measure_value(design, measure)]
    gains += [
        measure_value(design, name) - measure_value(other, name)
        for name in ("money", "days")
        if name in design and name in other
    ]
    return min(gains) >= 0 and max(gains) > 0


def _larger_design(best: Design, search: SearchResult, ground: Ground) -> Design | None:
    """Return the next larger design of a kind that was looked at, or could have been."""
    from simlab.planning.curves import set_size

    size = size_of(best)
    if size is None:
        return None
    tried = {
        tried_size
        for design in search.tried
        if family(design) == family(best) and (tried_size := size_of(design)) is not None
    }
    listed = {int(value) for lever in ground.levers if lever.is_size for value in lever.values}
    beyond = sorted(n for n in tried | listed if n > size)
    return set_size(best, beyond[0]) if beyond else None


def _find_limit(looked: MeasuredDesign, wanted: PlanRequest) -> tuple[Binds, float]:
    """Name the limit that ends most campaigns of a design, and the share of campaigns that it ends."""
    shares = {name: measure_value(looked, measure) for name, measure in ENDS.items()}
    known = {name: share for name, share in shares.items() if share > 0}
    if measure_value(looked, "ended_as_planned") < ENDED:
        if known:
            name = max(known, key=lambda one: known[one])
            return name, known[name]
        return ("money" if wanted.limits.deadline is None else "deadline"), math.nan
    limit = wanted.limits.money
    if limit is not None and measure_value(looked, "money") > limit:
        return "money", shares["money"]
    return "none", math.nan


class _PriceFactor(NamedTuple):
    """Factor on the price with which a design stays within the money, also by worlds drawn again."""

    at: float
    again: Floats


def is_all(assumption: Assumption, ground: Ground) -> bool:
    """True if an assumption is the price of a rating, and ratings are the whole cost."""
    settings = {key: value for key, _, value in (word.partition("=") for word in ground.words)}
    return assumption.key == PRICE and all(settings.get(key, "0") in ("0", "0.0") for key in OTHERS)


def flip(assumption: Assumption, search: SearchResult, wanted: PlanRequest) -> Flip | None:
    """Return the nearest price at which the advice changes, without simulating anything; None where none is.

    All designs become dearer alike, so that the order of their costs stays: the advice goes where the money no longer
    pays it, and where there is none one comes where the money pays the first design that reaches the targets.
    """
    money = wanted.limits.money
    if money is None:
        return None
    if search.advice is not None:
        factor = _factor(search.tried[search.advice], money, wanted)
        return None if factor is None else _flip(assumption, factor, None, "the money ends it")
    able = {
        design: change
        for design, look in search.tried.items()
        if reaches(look, wanted) and (change := _factor(look, money, wanted))
    }
    if not able:
        return None
    then = max(able, key=lambda one: able[one].at)
    return _flip(assumption, able[then], then, "the money pays for it")


def _factor(look: MeasuredDesign, money: float, wanted: PlanRequest) -> _PriceFactor | None:
    """Return how much dearer answers may become: the mean cost is paid, and the cost in nine campaigns of ten."""
    if "money" not in look or not look["money"].value > 0:
        return None
    cost = look["money"].value + np.asarray(look["money"].influence)
    n = len(cost)
    drawn = cost[stream(wanted.seed, "plan", "price").integers(n, size=(RESAMPLED, n))]
    # Within the limits means both: the mean is paid, and nine campaigns of ten end as planned.
    most = np.maximum(drawn.mean(axis=1), np.quantile(drawn, ENDED, axis=1))
    return _PriceFactor(money / max(float(cost.mean()), float(np.quantile(cost, ENDED))), money / most)


def _flip(assumption: Assumption, factor: _PriceFactor, then: Design | None, why: str) -> Flip | None:
    at = assumption.value * factor.at
    if not assumption.least <= at <= assumption.most:
        return None
    low, high = (float(np.clip(end, assumption.least, assumption.most)) for end in _span(assumption, factor))
    distance = abs(AssumptionScale(assumption).measure_distance(at))
    return Flip(assumption, at, low, high, distance, then, why)


def _span(assumption: Assumption, factor: _PriceFactor) -> tuple[float, float]:
    low, high = np.quantile(factor.again, [TAIL, 1 - TAIL])
    return assumption.value * float(low), assumption.value * float(high)


def other_money(search: SearchResult, ground: Ground, wanted: PlanRequest) -> tuple[OtherMoney, ...]:
    """Return the advice with 10 % less and 10 % more money than the budget (else than the advice costs)."""
    base = wanted.limits.money
    if base is None:
        base = measure_value(search.tried[search.chosen], "money")
    if not base > 0:
        return ()
    fitted_curves = curves(search.tried, first_target(wanted).measure, wanted)
    bounds = sizes(ground, search.tried)
    return tuple(_advise_with_money(factor * base, fitted_curves, bounds, search, wanted) for factor in FACTORS)


def list_missed_targets(figures: Figures, wanted: PlanRequest) -> tuple[MissedTarget, ...]:
    """Return the targets that a design misses."""
    return tuple(
        MissedTarget(target=target.measure, least=target.least, **dict(figures[target.measure]))
        for target in wanted.targets
        if target.measure in figures and not figures[target.measure].value >= target.least
    )


def remedies(
    search: SearchResult, bench: Bench, ground: Ground, wanted: PlanRequest, missed: Sequence[MissedTarget], at: Figures
) -> tuple[Remedy, ...]:
    """Return remedies for targets that the best design misses: documents, raters, a larger difference to find.

    `at` are the best design's figures. A larger difference mends missed power only.
    """
    options = [_documents(search, wanted, missed), _raters(search, bench, ground, wanted)]
    if missed and missed[0].target.startswith("power"):
        options.append(_difference(search.best, wanted, at, ground))
    return tuple(option for option in options if option is not None)


def _advise_with_money(
    money: float, curves: Sequence[Curve], bounds: tuple[int, int], search: SearchResult, wanted: PlanRequest
) -> OtherMoney:
    sized = [(curve, _largest_paid_size(curve, money, bounds, search)) for curve in curves]
    paid = [(curve, math.floor(size)) for curve, size in sized if size >= bounds[0]]
    advice, cost = _find_cheapest_design(money, paid, bounds[0], search, wanted)
    known = [pair for pair in paid if pair[0].rise is not None]
    if not known:
        return OtherMoney(money=money, design=advice, cost=cost, most=None, **dict(UNKNOWN))
    most, size = max(known, key=lambda pair: pair[0].figure(pair[1]).value)
    return OtherMoney(money=money, design=advice, cost=cost, most=most.make_design(size), **dict(most.figure(size)))


def _largest_paid_size(curve: Curve, money: float, bounds: tuple[int, int], search: SearchResult) -> float:
    """Return the largest size that the money pays and that time and people allow."""
    cut = [
        size
        for design, looked in search.tried.items()
        if family(design) == family(curve.design) and (size := size_of(design)) is not None and _cut(looked)
    ]
    allowed = curve.money.reach[1] if cut else bounds[1]
    return float(min(curve.size_for(money), allowed))


def _cut(looked: MeasuredDesign) -> bool:
    """True if time or people, not money, end campaigns."""
    other = [measure_value(looked, name) for name in ("ended_by_deadline", "ended_by_nobody") if name in looked]
    return measure_value(looked, "ended_as_planned") < ENDED and max(other, default=1.0) > 1 - ENDED


def _find_cheapest_design(
    money: float, paid: Sequence[tuple[Curve, int]], fewest: int, search: SearchResult, wanted: PlanRequest
) -> tuple[Design | None, float]:
    """Return the cheapest design that reaches the targets for the money, of those tried, else by fitted curves.

    `paid` holds curves of families with the largest size that the money pays. A curve that is above the target
    everywhere advises the `fewest` documents.
    """
    slack = money * (1 + 1e-9)
    fine = {
        design: cost
        for design, looked in search.tried.items()
        if reaches(looked, wanted) and (cost := measure_value(looked, "money")) <= slack and not _cut(looked)
    }
    if search.advice is not None and search.advice in fine:
        return search.advice, fine[search.advice]
    least = first_target(wanted).least
    sized = [
        (curve, size, curve.find_size(least)[0])
        for curve, size in paid
        if _do_others_hold(curve.design, search, wanted)
    ]
    for curve, size, needed in sized:
        at = max(math.ceil(needed), fewest) if needed <= size else None
        if at is not None:
            fine[curve.make_design(at)] = curve.cost(at)
    cheapest = min(fine, key=lambda one: fine[one], default=None)
    return cheapest, math.nan if cheapest is None else fine[cheapest]


def _do_others_hold(design: Design, search: SearchResult, wanted: PlanRequest) -> bool:
    """True if the targets behind the first hold at the largest size of a family that was looked at."""
    members = {one: looked for one, looked in search.tried.items() if family(one) == family(design)}
    largest = members[max(members, key=lambda one: size_of(one) or 0)]
    first = first_target(wanted)
    return all(measure_value(largest, target.measure) >= target.least for target in wanted.targets if target != first)


def _documents(search: SearchResult, wanted: PlanRequest, missed: Sequence[MissedTarget]) -> Remedy | None:
    """Return the cheapest number of documents at which the fitted lines reach all that is missed."""
    options: list[Remedy] = []
    for curve in curves(search.tried, first_target(wanted).measure, wanted):
        members = {design: looked for design, looked in search.tried.items() if family(design) == family(curve.design)}
        spans = [_size_needed(members, wanted, Target(measure=short.target, least=short.least)) for short in missed]
        if not spans or any(math.isnan(span[0]) for span in spans):
            continue
        at, low, high = max(spans)
        cost = curve.cost(at) if math.isfinite(at) else math.inf
        design = curve.make_design(math.ceil(at)) if math.isfinite(at) else curve.design
        value = float(math.ceil(at)) if at < math.inf else at
        options.append(
            Remedy(what="documents", design=design, value=value, low=low, high=high, money=cost, extrapolated=True)
        )
    return min(options, key=lambda one: (one.money, one.value), default=None)


def _size_needed(
    tried: Mapping[Design, MeasuredDesign], wanted: PlanRequest, target: Target
) -> tuple[float, float, float]:
    fitted = curves(tried, target.measure, wanted)
    return fitted[0].find_size(target.least) if fitted else (math.nan, math.nan, math.nan)


def _raters(search: SearchResult, bench: Bench, ground: Ground, wanted: PlanRequest) -> Remedy | None:
    """Return the fewest raters, of some that are tried, with whom the best design reaches the targets."""
    if ground.these_raters:
        return None  # others would be asked about other raters; how many that takes is a question of its own
    key = raters_key(ground)
    now = int(dict(search.best).get(key, ground.raters))
    for factor in MORE_RATERS:
        if bench.remaining_seconds() <= 0:
            return None
        n = math.ceil(now * factor)
        more = replace_setting(search.best, key, n)
        looked = measure_extra_design(bench, more, WORLDS_PER_SUM)
        if looked and reaches(looked, wanted) and is_within_limits(looked, wanted):
            money = measure_value(looked, "money")
            return Remedy(what="raters", design=more, value=n, low=now, high=n, money=money, extrapolated=False)
    return None


def raters_key(ground: Ground) -> str:
    """Return the key that says how many raters there are: that of the lever, else that of the world."""
    levers = [lever.key for lever in ground.levers if lever.key in ("raters.pool_size", "systems.n_raters")]
    fitted = any(word.split("=")[0] == "systems" and word.endswith("=fitted") for word in ground.words)
    return levers[0] if levers else ("systems.n_raters" if fitted else "raters.pool_size")


def _difference(best: Design, wanted: PlanRequest, at: Figures, ground: Ground) -> Remedy | None:
    """Return the difference that the best design finds as often as is wanted, by the normal approximation.

    A difference d is found with probability `Phi(d / se - c)`, c being what a test of all pairs at once asks for
    (Bonferroni's is a little more than max-T's); its power at the smallest difference tells the standard error.
    """
    from scipy.special import ndtri

    power = at.get("power_at")
    least = first_target(wanted).least
    if power is None or not 0 < power.value < 1:
        return None
    pairs = max(ground.systems * (ground.systems - 1) // 2, 1)
    ask = float(-ndtri(LEVEL / 2 / pairs))
    target = float(ndtri(least)) + ask

    def find_difference(share: float) -> float:
        # Ends of an interval of a share may be 0 or 1, where probits are infinite.
        reach = float(ndtri(min(max(share, 1e-6), 1 - 1e-6))) + ask
        return wanted.smallest.value * target / reach if reach > 0 else math.inf

    low, high = (find_difference(power.value + sign * SURE * power.mcse) for sign in (1, -1))
    value, money = find_difference(power.value), at["money"].value
    return Remedy(what="difference", design=best, value=value, low=low, high=high, money=money, extrapolated=True)
