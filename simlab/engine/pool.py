"""Hold the worker processes: hand them blocks, take what they finished, end them at once when asked to leave."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, TypeAlias

from simlab.engine.addresses import Address, Finished
from simlab.engine.bundles import Bundles
from simlab.engine.limits import Limits
from simlab.engine.workers import BlockFunction, Carried, Task, guard, work_within
from simlab.processes import descendants

if TYPE_CHECKING:
    from concurrent.futures import Future

AHEAD = 2
"""Bundles of blocks that are handed out, by worker: one is computed while the next lies ready."""
IDLE_SECONDS = 300
ONE_THREAD = dict.fromkeys(
    (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "BLIS_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "NUMBA_NUM_THREADS",
        "NUMEXPR_NUM_THREADS",
    ),
    "1",
)
Surroundings: TypeAlias = tuple[tuple[str, ...], tuple[tuple[str, int], ...]]
"""Path of modules, and the modules of plug-ins with the time when each was written."""

TRACKER_IS_SILENT = "ignore:resource_tracker:UserWarning"


def results(
    block: BlockFunction, group: Sequence[Task], jobs: int, limits: Limits, started: list[Address]
) -> Generator[tuple[Finished, ...], None, None]:
    """Yield blocks as they are finished by worker processes, by bundles; `started` is told which were handed out.

    Raises loky's TerminatedWorkerError where a worker died. Whoever leaves early, by an exception or Ctrl-C, which is
    heard between blocks, leaves no worker behind.
    """
    done: SimpleQueue[Future[Carried] | None] = SimpleQueue()
    with warnings.catch_warnings():
        # A worker that stops, or is stopped, is reported by whoever notices.
        warnings.simplefilter("ignore", UserWarning)
        plugins = {package for task in group for package in task.config.get("plugins", ())}
        with (
            _interrupts_told(lambda: done.put(None)),
            _ended_early(_executor(jobs, len(group), limits, _surroundings(plugins))) as executor,
        ):
            bundles, out, here = Bundles(group, AHEAD * jobs, limits), 0, os.getcwd()
            while True:
                while out < AHEAD * jobs and (bundle := bundles.next()):
                    started += [task.address for task in bundle]
                    with _interrupts_wait():
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
    from joblib.externals.loky import ProcessPoolExecutor, process_executor

    if os.name == "posix":
        # Loky asks a program for descendants that Ctrl-C ends, too, and that is not there on every system.
        process_executor.kill_process_tree = _kill
    _start_trackers()
    # What a dying worker has to say is said in one line by the driver, unless the user wants to see where it was.
    quiet = {} if os.environ.get("PYTHONFAULTHANDLER") else {"PYTHONFAULTHANDLER": ""}
    return ProcessPoolExecutor(
        max_workers=workers,
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


@contextmanager
def _interrupts_told(tell: Callable[[], None]) -> Iterator[None]:
    """Take Ctrl-C as a message: raised anywhere, within loky or a transaction, it would leave locks behind.

    One that comes too late to be taken is raised at the end. Where Ctrl-C has another meaning already, it keeps it.
    """
    if threading.current_thread() is not threading.main_thread() or (
        signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        yield
        return
    heard: list[int] = []

    def hear(number: int, _: object) -> None:
        heard.append(number)
        tell()

    signal.signal(signal.SIGINT, hear)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if heard:
        raise KeyboardInterrupt


@contextmanager
def _interrupts_wait() -> Iterator[None]:
    """Hold Ctrl-C back: what is started meanwhile is deaf to it until it can say itself that it ignores it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
