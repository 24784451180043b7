"""Turn latent scores into those that are judged on a scale."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import ndtr, ndtri

from simlab.types import Floats, Latent
from simlab.world.laws.judgements import deviations, exponential_deviates, human_scores


def law(quality: list[float], *, shared: float = 0.0) -> Latent:
    return Latent(np.array(quality), 2.0, 0.0, 0.0, shared)


def moments(values: Floats, weights: Floats) -> tuple[float, float, float]:
    mean = float(np.sum(weights * values))
    sd = float(np.sqrt(np.sum(weights * (values - mean) ** 2)))
    return mean, sd, float(np.sum(weights * ((values - mean) / sd) ** 3))


def test_skewed_deviations_are_exponential_with_mean_0_and_sd_1() -> None:
    nodes, weights = hermegauss(120)
    mean, sd, skewness = moments(exponential_deviates(nodes), weights / weights.sum())
    assert mean == pytest.approx(0, abs=1e-9)
    assert sd == pytest.approx(1, rel=1e-9)
    assert skewness == pytest.approx(2, rel=1e-6)
    # Control: what it is made of has the same two moments and no skewness.
    assert moments(nodes, weights / weights.sum()) == pytest.approx((0, 1, 0), abs=1e-9)
    share = np.array([1e-9, 0.01, 0.3, 0.5, 0.99, 1 - 1e-9])
    np.testing.assert_allclose(exponential_deviates(ndtri(share)), -np.log1p(-share) - 1, rtol=1e-6)


def test_skewed_deviations_keep_the_order_far_into_the_tails() -> None:
    normal = np.linspace(-6, 30, 3000)
    assert (np.diff(exponential_deviates(normal)) > 0).all()
    assert np.isfinite(exponential_deviates(normal)).all()
    assert exponential_deviates(normal).min() >= -1
    assert exponential_deviates(np.array([-40.0]))[0] == -1


def test_deviations_are_standardised_within_each_system() -> None:
    uneven = law([0.0, 3.0, -1.0], shared=1.5)  # 2.5 = hypot(2, 1.5)
    latent = np.array([[0.0, 2.5], [3.0, 8.0], [-1.0, -3.5]])
    np.testing.assert_allclose(deviations(latent, uneven), [[0, 1], [0, 2], [0, -1]])


def test_nothing_deviates_where_all_outputs_are_adequate_or_none() -> None:
    certain = law([np.inf, -np.inf, 1.0])
    latent = np.array([[np.inf, np.inf], [-np.inf, -np.inf], [3.0, 1.0]])
    np.testing.assert_array_equal(deviations(latent, certain), [[0, 0], [0, 0], [1, 0]])


def test_a_skewed_score_has_the_mean_and_the_spread_of_the_latent_one() -> None:
    systems = law([0.5, -2.0])
    nodes, weights = hermegauss(120)
    latent = systems.quality[:, None] + 2.0 * nodes
    for scale in ("skewed_score", "score", "binary"):
        scores = human_scores(scale, latent, systems)
        for k in range(2):
            mean, sd, skewness = moments(scores[k], weights / weights.sum())
            assert mean == pytest.approx(systems.quality[k])
            assert sd == pytest.approx(2.0)
            assert (skewness > 1) == (scale == "skewed_score")
    np.testing.assert_array_equal(human_scores("score", latent, systems), latent)


def test_the_share_above_a_score_is_that_of_an_exponential() -> None:
    x = np.linspace(-0.9, 4, 20)
    normal = ndtri(1 - np.exp(-(x + 1)))
    np.testing.assert_allclose(exponential_deviates(normal), x, atol=1e-9)
    np.testing.assert_allclose(1 - ndtr(normal), np.exp(-(x + 1)), rtol=1e-9)
