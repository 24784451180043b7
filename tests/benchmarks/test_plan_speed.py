"""Measure how long a plan takes that chooses between 102 designs of the built-in world, and how many campaigns.

With the default targets the choice is to be sure enough in the time. A power of .6 is about what the best designs have
there: worlds differ by .4, so that no patience of minutes tells .60 from .58, and the plan has to end and to say so.
Equal allocation begins with 16 worlds of each design.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from planning.real_plans import designs, opened

from simlab.answers.plan import Limits, Smallest, Target
from simlab.planning.search import search
from simlab.planning.terms import PlanRequest, SearchResult

MOST_SECONDS = 180.0
"""On two cores."""
DEFAULT = 0.8
LAST_LOOK = 15.0
"""Seconds that the looks may take that are under way when patience ends."""


@pytest.mark.benchmark(group="plan")
@pytest.mark.parametrize("power", [DEFAULT, 0.6])
def test_a_hundred_designs(benchmark, tmp_path: Path, power: float) -> None:
    of = designs()
    targets = (Target(measure="power", least=power), Target(measure="no_wrong_claim", least=0.95))
    wanted = PlanRequest(
        targets, Limits(money=None, currency=None, deadline=None), Smallest(value=1.0, unit="", why="")
    )

    def plan() -> SearchResult:
        with opened(tmp_path, 1, MOST_SECONDS - LAST_LOOK) as held:
            return search(held, of, wanted)

    found = benchmark.pedantic(plan, rounds=1)
    benchmark.extra_info |= {"campaigns": found.campaigns, "probability": found.probability, "why": found.why}
    assert len(of) >= 100
    if power == DEFAULT:
        assert found.probability >= wanted.confidence
        assert found.campaigns <= 0.25 * 16 * len(of)
    else:
        assert found.probability >= wanted.confidence or found.why.startswith("patience is over")
    assert benchmark.stats.stats.max <= MOST_SECONDS
