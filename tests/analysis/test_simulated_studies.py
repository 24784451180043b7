"""Many studies of one design are judged at once as each is by itself."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from simlab.analysis.raters.mixed_model import fit, step_from
from simlab.analysis.raters.model_comparisons import MANY, compare_by_model, model_studies
from simlab.analysis.raters.t_tests import segment_t
from simlab.analysis.studentized_range import StudentFamily
from simlab.types import Floats, Ints, ScoredRatings


def designed(rng: np.random.Generator, n_systems: int, n_raters: int, n_documents: int, n: int) -> ScoredRatings:
    """Return ratings of outputs that were dealt by chance, with equal systems."""
    output = rng.permutation(n_systems * n_documents)[:n]
    document, system = output // n_systems, output % n_systems
    rater = rng.integers(0, n_raters, n)
    value = rng.normal(size=n_raters)[rater] + rng.normal(size=n_documents)[document] + rng.normal(size=n)
    return ScoredRatings(document, document, rater, system, value, np.ones(n), np.ones((n_documents, n_systems)))


def with_value(rated: ScoredRatings, value: Floats) -> ScoredRatings:
    return ScoredRatings(rated.document, rated.item, rated.rater, rated.system, value, rated.share, rated.total)


@pytest.mark.parametrize("n_raters", [4, 10])
def test_studies_of_a_small_design_are_fitted_as_each_alone(n_raters: int) -> None:
    rng = np.random.default_rng(n_raters)
    rated = designed(rng, 3, n_raters, 40, 100)
    studies = model_studies(rated, pools="apart")
    assert studies.at is None
    value = rng.normal(size=(100, 3)) + rated.value[:, None]
    differences, families = studies.families(value)
    for one, difference, family in zip(value.T, differences, families, strict=True):
        alone = compare_by_model(with_value(rated, one))
        np.testing.assert_allclose(difference, alone.difference, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(family.size, alone.family().size, rtol=1e-9, atol=1e-9)


def test_studies_of_a_large_design_make_one_step_each() -> None:
    rng = np.random.default_rng(1)
    rated = designed(rng, 8, 12, 60, 400)
    studies = model_studies(rated, pools="apart")
    layout, at = studies.layout, studies.at
    assert at is not None
    assert len(layout.design.cross) > MANY
    value = rng.normal(size=(400, 5)) + rated.value[:, None]
    # Nothing is left to vary: p-values are those of signs.
    value[:, 4] = rated.system
    differences, families = studies.families(value)
    np.testing.assert_allclose(studies.differences(value), differences, atol=1e-12)
    for k in range(5):
        difference, family = studies.families(value[:, [k]])
        np.testing.assert_allclose(difference[0], differences[k], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(family[0].size, families[k].size, rtol=1e-9)
    alone = compare_by_model(with_value(rated, value[:, 4])).family()
    np.testing.assert_allclose(families[4].size, alone.size)
    assert alone.size.min() > 3
    # From its own components a study steps to where it is.
    step = step_from(layout.design, at, layout.average_cells(rated.value[:, None]))
    found = fit(layout.design, layout.average_cells(rated.value))
    assert found is not None
    np.testing.assert_allclose(step.component[:, 0], found.component, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("n_systems", [10, 0])
def test_claims_are_those_of_step_down_p_values(n_systems: int) -> None:
    rng, some, near = np.random.default_rng(2), 0, 0
    for _ in range(60):
        family = StudentFamily(np.abs(rng.normal(0, 2.5, 45)), rng.uniform(3, 50, 45), n_systems)
        adjusted = family.max_t()
        for level in (0.01, 0.05, 0.3):
            claimed = family.claims(level)
            np.testing.assert_array_equal(claimed, adjusted <= level + 1e-12)
            some += 0 < claimed.sum() < 45
            near += (claimed != (family._replace(n_systems=0).max_t() <= level)).any()
    assert some > 50
    # The range decides some of them.
    assert near > 5 or not n_systems


def by_scipy(score: Floats, system: Ints, item: Ints) -> list[float]:
    mean = {(s, i): score[(system == s) & (item == i)].mean() for s, i in set(zip(system, item, strict=True))}
    found = []
    for first, second in ((0, 1), (0, 2), (1, 2)):
        both = [i for i in range(30) if (first, i) in mean and (second, i) in mean]
        found.append(stats.ttest_rel([mean[first, i] for i in both], [mean[second, i] for i in both]).pvalue)
    return found


def test_t_tests_over_segments_are_those_of_scipy() -> None:
    rng = np.random.default_rng(3)
    system, item = rng.integers(0, 3, 150), rng.integers(0, 30, 150)
    scores = 50 + rng.normal(size=(4, 150)) + 0.3 * system
    found = segment_t(scores, system, item, 3)
    for score, p_value in zip(scores, found, strict=True):
        np.testing.assert_allclose(p_value, by_scipy(score, system, item), rtol=1e-9)
        np.testing.assert_array_equal(segment_t(score, system, item, 3), p_value)


def test_segments_that_differ_alike_are_certain_and_equal_ones_are_not() -> None:
    system, item = np.repeat([0, 1], 10), np.tile(np.arange(10), 2)
    score = np.stack([item / 3, item / 3 + 0.1 * system])
    assert segment_t(score, system, item, 2).tolist() == [[1.0], [0.0]]
