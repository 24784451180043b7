"""Carry out blocks in one process that is spoken with by a pipe, where there are no semaphores for a pool."""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Generator, Sequence

from simlab.engine.addresses import Finished
from simlab.engine.backends import Died
from simlab.engine.backends.carrying import Child
from simlab.engine.backends.interrupts import interrupts_told
from simlab.engine.bundles import Bundles
from simlab.engine.limits import Limits, manner_of_exit
from simlab.engine.workers import BlockFunction, Carried, Task


def results_of_one(
    block: BlockFunction, tasks: Sequence[Task], limits: Limits
) -> Generator[tuple[Finished, ...] | Died, None, None]:
    """Yield blocks as they are finished, by bundles; the first that dies is the end."""
    # As a pool pickles them, so that functions that cannot be imported come along.
    from joblib.externals.loky.backend.reduction import dumps

    start, interrupted = pickle.dumps((limits, None)), threading.Event()
    bundles, here = Bundles(tasks, 1, limits), os.getcwd()
    with interrupts_told(interrupted.set):
        child = Child(start)
        try:
            while bundle := bundles.next():
                if not child.alive():
                    # It leaves when nobody needs it for long, such as while a store is written.
                    child = Child(start)
                asked = bytes(dumps((limits, here, block, bundle)))
                try:
                    answer = child.answer(asked, lambda: not interrupted.is_set())
                except RuntimeError:
                    raise KeyboardInterrupt from None
                if isinstance(answer, int):
                    yield Died(tuple(task.address for task in bundle), manner_of_exit(answer, limits))
                    return
                carried: Carried | str = pickle.loads(answer)  # noqa: S301 (from a process that was started here)
                if isinstance(carried, str):
                    raise RuntimeError(carried)
                bundles.took(carried)
                yield carried.finished
        finally:
            child.end()
