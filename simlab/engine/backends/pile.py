"""Hold the blocks of a call: those to be handed out, those that came back, and what is finished of them."""

from __future__ import annotations

import asyncio
import pickle
from collections import Counter, deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

from simlab.engine.addresses import Address
from simlab.engine.backends import Died
from simlab.engine.bundles import Bundles
from simlab.engine.limits import Limits, manner_of_exit
from simlab.engine.workers import BlockFunction, Carried, Task

LOST_AT_MOST = 3
"""A block whose Dask worker ended so often under it, for whatever reason, is none to blame; after that it is."""
WAIT = 4
"""So many finished bundles wait for the driver to keep them; then workers wait."""


@dataclass(frozen=True)
class Work:
    """Hold what all bundles of a call have in common; each becomes bytes here, into which nobody looks on the way."""

    block: BlockFunction
    limits: Limits
    here: str

    def start(self, code: object) -> bytes:
        """Say what a process that carries them out is started for."""
        return pickle.dumps((self.limits, code))

    def of(self, bundle: Sequence[Task]) -> bytes:
        """Pickle a bundle, functions that cannot be imported elsewhere included."""
        import cloudpickle

        pickled: bytes = cloudpickle.dumps((self.limits, self.here, self.block, bundle))
        return pickled


class Pile:
    """Deal bundles (`alone`: of one block) to whoever asks, and put what is finished into a queue of another thread.

    Lives in one loop, that of those who ask. They are served in turn.
    """

    def __init__(self, work: Work, tasks: Sequence[Task], alone: bool, came: SimpleQueue[Any]) -> None:
        self.work, self.tasks = work, tasks
        self._came, self._room = came, asyncio.Semaphore(WAIT)
        self._bundles = Bundles([] if alone else tasks, 1, work.limits)
        self._returned: deque[list[Task]] = deque([task] for task in tasks if alone)
        self._waiting: deque[asyncio.Future[list[Task]]] = deque()
        self._lost: Counter[Address] = Counter()
        self._left = len(tasks)
        self._all = asyncio.Event()

    @property
    def done(self) -> bool:
        """Tell whether all blocks are finished, or have died."""
        return not self._left

    @property
    def dealt(self) -> bool:
        """Tell whether somebody waits, since all bundles are handed out."""
        return any(not one.done() for one in self._waiting)

    def shared_by(self, shares: int) -> None:
        """Take note how many bundles are handed out at a time."""
        self._bundles.shares = max(shares, 1)

    async def finished(self, seconds: float) -> None:
        """Wait until all is done, so long at most."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._all.wait(), seconds)

    async def take(self) -> list[Task]:
        """Return a bundle, as soon as there is one."""
        if bundle := self._returned.popleft() if self._returned else self._bundles.next():
            return bundle
        promised: asyncio.Future[list[Task]] = asyncio.get_running_loop().create_future()
        self._waiting.append(promised)
        try:
            return await promised
        except asyncio.CancelledError:
            if promised.done() and not promised.cancelled():
                self.back(promised.result())
            raise

    def back(self, bundle: list[Task]) -> None:
        """Take a bundle back that was not begun, or whose worker was given up."""
        while self._waiting:
            promised = self._waiting.popleft()
            if not promised.done():
                promised.set_result(bundle)
                return
        self._returned.append(bundle)

    async def lost(self, bundle: list[Task]) -> None:
        """Take a bundle back whose worker ended, in halves: a shorter one is sooner out of danger."""
        self._lost.update(task.address for task in bundle)
        if bad := [task for task in bundle if self._lost[task.address] > LOST_AT_MOST]:
            for task in bad:
                del self._lost[task.address]
            times = f"{LOST_AT_MOST + 1} workers of Dask ended while they had it"
            await self._put(Died(tuple(task.address for task in bad), times), len(bad))
        good = [task for task in bundle if task not in bad]
        half = -(-len(good) // 2)
        for piece in filter(None, (good[:half], good[half:])):
            self.back(piece)

    async def came_back(self, bundle: list[Task], answer: bytes | int) -> None:
        """Put into the queue what became of a bundle, as soon as there is room: an exit code where its process died."""
        carried: Carried | str = manner_of_exit(answer, self.work.limits) if isinstance(answer, int) else _read(answer)
        if isinstance(carried, str):
            await self._put(Died(tuple(task.address for task in bundle), carried), len(bundle))
        else:
            self._bundles.took(carried)
            await self._put(carried.finished, len(bundle))

    def taken(self) -> None:
        """Make room for another: the driver has taken one out of the queue."""
        self._room.release()

    async def _put(self, one: object, count: int) -> None:
        # Whoever is cancelled while there is no room has put nothing, and gives the bundle back.
        await self._room.acquire()
        self._came.put(one)
        self._left -= count
        if self.done:
            self._all.set()


def _read(answer: bytes) -> Carried | str:
    carried: Carried | str = pickle.loads(answer)  # noqa: S301 (from a worker, which may run code here anyway)
    return carried
