"""Bundle blocks that share what they can, hand them to worker processes, and find the block that kills its worker.

A *bundle* is the blocks that a worker carries out in one call. Call `dispatch` with tasks and a backend; it returns
nothing, and passes finished blocks to the callback `accept`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import closing
from itertools import groupby
from threading import Lock

from simlab.engine.addresses import Address, Finished
from simlab.engine.backends import Backend, Died
from simlab.engine.workers import BlockFunction, BlockLimits, BlockTask, BundleResult

LONGEST_SECONDS = 2.5
"""Seconds that a bundle takes about: an interrupted run loses no more than that."""
SHORTEST_SECONDS = 0.1
"""Least seconds of a bundle: towards the end bundles get shorter, so that workers end together."""
OLD = 0.5
"""Weight of the seconds of earlier bundles beside those of the last one."""

ALIKE = 4.0
"""Ratio of the seconds of campaigns up to which cells keep their order."""

WORKER_DIED = "worker died"


class Bundles:
    """Deal blocks out, in their order, as bundles that take about equally long; `shares` are under way at a time.

    Until the first bundle has shown how long campaigns take, each is one block. Those of one place (the same studies of
    several cells) stay together where that is not too long, else they are cut evenly, those of cells that take longest
    first: a long one begun last would delay the end. `alone`: each is one block.

    May be used by several threads.
    """

    def __init__(self, tasks: Sequence[BlockTask], shares: int, limits: BlockLimits, *, alone: bool = False) -> None:
        # Last come first, so that blocks are taken from an end, and the others stay where they are.
        self._groups = [list(group)[::-1] for _, group in groupby(tasks, key=lambda task: task.address.order)][::-1]
        self._left = sum(task.address.count for task in tasks)
        self.shares, self._alone, self._lock = shares, alone, Lock()
        self._longest = min(LONGEST_SECONDS, (limits.seconds or math.inf) / 4)
        self._seconds, self._campaigns = 0.0, 0.0
        self._of_cell: dict[str, float] = {}
        self._known = 0

    def take_bundle(self) -> list[BlockTask]:
        """Return the next bundle; an empty one where nothing is left."""
        with self._lock:
            return self._take_bundle()

    def _take_bundle(self) -> list[BlockTask]:
        if not self._groups:
            return []
        most = self._limit_campaigns()
        bundle = self._cut(most)
        campaigns = _campaigns(bundle)
        while self._groups and campaigns + _campaigns(self._groups[-1]) <= most:
            campaigns += _campaigns(self._groups[-1])
            bundle += reversed(self._groups.pop())
            self._known = 0
        self._left -= campaigns
        return bundle

    def record_times(self, carried: BundleResult) -> None:
        """Learn from a bundle how long campaigns take."""
        with self._lock:
            self._seconds = OLD * self._seconds + carried.seconds
            self._campaigns = OLD * self._campaigns + sum(block.address.count for block in carried.finished)
            for block in carried.finished:
                if block.seconds:
                    self._of_cell[block.address.cell] = block.seconds / block.address.count

    def _limit_campaigns(self) -> float:
        """Return how many campaigns the next bundle shall have at most."""
        if self._alone or not self._campaigns:
            return 0.0
        # Clocks may show 0 s for a bundle of short studies, and it divides below.
        each = max(self._seconds / self._campaigns, 1e-6)
        return max(SHORTEST_SECONDS, min(self._longest, self._left * each / self.shares)) / each

    def _cut(self, most: float) -> list[BlockTask]:
        """Take as much of the next place as the bundle may have, at least a block."""
        group = self._groups[-1]
        if self._of_cell and _campaigns(group) > most:
            self._sort_blocks(group)
        pieces = min(len(group), -(-_campaigns(group) // max(int(most), 1)))
        n = len(group) // pieces
        taken = group[-n:][::-1]
        del group[-n:]
        if not group:
            self._groups.pop()
            self._known = 0
        return taken

    def _sort_blocks(self, group: list[BlockTask]) -> None:
        """Put blocks of cells that take longest where they are taken from; cells that take about as long stay together.

        Done anew only once twice as many cells are known: there may be very many.
        """
        if len(self._of_cell) < 2 * self._known:
            return
        self._known = len(self._of_cell)
        if max(self._of_cell.values()) < ALIKE * min(self._of_cell.values()):
            return
        usual = max(self._seconds / self._campaigns, 1e-6)
        group.sort(key=lambda task: round(math.log(self._of_cell.get(task.address.cell, usual), ALIKE)))


def _campaigns(tasks: Sequence[BlockTask]) -> int:
    """Count the campaigns of blocks of one place, which have as many each."""
    return len(tasks) * tasks[0].address.count


def dispatch(
    block: BlockFunction,
    tasks: Sequence[BlockTask],
    backend: Backend,
    limits: BlockLimits,
    accept: Callable[[Sequence[Finished]], None],
) -> None:
    """Carry out blocks by a backend and pass them to `accept` as they are finished, several at a time, each once.

    Where a worker dies, or is ended since it took too long or too much, the blocks that were under way in it are
    suspects: when all others are done, each is run again alone, at most `retries` times, and is accepted as failed if
    its worker dies every time.
    """
    waiting = {task.address: task for task in tasks}
    deaths: dict[Address, int] = {}
    while waiting:
        group = [task for address, task in waiting.items() if address not in deaths]
        if alone := not group:
            group = [waiting[address] for address in deaths]
        with closing(backend.results(block, group, limits, alone=alone)) as came:
            for result in came:
                if isinstance(result, Died):
                    several = _list_given_up(result, waiting, deaths, limits.retries if alone else None)
                else:
                    # Where blocks were handed out twice the first result counts.
                    several = [finished for finished in result if finished.address in waiting]
                if several:
                    accept(several)
                for finished in several:
                    del waiting[finished.address]
                    deaths.pop(finished.address, None)


def _list_given_up(
    died: Died, waiting: dict[Address, BlockTask], deaths: dict[Address, int], retries: int | None
) -> list[Finished]:
    """Count a death for each block that was under way; return those that were alone and have died too often."""
    for address in died.addresses:
        if address in waiting:
            deaths[address] = deaths.get(address, 0) + 1
    how = f", {died.manner}" if died.manner else ""
    return [
        Finished(address, reason=f"{WORKER_DIED} ({deaths[address]} times{how})")
        for address in died.addresses
        if retries is not None and deaths.get(address, 0) > retries
    ]
