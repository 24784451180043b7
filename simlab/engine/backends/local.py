"""Hold the worker processes: hand them blocks, take what they finished, end them at once when asked to leave."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import warnings
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, TypeAlias

from simlab.engine.addresses import Address, Finished
from simlab.engine.backends import Died
from simlab.engine.backends.alone import results_of_one
from simlab.engine.backends.interrupts import interrupts_told, interrupts_wait
from simlab.engine.bundles import Bundles
from simlab.engine.limits import Limits, manner_of_death
from simlab.engine.pools import NoSemaphores, start_pool
from simlab.engine.threads import ONE_THREAD
from simlab.engine.workers import BlockFunction, Carried, Config, Task, guard, work_within
from simlab.processes import descendants

if TYPE_CHECKING:
    from concurrent.futures import Future

AHEAD = 2
"""Bundles of blocks that are handed out, by worker: one is computed while the next lies ready."""
IDLE_SECONDS = 300
Surroundings: TypeAlias = tuple[tuple[str, ...], tuple[tuple[str, int], ...]]
"""Path of modules, and the modules of plug-ins with the time when each was written."""

TRACKER_IS_SILENT = "ignore:resource_tracker:UserWarning"


class Local:
    """Carry out blocks in so many processes of this machine."""

    isolates = False

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def begin(self, configs: Iterable[Config]) -> None:
        """Do nothing: processes are started for blocks."""

    def results(
        self, block: BlockFunction, tasks: Sequence[Task], limits: Limits, *, alone: bool = False
    ) -> Generator[tuple[Finished, ...] | Died, None, None]:
        """Yield blocks as they are finished by worker processes, by bundles.

        A worker that dies takes the whole call down with it: then all that were handed out are yielded, as dead, and
        that is the end. Whoever leaves early, by an exception or Ctrl-C, which is heard between blocks, leaves no
        worker behind.
        """
        from joblib.externals.loky.process_executor import TerminatedWorkerError

        started: dict[Address, None] = {}
        try:
            with closing(_results(block, tasks, self.workers, limits, started)) as came:
                for several in came:
                    for one in several:
                        del started[one.address]
                    yield several
        except TerminatedWorkerError as error:
            yield Died(tuple(started), manner_of_death(str(error), limits))
        except NoSemaphores:
            if self.workers > 1:
                raise
            yield from results_of_one(block, tasks, limits)


def _results(
    block: BlockFunction, group: Sequence[Task], jobs: int, limits: Limits, started: dict[Address, None]
) -> Generator[tuple[Finished, ...], None, None]:
    """Yield blocks as they are finished; `started` is told which were handed out."""
    done: SimpleQueue[Future[Carried] | None] = SimpleQueue()
    with warnings.catch_warnings():
        # A worker that stops, or is stopped, is reported by whoever notices.
        warnings.simplefilter("ignore", UserWarning)
        plugins = {package for task in group for package in task.config.get("plugins", ())}
        with (
            interrupts_told(lambda: done.put(None)),
            _ended_early(_executor(jobs, len(group), limits, _surroundings(plugins))) as executor,
        ):
            bundles, out, here = Bundles(group, AHEAD * jobs, limits), 0, os.getcwd()
            while True:
                while out < AHEAD * jobs and (bundle := bundles.next()):
                    started.update((task.address, None) for task in bundle)
                    with interrupts_wait():
                        future = executor.submit(work_within, limits, here, block, bundle)
                    future.add_done_callback(done.put)
                    out += 1
                if not out:
                    return
                finished = done.get()
                if finished is None:
                    raise KeyboardInterrupt
                out -= 1
                carried = finished.result()
                bundles.took(carried)
                yield carried.finished


@dataclass(frozen=True, slots=True)
class _Kept:
    """Hold worker processes for the next call: how many there are, and what they were started for."""

    executor: Any
    workers: int
    started_for: tuple[int, Limits, Surroundings]

    def serves(self, jobs: int, tasks: int, started_for: tuple[int, Limits, Surroundings]) -> bool:
        """Tell whether they can serve another call: alive, enough and not too many, in the same surroundings."""
        flags = self.executor._flags
        alive = flags.broken is None and not flags.shutdown
        return alive and min(jobs, tasks) <= self.workers <= jobs and self.started_for == started_for


_kept: _Kept | None = None


def _executor(jobs: int, tasks: int, limits: Limits, surroundings: Surroundings) -> Any:
    """Return worker processes, those of the call before if they serve: to start one takes a second.

    They are kept here, not by loky, whose own keeping joblib shares: it would take them for those of a fit.
    """
    global _kept
    started_for = (os.getpid(), limits, surroundings)
    if _kept is not None and not _kept.serves(jobs, tasks, started_for):
        if _kept.started_for[0] == os.getpid():
            _end(_kept.executor)
        _kept = None
    if _kept is None:
        workers = min(jobs, tasks)
        _kept = _Kept(_started(workers, limits, surroundings), workers, started_for)
        # At the very end of Python an executor that is let go of would complain that its module is gone.
        atexit.unregister(_let_go)
        atexit.register(_let_go)
    return _kept.executor


def _let_go() -> None:
    """End the workers that are kept."""
    global _kept
    if _kept is not None and _kept.started_for[0] == os.getpid():
        _end(_kept.executor)
    _kept = None


def _started(workers: int, limits: Limits, surroundings: Surroundings) -> Any:
    from joblib.externals.loky import process_executor

    if os.name == "posix":
        # Loky asks a program for descendants that Ctrl-C ends, too, and that is not there on every system.
        process_executor.kill_process_tree = _kill
    _start_trackers()
    # What a dying worker has to say is said in one line by the driver, unless the user wants to see where it was.
    quiet = {} if os.environ.get("PYTHONFAULTHANDLER") else {"PYTHONFAULTHANDLER": ""}
    return start_pool(
        workers,
        timeout=IDLE_SECONDS,
        initializer=guard,
        initargs=(os.getpid(), limits, surroundings),
        env={**ONE_THREAD, **quiet},
    )


def _surroundings(plugins: Collection[str]) -> Surroundings:
    """Say where modules are found here, and which modules of plug-ins are loaded, written when."""
    packages = tuple(f"{package}." for package in plugins)
    files = {
        name: path
        for name, module in list(sys.modules.items())
        if packages and f"{name}.".startswith(packages) and (path := getattr(module, "__file__", None))
    }
    written = tuple((name, os.stat(path).st_mtime_ns) for name, path in sorted(files.items()) if os.path.exists(path))
    return tuple(sys.path), written


def _start_trackers() -> None:
    """Start the processes that remove semaphores once all others are gone; they shall do so without a word.

    Whoever starts the second lets go of Ctrl-C where it was held back, so that it is started before any worker is.
    """
    from multiprocessing import resource_tracker

    from joblib.externals.loky.backend.resource_tracker import ensure_running

    before = list(sys.warnoptions)
    sys.warnoptions.append(TRACKER_IS_SILENT)
    try:
        ensure_running()
        resource_tracker.ensure_running()
    finally:
        sys.warnoptions[:] = before


@contextmanager
def _ended_early(executor: Any) -> Iterator[Any]:
    """Kill the workers of whoever does not come to the end."""
    try:
        yield executor
    except BaseException:
        _end(executor)
        raise


def _end(executor: Any) -> None:
    """End workers at once, also where loky's thread that looks after them stumbles over what is ended under it."""
    workers, hook = list((executor._processes or {}).values()), threading.excepthook

    def silent(args: threading.ExceptHookArgs) -> None:
        if args.thread is None or not args.thread.name.startswith("ExecutorManagerThread"):
            hook(args)

    threading.excepthook = silent
    try:
        executor.shutdown(wait=True, kill_workers=True)
    finally:
        threading.excepthook = hook
    for worker in workers:
        if worker.is_alive():
            _kill(worker)


def _kill(worker: Any, use_psutil: bool = True) -> None:
    """Kill a worker and what it started, and wait for its end."""
    for process in (worker.pid, *descendants(worker.pid)):
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    worker.join()
