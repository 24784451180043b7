"""Hand blocks to worker processes; find the block that kills its worker."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from simlab.engine.addresses import Address, Finished
from simlab.engine.workers import BlockFunction, guard, work

WORKER_DIED = "worker died"


@dataclass(frozen=True, slots=True)
class Task:
    """Hold a block that is to be carried out."""

    address: Address
    config: Mapping[str, Any]


def dispatch(
    block: BlockFunction, tasks: Sequence[Task], jobs: int, retries: int, accept: Callable[[Finished], None]
) -> None:
    """Carry out blocks in worker processes (one job: in this process) and pass on each one as it is finished.

    A worker that dies takes the whole call down with it. Then the blocks that were under way are suspects: each
    is run again alone, at most `retries` times, and is accepted as failed if its worker dies every time; after
    them the others go on together.
    """
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    waiting = {task.address: task for task in tasks}
    deaths: dict[Address, int] = {}
    while waiting:
        suspect = next(iter(deaths), None)
        group = list(waiting.values()) if suspect is None else [waiting[suspect]]
        started: list[Address] = []
        try:
            # One process for a suspect would be this one, and would die with it.
            for finished in _results(block, group, jobs if suspect is None else 2, started):
                accept(finished)
                del waiting[finished.address]
                deaths.pop(finished.address, None)
        except TerminatedWorkerError:
            for address in started:
                if address in waiting:
                    deaths[address] = deaths.get(address, 0) + 1
        if suspect is not None and deaths.get(suspect, 0) > retries:
            accept(Finished(suspect, reason=f"{WORKER_DIED} ({deaths.pop(suspect)} times)"))
            del waiting[suspect]


def _results(block: BlockFunction, group: Sequence[Task], jobs: int, started: list[Address]) -> Iterator[Finished]:
    """Yield blocks as they are finished; `started` is told which were handed out."""
    from joblib import Parallel, delayed

    def calls() -> Iterator[Any]:
        for task in group:
            started.append(task.address)
            yield delayed(work)(block, task.config, task.address)

    parallel = Parallel(
        n_jobs=jobs,
        backend="loky",
        return_as="generator_unordered",
        batch_size=1,
        max_nbytes=None,
        inner_max_num_threads=1,
        initializer=guard,
        initargs=(os.getpid(),),
    )
    with warnings.catch_warnings(), closing(parallel(calls())) as results:
        # Leaving early (Ctrl-C, a full disk) is reported by whoever leaves, not by joblib.
        warnings.simplefilter("ignore", UserWarning)
        yield from results
