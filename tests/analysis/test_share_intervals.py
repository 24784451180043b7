"""Hold intervals of shares against scipy's, and against what they cover exactly."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from simlab.analysis.means.intervals import clopper_pearson, effective_number, wilson
from simlab.types import InputError


@pytest.mark.parametrize(("ours", "theirs"), [(wilson, "wilson"), (clopper_pearson, "exact")])
@pytest.mark.parametrize("level", [0.05, 0.2])
def test_intervals_of_shares_are_those_of_scipy(ours: object, theirs: str, level: float) -> None:
    n = 23
    seen = np.arange(n + 1)
    found = ours(seen / n, n, level)
    wanted = [stats.binomtest(int(k), n).proportion_ci(1 - level, method=theirs) for k in seen]
    np.testing.assert_allclose(found.low, [one.low for one in wanted], atol=1e-10)
    np.testing.assert_allclose(found.high, [one.high for one in wanted], atol=1e-10)


def test_what_is_fewer_than_one_judgement_is_still_an_interval() -> None:
    found = wilson(np.array([0.0, 1.0]), np.array([0.5, 0.5]))
    assert (found.low <= [0.0, 1.0]).all()
    assert (found.high >= [0.0, 1.0]).all()


def test_judgements_that_repeat_each_other_count_once() -> None:
    value, n = np.array([0.4]), np.array([100.0])
    # Five equal judgements a document: the standard error is that of twenty.
    se = np.sqrt(value * (1 - value) / 20)
    found = effective_number(value, se, n, np.array([20.0]), np.array([np.inf]), 0.05)
    np.testing.assert_allclose(found, 20)
    few = effective_number(value, se, n, np.array([20.0]), np.array([19.0]), 0.05)
    np.testing.assert_allclose(few, 20 * (stats.norm.ppf(0.025) / stats.t.ppf(0.025, 19)) ** 2)
    assert effective_number(value, se / 10, n, np.array([20.0]), np.array([19.0]), 0.05) == n
    assert effective_number(np.ones(1), np.zeros(1), n, np.array([20.0]), np.array([19.0]), 0.05) == 20


@pytest.mark.parametrize(("value", "n", "says"), [(1.2, 9, "between 0"), (np.nan, 9, "between"), (0.5, 0, "n=0")])
def test_what_is_no_share_is_one_line(value: float, n: int, says: str) -> None:
    with pytest.raises(InputError, match=says):
        wilson(value, n)
