"""Hold control variates against closed forms, a rereading of their definition, and the package `ppi_py`."""

from __future__ import annotations

import numpy as np
import pytest

from simlab.analysis.control_variates import (
    Finite,
    Rest,
    control_variates,
    difference,
    interval,
    ppi,
    sample_mean,
)
from simlab.analysis.means.bootstrap import bootstrap_interval, empirical_data_efficiency
from simlab.analysis.means.planning import (
    data_efficiency,
    judgements_for_variance,
    judgements_for_width,
    price_of_precision,
    split_budget,
)
from simlab.types import InputError


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20260101)


def test_plug_in_is_algorithm_1_read_line_by_line(rng: np.random.Generator) -> None:
    y, g = rng.normal(3, 2, (4, 9)), rng.normal(size=(4, 9))
    estimate = control_variates(y, g)
    for row in range(4):
        mean = sum(y[row]) / 9
        a = sum((y[row, i] - mean) * g[row, i] for i in range(9)) / 9
        np.testing.assert_allclose(
            estimate.value[row], sum(y[row, i] - a * g[row, i] for i in range(9)) / 9, rtol=1e-12
        )
        np.testing.assert_allclose(estimate.coefficient[row], a, rtol=1e-12)


@pytest.mark.parametrize("n_rest", [2, 30, 10_000])
def test_ppi_is_the_control_variate_with_g_centred_on_the_union(rng: np.random.Generator, n_rest: int) -> None:
    n = 25
    y, g, more = rng.normal(size=(3, n)), rng.exponential(size=(3, n)), rng.exponential(size=(3, n_rest))
    rest = Rest(n_rest, more.mean(-1), more.var(-1, ddof=1))
    tuned = ppi(y, g, rest)
    union = np.concatenate([g, more], axis=1)
    standard = (g - union.mean(1, keepdims=True)) / union.std(1, ddof=1, keepdims=True)
    np.testing.assert_allclose(tuned.value, control_variates(y, standard).value, rtol=1e-12, atol=1e-12)
    same = control_variates(y, g, rest)
    np.testing.assert_allclose(tuned.value, same.value, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(tuned.se, same.se, rtol=1e-12)
    np.testing.assert_allclose(tuned.coefficient, same.coefficient * n_rest / (n + n_rest), rtol=1e-12)
    # Negative control: centred on the rest alone it is another estimator.
    apart = (g - more.mean(1, keepdims=True)) / union.std(1, ddof=1, keepdims=True)
    assert np.abs(tuned.value - control_variates(y, apart).value).min() > 1e-6


def test_an_infinite_rest_is_the_known_population(rng: np.random.Generator) -> None:
    y, g = rng.normal(5, 1, (6, 12)), rng.normal(size=(6, 12))
    known, limit = control_variates(y, g), ppi(y, g, Rest(np.inf, 0.0, 1.0))
    for name in ("value", "se", "coefficient", "influence"):
        np.testing.assert_allclose(getattr(known, name), getattr(limit, name), rtol=1e-12, atol=1e-14)
    large = ppi(y, g, Rest(1e12, 0.0, 1.0))
    np.testing.assert_allclose(known.value, large.value, rtol=1e-9)


def test_units_of_the_metric_and_of_judgements_do_not_matter(rng: np.random.Generator) -> None:
    y, g = rng.normal(size=(5, 20)), rng.normal(size=(5, 20))
    plain, other = ppi(y, g, Rest(50, 0.1, 1.2)), ppi(1e6 + 2 * y, 7 + 3 * g, Rest(50, 7.3, 9 * 1.2))
    np.testing.assert_allclose(other.value - 1e6, 2 * plain.value, atol=1e-8)
    np.testing.assert_allclose(other.se, 2 * plain.se, rtol=1e-8)


def test_standard_error_is_the_spread_of_influence_values_and_of_the_rest(rng: np.random.Generator) -> None:
    y, g = rng.normal(size=(5, 20)), rng.normal(size=(5, 20))
    for estimate in (
        sample_mean(y),
        control_variates(y, g),
        control_variates(y, g, Rest(40, 0.0, 1.0)),
        ppi(y, g, Rest(40, 0.0, 1.0)),
    ):
        judged = estimate.influence.std(-1, ddof=1) / np.sqrt(20)
        np.testing.assert_allclose(estimate.se, np.hypot(judged, estimate.metric_se), rtol=1e-12)


def test_a_coefficient_of_zero_is_the_sample_mean(rng: np.random.Generator) -> None:
    y, g = rng.normal(size=(5, 20)), rng.normal(size=(5, 20))
    none, mean = control_variates(y, g, coefficient=0.0), sample_mean(y)
    np.testing.assert_allclose(none.value, mean.value, rtol=1e-12)
    np.testing.assert_allclose(none.se, mean.se, rtol=1e-12)


def test_paired_systems_are_compared_by_their_differences(rng: np.random.Generator) -> None:
    first, second = rng.normal(size=(2, 30))
    paired = difference(sample_mean(first), sample_mean(second))
    plain = sample_mean(first - second)
    np.testing.assert_allclose([paired.value, paired.se], [plain.value, plain.se], rtol=1e-12)
    assert difference(sample_mean(first), sample_mean(first)).se == 0.0


def test_a_test_set_judged_in_full_leaves_only_the_annotators_noise() -> None:
    y = np.array([1.0, 2.0, 4.0, 4.5])
    assert sample_mean(y, Finite(4, 0.0)).se == 0.0
    np.testing.assert_allclose(sample_mean(y, Finite(4, 0.5)).se, np.sqrt(0.5 / 4), rtol=1e-12)
    np.testing.assert_allclose(sample_mean(y, Finite(1e15, 0.5)).se, sample_mean(y).se, rtol=1e-12)


def test_bootstrap_interval_resamples_outputs_and_estimates_anew(rng: np.random.Generator) -> None:
    y, g = rng.normal(100, 1, (3, 15)), rng.exponential(size=(3, 15)) - 1
    bounds = bootstrap_interval(np.random.default_rng(5), y, g, level=0.2, resamples=200)
    counts = np.random.default_rng(5).multinomial(15, np.full(15, 1 / 15), size=200)
    at = np.stack([np.repeat(np.arange(15), count) for count in counts])
    slow = control_variates(y[:, at], g[:, at]).value
    np.testing.assert_allclose(bounds.low, np.quantile(slow, 0.1, axis=1), rtol=1e-12)
    np.testing.assert_allclose(bounds.high, np.quantile(slow, 0.9, axis=1), rtol=1e-12)
    # Negative control: a fixed coefficient gives other bounds.
    fixed = bootstrap_interval(np.random.default_rng(5), y, g, coefficient=0.3, level=0.2, resamples=200)
    assert np.abs(fixed.low - bounds.low).min() > 1e-6


def test_bootstrap_with_metric_only_outputs_draws_their_mean(rng: np.random.Generator) -> None:
    y, g = rng.normal(size=(3, 15)), rng.normal(5, 1, (3, 15))
    rest = Rest(20, [5.0, 5.1, 5.2], 1.0)
    bounds = bootstrap_interval(np.random.default_rng(5), y, g, rest, resamples=100)
    again = np.random.default_rng(5)
    counts = again.multinomial(15, np.full(15, 1 / 15), size=100)
    noise = again.standard_normal(100) / np.sqrt(20)
    at = np.stack([np.repeat(np.arange(15), count) for count in counts])
    slow = ppi(y[:, at], g[:, at], Rest(20, np.array([[5.0], [5.1], [5.2]]) + noise, 1.0)).value
    np.testing.assert_allclose(bounds.high, np.quantile(slow, 0.975, axis=1), rtol=1e-9)


def test_a_metric_that_says_nothing_saves_nothing(rng: np.random.Generator) -> None:
    y = rng.normal(size=(4, 30))
    ratio = empirical_data_efficiency(rng, y, np.zeros_like(y), sizes=(10, 30))
    np.testing.assert_allclose(ratio, np.ones((4, 2)), rtol=1e-12)


def test_data_efficiency_is_the_ratio_of_variances() -> None:
    rho, gamma = np.array([0.0, 0.3, 0.9]), np.array([0.36, 1.0, 1.23])
    np.testing.assert_allclose(data_efficiency(rho, gamma), (1 + gamma) / (1 - rho**2 + gamma), rtol=1e-15)
    np.testing.assert_allclose(data_efficiency(1.0, gamma), (1 + gamma) / gamma, rtol=1e-15)
    np.testing.assert_allclose(data_efficiency(rho, gamma, 0.0), data_efficiency(rho, gamma), rtol=1e-15)
    np.testing.assert_allclose(data_efficiency(rho, gamma, 1.0), 1.0, rtol=1e-15)


def test_sample_sizes_are_the_least_that_do() -> None:
    for size in (np.inf, 400.0):
        n = judgements_for_variance(0.002, 0.28, 0.28, correlation=0.5, size=size)
        variances = [(1 - k / size) * 0.28 * 0.75 / k + 0.28 / k for k in (n - 1, n)]
        assert variances[1] <= 0.002 < variances[0]
    half = 1.959963984540054 * np.sqrt(0.56 / judgements_for_width(0.1, 0.28, 0.28))
    assert 0.0499 < half <= 0.05


def test_no_split_of_the_budget_is_better(rng: np.random.Generator) -> None:
    for judgement, metric, r in [(0.15, 0.001, 0.3), (0.15, 0.01, 0.6), (0.4, 0.05, 0.8), (0.15, 0.1, 0.2)]:
        split = split_budget(1000.0, judgement, metric, r)
        n = np.arange(10, int(1000 / judgement) + 1)
        more = np.maximum((1000 - n * (judgement + metric)) / metric, 0.0)
        affordable = n * (judgement + metric) <= 1000
        variance = np.where(affordable, (1 - r**2 * more / (n + more)) / n, 1 / n)
        assert abs(split.variance / variance.min() - 1) < 1e-3
        spent = split.judgements * judgement + (split.metric_only > 0) * metric * (split.judgements + split.metric_only)
        assert spent <= 1000 * (1 + 1e-12)


def test_a_useless_metric_is_not_paid_and_a_free_one_is_used_on_everything() -> None:
    split = split_budget(100.0, 0.5, [0.1, 0.0, 0.0], [0.0, 0.0, 0.6])
    np.testing.assert_allclose(split.judgements, [200, 200, 200], rtol=1e-12)
    np.testing.assert_array_equal(split.metric_only, [0, 0, np.inf])
    np.testing.assert_allclose(split.variance, [1 / 200, 1 / 200, 0.64 / 200], rtol=1e-12)
    with pytest.raises(InputError, match="correlation"):
        split_budget(100.0, 0.5, 0.1, 1.0)


def test_a_likert_scale_is_cheaper_than_post_editing_until_the_metric_is_good() -> None:
    assert price_of_precision(0.15, 1.0) < price_of_precision(0.40, 0.36)
    np.testing.assert_allclose(price_of_precision(np.array([0.15, 0.4]), np.array([1.0, 0.36]), 1.0), [0.15, 0.144])


@pytest.mark.parametrize(
    ("y", "g", "rest", "finite"),
    [
        ([1.0, 2.0], [1.0, 2.0], None, None),
        ([1.0, 2.0, 3.0], [1.0, 2.0], None, None),
        ([1.0, 2.0, np.nan], [1.0, 2.0, 3.0], None, None),
        ([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], Rest(1, 0.0, 1.0), None),
        ([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], Rest(10, 0.0, -1.0), None),
        ([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], Rest(10, 0.0, 1.0), Finite(10, 0.1)),
        ([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], None, Finite(2, 0.1)),
    ],
)
def test_bad_input_is_said_in_one_line(
    y: list[float], g: list[float], rest: Rest | None, finite: Finite | None
) -> None:
    with pytest.raises(InputError, match=r"^[^\n]+; [^\n]+$"):
        control_variates(y, g, rest, finite=finite)


def test_levels_outside_0_and_1_are_refused() -> None:
    with pytest.raises(InputError, match="level"):
        interval(sample_mean([1.0, 2.0]), level=5.0)


# What ppi_py 0.2.3 gives (lam=None, alpha=.05) for the arrays below and the first 40 or 5 metric-only outputs. It clips
# lambda to [0, 1], which does not bind here. More of what packages say is in tests/oracles/outside.
PPI_PY = {
    40: (0.624448836214144, 0.3648785730309756, 0.8840190993973125),
    5: (0.5698326740631271, 0.24051978050419298, 0.8991455676220612),
}


def judged_and_more() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    i, j = np.arange(12), np.arange(40)
    y, g = np.sin(1.7 * i) + 0.1 * i, np.sin(1.7 * i + 0.4) + 0.05 * i + 2
    return np.round(y, 6), np.round(g, 6), np.round(np.sin(0.9 * j) + 0.02 * j + 2, 6)


@pytest.mark.parametrize("n_rest", PPI_PY)
def test_ppi_agrees_with_its_authors_package(n_rest: int) -> None:
    y, g, more = judged_and_more()
    more = more[:n_rest]
    ours = ppi(y, g, Rest(n_rest, more.mean(), more.var(ddof=1)))
    assert 0 < ours.coefficient < 1
    # The package divides sums of squares by n and N.
    judged = ours.influence.var() * (12 - 2) / (12 - 1)
    half = 1.959963984540054 * np.sqrt(judged / 12 + ours.coefficient**2 * more.var() / n_rest)
    np.testing.assert_allclose([ours.value, ours.value - half, ours.value + half], PPI_PY[n_rest], rtol=1e-11)
