"""Where a run to a precision stops its value is hardly off and its interval holds; whoever peeks has neither."""

from __future__ import annotations

import precision_promises as promises
import pytest


def test_a_run_to_a_precision_keeps_its_promise() -> None:
    for row in promises.where_it_stops(250):
        assert row.holds(5 if not row.control else 3), row


def test_where_worlds_are_rarer_values_are_off_by_a_part_of_their_error() -> None:
    for row in promises.far_from_normal(200):
        assert row.value < 0.8 if row.bound == promises.MOST_BIAS else row.value > 0.8, row


@pytest.mark.long
def test_it_does_in_many_runs() -> None:
    for row in promises.where_it_stops(5000):
        assert row.holds(3), row
