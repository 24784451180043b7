"""Measure the studies of a backtest against the engine's, in one process: ratios, not times."""

from __future__ import annotations

import time
from functools import partial

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from simlab.analysis import normalization
from simlab.fitting.backtest.campaigns import campaigns, measure_worlds, sums
from simlab.fitting.backtest.designs import NORMALIZATIONS, BacktestDesign, deal_studies, prepare_studies
from simlab.measures.stability import srp
from simlab.rng import stream
from simlab.studies.ratings.collecting import collect, lay
from simlab.studies.ratings.concluding import conclude
from simlab.types import OK, RATE, Campaign, Place, World
from simlab.world.laws.fixed import FixedRatings
from simlab.world.recorded import make_world, table
from tests.benchmarks.test_stability import seconds

LEAST = 5.0
WORLDS, SETS, PER_SET = 12, 2, 6
NORMALIZERS = {
    "none": normalization.none,
    "mean": normalization.mean,
    "error": partial(normalization.error, errors="total"),
    "zscore": partial(normalization.zscore, ddof=1),
}


def worlds() -> list[World]:
    real = make_world(table(None))
    shape = real.frame.rater.shape
    drawn = (stream(0, k).poisson(np.linspace(1, 3, shape[0])[:, None, None], shape) for k in range(WORLDS))
    return [real.replace_answers(RATE, FixedRatings(values.astype(float), values)) for values in drawn]


def one_after_the_other(held: list[World], design: BacktestDesign) -> list[float]:
    """Carry out studies as the engine does, world by world, and conclude them once per normalisation."""
    asking = prepare_studies(design, 1, PER_SET)
    study = np.arange(SETS * PER_SET)
    zero = np.zeros(len(study), np.int32)
    where = {"world": zero, "study": study, "document_set": study // PER_SET, "status": zero + OK}
    found = []
    for world in held:
        laid = lay(asking, world, Place(0))
        said = [collect(asking, world, laid, iter([None]), [Place(0, study=int(k))])[0] for k in study]
        came = [one.collected for one in said if isinstance(one, Campaign)]
        for name in NORMALIZATIONS:
            outcomes = conclude(asking._replace(normalise=NORMALIZERS[name]), came)
            found.append(float(srp(outcomes | where).value))
    return found


def all_at_once(held: list[World], design: BacktestDesign) -> list[float]:
    asked = deal_studies(held[0], design, seed=1, sets=SETS, per_set=PER_SET)
    said = campaigns(sums(held), asked, NORMALIZATIONS)
    shares = np.array([measure_worlds(said[name])["srp"].value for name in NORMALIZATIONS])
    return list(shares.T.ravel().tolist())


@pytest.mark.benchmark(group="backtest", timer=time.process_time)
def test_studies_of_many_worlds_at_once(benchmark) -> None:
    held, design = worlds(), BacktestDesign("ungrouped", 20, 1)
    with threadpool_limits(1):
        assert all_at_once(held, design) == pytest.approx(one_after_the_other(held, design))
        slow = seconds(lambda: one_after_the_other(held, design), 1)
        benchmark.pedantic(lambda: all_at_once(held, design), rounds=3)
        ratio = slow / benchmark.stats.stats.min
    benchmark.extra_info["ratio"] = ratio
    assert ratio > LEAST
