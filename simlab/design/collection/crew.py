"""Let a crew of people work at the tasks of a campaign, at their own pace and in their own hours.

`crew`, an option of `design.collection`, takes the campaign's `Work` (its tasks and seats) and returns the `Log` (who
answered when). `floor` decides who does which task; `log_of` works out the answers within each task. *Effort* is the
hours that work would take a person who never tires, see `people`.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import numpy as np
from annotated_types import Ge, Gt, Le, Lt

from simlab.design.collection.people import (
    SLACK,
    Habits,
    Person,
    Seats,
    Shifts,
    lay_out_shifts,
    lognormal_factors,
    moments,
)
from simlab.types import (
    CONTROL,
    DROPPED_OUT,
    EXCLUDED,
    FAILED_CONTROLS,
    HANDED_IN,
    Bools,
    Chances,
    Floats,
    InputError,
    Ints,
    Log,
    Speeds,
    Tasks,
    Work,
)
from simlab.types.bounds import Count

if TYPE_CHECKING:
    from simlab.design.collection.floor import Floor, Piles, Rules, Stint

Hours = Annotated[float, Ge(0), Le(1e5)]
Share = Annotated[float, Ge(0), Le(1)]
LogSpread = Annotated[float, Ge(0), Le(5)]
SECONDS = 3600.0


def crew(
    rng: Chances,
    work: Work,
    *,
    crew_size: Annotated[int, Ge(1), Le(10_000)],
    arrival_hours: Hours,
    day_begins: Annotated[float, Ge(0), Lt(24)],
    hours_a_day: Annotated[float, Gt(0), Le(24)],
    days_a_week: Annotated[int, Ge(1), Le(7)],
    shift_spread: Annotated[float, Ge(0), Le(24)],
    seconds_per_answer: Annotated[float, Gt(0), Le(1e6)] | None,
    rater_sd: LogSpread | None,
    screen_sd: LogSpread | None,
    most_answers: Count | None,
    fatigue: Share,
    pause_every: Annotated[float, Gt(0), Le(1440)] | None,
    pause: Annotated[float, Ge(0), Le(1440)],
    lapse_rate: Share,
    lapse_per_hour: Share,
    drop_out: Annotated[float, Ge(0), Le(100)],
    replacement: Literal["none", "colleagues", "newcomers"],
    replacement_hours: Hours,
    control_share: Share,
    control_pass: Share,
    control_failures: Annotated[int, Ge(0), Le(10**6)] | None,
) -> Log:
    """Let people work through tasks in shifts: they come, tire, pause, drop out, are replaced or excluded.

    Somebody comes `arrival_hours` after the start on average (exponential), and works `hours_a_day` on the first
    `days_a_week` days of each week, from `day_begins` on (hours after midnight) or up to `shift_spread` hours later
    (uniform).
    An answer takes `seconds_per_answer`, times a factor of the person and one of the screen (lognormal with mean 1,
    `rater_sd` and `screen_sd` of the logarithm), times `(1 + fatigue) ** x`, x hours after the last rest; rests are
    nights and a `pause` (minutes) after `pause_every` minutes of work. An answer is a lapse with a chance of
    `lapse_rate + lapse_per_hour * x`.

    In an hour of work `drop_out` people of one leave for good, whenever that is: an exponential law. What they leave
    behind, and what is dealt to somebody beyond `most_answers`, goes to `colleagues` who may do it, each when they have
    done their own, to `newcomers` who sit down in their seat `replacement_hours` later, or to nobody. `control_share`
    control items are asked for each answer, at the end of tasks; a lapse fails one, who looks passes one with the
    chance `control_pass`, and who fails more than `control_failures` is excluded when the task is handed in: all they
    said is void. `crew_size` people work where no pool of raters says how many. Raises InputError where a key that is
    null asks for the speeds of a world that has none.
    """
    # SimPy is loaded where a clock runs, and nowhere else.
    from simlab.design.collection.floor import ControlRules, Floor, Piles, Rules

    seconds_per_answer = _resolve_key("seconds_per_answer", seconds_per_answer, work.speeds)
    rater_sd = _resolve_key("rater_sd", rater_sd, work.speeds)
    screen_sd = _resolve_key("screen_sd", screen_sd, work.speeds)
    each = seconds_per_answer / 3600
    shifts = lay_out_shifts(
        work.weekday,
        hours_a_day=hours_a_day,
        days_a_week=days_a_week,
        pause_every=None if pause_every is None else pause_every / 60,
        pause=pause / 60,
        # exp(drift x) is then (1 + fatigue)^x.
        drift=math.log1p(fatigue),
    )
    rules = Rules(
        shifts,
        ControlRules(control_share, control_pass, control_failures, each),
        lapse_rate,
        lapse_per_hour,
        replacement,
        replacement_hours,
        math.inf if most_answers is None else most_answers,
    )
    begins = 0.0 if work.of_day is None else day_begins - work.of_day
    habits = Habits(rater_sd, begins, shift_spread, arrival_hours, drop_out)
    n_seats = work.seats or crew_size
    seats = Seats(rng, n_seats, habits)

    def durations(tasks: Tasks) -> Floats:
        return each * _screen_factors(rng.work, tasks, screen_sd)

    piles = Piles(n_seats, durations, work.choose)
    lapses = rng.work.spawn(1)[0]
    # Who hears answers as they come draws the lapses that the log draws in the end.
    floor = Floor(work, seats, piles, rules, rng.work, copy.deepcopy(lapses))
    floor.run()
    return log_of(lapses, floor, seats.people, piles, deadline=work.deadline)


def _resolve_key(key: str, value: float | None, speeds: Speeds | None) -> float:
    """Return a key's value, or where it is null that of the world's own speeds; refuse a world that has none."""
    if value is not None:
        return value
    if speeds is None:
        raise InputError(
            f"design.collection.{key}=null takes the speeds of a fitted world, and this one has none; set it"
        )
    return float(getattr(speeds, key))


def _screen_factors(rng: np.random.Generator, tasks: Tasks, sd: float) -> Floats:
    """Draw what answers take: a factor with mean 1 for each screen, which its answers share."""
    if tasks.screen is None:
        return lognormal_factors(rng.standard_normal(int(tasks.size.sum())), sd)
    screen = tasks.screen - tasks.screen[0]
    return np.asarray(lognormal_factors(rng.standard_normal(int(screen[-1]) + 1), sd)[screen])


class Entries(NamedTuple):
    """Log of work, one entry per answer or control item; the efforts at which each begins and ends."""

    task: Ints
    part: Ints
    person: Ints
    begins: Floats
    ends: Floats
    lost: Bools
    failed: Bools


def log_of(
    rng: np.random.Generator, floor: Floor, people: Sequence[Person], piles: Piles, *, deadline: float | None
) -> Log:
    """Return the log of a campaign that the floor has run, answer by answer.

    Each stint is laid out: the answers given, the one that its person left amid, the control items. `rng` draws lapses;
    entries that end after the `deadline` (hours; None: there is none) are cut off.
    """
    rules = floor.rules
    entries = _entries(floor.stints, people, piles, rules)
    offset = np.array([person.offset for person in people])[entries.person]
    began, before, rested, ended, worked = _times(rules.shifts, entries)
    lapsed = rng.random(len(began)) < rules.lapse_rate + rules.lapse_per_hour * rested
    why = np.array([person.why for person in people])
    void = why[entries.person] == FAILED_CONTROLS
    ended += offset
    order = np.argsort(ended, kind="stable")
    if deadline is not None:
        # An answer at the very hour of the deadline has come in time.
        order = order[: np.searchsorted(ended[order], deadline, side="right")]
    return Log(
        task=entries.task[order],
        part=entries.part[order],
        person=entries.person[order],
        began=(began + offset)[order],
        ended=ended[order],
        seconds=SECONDS * np.maximum(worked - before, 0.0)[order],
        on_task=rested[order],
        lapsed=np.where(entries.task == CONTROL, entries.failed, lapsed)[order],
        fate=np.where(entries.lost, DROPPED_OUT, np.where(void, EXCLUDED, HANDED_IN))[order],
        seat=np.array([person.seat for person in people]),
        arrived=np.array([person.arrives for person in people]),
        left=np.array([person.left for person in people]),
        why=why,
        stopped=floor.stopped,
    )


def _times(shifts: Shifts, entries: Entries) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Return when each entry was begun (hour, work before, hours since a rest), and when it ended (hour, work)."""
    ended, worked, rested = moments(shifts, entries.ends, ends=True)
    # An answer begins when the one before it ends, unless that was the last before a rest, or somebody else's.
    at_rest = (rested >= shifts.block * (1 - SLACK)) | (np.abs(rested - shifts.last) <= shifts.block * SLACK)
    anew = np.concatenate([[True], (entries.begins[1:] != entries.ends[:-1]) | at_rest[:-1]])[: len(ended)]
    began, before, since = (np.concatenate([[0.0], column[:-1]])[: len(ended)] for column in (ended, worked, rested))
    began[anew], before[anew], since[anew] = moments(shifts, entries.begins[anew], ends=False)
    return began, before, since, ended, worked


def _entries(stints: Sequence[Stint], people: Sequence[Person], piles: Piles, rules: Rules) -> Entries:
    from simlab.design.collection.floor import Stint

    columns = np.array(stints, float).reshape(len(stints), len(Stint._fields)).T
    person, task, first, last, controls, failed = (columns[k].astype(np.int64) for k in (0, 1, 2, 3, 6, 7))
    effort, quits = columns[4:6]
    bounds, whole = np.array(piles.begins), piles.efforts()
    begin, end = bounds[task] + first, bounds[task] + last
    pace = np.array([member.pace for member in people])[person]
    # Who left once all was answered left no answer behind.
    amid = ~np.isnan(quits) & (end < bounds[task + 1])
    of, place = _spread(last - first + amid + controls)
    answers = (last - first)[of]
    lost = amid[of] & (place == answers)
    control = (place >= answers) & ~lost
    at = (begin[of] + place)[~control]
    begins, ends = np.empty(len(of)), np.empty(len(of))
    origin = (effort - pace * whole[begin])[of]
    begins[~control] = origin[~control] + pace[of][~control] * whole[at]
    ends[~control] = origin[~control] + pace[of][~control] * whole[at + 1]
    if control.any():
        nth, each = (place - answers)[control], pace[of][control] * rules.controls.takes
        begins[control] = (effort + pace * (whole[end] - whole[begin]))[of][control] + nth * each
        ends[control] = begins[control] + each
    ends[lost] = np.maximum(quits[of][lost], begins[lost])
    return Entries(
        np.where(control, CONTROL, task[of]),
        np.where(control, 0, first[of] + place),
        person[of],
        begins,
        ends,
        lost,
        control & (place - answers < failed[of]),
    )


def _spread(sizes: Ints) -> tuple[Ints, Ints]:
    """Number the entries of groups one after the other: which group each belongs to, and its place in it."""
    group = np.repeat(np.arange(len(sizes)), sizes)
    return group, np.arange(len(group)) - (np.cumsum(sizes) - sizes)[group]
