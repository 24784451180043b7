"""Hand blocks to worker processes; find the block that kills its worker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing

from simlab.engine.addresses import Address, Finished
from simlab.engine.backends import Backend, Died
from simlab.engine.limits import Limits
from simlab.engine.workers import BlockFunction, Task

WORKER_DIED = "worker died"


def dispatch(
    block: BlockFunction,
    tasks: Sequence[Task],
    backend: Backend,
    limits: Limits,
    accept: Callable[[Sequence[Finished]], None],
) -> None:
    """Carry out blocks by a backend and pass them on as they are finished, several at a time, each once.

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
            for one in came:
                if isinstance(one, Died):
                    several = _given_up(one, waiting, deaths, limits.retries if alone else None)
                else:
                    # Where blocks were handed out twice the first result counts.
                    several = [finished for finished in one if finished.address in waiting]
                if several:
                    accept(several)
                for finished in several:
                    del waiting[finished.address]
                    deaths.pop(finished.address, None)


def _given_up(
    died: Died, waiting: dict[Address, Task], deaths: dict[Address, int], retries: int | None
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
