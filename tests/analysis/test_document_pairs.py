"""Pairs of means that documents tell apart: what is claimed is what intervals leave out, whatever names and scales."""

from __future__ import annotations

import numpy as np
import pytest

from simlab.analysis.means.document_pairs import (
    BUNDLES,
    MeanInfluence,
    PairDifferences,
    bundle_documents,
    compare_by_flips,
    confirmation_probabilities,
    equalise_means,
    influence,
    intervals,
    products_of_differences,
    redraw_documents,
    some_claims,
)
from simlab.analysis.means.documents import Totals, document_mean
from simlab.analysis.means.metric_gain import gain, slope_for_all, spread_of
from simlab.rng import stream
from simlab.types import Floats, Ints

SYSTEMS, DOCUMENTS = 4, 40


def _totals(seed: int, *, judged: int = 20, shift: float = 0.0, follows: float = 0.8) -> Totals:
    rng = stream(seed, "document_pairs")
    n_all = np.tile(rng.integers(1, 6, DOCUMENTS).astype(float), (SYSTEMS, 1))
    n = n_all * (np.arange(DOCUMENTS) < judged)
    g_all = n_all * rng.standard_normal((SYSTEMS, DOCUMENTS))
    y = n * (shift * np.arange(SYSTEMS)[:, None]) + (n > 0) * (follows * g_all + rng.standard_normal(n.shape))
    return Totals(n, y, g_all * (n > 0), n_all, g_all)


def _pairs() -> tuple[Ints, Ints]:
    first, second = np.triu_indices(SYSTEMS, 1)
    return first, second


def _compared(of: Totals, *, corrected: bool = True, level: float = 0.05) -> PairDifferences:
    return compare_by_flips(stream(1, "flips"), influence(of, corrected=corrected), _pairs(), level=level, flips=999)


@pytest.mark.parametrize("corrected", [False, True])
@pytest.mark.parametrize("judged", [6, 12, 40])
def test_claims_are_what_bounds_leave_out(corrected: bool, judged: int) -> None:
    for seed in range(20):
        found = _compared(_totals(seed, judged=judged, shift=0.4), corrected=corrected)
        outside = (found.low > 0) | (found.high < 0)
        assert outside.tolist() == (found.adjusted <= 0.05).tolist()
        assert (found.adjusted >= found.p_value).all()


def test_parts_of_a_mean_add_up_and_humans_alone_are_plain_means() -> None:
    of = _totals(3, shift=0.2)
    for corrected in (False, True):
        means = influence(of, corrected=corrected)
        np.testing.assert_allclose(means.part.sum(1), 0, atol=1e-12)
        np.testing.assert_allclose(means.share.sum(1), 1)
    plain = influence(of, corrected=False)
    np.testing.assert_allclose(plain.value, of.y.sum(1) / of.n.sum(1))
    low, high = intervals(plain, 0.05)
    np.testing.assert_allclose((high - low) / 2, document_mean(of, 0.0).se * _t(plain), rtol=1e-12)


def _t(of: MeanInfluence) -> Floats:
    from scipy.special import stdtrit

    from simlab.analysis.means.documents import cr2_freedom

    return np.asarray(stdtrit(cr2_freedom(of.share), 0.975))


def test_scale_and_origin_change_nothing_that_is_concluded() -> None:
    of = _totals(5, shift=0.3)
    moved = Totals(of.n, 10 * of.y + 7 * of.n, -3 * of.g + 2 * of.n, of.n_all, -3 * of.g_all + 2 * of.n_all)
    one, other = _compared(of), _compared(moved)
    np.testing.assert_allclose(other.difference, 10 * one.difference, rtol=1e-9)
    np.testing.assert_allclose(other.low, 10 * one.low, rtol=1e-9)
    np.testing.assert_array_equal(one.adjusted, other.adjusted)


def test_a_metric_that_saw_what_humans_judged_and_no_more_corrects_nothing() -> None:
    of = _totals(7, judged=DOCUMENTS)
    np.testing.assert_allclose(influence(of, corrected=True).value, influence(of, corrected=False).value, atol=1e-9)


def test_few_documents_claim_nothing_and_bounds_say_so() -> None:
    found = _compared(_totals(1, judged=5, shift=50.0), corrected=False)
    assert (found.adjusted > 0.05).all()
    assert (found.low <= 0).all()
    assert (found.high >= 0).all()


def test_systems_without_any_difference_are_not_told_apart() -> None:
    n = np.ones((2, 10))
    found = compare_by_flips(
        stream(1, "flips"),
        influence(Totals(n, n, 0 * n, None, None), corrected=False),
        (np.array([0]), np.array([1])),
        level=0.05,
        flips=999,
    )
    assert found.adjusted.tolist() == [1.0]


def test_products_of_differences_are_those_of_all_pairs() -> None:
    x, y = stream(1, "products").standard_normal((2, SYSTEMS, DOCUMENTS))
    first, second = _pairs()
    np.testing.assert_allclose(products_of_differences(x, y), ((x[first] - x[second]) * (y[first] - y[second])).sum(0))


def test_gain_knows_a_metric_from_noise() -> None:
    rng = stream(1, "gain")
    assert gain(rng, _totals(1), flips=999).p_value < 0.01
    p_values = [gain(rng, _totals(seed, follows=0.0), flips=199).p_value for seed in range(200)]
    share = np.mean(np.array(p_values) <= 0.1)
    assert share <= 0.1 + 4 * np.sqrt(0.1 * 0.9 / 200)


def test_a_constant_metric_says_nothing() -> None:
    of = _totals(1)
    constant = of._replace(g=2 * of.n, g_all=None if of.n_all is None else 2 * of.n_all)
    assert gain(stream(1, "gain"), constant, flips=99) == (0.0, 1.0)
    assert slope_for_all(np.arange(4.0), np.ones(4)) == 0.0
    np.testing.assert_allclose(influence(constant, corrected=True).value, influence(of, corrected=False).value)


def test_spread_is_told_with_its_coverage() -> None:
    rng, truth, se = stream(1, "spread"), 0.3, np.full(12, 0.2)
    inside = 0
    for _ in range(400):
        found = spread_of(truth * rng.standard_normal(12) + 0.2 * rng.standard_normal(12), se, 0.05)
        inside += found.low <= truth <= found.high
    assert abs(inside / 400 - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 400)
    assert np.isnan(spread_of(np.array([1.0]), np.array([0.1]), 0.05).value)


def test_a_world_of_equals_has_equal_means_and_a_metric_of_one_law() -> None:
    of = equalise_means(_totals(2, shift=1.0))
    means = of.y.sum(1) / of.n.sum(1)
    np.testing.assert_allclose(means, means[0])
    assert of.n_all is not None
    assert of.g_all is not None
    rest = (of.g_all - of.g).sum(1) / (of.n_all - of.n).sum(1)
    np.testing.assert_allclose(rest, of.g.sum(1) / of.n.sum(1))
    again, at = redraw_documents(stream(1, "again"), of)
    assert (again.n > 0).any(0).sum() == 20
    assert len(at) == DOCUMENTS


def test_studies_of_equals_claim_as_often_as_promised() -> None:
    found, documents = some_claims(
        stream(1, "control"), _totals(4, shift=1.0), _pairs(), corrected=True, level=0.05, studies=400
    )
    assert len(documents) == 400
    assert found.mean() <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 400)


def test_claims_far_from_open_are_confirmed_and_none_are_always() -> None:
    means = influence(_totals(1, shift=30.0), corrected=False)
    first, second = _pairs()
    low, high = np.zeros(len(first)), np.full(len(first), 1e3)
    sure, claimed = confirmation_probabilities(
        stream(1, "repeat"), means, (first, second, -np.ones(len(first), int)), low
    )
    assert sure.value > 0.99
    assert claimed.value >= sure.value
    # The sign comes again, and no difference is as large as a bar that is far above it.
    same, claimed = confirmation_probabilities(
        stream(1, "repeat"), means, (first, second, -np.ones(len(first), int)), high
    )
    assert same == sure
    assert claimed == (0.0, 0.0, 0.0)
    none = np.array([], int)
    assert confirmation_probabilities(stream(1, "repeat"), means, (none, none, none), none) == ((1.0, 1.0, 1.0),) * 2
    wrong, _ = confirmation_probabilities(stream(1, "repeat"), means, (first, second, np.ones(len(first), int)), low)
    assert wrong.value < 0.01


def test_documents_that_only_the_metric_saw_are_bundled_without_loss() -> None:
    rng = stream(1, "bundles")
    judged = np.arange(400) < 20
    share = np.where(judged, 1 / 20, 0.0) * np.ones((SYSTEMS, 1))
    of = MeanInfluence(np.zeros(SYSTEMS), rng.standard_normal((SYSTEMS, 400)), share)
    fewer = bundle_documents(of)
    assert fewer.part.shape == (SYSTEMS, 20 + BUNDLES)
    np.testing.assert_allclose(fewer.part.sum(1), of.part.sum(1))
    np.testing.assert_array_equal(fewer.part[:, :20], of.part[:, :20])
    assert bundle_documents(influence(_totals(1), corrected=True)).part.shape[1] == DOCUMENTS
