"""Carry out blocks, in the driver or in a worker process, within limits of time and memory.

`work` takes a block function, a config and an address, and returns a `Finished`; `work_within` does so for the bundle
of tasks of a worker process, which ends where a limit is exceeded.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import groupby
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from threadpoolctl import ThreadpoolController

from simlab.config.sections import parse_bytes
from simlab.engine.addresses import Address, Finished, pack
from simlab.types import Array, Place

OUT_OF_MEMORY = 77
"""Exit code of a worker that was refused memory."""

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
"""Environment variables that keep the numerical libraries of a new process on one thread."""

HEARTBEAT_SECONDS = 0.5
TURNS = 4
"""Most times as long as planned that a bundle may take, where a processor is shared."""
REASON_LENGTH = 300
Config = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class BlockLimits:
    """Seconds that a block may take, the memory that a worker may hold, as typed, and how often to retry."""

    seconds: float | None = None
    memory: str | None = None
    retries: int = 2


def read_limits(engine: Mapping[str, Any]) -> BlockLimits:
    """Read the limits from the settings of an engine; those that are not set are None."""
    return BlockLimits(engine.get("block_seconds"), engine.get("worker_memory"), engine["retries"])


def bound_memory(limits: BlockLimits) -> None:
    """Let the system refuse this process more memory than it may hold, where the system knows how.

    What is bounded is data (RLIMIT_DATA), not addresses, of which some libraries reserve far more than they use.
    """
    if limits.memory is not None and os.name == "posix":
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        wanted = parse_bytes(limits.memory)
        # A hard limit cannot be exceeded; -1 says that there is none.
        resource.setrlimit(resource.RLIMIT_DATA, (wanted if most < 0 else min(wanted, most), most))


def start_clock(limits: BlockLimits) -> None:
    """Have this process ended once `limits.seconds`, if set, are over.

    The system does it, by a signal that nobody handles: a block may hang where no line of Python is reached.
    """
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, limits.seconds or 0.0)


def stop_clock() -> None:
    """End the time limit that `start_clock` set."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, 0.0)


def describe_exit(code: int, limits: BlockLimits) -> str:
    """State how a worker ended, given its exit code: that of a signal is negative.

    >>> describe_exit(-9, BlockLimits()), describe_exit(3, BlockLimits())
    ('killed by SIGKILL', 'exit code 3')
    """
    if code == OUT_OF_MEMORY:
        return f"needs more than engine.worker_memory={limits.memory}"
    if code == -getattr(signal, "SIGALRM", 0):
        return f"took longer than engine.block_seconds={limits.seconds:g}"
    return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


@contextmanager
def one_thread() -> Iterator[None]:
    """Let the numerical libraries that are loaded compute on one thread within this context."""
    with _find_libraries(len(sys.modules)).limit(limits=1):
        yield


@lru_cache(maxsize=1)
def _find_libraries(modules: int) -> Any:
    """Find the libraries that have threads; they are looked for again, which takes milliseconds, after an import."""
    return ThreadpoolController()


class BlockLike(Protocol):
    """Protocol of `simlab.studies.blocks.Block`."""

    @property
    def arrays(self) -> Mapping[str, Array]:
        """Outcome arrays, studies first."""

    @property
    def failures(self) -> list[tuple[int, str]]:
        """(index in the block, reason) of the studies whose design failed."""


BlockFunction = Callable[[Config, Sequence[Place]], BlockLike]
Ended = BlockLike | Exception | SystemExit
BlocksFunction = Callable[[Sequence[Config], Sequence[Place]], Sequence[Ended]]
"""Carry out blocks of several cells at the same places; where one fails, return why in its place."""


@runtime_checkable
class Together(Protocol):
    """A `BlockFunction` that can also carry out blocks of several cells together."""

    def run_together(self, configs: Sequence[Config], places: Sequence[Place]) -> Sequence[Ended]:
        """Carry out a block in each cell, at the same places; where one fails, return why in its place."""


@dataclass(frozen=True, slots=True)
class BlockTask:
    """Task of a worker: a block that is to be carried out."""

    address: Address
    config: Config


class BundleResult(NamedTuple):
    """Results of the blocks of a bundle, and the seconds that it took."""

    finished: tuple[Finished, ...]
    seconds: float


def work(block: BlockFunction, config: Config, address: Address) -> Finished:
    """Carry out a block; an exception becomes its reason for failing.

    Linear algebra runs on one thread here and in the driver: the last bits of a matrix product depend on how many.
    """
    # What is no number fails its campaign and says so; numpy's warnings would say it again, without the address.
    with one_thread(), np.errstate(all="ignore"):
        return _run_and_pack(address, lambda: block(config, address.places))


def work_together(block: BlockFunction, tasks: Sequence[BlockTask]) -> list[Finished]:
    """Carry out several blocks; those of the same places together, where the function can do that."""
    finished: list[Finished] = []
    for _, group in groupby(tasks, key=lambda task: task.address.order):
        members, began = list(group), time.monotonic()
        done = _run_places(block, members, members[0].address.places)
        # What each of several cells took nobody knows; they come together again.
        seconds = (time.monotonic() - began) / len(members)
        finished += [replace(block, seconds=seconds) for block in done]
    return finished


def _run_places(block: BlockFunction, tasks: Sequence[BlockTask], places: Sequence[Place]) -> list[Finished]:
    if len(tasks) == 1 or not isinstance(block, Together):
        return [work(block, task.config, task.address) for task in tasks]
    with one_thread(), np.errstate(all="ignore"):
        ended = block.run_together([task.config for task in tasks], places)
    return [_run_and_pack(task.address, partial(_return_or_raise, one)) for task, one in zip(tasks, ended, strict=True)]


def _run_and_pack(address: Address, carry_out: Callable[[], BlockLike]) -> Finished:
    try:
        done = carry_out()
        failures = tuple((address.first + index, _line(reason)) for index, reason in done.failures)
        return Finished(address, pack(done.arrays), failures=failures)
    except (Exception, SystemExit) as error:
        return Finished(address, reason=_line(f"{type(error).__name__}: {error}"))


def _return_or_raise(ended: Ended) -> BlockLike:
    if isinstance(ended, Exception | SystemExit):
        raise ended
    return ended


def work_within(limits: BlockLimits, block: BlockFunction, tasks: Sequence[BlockTask]) -> BundleResult:
    """Carry out a bundle of blocks in a worker process, which ends where the bundle exceeds a limit.

    A block that was refused memory is not believed that it is to blame: others may have left too little. Nor is a
    bundle that takes longer than a block may: its blocks are tried again alone.
    """
    began, computed = time.monotonic(), time.process_time()
    start_clock(limits)
    finished = work_together(block, tasks)
    stop_clock()
    if limits.memory and any(block.reason.startswith(MemoryError.__name__) for block in finished):
        os._exit(OUT_OF_MEMORY)
    # Where others take turns at the processor, it is what this took of it that says how long a bundle is.
    return BundleResult(tuple(finished), max(time.process_time() - computed, (time.monotonic() - began) / TURNS))


def _line(text: str) -> str:
    """Put a reason on one line of bounded length."""
    return " ".join(text.split())[:REASON_LENGTH]


def guard(driver: int, limits: BlockLimits) -> None:
    """Make a new worker die with its driver, leave Ctrl-C to the driver, and bound its memory.

    A killed driver cannot tell its workers, and an orphan would compute on for nobody; so each worker looks
    whether its parent is still the driver. (Asking the kernel to signal the parent's death would fire when the
    *thread* that started the worker ends.)
    """
    _leave_stdout()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    bound_memory(limits)
    threading.Thread(target=_watch, args=(driver,), daemon=True).start()


def _leave_stdout() -> None:
    """Let what parts print, be it from C, go to stderr: stdout holds one answer, which is the driver's to give."""
    with suppress(OSError):
        os.dup2(2, 1)
    sys.stdout = sys.stderr


def _watch(driver: int) -> None:
    while os.getppid() == driver:
        time.sleep(HEARTBEAT_SECONDS)
    os._exit(1)
