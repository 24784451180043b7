"""Let a crew of people work at what a campaign asks, at their own pace and in their own hours."""

from __future__ import annotations

import copy
import math
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Gt, Le, Lt

from simlab.design.collection.people import Habits, Seats, mean_one
from simlab.types import Chances, Floats, InputError, Log, Speeds, Tasks, Work
from simlab.types.bounds import Count

Hours = Annotated[float, Ge(0), Le(1e5)]
Share = Annotated[float, Ge(0), Le(1)]
LogSpread = Annotated[float, Ge(0), Le(5)]


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
    from simlab.design.collection.floor import Controls, Floor, Rules
    from simlab.design.collection.piles import Piles
    from simlab.design.collection.recording import log_of
    from simlab.design.collection.shifts import shifts_of

    seconds_per_answer = _known("seconds_per_answer", seconds_per_answer, work.speeds)
    rater_sd = _known("rater_sd", rater_sd, work.speeds)
    screen_sd = _known("screen_sd", screen_sd, work.speeds)
    each = seconds_per_answer / 3600
    shifts = shifts_of(
        work.weekday,
        hours_a_day=hours_a_day,
        days_a_week=days_a_week,
        pause_every=None if pause_every is None else pause_every / 60,
        pause=pause / 60,
        drift=math.log1p(fatigue),
    )
    rules = Rules(
        shifts,
        Controls(control_share, control_pass, control_failures, each),
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
        return each * _of_screens(rng.work, tasks, screen_sd)

    piles = Piles(n_seats, durations, work.choose)
    lapses = rng.work.spawn(1)[0]
    # Who hears answers as they come draws the lapses that the log draws in the end.
    floor = Floor(work, seats, piles, rules, rng.work, copy.deepcopy(lapses))
    floor.run()
    return log_of(lapses, floor, seats.people, piles, deadline=work.deadline)


def _known(key: str, value: float | None, speeds: Speeds | None) -> float:
    """Return a key's value, or where it is null that of the world's own speeds; refuse a world that has none."""
    if value is not None:
        return value
    if speeds is None:
        raise InputError(
            f"design.collection.{key}=null takes the speeds of a fitted world, and this one has none; set it"
        )
    return float(getattr(speeds, key))


def _of_screens(rng: np.random.Generator, tasks: Tasks, sd: float) -> Floats:
    """Draw what answers take: a factor with mean 1 for each screen, which its answers share."""
    if tasks.screen is None:
        return mean_one(rng.standard_normal(int(tasks.size.sum())), sd)
    screen = tasks.screen - tasks.screen[0]
    return np.asarray(mean_one(rng.standard_normal(int(screen[-1]) + 1), sd)[screen])
