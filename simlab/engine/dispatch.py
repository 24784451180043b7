"""Hand blocks to worker processes; find the block that kills its worker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing

from simlab.engine.addresses import Address, Finished
from simlab.engine.limits import Limits, manner_of_death
from simlab.engine.pool import results
from simlab.engine.workers import BlockFunction, Task

WORKER_DIED = "worker died"


def dispatch(
    block: BlockFunction, tasks: Sequence[Task], jobs: int, limits: Limits, accept: Callable[[Sequence[Finished]], None]
) -> None:
    """Carry out blocks in worker processes and pass them on as they are finished, several at a time.

    A worker that dies, or is ended since it took too long or too much, takes the whole call down with it. Then the
    blocks that were under way are suspects: when all others are done, each is run again alone, at most `retries` times,
    and is accepted as failed if its worker dies every time.
    """
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    waiting = {task.address: task for task in tasks}
    deaths: dict[Address, int] = {}
    while waiting:
        unsuspected = [task for address, task in waiting.items() if address not in deaths]
        group = unsuspected or [waiting[next(iter(deaths))]]
        started: list[Address] = []
        try:
            with closing(results(block, group, jobs, limits, started)) as finished:
                for several in finished:
                    accept(several)
                    for one in several:
                        del waiting[one.address]
                        deaths.pop(one.address, None)
        except TerminatedWorkerError as error:
            for address in started:
                if address in waiting:
                    deaths[address] = deaths.get(address, 0) + 1
            if not unsuspected and deaths[group[0].address] > limits.retries:
                accept([_given_up(group[0].address, deaths.pop(group[0].address), manner_of_death(str(error), limits))])
                del waiting[group[0].address]


def _given_up(address: Address, deaths: int, manner: str) -> Finished:
    how = f", {manner}" if manner else ""
    return Finished(address, reason=f"{WORKER_DIED} ({deaths} times{how})")
