"""Check by simulation that 95 % intervals of shares cover, from rare events to certain ones, also in few clusters."""

from __future__ import annotations

import numpy as np
import pytest

from simlab.measures.labels import SHARE
from simlab.measures.precision import interval, margin
from simlab.rng import stream
from simlab.types import Floats

RATES = (0.0015, 0.01, 0.05, 0.5, 0.95, 1.0)
WORLDS = (5, 10, 25, 50)
ALIKE = (0.0, 0.05, 0.3, 1.0)
"""Correlation of the studies of one world: beta-binomial; with 1 a world has the event always or never."""
LEAST = 0.93
SKEWED = 0.905
"""Where a hundred studies a world show how unevenly the rate is spread over worlds (correlation .05 to .3, rates of .01
to .05 from the end), an interval learned from 25 or 50 worlds covers .92 to .93: so skewed a distribution is not known
from so few."""


def shares(worlds: int, studies: int, rate: float, alike: float, runs: int) -> Floats:
    """Draw the share of studies that see an event, `[run, world]`."""
    rng = stream(1, "intervals", worlds, studies, str(rate), str(alike))
    if rate in (0, 1) or alike == 0:
        of_world = np.full((runs, worlds), rate)
    elif alike == 1:
        of_world = (rng.random((runs, worlds)) < rate).astype(float)
    else:
        total = (1 - alike) / alike
        of_world = rng.beta(rate * total, (1 - rate) * total, (runs, worlds))
    return rng.binomial(studies, of_world) / studies


def coverage(each: Floats, rate: float) -> float:
    value = each.mean(1)
    low, high = interval(value, each - value[:, None], SHARE)
    assert np.all((low >= 0) & (low <= value + 1e-12) & (value <= high + 1e-12) & (high <= 1))
    return float(np.mean((low <= rate + 1e-12) & (rate <= high + 1e-12)))


def short(covered: float, wanted: float, runs: int) -> bool:
    return covered < wanted - 3 * np.sqrt(wanted * (1 - wanted) / runs)


def uncovered(studies: int, runs: int, alike: tuple[float, ...] = ALIKE) -> list[tuple[float, ...]]:
    """List the cases whose coverage is below what is promised by more than its own error."""
    found = []
    for rate in RATES:
        for correlation in alike:
            for worlds in WORLDS:
                covered = coverage(shares(worlds, studies, rate, correlation, runs), rate)
                wanted = SKEWED if studies >= 100 and 0 < correlation < 1 else LEAST
                if short(covered, wanted, runs):
                    found.append((covered, rate, correlation, worlds))
    return found


def test_intervals_of_shares_cover() -> None:
    assert uncovered(10, 1500) == []


@pytest.mark.long
@pytest.mark.parametrize("studies", [1, 2, 5, 20, 100, 400])
def test_intervals_of_shares_cover_for_any_number_of_studies(studies: int) -> None:
    assert uncovered(studies, 5_000, (0.0, 0.02, 0.05, 0.15, 0.3, 0.8, 1.0)) == []


@pytest.mark.parametrize("alike", ALIKE)
def test_a_value_with_its_error_does_not_cover_a_rare_event(alike: float) -> None:
    """Hold the negative control: where nothing was seen, an error of 0 says that nothing ever happens."""
    each = shares(25, 10, 0.0015, alike, 2000)
    value = each.mean(1)
    error = each.std(1, ddof=1) / np.sqrt(25)
    assert np.mean(np.abs(value - 0.0015) <= margin(25) * error) < 0.6
    assert np.mean(np.abs(value - 0.0015) <= 1.96 * error) < 0.6
    assert not short(coverage(each, 0.0015), LEAST, 2000)


def test_campaigns_counted_as_independent_do_not_cover() -> None:
    """Hold the negative control: 3 / campaigns bounds nothing where a world has an event always or never."""
    worlds, studies, rate = 25, 40, 0.02
    each = shares(worlds, studies, rate, 1.0, 2000)
    never = each.mean(1) == 0
    assert np.mean(never) > 0.5
    assert 3 / (worlds * studies) < rate
    low, high = interval(np.zeros(1), np.zeros((1, worlds)), SHARE)
    assert low[0] == 0
    assert high[0] > rate
