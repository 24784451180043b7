"""Refuse deadlines that leave no time for a campaign, before anything is collected."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from simlab.design.collection.shifts import effort_by, moment, week_of
from simlab.studies.clocked import Clock
from simlab.types import InputError, World

KEYS = ("seconds_per_answer", "rater_sd", "hours_a_day", "days_a_week", "day_begins", "crew_size")


def check_deadline(clock: Clock, world: World, *, answers: float, of: str, seats: int | None) -> None:
    """Raise InputError for a deadline by which so few `answers` as make a campaign (`of` says which) cannot be there.

    What people do by a deadline is chance. Refused is one by which so many are not even expected of people who all
    work from the first shift on, neither tire nor leave, and divide the work so that all finish together. Of a part of
    somebody else's nobody knows.
    """
    keys = getattr(clock.carry, "keywords", {})
    if clock.deadline is None or not clock.own or not all(key in keys for key in KEYS):
        return
    hours = _least(clock, keys, world, answers / (seats or keys["crew_size"]))
    if hours is not None and clock.deadline < hours:
        raise InputError(
            f"budget.deadline={clock.budget['deadline']}: until then people cannot be expected to have {of}, even if "
            f"all worked from the first shift on; the least that would do is {math.ceil(hours * 10) / 10:g}h"
        )


def _least(clock: Clock, keys: Mapping[str, Any], world: World, each: float) -> float | None:
    """Return the hour at which everybody can be expected to have given so many answers; None: nobody knows how fast."""
    speeds = world.speeds
    seconds = keys["seconds_per_answer"] or (speeds and speeds.seconds_per_answer)
    spread = speeds.rater_sd if keys["rater_sd"] is None and speeds else keys["rater_sd"]
    if seconds is None or spread is None:
        return None
    # Of people whose times are lognormal with mean 1, the mean of what they do in an hour is exp(spread ** 2).
    effort = each * seconds / 3600 / math.exp(spread**2)
    begins = 0.0 if clock.of_day is None else keys["day_begins"] - clock.of_day
    shifts = week_of(clock.weekday, keys["hours_a_day"], keys["days_a_week"])
    return begins + moment(shifts, effort_by(shifts, -begins) + effort, ends=True).hour
