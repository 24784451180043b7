"""Measure speed against what a user would write, in one process: `pytest tests/benchmarks --benchmark-only -n 0`.

Ratios are asserted, not times: the machines are noisy and small.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest
from places import places
from scipy import stats
from threadpoolctl import threadpool_limits

from simlab.config import compose
from simlab.design.balance import deal_evenly
from simlab.rng import stream
from simlab.studies.blocks import run_block
from simlab.studies.ratings.collecting import lay, reveal
from simlab.studies.ratings.preparing import prepare
from simlab.studies.worlds import draw_world
from simlab.types import RATE, Place

OVERRIDES = ["design.documents=181", "design.studies_per_document_set=50"]


def loop_over_pairs(total: np.ndarray) -> np.ndarray:
    """Test each pair of systems with scipy, documents permuted, as one would without simlab."""
    first, second = np.triu_indices(total.shape[1], 1)
    return np.array(
        [
            stats.permutation_test(
                (total[:, i], total[:, j]),
                lambda x, y, axis: np.mean(x, axis=axis) - np.mean(y, axis=axis),
                permutation_type="samples",
                n_resamples=500,
                vectorized=True,
                rng=np.random.default_rng(1),
            ).pvalue
            for i, j in zip(first, second, strict=True)
        ]
    )


def seconds(function: Callable[[], object], repeats: int) -> float:
    """Return CPU seconds of a call: what else runs on the machine makes it take longer, not more."""
    began = time.process_time()
    for _ in range(repeats):
        function()
    return (time.process_time() - began) / repeats


@pytest.mark.benchmark(group="stability", timer=time.process_time)
@pytest.mark.parametrize(
    ("noise", "ratings_per_item", "least"), [("potential", 1, 50), ("fresh", 1, 50), ("fresh", 3, 15)]
)
def test_stability(benchmark, noise: str, ratings_per_item: int, least: float) -> None:
    """15 systems, 181 documents (1,315 segments), 3 potential ratings each, 500 permutations; whole studies per second.

    The baseline gets ratings, sums and ranking for free and is charged with its significance tests only. Asking all
    three raters with noise of the study's own costs most: nearly all of it goes into 118,000 negative binomial draws.
    """
    config = compose([*OVERRIDES, f"raters.noise={noise}", f"design.ratings_per_item={ratings_per_item}"])
    world = draw_world(config, 0)
    table = lay(prepare(config), world, Place(0))
    documents = np.ones(181, bool)
    seen = reveal(world, deal_evenly(stream(1), table, documents), world.answers[RATE].draw(stream(2), None))
    total = np.zeros((181, 15))
    np.add.at(total, (world.frame.document[seen.item], seen.system), seen.value / ratings_per_item)
    with threadpool_limits(1):
        run_block(config, places(0, 1))
        baseline = seconds(lambda: loop_over_pairs(total), 2)
        benchmark.pedantic(run_block, args=(config, places(0, 20)), rounds=3)
    mine = benchmark.stats.stats.median / 20
    benchmark.extra_info |= {"baseline_s_per_study": baseline, "s_per_study": mine, "ratio": baseline / mine}
    assert baseline / mine >= least


@pytest.mark.benchmark(group="permutation", timer=time.process_time)
def test_permutation_kernel(benchmark) -> None:
    """Test the same 105 pairs by one matrix product and by scipy's loop."""
    from simlab.analysis.significance import permutation

    total = stream(1).gamma(1.0, 5.0, size=(181, 15))
    with threadpool_limits(1):
        baseline = seconds(lambda: loop_over_pairs(total), 2)
        benchmark(permutation, stream(2), total, permutations=500, p_value="add_one")
    benchmark.extra_info["ratio"] = baseline / benchmark.stats.stats.median
    assert baseline / benchmark.stats.stats.median >= 50
