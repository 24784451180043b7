"""How many raters a study needs to speak of others."""

from __future__ import annotations

import pytest

from simlab.answers.plan import Limits, Smallest, Target
from simlab.planning import assumptions
from simlab.planning.terms import Design, PlanRequest
from tests.planning.benches import MadeBench

WANTED = PlanRequest(
    (Target(measure="power", least=0.8), Target(measure="no_wrong_claim", least=0.95)),
    Limits(money=None, currency=None, deadline=None),
    Smallest(value=2, unit="", why=""),
)


def _bench(half: float) -> MadeBench:
    """Raters of whom `half` as many as there are halve what is missed."""

    def truth(design: Design) -> dict[str, float]:
        return {"power": 1 - 0.5 ** (dict(design)["raters.pool_size"] / half), "no_wrong_claim": 0.97}

    return MadeBench(truth, seed=1)


def _with(raters: int) -> Design:
    return (("raters.pool_size", raters),)


@pytest.mark.parametrize(("half", "fewest"), [(1, 6), (3.6, 10), (8, 20), (100, None)])
def test_the_fewest_raters_that_reach_the_targets(half: float, fewest: int | None) -> None:
    found = assumptions.find_needed_raters(_bench(half), WANTED, _with)
    assert found.raters == fewest
    assert dict(found.design)["raters.pool_size"] == (fewest or assumptions.POOLS[-1])
    assert assumptions.reaches(found.measures, WANTED.targets) == (fewest is not None)


def test_few_pools_are_asked_about() -> None:
    bench = _bench(8)
    assumptions.find_needed_raters(bench, WANTED, _with)
    assert bench.campaigns <= 4 * assumptions.WORLDS_PER_POOL


def test_what_is_undefined_reaches_nothing() -> None:
    assert not assumptions.reaches({}, WANTED.targets)
