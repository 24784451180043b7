"""Measure how long a plan takes that chooses between 102 designs of the built-in world, and how many campaigns."""

from __future__ import annotations

from pathlib import Path

import pytest
from planning.real_plans import designs, opened

from simlab.planning.searching import search
from simlab.planning.terms import Found, Limits, Smallest, Target, Wanted

MOST_SECONDS = 180.0
"""On two cores."""


@pytest.mark.benchmark(group="plan")
@pytest.mark.parametrize("power", [0.8, 0.6])
def test_a_hundred_designs(benchmark, tmp_path: Path, power: float) -> None:
    of = designs()
    targets = (Target("power", power), Target("no_wrong_claim", 0.95))
    wanted = Wanted(targets, Limits(None, None, None), Smallest(1.0, "", ""))

    def plan() -> Found:
        with opened(tmp_path, 1, MOST_SECONDS) as held:
            return search(held, of, wanted)

    found = benchmark.pedantic(plan, rounds=1)
    benchmark.extra_info |= {"campaigns": found.campaigns, "probability": found.probability}
    assert len(of) >= 100
    assert found.probability >= wanted.confidence
    assert benchmark.stats.stats.max <= MOST_SECONDS
