"""Hold tests that generalise to raters to their level, their power and their family-wise error, by simulation.

Quick versions take few worlds and allow five errors; long ones must hold within three, errors being a fifth of the
slack or a tenth of the bound.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from rater_promises import TASTES, Row, false_positives, families, family_in_worlds, power


def check(rows: Iterable[Row], *, errors: float, sharp: bool = False) -> None:
    for row in rows:
        assert row.holds(errors), row
        assert not sharp or row.mcse <= max(abs(row.value - row.bound) / 5, row.bound / 10), row


@pytest.mark.slow
def test_equal_systems_are_seldom_called_different_by_new_raters() -> None:
    check(false_positives(30, pools=(3, 7), groupings=("pseudo_side_by_side", "ungrouped")), errors=5)


@pytest.mark.long
def test_equal_systems_are_seldom_called_different_whatever_the_design() -> None:
    check(false_positives(500), errors=3, sharp=True)


@pytest.mark.long
def test_equal_systems_are_seldom_called_different_whatever_the_tastes() -> None:
    check(false_positives(300, groupings=("pseudo_side_by_side",), tastes=TASTES), errors=3, sharp=True)


def test_differences_are_found_as_often_as_promised() -> None:
    check(power(30, pools=(7,)), errors=5)


@pytest.mark.long
def test_differences_are_found_as_often_as_promised_by_any_number_of_raters() -> None:
    check(power(1200), errors=3, sharp=True)


def test_among_many_pairs_hardly_any_is_wrong() -> None:
    check(families(80, laws=("lognormal",), sizes=(4,)), errors=5)


@pytest.mark.long
def test_among_many_pairs_hardly_any_is_wrong_for_skewed_scores_and_ties() -> None:
    check(families(2500), errors=3, sharp=True)


@pytest.mark.long
def test_among_the_pairs_of_a_campaign_hardly_any_is_wrong() -> None:
    check(family_in_worlds(2500), errors=3, sharp=True)
