"""Studies of ratings against what they would cost otherwise, in one process and in turn."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from places import places
from scipy import stats
from threadpoolctl import threadpool_limits

from simlab.analysis.significance import permutation
from simlab.config import compose, compose_sweep
from simlab.rng import stream
from simlab.studies.blocks import run_block, run_blocks
from simlab.world.laws.error_counts import count_quantile

ROUNDS = 5


def ratio(faster: Callable[[], object], slower: Callable[[], object]) -> float:
    """Say how many times as fast one is as the other: the median of CPU seconds in turn."""
    ratios = []
    for _ in range(ROUNDS):
        times = []
        for function in (faster, slower):
            began = time.process_time()
            function()
            times.append(time.process_time() - began)
        ratios.append(times[1] / times[0])
    return float(np.median(ratios))


@pytest.mark.benchmark(group="noise of a study: drawn once for all cells, or in each cell")
def test_noise_drawn_once_against_each_cell_on_its_own(benchmark: Any) -> None:
    configs = [cell.config for cell in compose_sweep("item_grouping").cells()]
    studies = places(0, 10)
    run_blocks(configs, studies[:1])
    benchmark.pedantic(lambda: run_blocks(configs, studies), rounds=3)
    benchmark.extra_info["ratio"] = ratio(
        lambda: run_blocks(configs, studies), lambda: [run_block(config, studies) for config in configs]
    )
    assert benchmark.extra_info["ratio"] > 1.3


@pytest.mark.benchmark(group="error counts: walking together, or scipy's inverse")
def test_counts_against_scipy(benchmark: Any) -> None:
    rng = stream(1, "benchmark")
    mean, probability = rng.gamma(0.5, 5.0, 20_000) + 1e-3, rng.random(20_000)
    law = stats.nbinom(1 / 0.35, 1 / (1 + 0.35 * mean))
    counts = benchmark(lambda: count_quantile(probability, mean, 0.35))
    np.testing.assert_array_equal(counts, law.ppf(probability))
    benchmark.extra_info["ratio"] = ratio(lambda: count_quantile(probability, mean, 0.35), lambda: law.ppf(probability))
    assert benchmark.extra_info["ratio"] > 10


def plainly(total: np.ndarray) -> np.ndarray:
    """Flip the differences of all pairs at once, as the formula stands."""
    first, second = np.triu_indices(total.shape[1], 1)
    gap = total[:, first] - total[:, second]
    bits = stream(1, "test").bytes(-(-500 * len(total) // 8))
    flips = np.unpackbits(np.frombuffer(bits, np.uint8), count=500 * len(total)).reshape(500, -1)
    null = np.abs((1.0 - 2.0 * flips) @ gap)
    return np.asarray((1 + (null >= np.abs(gap.sum(0)) - 1e-9 * np.abs(total).sum(0).max()).sum(0)) / 501)


@pytest.mark.benchmark(group="100 systems on 1,000 documents: pairs in chunks, or the plain formula")
def test_many_pairs_against_the_plain_formula(benchmark: Any) -> None:
    total = np.round(stream(1, "totals").gamma(2.0, 3.0, (1000, 100)), 1)

    def tested() -> np.ndarray:
        return permutation(stream(1, "test"), total, permutations=500, p_value="add_one")

    with threadpool_limits(1):
        np.testing.assert_array_equal(benchmark(tested), plainly(total))
        benchmark.extra_info["ratio"] = ratio(tested, lambda: plainly(total))
    assert benchmark.extra_info["ratio"] > 5


MOST_TIMES = {
    ("analysis.test=mixed_model",): 4.0,
    ("analysis.test=moderated",): 3.5,
    ("analysis.test=moderated", "analysis.test.draws=499"): 2.7,
}
"""Tests of all pairs by the mixed model, and the campaigns by the published test that one of each may cost."""


@pytest.mark.benchmark(group="all pairs of 15 systems, 181 documents, 7 raters: mixed model, or published permutations")
@pytest.mark.parametrize("test", MOST_TIMES, ids=" ".join)
def test_all_pairs_by_the_mixed_model_against_the_published_test(test: tuple[str, ...], benchmark: Any) -> None:
    """Whole campaigns are compared, each with a design of its own: who rates which document is dealt anew."""
    published = compose(["design.documents=181", "analysis.test=permutation", "decision=significance"])
    model = compose(["design.documents=181", *test, "decision=max_t"])
    with threadpool_limits(1):
        run_block(model, places(0, 1))
        benchmark.pedantic(lambda: run_block(model, places(0, 20)), rounds=3)
        times = 1 / ratio(lambda: run_block(model, places(0, 20)), lambda: run_block(published, places(0, 20)))
    benchmark.extra_info |= {"ratio": times, "ms": 1000 * benchmark.stats.stats.min / 20}
    assert times <= MOST_TIMES[test]
