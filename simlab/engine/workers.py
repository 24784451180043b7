"""Carry out one block, in the driver or in a worker process, and say what became of it."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from simlab.engine.addresses import Address, Finished, pack
from simlab.engine.limits import OUT_OF_MEMORY, Limits, bound_memory, start_clock, stop_clock
from simlab.engine.threads import one_thread
from simlab.types import Array, Place

HEARTBEAT_SECONDS = 0.5
TURNS = 4
"""A bundle takes at most so many times as long as it is meant to, where a processor is shared."""
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
Ended = BlockLike | Exception | SystemExit
BlocksFunction = Callable[[Sequence[Config], Sequence[Place]], Sequence[Ended]]
"""Carry out blocks of several cells at the same places; where one fails, return why in its place."""


@runtime_checkable
class Together(Protocol):
    """Look like a `BlockFunction` that can carry out blocks of several cells together, too."""

    def together(self, configs: Sequence[Config], places: Sequence[Place]) -> Sequence[Ended]:
        """Carry out a block in each cell, at the same places; where one fails, return why in its place."""


@dataclass(frozen=True, slots=True)
class Task:
    """Hold a block that is to be carried out."""

    address: Address
    config: Config


class Carried(NamedTuple):
    """Hold what became of the blocks of a bundle, and the seconds that it took."""

    finished: tuple[Finished, ...]
    seconds: float


def work(block: BlockFunction, config: Config, address: Address) -> Finished:
    """Carry out a block; an exception becomes its reason for failing.

    Linear algebra runs on one thread here and in the driver: the last bits of a matrix product depend on how many.
    """
    # What is no number fails its campaign and says so; numpy's warnings would say it again, without the address.
    with one_thread(), np.errstate(all="ignore"):
        return _finished(address, lambda: block(config, address.places))


def work_together(block: BlockFunction, tasks: Sequence[Task]) -> list[Finished]:
    """Carry out several blocks; those of the same places together, where the function can do that."""
    finished: list[Finished] = []
    for _, group in groupby(tasks, key=lambda task: task.address.order):
        members, began = list(group), time.monotonic()
        done = _of_places(block, members, members[0].address.places)
        # What each of several cells took nobody knows; they come together again.
        seconds = (time.monotonic() - began) / len(members)
        finished += [replace(one, seconds=seconds) for one in done]
    return finished


def _of_places(block: BlockFunction, tasks: Sequence[Task], places: Sequence[Place]) -> list[Finished]:
    if len(tasks) == 1 or not isinstance(block, Together):
        return [work(block, task.config, task.address) for task in tasks]
    with one_thread(), np.errstate(all="ignore"):
        ended = block.together([task.config for task in tasks], places)
    return [_finished(task.address, partial(_given, one)) for task, one in zip(tasks, ended, strict=True)]


def _finished(address: Address, carry_out: Callable[[], BlockLike]) -> Finished:
    try:
        done = carry_out()
        failures = tuple((address.first + index, _line(reason)) for index, reason in done.failures)
        return Finished(address, pack(done.arrays), failures=failures)
    except (Exception, SystemExit) as error:
        return Finished(address, reason=_line(f"{type(error).__name__}: {error}"))


def _given(ended: Ended) -> BlockLike:
    if isinstance(ended, Exception | SystemExit):
        raise ended
    return ended


def work_within(limits: Limits, block: BlockFunction, tasks: Sequence[Task]) -> Carried:
    """Carry out a bundle of blocks in a worker process, which the bundle's end is, too, where it exceeds a limit.

    A block that was refused memory is not believed that it is to blame: others may have left too little. Nor is a
    bundle that takes longer than a block may: its blocks are tried again alone.
    """
    began, computed = time.monotonic(), time.process_time()
    start_clock(limits)
    finished = work_together(block, tasks)
    stop_clock()
    if limits.memory and any(one.reason.startswith(MemoryError.__name__) for one in finished):
        os._exit(OUT_OF_MEMORY)
    # Where others take turns at the processor, it is what this took of it that says how long a bundle is.
    return Carried(tuple(finished), max(time.process_time() - computed, (time.monotonic() - began) / TURNS))


def _line(text: str) -> str:
    """Put a reason on one line of bounded length."""
    return " ".join(text.split())[:REASON_LENGTH]


def guard(driver: int, limits: Limits) -> None:
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
