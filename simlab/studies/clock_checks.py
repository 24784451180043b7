"""Check the log that a clock returns against the tasks of its campaign; errors name the part of the clock.

`refuse_misfit` raises InputError for a log that does not fit, `name_failures` does so where a plug-in's clock fails or
takes too long; `CampaignTasks` tracks the tasks that the campaign asked for.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from simlab.types import CONTROL, HANDED_IN, Bools, DesignFailure, Floats, InputError, Ints, Log, More, Tasks

FLAT = ("task", "part", "person", "began", "ended", "seconds", "on_task", "lapsed", "fate")
"""The columns of a log that have one entry per answer."""

MOST_ANSWERS = 5_000_000
"""Most answers that a campaign may ask for: one that asks for more would never end."""

MOST_SECONDS = 60
"""Most seconds that a clock may take for a campaign, which usually takes milliseconds."""

ROUNDING = 1e-6
"""Hours by which the log of a campaign may be off."""


class CampaignTasks:
    """Track all that a campaign asked for: its tasks at the start, and those that were added."""

    def __init__(self, tasks: Tasks, more: More | None) -> None:
        self._tasks, self._more = [tasks], more
        self.n_answers = int(tasks.size.sum())

    def request_more_tasks(self, handed_in: Ints, hour: float) -> Tasks | None:
        """Return the tasks that the kind of study adds once some were handed in, and track them."""
        added = None if self._more is None else self._more(handed_in, hour)
        if added is not None and len(added.size):
            self._tasks.append(added)
            self.n_answers += int(added.size.sum())
            if self.n_answers > MOST_ANSWERS:
                raise InputError(
                    f"this campaign asks for more than {MOST_ANSWERS:,} answers, and would go on; lower the budget, or "
                    "ask for fewer answers at a time"
                )
        return added

    @property
    def size(self) -> Ints:
        """Return how many answers make up each task."""
        return np.concatenate([tasks.size for tasks in self._tasks])

    @property
    def seat(self) -> Ints:
        """Return the seat that each task was dealt to."""
        return np.concatenate([tasks.seat for tasks in self._tasks])

    @property
    def ready(self) -> Floats | None:
        """Return the hour before which each task cannot be begun; None: there is none."""
        if all(tasks.ready is None for tasks in self._tasks):
            return None
        return np.concatenate([np.zeros(len(t.size)) if t.ready is None else t.ready for t in self._tasks])

    def is_crowded(self, task: Ints, person: Ints) -> bool:
        """True if somebody does two tasks that are for different people; each task once for each person."""
        if all(tasks.apart is None for tasks in self._tasks):
            return False
        apart = np.concatenate([np.full(len(t.size), -1) if t.apart is None else t.apart for t in self._tasks])[task]
        pairs = np.column_stack([apart, person])[apart >= 0]
        return len(np.unique(pairs, axis=0)) < len(pairs)

    def number(self, log: Log, which: Bools) -> Ints:
        """Return the numbers of the entries `which[k]` of a log among all answers asked for, task after task."""
        size = self.size
        return (np.cumsum(size) - size)[log.task[which]] + log.part[which]

    def mark_barred(self, task: Ints, seat: Ints) -> Bools:
        """Mark which answers come from seats that may not do their task."""
        if all(tasks.may is None for tasks in self._tasks):
            return np.zeros(len(task), bool)
        barred, first = np.zeros(len(task), bool), 0
        for tasks in self._tasks:
            here = (task >= first) & (task < first + len(tasks.size))
            if tasks.may is not None:
                barred[here] = ~tasks.may[task[here] - first, seat[here]]
            first += len(tasks.size)
        return barred


@contextmanager
def name_failures(name: str) -> Iterator[None]:
    """Raise InputError, naming the part, where a plug-in's clock fails or does not come to an end in this context."""
    try:
        with _limit_time(name):
            yield
    except DesignFailure:
        raise
    except InputError as error:
        raise error if name in str(error) else InputError(f"design.collection={name}: {error}") from error
    except Exception as error:
        what = " ".join(f"{type(error).__name__}: {error}".split())
        raise InputError(f"design.collection={name} cannot carry a campaign out ({what}); mend the part") from error


@contextmanager
def _limit_time(name: str) -> Iterator[None]:
    """End what takes for ever: seconds of this process are counted, whatever else the machine does."""
    # Signals can be set in the main thread only, and this timer is not on every system.
    if not hasattr(signal, "ITIMER_VIRTUAL") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(*_: object) -> None:
        raise InputError(
            f"design.collection={name} has not carried a campaign out in {MOST_SECONDS} seconds of work; "
            "a part that schedules for ever never does"
        )

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, MOST_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def refuse_misfit(name: str, log: Log, planned: CampaignTasks, deadline: float | None) -> None:
    """Raise InputError, naming the part, for a log that cannot be of the `planned` tasks, or exceeds the deadline."""
    for wrong, fault in _misfits(log, planned, deadline):
        if wrong:
            raise InputError(f"design.collection={name} gives a log in which {fault}; mend the part")


def _misfits(log: Log, planned: CampaignTasks, deadline: float | None) -> Iterator[tuple[bool, str]]:
    """Yield whether a log has each fault, and its description; a check may rely on those before it."""
    n, size = len(log.task), planned.size
    yield any(len(getattr(log, column)) != n for column in FLAT), "columns are of different lengths"
    if not n:
        return
    task, part, person = log.task, log.part, log.person
    yield task.min() < CONTROL or task.max() >= len(size), "somebody does a task that there is not"
    yield person.min() < 0 or person.max() >= len(log.seat), "somebody works who is not among its people"
    of_task = np.append(size, 1)[task]
    yield bool(((part < 0) | (part >= of_task)).any()), "a task has more answers than it asks for"
    times = (log.began, log.ended, log.seconds)
    yield not all(np.isfinite(column).all() for column in times), "hours are no numbers"
    yield bool((log.seconds < 0).any()), "an answer takes less than no time"
    yield bool((log.ended < log.began - ROUNDING).any()), "an answer ends before it begins"
    yield bool((np.diff(log.ended) < 0).any()), "answers are not in the order in which they ended"
    # Of what everybody did first and last, the rest follows.
    first, last = np.full(len(log.seat), np.inf), np.full(len(log.seat), -np.inf)
    np.minimum.at(first, person, log.began)
    # Entries are in the order in which they ended, so that the last one that is written stays.
    last[person] = log.ended
    yield bool((first < log.arrived - ROUNDING).any()), "somebody works before they come"
    yield bool((last > log.left + ROUNDING).any()), "somebody works after they have left"
    yield deadline is not None and bool(log.ended[-1] > deadline + ROUNDING), "somebody works after the deadline"
    answers = task >= 0
    came = planned.number(log, answers & (log.fate == HANDED_IN))
    yield bool((np.bincount(came, minlength=1) > 1).any()), "the same answer comes twice"
    yield from _find_misdealt(log, planned, answers)


def _find_misdealt(log: Log, planned: CampaignTasks, answers: Bools) -> Iterator[tuple[bool, str]]:
    # Each task once for each person.
    n = len(log.seat)
    pairs = np.flatnonzero(np.bincount(log.task[answers] * n + log.person[answers]))
    task, person = np.divmod(pairs, n)
    seat = log.seat[person]
    barred = planned.mark_barred(task, seat) & (planned.seat[task] != seat)
    yield bool(barred.any()), "somebody does a task that they may not do"
    yield planned.is_crowded(task, person), "the same person does tasks that are for different people"
    if planned.ready is not None:
        early = log.began[answers] < planned.ready[log.task[answers]] - ROUNDING
        yield bool(early.any()), "a task is begun before it is ready"
