"""Hold what several rooms calculate against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from simlab.formulas import stochastic, systems_of_pairs
from simlab.types import InputError


def test_systems_and_pairs_count_each_other() -> None:
    sizes = range(1, 3000)
    assert [systems_of_pairs(n * (n - 1) // 2) for n in sizes] == list(sizes)


def test_columns_sum_to_one_exactly_however_many_matrices_there_are() -> None:
    matrix = np.array([[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.1, 0.2, 0.7]])
    given = np.stack([matrix, matrix[::-1]]) * (1 + 1e-8)
    np.testing.assert_allclose(stochastic(given, "mu").sum(-2), 1, rtol=1e-15)
    np.testing.assert_array_equal(stochastic(given, "mu")[0], stochastic(given[0], "mu", one=True))


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
        stochastic(MISTAKES[says], "metric.mu", one=True)
