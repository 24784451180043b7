"""Hold what several rooms calculate against closed forms."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from simlab.formulas import SLACK, differences, passes, read_stochastic, sign, systems_of_pairs
from simlab.types import InputError


def test_systems_and_pairs_count_each_other() -> None:
    sizes = range(1, 3000)
    assert [systems_of_pairs(n * (n - 1) // 2) for n in sizes] == list(sizes)


def test_columns_sum_to_one_exactly_however_many_matrices_there_are() -> None:
    matrix = np.array([[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.1, 0.2, 0.7]])
    given = np.stack([matrix, matrix[::-1]]) * (1 + 1e-8)
    np.testing.assert_allclose(read_stochastic(given, "mu").sum(-2), 1, rtol=1e-15)
    np.testing.assert_array_equal(read_stochastic(given, "mu")[0], read_stochastic(given[0], "mu", single=True))


MISTAKES = {
    "metric.mu must be 3 x 3": [[1, 0], [0, 1, 0]],
    "metric.mu has shape .2, 2.": np.eye(2),
    "metric.mu has shape .2, 3, 3.; it must be 3 x 3": np.stack([np.eye(3), np.eye(3)]),
    "metric.mu holds -0.5, which is no probability": [[1, 0, 0], [-0.5, 1, 0], [0.5, 0, 1]],
    "metric.mu holds nan": [[1, 0, 0], [0, 1, 0], [0, 0, np.nan]],
    r"column 2 \(what is said when the oracle says =\) sums to 0.9, not 1": np.diag([1, 0.9, 1]),
}


@pytest.mark.parametrize("says", MISTAKES)
def test_what_is_no_confusion_matrix_is_named(says: str) -> None:
    with pytest.raises(InputError, match=says):
        read_stochastic(MISTAKES[says], "metric.mu", single=True)


def test_a_p_value_passes_at_its_level_and_what_rounding_adds_to_it() -> None:
    level = 0.1 + 0.2
    values = np.array([0.3, level, level + SLACK / 2, level + 2 * SLACK, 0.0, 1.0, np.nan])
    assert passes(values, 0.3).tolist() == [True, True, True, False, True, False, False]
    assert passes(values, 0.3).dtype == bool
    assert not passes(np.array([0.051]), 0.05).any()


def test_a_sign_is_zero_where_only_rounding_makes_a_difference() -> None:
    given = np.array([[0.1 + 0.2 - 0.3, -(0.1 + 0.2 - 0.3)], [SLACK * 2, -SLACK * 2], [1e300, -0.0]])
    assert sign(given).tolist() == [[0, 0], [1, -1], [1, 0]]
    assert sign(given).dtype == np.int8
    np.testing.assert_array_equal(sign(-given), -sign(given))


@pytest.mark.parametrize("n", range(1, 6))
def test_differences_go_through_pairs_in_order(n: int) -> None:
    value = np.random.default_rng(n).normal(size=(2, 3, n))
    by_hand = [value[..., i] - value[..., j] for i, j in itertools.combinations(range(n), 2)]
    wanted = np.stack(by_hand, -1) if by_hand else np.empty((2, 3, 0))
    np.testing.assert_array_equal(differences(value), wanted)
    np.testing.assert_allclose(differences(value + 5), wanted, atol=1e-12)
    assert differences(value).shape[-1] == n * (n - 1) // 2
