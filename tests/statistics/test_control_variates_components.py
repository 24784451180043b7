"""Recover gamma and rho from repeated ratings, and the data efficiency from intervals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from simlab.analysis.means.bootstrap import (
    empirical_data_efficiency,
    noiseless_judgements,
    perfect_metric,
    simulate_perfect_metric,
)
from simlab.analysis.means.components import variance_component_errors, variance_components
from simlab.analysis.means.planning import data_efficiency
from simlab.types import InputError
from simlab.world.laws.fixed import fixed_ratings
from simlab.world.recorded import recorded

GAMMA, RHO = 0.8, 0.6


def pilot(rng: np.random.Generator, rows: int, outputs: int, repeats: int, gaps: float) -> tuple[np.ndarray, ...]:
    """Draw ratings with sigma_f^2 = 1, sigma_a^2 = GAMMA, a metric with correlation RHO; gaps are uneven."""
    f = rng.standard_normal((rows, outputs))
    g = RHO * f + np.sqrt(1 - RHO**2) * rng.standard_normal(f.shape)
    ratings = 3 + f[..., None] + np.sqrt(GAMMA) * rng.standard_normal((*f.shape, repeats))
    ratings[rng.random(ratings.shape) < gaps * rng.random((rows, outputs, 1)) * 2] = np.nan
    return ratings, g


def off(values: np.ndarray, expected: float) -> float:
    return float((values.mean() - expected) / (values.std(ddof=1) / np.sqrt(len(values))))


@pytest.mark.parametrize("gaps", [0.0, 0.4], ids=["balanced", "unbalanced"])
def test_variances_are_unbiased_and_the_metric_is_disattenuated(gaps: float) -> None:
    ratings, g = pilot(np.random.default_rng(1), 4000, 40, 3, gaps)
    found = variance_components(ratings, g)
    assert abs(off(found.signal_variance, 1.0)) < 5
    assert abs(off(found.annotator_variance, GAMMA)) < 5
    known = found.signal_variance > 0
    assert known.mean() > 0.995
    assert abs(off(found.correlation[known] * np.sqrt(found.signal_variance[known]), RHO)) < 5
    # Negative control: the variance of output means still holds annotators' noise.
    assert off(np.nanvar(np.nanmean(np.where(np.isnan(ratings).all(-1, keepdims=True), 3.0, ratings), -1), -1), 1.0) > 5


def test_gamma_and_rho_come_back_from_a_large_pilot() -> None:
    rng = np.random.default_rng(2)
    ratings, g = pilot(rng, 1, 4000, 3, 0.4)
    found, error = variance_components(ratings, g), variance_component_errors(rng, ratings, g, resamples=200)
    for name, truth in (
        ("signal_variance", 1.0),
        ("annotator_variance", GAMMA),
        ("gamma", GAMMA),
        ("correlation", RHO),
    ):
        assert abs(getattr(found, name)[0] - truth) < 4 * getattr(error, name)[0]
        assert getattr(error, name)[0] < 0.06
    # Negative control: the correlation with a single judgement is attenuated.
    first = ratings[0, :, 0]
    given = np.isfinite(first)
    assert RHO - np.corrcoef(first[given], g[0, given])[0, 1] > 4 * error.correlation[0]


def test_bootstrap_errors_are_those_that_repeated_pilots_show() -> None:
    rng = np.random.default_rng(3)
    ratings, g = pilot(rng, 400, 120, 3, 0.3)
    found, error = variance_components(ratings, g), variance_component_errors(rng, ratings, g, resamples=200)
    for name in ("signal_variance", "annotator_variance", "gamma", "correlation"):
        assert 0.85 < np.mean(getattr(error, name)) / getattr(found, name).std() < 1.2


def test_balanced_components_are_those_of_the_analysis_of_variance() -> None:
    ratings, _ = pilot(np.random.default_rng(4), 1, 12, 4, 0.0)
    found = variance_components(ratings)
    f_ratio = stats.f_oneway(*ratings[0]).statistic
    np.testing.assert_allclose(1 + 4 / found.gamma[0], f_ratio, rtol=1e-10)
    assert np.isnan(found.correlation[0])


def test_unbalanced_components_are_the_textbook_formulas_read_literally() -> None:
    groups = [[1.0, 2.0, 2.5], [4.0], [3.0, 3.5], [0.0, 1.0, 0.5]]
    padded = np.array([group + [np.nan] * (3 - len(group)) for group in groups])
    total = [value for group in groups for value in group]
    n, grand = len(total), np.mean(total)
    within = sum((value - np.mean(group)) ** 2 for group in groups for value in group) / (n - 4)
    between = sum(len(group) * (np.mean(group) - grand) ** 2 for group in groups) / 3
    repeats = (n - sum(len(group) ** 2 for group in groups) / n) / 3
    found = variance_components(padded)
    np.testing.assert_allclose(found.annotator_variance, within, rtol=1e-12)
    np.testing.assert_allclose(found.signal_variance, (between - within) / repeats, rtol=1e-12)
    empty = np.vstack([padded, np.full((1, 3), np.nan)])
    np.testing.assert_allclose(variance_components(empty)[:3], found[:3], rtol=1e-12)


@pytest.mark.parametrize(
    ("ratings", "g", "words"),
    [
        ([[1.0], [2.0], [3.0]], None, "rated twice"),
        ([[1.0, np.nan], [np.nan, 2.0]], None, "rated twice"),
        ([[2.0, 2.0], [2.0, 2.0]], None, "all are equal"),
        ([[1.0, 2.0], [np.nan, np.nan]], None, "fewer than 2 outputs"),
        ([[1.0, 2.0], [3.0, 4.0]], [1.0], "g: "),
        ([1.0, 2.0], None, "no axis for repeats"),
    ],
)
def test_what_is_not_identified_is_refused(ratings: list, g: list | None, words: str) -> None:
    with pytest.raises(InputError, match=words):
        variance_components(ratings, g)


def test_empirical_data_efficiency_finds_the_formula() -> None:
    rng = np.random.default_rng(5)
    rows, n = 400, 200
    g = rng.standard_normal((rows, n))
    f = RHO * g + np.sqrt(1 - RHO**2) * rng.standard_normal((rows, n))
    y = f + np.sqrt(GAMMA) * rng.standard_normal((rows, n))
    for metric, truth in ((g, data_efficiency(RHO, GAMMA)), (f, data_efficiency(1.0, GAMMA))):
        found = empirical_data_efficiency(rng, y, metric, sizes=(100, 200), resamples=300).mean(-1)
        assert abs(found.mean() / truth - 1) < 0.05
    # Negative control: a metric of other outputs saves nothing.
    blind = empirical_data_efficiency(rng, y, rng.permuted(g, axis=1), sizes=(200,), resamples=300)
    assert blind.mean() < 1.05


def test_the_published_perfect_metric_exceeds_the_cap_and_leave_one_out_does_not() -> None:
    rng = np.random.default_rng(6)
    k, cap = 3, (1 + GAMMA) / GAMMA
    ratings, _ = pilot(rng, 300, 400, k, 0.0)
    y = ratings[..., 0]
    honest = empirical_data_efficiency(rng, y, perfect_metric(ratings, 0), sizes=(400,), resamples=300).mean()
    published = empirical_data_efficiency(rng, y, simulate_perfect_metric(ratings), sizes=(400,), resamples=300).mean()
    # The mean of all, standardised, has Cov^2 / Var = 1 + GAMMA / k with y: what is left is GAMMA (k - 1) / k.
    assert abs(published / (cap * k / (k - 1)) - 1) < 0.06
    assert abs(honest / data_efficiency(1 / np.sqrt(1 + GAMMA / (k - 1)), GAMMA) - 1) < 0.06
    assert honest < cap < published


def test_noiseless_humans_keep_a_share_of_the_noise() -> None:
    rng = np.random.default_rng(7)
    ratings, g = pilot(rng, 300, 300, 3, 0.0)
    found = empirical_data_efficiency(rng, noiseless_judgements(ratings), g, sizes=(300,), resamples=300).mean()
    assert abs(found / data_efficiency(RHO, GAMMA / 3) - 1) < 0.05
    assert found < 0.9 * data_efficiency(RHO, 0.0)


def test_on_real_ratings_the_published_limit_exceeds_the_cap_and_the_honest_one_does_not() -> None:
    """Ten systems of WMT23 English-German, 104 segments, three ratings each."""
    rng = np.random.default_rng(8)
    world = recorded(rng, path=None, sha256=None, names=None, better=None, columns=None, people=None, where=None)
    given = fixed_ratings(world)
    assert given is not None
    ratings = given.value
    gamma = variance_components(ratings).gamma
    cap = np.mean((1 + gamma) / gamma)

    def efficiency(metric: np.ndarray) -> float:
        found = empirical_data_efficiency(rng, ratings[..., 0], metric, sizes=(60, 80, 100), resamples=400)
        return float(found.mean())

    assert 0.6 < gamma.min() < gamma.max() < 2.3
    assert 1 < efficiency(perfect_metric(ratings, 0)) < cap
    assert efficiency(simulate_perfect_metric(ratings)) > 1.1 * cap
