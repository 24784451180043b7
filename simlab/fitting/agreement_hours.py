"""Add up how long the raters of a table worked, all together and each."""

from __future__ import annotations

import math
from collections.abc import Iterator

from simlab.answers.agreement import HoursPredicted, HoursWorked
from simlab.fitting.hours import held_against
from simlab.fitting.speeds import LEAST_SECONDS, fitted_speeds
from simlab.tables.times import CUTS, Times
from simlab.types import Floats, InputError

RULES = {
    "ends": "Time is that between the ends of two answers in a row within a login, control items and practice included",
    "durations": "Time is what the table says that answers took",
}


def add_hours(times: Times | None, cut: float) -> Iterator[HoursWorked]:
    """Add up the hours of a table at the usual cuts, and at one that is asked for; nothing where it has no times."""
    if times is None:
        return
    n = len(times.gap)
    for one in sorted({*CUTS, cut}):
        hours = times.hours(one)
        yield HoursWorked(
            rule=times.rule,
            cut=one,
            hours=hours,
            seconds=3600 * hours / n,
            answers=n,
            logins=len(times.login_names),
            people=len(times.person_names),
        )


def predict_hours(known: Times | None, times: Times | None, cut: float, named: str) -> HoursPredicted:
    """Predict the hours of a table from the times of another.

    Raises InputError, beginning with `named`, where either has none.
    """
    learnt = fitted_speeds(known, cut)
    if learnt is None:
        raise InputError(f"{named}: holds no times to learn speeds from; give a table that says when answers ended")
    held = None if times is None else held_against(learnt, times)
    if held is None:
        raise InputError(f"{named}: the ratings themselves have no times to hold the prediction against; leave it out")
    low, median, high = held.predicted
    return HoursPredicted(
        cut=cut,
        people=len(set(learnt.worked.person.tolist())),
        low=low,
        median=median,
        high=high,
        happened=held.happened,
        inside=held.inside,
        log_score=held.log_score,
        flat_log_score=held.flat,
    )


def rule_of(times: Times, cut: float) -> str:
    """Say what the hours and seconds of a table are."""
    return f"{RULES[times.rule]}; raters' seconds are means with gaps cut at {cut:g} s."


def mean_time(seconds: Floats | None) -> tuple[float, int, float]:
    """Return mean seconds, how many answers were timed, and hours; NaN where answers were sent in at once."""
    if seconds is None or not len(seconds):
        return math.nan, 0, math.nan
    mean = float(seconds.mean())
    known = mean >= LEAST_SECONDS
    return (mean if known else math.nan), len(seconds), (float(seconds.sum()) / 3600 if known else math.nan)
