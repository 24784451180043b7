"""Promises of rules hold on a clock with drop-outs, lapses and a deadline; uncorrected looks break theirs."""

from __future__ import annotations

import clock_promises as promises
import pytest


@pytest.mark.slow
def test_rules_keep_their_error_where_campaigns_end_before_their_time() -> None:
    for row in promises.errors_on_a_clock(60):
        assert row.holds(5 if not row.control else 1), row


def test_intervals_hold_what_they_say_where_campaigns_end_before_their_time() -> None:
    for row in promises.coverage_on_a_clock(30):
        assert row.holds(5), row


@pytest.mark.long
@pytest.mark.parametrize(
    "rows", [promises.errors_on_a_clock, promises.families_on_a_clock, promises.coverage_on_a_clock]
)
def test_every_rule_keeps_its_promise_on_a_clock(rows) -> None:  # type: ignore[no-untyped-def]
    for row in rows(2000):
        assert row.holds(3), row
