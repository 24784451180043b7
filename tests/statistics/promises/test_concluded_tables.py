"""Hold conclusions from tables of ratings to what they promise, on tables as people have them.

Quick versions take few tables and allow five errors; long ones must hold within three, and controls fail by as many.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from promise_rows import Row
from promise_table import MISSED, is_known_miss
from table_promises import (
    FAR,
    QUICK,
    TABLES,
    claims_of_equal_systems,
    errors_and_coverage,
    leniency,
    many_to_one,
    segment_t_tests,
    strangers,
    within_a_margin,
)

KNOWN = [one for rows in MISSED.values() for one in rows]
"""What the page shows as missed."""


def broken(rows: Iterable[Row], errors: float) -> list[Row]:
    return [row for row in rows if not row.holds(errors) and not is_known_miss(row, KNOWN, errors)]


def test_equal_systems_are_seldom_claimed_to_differ() -> None:
    assert broken(claims_of_equal_systems(40, QUICK), 5) == []


def test_t_tests_over_segments_claim_that_equal_systems_differ() -> None:
    assert broken(segment_t_tests(40, ("7 raters, ungrouped",)), 3) == []


def test_intervals_hold_all_differences_and_claims_are_right() -> None:
    assert broken(errors_and_coverage(40, QUICK[1:]), 5) == []


@pytest.mark.slow
def test_strangers_systems_are_seldom_claimed_where_equal_and_often_where_not() -> None:
    assert broken(strangers(80, ("crossed", "crowd, 120 with one answer")), 5) == []


def test_intervals_of_leniency_hold_what_raters_are() -> None:
    assert broken(leniency(80, ("crossed",)), 5) == []


@pytest.mark.long
def test_strangers_systems_are_claimed_at_the_level() -> None:
    assert broken(strangers(1000), 3) == []


@pytest.mark.long
def test_intervals_of_leniency_hold_what_raters_are_whatever_the_table() -> None:
    assert broken(leniency(1000), 3) == []


@pytest.mark.long
def test_equal_systems_are_seldom_claimed_to_differ_whatever_the_table() -> None:
    assert broken(claims_of_equal_systems(1500), 3) == []


@pytest.mark.long
def test_intervals_hold_all_differences_and_claims_are_right_whatever_the_table() -> None:
    assert broken(errors_and_coverage(1000, (*TABLES, *FAR)), 3) == []


@pytest.mark.long
def test_t_tests_over_segments_are_wrong_about_tables_of_all_kinds() -> None:
    with_tastes = tuple(name for name, plan in TABLES.items() if plan.taste)
    assert broken(segment_t_tests(300, with_tastes), 3) == []


@pytest.mark.long
def test_baselines_and_margins_keep_their_promise() -> None:
    assert broken([*many_to_one(1000), *within_a_margin(1000)], 3) == []
