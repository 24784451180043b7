"""Draw the people who work (pace, arrival, leaving), and convert their hours of effort into hours on the calendar.

`Seats.bring` returns a `Person` for a seat, `lay_out_shifts` the `Shifts` of a week, `moment` the time of an effort.
Three scales, in hours: *effort* is the time that work would take a person who never tires, *work* the time that it does
take; the *calendar* has nights, weekends and pauses as well. Days of work are alike, and made of blocks without a rest,
so that each scale follows from the others in closed form. `x` hours into a block the pace is `exp(-drift * x)`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from simlab.types import STAYED, Array, Chances, DesignFailure, Floats

MOST_IN_A_SEAT = 1000
"""Most people who sit in a seat one after the other: where nobody stays, no campaign would end."""
SLACK = 1e-9
"""Share of a block: what ends this close to the end of a block ends with it, so that rounding opens no new day."""
ALMOST = 1.0 - 1e-15
"""Largest share used of the total effort that a tiring person without rest could ever make: all takes infinite time."""
HOURS_A_DAY, DAYS_A_WEEK = 24.0, 7


class Habits(NamedTuple):
    """Habits of people, hours throughout: see `crew` for each of them."""

    rater_sd: float
    begins: float
    shift_spread: float
    arrival: float
    drop_out: float


@dataclass(slots=True)
class Person:
    """A person who works, hours throughout.

    `pace` is the factor on the time that an answer takes (1 on average), `offset` the hour when their first day begins;
    they come at hour `arrives` and drop out after `leaves` hours of work. `effort` and `work` are positions on the
    scales of their shifts; `worked` hours, `answers` and `failed` control items are counted. They `left` at an hour
    (NaN: they did not), and `why` is a code such as `LEFT`.
    """

    number: int
    seat: int
    pace: float
    offset: float
    arrives: float
    leaves: float
    effort: float = 0.0
    work: float = 0.0
    worked: float = 0.0
    answers: int = 0
    failed: int = 0
    left: float = math.nan
    why: int = STAYED


class Seats:
    """Bring people: first one for each seat, then others in their place, each seat's second ones together.

    What people are like belongs to their pool, and is the same in all its studies; when they come and leave is the
    study's. As many numbers are drawn whatever the habits, so that studies which differ in them meet the same people.
    """

    def __init__(self, chances: Chances, n: int, habits: Habits) -> None:
        self.people: list[Person] = []
        self._chances, self._n, self._habits = chances, n, habits
        self._draw_measure: list[tuple[Floats, Floats, Floats, Floats]] = []
        self._taken = [0] * n
        for seat in range(n):
            self.bring(seat, None)

    def bring(self, seat: int, hour: float | None) -> Person:
        """Return somebody new for a seat, who comes at an hour (None: when chance has it)."""
        turn = self._taken[seat]
        if turn == MOST_IN_A_SEAT:
            raise DesignFailure(f"{turn} people one after the other left the same seat; nobody stays to do the work")
        self._taken[seat] += 1
        if turn == len(self._draw_measure):
            self._draw_measure.append(self._draw())
        pace, offset, arrives, leaves = (float(column[seat]) for column in self._draw_measure[turn])
        person = Person(len(self.people), seat, pace, offset, arrives if hour is None else hour, leaves)
        self.people.append(person)
        return person

    def _draw(self) -> tuple[Floats, Floats, Floats, Floats]:
        z, offset = self._chances.people.standard_normal(self._n), self._chances.people.random(self._n)
        arrives, stays = (self._chances.work.standard_exponential(self._n) for _ in range(2))
        habits = self._habits
        leaves = stays / habits.drop_out if habits.drop_out > 0 else np.full(self._n, math.inf)
        return (
            lognormal_factors(z, habits.rater_sd),
            habits.begins + offset * habits.shift_spread,
            arrives * habits.arrival,
            leaves,
        )


def lognormal_factors(z: Floats, sd: float) -> Floats:
    """Return lognormal factors whose mean is 1, so that what work costs on average does not depend on their spread."""
    return np.asarray(np.exp(sd * z - sd**2 / 2))


@dataclass(frozen=True, slots=True)
class Shifts:
    """Days of work in a week, `days[k]` counted from the start, and the hours of a day.

    `full` blocks of `block` hours, each followed by a pause, then one of `last` hours; `drift` per hour without a rest.
    `effort` and `work` are the hours of a whole day, `of_block` the effort of a full block.
    """

    days: tuple[int, ...]
    block: float
    pause: float
    full: int
    last: float
    drift: float
    effort: float
    work: float
    of_block: float


def lay_out_shifts(
    weekday: int, *, hours_a_day: float, days_a_week: int, pause_every: float | None, pause: float, drift: float
) -> Shifts:
    """Lay out a week of work that begins on a day of the week; hours throughout, `pause_every` hours of work."""
    block = hours_a_day if pause_every is None else min(pause_every, hours_a_day)
    rest_after = 0.0 if pause_every is None else pause
    full = int((hours_a_day + SLACK) // (block + rest_after))
    last = min(max(hours_a_day - full * (block + rest_after), 0.0), block)
    days = tuple(day for day in range(DAYS_A_WEEK) if (weekday + day) % DAYS_A_WEEK < days_a_week)
    of_block, of_last = _effort(block, drift), _effort(last, drift)
    return Shifts(days, block, rest_after, full, last, drift, full * of_block + of_last, full * block + last, of_block)


def lay_out_week(weekday: int, hours_a_day: float, days_a_week: int) -> Shifts:
    """Lay out a week of people who need no pause and do not tire."""
    return lay_out_shifts(
        weekday, hours_a_day=hours_a_day, days_a_week=days_a_week, pause_every=None, pause=0.0, drift=0.0
    )


class Moment(NamedTuple):
    """Time of an effort: hours on the calendar, hours of work before, hours since the last rest."""

    hour: float
    work: float
    rested: float


def moment(shifts: Shifts, effort: float, *, ends: bool) -> Moment:
    """Return when an effort is reached; where that is at a rest, before it (`ends`), or after it."""
    # Called for each task: written out.
    days, blocks = effort / shifts.effort, 0
    day = max(math.ceil(days - SLACK) - 1, 0) if ends else math.floor(days + SLACK)
    rest = max(effort - day * shifts.effort, 0.0)
    if shifts.last or shifts.full > 1:
        share = rest / shifts.of_block
        blocks = max(math.ceil(share - SLACK) - 1, 0) if ends else math.floor(share + SLACK)
        rest = max(rest - blocks * shifts.of_block, 0.0)
    within = min(_hours(rest, shifts.drift), shifts.block)
    week, k = divmod(day, len(shifts.days))
    hour = 24.0 * (7 * week + shifts.days[k]) + blocks * (shifts.block + shifts.pause) + within
    return Moment(hour, day * shifts.work + blocks * shifts.block + within, within)


def moments(shifts: Shifts, effort: Floats, *, ends: bool) -> tuple[Floats, Floats, Floats]:
    """Return when each of many efforts is reached, as `moment` does of one: hours, work, hours since a rest."""
    day, rest = _split_into_wholes(effort, shifts.effort, ends=ends)
    block, rest = _split_into_wholes(rest, shifts.of_block, ends=ends)
    within = rest if shifts.drift == 0 else -np.log1p(-np.minimum(shifts.drift * rest, ALMOST)) / shifts.drift
    within = np.minimum(within, shifts.block)
    n = len(shifts.days)
    week, k = np.divmod(day, n)
    hour = 24.0 * (7 * week + np.array(shifts.days, float)[k.astype(np.intp)])
    hour += block * (shifts.block + shifts.pause) + within
    return hour, day * shifts.work + block * shifts.block + within, within


def cumulate_effort(shifts: Shifts, hour: float) -> float:
    """Return the effort that a person who always works in their shifts has made by an hour on the calendar."""
    if hour <= 0:
        return 0.0
    week, hour = divmod(hour, HOURS_A_DAY * DAYS_A_WEEK)
    today = int(hour // HOURS_A_DAY)
    before = week * len(shifts.days) + sum(day < today for day in shifts.days)
    return before * shifts.effort + (_effort_at_time(shifts, hour % HOURS_A_DAY) if today in shifts.days else 0.0)


def effort_for_work(shifts: Shifts, work: float) -> float:
    """Return the effort (hours) of `work` hours of work, counted from the first shift."""
    day, rest = divmod(work, shifts.work)
    block, rest = divmod(rest, shifts.block)
    return day * shifts.effort + block * shifts.of_block + _effort(rest, shifts.drift)


def _effort_at_time(shifts: Shifts, time: float) -> float:
    block, rest = divmod(time, shifts.block + shifts.pause)
    if block >= shifts.full:
        time -= shifts.full * (shifts.block + shifts.pause)
        return shifts.full * shifts.of_block + _effort(min(time, shifts.last), shifts.drift)
    return block * shifts.of_block + _effort(min(rest, shifts.block), shifts.drift)


def _effort(hours: float, drift: float) -> float:
    # The integral of the pace, exp(-drift x), from 0 on.
    return hours if drift == 0 else -math.expm1(-drift * hours) / drift


def _hours(effort: float, drift: float) -> float:
    return effort if drift == 0 else -math.log1p(-min(drift * effort, ALMOST)) / drift


def _split_into_wholes(amount: Floats, unit: float, *, ends: bool) -> tuple[Array, Array]:
    n = np.maximum(np.ceil(amount / unit - SLACK) - 1, 0) if ends else np.floor(amount / unit + SLACK)
    return n, np.minimum(np.maximum(amount - n * unit, 0.0), unit)
