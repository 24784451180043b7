"""Hand bundles to the workers of a Dask scheduler, a few ahead of each, and take what they finished.

All that speaks with Dask runs in one thread with a loop of its own; the driver's thread, which alone writes, only takes
results from a queue. Each place of a worker is a *lane*: a coroutine that takes a bundle from the pile, has it carried
out by this worker and no other, and takes the next. A worker that goes away takes its lanes along, and their bundles go
back to the pile: which worker has which bundle is known here, and nowhere is one carried out twice unless its worker
was given up.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import threading
from collections import deque
from collections.abc import Coroutine, Generator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any

from simlab.engine.addresses import Finished
from simlab.engine.backends import Died
from simlab.engine.backends.interrupts import interrupts_told
from simlab.engine.backends.local import AHEAD
from simlab.engine.backends.quiet import quiet
from simlab.engine.bundles import Bundles
from simlab.engine.limits import Limits, manner_of_exit
from simlab.engine.workers import BlockFunction, Task
from simlab.types import InputError

LOOK_SECONDS = 0.5
"""So often it is looked which workers there are."""
ENDING_SECONDS = 10.0


class Cluster:
    """Carry out blocks by the workers of a scheduler, or, without an address, by some that are started here."""

    isolates = True

    def __init__(self, engine: Mapping[str, Any], jobs: int) -> None:
        self.workers = jobs
        self._engine = engine
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="simlab-dask", daemon=True)
        self._session: Any = None
        self._quiet = ExitStack()

    def __enter__(self) -> Cluster:
        try:
            import distributed  # noqa: F401
        except ImportError:
            raise InputError("engine.backend=dask needs Dask; pip install 'simlab[dask]'") from None
        self._quiet.enter_context(quiet())
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        from simlab.engine.backends.sessions import leave

        if self._session is not None:
            with suppress(Exception):
                self._begin(leave(self._session)).result(ENDING_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(ENDING_SECONDS)
        self._quiet.close()

    def results(
        self, block: BlockFunction, tasks: Sequence[Task], limits: Limits, *, alone: bool = False
    ) -> Generator[tuple[Finished, ...] | Died, None, None]:
        """Yield blocks as they are finished, by bundles, and those whose process died."""
        came: SimpleQueue[tuple[Finished, ...] | Died | BaseException | None] = SimpleQueue()
        pile = Pile(Work(block, limits, os.getcwd()), tasks, alone, came)
        dealing = self._begin(self._deal(pile))
        dealing.add_done_callback(lambda _: came.put(None))
        try:
            with interrupts_told(lambda: came.put(KeyboardInterrupt())):
                while (one := came.get()) is not None:
                    if isinstance(one, BaseException):
                        raise one
                    yield one
                    self._loop.call_soon_threadsafe(pile.room.release)
            dealing.result()
        finally:
            self._loop.call_soon_threadsafe(dealing.cancel)

    def _begin(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    async def _deal(self, pile: Pile) -> None:
        from simlab.engine.backends.sessions import enter

        if self._session is None:
            self._session = await enter(self._engine, self.workers)
        lanes: dict[str, list[asyncio.Task[None]]] = {}
        try:
            while not pile.done:
                there = await self._session.workers()
                for gone in lanes.keys() - there.keys():
                    for lane in lanes.pop(gone):
                        lane.cancel()
                new = {worker: threads for worker, threads in there.items() if worker not in lanes}
                for _ in range(AHEAD):
                    for worker, threads in new.items():
                        lanes.setdefault(worker, [])
                        lanes[worker] += [asyncio.ensure_future(self._lane(worker, pile)) for _ in range(threads)]
                pile.shares = AHEAD * sum(there.values())
                await pile.wait(LOOK_SECONDS)
        finally:
            under_way = [lane for several in lanes.values() for lane in several]
            for lane in under_way:
                lane.cancel()
            await asyncio.gather(*under_way, return_exceptions=True)

    async def _lane(self, worker: str, pile: Pile) -> None:
        while True:
            bundle = await pile.take()
            try:
                answer = await self._session.carry(worker, pile.work.start, pile.work.of(bundle))
            except BaseException:
                pile.back(bundle)
                raise
            await pile.came_back(bundle, answer)


@dataclass(frozen=True)
class Work:
    """Hold what all bundles of a call have in common; each becomes bytes here, into which nobody looks on the way."""

    block: BlockFunction
    limits: Limits
    here: str

    @property
    def start(self) -> bytes:
        """Say what a process that carries them out is started for."""
        return pickle.dumps(self.limits)

    def of(self, bundle: Sequence[Task]) -> bytes:
        """Pickle a bundle, functions that cannot be imported elsewhere included."""
        import cloudpickle

        pickled: bytes = cloudpickle.dumps((self.limits, self.here, self.block, bundle))
        return pickled


@dataclass
class Pile:
    """Hold the blocks of a call: those to be handed out, and those that came back from a worker that went away.

    Used in one thread; `came` takes what is finished to another, and `room` bounds how much of it waits there.
    """

    work: Work
    tasks: Sequence[Task]
    alone: bool
    came: SimpleQueue[Any]
    shares: int = AHEAD
    under_way: int = 0
    room: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(4))
    returned: deque[list[Task]] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self.bundles = Bundles([] if self.alone else self.tasks, self.shares, self.work.limits)
        if self.alone:
            self.returned.extend([task] for task in self.tasks)
        self._left = len(self.tasks)
        self._changed = asyncio.Condition()

    @property
    def done(self) -> bool:
        return self._left == 0

    async def wait(self, seconds: float) -> None:
        async with self._changed:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait_for(lambda: self.done), seconds)

    async def take(self) -> list[Task]:
        while True:
            if self.returned:
                return self.returned.popleft()
            if bundle := self.bundles.next():
                return bundle
            async with self._changed:
                await self._changed.wait()

    def back(self, bundle: list[Task]) -> None:
        self.returned.append(bundle)
        asyncio.ensure_future(self._tell())

    async def came_back(self, bundle: list[Task], answer: bytes | int) -> None:
        one: Any
        if isinstance(answer, int):
            one = Died(tuple(task.address for task in bundle), manner_of_exit(answer, self.work.limits))
        else:
            carried = pickle.loads(answer)
            if isinstance(carried, str):
                raise RuntimeError(carried)
            self.bundles.took(carried)
            one = carried.finished
        await self.room.acquire()
        self.came.put(one)
        self._left -= len(bundle)
        await self._tell()

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()
