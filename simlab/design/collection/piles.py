"""Keep the tasks that are to be done: what is dealt to each seat, what is open, who may do what."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from simlab.types import Bools, Floats, Next, Tasks


class Job(NamedTuple):
    """Hold what is to be done of a task: from which of its answers on, up to which (that one not)."""

    task: int
    first: int
    last: int


class Piles:
    """Hold the tasks of a campaign, those that were added included.

    `begins[task]` is the first answer of a task, all answers counted one after the other; `missing[task]` answers have
    not come yet. What the answers before the k-th take a person of average pace is `efforts()[k]`, in hours.
    """

    def __init__(self, seats: int, durations: Callable[[Tasks], Floats], choose: Next | None) -> None:
        self.own: list[deque[Job]] = [deque() for _ in range(seats)]
        self.n_open = 0
        self._open: list[Job | None] = []
        self._looked: dict[int, int] = {}
        self.begins = [0]
        self.missing: list[int] = []
        self._durations, self._choose = durations, choose
        self._ready: list[float] = []
        self._apart: list[int] = []
        self._may: list[Bools | None] = []
        self._did: dict[int, set[int]] = {}
        self._waiting: set[int] = set()
        self._before = [0.0]
        self._efforts: list[Floats] = [np.zeros(1)]

    def add(self, tasks: Tasks, hour: float) -> list[tuple[float, int]]:
        """Add tasks; return those that have to wait: until when, and which.

        What is dealt to a seat lies on its pile, what is dealt to nobody is open once it is ready.
        """
        first, n = len(self.missing), len(tasks.size)
        efforts = self._before[-1] + np.cumsum(self._durations(tasks))
        ends = np.cumsum(tasks.size)
        self._efforts.append(efforts)
        self._before += efforts[ends - 1].tolist()
        self.begins += (self.begins[-1] + ends).tolist()
        self.missing += tasks.size.tolist()
        self._apart += [-1] * n if tasks.apart is None else tasks.apart.tolist()
        self._may += [None] * n if tasks.may is None else list(tasks.may)
        ready = [0.0] * n if tasks.ready is None else tasks.ready.tolist()
        self._ready += ready
        for task, seat in enumerate(tasks.seat.tolist(), first):
            if seat >= 0:
                self.own[seat].append(self.whole(task))
            elif self._ready[task] <= hour:
                self.put([self.whole(task)])
            else:
                self._waiting.add(task)
        return [(when, task) for task, when in enumerate(ready, first) if when > hour]

    def ready(self, task: int) -> None:
        """Open a task that had to wait, unless it is dealt to a seat."""
        if task in self._waiting:
            self._waiting.remove(task)
            self.put([self.whole(task)])

    def whole(self, task: int) -> Job:
        """Return all of a task."""
        return Job(task, 0, self.begins[task + 1] - self.begins[task])

    def takes(self, job: Job) -> float:
        """Say what a job takes a person of average pace, in hours."""
        return self._until(job.task, job.last) - self._until(job.task, job.first)

    def within(self, job: Job, effort: float) -> int:
        """Say which answer of a job somebody of average pace is at after an effort."""
        after = self.efforts()[self.begins[job.task] + job.first : self.begins[job.task] + job.last + 1]
        return job.first + int(np.searchsorted(after[1:], after[0] + effort, side="right"))

    def efforts(self) -> Floats:
        """Return what all answers before each take, and all together, in hours of a person of average pace."""
        if len(self._efforts) > 1:
            self._efforts = [np.concatenate(self._efforts)]
        return self._efforts[0]

    def take(self, person: int, seat: int, hour: float) -> Job | None:
        """Give somebody what they do next of their own pile; None: nothing. What is not for them is open to others."""
        own = self.own[seat]
        while own and self._ready[own[0].task] <= hour:
            job = own.popleft()
            if self._apart[job.task] < 0 or person not in self._did.get(self._apart[job.task], ()):
                return self._given(person, job)
            self.put([job])
        return None

    def take_open(self, person: int, seat: int, hour: float) -> Job | None:
        """Give somebody something of what is open to them; None where that is nothing."""
        place = self._first(person, seat, hour) if self._choose is None else self._chosen(person, seat, hour)
        job = None if place is None else self._open[place]
        if place is None or job is None:
            return None
        self._open[place] = None
        self.n_open -= 1
        return self._given(person, job)

    def put(self, jobs: Iterable[Job]) -> None:
        """Open jobs to whoever may do them."""
        before = len(self._open)
        self._open += jobs
        self.n_open += len(self._open) - before

    def _first(self, person: int, seat: int, hour: float) -> int | None:
        """Find what was opened first of all that suits somebody; what never will is not looked at again."""
        looked = self._looked.get(person, 0)
        for place in range(looked, len(self._open)):
            job = self._open[place]
            gone = job is None or not self._may_do(person, seat, job)
            if job is not None and not gone and self._ready[job.task] <= hour:
                return place
            if gone and place == looked:
                looked = self._looked[person] = place + 1
        return None

    def _chosen(self, person: int, seat: int, hour: float) -> int | None:
        suiting = [
            place
            for place, job in enumerate(self._open)
            if job is not None and self._ready[job.task] <= hour and self._may_do(person, seat, job)
        ]
        if self._choose is None or not suiting:
            return None
        tasks = np.array([job.task for place in suiting if (job := self._open[place]) is not None], np.int64)
        return suiting[self._choose(seat, tasks, hour)]

    def _may_do(self, person: int, seat: int, job: Job) -> bool:
        may, apart = self._may[job.task], self._apart[job.task]
        return (may is None or bool(may[seat])) and (apart < 0 or person not in self._did.get(apart, ()))

    def _given(self, person: int, job: Job) -> Job:
        if self._apart[job.task] >= 0:
            self._did.setdefault(self._apart[job.task], set()).add(person)
        return job

    def _until(self, task: int, part: int) -> float:
        """Say what all answers before a part of a task take together."""
        if part == 0:
            return self._before[task]
        k = self.begins[task] + part
        return self._before[task + 1] if k == self.begins[task + 1] else float(self.efforts()[k])
