"""Hold flips of raters and documents, and the intervals beside tests, against what they must agree with."""

from __future__ import annotations

import numpy as np
import pytest
from rated_tables import rated, scattered, side_by_side
from scipy import stats

from simlab.analysis.needed_units import ObservedEstimate, count_needed_units, least_detectable_difference
from simlab.analysis.raters.crossed import compare_by_crossed_flips, crossed_flips
from simlab.analysis.raters.flips import rater_flips
from simlab.analysis.raters.uncertainty import uncertainty_of_both, uncertainty_of_documents, uncertainty_of_raters
from simlab.analysis.simultaneous import bar, reconcile_intervals
from simlab.rng import stream
from simlab.types import ScoredRatings


def shared(rng: np.random.Generator, n_raters: int = 7, n_documents: int = 60, per_document: int = 2) -> ScoredRatings:
    """Draw documents that several raters rate, and in which systems differ; on average they are equal."""
    by = np.stack([rng.permutation(n_raters)[:per_document] for _ in range(n_documents)])
    liking = 0.15 * rng.standard_normal((n_raters, 3))
    score = rng.standard_normal((n_documents, 3, 1)) + 0.3 * rng.standard_normal((n_documents, 3, per_document))
    score += np.moveaxis(liking[by], 1, 2)
    return rated(score, np.broadcast_to(by[:, None], score.shape))


def test_with_one_rater_a_document_it_is_the_test_by_flips_of_raters() -> None:
    data = side_by_side(stream(3), 9, 8, 4)
    alone, both = rater_flips(stream(1), data, flips=2048), crossed_flips(stream(1), data, flips=20_000)
    np.testing.assert_allclose(both, alone, atol=5 * 0.5 / 20_000**0.5)


def test_scores_may_be_shifted_and_stretched_and_raters_renamed() -> None:
    data = scattered(stream(2), 8, 40, 4, per_item=3)
    p = crossed_flips(stream(1), data, flips=500)
    moved = ScoredRatings(
        data.document, data.item, data.rater, data.system, 3 * data.value + 100, data.share, 3 * data.total
    )
    np.testing.assert_allclose(crossed_flips(stream(1), moved, flips=500), p)


@pytest.mark.parametrize("per_document", [1, 3])
def test_what_does_not_vary_is_not_found(per_document: int) -> None:
    by = np.arange(30).reshape(10, 1, 3)[:, :, :per_document] % 7
    same = rated(np.full((10, 3, per_document), 2.0), np.broadcast_to(by, (10, 3, per_document)))
    assert crossed_flips(stream(1), same, flips=100).tolist() == [1.0] * 3


@pytest.mark.parametrize(("n_raters", "n_documents"), [(1, 20), (6, 1)])
def test_one_rater_or_one_document_says_nothing_of_others(n_raters: int, n_documents: int) -> None:
    by = np.broadcast_to(np.arange(n_raters), (n_documents, 2, n_raters))
    score = stream(1).standard_normal(by.shape) + np.array([0.0, 50.0])[:, None]
    assert crossed_flips(stream(1), rated(score, by), flips=200).tolist() == [1.0]


def test_equal_systems_are_told_apart_by_flips_of_raters_alone_as_documents_are_shared() -> None:
    n = 150
    alone, both = np.zeros(n), np.zeros(n)
    for k in range(n):
        data = shared(stream(5, k), per_document=6)
        alone[k] = np.mean(rater_flips(stream(6, k), data, flips=64) <= 0.05)
        both[k] = np.mean(crossed_flips(stream(6, k), data, flips=500) <= 0.05)
    error = np.sqrt(0.05 * 0.95 / n)
    assert both.mean() < 0.05 + 5 * error
    assert alone.mean() > 0.05 + 5 * error


def test_large_differences_are_found_in_families_of_any_size() -> None:
    data = side_by_side(stream(1), 7, 10, 12)
    grown = ScoredRatings(
        data.document,
        data.item,
        data.rater,
        data.system,
        data.value + 20.0 * data.system,
        data.share,
        data.total + 20.0 * np.arange(12),
    )
    assert compare_by_crossed_flips(stream(1), grown, flips=2048).max_t().max() < 0.05


def test_of_documents_the_variance_is_that_of_a_mean() -> None:
    data = side_by_side(stream(4), 3, 10, 2)
    apart = data.total[:, 0] - data.total[:, 1]
    found = uncertainty_of_documents(data)
    np.testing.assert_allclose(found.means, apart.mean())
    np.testing.assert_allclose(found.variance, apart.var(ddof=1) / len(apart))
    np.testing.assert_allclose(found.freedom, len(apart) - 1)


def test_of_raters_the_variance_is_that_of_their_means() -> None:
    data = side_by_side(stream(4), 7, 10, 2)
    apart = (data.total[:, 0] - data.total[:, 1]).reshape(7, 10).mean(1)
    found = uncertainty_of_raters(data)
    np.testing.assert_allclose(found.variance, apart.var(ddof=1) / 7)
    assert found.raters.tolist() == [7]


def test_what_lasts_is_what_raters_alone_would_leave() -> None:
    lasting = np.mean(
        [uncertainty_of_raters(side_by_side(stream(8, k), 20, 30, 2, taste=0.5)).lasting for k in range(60)]
    )
    assert abs(lasting - 2 * 0.5**2 / 20) < 0.005


def test_variances_of_shared_documents_are_right_on_average() -> None:
    found, gaps = zip(
        *[
            (uncertainty_of_both(shared(stream(9, k))).variance, uncertainty_of_both(shared(stream(9, k))).centre)
            for k in range(200)
        ],
        strict=True,
    )
    true = np.var(gaps, axis=0).mean()
    assert 0.95 * true < np.mean(found) < 1.6 * true


@pytest.mark.parametrize("n", [8, 15, 60])
def test_the_bar_of_one_pair_is_about_that_of_students_t(n: int) -> None:
    each = stream(1).standard_normal((200, n))
    found = []
    for row in each:
        part = uncertainty_of_documents(
            rated(np.stack([row, np.zeros(n)], 1)[:, :, None], np.zeros((n, 2, 1), int))
        ).parts
        found.append(bar(stream(2), part, np.array([True]), 0.05, 1999))
    assert abs(np.mean(found) / stats.t.ppf(0.975, n - 1) - 1) < 0.06


def test_intervals_hold_zero_just_where_nothing_is_claimed() -> None:
    value = np.array([1.0, 1.0, -1.0, -1.0])
    low, high = reconcile_intervals(value, value - 2, value + 2, np.array([True, False, True, False]))
    assert low.tolist() == [0.0, -1.0, -3.0, -3.0]
    assert high.tolist() == [3.0, 3.0, 0.0, 1.0]


@pytest.mark.parametrize("lasting", [0.0, 0.005])
def test_so_many_more_settle_a_pair_as_often_as_said(lasting: float) -> None:
    seen = ObservedEstimate(value=0.35, noise=0.04, lasting=lasting, bar=2.5, n=30)
    found = count_needed_units(seen, 100_000)
    rng = stream(7)
    assert found.low <= found.median <= found.high
    # Had units without end shown what the middle of the law is, the median would do with a probability of .80.
    more, noise = found.median, seen.noise * seen.n
    later = seen.value + np.sqrt(noise / more) * rng.standard_normal(20_000)
    estimate = (seen.n * seen.value + more * later) / (seen.n + more)
    error = np.sqrt(lasting + noise / (seen.n + more))
    assert abs(np.mean(np.abs(estimate) > seen.bar * error) - 0.80) < 0.03


def test_no_number_of_documents_settles_what_raters_leave_open() -> None:
    found = count_needed_units(ObservedEstimate(value=0.1, noise=0.001, lasting=0.04, bar=2.5, n=30), 100_000)
    assert found.median == found.high == np.inf


def test_the_least_difference_is_found_with_the_probability_that_is_said() -> None:
    least = least_detectable_difference(2.5, 0.4)
    assert abs(stats.norm.sf(2.5 - least / 0.4) - 0.80) < 1e-9
