"""Power by the size of the true difference: against a curve that is known, and what it is at one point of it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from simlab.measures.by_difference import power_at, power_from
from simlab.measures.errors import power
from simlab.types import Outcomes

WORLDS, SYSTEMS, SMALLEST = 3000, 6, 2.0


def _curve(difference: np.ndarray) -> np.ndarray:
    """How often a difference is found."""
    return np.asarray(norm.cdf(difference / SMALLEST - 0.5))


def _made(seed: int, worlds: int = WORLDS, curve: bool = True) -> Outcomes:
    """Campaigns, one a world, that find pairs as the curve says; without it half of all, whatever they differ by."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(0, 2, (worlds, SYSTEMS))
    first, second = np.triu_indices(SYSTEMS, 1)
    difference = truth[:, first] - truth[:, second]
    # Worlds are easy or hard as a whole: pairs of one world are no independent observations.
    ease = rng.uniform(-0.1, 0.1, (worlds, 1))
    share = np.clip((_curve(np.abs(difference)) if curve else 0.5) + ease, 0, 1)
    found = rng.random(difference.shape) < share
    direction = np.sign(difference).astype(np.int8)
    return {
        "world": np.arange(worlds, dtype=np.int32),
        "study": np.zeros(worlds, np.int32),
        "document_set": np.zeros(worlds, np.int32),
        "status": np.zeros(worlds, np.int8),
        "significant": found,
        "direction": direction,
        "true_value": truth,
        "true_direction": direction,
    }


def test_power_from_a_difference_on_is_that_of_the_larger_pairs() -> None:
    made = _made(1)
    found = power_from(made, smallest=SMALLEST)
    rng = np.random.default_rng(2)
    difference = np.abs(rng.normal(0, 2 * np.sqrt(2), 10**6))
    expected = _curve(difference[difference >= SMALLEST]).mean()
    assert abs(found.value - expected) < 5 * found.mcse
    # All pairs together are found less often.
    assert abs(power(made).value - expected) > 5 * found.mcse
    assert power_from(made, smallest=0.0).value == pytest.approx(power(made).value)


def test_power_at_a_difference_is_the_curve_there() -> None:
    found = power_at(_made(3), smallest=SMALLEST, within=1.6)
    assert abs(found.value - _curve(np.array(SMALLEST))) < 5 * found.mcse
    assert found.mcse < 0.02
    # Power from there on is another thing.
    assert abs(power_from(_made(3), smallest=SMALLEST).value - _curve(np.array(SMALLEST))) > 5 * found.mcse
    flat = power_at(_made(4, curve=False), smallest=SMALLEST, within=1.6)
    assert abs(flat.value - 0.5) < 5 * flat.mcse


def test_its_error_is_that_of_repetitions() -> None:
    values, errors = [], []
    for seed in range(200):
        found = power_at(_made(seed + 10, 100), smallest=SMALLEST, within=1.6)
        values.append(found.value)
        errors.append(found.mcse)
    spread = np.std(values, ddof=1)
    # The standard error of a standard deviation of 200 is a twentieth of it.
    assert abs(np.mean(errors) / spread - 1) < 5 / 20
    assert np.mean(errors) / spread > 0.8


@pytest.mark.parametrize("smallest", [1e-9, 1e9])
def test_without_pairs_nearby_it_is_undefined(smallest: float) -> None:
    made = _made(5, 20)
    assert power_at(made, smallest=smallest, within=1.6).n == 0
    assert (power_from(made, smallest=smallest).n == 0) == (smallest == 1e9)


def test_without_a_truth_both_are_undefined() -> None:
    made = {name: value for name, value in _made(6, 20).items() if not name.startswith("true_")}
    assert power_from(made, smallest=1.0).n == power_at(made, smallest=1.0, within=1.6).n == 0
