"""Let a platform say who rates what: second raters, one stream in place of queues, weights by rank, one more rater.

What a platform knows while people work are the scores of tasks that were handed in. It takes them for what whoever had
the seat at the start says with a clear head: that somebody lapsed, or has come in their place, is seen afterwards.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from simlab.design.balance import Table
from simlab.design.overlap import overlap
from simlab.rng import stream
from simlab.studies.ratings.preparing import Prepared
from simlab.types import RATE, Asked, Bools, Floats, Frame, Ints, Place, Queue, Tasks, World

if TYPE_CHECKING:
    from simlab.studies.ratings.on_clock import Dealt


def overlapped(prepared: Prepared, table: Table, documents: Bools, asked: Asked, place: Place) -> Asked:
    """Ask second raters about a share of the documents."""
    share = prepared.further.overlap
    if share == 0:
        return asked
    return overlap(stream(prepared.seed, *place.of_study, "overlap"), table, documents, asked, share)


class Platform:
    """Hold a platform at work on the tasks of a campaign: `tasks` are those at the start.

    It `watches` what is handed in where it has to know: to choose who takes what of tasks that are dealt to nobody, or
    to ask one more rater.
    """

    def __init__(self, prepared: Prepared, world: World, table: Table, dealt: Dealt, noise: Any, place: Place) -> None:
        self._prepared, self._dealt = prepared, dealt
        self.tasks = dealt.tasks
        if prepared.assign is not None:
            self.tasks = replace(dealt.tasks, seat=np.full(len(dealt.tasks.size), -1))
        self._margin = prepared.further.boost_margin
        self.watches = not prepared.in_order or self._margin is not None
        if self.watches:
            self._open(world, table, noise, stream(prepared.seed, *place.of_study, "clock", "assignment"))

    def _open(self, world: World, table: Table, noise: Any, rng: np.random.Generator) -> None:
        frame, dealt = world.frame, self._dealt
        self._rng, self._frame, self._groups = rng, frame, table.groups
        self._said, self._slot = _by_output(world, noise), slots_of(frame)
        self._begin = np.cumsum(dealt.tasks.size) - dealt.tasks.size
        first = dealt.rating[self._begin]
        document = frame.document[dealt.item[first]]
        unit = table.groups.unit[dealt.system[first], document]
        several = np.bincount(table.groups.unit.ravel(), minlength=len(table.groups.pile)) > 1
        # Of each task; those that are added are appended.
        self._unit, self._seat = unit, dealt.tasks.seat.copy()
        self._rank = rng.permutation(frame.n_documents)[document]
        self._system = np.where(several[unit], -1, dealt.system[first])
        self._added: list[int] = []
        self._told: set[int] = set()
        self._scores: dict[int, list[Floats]] = {}
        self._taken, self._rated = np.zeros((2, frame.n_systems), np.int64)
        self._total = np.zeros(frame.n_systems)

    def choose(self, seat: int, tasks: Ints, hour: float) -> int:
        """Say which of the open tasks somebody takes: its place in the list."""
        place = 0
        if self._prepared.assign is not None:
            order = np.argsort(self._rank[tasks], kind="stable")
            place = int(order[self._prepared.assign(self._rng, self._queue(tasks[order]))])
        task = int(tasks[place])
        self._seat[task] = seat
        self._taken[self._outputs(task)[:, 0]] += 1
        return place

    def more(self, handed_in: Ints, hour: float) -> Tasks | None:
        """Take in what was handed in; ask one more rater where two of an output are too far apart."""
        added = [task for task in handed_in.tolist() if self._take_in(task)]
        return self._once_more(added) if added else None

    def _queue(self, tasks: Ints) -> Queue:
        mean = np.divide(self._total, self._rated, out=np.full(len(self._total), np.nan), where=self._rated > 0)
        return Queue(self._system[tasks], self._taken.copy(), mean, self._frame.lower_is_better)

    def _outputs(self, task: int) -> Ints:
        """List the outputs of a task, system and document."""
        return np.argwhere(self._groups.unit == self._unit[task])

    def _take_in(self, task: int) -> bool:
        """Add up the scores of a task; tell whether its raters are so far apart that one more is to be asked.

        A task that is handed in once more, since what its rater had said turned out to be void, counts as it did.
        """
        if task in self._told:
            return False
        self._told.add(task)
        system, document = self._outputs(task).T
        slot = self._slot[self._seat[task], self._frame.bucket[document[0]]]
        scores = self._said[system, document, slot]
        self._total[system] += scores
        self._rated[system] += 1
        others = self._scores.setdefault(int(self._unit[task]), [])
        # Of several raters the first two decide, once.
        others.append(scores)
        apart = len(others) == 2 and self._margin is not None
        return apart and bool(np.max(np.abs(others[0] - others[1])) > self._margin)

    def _once_more(self, tasks: list[int]) -> Tasks:
        """Add a task to be done by somebody else for each of these."""
        base = self._dealt.tasks
        of = [int(np.flatnonzero(self._unit == self._unit[task])[0]) for task in tasks]
        self._unit, self._rank, self._system = (np.append(x, x[of]) for x in (self._unit, self._rank, self._system))
        self._seat = np.append(self._seat, np.full(len(of), -1))
        self._added += of
        if base.may is None or base.screen is None:
            raise ValueError("tasks of ratings say who may do them, and their screens")
        answers = [slice(self._begin[task], self._begin[task] + base.size[task]) for task in of]
        # Screens of several tasks are numbered apart.
        screens = [k * len(base.screen) + base.screen[part] for k, part in enumerate(answers)]
        return Tasks(
            size=base.size[of],
            seat=np.full(len(of), -1),
            may=base.may[of],
            apart=self._unit[of],
            screen=np.unique(np.concatenate(screens), return_inverse=True)[1],
        )

    @property
    def dealt(self) -> Dealt:
        """Return all ratings that were asked for: those that were added follow the others."""
        if not self.watches or not self._added:
            return self._dealt
        dealt, base = self._dealt, self._dealt.tasks
        answers = [np.arange(self._begin[task], self._begin[task] + base.size[task]) for task in self._added]
        rating = dealt.rating[np.concatenate(answers)]
        return dealt._replace(
            tasks=replace(base, size=np.concatenate([base.size, base.size[self._added]])),
            system=np.concatenate([dealt.system, dealt.system[rating]]),
            item=np.concatenate([dealt.item, dealt.item[rating]]),
            slot=np.concatenate([dealt.slot, np.full(len(rating), -1)]),
            rating=np.concatenate([dealt.rating, len(dealt.system) + np.arange(len(rating))]),
        )


def slots_of(frame: Frame) -> Ints:
    """Find the slot in which each rater sits, `[rater, bucket]`; 0 where they sit in none."""
    slot = np.zeros((frame.n_raters, int(frame.bucket.max()) + 1), np.int64)
    _, item, slots = np.nonzero(frame.rater >= 0)
    slot[frame.rater[frame.rater >= 0], frame.bucket[frame.document][item]] = slots
    return slot


def _by_output(world: World, noise: Any) -> Floats:
    """Return what everybody says of each output, on average over its segments: `[system, document, slot]`."""
    frame = world.frame
    system, item, slot = np.nonzero(frame.rater >= 0)
    value, _ = world.answers[RATE].answer(noise, system, item, slot)
    shape = (frame.n_systems, frame.n_documents, frame.rater.shape[2])
    cell = np.ravel_multi_index((system, frame.document[item], slot), shape)
    count = np.bincount(cell, minlength=int(np.prod(shape)))
    total = np.bincount(cell, weights=value, minlength=len(count))
    mean = np.divide(total, count, out=np.full(len(count), np.nan), where=count > 0)
    return np.asarray(mean.reshape(shape))
