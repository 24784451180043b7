"""Estimate how long a sweep still takes from what its blocks took lately, cell by cell.

A rate of campaigns so far forecasts badly: cells differ in what a campaign costs by orders of magnitude, and the first
blocks also import and compile. So each cell is judged by its own last blocks, a cell without any by the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median_low

from simlab.engine.addresses import Finished

LATELY = 5
"""Of so many last blocks of a cell the one in the middle says what a campaign takes: a first one is soon outvoted."""


class Remaining:
    """Learn from blocks as they come what a campaign of each cell takes.

    `todo` counts the campaigns of each cell that are to be carried out, by so many `workers`. What is asked for again
    and again is added up as blocks come: there may be a hundred thousand cells.
    """

    def __init__(self, todo: Mapping[str, int], workers: int) -> None:
        self._left, self._workers = dict(todo), workers
        self._took: dict[str, tuple[float, ...]] = {}
        self._usual: dict[str, float] = {}
        self._of_all_usual = self._seconds = 0.0
        self._unknown = sum(self._left.values())

    def came(self, finished: Sequence[Finished]) -> None:
        """Take note of blocks; those that say not how long they took are only counted."""
        for one in finished:
            cell, count = one.address.cell, one.address.count
            self._count(cell, -1)
            self._left[cell] -= count
            if one.seconds:
                took = (*self._took.get(cell, ()), one.seconds / count)[-LATELY:]
                self._took[cell], usual = took, median_low(took)
                self._of_all_usual += usual - self._usual.get(cell, 0.0)
                self._usual[cell] = usual
            self._count(cell, 1)

    def _count(self, cell: str, times: int) -> None:
        """Add what is left of a cell to what is left of all, or take it away."""
        if cell in self._usual:
            self._seconds += times * self._left[cell] * self._usual[cell]
        else:
            self._unknown += times * self._left[cell]

    def seconds(self) -> float | None:
        """Return the seconds that are left; None before the first block. A cell without one counts as the mean."""
        if not self._usual:
            return None
        mean = self._of_all_usual / len(self._usual)
        return max(0.0, self._seconds + mean * self._unknown) / self._workers
