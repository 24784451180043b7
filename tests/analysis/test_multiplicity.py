"""Hold the adjustments for many pairs against scipy, closed testing written out, and step-down by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from rated_tables import from_totals, side_by_side
from scipy import stats

from simlab.analysis.multiplicity import FlipFamily, bh, holm
from simlab.analysis.raters.flips import compare_by_flips
from simlab.analysis.significance import compare_by_permutation, permutation
from simlab.rng import stream

P_VALUES = [
    np.array([0.01, 0.04, 0.03, 0.005, 0.9, 0.03]),
    np.array([0.05]),
    np.array([1.0, 1.0, 0.0]),
    stream(1).random(7) ** 3,
]


@pytest.mark.parametrize("p_value", P_VALUES)
def test_bh_is_scipys(p_value: np.ndarray) -> None:
    np.testing.assert_allclose(bh(p_value), stats.false_discovery_control(p_value, method="bh"), rtol=1e-12)


@pytest.mark.parametrize("p_value", P_VALUES)
def test_holm_is_closed_testing_by_bonferroni(p_value: np.ndarray) -> None:
    n = len(p_value)
    sets = [s for k in range(1, n + 1) for s in itertools.combinations(range(n), k)]
    closed = [max(min(1.0, len(s) * p_value[list(s)].min()) for s in sets if i in s) for i in range(n)]
    np.testing.assert_allclose(holm(p_value), closed, rtol=1e-12)


def step_down_by_hand(observed: np.ndarray, null: np.ndarray) -> np.ndarray:
    """Hold each hypothesis against the largest statistic of those not found before it."""
    found, least = np.zeros(len(observed)), 0.0
    left = list(range(len(observed)))
    for one in sorted(left, key=lambda k: -observed[k]):
        least = max(least, float((null[:, left].max(1) >= observed[one] - 1e-9).mean()))
        found[one] = least
        left.remove(one)
    return found


@pytest.mark.parametrize("seed", range(4))
def test_max_t_is_step_down_by_hand_and_never_below_the_pairs_own(seed: int) -> None:
    data = side_by_side(stream(seed, "family"), 7, 5, 4, taste=0.8)
    for family in (
        compare_by_flips(stream(1), data, flips=2048),
        compare_by_permutation(stream(1), from_totals(data.total[:9], 3), permutations=512, p_value="add_one"),
    ):
        assert family.every
        np.testing.assert_allclose(family.max_t(), step_down_by_hand(family.observed, family.null))
        assert (family.max_t() >= family.p_values()).all()
        assert family.max_t().max() < 1 + 1e-12


def test_max_t_is_closed_testing_by_the_largest_statistic() -> None:
    data = side_by_side(stream(2, "family"), 7, 5, 3, taste=0.8)
    family = compare_by_flips(stream(1), data, flips=2048)
    sets = [list(s) for k in (1, 2, 3) for s in itertools.combinations(range(3), k)]
    own = {tuple(s): (family.null[:, s].max(1) >= family.observed[s].max() - 1e-9).mean() for s in sets}
    closed = [max(p for s, p in own.items() if i in s) for i in range(3)]
    np.testing.assert_allclose(family.max_t(), closed)


def test_document_flips_are_those_of_the_published_test() -> None:
    total = stream(3).gamma(1.0, 2.0, size=(25, 5)).round(1)
    family = compare_by_permutation(stream(1), from_totals(total, 5), permutations=500, p_value="add_one")
    np.testing.assert_allclose(family.p_values(), permutation(stream(1), total, permutations=500, p_value="add_one"))
    published = compare_by_permutation(stream(1), from_totals(total, 5), permutations=500, p_value="published")
    np.testing.assert_allclose(
        published.p_values(), permutation(stream(1), total, permutations=500, p_value="published")
    )


def test_the_least_p_value_of_max_t_does_not_depend_on_the_number_of_pairs() -> None:
    data = side_by_side(stream(4), 7, 3, 12, taste=0.0)
    total = data.total + np.where(np.arange(12) < 6, 100.0, 0.0)
    family = compare_by_flips(stream(1), from_totals(total[np.argsort(np.arange(21) % 3, kind="stable")], 7), flips=64)
    first, second = np.triu_indices(12, 1)
    across = (first < 6) & (second >= 6)
    assert family.max_t()[across].max() == 1 / 64
    assert holm(family.p_values())[across].min() > 0.5  # where Holm finds nothing


def test_one_more_is_added_where_flips_are_drawn() -> None:
    family = FlipFamily(np.array([2.0, 1.0]), np.array([[0.5, 0.5], [3.0, 0.1], [0.1, 0.2]]), False, 0.0)
    np.testing.assert_allclose(family.p_values(), [2 / 4, 1 / 4])
    np.testing.assert_allclose(family.max_t(), [2 / 4, 2 / 4])
