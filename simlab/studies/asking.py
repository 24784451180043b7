"""Turn a protocol of batches into tasks on a clock, one answer each: what is asked for first, and what follows.

A batch of a unit (a pair that is compared, a system that is judged) leads from one look at it to the next. It came once
its last answer was handed in, and waiting for that is what looking often costs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simlab.design.waiting import Batch, Rounds
from simlab.types import Bools, Ints
from simlab.types.collection import Tasks


class Asking:
    """Hold which answers were asked for: task t is about the `at[t]`-th output of `unit[t]`.

    `can[unit, k]` says whether there is an answer about the k-th output, `looks[look]` how many outputs a unit is asked
    about until then, `rounds` which batches follow. The first `before` tasks are of something else, and nothing waits
    for them: their unit is -1. With `by_output` batches that are asked for together come output by output, not unit by
    unit. All that is asked can be done by whoever sits in one of the `seats`.
    """

    def __init__(self, can: Bools, looks: Ints, rounds: Rounds, *, before: int = 0, by_output: bool = False) -> None:
        self._can, self._looks, self._rounds, self._by_output = can, looks, rounds, by_output
        self._lack = np.zeros(len(can), np.int64)
        self._handed_in = np.zeros(before, bool)
        self.unit: Ints = np.full(before, -1)
        self.at: Ints = np.arange(before)

    def begin(self) -> Tasks:
        """Ask for the first batches."""
        self._tasks(self._rounds.begin(), 0.0)
        return tasks(len(self.unit))

    def more(self, numbers: Ints, hour: float) -> Tasks | None:
        """Say which tasks follow once some were handed in; None: none.

        What was looked at is not looked at again: a task that is handed in once more, since what its rater had said
        turned out to be void, leads nowhere.
        """
        numbers = np.unique(numbers[~self._handed_in[numbers]])
        self._handed_in[numbers] = True
        unit = self.unit[numbers]
        np.subtract.at(self._lack, unit[unit >= 0], 1)
        done = [int(k) for k in dict.fromkeys(unit.tolist()) if k >= 0 and self._lack[k] == 0]
        return self._tasks([batch for k in done for batch in self._rounds.came(k)], hour)

    def _tasks(self, batches: Sequence[Batch], hour: float) -> Tasks | None:
        if not batches:
            return None
        unit, at = (np.concatenate(part) for part in zip(*map(self._outputs, batches), strict=True))
        if self._by_output:
            order = np.lexsort((unit, at))
            unit, at = unit[order], at[order]
        np.add.at(self._lack, unit, 1)
        self.unit, self.at = np.append(self.unit, unit), np.append(self.at, at)
        self._handed_in = np.append(self._handed_in, np.zeros(len(unit), bool))
        return tasks(len(unit), hour)

    def _outputs(self, batch: Batch) -> tuple[Ints, Ints]:
        unit, look = batch
        first = self._looks[look - 1]
        at = first + np.flatnonzero(self._can[unit, first : self._looks[look]])
        return np.full(len(at), unit), at


def tasks(n: int, hour: float | None = None) -> Tasks:
    """Ask for n single answers, from an hour on, of whoever is free."""
    return Tasks(np.ones(n, np.int64), np.full(n, -1), ready=None if hour is None else np.full(n, hour))


def whole_looks(came: Bools, can: Bools, looks: Ints, end: Ints) -> Ints:
    """Say which looks of each unit all answers came for, up to `end[unit]`: nobody looks at half a batch.

    >>> whole_looks(np.array([[True, True, True, False]]), np.ones((1, 4), bool), np.array([0, 2, 4]), np.array([2]))
    array([1])
    """
    lacking = np.add.reduceat(can & ~came, looks[:-1], axis=1) > 0
    lacking |= np.arange(1, len(looks)) > end[:, None]
    return np.asarray(np.where(lacking.any(1), lacking.argmax(1), lacking.shape[1]))
