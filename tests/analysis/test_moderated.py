"""Moderated variances: the mixed model's differences, a level that holds where spreads differ, and t where it is known.

Tables come from a law of their own: many studies of one design at once, which the function that judges simulated
studies takes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from simlab.analysis.raters.model_comparisons import compare_by_model
from simlab.analysis.raters.moderated import (
    Judge,
    moderated_comparisons,
    moderated_differences,
    moderated_family,
    moderated_studies,
)
from simlab.analysis.raters.side_by_side import find_whole_documents
from simlab.types import Array, Floats, ScoredRatings
from tests.statistics.null_tables import Meeting, rated_table

LEVEL, DRAWS, DOCUMENTS = 0.05, 999, 10
UNEQUAL = np.exp(np.linspace(-0.6, 0.6, 9))
"""Standard deviations of nine systems over that of a plain one."""


class World:
    """Raters, of whom each rates all systems side by side on documents of their own, as many as `loads[rater]`."""

    def __init__(self, loads: Array, spread: Floats, taste: float = 0.4, seed: int = 0) -> None:
        self.rng, self.spread, self.taste = np.random.default_rng(seed), spread, taste
        document = np.repeat(np.arange(loads.sum()), len(spread))
        system = np.tile(np.arange(len(spread)), loads.sum())
        self.meeting = Meeting(system, np.repeat(np.arange(len(loads)), loads)[document], document, document)

    def scores(self, n: int, mean: Floats | float = 0.0) -> Floats:
        """Draw scores of n studies, `[rating, study]`."""
        system, rater, _, document = self.meeting
        n_raters, n_systems = rater.max() + 1, len(self.spread)
        normal = self.rng.standard_normal
        taste = self.taste * normal((n_raters, n_systems, n))
        within = (taste[rater, system] + normal((len(system), n))) * self.spread[system][:, None]
        level = normal((n_raters, n))[rater] + normal((document.max() + 1, n))[document]
        return np.asarray((np.zeros(n_systems) + mean)[system][:, None] + level + within)

    def table(self, mean: Floats | float = 0.0) -> ScoredRatings:
        return rated_table(self.meeting, self.scores(1, mean)[:, 0])


def claims(world: World, n: int, mean: Floats | float = 0.0) -> Array:
    judge = moderated_studies(world.table(), pools="apart", draws=DRAWS)
    assert isinstance(judge, Judge)
    return np.stack([family.max_t() <= LEVEL for family in judge.families(world.scores(n, mean))[1]])


EVEN, FALLING = np.full(7, DOCUMENTS), np.array([30, 16, 10, 7, 5, 4, 3, 3, 2, 2, 2, 2])


@pytest.mark.parametrize("loads", [EVEN, FALLING], ids=["even", "falling"])
@pytest.mark.parametrize("spread", [np.ones(9), UNEQUAL], ids=["equal", "unequal"])
def test_the_level_holds_where_spreads_and_loads_are_unequal(loads: Array, spread: Floats) -> None:
    """Each design has its own draws, whose error of a level is that of 999; the tables' is added to it."""
    some = np.array([claims(World(loads, spread, seed=k), 200).any(1).mean() for k in range(10)])
    assert some.mean() <= LEVEL + 3 * some.std(ddof=1) / np.sqrt(len(some)), some


def test_one_variance_for_all_pairs_breaks_the_level_where_spreads_differ() -> None:
    """The control: the mixed model's own t, in the tables of unequal systems."""
    wrong = [
        bool((compare_by_model(World(EVEN, UNEQUAL, seed=k).table()).family(at_large=True).max_t() <= LEVEL).any())
        for k in range(600)
    ]
    share, error = np.mean(wrong), np.std(wrong) / np.sqrt(len(wrong))
    assert share - 3 * error > LEVEL, share


def test_differences_are_found_nearly_as_often_as_if_all_variances_were_known() -> None:
    """Nine systems, seven raters: the share of pairs that are 2 apart, against Tukey's test with known variances."""
    mean = np.where(np.arange(9) < 4, 1.0, 0.0)
    world = World(EVEN, np.ones(9), seed=3)
    first, second = np.triu_indices(9, 1)
    differ = mean[first] != mean[second]
    found = claims(world, 400, mean)[:, differ].mean(1)
    error = np.sqrt(2 * (world.taste**2 + 1 / DOCUMENTS) / len(EVEN))
    bar = stats.studentized_range.ppf(1 - LEVEL, 9, np.inf) / np.sqrt(2)
    known = stats.norm.sf(bar - 1 / error)
    assert 0.3 < known < 0.9
    assert found.mean() > 0.85 * known - 3 * found.std() / 20, (found.mean(), known)


@pytest.mark.parametrize("raters", [6, 9])
def test_two_systems_are_held_against_students_t(raters: int) -> None:
    """One pair has no others to share with: what is left is t with a degree of freedom less than raters."""
    world = World(np.full(raters, 8), np.ones(2), seed=raters)
    draws = 20_000
    bar = moderated_comparisons(world.table(), "apart", draws).family().bar(LEVEL)[0]
    beyond = 2 * stats.t.sf(bar, raters - 1)
    assert abs(beyond - LEVEL) < 4 * np.sqrt(LEVEL * (1 - LEVEL) / draws), beyond


def test_estimates_are_those_of_the_mixed_model_and_what_raters_add_sums_to_them() -> None:
    rated = World(FALLING, UNEQUAL, seed=5).table()
    of = moderated_comparisons(rated, "apart", DRAWS)
    np.testing.assert_array_equal(of.difference, compare_by_model(rated).difference)
    judge = moderated_studies(rated, pools="apart", draws=DRAWS)
    assert isinstance(judge, Judge)
    score = rated.value[:, None]
    estimate = judge.contributions(judge.means(judge.subtract_documents(score)[1]))[0].sum(0)
    np.testing.assert_allclose(estimate - estimate[0], of.mean - of.mean[0], atol=1e-9)


def test_claims_and_intervals_agree_and_a_study_is_judged_as_its_table() -> None:
    world = World(EVEN, UNEQUAL, seed=6)
    rated = world.table(np.linspace(0, 3, 9))
    of = moderated_comparisons(rated, "apart", DRAWS)
    family, error = of.family(), np.sqrt(of.variance)
    claimed = family.max_t() <= LEVEL
    np.testing.assert_array_equal(claimed, np.abs(of.difference) > family.bar(LEVEL) * error)
    assert claimed.any()
    assert not claimed.all()
    judge = moderated_studies(rated, pools="apart", draws=DRAWS)
    assert isinstance(judge, Judge)
    difference, families = judge.families(rated.value[:, None])
    np.testing.assert_allclose(difference[0], of.difference, atol=1e-9)
    np.testing.assert_allclose(families[0].size, family.size, rtol=1e-6)


def test_the_order_of_rows_changes_nothing() -> None:
    rated = World(EVEN, UNEQUAL, seed=7).table()
    order = np.random.default_rng(1).permutation(len(rated.value))
    names = ("document", "item", "rater", "system", "value", "share")
    mixed = replace(rated, **{name: getattr(rated, name)[order] for name in names})
    seen, again = (moderated_comparisons(one, "apart", DRAWS).family() for one in (rated, mixed))
    np.testing.assert_allclose(again.max_t(), seen.max_t(), atol=1e-12)


@pytest.mark.parametrize("loads", [np.full(4, 20), np.array([70, 5, 5, 4, 4, 4, 4, 4])], ids=["four", "one of most"])
def test_few_raters_or_few_effective_ones_are_judged_by_the_mixed_model_as_given(loads: Array) -> None:
    """Eight raters of whom one has 70 % are worth two: 100^2 over the sum of squared loads."""
    rated = World(loads, np.ones(5), seed=8).table()
    of = moderated_comparisons(rated, "apart", DRAWS)
    np.testing.assert_array_equal(of.family().max_t(), compare_by_model(rated).family().max_t())
    assert not of.at_large.any()


def test_loads_that_fall_leave_raters_enough() -> None:
    """Twelve raters with 30 to 2 documents are worth 5.3."""
    assert moderated_comparisons(World(FALLING, np.ones(9), seed=9).table(), "apart", DRAWS).at_large.all()


UNEVEN = np.array([30, 16, 12, 9, 8, 6, 5])


@pytest.mark.parametrize("taste", [0.0, 0.4])
@pytest.mark.parametrize("loads", [np.full(7, 26), UNEVEN], ids=["even", "uneven"])
@pytest.mark.parametrize("spread", [UNEQUAL, np.ones(2)], ids=["nine", "two"])
def test_whole_documents_are_judged_as_by_the_equations_of_the_mixed_model(
    taste: float, loads: Array, spread: Floats
) -> None:
    """Sums over raters, and the equations that every table has; also where tastes are estimated at 0."""
    for seed in range(5):
        rated = World(loads, spread, taste, seed).table()
        of, family = (
            moderated_comparisons(rated, "apart", DRAWS),
            moderated_family(np.random.default_rng(0), rated, pools="apart", draws=DRAWS),
        )
        np.testing.assert_allclose(family.size, of.family().size, rtol=1e-8)
        np.testing.assert_allclose(family.bar(LEVEL), of.family().bar(LEVEL), rtol=1e-8)
        np.testing.assert_allclose(family.p_values(), of.family().p_values(), rtol=1e-7)
        found = moderated_differences(rated, pools="apart", draws=DRAWS)
        np.testing.assert_allclose(found, of.difference, rtol=1e-8, atol=1e-12)
        assert find_whole_documents(rated) is not None


def test_documents_that_raters_share_or_that_are_not_whole_are_none_of_these() -> None:
    rated = World(EVEN, UNEQUAL, seed=7).table()
    names = ("document", "item", "rater", "system", "value", "share")
    cut = replace(rated, **{name: getattr(rated, name)[1:] for name in names})
    other = rated.rater.copy()
    other[0] = 1
    assert find_whole_documents(cut) is None
    assert find_whole_documents(replace(rated, rater=other)) is None
    for one in (cut, replace(rated, rater=other)):
        family = moderated_family(np.random.default_rng(0), one, pools="apart", draws=DRAWS)
        np.testing.assert_array_equal(family.size, moderated_comparisons(one, "apart", DRAWS).family().size)
