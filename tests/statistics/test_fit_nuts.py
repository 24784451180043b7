"""Hold the chains' likelihood against numerical integration, and chains against the fast method."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from scipy import stats

from simlab.config import compose
from simlab.fitting import fast, nuts, synthetic
from simlab.fitting.pilot import of_world
from simlab.rng import stream
from simlab.studies.worlds import draw_world
from simlab.types import World

NORMAL = stats.norm


def reference(count: int, mean: float, dispersion: float, share: float, shared: float) -> float:
    """Give the probability that the own part of the copula falls between two quantiles of the count."""
    law = stats.nbinom(1 / dispersion, 1 / (1 + dispersion * mean))
    low, high = ((NORMAL.ppf(law.cdf(k)) - np.sqrt(1 - share) * shared) / np.sqrt(share) for k in (count - 1, count))
    return float(NORMAL.cdf(high) - NORMAL.cdf(low))


def test_the_likelihood_is_the_copula_read_backwards() -> None:
    counts = np.array([0, 1, 2, 5, 9, 20, 0, 3])
    mean = np.array([0.5, 0.5, 3.0, 4.0, 9.0, 12.0, 6.0, 0.4])
    shared = np.array([0.0, 1.0, -1.0, 0.5, -2.0, 1.5, -2.0, 2.0])
    wanted = [reference(int(k), m, 0.3, 0.6, z) for k, m, z in zip(counts, mean, shared, strict=True)]
    with nuts._doubles():
        likelihood = jax.jit(nuts.copula_likelihood(counts))
        found, other = (float(likelihood(mean, dispersion, 0.6, shared)) for dispersion in (0.3, 0.5))
    assert found == pytest.approx(np.log(wanted).sum(), rel=1e-4)
    assert other != pytest.approx(np.log(wanted).sum(), rel=1e-3)


def chains(apart: float) -> dict[str, np.ndarray]:
    rng = stream(1, "chains")
    shift = apart * np.arange(2)[:, None]
    return {name: rng.standard_normal((2, 200)) + shift for name in nuts.SCALARS}


def test_chains_that_disagree_are_told() -> None:
    extra = {"diverging": np.zeros((2, 200), bool), "num_steps": np.full((2, 200), 15)}
    good = nuts.diagnose(chains(0.0), extra)
    assert good["r_hat"] < 1.05
    assert not nuts.doubts(good)
    bad = nuts.diagnose(chains(3.0), extra | {"diverging": np.ones((2, 200), bool)})
    assert bad["r_hat"] > nuts.R_HAT_BAD
    assert len(nuts.doubts(bad)) == 3


@pytest.mark.long
def test_chains_agree_with_the_fast_method_on_a_simulated_pilot() -> None:
    sizes = ["systems.n_systems=5", "systems.n_documents=16", "systems.n_segments=48", "raters.noise=potential"]
    pool = ["raters.pool_size=4", "raters.raters_per_bucket=3", "raters.buckets_per_rater=3", "design.documents=10"]
    world = draw_world(compose([*sizes, *pool]), 0)
    assert isinstance(world, World)
    pilot = of_world(world)
    slow, quick = nuts.fit(pilot, seed=1), fast.fit(pilot, seed=1, draws=400)
    for k, name in enumerate(synthetic.NAMES):
        first, second = slow.theta[:, k], quick.theta[:, k]
        # Both use the same ratings, so that their difference is less than the errors of two independent answers.
        assert abs(first.mean() - second.mean()) < 2.5 * np.hypot(first.std(), second.std()), name
    logs = [np.log([one.system_mean for one in found.effects]) for found in (slow, quick)]
    first, second = (one - one.mean(1, keepdims=True) for one in logs)
    assert (np.abs(first.mean(0) - second.mean(0)) < 2.5 * np.hypot(first.std(0), second.std(0))).all()
