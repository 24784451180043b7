"""Checks of a fitted law: a right one passes nearly always, a wrong one fails, and it is said which way it errs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from pilots import Truth
from plain_law import TRUTH, drawn, law

from simlab.fitting.checks import CONCLUSIONS, LEVEL, FitChecks, checks, conclusions, look_at, traits


def held(seed: int, assumed: Truth, n_tables: int = 100) -> FitChecks:
    """Check a law against a pilot of the usual truth."""
    pilot = drawn(seed)
    one = law(assumed)
    return checks(one, one.fit(pilot, seed=seed, draws=60), seed=seed, n_tables=n_tables)


def failing(n: int, assumed: Truth) -> float:
    """Return the share of pilots in which some check fails."""
    return float(np.mean([bool(held(seed, assumed).failed) for seed in range(n)]))


@pytest.mark.slow
def test_a_right_law_passes_and_a_wrong_one_fails() -> None:
    n = 5
    # A right law fails at most 5 % of pilots; the long test below is the one that is sharp.
    assert failing(n, TRUTH) <= LEVEL + 5 * np.sqrt(LEVEL * (1 - LEVEL) / n)
    assert failing(2, replace(TRUTH, residual=9.0)) == 1


@pytest.mark.long
def test_how_often_right_and_wrong_laws_fail() -> None:
    n = 150
    assert failing(n, TRUTH) <= LEVEL + 5 * np.sqrt(LEVEL * (1 - LEVEL) / n)
    for wrong in ({"residual": 8.0}, {"system_document": 6.0}, {"rater_system": 4.0}):
        assert failing(10, replace(TRUTH, **wrong)) == 1


def test_which_way_predictions_err_is_simulated() -> None:
    noisy, quiet = (held(1, replace(TRUTH, residual=sd)) for sd in (25.0, 0.5))
    power = [one.erring[0] for one in (noisy, quiet)]
    assert power[0].measure == "power"
    # More noise than there is hides differences that the pilot shows; less shows more of them.
    assert power[0].simulated < power[0].real - 0.2
    assert power[0].below > 0.95
    assert power[1].simulated > power[1].real
    assert {one.name for one in noisy.failed} >= {"sd of scores", "two raters of an output differ by (sd)"}
    worst = noisy.failed[0]
    assert not worst.low <= worst.real <= worst.high


def test_what_a_design_cannot_show_is_not_judged() -> None:
    pilot = drawn(1, n_raters=1, ratings=1)
    found = traits(pilot, look_at(np.random.default_rng(1), pilot))
    assert np.isnan(found["rater x system (sd)"])
    assert np.isnan(found["correlation of two raters"])
    one = law(TRUTH)
    names = [check.name for check in checks(one, one.fit(pilot), n_tables=30).traits]
    assert "spread of systems (sd)" in names
    assert "correlation of two raters" not in names


def test_a_large_table_may_miss_by_a_margin() -> None:
    large = drawn(3, n_documents=400)
    one = law(replace(TRUTH, residual=4.3))
    assert not checks(one, one.fit(large, draws=60), n_tables=60).failed


def test_pairs_are_told_apart_by_the_t_test_of_scipy() -> None:
    from scipy.stats import ttest_1samp

    pilot = drawn(2)
    look = look_at(np.random.default_rng(1), pilot)
    cell = np.zeros((pilot.n_documents, pilot.n_systems))
    np.add.at(cell, (pilot.item, pilot.system), pilot.score / 2)
    i, j = look.pairs
    p_value = ttest_1samp(cell[:, i] - cell[:, j], 0).pvalue
    found = conclusions(cell, np.ones(cell.shape, bool), look)
    assert found[CONCLUSIONS[0]] == pytest.approx((p_value < 0.05).mean())
    assert traits(pilot, look)[CONCLUSIONS[0]] == pytest.approx((p_value < 0.05).mean())
    # Equal systems in which nothing is found are confirmed by emptiness, and of no claims none is confirmed.
    flat = conclusions(np.zeros(cell.shape), np.ones(cell.shape, bool), look)
    assert flat[CONCLUSIONS[0]] == 0
    assert flat[CONCLUSIONS[1]] == 1
    assert np.isnan(flat[CONCLUSIONS[2]])
