"""Made searches and answers for tests: designs whose power is known by a formula, on two benches."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from planning.benches import MadeBench
from scipy.special import ndtr, ndtri

from simlab.answers.plan import SIZE, Limits, Loads, Robust, Smallest, StudyPlan, Target
from simlab.planning.answer import answer
from simlab.planning.bench import is_within_limits, reaches
from simlab.planning.terms import Assumption, Design, Flip, Ground, Lever, PlanRequest, SearchResult, family, size_of

SIZES = (20, 40, 80, 120, 160, 240, 320)
WORLDS = 200
KINDS: Mapping[tuple[str, int], float] = {
    ("pseudo_side_by_side", 1): 0.0,
    ("pseudo_side_by_side", 2): 0.42,
    ("ungrouped", 1): -0.45,
    ("ungrouped", 2): -0.1,
    ("system_balanced", 1): -0.3,
}
"""What a grouping and ratings per output add to the probit of the power."""
PRICE, SYSTEMS = 0.5, 8


def design(size: int, grouping: str = "pseudo_side_by_side", each: int = 1) -> Design:
    return ((SIZE, size), ("design.grouping", grouping), ("design.ratings_per_item", each))


def probit(one: Design) -> float:
    held = dict(one)
    gain = KINDS[held["design.grouping"], held["design.ratings_per_item"]]
    raters: float = 0.25 * math.log(held.get("raters.pool_size", 6) / 6)
    size: float = 0.7 * math.log(held[SIZE])
    return -2.55 + gain + raters + size


def cost(one: Design) -> float:
    held = dict(one)
    return PRICE * SYSTEMS * held[SIZE] * held["design.ratings_per_item"]


def truth(one: Design, *, clock: float | None = None) -> dict[str, float]:
    """Return true measures; on a clock of so many ratings a day for at most five days."""
    power, days = float(ndtr(probit(one))), math.nan
    told = {"power": power, "power_at": power * 0.7, "no_wrong_claim": 0.97, "money": cost(one)}
    if clock is not None:
        days = cost(one) / PRICE / clock
        late = float(days > 5)
        told |= {"hours": 3 * days, "days": min(days, 5.0), "ended_by_deadline": 0.99 * late, "ended_by_money": 0.0}
        told |= {"ended_as_planned": 1 - 0.99 * late}
    else:
        told |= {"ended_as_planned": 1.0}
    if dict(one).get("design.estimand") == "all_raters":
        told |= {"power": power * 0.5, "power_at": power * 0.3, "no_wrong_claim": 0.6}
    return told


def fresh_truth(one: Design, *, clock: float | None = None) -> dict[str, float]:
    told = truth(one, clock=clock)
    return {**told, "srp_new_study": 0.85 * told["power"], "confirmed_new_study": 0.95 * told["power"]}


def wanted(
    power: float = 0.8,
    money: float | None = 2000.0,
    deadline: str | None = None,
    currency: str | None = "EUR",
    **more: Any,
) -> PlanRequest:
    targets = (Target(measure="power", least=power), Target(measure="no_wrong_claim", least=0.95))
    limits = Limits(money=money, currency=currency, deadline=deadline)
    return replace(
        PlanRequest(targets, limits, Smallest(value=2.0, unit="points", why="half of the spread of the systems")),
        **more,
    )


def ground(**changes: Any) -> Ground:
    made = Ground(
        words=(),
        read="640 ratings of 8 systems on 40 documents by 6 raters; 0 to 100, higher is better",
        world="gaussian; 12 of 12 checks against the pilot passed (my/world.yaml)",
        assumed=(),
        systems=SYSTEMS,
        raters=6,
        these_raters=False,
        unit="points",
        system_sd=4.0,
        draws=200,
        levers=(
            Lever(SIZE, SIZES),
            Lever("design.grouping", ("pseudo_side_by_side", "ungrouped", "system_balanced")),
            Lever("design.ratings_per_item", (1, 2)),
        ),
        assumptions=(),
        record={"world": "my/world.yaml"},
    )
    return replace(made, **changes)


def found(asked: PlanRequest, bench: MadeBench, worlds: int = WORLDS) -> SearchResult:
    """Search by looking at all designs, and taking what is best by the formula."""
    designs = [design(size, *kind) for kind in KINDS for size in SIZES]
    tried = bench.look(dict.fromkeys(designs, worlds))
    inside = [one for one in designs if is_within_limits(tried[one], asked)]
    fine = [one for one in inside if reaches(tried[one], asked)]
    advice = min(fine, key=cost, default=None)
    best = max(inside, key=probit)
    chosen = advice or best
    groups = {family(one) for one in designs} - {family(chosen)}
    rivals = [max((one for one in designs if family(one) == group), key=probit) for group in groups]
    return SearchResult(advice, best, tuple(rivals), tried, 0.96, len(designs), bench.campaigns, "sure")


def robust() -> Robust:
    more = "Hardly known from this pilot: rater x system (6 raters). 3 more on 10 documents would settle it."
    return Robust(
        share=0.86,
        low=0.78,
        high=0.92,
        q05=0.74,
        regret=0.04,
        regret_low=0.02,
        regret_high=0.07,
        draws=200,
        source="posterior draws",
        more=more,
    )


def flips() -> tuple[Flip, ...]:
    taste = Assumption(
        "rater x system", "systems.assumed.taste_sd", 1.1, 0.4, 1.9, 0.0, 6.0, False,
        "raters favour single systems by {:.1f} points", "points", "pilot",
    )  # fmt: skip
    speed = Assumption(
        "speed", "design.collection.seconds_per_answer", 120.0, 60.0, 200.0, 10.0, 900.0, True,
        "a rating takes {:.0f} seconds", "seconds", "assumed",
    )  # fmt: skip
    return (
        Flip(taste, 2.1, 1.8, 2.4, 1.2, design(160, "system_balanced"), "balance wins"),
        Flip(speed, 420.0, 380.0, 470.0, 2.2, None, "the deadline fails"),
    )


def loads() -> Loads:
    return Loads(
        covers="a rating is of one segment by one rater",
        outputs=960,
        ratings=960,
        raters=6,
        per_rater=160,
        most=176,
        per_rater_documents=20,
    )


def answered(
    asked: PlanRequest | None = None,
    *,
    clock: float | None = None,
    stands_on: Ground | None = None,
    said: Sequence[Flip] | None = None,
    **more: Any,
) -> StudyPlan:
    """Return an answer from made benches."""
    asked, bench = asked or wanted(), MadeBench(lambda one: truth(one, clock=clock), seed=1)
    fresh = MadeBench(lambda one: fresh_truth(one, clock=clock), seed=2)
    told: dict[str, Any] = {"robust": robust(), "loads": lambda one: loads()} | more
    return answer(
        found(asked, bench), bench, fresh, stands_on or ground(), asked, flips=flips() if said is None else said, **told
    )


def size_at(least: float, kind: tuple[str, int]) -> float:
    """Return the true size at which a kind of design has a power."""
    return math.exp((float(ndtri(least)) + 2.55 - KINDS[kind]) / 0.7)


def sized(one: Design | None) -> int:
    assert one is not None
    return size_of(one) or 0
