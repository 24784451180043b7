"""Intervals of predictions hold the truth as often as they say, the noise of the simulations taken out."""

from __future__ import annotations

import numpy as np
import pytest

from simlab.fitting.predictions import prediction_interval, spread_of_truth, widen_by_chance
from simlab.fitting.report import INTERVAL
from simlab.rng import stream

WORLDS, NOISE, RUNS = 30, 0.08, 1500
MCSE = np.sqrt(0.1 * 0.9 / RUNS)


def simulated(rng: np.random.Generator, sd: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw true values, worlds that spread as the truth may, and what simulating each of them shows, with its error."""
    truth = 0.7 + sd * rng.standard_normal(RUNS)
    worlds = 0.7 + sd * rng.standard_normal((RUNS, WORLDS))
    # Errors are estimated from two sets of studies each.
    sets = worlds[..., None] + NOISE * np.sqrt(2) * rng.standard_normal((RUNS, WORLDS, 2))
    return truth, sets.mean(2), np.abs(sets[..., 0] - sets[..., 1]) / 2


def held(truth: np.ndarray, bounds: np.ndarray) -> float:
    return float(((bounds[:, 0] <= truth) & (truth <= bounds[:, 1])).mean())


def intervals(values: np.ndarray, errors: np.ndarray, noise: float = 0.0) -> np.ndarray:
    return np.array([prediction_interval(*one, noise) for one in zip(values, errors, strict=True)])


@pytest.mark.parametrize(("sd", "raw_width", "width"), [(0.16, 1.02, 1.16), (0.08, 1.30, 1.11), (0.04, 2.03, 1.37)])
def test_what_was_predicted_is_held_and_percentiles_of_simulations_are_too_wide(
    sd: float, raw_width: float, width: float
) -> None:
    truth, values, errors = simulated(stream(1, "predictions", str(sd)), sd)
    found, raw = intervals(values, errors), np.quantile(values, INTERVAL, axis=1).T
    assert abs(held(truth, found) - 0.9) < 0.025 + 5 * MCSE
    # In units of the true 90 % interval.
    widths = [float(np.ptp(bounds, axis=1).mean() / (3.29 * sd)) for bounds in (raw, found)]
    np.testing.assert_allclose(widths, (raw_width, width), rtol=0.05)
    assert (held(truth, raw) > 0.9 + 5 * MCSE) == (sd < 0.16)


def test_the_difference_of_variances_alone_holds_too_little() -> None:
    truth, values, errors = simulated(stream(1, "predictions", "0.04"), 0.04)
    spread = values.var(1, ddof=1)
    left = np.sqrt(np.maximum(spread - (errors**2).mean(1), 0) / spread)[:, None]
    centre = values.mean(1, keepdims=True)
    assert held(truth, np.quantile(centre + left * (values - centre), INTERVAL, axis=1).T) < 0.7


def test_a_truth_that_was_measured_has_its_error_added_back() -> None:
    truth, values, errors = simulated(stream(3, "predictions"), 0.08)
    observed = truth + 0.08 * stream(4, "predictions").standard_normal(RUNS)
    assert abs(held(observed, intervals(values, errors, 0.08**2)) - 0.9) < 0.025 + 5 * MCSE
    assert held(observed, intervals(values, errors)) < 0.8


def test_the_variance_that_is_left_is_between_nothing_and_all() -> None:
    values = stream(5).standard_normal(200)
    all_of_it = values.var(ddof=1)
    left = [spread_of_truth(values, np.full(200, error)) for error in (0.0, 0.3, 0.6, 0.9, 3.0)]
    assert left[0] == all_of_it
    assert (np.diff(left) < 0).all()
    np.testing.assert_allclose(left[1:3], all_of_it - np.array([0.09, 0.36]), rtol=0.03)
    assert left[-1] < 0.2 * all_of_it
    assert spread_of_truth(values, np.full(200, np.nan)) == all_of_it
    assert prediction_interval(np.ones(5), np.full(5, 0.1)) == (1.0, 1.0)


def test_studies_that_all_come_out_alike_leave_a_rarer_outcome_possible() -> None:
    """Clopper and Pearson's bounds: with a lower one of p, n of n come out alike in 5 % of cases."""
    low, high = widen_by_chance(1.0, 1.0, 1.0, 100)
    assert high == 1.0
    assert low**100 == pytest.approx(0.05)
    assert widen_by_chance(0.0, 0.0, 0.0, 100) == pytest.approx((0.0, 1 - low))
    assert widen_by_chance(0.94, 0.77, 0.99, 100) == (0.77, 0.99)
