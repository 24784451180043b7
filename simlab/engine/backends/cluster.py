"""Execute blocks on the workers of a Dask scheduler (`Cluster`, a `Backend`).

The driver itself assigns each bundle to a worker, so that the bundles of a worker that is gone or silent are assigned
to others, and no bundle is executed twice unless its worker was given up.
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
from simlab.engine.backends.children import GRACE_SECONDS, pickle_call, start_token, unpickle_result
from simlab.engine.backends.interrupts import report_interrupts
from simlab.engine.backends.local import AHEAD
from simlab.engine.backends.scheduler import (
    Requirements,
    SchedulerAddress,
    WaitLimit,
    find_requirements,
    parse_address,
    silence_dask,
)
from simlab.engine.dispatch import Bundles
from simlab.engine.workers import (
    BlockFunction,
    BlockLimits,
    BlockTask,
    BundleResult,
    Config,
    describe_exit,
    work_within,
)
from simlab.types import InputError

if TYPE_CHECKING:
    from simlab.engine.backends.scheduler import Say, Session

POLL_SECONDS = 0.5
"""Seconds between two updates of the list of workers; at least one second per `WORKERS_A_SECOND` workers."""
WORKERS_A_SECOND = 200
MAX_FAILURES = 3
"""Failures in a row, for which no block is to blame, after which a worker is no longer used."""
MAX_LOSSES = 3
"""Most Dask workers that may end while they execute a block before it is blamed."""
GOES_ON = (
    "what is finished is kept, and the same command goes on, also with another engine.scheduler or with "
    "engine.backend=loky"
)


class WorkQueue:
    """The blocks of a call: `bundles` to hand out, bundles that were put back, and the number of blocks `left`."""

    def __init__(self, tasks: Sequence[BlockTask], limits: BlockLimits, *, alone: bool) -> None:
        self.bundles = Bundles(tasks, 1, limits, alone=alone)
        self.left = len(tasks)
        self._returned: deque[list[BlockTask]] = deque()
        self._losses: Counter[Address] = Counter()

    def take_bundle(self) -> list[BlockTask]:
        """Return the next bundle, or an empty one if all are handed out."""
        return self._returned.popleft() if self._returned else self.bundles.take_bundle()

    def put_back(self, bundle: list[BlockTask]) -> None:
        """Take back a bundle that was not executed."""
        self._returned.append(bundle)

    def put_back_lost(self, bundle: list[BlockTask]) -> list[BlockTask]:
        """Take back a bundle whose worker ended, in two halves, so that a deadly block is soon alone.

        Returns the blocks that have lost too many workers; these are not taken back.
        """
        self._losses.update(task.address for task in bundle)
        deadly = [task for task in bundle if self._losses[task.address] > MAX_LOSSES]
        for task in deadly:
            del self._losses[task.address]
        rest = [task for task in bundle if task not in deadly]
        half = -(-len(rest) // 2)
        self._returned.extend(filter(None, (rest[:half], rest[half:])))
        return deadly


class WorkerBundle(NamedTuple):
    """A bundle and the worker that executes it."""

    bundle: list[BlockTask]
    worker: str


class ClusterRun:
    """One call on a cluster: submits bundles, a few ahead for each worker, and collects their results."""

    def __init__(
        self,
        session: Session,
        queue: WorkQueue,
        pickle_bundle: Callable[[Sequence[BlockTask]], bytes],
        limits: BlockLimits,
    ) -> None:
        self._session, self._queue, self._pickle_bundle, self._limits = session, queue, pickle_bundle, limits
        self._start = start_token(limits, session.code)
        self._seconds = None if limits.seconds is None else limits.seconds + GRACE_SECONDS
        self._done: SimpleQueue[Any] = SimpleQueue()
        self._assigned: dict[Any, WorkerBundle] = {}
        self._failures: Counter[str] = Counter()

    def results(self, patience: float, say: Say) -> Generator[tuple[Finished, ...] | Died, None, None]:
        """Yield the results of bundles until no block is left; workers may come and go.

        Raises InputError if no worker can be used for `patience` seconds, Gone if the scheduler is gone.
        """
        waiting, workers, update_at = WaitLimit(patience, say), dict[str, int](), 0.0
        try:
            with report_interrupts(lambda: self._done.put(None)):
                while self._queue.left:
                    if (now := time.monotonic()) >= update_at:
                        workers = self._session.workers()
                        update_at = now + max(POLL_SECONDS, len(workers) / WORKERS_A_SECOND)
                        yield from self._reclaim_lost(workers, say)
                        waiting = WaitLimit(patience, say) if workers else waiting
                        if not workers and waiting.is_over(f"workers of the scheduler {self._session.name}"):
                            raise InputError(
                                f"engine.scheduler={self._session.name} has had no worker that can be used for "
                                f"{patience:g} s (engine.scheduler_seconds); {GOES_ON}"
                            )
                    self._fill_workers(workers)
                    with suppress(Empty):
                        future = self._done.get(timeout=max(update_at - time.monotonic(), 0.01))
                        if future is None:
                            # Interrupted: `report_interrupts` raises KeyboardInterrupt as it is left.
                            return
                        yield from self._collect(future)
        finally:
            for future in list(self._assigned):
                self._queue.put_back(self._release(future).bundle)

    def _fill_workers(self, workers: Mapping[str, int]) -> None:
        """Submit one bundle per thread before a second for any; at the end, move waiting bundles to idle workers."""
        load = Counter(task.worker for task in self._assigned.values())
        self._queue.bundles.shares = max(AHEAD * sum(workers.values()), 1)
        for ahead in range(1, AHEAD + 1):
            for worker, threads in workers.items():
                while load[worker] < ahead * threads and (bundle := self._queue.take_bundle()):
                    self._submit(worker, bundle)
                    load[worker] += 1
        for idle in [worker for worker, threads in workers.items() for _ in range(threads - load[worker])]:
            busiest = max(workers, key=lambda worker: load[worker] - workers[worker])
            if load[busiest] <= workers[busiest]:
                return
            # Its newest bundle is not being executed yet.
            newest = [future for future, task in self._assigned.items() if task.worker == busiest][-1]
            self._submit(idle, self._release(newest).bundle)
            load.update({idle: 1, busiest: -1})

    def _submit(self, worker: str, bundle: list[BlockTask]) -> None:
        future = self._session.submit(worker, self._start, self._pickle_bundle(bundle), self._seconds)
        self._assigned[future] = WorkerBundle(bundle, worker)
        future.add_done_callback(self._done.put)

    def _release(self, future: Any) -> WorkerBundle:
        future.release()
        return self._assigned.pop(future)

    def _reclaim_lost(self, workers: Mapping[str, int], say: Say) -> Iterator[Died]:
        """Put back the bundles of workers that are gone or silent; yield blocks that are to blame."""
        for worker in sorted({task.worker for task in self._assigned.values()} - workers.keys()):
            say(f"the worker {worker} is gone, or silent; others carry out the blocks that it had")
            for future in [future for future, task in self._assigned.items() if task.worker == worker]:
                if deadly := self._queue.put_back_lost(self._release(future).bundle):
                    yield self._count_dead(deadly, f"{MAX_LOSSES + 1} workers of Dask ended while they had it")

    def _collect(self, future: Any) -> Iterator[tuple[Finished, ...] | Died]:
        """Yield the result of a bundle; put back a bundle that its worker could not execute."""
        if future not in self._assigned:
            return
        result = self._session.result(future)
        bundle, worker = self._release(future)
        if isinstance(result, Exception):
            self._queue.put_back(bundle)
            self._failures[worker] += 1
            if self._failures[worker] >= MAX_FAILURES:
                self._session.leave_out(worker, f"cannot carry out blocks ({type(result).__name__}: {result})")
            return
        self._failures[worker] = 0
        if isinstance(result, int):
            yield self._count_dead(bundle, describe_exit(result, self._limits))
        else:
            carried: BundleResult = unpickle_result(result)
            self._queue.bundles.record_times(carried)
            self._queue.left -= len(bundle)
            yield carried.finished

    def _count_dead(self, bundle: Sequence[BlockTask], manner: str) -> Died:
        self._queue.left -= len(bundle)
        return Died(tuple(task.address for task in bundle), manner)


class Cluster:
    """A backend of Dask workers: those of a scheduler or, without an address, threads of a cluster in this process.

    Raises InputError where Dask is not installed, or the address is none.
    """

    def __init__(self, engine: Mapping[str, Any], jobs: int, *, quiet: bool = False) -> None:
        if find_spec("distributed") is None:
            raise InputError("engine.backend=dask needs Dask, which is not installed; pip install 'simlab[dask]'")
        self.workers = jobs
        address = engine.get("scheduler")
        self._address: SchedulerAddress | None = None if address is None else parse_address(address)
        self._seconds: float = engine.get("scheduler_seconds") or 60.0
        self._say = (lambda _: None) if quiet else _print
        self._quiet = ExitStack()
        self._session: Session | None = None
        self._begun = False

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        self._leave()
        self._quiet.close()

    def begin(self, configs: Iterable[Config]) -> None:
        """Connect, and check the code and files of the workers; raise InputError for a mismatch or without a worker."""
        from simlab.engine.backends.scheduler import Gone

        session = self._connect(find_requirements(configs))
        # If it is gone by now, `results` reconnects.
        with suppress(Gone):
            self.workers = sum(session.workers().values()) or self.workers

    def results(
        self, block: BlockFunction, tasks: Sequence[BlockTask], limits: BlockLimits, *, alone: bool = False
    ) -> Generator[tuple[Finished, ...] | Died, None, None]:
        """Yield finished blocks bundle by bundle, and the blocks whose process died.

        Raises InputError if no scheduler, or no worker, can execute them.
        """
        from simlab.engine.backends.scheduler import Gone

        requirements, queue = find_requirements(task.config for task in tasks), WorkQueue(tasks, limits, alone=alone)
        while queue.left:
            try:
                pickle_bundle = partial(pickle_call, work_within, limits, block)
                run = ClusterRun(self._connect(requirements), queue, pickle_bundle, limits)
                yield from run.results(self._seconds, self._say)
            except Gone:
                self._leave()
                self._say(f"the connection with the scheduler {self._address} is lost; trying again")

    def _connect(self, requirements: Requirements) -> Session:
        """Return the session, connecting anew if blocks need more than its workers were checked for."""
        from simlab.engine.backends.scheduler import connect, start_local_cluster

        if not self._begun:
            self._quiet.enter_context(silence_dask())
        if self._session is not None and self._session.requirements is not None:
            requirements |= self._session.requirements
            if requirements != self._session.requirements:
                self._leave()
        waiting = WaitLimit(self._seconds, self._say)
        while self._session is None:
            try:
                self._session = (
                    start_local_cluster(self.workers, self._say)
                    if self._address is None
                    else connect(self._address, waiting, self._say, requirements)
                )
            except InputError as error:
                if not self._begun:
                    raise
                if waiting.is_over(f"the scheduler {self._address}"):
                    raise InputError(f"{error}; {GOES_ON}") from None
                time.sleep(POLL_SECONDS)
        self._begun = True
        return self._session

    def _leave(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.leave()


def _print(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
