"""Estimate how long a sweep still takes from what its blocks took lately, cell by cell.

A rate of campaigns so far forecasts badly: cells differ in what a campaign costs by orders of magnitude, and the first
blocks also import and compile. So each cell is judged by its own last blocks, a cell without any by the others.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from statistics import fmean, median_low

from simlab.engine.addresses import Finished

LATELY = 5
"""Of so many last blocks of a cell the one in the middle says what a campaign takes: a first one is soon outvoted."""


class Remaining:
    """Learn from blocks as they come what a campaign of each cell takes.

    `todo` counts the campaigns of each cell that are to be carried out, by so many `workers`.
    """

    def __init__(self, todo: Mapping[str, int], workers: int) -> None:
        self._left, self._workers = dict(todo), workers
        self._took: dict[str, deque[float]] = {cell: deque(maxlen=LATELY) for cell in todo}

    def came(self, finished: Sequence[Finished]) -> None:
        """Take note of blocks; those that say not how long they took are only counted."""
        for one in finished:
            self._left[one.address.cell] -= one.address.count
            if one.seconds:
                self._took[one.address.cell].append(one.seconds / one.address.count)

    def seconds(self) -> float | None:
        """Return the seconds that are left; None before the first block. A cell without one counts as the mean."""
        known = {cell: median_low(took) for cell, took in self._took.items() if took}
        if not known:
            return None
        usual = fmean(known.values())
        return sum(count * known.get(cell, usual) for cell, count in self._left.items()) / self._workers
