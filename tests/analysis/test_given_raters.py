"""Of these raters what documents add to a difference is estimated within raters, whatever they think of systems."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from simlab.analysis.raters.leniency import leniency
from simlab.analysis.raters.model_comparisons import compare_by_model, model_studies
from simlab.types import Array, ScoredRatings
from tests.statistics.null_tables import Meeting, rated_table

SYSTEMS, RATERS, EACH = 3, 3, 4


def side_by_side(score: Array, segments: int = 1) -> ScoredRatings:
    """Three raters rate all systems in four documents each; `score[document, segment, system]`."""
    document, segment, system = np.indices((RATERS * EACH, segments, SYSTEMS)).reshape(3, -1)
    return rated_table(Meeting(system, document // EACH, document * segments + segment, document), score.ravel())


def residual_square(score: Array) -> float:
    """Mean square of documents by systems within raters, 18 degrees of freedom; `score[document, system]`."""
    left = score - score.mean(1, keepdims=True)
    by_rater = left.reshape(RATERS, EACH, SYSTEMS)
    return float(((by_rater - by_rater.mean(1, keepdims=True)) ** 2).sum() / 18)


def draw_scores(seed: int, taste: float) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    score = rng.normal(size=(12, 1)) + rng.normal(size=(12, SYSTEMS))
    return score, np.repeat(taste * rng.normal(size=(RATERS, SYSTEMS)), EACH, axis=0)


@pytest.mark.parametrize("taste", [0.0, 0.3, 3.0])
def test_errors_are_those_of_documents_within_raters(taste: float) -> None:
    """Those at large, the control, grow with tastes."""
    for seed in range(6):
        score, tastes = draw_scores(seed, taste)
        found = compare_by_model(side_by_side((score + tastes)[:, None]))
        assert not found.at_large.any()
        np.testing.assert_allclose(found.variance, 2 * residual_square(score) / 12, rtol=1e-4)
        np.testing.assert_allclose(found.freedom, 18, rtol=1e-4)
        if taste == 3.0:
            assert (found.at_large_variance > 3 * found.variance).all()


def test_documents_by_systems_estimated_at_zero_count_as_estimated() -> None:
    """Scores that scatter less between documents than within them: never less error than either says."""
    rng = np.random.default_rng(3)
    score = rng.normal(size=(12, 4, SYSTEMS))
    score = score - score.mean(1, keepdims=True) + 0.1 * rng.normal(size=(12, 1, SYSTEMS))
    found = compare_by_model(side_by_side(score, segments=4))
    assert (found.variance > 2 * residual_square(score.mean(1)) / 12).all()
    assert (found.freedom < 40).all()
    assert (found.at_large_freedom > 100).all()


def test_tastes_that_one_document_each_shows_stay_in_the_error() -> None:
    rng = np.random.default_rng(4)
    document, segment, system = np.indices((3, 4, SYSTEMS)).reshape(3, -1)
    score = (2 * rng.normal(size=(3, 1, SYSTEMS)) + rng.normal(size=(3, 4, SYSTEMS))).ravel()
    found = compare_by_model(rated_table(Meeting(system, document, 4 * document + segment, document), score))
    assert not found.at_large.any()
    np.testing.assert_allclose(found.variance, found.at_large_variance)


def test_studies_judged_at_once_have_the_errors_of_each_by_itself() -> None:
    """One step from true components within raters: t statistics near those of the whole fits, for these raters."""
    rng = np.random.default_rng(5)
    score = rng.normal(size=(12, 1, 1)) + rng.normal(size=(12, 6, SYSTEMS)) + 0.5 * rng.normal(size=(12, 1, SYSTEMS))
    table = side_by_side(score + np.repeat(rng.normal(size=(RATERS, 1, SYSTEMS)), EACH, axis=0), 6)
    shared = model_studies(table, pools="apart")
    assert shared.at_within is not None
    value = table.value[:, None] + 0.2 * rng.normal(size=(len(table.value), 20))
    families = shared.families(value)[1]
    alone = [compare_by_model(replace(table, value=one)) for one in value.T]
    ratio = np.array([one.size / each.family().size for one, each in zip(families, alone, strict=True)])
    assert 0.95 < np.median(ratio) < 1.05
    at_large = np.array([one.size / each.family(at_large=True).size for one, each in zip(families, alone, strict=True)])
    assert np.median(at_large) > 1.5


def test_leniency_of_equal_loads_has_the_interval_of_a_t_test() -> None:
    """Two raters of the same outputs: documents' mean differences."""
    rng = np.random.default_rng(6)
    document, system, rater = np.indices((5, 2, 2)).reshape(3, -1)
    table = rated_table(Meeting(system, rater, document, document), rng.normal(size=20))
    found = leniency(table, 2, 0.05)
    apart = table.value.reshape(5, 2, 2) @ np.array([1, -1])
    by_hand = stats.ttest_1samp(apart.mean(1), 0).confidence_interval()
    np.testing.assert_allclose(found.above - found.width, [by_hand.low, -by_hand.high])
    assert found.outputs.all()


def test_leniency_on_other_outputs_counts_the_documents_of_others() -> None:
    """A rater with 4 documents against 12 of others: both variances, with more degrees of freedom than 3."""
    rng = np.random.default_rng(7)
    document = np.arange(16)
    table = rated_table(
        Meeting(np.zeros(16, int), (document >= 4).astype(int), document, document), rng.normal(size=16)
    )
    own, others = table.value[:4], table.value[4:]
    found = leniency(table, 2, 0.05)
    variance = own.var(ddof=1) / 4 + others.var() / 12
    freedom = (1 / 4 + 1 / 12) ** 2 / (1 / 16 / 3 + 1 / 144 / 11)
    np.testing.assert_allclose(found.above[0], own.mean() - others.mean())
    np.testing.assert_allclose(found.width[0], stats.t.ppf(0.975, freedom) * np.sqrt(variance))
    assert not found.outputs.any()
