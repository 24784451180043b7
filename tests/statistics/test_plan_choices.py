"""Hold what a search advises in the built-in fitted world against the truth of all designs, from fresh worlds.

Every seed is a plan of its own: its worlds are drawn for it and for nobody else, so the forty choices are independent.
What is true is found once, in worlds of another seed, 400 of each design, and of those near a bound as many more as it
takes; they are kept in a folder (`SIMLAB_TRUTH`, else a new one), so that the test goes on where it was stopped. Equal
allocation is followed on the worlds of the truth.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from oracles.equal_allocation import decided
from planning.made_problems import Problem
from planning.real_plans import designs, opened

from simlab.answers.plan import Limits, Smallest, Target
from simlab.engine.laboratory import Laboratory
from simlab.planning.search import search
from simlab.planning.terms import Design, MeasuredDesign, PlanRequest
from simlab.types import Estimate

FRESH = 90_001
LEAST, MOST = 400, 8000
NEAR = 0.004
DEFAULT = PlanRequest(
    (Target(measure="power", least=0.8), Target(measure="no_wrong_claim", least=0.95)),
    Limits(money=None, currency=None, deadline=None),
    Smallest(value=1.0, unit="", why=""),
)
EASIER = replace(DEFAULT, targets=(Target(measure="power", least=0.6), Target(measure="no_wrong_claim", least=0.95)))


class Plan(NamedTuple):
    """Hold what a plan came to."""

    advice: Design | None
    probability: float
    campaigns: int


def planned(folder: Path, seed: int, of: Sequence[Design], wanted: PlanRequest) -> Plan:
    with opened(folder / f"plan-{seed}", seed) as held:
        found = search(held, of, wanted)
    return Plan(found.advice, found.probability, found.campaigns)


def is_near(looked: MeasuredDesign, wanted: PlanRequest) -> bool:
    """Tell whether it is open, in worlds as they are, on which side of a bound a measure lies."""
    ends = [(looked[t.measure], t.least + s * wanted.margin) for t in wanted.targets for s in (-1, 1)]
    return any(one.mcse > NEAR and abs(one.value - end) < 3 * one.mcse for one, end in ends)


def true_measures(held: Laboratory, of: Sequence[Design], wanted: Sequence[PlanRequest], least: int) -> Mapping:
    """Look at all designs in `least` fresh worlds, and at those near a bound in more until their error is small."""
    looked = dict(held.look(dict.fromkeys(of, least)))
    while near := [one for one in of if any(is_near(looked[one], each) for each in wanted)]:
        worlds = min(MOST, 2 * len(looked[near[0]]["power"].influence))
        if worlds == len(looked[near[0]]["power"].influence):
            break
        looked |= held.look(dict.fromkeys(near, worlds))
    return looked


def as_problem(looked: Mapping[Design, MeasuredDesign]) -> Problem:
    return Problem({one: {name: of.value for name, of in measured.items()} for one, measured in looked.items()})


def first_worlds(looked: MeasuredDesign, worlds: int) -> MeasuredDesign:
    """Return what is measured in the first so many worlds."""
    values = {name: one.value + np.asarray(one.influence)[:worlds] for name, one in looked.items()}
    means = {name: float(of.mean()) for name, of in values.items()}
    return {name: Estimate(means[name], of - means[name], "world", worlds) for name, of in values.items()}


def equal_campaigns(looked: Mapping[Design, MeasuredDesign], wanted: PlanRequest) -> int:
    """Count the campaigns after which all designs, with as many worlds each, allow a choice."""
    worlds, most = 16, min(len(one["power"].influence) for one in looked.values())
    while worlds < most:
        cut = {one: first_worlds(of, worlds) for one, of in looked.items()}
        if decided(cut, wanted, worlds).probability >= wanted.confidence:
            break
        worlds = min(most, math.ceil(1.25 * worlds))
    return worlds * len(looked)


@pytest.mark.slow
def test_two_plans_of_a_few_designs_are_right(tmp_path: Path) -> None:
    few = designs(("ungrouped", "pseudo_side_by_side"), (1,), (20, 40, 60))
    wanted = replace(
        EASIER, targets=(Target(measure="power", least=0.3), Target(measure="no_wrong_claim", least=0.9)), margin=0.1
    )
    plans = [planned(tmp_path, seed, few, wanted) for seed in (1, 2)]
    with opened(tmp_path / "truth", FRESH) as held:
        truth = as_problem(held.look(dict.fromkeys(few, 80)))
    assert all(plan.probability >= wanted.confidence for plan in plans)
    assert all(truth.is_right(plan.advice, wanted) for plan in plans)
    # Far off the mark is far off the mark, whatever these 80 worlds say.
    assert not truth.is_right(few[0], wanted)


@pytest.mark.long
@pytest.mark.parametrize("wanted", [DEFAULT, EASIER], ids=["default", "easier"])
def test_forty_plans(tmp_path: Path, wanted: PlanRequest) -> None:
    """Plan forty times between 102 designs; right in 36, with a quarter of the campaigns of equal allocation."""
    of = designs()
    plans = [planned(tmp_path, seed, of, wanted) for seed in range(1, 41)]
    with opened(Path(os.environ.get("SIMLAB_TRUTH", tmp_path / "truth")), FRESH) as held:
        looked = true_measures(held, of, [wanted], LEAST)
    truth = as_problem(looked)
    assert sum(truth.is_right(plan.advice, wanted) for plan in plans) >= 36
    assert np.mean([plan.campaigns for plan in plans]) <= 0.25 * equal_campaigns(looked, wanted)
