"""Execute blocks in processes of this machine: joblib hands bundles to threads, and each thread to a child process."""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from typing import Any

from simlab.engine.addresses import Finished
from simlab.engine.backends import Died
from simlab.engine.backends.children import GRACE_SECONDS, pickle_call, run_in_child, start_token, unpickle_result
from simlab.engine.backends.interrupts import report_interrupts
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

AHEAD = 2
"""Bundles handed out per worker: one is executed while the next is ready."""


class Local:
    """A backend of child processes on this machine; `workers` of them run at a time."""

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
        self, block: BlockFunction, tasks: Sequence[BlockTask], limits: BlockLimits, *, alone: bool = False
    ) -> Generator[tuple[Finished, ...] | Died, None, None]:
        """Yield finished blocks bundle by bundle, and the blocks whose process died.

        After an exception or Ctrl-C, which takes effect between blocks, no child computes on.
        """
        from joblib import Parallel, delayed

        # A suspect that runs alone has all memory to itself.
        workers = 1 if alone else self.workers
        bundles = Bundles(tasks, AHEAD * workers, limits, alone=alone)
        start = start_token(limits, _code_state({name for task in tasks for name in task.config.get("plugins", ())}))
        seconds = None if limits.seconds is None else limits.seconds + GRACE_SECONDS
        stopped = threading.Event()

        def execute(bundle: list[BlockTask]) -> tuple[list[BlockTask], bytes | int]:
            request = pickle_call(work_within, limits, block, bundle)
            return bundle, run_in_child(start, request, lambda: not stopped.is_set(), seconds)

        def calls() -> Iterator[Any]:
            while not stopped.is_set() and (bundle := bundles.take_bundle()):
                yield delayed(execute)(bundle)

        # No block runs in these threads: one that kills its process would kill the driver, the only writer.
        parallel = Parallel(
            workers,
            backend="threading",
            return_as="generator_unordered",
            batch_size=1,
            pre_dispatch=AHEAD * workers,
        )
        with report_interrupts(stopped.set):
            results = parallel(calls())
            try:
                for bundle, result in results:
                    if stopped.is_set():
                        # Interrupted: `report_interrupts` raises KeyboardInterrupt as it is left.
                        return
                    if isinstance(result, int):
                        yield Died(tuple(task.address for task in bundle), describe_exit(result, limits))
                    else:
                        carried: BundleResult = unpickle_result(result)
                        bundles.record_times(carried)
                        yield carried.finished
            finally:
                stopped.set()
                deque(results, maxlen=0)


def _code_state(plugins: Collection[str]) -> object:
    """Return the module path and the modification times of loaded plug-in modules."""
    packages = tuple(f"{package}." for package in plugins)
    files = {
        name: path
        for name, module in list(sys.modules.items())
        if packages and f"{name}.".startswith(packages) and (path := getattr(module, "__file__", None))
    }
    written = tuple((name, os.stat(path).st_mtime_ns) for name, path in sorted(files.items()) if os.path.exists(path))
    return tuple(sys.path), written
