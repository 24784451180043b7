"""Turn a protocol of batches into tasks on a simulated clock, one answer each, and record the answers as they come.

`Asking` returns the first tasks and, as tasks are handed in, those that follow; `Hearing` records the answers;
`find_complete_looks` returns the look up to which each unit's answers are complete. At
a look a rule may end the asking about a unit (a pair that is compared, a system that is judged); a batch leads from one
look to the next. A batch is complete once its last answer was handed in; frequent looks cost this waiting.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from simlab.design.waiting import Batch, Rounds
from simlab.types import Array, Bools, Ints
from simlab.types.collection import Tasks


class Asking:
    """Ask for answers in batches on a clock: task t is about output `at[t]` of `unit[t]` (a pair, or a system).

    `can[unit, k]` says whether there is an answer about the k-th output, `looks[look]` how many outputs a unit is asked
    about until then, `rounds` which batches follow. The first `before` tasks are of something else, and nothing waits
    for them: their unit is -1. With `by_output` batches that are asked for together come output by output, not unit by
    unit. Everybody may do every task.
    """

    def __init__(self, can: Bools, looks: Ints, rounds: Rounds, *, before: int = 0, by_output: bool = False) -> None:
        self._can, self._looks, self._rounds, self._by_output = can, looks, rounds, by_output
        self._lack = [0] * len(can)
        self._handed_in = [False] * before
        self._unit, self._at = [-1] * before, list(range(before))

    @property
    def unit(self) -> Ints:
        """Return the unit of each task."""
        return np.array(self._unit, np.int64)

    @property
    def at(self) -> Ints:
        """Return the position of each task's output among those of its unit, `[task]`."""
        return np.array(self._at, np.int64)

    def locate(self, task: int) -> Batch:
        """Return the unit of a task, and the position of its output in that unit."""
        return self._unit[task], self._at[task]

    def begin(self) -> Tasks:
        """Return the tasks of the first batches, behind the `before` tasks of something else."""
        self._tasks(self._rounds.begin(), 0.0)
        return tasks(len(self._unit))

    def find_next_tasks(self, numbers: Ints, hour: float) -> Tasks | None:
        """Return the tasks that follow once tasks `numbers` were handed in at an hour; None: none.

        A task that is handed in once more, since its first answer turned out to be void, leads to no further look.
        """
        done = [unit for task in numbers.tolist() if (unit := self._take(task)) >= 0 and not self._lack[unit]]
        return self._tasks([batch for unit in done for batch in self._rounds.record_arrival(unit)], hour)

    def _take(self, task: int) -> int:
        """Note that a task was handed in; return its unit, -1 where nothing waits for it."""
        if self._handed_in[task]:
            return -1
        self._handed_in[task] = True
        unit = self._unit[task]
        if unit >= 0:
            self._lack[unit] -= 1
        return unit

    def _tasks(self, batches: Sequence[Batch], hour: float) -> Tasks | None:
        if not batches:
            return None
        unit, at = (np.concatenate(part) for part in zip(*map(self._outputs, batches), strict=True))
        if self._by_output:
            order = np.lexsort((unit, at))
            unit, at = unit[order], at[order]
        for index in unit.tolist():
            self._lack[index] += 1
        self._unit += unit.tolist()
        self._at += at.tolist()
        self._handed_in += [False] * len(unit)
        return tasks(len(unit), hour)

    def _outputs(self, batch: Batch) -> tuple[Ints, Ints]:
        unit, look = batch
        first = self._looks[look - 1]
        at = first + np.flatnonzero(self._can[unit, first : self._looks[look]])
        return np.full(len(at), unit), at


def tasks(n: int, hour: float | None = None) -> Tasks:
    """Return n tasks of one answer each, open to everybody from an hour on (None: from the start)."""
    return Tasks(np.ones(n, np.int64), np.full(n, -1), ready=None if hour is None else np.full(n, hour))


def find_complete_looks(came: Bools, can: Bools, looks: Ints, end: Ints) -> Ints:
    """Return the last look of each unit, at most `end[unit]`, up to which all answers came: half a batch is no look.

    `came[unit, k]` and `can[unit, k]` mark the outputs with an answer, and those that can have one; `looks[look]`
    outputs are asked about until a look.

    >>> came, looks = np.array([[True, True, True, False]]), np.array([0, 2, 4])
    >>> find_complete_looks(came, np.ones((1, 4), bool), looks, np.array([2]))
    array([1])
    """
    lacking = np.add.reduceat(can & ~came, looks[:-1], axis=1) > 0
    lacking |= np.arange(1, len(looks)) > end[:, None]
    return np.asarray(np.where(lacking.any(1), lacking.argmax(1), lacking.shape[1]))


class Hearing:
    """Record answers as they come: `value[unit, k]` is the latest one about the k-th output of a unit.

    Until then it is `would[unit, k]`, the answer of somebody who looks. Who does not look (a lapse) repeats their
    answer about another output that they were asked about before, drawn at random; the first answer of a person never
    lapses, since there is no other. So no answer leaves the scale, and people's answers keep their distribution.
    `turned` is applied to the repeated answer with a chance of one half: who clicks without looking at a comparison
    does not know which system stands on which side (None: answers are repeated as they are).
    """

    def __init__(
        self, would: Array, asking: Asking, rng: np.random.Generator, turned: Callable[[Array], Array] | None = None
    ) -> None:
        self.value = would.copy()
        self._would, self._asking, self._rng, self._turned = would, asking, rng, turned
        self._asked: dict[int, list[int]] = {}
        self._lapses: dict[tuple[int, int], Array] = {}

    def record_answer(self, task: int, person: int, lapsed: bool) -> None:
        """Take in the answer to a task by a person."""
        unit, at = self._asking.locate(task)
        if unit < 0:
            return
        before = self._asked.setdefault(person, [])
        self.value[unit, at] = self._would[unit, at]
        if lapsed and before:
            self.value[unit, at] = self._lapses[task, person] = self._pick_other(before)
        before.append(task)

    def select_values(self, task: Ints, person: Ints) -> Array:
        """Return the answers `[unit, k]` where that of `person[j]` to `task[j]` counts; others are as in `would`."""
        values = self._would.copy()
        if self._lapses:
            for pair in zip(task.tolist(), person.tolist(), strict=True):
                if pair in self._lapses:
                    values[self._asking.locate(pair[0])] = self._lapses[pair]
        return values

    def _pick_other(self, before: list[int]) -> Array:
        other = before[int(self._rng.integers(len(before)))]
        value: Array = self._would[self._asking.locate(other)]
        if self._turned is None:
            return value
        return self._turned(value) if self._rng.random() < 0.5 else value
