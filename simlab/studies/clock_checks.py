"""Hold the log of a campaign against what was asked: what cannot be is refused, and the part that said it is named."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from simlab.types import Bools, InputError, Ints, Log, More, Tasks

MOST_ANSWERS = 5_000_000
"""A campaign that asks for more than this asks for ever."""

ROUNDING = 1e-6
"""Hours by which the log of a campaign may be off."""


class Planned:
    """Hold all that a campaign asked for: its tasks at the start, and those that were added."""

    def __init__(self, tasks: Tasks, more: More | None) -> None:
        self._tasks, self._more = [tasks], more
        self.n_answers = int(tasks.size.sum())

    def more(self, handed_in: Ints, hour: float) -> Tasks | None:
        """Ask the kind of study what follows, and keep it."""
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
    def ready(self) -> np.ndarray:
        """Return the hour before which each task cannot be begun."""
        zeros = (np.zeros(len(tasks.size)) if tasks.ready is None else tasks.ready for tasks in self._tasks)
        return np.concatenate(list(zeros))

    def number(self, log: Log, which: Bools) -> Ints:
        """Number some answers of a log: all that was asked for, one task after the other."""
        size = self.size
        return (np.cumsum(size) - size)[log.task[which]] + log.part[which]

    def barred(self, task: Ints, seat: Ints) -> Bools:
        """Tell which answers come from seats that may not do their task."""
        if all(tasks.may is None for tasks in self._tasks):
            return np.zeros(len(task), bool)
        barred, first = np.zeros(len(task), bool), 0
        for tasks in self._tasks:
            here = (task >= first) & (task < first + len(tasks.size))
            if tasks.may is not None:
                barred[here] = ~tasks.may[task[here] - first, seat[here]]
            first += len(tasks.size)
        return barred


def refuse_misfit(name: str, log: Log, planned: Planned, deadline: float | None) -> None:
    """Raise InputError where a log says what cannot have happened."""
    for wrong, said in _misfits(log, planned, deadline):
        if wrong():
            raise InputError(f"design.collection={name} gives a log in which {said}; mend the part")


def _misfits(log: Log, planned: Planned, deadline: float | None) -> list[tuple[Callable[[], bool], str]]:
    size, seat = planned.size, planned.seat
    answers = log.task >= 0
    came = answers & (log.fate == 0)
    return [
        (
            lambda: (
                len(
                    {
                        len(getattr(log, name))
                        for name in ("task", "part", "person", "began", "ended", "seconds", "on_task", "lapsed", "fate")
                    }
                )
                > 1
            ),
            "columns are of different lengths",
        ),
        (
            lambda: bool(len(log.task)) and not (log.task.min() >= -1 and log.task.max() < len(size)),
            "somebody does a task that there is not",
        ),
        (
            lambda: bool(len(log.person)) and not (log.person.min() >= 0 and log.person.max() < len(log.seat)),
            "somebody works who is not among its people",
        ),
        (
            lambda: bool(((log.part < 0) | (log.part >= np.append(size, 1)[log.task])).any()),
            "a task has more answers than it asks for",
        ),
        (lambda: not bool(np.isfinite(log.ended).all() and np.isfinite(log.began).all()), "hours are no numbers"),
        (lambda: bool((log.ended < log.began - ROUNDING).any()), "an answer ends before it begins"),
        (
            lambda: bool((log.seconds < 0).any() or not np.isfinite(log.seconds).all()),
            "an answer takes less than no time",
        ),
        (lambda: bool((np.diff(log.ended) < 0).any()), "answers are not in the order in which they ended"),
        (lambda: bool((log.began < log.arrived[log.person] - ROUNDING).any()), "somebody works before they come"),
        (lambda: bool((log.ended > log.left[log.person] + ROUNDING).any()), "somebody works after they have left"),
        (
            lambda: deadline is not None and len(log.ended) > 0 and log.ended[-1] > deadline + ROUNDING,
            "somebody works after the deadline",
        ),
        (
            lambda: bool((log.began[answers] < planned.ready[log.task[answers]] - ROUNDING).any()),
            "a task is begun before it is ready",
        ),
        (lambda: bool((np.bincount(planned.number(log, came), minlength=1) > 1).any()), "the same answer comes twice"),
        (
            lambda: bool(
                (
                    planned.barred(log.task[answers], log.seat[log.person[answers]])
                    & (log.seat[log.person[answers]] != seat[log.task[answers]])
                ).any()
            ),
            "somebody does a task that they may not do",
        ),
    ]
