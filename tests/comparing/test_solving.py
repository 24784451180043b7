"""Hold where a measure reaches a target against curves that are planted."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import isotonic_regression

from simlab.comparing.solving import Crossing, _Line, solve_curve
from simlab.rng import stream
from simlab.types import Floats, InputError

DOCUMENTS = np.array([10, 20, 40, 60, 90, 120, 181])
CURVES: dict[str, Callable[[Floats], Floats]] = {
    "logistic": lambda x: 1 / (1 + np.exp(-1.5 * (np.log(x) - 3.8))),
    "saturating": lambda x: 0.9 * (1 - np.exp(-x / 45)),
    "logarithm": lambda x: 0.3 + 0.15 * (np.log(x) - 2),
    "root": lambda x: 0.07 * np.sqrt(x),
}


def planted(rng: np.random.Generator, curve: Callable[[Floats], Floats], sd: float = 0.02) -> tuple[Floats, Floats]:
    """Draw cells of a curve, and the influence of twenty worlds that they have in common."""
    worlds = sd * np.sqrt(20) * (0.8 * rng.normal(size=(len(DOCUMENTS), 20)) + 0.6 * rng.normal(size=20))
    return curve(DOCUMENTS) + worlds.mean(1), worlds - worlds.mean(1, keepdims=True)


def without_noise(y: Floats, target: float, **options: bool) -> Crossing:
    return solve_curve(DOCUMENTS, y, np.zeros((len(y), 5)), target, **options)


@pytest.mark.parametrize("curve", CURVES)
def test_a_curve_without_noise_is_inverted(curve: str) -> None:
    for x in (15.0, 50.0, 130.0):
        found = without_noise(CURVES[curve](DOCUMENTS), float(CURVES[curve](np.array(x))))
        assert found.reach == "crossed"
        assert found.side == "from"
        assert found.value == pytest.approx(x, rel=0.03)
        assert (found.low, found.high) == (found.value, found.value)


def test_what_is_not_reached_and_what_is_always_reached_are_answers() -> None:
    y = CURVES["saturating"](DOCUMENTS)
    beyond, always = without_noise(y, 0.95), without_noise(y, 0.05)
    assert (beyond.reach, beyond.value, beyond.low) == ("not_reached", np.inf, np.inf)
    assert (always.reach, always.value, always.high) == ("reached_everywhere", -np.inf, -np.inf)


def test_an_error_that_falls_reaches_its_target_from_somewhere_on() -> None:
    y = 1 / np.sqrt(DOCUMENTS)
    found = without_noise(y, 0.125, less_is_better=True)
    assert (found.side, found.reach) == ("from", "crossed")
    assert found.value == pytest.approx(64, rel=0.02)


def test_a_power_that_falls_reaches_its_target_up_to_somewhere() -> None:
    found = without_noise(1 / np.sqrt(DOCUMENTS), 0.125)
    assert (found.side, found.reach) == ("up_to", "crossed")
    assert found.value == pytest.approx(64, rel=0.02)
    assert without_noise(1 / np.sqrt(DOCUMENTS), 0.01).value == np.inf
    assert without_noise(1 / np.sqrt(DOCUMENTS), 0.01).reach == "reached_everywhere"
    assert without_noise(1 / np.sqrt(DOCUMENTS), 0.5).value == -np.inf


@pytest.mark.parametrize("n", [5, pytest.param(100, marks=pytest.mark.slow)])
def test_intervals_hold_planted_crossings(n: int) -> None:
    """Of 90 % intervals .86 to .94 hold the truth, over 400 curves of four shapes."""
    rng, hits, too_narrow = stream(1, "planted"), [], []
    for curve in CURVES.values():
        for _ in range(n):
            x = float(np.exp(rng.uniform(np.log(14), np.log(130))))
            value, influence = planted(rng, curve)
            target = float(curve(np.array(x)))
            found = solve_curve(DOCUMENTS, value, influence, target)
            narrow = solve_curve(DOCUMENTS, value, influence / 3, target)
            hits.append(found.low <= x <= found.high)
            too_narrow.append(narrow.low <= x <= narrow.high)
    margin = 0.04 if n == 100 else 3 * np.sqrt(0.09 / len(hits))
    assert 0.9 - margin <= np.mean(hits) <= 0.9 + margin
    # The control: errors that are a third of what they are.
    assert np.mean(too_narrow) < np.mean(hits) - 0.15


def test_fits_are_those_of_isotonic_regression() -> None:
    rng = stream(3, "isotonic")
    y, weight = rng.normal(size=(40, 7)), rng.uniform(0.2, 3.0, 7)
    fitted = _Line(np.arange(7.0), weight, 0.0)._fit_isotonic(y)
    assert fitted == pytest.approx(np.array([isotonic_regression(one, weights=weight).x for one in y]))


def test_an_interval_may_end_beyond_the_sweep() -> None:
    value, influence = planted(stream(2, "edge"), CURVES["saturating"], sd=0.05)
    found = solve_curve(DOCUMENTS, value, influence, 0.88)
    assert np.isinf(found.high)
    assert found.low < 181


def test_two_cells_are_no_curve() -> None:
    y = np.array([np.nan] * 5 + [0.5, 0.8])
    with pytest.raises(InputError, match="2 cells have a value along the axis, and a curve needs 3"):
        without_noise(y, 0.6)
