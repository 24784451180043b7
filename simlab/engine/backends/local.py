"""Carry out blocks in processes of this machine: joblib deals bundles to threads, and each has a child work on them."""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from typing import Any

from simlab.engine.addresses import Finished
from simlab.engine.backends import Died
from simlab.engine.backends.children import GRACE_SECONDS, asking, carry, read, started_for
from simlab.engine.backends.interrupts import interrupts_told
from simlab.engine.bundles import Bundles
from simlab.engine.limits import Limits, manner_of_exit
from simlab.engine.workers import BlockFunction, Carried, Config, Task, work_within

AHEAD = 2
"""Bundles of blocks that are handed out, by worker: one is computed while the next lies ready."""


class Local:
    """Carry out blocks in so many processes of this machine."""

    def __init__(self, workers: int, *, quiet: bool = False) -> None:
        from joblib import effective_n_jobs, parallel_config

        with parallel_config(backend="threading"):
            self.workers = effective_n_jobs(workers)
        if self.workers < workers and not quiet:
            line = "the system gives out no semaphores; blocks are carried out one after the other"
            print(line, file=sys.stderr, flush=True)

    def begin(self, configs: Iterable[Config]) -> None:
        """Do nothing: processes are started for blocks."""

    def results(
        self, block: BlockFunction, tasks: Sequence[Task], limits: Limits, *, alone: bool = False
    ) -> Generator[tuple[Finished, ...] | Died, None, None]:
        """Yield blocks as they are finished, by bundles, and those whose process died.

        Whoever leaves early, by an exception or Ctrl-C, which is heard between blocks, leaves nothing behind that
        computes on.
        """
        from joblib import Parallel, delayed

        # One that is alone has all memory to itself.
        workers = 1 if alone else self.workers
        bundles = Bundles(tasks, AHEAD * workers, limits, alone=alone)
        start = started_for(limits, _surroundings({name for task in tasks for name in task.config.get("plugins", ())}))
        seconds = None if limits.seconds is None else limits.seconds + GRACE_SECONDS
        enough = threading.Event()

        def carried(bundle: list[Task]) -> tuple[list[Task], bytes | int]:
            asked = asking(work_within, limits, block, bundle)
            return bundle, carry(start, asked, lambda: not enough.is_set(), seconds)

        def dealt() -> Iterator[Any]:
            while not enough.is_set() and (bundle := bundles.next()):
                yield delayed(carried)(bundle)

        # Threads only wait for children: a block that dies would take the driver along, which alone writes.
        deal = Parallel(
            workers,
            backend="threading",
            return_as="generator_unordered",
            batch_size=1,
            pre_dispatch=AHEAD * workers,
        )
        with interrupts_told(enough.set):
            came = deal(dealt())
            try:
                for bundle, answer in came:
                    if enough.is_set():
                        # Who took the interruption for a message raises it.
                        return
                    if isinstance(answer, int):
                        yield Died(tuple(task.address for task in bundle), manner_of_exit(answer, limits))
                    else:
                        done: Carried = read(answer)
                        bundles.took(done)
                        yield done.finished
            finally:
                enough.set()
                deque(came, maxlen=0)


def _surroundings(plugins: Collection[str]) -> object:
    """Say where modules are found here, and which modules of plug-ins are loaded, written when."""
    packages = tuple(f"{package}." for package in plugins)
    files = {
        name: path
        for name, module in list(sys.modules.items())
        if packages and f"{name}.".startswith(packages) and (path := getattr(module, "__file__", None))
    }
    written = tuple((name, os.stat(path).st_mtime_ns) for name, path in sorted(files.items()) if os.path.exists(path))
    return tuple(sys.path), written
