"""A campaign on the clock against bare timeouts of SimPy, one for each of its ratings, in one process and in turn."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import simpy
from places import places

from simlab.config import compose
from simlab.studies.blocks import run_block

CAMPAIGNS, TURNS = 10, 5
BARE = 19_800
"""Ratings of 181 documents by 15 systems: that many timeouts took 18 ms where 50 ms was the most for a campaign."""


def seconds(function: Callable[[], object]) -> float:
    began = time.process_time()
    function()
    return time.process_time() - began


def bare_timeouts() -> None:
    env = simpy.Environment()
    for hour in range(BARE):
        env.timeout(hour)
    env.run()


@pytest.mark.benchmark(group="181 documents by 15 systems, 7 raters who tire and leave: campaigns, or bare timeouts")
def test_campaigns_against_bare_timeouts(benchmark: Any) -> None:
    whole = ["design.documents=181", "design.collection=experts", "design.collection.drop_out=0.01"]
    asked = compose(whole)
    studies = places(0, CAMPAIGNS)
    # The world is drawn once, and is not what is measured.
    run_block(asked, studies[:1])
    benchmark.pedantic(lambda: run_block(asked, studies), rounds=3)
    turns = [(seconds(lambda: run_block(asked, studies)) / CAMPAIGNS, seconds(bare_timeouts)) for _ in range(TURNS)]
    campaign, bare = np.median(turns, axis=0)
    benchmark.extra_info["milliseconds a campaign"] = 1000 * campaign
    benchmark.extra_info["ratio"] = campaign / bare
    assert benchmark.extra_info["ratio"] < 50 / 18
