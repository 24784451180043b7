"""Simulate means from judgements and a metric: bias, variance, standard errors and coverage against their laws."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from simlab.analysis.control_variates import (
    Finite,
    MeanEstimate,
    Rest,
    control_variates,
    difference,
    interval,
    ppi,
    sample_mean,
)
from simlab.analysis.means.bootstrap import bootstrap_interval
from simlab.analysis.means.planning import data_efficiency

ROWS = 40_000
World = Callable[[np.random.Generator, tuple[int, ...]], tuple[np.ndarray, np.ndarray]]


def gaussian(rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    g = rng.standard_normal(shape)
    return 0.7 * g + np.sqrt(0.51) * rng.standard_normal(shape), g


def skewed(rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    g = rng.exponential(size=shape) - 1
    return 0.7 * g + np.sqrt(0.51) * rng.standard_normal(shape), g


def off(values: np.ndarray, expected: float) -> float:
    """Give the distance of the mean from what is expected, in Monte-Carlo standard errors."""
    return float((values.mean() - expected) / (values.std(ddof=1) / np.sqrt(len(values))))


def covered(estimate: MeanEstimate, level: float, truth: float = 0.0, freedom: float = np.inf) -> np.ndarray:
    bounds = interval(estimate, level, freedom)
    return ((bounds.low <= truth) & (truth <= bounds.high)).astype(float)


@pytest.mark.parametrize("n", [10, 20, 40])
def test_plug_in_is_biased_in_a_skewed_world_just_as_derived(n: int) -> None:
    y, g = skewed(np.random.default_rng(n), (ROWS, n))
    bias = -2 * 0.7 * (n - 1) / n**2
    assert abs(off(control_variates(y, g).value, bias)) < 5
    assert abs(off(control_variates(y, g, coefficient=0.7).value, 0.0)) < 5
    # Negative control: the simulation tells the bias from none.
    assert abs(off(control_variates(y, g).value, 0.0)) > 5


@pytest.mark.parametrize("n", [10, 20])
def test_plug_in_is_unbiased_where_the_metric_is_gaussian(n: int) -> None:
    y, g = gaussian(np.random.default_rng(n), (ROWS, n))
    assert abs(off(control_variates(y, g).value, 0.0)) < 5


def test_variance_with_the_known_coefficient_is_that_of_equation_6() -> None:
    rng = np.random.default_rng(3)
    n, gamma, rho = 12, 0.8, 0.6
    g = rng.standard_normal((ROWS, n))
    y = rho * g + np.sqrt(1 - rho**2) * rng.standard_normal((ROWS, n)) + np.sqrt(gamma) * rng.standard_normal((ROWS, n))
    estimate, mean = control_variates(y, g, coefficient=rho), sample_mean(y)
    assert abs(off(estimate.value**2, (1 - rho**2 + gamma) / n)) < 5
    assert abs(off(estimate.se**2, (1 - rho**2 + gamma) / n)) < 5
    assert abs(off(mean.value**2 - data_efficiency(rho, gamma) * estimate.value**2, 0.0)) < 5
    # Negative control: the mean's variance is another one.
    assert abs(off(mean.value**2, (1 - rho**2 + gamma) / n)) > 5


@pytest.mark.parametrize(
    ("world", "low", "high"), [(gaussian, 0.96, 1.03), (skewed, 0.93, 1.20)], ids=["gaussian", "skewed"]
)
def test_plug_in_standard_error_tells_the_spread_of_the_estimator(world: World, low: float, high: float) -> None:
    for n in (10, 40):
        y, g = world(np.random.default_rng(n), (ROWS, n))
        estimate = control_variates(y, g)
        assert low < np.mean(estimate.se**2) / estimate.value.var() < high
    y, g = world(np.random.default_rng(1), (ROWS, 10))
    naive = (y - control_variates(y, g).coefficient[:, None] * g).var(-1, ddof=1) / 10
    # Negative control: ddof 1 is too small by 8/9.
    assert naive.mean() / np.mean(control_variates(y, g).se ** 2) < 0.9


def test_intervals_cover_as_often_as_they_say() -> None:
    n = 20
    y, g = gaussian(np.random.default_rng(8), (ROWS, n))
    known = control_variates(y, g, coefficient=0.7)
    assert abs(off(covered(known, 0.05, freedom=n - 1), 0.95)) < 5
    assert abs(off(covered(known, 0.2, freedom=n - 1), 0.8)) < 5
    assert abs(covered(control_variates(y, g), 0.05, freedom=n - 2).mean() - 0.95) < 0.01
    # Negative control: intervals of the metric's own spread do not cover.
    wrong = known._replace(se=known.se * 0.8)
    assert abs(off(covered(wrong, 0.05), 0.95)) > 5


@pytest.mark.parametrize("n_rest", [20, 200])
def test_ppi_counts_the_uncertainty_of_the_rest(n_rest: int) -> None:
    rng = np.random.default_rng(n_rest)
    n = 60
    y, g = gaussian(rng, (20_000, n))
    rest = Rest(n_rest, rng.standard_normal(20_000) / np.sqrt(n_rest), rng.chisquare(n_rest - 1, 20_000) / (n_rest - 1))
    estimate = ppi(y, g, rest)
    law = (0.51 + 0.49 * n / (n + n_rest)) / n
    assert abs(np.mean(estimate.se**2) / law - 1) < 0.03
    assert abs(estimate.value.var() / law - 1) < 0.08
    assert abs(covered(estimate, 0.05, freedom=n - 2).mean() - 0.95) < 0.01
    # Negative control: taken for the known population, the rest misleads.
    assert covered(estimate._replace(se=np.sqrt(estimate.se**2 - estimate.metric_se**2)), 0.05).mean() < 0.94


def test_without_replacement_the_test_set_is_exhausted_but_not_the_noise() -> None:
    rng = np.random.default_rng(5)
    size, n, noise = 60, 40, 0.5
    f = rng.normal(2, 1, size)
    drawn = rng.permuted(np.tile(f, (ROWS, 1)), axis=1)[:, :n]
    y = drawn + np.sqrt(noise) * rng.standard_normal(drawn.shape)
    estimate = sample_mean(y, Finite(size, noise))
    assert abs(off((estimate.value - f.mean()) ** 2 - estimate.se**2, 0.0)) < 5
    # Negative control: with replacement the error would be larger.
    assert abs(off((estimate.value - f.mean()) ** 2 - sample_mean(y).se ** 2, 0.0)) > 5


def test_a_metric_saves_less_of_a_test_set_that_is_nearly_exhausted() -> None:
    rng = np.random.default_rng(9)
    size, n, gamma, rows = 80, 60, 0.4, 20_000
    f = rng.standard_normal(size)
    g = 0.8 * f + 0.6 * rng.standard_normal(size)
    f, g = (f - f.mean()) / f.std(), (g - g.mean()) / g.std()
    rho = float(np.mean(f * g))
    at = rng.permuted(np.tile(np.arange(size), (rows, 1)), axis=1)[:, :n]
    y = f[at] + np.sqrt(gamma) * rng.standard_normal(at.shape)
    estimate, mean = control_variates(y, g[at], None, rho, Finite(size, gamma)), sample_mean(y)
    assert abs(off(estimate.value**2 - estimate.se**2, 0.0)) < 5
    # The formula takes sigma_f^2 with ddof 1 over the test set: gamma relative to it.
    efficiency = data_efficiency(rho, gamma * (size - 1) / size, n / size)
    assert abs(off(mean.value**2 - efficiency * estimate.value**2, 0.0)) < 5
    # Negative control: with replacement the metric would save more.
    assert abs(off(mean.value**2 - data_efficiency(rho, gamma) * estimate.value**2, 0.0)) > 5


def test_systems_on_the_same_inputs_are_compared_paired() -> None:
    rng = np.random.default_rng(6)
    easy = rng.standard_normal((ROWS, 30))
    judged = [gaussian(rng, (ROWS, 30)) for _ in range(2)]
    first, second = (control_variates(y + easy, g) for y, g in judged)
    apart = difference(first, second)
    assert abs(covered(apart, 0.05, freedom=28).mean() - 0.95) < 0.01
    # Negative control: unpaired intervals are far too wide.
    assert covered(apart._replace(se=np.hypot(first.se, second.se)), 0.05).mean() > 0.98


def test_systems_that_share_the_rest_need_its_covariance() -> None:
    rng = np.random.default_rng(10)
    rows, n, n_rest = 20_000, 60, 30
    shared = rng.standard_normal((rows, n))
    judged = [gaussian(rng, (rows, n)) for _ in range(2)]
    pairs = [(y + 0.7 * shared, (g + shared) / np.sqrt(2)) for y, g in judged]
    # The metric's correlation between systems is 1/2, over the rest, too.
    common = rng.standard_normal(rows)
    means = [(rng.standard_normal(rows) + common) / np.sqrt(2 * n_rest) for _ in range(2)]
    first, second = (ppi(y, g, Rest(n_rest, mean, 1.0)) for (y, g), mean in zip(pairs, means, strict=True))
    covariance = first.coefficient * second.coefficient * 0.5 / n_rest
    paired, cautious = difference(first, second, covariance), difference(first, second)
    assert abs(covered(paired, 0.05, freedom=n - 2).mean() - 0.95) < 0.01
    # Negative control: without it intervals are too wide.
    assert covered(cautious, 0.05, freedom=n - 2).mean() > 0.96


def test_bootstrap_intervals_cover_nearly_as_often_as_they_say() -> None:
    rng = np.random.default_rng(7)
    y, g = gaussian(rng, (3000, 60))
    for level in (0.05, 0.2):
        bounds = bootstrap_interval(rng, y, g, level=level, resamples=600)
        share = np.mean((bounds.low <= 0) & (bounds.high >= 0))
        # Percentile intervals are known to be too short by about a factor sqrt((n - 2)/n).
        assert 1 - level - 0.03 < share < 1 - level + 0.015
        wrong = bootstrap_interval(rng, y + 0.1, g, level=level, resamples=600)
        assert np.mean((wrong.low <= 0) & (wrong.high >= 0)) < 1 - level - 0.03
