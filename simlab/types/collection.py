"""Data of collecting on a clock (simulated hours): tasks, who may do them, and the log of who did what and when.

`Work` and its `Tasks` go into the clock, a `Log` comes out; times are hours from the start of the campaign.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from simlab.types.arrays import Bools, Floats, Ints
from simlab.types.speeds import Speeds

HANDED_IN, DROPPED_OUT, EXCLUDED = 0, 1, 2
"""What became of an answer that somebody worked at: it came; its rater left in the midst of it, and it never came; its
rater failed the control items, and what they had said is void."""

STAYED, LEFT, FAILED_CONTROLS, DID_THEIRS = 0, 1, 2, 3
"""Why somebody works no longer: they do; they dropped out for good; they failed the control items; they gave
as many answers as one person may."""

ALL_CAME, DECIDED, MONEY, DEADLINE, NOBODY = 0, 1, 2, 3, 4
"""What ended a campaign: all that was asked came; a decision rule; the money; the deadline; nobody is left to work."""
CONTROL = -1
"""The task of a log's entry that is a control item."""


class Chances(NamedTuple):
    """Generators of the clock: `people` draws properties of people, in all studies of a pool; `work` is the study's."""

    people: np.random.Generator
    work: np.random.Generator


@dataclass(frozen=True, slots=True)
class Tasks:
    """Tasks of a campaign, each done by one person in one go.

    `size[task]` answers make up a task; they are given one after the other, and count one by one. `seat[task]` is the
    seat that a task is dealt to (-1: whoever is free next). `may[task, seat]` says who may do it when it is dealt to
    nobody, or its person has left (None: anybody). Tasks with the same number in `apart[task]` go to different people
    (-1, or None: it stands alone). `ready[task]` are the hours from the start before which a task cannot be begun
    (None: none has to wait). Tasks of a seat are done in their order.

    `screen[k]` says for all answers, those of the first task first, which screen they are on: answers of a screen take
    equally long (None: each answer is a screen of its own).
    """

    size: Ints
    seat: Ints
    may: Bools | None = None
    apart: Ints | None = None
    ready: Floats | None = None
    screen: Ints | None = None


More = Callable[[Ints, float], "Tasks | None"]
"""Callback `more(tasks, hour)`: returns the tasks that are added (None: none) once some were handed in, by number."""

Hears = Callable[[int, int, bool], None]
"""Callback `hears(task, person, lapsed)`: takes in a task of one answer, before `More` is called; `lapsed`: its person
did not look."""

Next = Callable[[int, Ints, float], int]
"""Callback `choose(seat, tasks, hour)`: returns the place in `tasks` (numbers of open ones) of the one to take next."""


@dataclass(frozen=True, slots=True)
class Work:
    """Work of a campaign: its `tasks` at the start, and `more` that follow from what was handed in.

    `more` returns the tasks that follow from those handed in; before it is called, `hears` takes in the answer, where
    tasks are of one answer.
    `choose` says who takes which of the tasks that are dealt to nobody (None: first come, first served); `deadline` is
    the hour after which nobody works. `seats` people work at once (None: as many as the clock has); `strangers` says
    whether somebody new may take the seat of one who has left. A campaign starts on a `weekday` (0: Monday) at so many
    hours after midnight, `of_day` (None: when the first shift of that day begins). `speeds` are those that the
    world was fitted to (None: nobody knows).
    """

    tasks: Tasks
    seats: int | None
    deadline: float | None = None
    more: More | None = None
    hears: Hears | None = None
    choose: Next | None = None
    strangers: bool = True
    weekday: int = 0
    of_day: float | None = None
    speeds: Speeds | None = None


@dataclass(frozen=True, slots=True)
class Log:
    """Log of a campaign: one entry per answer that somebody worked at, in the order in which they ended.

    `task[k]` (tasks that were added count on from the first ones; -1: a control item), `part[k]` (which of the task's
    answers, from 0), `person[k]`; `began[k]`, `ended[k]` in hours from the start on the calendar, nights included;
    `seconds[k]` of work; `on_task[k]` hours that the person had worked without a rest; `lapsed[k]` whether they were
    too tired, or careless, to look (of a control item: whether they failed it); `fate[k]`.

    People: the first sit in the seats of their number; those who came in place of somebody follow. `seat[person]`,
    `arrived[person]`, `left[person]` (hours; NaN: never), `why[person]`. `stopped`: the deadline came while somebody
    was still at work, or would have been.
    """

    task: Ints
    part: Ints
    person: Ints
    began: Floats
    ended: Floats
    seconds: Floats
    on_task: Floats
    lapsed: Bools
    fate: Ints
    seat: Ints
    arrived: Floats
    left: Floats
    why: Ints
    stopped: bool = False


@dataclass(frozen=True, slots=True)
class Queue:
    """Queue of open tasks for somebody who is free, as a platform sees it, and how systems stand so far.

    `system[k]` is the system whose output the k-th open task shows (-1: it shows several). Systems share one order of
    documents, and so do their open tasks. `count[system]` outputs were rated so far, with the mean score
    `mean[system]` (NaN: none was); of two scores the lower may be the better one.
    """

    system: Ints
    count: Ints
    mean: Floats
    lower_is_better: bool
