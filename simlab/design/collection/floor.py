"""Simulate on SimPy's clock who does which task of a campaign and when: one event per task.

Call `Floor.run`; then `Floor.stints` lists who worked on which task. `crew.log_of` works out the answers inside tasks
afterwards, for all at once. People do the tasks dealt to their seat, in order, then open ones; tasks that somebody
leaves behind become open, or go to the person who comes in their place.
"""

from __future__ import annotations

import functools
import math
from collections import deque
from collections.abc import Callable, Generator, Iterable
from typing import Any, Literal, NamedTuple

import numpy as np
import simpy

from simlab.design.collection.people import Person, Seats, Shifts, cumulate_effort, effort_for_work, moment
from simlab.types import DID_THEIRS, FAILED_CONTROLS, LEFT, STAYED, Bools, Floats, Next, Tasks, Work

NONE, COLLEAGUES, NEWCOMERS = "none", "colleagues", "newcomers"
Replacement = Literal["none", "colleagues", "newcomers"]
MOMENT = 1e-9
"""Hours: nobody waits for a shift that begins sooner than this."""


class ControlRules(NamedTuple):
    """Rules of control items: their number per answer (`share`), and how many failures are `allowed` (None: any).

    `passes` is the chance that somebody who looks passes one, `takes` the hours that one takes at average pace.
    """

    share: float
    passes: float
    allowed: int | None
    takes: float


class Rules(NamedTuple):
    """Rules of the floor, hours throughout: see `crew` for each of them."""

    shifts: Shifts
    controls: ControlRules
    lapse_rate: float
    lapse_per_hour: float
    replacement: Replacement
    replacement_hours: float
    most_answers: float


class Stint(NamedTuple):
    """Work of a person on a task in one go: its answers from `first` up to `last`, from an `effort` (hours) on.

    `quit` is the effort at which they left amid the answer `last` (NaN: they did not); `controls` control items closed
    it, of which the first `failed` count as failed.
    """

    person: int
    task: int
    first: int
    last: int
    effort: float
    quit: float
    controls: int
    failed: int


class Floor:
    """Simulate a campaign: its people, its tasks and the clock.

    After `run` `stints` lists who worked on which task, and `stopped` says whether the deadline cut work off. `lapses`
    draws whether somebody looks, where answers are heard as they come; `rng` draws failed control items.
    """

    def __init__(
        self,
        work: Work,
        seats: Seats,
        piles: Piles,
        rules: Rules,
        rng: np.random.Generator,
        lapses: np.random.Generator,
    ) -> None:
        self.env = simpy.Environment()
        self.stints: list[Stint] = []
        self.rules, self.stopped = rules, False
        self._work, self._seats, self._piles, self._rng = work, seats, piles, rng
        self._idle: list[simpy.Event] = []
        self._told: set[int] = set()
        self._lapses, self._lapsed = lapses, dict[int, bool]()

    def run(self) -> None:
        """Let everybody work until nothing is left that somebody may do, or the deadline comes."""
        self._add(self._work.tasks)
        for person in list(self._seats.people):
            self.env.process(self._works(person))
        self.env.run(self._work.deadline)
        if self._work.deadline is not None:
            # SimPy leaves the event at which it stopped to be looked at once more.
            self.env.step()
        self.stopped = self.env.peek() < math.inf

    def _works(self, person: Person) -> Generator[simpy.Event, Any, None]:
        env, piles, shifts = self.env, self._piles, self.rules.shifts
        if person.arrives > env.now:
            yield env.timeout(person.arrives - env.now)
        self._pass_idle_time(person)
        while True:
            n_open = piles.n_open
            job = piles.take(person.number, person.seat, env.now)
            if piles.n_open > n_open:
                self._wake()
            if job is None:
                begins = moment(shifts, person.effort, ends=False).hour + person.offset
                if begins > env.now + MOMENT and piles.n_open:
                    # Who is not at work takes nothing that others might do before.
                    yield env.timeout(begins - env.now)
                job = piles.take_open(person.number, person.seat, env.now)
            if job is None:
                self._idle.append(env.event())
                yield self._idle[-1]
                self._pass_idle_time(person)
            else:
                stint, until = self._begin(person, self._limit_task(person, job))
                yield env.timeout(max(until - env.now, 0.0))
                if self._end_job(person, job, stint):
                    return

    def _pass_idle_time(self, person: Person) -> None:
        """Let the time pass in which somebody had nothing to do."""
        effort = cumulate_effort(self.rules.shifts, self.env.now - person.offset)
        if effort > person.effort:
            person.effort, person.work = effort, moment(self.rules.shifts, effort, ends=False).work

    def _limit_task(self, person: Person, job: TaskPart) -> TaskPart:
        """Give somebody no more of a job than one person may answer in all."""
        last = min(job.last, job.first + self.rules.most_answers - person.answers)
        return job if last == job.last else TaskPart(job.task, job.first, int(last))

    def _begin(self, person: Person, job: TaskPart) -> tuple[Stint, float]:
        """Begin a job; return what comes of it, and the hour at which it ends, or its person leaves."""
        shifts, controls = self.rules.shifts, self.rules.controls
        # Whole parts of the share of all answers so far: what is left over of one task counts for the next.
        n = int((person.answers + job.last - job.first) * controls.share) - int(person.answers * controls.share)
        effort, since = person.effort, person.work
        person.effort += person.pace * (self._piles.takes(job) + n * controls.takes)
        until = moment(shifts, person.effort, ends=True)
        last, leaves = job.last, math.nan
        if person.worked + until.work - since > person.leaves:
            leaves = effort_for_work(shifts, since + person.leaves - person.worked)
            last = min(self._piles.find_reached_answer(job, (leaves - effort) / person.pace), job.last)
            until, n = moment(shifts, leaves, ends=True), 0
        person.worked += until.work - since
        person.work = until.work
        person.answers += last - job.first
        failed = self._fail(n, until.rested) if n else 0
        person.failed += failed
        self.stints.append(Stint(person.number, job.task, job.first, last, effort, leaves, n, failed))
        if self._work.hears is not None:
            self._lapsed[person.number] = self._lapse(self.stints[-1], job)
        return self.stints[-1], until.hour + person.offset

    def _lapse(self, stint: Stint, job: TaskPart) -> bool:
        """True if somebody who is asked one thing does not look; as the log of the stint will have it."""
        amid = not math.isnan(stint.quit) and stint.last < job.last
        entries = self._lapses.random(stint.last - stint.first + stint.controls + amid)
        rested = moment(self.rules.shifts, stint.effort, ends=False).rested
        return bool((entries[:1] < self.rules.lapse_rate + self.rules.lapse_per_hour * rested).any())

    def _fail(self, n: int, rested: float) -> int:
        """Count the control items that somebody fails: who does not look fails, who does may fail all the same."""
        looks = 1 - min(1.0, self.rules.lapse_rate + self.rules.lapse_per_hour * rested)
        return int((self._rng.random(n) >= looks * self.rules.controls.passes).sum())

    def _end_job(self, person: Person, job: TaskPart, stint: Stint) -> bool:
        """Take in what was done of a job; tell whether its person works no longer."""
        allowed = self.rules.controls.allowed
        self._piles.missing[job.task] -= stint.last - stint.first
        rest = [TaskPart(job.task, stint.last, job.last)] if stint.last < job.last else []
        if not math.isnan(stint.quit):
            self._leave(person, LEFT, rest)
        elif allowed is not None and person.failed > allowed:
            self._leave(person, FAILED_CONTROLS, self._void_answers(person.number) + rest)
        elif person.answers >= self.rules.most_answers:
            self._leave(person, DID_THEIRS, rest)
        if self._work.hears is not None and stint.last > stint.first:
            self._work.hears(job.task, person.number, self._lapsed[person.number])
        self._submit_task(job.task)
        return person.why != STAYED

    def _submit_task(self, task: int) -> None:
        """Ask what follows from a task of which all answers have come."""
        if self._work.more is None or self._piles.missing[task] or task in self._told:
            return
        self._told.add(task)
        tasks = self._work.more(np.array([task]), self.env.now)
        if tasks is not None and len(tasks.size):
            self._add(tasks)

    def _void_answers(self, number: int) -> list[TaskPart]:
        """List all that somebody has answered, which is to be answered anew."""
        answered = [
            TaskPart(*stint[1:4]) for stint in self.stints if stint.person == number and stint.first < stint.last
        ]
        for job in answered:
            self._piles.missing[job.task] += job.last - job.first
        return answered

    def _leave(self, person: Person, why: int, jobs: list[TaskPart]) -> None:
        """Let somebody go, and say who does what they leave behind."""
        own = self._piles.own[person.seat]
        jobs += own
        own.clear()
        person.left, person.why = self.env.now, why
        if self.rules.replacement == COLLEAGUES:
            self._piles.put(jobs)
            self._wake()
        elif self.rules.replacement == NEWCOMERS:
            own.extend(jobs)
            newcomer = self._seats.bring(person.seat, self.env.now + self.rules.replacement_hours)
            self.env.process(self._works(newcomer))

    def _add(self, tasks: Tasks) -> None:
        for when, task in self._piles.add(tasks, self.env.now):
            bell = self.env.timeout(when - self.env.now)
            bell.callbacks.append(functools.partial(self._open_task, task))
        self._wake()

    def _open_task(self, task: int, bell: simpy.Event) -> None:
        self._piles.release_task(task)
        self._wake()

    def _wake(self) -> None:
        idle, self._idle = self._idle, []
        for event in idle:
            event.succeed()


class TaskPart(NamedTuple):
    """Part of a task that is to be done: from which of its answers on, up to which (that one not)."""

    task: int
    first: int
    last: int


class Piles:
    """Keep the tasks of a campaign in piles, those that were added included: `own[seat]`, and one open to all.

    `begins[task]` is the first answer of a task, all answers counted one after the other; `missing[task]` answers have
    not come yet. The answers before the k-th take a person of average pace `efforts()[k]` hours.
    """

    def __init__(self, seats: int, durations: Callable[[Tasks], Floats], choose: Next | None) -> None:
        self.own: list[deque[TaskPart]] = [deque() for _ in range(seats)]
        self.n_open = 0
        self._open: list[TaskPart | None] = []
        self._simulate_event: dict[int, int] = {}
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

        Tasks dealt to a seat go on its pile; tasks dealt to nobody are open once they are ready.
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
                self.own[seat].append(self.whole_part(task))
            elif self._ready[task] <= hour:
                self.put([self.whole_part(task)])
            else:
                self._waiting.add(task)
        return [(when, task) for task, when in enumerate(ready, first) if when > hour]

    def release_task(self, task: int) -> None:
        """Open a task that had to wait, unless it is dealt to a seat."""
        if task in self._waiting:
            self._waiting.remove(task)
            self.put([self.whole_part(task)])

    def whole_part(self, task: int) -> TaskPart:
        """Return all of a task."""
        return TaskPart(task, 0, self.begins[task + 1] - self.begins[task])

    def takes(self, job: TaskPart) -> float:
        """Return the hours of effort that a part of a task takes a person of average pace."""
        return self._sum_effort_before(job.task, job.last) - self._sum_effort_before(job.task, job.first)

    def find_reached_answer(self, job: TaskPart, effort: float) -> int:
        """Return the answer of a job that a person of average pace has reached after so much effort (hours)."""
        after = self.efforts()[self.begins[job.task] + job.first : self.begins[job.task] + job.last + 1]
        return job.first + int(np.searchsorted(after[1:], after[0] + effort, side="right"))

    def efforts(self) -> Floats:
        """Return the effort of all answers before each, and of all together: hours at average pace, `[answer + 1]`."""
        if len(self._efforts) > 1:
            self._efforts = [np.concatenate(self._efforts)]
        return self._efforts[0]

    def take(self, person: int, seat: int, hour: float) -> TaskPart | None:
        """Return the next task part of a seat's pile that its person may do (None: none); open others to everybody."""
        own = self.own[seat]
        while own and self._ready[own[0].task] <= hour:
            job = own.popleft()
            if self._apart[job.task] < 0 or person not in self._did.get(self._apart[job.task], ()):
                return self._give_job(person, job)
            self.put([job])
        return None

    def take_open(self, person: int, seat: int, hour: float) -> TaskPart | None:
        """Return an open task part that a person may do at an hour; None where there is none."""
        place = self._find_first(person, seat, hour) if self._choose is None else self._choose_task(person, seat, hour)
        job = None if place is None else self._open[place]
        if place is None or job is None:
            return None
        self._open[place] = None
        self.n_open -= 1
        return self._give_job(person, job)

    def put(self, jobs: Iterable[TaskPart]) -> None:
        """Open task parts to everybody who may do them."""
        before = len(self._open)
        self._open += jobs
        self.n_open += len(self._open) - before

    def _find_first(self, person: int, seat: int, hour: float) -> int | None:
        """Find what was opened first of all that suits somebody; what never will is not looked at again."""
        looked = self._simulate_event.get(person, 0)
        for place in range(looked, len(self._open)):
            job = self._open[place]
            gone = job is None or not self._may_do(person, seat, job)
            if job is not None and not gone and self._ready[job.task] <= hour:
                return place
            if gone and place == looked:
                looked = self._simulate_event[person] = place + 1
        return None

    def _choose_task(self, person: int, seat: int, hour: float) -> int | None:
        suiting = [
            place
            for place, job in enumerate(self._open)
            if job is not None and self._ready[job.task] <= hour and self._may_do(person, seat, job)
        ]
        if self._choose is None or not suiting:
            return None
        tasks = np.array([job.task for place in suiting if (job := self._open[place]) is not None], np.int64)
        return suiting[self._choose(seat, tasks, hour)]

    def _may_do(self, person: int, seat: int, job: TaskPart) -> bool:
        may, apart = self._may[job.task], self._apart[job.task]
        return (may is None or bool(may[seat])) and (apart < 0 or person not in self._did.get(apart, ()))

    def _give_job(self, person: int, job: TaskPart) -> TaskPart:
        if self._apart[job.task] >= 0:
            self._did.setdefault(self._apart[job.task], set()).add(person)
        return job

    def _sum_effort_before(self, task: int, part: int) -> float:
        """Return what all answers before a part of a task take together."""
        if part == 0:
            return self._before[task]
        k = self.begins[task] + part
        return self._before[task + 1] if k == self.begins[task + 1] else float(self.efforts()[k])
