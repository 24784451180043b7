"""Carry out one block, in the driver or in a worker process, and say what became of it."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol

import numpy as np

from simlab.engine.addresses import Address, Finished, pack
from simlab.engine.limits import OUT_OF_MEMORY, Limits, bound_memory, start_clock, stop_clock
from simlab.engine.threads import one_thread
from simlab.types import Array, Place

HEARTBEAT_SECONDS = 0.5
REASON_LENGTH = 300


class BlockLike(Protocol):
    """Look like `simlab.studies.blocks.Block`."""

    @property
    def arrays(self) -> Mapping[str, Array]:
        """Outcome arrays, studies first."""

    @property
    def failures(self) -> list[tuple[int, str]]:
        """(index in the block, reason) of the studies whose design failed."""


Config = Mapping[str, Any]
BlockFunction = Callable[[Config, Sequence[Place]], BlockLike]


def work(block: BlockFunction, config: Config, address: Address) -> Finished:
    """Carry out a block; an exception becomes its reason for failing.

    Linear algebra runs on one thread here and in the driver: the last bits of a matrix product depend on how many.
    """
    try:
        # What is no number fails its campaign and says so; numpy's warnings would say it again, without the address.
        with one_thread(), np.errstate(all="ignore"):
            done = block(config, address.places)
        failures = tuple((address.first + index, _line(reason)) for index, reason in done.failures)
        return Finished(address, pack(done.arrays), failures=failures)
    except (Exception, SystemExit) as error:
        return Finished(address, reason=_line(f"{type(error).__name__}: {error}"))


def work_within(limits: Limits, here: str, block: BlockFunction, config: Config, address: Address) -> Finished:
    """Carry out a block in a worker process, which the block's end is, too, where it exceeds a limit.

    `here` is the working directory of the driver, from which relative paths lead. A block that was refused memory is
    not believed that it is to blame: others may have left too little.
    """
    with suppress(OSError):
        os.chdir(here)
    start_clock(limits)
    finished = work(block, config, address)
    stop_clock()
    if limits.memory and finished.reason.startswith(MemoryError.__name__):
        os._exit(OUT_OF_MEMORY)
    return finished


def _line(text: str) -> str:
    """Put a reason on one line of bounded length."""
    return " ".join(text.split())[:REASON_LENGTH]


def guard(driver: int, limits: Limits, surroundings: object) -> None:
    """Make a new worker die with its driver, leave Ctrl-C to the driver, and bound its memory.

    A killed driver cannot tell its workers, and an orphan would compute on for nobody; so each worker looks
    whether its parent is still the driver. (Asking the kernel to signal the parent's death would fire when the
    *thread* that started the worker ends.) Surroundings do nothing but tell apart workers that were started elsewhere.
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
