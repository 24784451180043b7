"""Measure how fast a table of ratings is concluded, against a loop over pairs with scipy; ratios are asserted."""

from __future__ import annotations

import time

import numpy as np
import pytest
from made_ratings import Plan, made
from scipy import stats
from threadpoolctl import threadpool_limits

from simlab.concluding.options import ConcludeOptions
from simlab.concluding.ratings.collecting import collect, compose_config
from simlab.concluding.ratings.findings import TableReading, conclude_ratings
from simlab.rng import stream
from simlab.tables.rating_table import Ratings

LARGE = Plan(systems=10, documents=500, raters=10, per_output=2, segments=1)
"""10,000 ratings."""


def loop(ratings: Ratings) -> list[float]:
    """Test pairs one by one with scipy, documents permuted, and draw an interval of each again and again."""
    n = ratings.n_systems
    count = np.bincount(ratings.item * n + ratings.system, minlength=len(ratings.document) * n)
    total = np.bincount(ratings.item * n + ratings.system, weights=ratings.score, minlength=len(count)) / count
    score, found = total.reshape(-1, n), []
    for i in range(n):
        for j in range(i):
            apart = (score[:, i] - score[:, j],)
            found.append(stats.permutation_test(apart, np.mean, permutation_type="samples", n_resamples=2000).pvalue)
            stats.bootstrap(apart, np.mean, n_resamples=2000, method="percentile")
    return found


@pytest.mark.benchmark(group="conclusion", timer=time.process_time)
def test_a_conclusion_is_several_times_faster_than_a_loop(benchmark) -> None:
    """Conclude from 10,000 ratings of 10 systems; the loop is charged with its tests and intervals only."""
    ratings = made(stream(1), LARGE)
    config, campaign = compose_config(ConcludeOptions()), collect(ratings, 1)
    with threadpool_limits(1):
        began = time.process_time()
        loop(ratings)
        baseline = time.process_time() - began
        benchmark.pedantic(
            conclude_ratings,
            args=(config, campaign, ConcludeOptions(), TableReading({}, "")),
            rounds=3,
            warmup_rounds=1,
        )
    mine = benchmark.stats.stats.median
    benchmark.extra_info |= {"baseline_s": baseline, "s": mine, "ratio": baseline / mine}
    assert baseline / mine >= 5
