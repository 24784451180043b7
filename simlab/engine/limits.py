"""Say how long a block may take and how much a worker may hold; have the system see to both."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from simlab.config.sections import in_bytes

OUT_OF_MEMORY = 77
"""Exit code of a worker that was refused memory."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Hold the seconds that a block may take, the memory that a worker may hold, as typed, and how often to retry."""

    seconds: float | None = None
    memory: str | None = None
    retries: int = 2


def limits_of(engine: Mapping[str, Any]) -> Limits:
    """Take the limits from the settings of an engine; what it does not set has none."""
    return Limits(engine.get("block_seconds"), engine.get("worker_memory"), engine["retries"])


def bound_memory(limits: Limits) -> None:
    """Let the system refuse this process more memory than it may hold, where the system knows how.

    What is bounded is data (RLIMIT_DATA), not addresses, of which some libraries reserve far more than they use.
    """
    if limits.memory is not None and os.name == "posix":
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        wanted = in_bytes(limits.memory)
        resource.setrlimit(resource.RLIMIT_DATA, (wanted if most < 0 else min(wanted, most), most))


def start_clock(limits: Limits) -> None:
    """Have this process ended once the time of a block is over.

    The system does it, by a signal that nobody handles: a block may hang where no line of Python is reached.
    """
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, limits.seconds or 0.0)


def stop_clock() -> None:
    """Let this process live on."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, 0.0)


def manner_of_exit(code: int, limits: Limits) -> str:
    """Say how a worker ended, given its exit code: that of a signal is negative.

    >>> manner_of_exit(-9, Limits()), manner_of_exit(3, Limits())
    ('killed by SIGKILL', 'exit code 3')
    """
    if code == OUT_OF_MEMORY:
        return f"needs more than engine.worker_memory={limits.memory}"
    if code == -getattr(signal, "SIGALRM", 0):
        return f"took longer than engine.block_seconds={limits.seconds:g}"
    return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
