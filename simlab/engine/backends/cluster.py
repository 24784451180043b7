"""Hand bundles to the workers of a Dask scheduler, a few ahead of each, and take what they finished.

Which worker has which bundle is decided and known here, so that one of a worker that has gone away, or is silent, is
handed to another, and none is carried out twice unless its worker was given up.
"""

from __future__ import annotations

import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from importlib.util import find_spec
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple

from simlab.engine.addresses import Address, Finished
from simlab.engine.backends import Died
from simlab.engine.backends.children import GRACE_SECONDS, asking, read, started_for
from simlab.engine.backends.interrupts import interrupts_told
from simlab.engine.backends.local import AHEAD
from simlab.engine.backends.quiet import quiet
from simlab.engine.backends.reaching import Place, Waiting, place_of
from simlab.engine.backends.same import Needs, needs_of
from simlab.engine.bundles import Bundles
from simlab.engine.limits import Limits, manner_of_exit
from simlab.engine.workers import BlockFunction, Carried, Config, Task, work_within
from simlab.types import InputError

if TYPE_CHECKING:
    from simlab.engine.backends.sessions import Say, Session

LOOK_SECONDS = 0.5
"""So often it is looked which workers there are, seldom where they are many."""
WORKERS_A_SECOND = 200
FAILS_AT_MOST = 3
"""A worker that fails so often in a row, other than by a block, is not used any more."""
LOST_AT_MOST = 3
"""A block whose Dask worker ended so often under it, for whatever reason, is none to blame; after that it is."""
GOES_ON = (
    "what is finished is kept, and the same command goes on, also with another engine.scheduler or with "
    "engine.backend=loky"
)


class Pile:
    """Hold the blocks of a call: those to be handed out, those that came back, and how many are `left` to finish."""

    def __init__(self, tasks: Sequence[Task], limits: Limits, *, alone: bool) -> None:
        self.bundles = Bundles(tasks, 1, limits, alone=alone)
        self.left = len(tasks)
        self._back: deque[list[Task]] = deque()
        self._lost: Counter[Address] = Counter()

    def next(self) -> list[Task]:
        """Return a bundle; an empty one where all are handed out."""
        return self._back.popleft() if self._back else self.bundles.next()

    def back(self, bundle: list[Task]) -> None:
        """Take a bundle back that was not begun."""
        self._back.append(bundle)

    def lost(self, bundle: list[Task]) -> list[Task]:
        """Take a bundle back whose worker ended, in halves: a shorter one is sooner out of danger.

        Returns the blocks to which that has happened too often.
        """
        self._lost.update(task.address for task in bundle)
        bad = [task for task in bundle if self._lost[task.address] > LOST_AT_MOST]
        for task in bad:
            del self._lost[task.address]
        good = [task for task in bundle if task not in bad]
        half = -(-len(good) // 2)
        self._back.extend(filter(None, (good[:half], good[half:])))
        return bad


class Out(NamedTuple):
    """Hold a bundle that is handed out, and the worker that has it."""

    bundle: list[Task]
    worker: str


class Dealing:
    """Hand the bundles of a pile to the workers of a session, a few ahead of each, and take what became of them."""

    def __init__(self, session: Session, pile: Pile, asked: Callable[[Sequence[Task]], bytes], limits: Limits) -> None:
        self._session, self._pile, self._asked, self._limits = session, pile, asked, limits
        self._start = started_for(limits, session.code)
        self._seconds = None if limits.seconds is None else limits.seconds + GRACE_SECONDS
        self._came: SimpleQueue[Any] = SimpleQueue()
        self._out: dict[Any, Out] = {}
        self._fails: Counter[str] = Counter()

    def results(self, patience: float, say: Say) -> Generator[tuple[Finished, ...] | Died, None, None]:
        """Keep the workers busy, as they come and go, until all is done; yield what became of bundles.

        Raises InputError where there is no worker for longer than the seconds of `patience`, Gone where the scheduler
        is not there any more.
        """
        waiting, there, look_at = Waiting(patience, say), dict[str, int](), 0.0
        try:
            with interrupts_told(lambda: self._came.put(None)):
                while self._pile.left:
                    if (now := time.monotonic()) >= look_at:
                        there = self._session.workers()
                        look_at = now + max(LOOK_SECONDS, len(there) / WORKERS_A_SECOND)
                        yield from self._given_up(there, say)
                        waiting = Waiting(patience, say) if there else waiting
                        if not there and waiting.over(f"workers of the scheduler {self._session.name}"):
                            raise InputError(
                                f"engine.scheduler={self._session.name} has had no worker that can be used for "
                                f"{patience:g} s (engine.scheduler_seconds); {GOES_ON}"
                            )
                    self._hand_out(there)
                    with suppress(Empty):
                        future = self._came.get(timeout=max(look_at - time.monotonic(), 0.01))
                        if future is None:
                            # Who took the interruption for a message raises it.
                            return
                        yield from self._finished(future)
        finally:
            for future in list(self._out):
                self._pile.back(self._taken(future).bundle)

    def _hand_out(self, there: Mapping[str, int]) -> None:
        """Hand out one bundle for each place of a worker before a second for any; even out what is left at the end."""
        load = Counter(one.worker for one in self._out.values())
        self._pile.bundles.shares = max(AHEAD * sum(there.values()), 1)
        for ahead in range(1, AHEAD + 1):
            for worker, threads in there.items():
                while load[worker] < ahead * threads and (bundle := self._pile.next()):
                    self._hand(worker, bundle)
                    load[worker] += 1
        for idle in [worker for worker, threads in there.items() for _ in range(threads - load[worker])]:
            most = max(there, key=lambda worker: load[worker] - there[worker])
            if load[most] <= there[most]:
                return
            # The newest has not been begun.
            newest = [future for future, one in self._out.items() if one.worker == most][-1]
            self._hand(idle, self._taken(newest).bundle)
            load.update({idle: 1, most: -1})

    def _hand(self, worker: str, bundle: list[Task]) -> None:
        future = self._session.submit(worker, self._start, self._asked(bundle), self._seconds)
        self._out[future] = Out(bundle, worker)
        future.add_done_callback(self._came.put)

    def _taken(self, future: Any) -> Out:
        future.release()
        return self._out.pop(future)

    def _given_up(self, there: Mapping[str, int], say: Say) -> Iterator[Died]:
        """Take back what workers had that are gone, or silent."""
        for worker in sorted({one.worker for one in self._out.values()} - there.keys()):
            say(f"the worker {worker} is gone, or silent; others carry out the blocks that it had")
            for future in [future for future, one in self._out.items() if one.worker == worker]:
                if bad := self._pile.lost(self._taken(future).bundle):
                    yield self._died(bad, f"{LOST_AT_MOST + 1} workers of Dask ended while they had it")

    def _finished(self, future: Any) -> Iterator[tuple[Finished, ...] | Died]:
        """Say what became of a bundle: one that a worker could not carry out goes back."""
        if future not in self._out:
            return
        answer = self._session.answer(future)
        bundle, worker = self._taken(future)
        if isinstance(answer, Exception):
            self._pile.back(bundle)
            self._fails[worker] += 1
            if self._fails[worker] >= FAILS_AT_MOST:
                self._session.leave_out(worker, f"cannot carry out blocks ({type(answer).__name__}: {answer})")
            return
        self._fails[worker] = 0
        if isinstance(answer, int):
            yield self._died(bundle, manner_of_exit(answer, self._limits))
        else:
            done: Carried = read(answer)
            self._pile.bundles.took(done)
            self._pile.left -= len(bundle)
            yield done.finished

    def _died(self, bundle: Sequence[Task], manner: str) -> Died:
        self._pile.left -= len(bundle)
        return Died(tuple(task.address for task in bundle), manner)


class Cluster:
    """Carry out blocks by the workers of a scheduler, or, without an address, by some that are started here.

    Raises InputError where Dask is not installed, or the address is none.
    """

    def __init__(self, engine: Mapping[str, Any], jobs: int, *, quiet: bool = False) -> None:
        if find_spec("distributed") is None:
            raise InputError("engine.backend=dask needs Dask, which is not installed; pip install 'simlab[dask]'")
        self.workers = jobs
        address = engine.get("scheduler")
        self._place: Place | None = None if address is None else place_of(address)
        self._seconds: float = engine.get("scheduler_seconds") or 60.0
        self._say = (lambda _: None) if quiet else _said
        self._quiet = ExitStack()
        self._session: Session | None = None
        self._begun = False

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        self._leave()
        self._quiet.close()

    def begin(self, configs: Iterable[Config]) -> None:
        """Find the scheduler and its workers, and what they have; raise InputError where that will not do."""
        from simlab.engine.backends.sessions import Gone

        session = self._entered(needs_of(configs))
        # Where it is gone by now is for those to find who have blocks to hand out.
        with suppress(Gone):
            self.workers = sum(session.workers().values()) or self.workers

    def results(
        self, block: BlockFunction, tasks: Sequence[Task], limits: Limits, *, alone: bool = False
    ) -> Generator[tuple[Finished, ...] | Died, None, None]:
        """Yield blocks as they are finished, by bundles, and those whose process died.

        Raises InputError where there is no scheduler, or no worker, that can carry them out.
        """
        from simlab.engine.backends.sessions import Gone

        needs, pile = needs_of(task.config for task in tasks), Pile(tasks, limits, alone=alone)
        while pile.left:
            try:
                dealing = Dealing(self._entered(needs), pile, partial(asking, work_within, limits, block), limits)
                yield from dealing.results(self._seconds, self._say)
            except Gone:
                self._leave()
                self._say(f"the connection with the scheduler {self._place} is lost; trying again")

    def _entered(self, needs: Needs) -> Session:
        """Return a session whose workers have what blocks need."""
        from simlab.engine.backends.sessions import begin_here, begin_with

        if not self._begun:
            self._quiet.enter_context(quiet())
        if self._session is not None and self._session.needs is not None and needs | self._session.needs != needs:
            needs |= self._session.needs
        if self._session is not None and self._session.needs not in (None, needs):
            self._leave()
        waiting = Waiting(self._seconds, self._say)
        while self._session is None:
            try:
                self._session = (
                    begin_here(self.workers, self._say)
                    if self._place is None
                    else begin_with(self._place, waiting, self._say, needs)
                )
            except InputError as error:
                if not self._begun:
                    raise
                if waiting.over(f"the scheduler {self._place}"):
                    raise InputError(f"{error}; {GOES_ON}") from None
                time.sleep(LOOK_SECONDS)
        self._begun = True
        return self._session

    def _leave(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.leave()


def _said(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
