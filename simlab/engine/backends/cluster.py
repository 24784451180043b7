"""Hand bundles to the workers of a Dask scheduler, a few ahead of each, and take what they finished.

All that speaks with Dask runs in one thread with a loop of its own; the driver's thread, which alone writes, only takes
results from a queue. Each place of a worker is a *lane*: a coroutine that takes a bundle from the pile, has it carried
out by this worker and no other, and takes the next. A worker that goes away takes its lanes along, and their bundles go
back to the pile: which worker has which bundle is known here, and none is carried out twice unless its worker was given
up. (Dask itself would deal them out as well, but who is given up, and what of that, is then for nobody to say.)
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Collection, Coroutine, Generator, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

from simlab.engine.addresses import Finished
from simlab.engine.backends import Died
from simlab.engine.backends.interrupts import interrupts_told
from simlab.engine.backends.local import AHEAD
from simlab.engine.backends.pile import Pile, Work
from simlab.engine.backends.quiet import quiet
from simlab.engine.backends.reaching import Place, Waiting, place_of
from simlab.engine.backends.same import Needs, needs_of
from simlab.engine.limits import Limits
from simlab.engine.workers import BlockFunction, Config, Task
from simlab.types import InputError

if TYPE_CHECKING:
    from simlab.engine.backends.sessions import Session

Value = TypeVar("Value")
LOOK_SECONDS = 0.5
"""So often it is looked which workers there are, seldom where they are many."""
WORKERS_A_SECOND = 200
FAILS_AT_MOST = 3
"""A worker that fails so often in a row, other than by a block, is not used any more."""
ENDING_SECONDS = 15.0
GOES_ON = (
    "what is finished is kept, and the same command goes on, also with another engine.scheduler or with "
    "engine.backend=loky"
)


@dataclass(eq=False)
class Hand:
    """Hold a worker that blocks are handed to: its threads, its lanes, what is under way there, in its order."""

    worker: str
    threads: int
    lanes: list[asyncio.Task[None]] = field(default_factory=list)
    out: list[asyncio.Task[bytes | int]] = field(default_factory=list)
    fails: int = 0
    gone: bool = False


class Cluster:
    """Carry out blocks by the workers of a scheduler, or, without an address, by some that are started here.

    Raises InputError where Dask is not installed, or the address is none.
    """

    isolates = True

    def __init__(self, engine: Mapping[str, Any], jobs: int, *, quiet: bool = False) -> None:
        if find_spec("distributed") is None:
            raise InputError("engine.backend=dask needs Dask, which is not installed; pip install 'simlab[dask]'")
        self.workers = jobs
        address = engine.get("scheduler")
        self._place: Place | None = None if address is None else place_of(address)
        self._seconds: float = engine.get("scheduler_seconds") or 60.0
        self._say = (lambda _: None) if quiet else _said
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="simlab-dask", daemon=True)
        self._quiet = ExitStack()
        self._session: Session | None = None
        self._begun = False

    def __enter__(self) -> Cluster:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(Exception):
            self._do(self._leave()).result(ENDING_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(ENDING_SECONDS)
        if not self._thread.is_alive():
            self._loop.close()
        self._quiet.close()

    def begin(self, configs: Iterable[Config]) -> None:
        """Find the scheduler and its workers, and what they have; raise InputError where that will not do."""
        beginning = self._do(self._ready(needs_of(configs)))
        try:
            beginning.result()
        finally:
            beginning.cancel()

    def results(
        self, block: BlockFunction, tasks: Sequence[Task], limits: Limits, *, alone: bool = False
    ) -> Generator[tuple[Finished, ...] | Died, None, None]:
        """Yield blocks as they are finished, by bundles, and those whose process died.

        Raises InputError where there is no scheduler, or no worker, that can carry them out.
        """
        came: SimpleQueue[tuple[Finished, ...] | Died | BaseException | None] = SimpleQueue()
        pile = Pile(Work(block, limits, os.getcwd()), tasks, alone, came)
        dealing = self._do(self._deal(pile))
        dealing.add_done_callback(lambda _: came.put(None))
        try:
            with interrupts_told(lambda: came.put(KeyboardInterrupt())):
                while (one := came.get()) is not None:
                    if isinstance(one, BaseException):
                        raise one
                    yield one
                    self._loop.call_soon_threadsafe(pile.taken)
                dealing.result()
        finally:
            self._loop.call_soon_threadsafe(dealing.cancel)

    def _do(self, coroutine: Coroutine[Any, Any, Value]) -> Future[Value]:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    async def _ready(self, needs: Needs) -> None:
        from simlab.engine.backends.sessions import Gone

        session = await self._entered(needs)
        # Where it is gone by now is for those to find who have blocks to hand out.
        with suppress(Gone):
            self.workers = sum((await session.workers()).values()) or self.workers

    async def _deal(self, pile: Pile) -> None:
        """Have all blocks carried out, also where the scheduler is another one in the meantime."""
        from simlab.engine.backends.sessions import Gone

        needs = needs_of(task.config for task in pile.tasks)
        while not pile.done:
            try:
                session = await self._entered(needs)
                await self._dealt(session, pile)
            except Gone:
                await self._leave()
                self._say(f"the connection with the scheduler {self._place} is lost; trying again")

    async def _entered(self, needs: Needs) -> Session:
        """Return a session whose workers have what blocks need."""
        from simlab.engine.backends.sessions import begin_here, begin_with

        if not self._begun:
            self._quiet.enter_context(quiet())
        if (
            self._session is not None
            and self._session.needs is not None
            and needs | self._session.needs != self._session.needs
        ):
            needs |= self._session.needs
            await self._leave()
        waiting = Waiting(self._seconds, self._say)
        while self._session is None:
            try:
                begin = (
                    begin_here(self.workers, self._say)
                    if self._place is None
                    else begin_with(self._place, waiting, self._say, needs)
                )
                self._session = await begin
            except InputError as error:
                if not self._begun:
                    raise
                if waiting.over(f"the scheduler {self._place}"):
                    raise InputError(f"{error}; {GOES_ON}") from None
                await asyncio.sleep(LOOK_SECONDS)
        self._begun = True
        return self._session

    async def _leave(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.leave()

    async def _dealt(self, session: Session, pile: Pile) -> None:
        """Keep a lane for each place of each worker, as they come and go, until all is done."""
        hands: dict[str, Hand] = {}
        waiting = Waiting(self._seconds, self._say)
        try:
            while not pile.done:
                there = await session.workers()
                if there:
                    waiting = Waiting(self._seconds, self._say)
                elif waiting.over(f"workers of the scheduler {session.name}"):
                    raise InputError(
                        f"engine.scheduler={session.name} has had no worker that can be used for {self._seconds:g} s "
                        f"(engine.scheduler_seconds); {GOES_ON}"
                    )
                for worker in sorted(hands.keys() - there.keys()):
                    if hands[worker].out:
                        self._say(f"the worker {worker} is gone, or silent; others carry out the blocks that it had")
                    _let_go(hands.pop(worker))
                new = [Hand(worker, threads) for worker, threads in there.items() if worker not in hands]
                # One bundle for each place before a second for any.
                for _ in range(AHEAD):
                    for hand in new:
                        hand.lanes += [
                            asyncio.ensure_future(self._lane(session, hand, pile)) for _ in range(hand.threads)
                        ]
                hands |= {hand.worker: hand for hand in new}
                pile.shared_by(AHEAD * sum(there.values()))
                if pile.dealt:
                    _even_out(hands.values())
                await pile.finished(max(LOOK_SECONDS, len(there) / WORKERS_A_SECOND))
                _raise_what_ended(hands.values())
        finally:
            lanes = [lane for hand in hands.values() for lane in hand.lanes]
            for lane in lanes:
                lane.cancel()
            await asyncio.gather(*lanes, return_exceptions=True)

    async def _lane(self, session: Session, hand: Hand, pile: Pile) -> None:
        """Have a worker carry out one bundle after the other."""
        from simlab.engine.backends.sessions import Gone

        while True:
            bundle = await pile.take()
            start, work = pile.work.start(session.started_for), pile.work.of(bundle)
            carrying = asyncio.ensure_future(session.carry(hand.worker, start, work))
            hand.out.append(carrying)
            try:
                answer = await carrying
                hand.fails = 0
                await pile.came_back(bundle, answer)
            except asyncio.CancelledError:
                if hand.gone:
                    await pile.lost(bundle)
                else:
                    pile.back(bundle)
                if _asked_to_end():
                    raise
            except Gone:
                pile.back(bundle)
                raise
            except Exception as error:
                pile.back(bundle)
                hand.fails += 1
                if hand.fails >= FAILS_AT_MOST:
                    session.leave_out(hand.worker, f"cannot carry out blocks ({type(error).__name__}: {error})")
                    return
                await asyncio.sleep(LOOK_SECONDS)
            finally:
                carrying.cancel()
                hand.out.remove(carrying)


def _asked_to_end() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _let_go(hand: Hand) -> None:
    """End the lanes of a worker that has gone away; what it had under way is lost."""
    hand.gone = True
    for lane in hand.lanes:
        lane.cancel()


def _raise_what_ended(hands: Iterable[Hand]) -> None:
    for hand in hands:
        for lane in hand.lanes:
            if lane.done() and not lane.cancelled():
                lane.result()


def _even_out(hands: Collection[Hand]) -> None:
    """Take from workers that have bundles waiting, where others have nothing to do, one for each of their places."""
    idle = sum(max(hand.threads - len(hand.out), 0) for hand in hands)
    for hand in sorted(hands, key=lambda hand: hand.threads - len(hand.out))[:idle]:
        if len(hand.out) > hand.threads:
            hand.out[-1].cancel()


def _said(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
