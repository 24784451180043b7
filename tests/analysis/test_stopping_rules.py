"""Rules that end judging: what they bet on, where they end, what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from simlab.analysis import stopping_rules
from simlab.analysis.means import stopping
from simlab.analysis.means.stopping import betting_looks
from simlab.rng import stream
from simlab.types import InputError, JudgementSequence


def followed(y: np.ndarray, **keys: Any) -> JudgementSequence:
    usual: dict[str, Any] = {
        "g": None, "other": None, "fresh": 0, "metric_scale": (0.0, 0.0), "scale": (0.0, 1.0),
        "interval": lambda n, level: (0.0, 1.0), "level": 0.05, "planned": len(y),
    }  # fmt: skip
    return JudgementSequence(y=y, **{**usual, **keys})


def test_bets_give_the_published_confidence_sequence() -> None:
    y = (stream(1).random((5, 200)) < 0.3).astype(float)
    grid = betting_looks(y, 0, 1, looks=[20, 200], grid=2000)
    for row in range(5):
        for look, n in enumerate((20, 200)):
            low, high = stopping.interval(stopping.bet_on_judgements(y[row, :n], 0, 1, 0.05), 0.05, 0, 1)
            # The grid rounds outwards; bets after the first differ in how the spread is regularised.
            assert abs(low - grid.low[row, look]) < 0.02
            assert abs(high - grid.high[row, look]) < 0.02


def test_bets_do_not_care_about_the_scale() -> None:
    y = stream(2).random(100)
    low, high = stopping.interval(stopping.bet_on_judgements(y, 0, 1, 0.05), 0.05, 0, 1)
    moved = stopping.interval(stopping.bet_on_judgements(10 * y - 3, -3, 7, 0.05), 0.05, -3, 7)
    np.testing.assert_allclose(moved, (10 * low - 3, 10 * high - 3), atol=1e-5)


@pytest.mark.parametrize("fresh", [0, 5])
def test_bets_with_a_metric_never_leave_what_they_could_have_been(fresh: int) -> None:
    rng = stream(3, "metric", fresh)
    g = rng.random(300)
    y = (g + 0.3 * rng.normal(size=300) > 0.5).astype(float)
    other = rng.random((300, fresh)).mean(1) if fresh else np.full(300, 0.5)
    noise = 1 / fresh if fresh else 0.0
    made = stopping.bet_with_metric(y, stopping.StoppingMetric(g, other, (0.0, 1.0), noise), 0, 1, 0.05)
    assert (made.least <= made.x).all()
    assert (made.x <= made.most).all()
    np.testing.assert_array_equal(made.x[: stopping.UNTIL_SLOPE], y[: stopping.UNTIL_SLOPE])
    assert made.x[50:].var() < 0.8 * y[50:].var()
    for n in (1, 17, 120):  # no bet knows what comes
        part = stopping.bet_with_metric(y[:n], stopping.StoppingMetric(g[:n], other[:n], (0.0, 1.0), noise), 0, 1, 0.05)
        np.testing.assert_allclose(part.stake, made.stake[:n])
        np.testing.assert_allclose(part.x, made.x[:n])


def test_halving_finds_the_first_look_that_is_narrow() -> None:
    y = (stream(4).random(400) < 0.8).astype(float)
    found = stopping_rules.betting_width(followed(y), level=0.05, width=0.3, batch_size=10, low=None, high=None)
    width = {}
    for n in range(10, 401, 10):
        low, high = stopping.interval(stopping.bet_on_judgements(y[:n], 0, 1, 0.05), 0.05, 0, 1)
        width[n] = high - low
    assert found.n == next(n for n, wide in width.items() if wide <= 0.3)
    assert found.narrow


def test_a_shared_level_counts_the_looks_that_were_planned() -> None:
    levels = []

    def interval(n: int, level: float) -> tuple[float, float]:
        levels.append(level)
        return 0.0, 1.0 / n

    data = followed(np.ones(60), interval=interval, planned=100)
    found = stopping_rules.fixed_width(data, level=0.05, width=0.04, batch_size=10, form="spread")
    assert (found.n, found.looks) == (30, 10)
    assert levels == pytest.approx([0.005] * 3)


@pytest.mark.parametrize(
    ("keys", "data", "words"),
    [
        ({"low": 0.0, "high": None}, {}, "give both, or neither"),
        ({"low": 1.0, "high": 0.0}, {}, "decision.low=1 must be less than decision.high=0"),
        ({"low": 0.2, "high": 1.0}, {}, "judgements from 0 to 1 exceed them"),
        ({"low": None, "high": None}, {"scale": None}, "needs judgements on a scale with ends"),
    ],
)
def test_a_scale_has_ends_and_judgements_keep_to_them(keys: dict[str, Any], data: dict[str, Any], words: str) -> None:
    y = np.tile([0.0, 1.0], 20)
    for rule in (stopping_rules.betting_width, stopping_rules.ppi_width):
        with pytest.raises(InputError, match=words):
            rule(followed(y, **data), level=0.05, width=0.1, batch_size=10, **keys)
