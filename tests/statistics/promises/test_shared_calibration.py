"""Promises of studies whose systems share a metric: coverage, level and power of `analysis.estimator.sharing`."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from shared_calibration_promises import (
    Row,
    bounded_coverage,
    joint_coverage,
    joint_level,
    joint_misled,
    joint_power,
    joint_width,
    own_coverage,
    partial_coverage,
    power_as_before,
)

Promise = Callable[[int], list[Row]]

QUICK, MANY = 5.0, 3.0
"""Monte-Carlo standard errors by which a promise may miss its bound, and controls must, twice over."""

PROMISES: tuple[tuple[Promise, int, int], ...] = (
    (joint_power, 60, 2000),
    (joint_width, 30, 500),
    (joint_coverage, 15, 1000),
    (joint_level, 60, 4000),
    (own_coverage, 100, 4000),
    (partial_coverage, 5, 500),
    (bounded_coverage, 30, 1000),
    (power_as_before, 200, 4000),
    (joint_misled, 40, 1000),
)
"""What is promised, and controls, with the studies of a quick and of a thorough look."""


def broken(rows: list[Row], errors: float) -> list[Row]:
    return [one for one in rows if not one.holds(2 * errors if one.side.startswith("control") else errors)]


@pytest.mark.parametrize(
    ("promise", "n"),
    [
        pytest.param(promise, quick, marks=[pytest.mark.slow] * (promise not in (joint_level, own_coverage)))
        for promise, quick, _ in PROMISES
    ],
)
def test_promises_are_kept_and_controls_fail(promise: Promise, n: int) -> None:
    assert broken(promise(n), QUICK) == []


@pytest.mark.long
@pytest.mark.parametrize(("promise", "n"), [(promise, many) for promise, _, many in PROMISES])
def test_promises_are_kept_and_controls_fail_in_many_studies(promise: Promise, n: int) -> None:
    assert broken(promise(n), MANY) == []
