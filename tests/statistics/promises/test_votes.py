"""Hold conclusions from votes to what they promise, and what is commonly done to what it does.

Quick versions take few studies and allow five errors; long ones must hold within three.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
from promise_rows import Row
from vote_promises import EQUAL, LEVEL, QUICK, SCALES, controls, errors, power, scales
from vote_worlds import World, draw

from simlab.concluding.preferences.repetitions import is_claimed_at_a_look


def broken(rows: Iterable[Row], n_errors: float) -> list[Row]:
    return [row for row in rows if not row.holds(n_errors)]


@pytest.mark.slow
def test_claims_from_votes_are_seldom_wrong_and_intervals_hold() -> None:
    assert broken(errors(60, QUICK), 5) == []


def test_what_is_commonly_done_claims_that_equal_systems_differ() -> None:
    assert broken(controls(30, QUICK), 5) == []


def test_differences_are_found() -> None:
    assert broken(power(15), 0) == []


def test_strengths_and_ranks_hold_the_truth() -> None:
    assert broken(scales(40, tuple(SCALES)[:2]), 5) == []


def test_a_dashboard_watched_through_300_screens_is_wrong_nearly_always() -> None:
    world = World(EQUAL, 1500, 1500, 1500)
    wrong = [
        is_claimed_at_a_look(draw(np.random.default_rng([3, k]), world), np.ones(15, bool), LEVEL) for k in range(100)
    ]
    assert 0.87 <= np.mean(wrong) <= 1.0
    one_pair = World((0.0, 0.0), 1500, 1500, 1500)
    wrong = [
        is_claimed_at_a_look(draw(np.random.default_rng([4, k]), one_pair), np.ones(1, bool), LEVEL) for k in range(100)
    ]
    assert 0.3 <= np.mean(wrong) <= 0.7


@pytest.mark.long
def test_claims_from_votes_are_seldom_wrong_whatever_the_world() -> None:
    assert broken(errors(1000), 3) == []
    assert broken(controls(1000), 3) == []


@pytest.mark.long
def test_strengths_and_ranks_hold_the_truth_in_many_studies() -> None:
    assert broken(scales(800), 3) == []
