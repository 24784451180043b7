"""Start processes that bear a mark, and look for what is left of them and of all that they started."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

MARK = "SIMLAB_TEST_MARK"
SHARED_MEMORY = Path("/dev/shm")
PATIENCE_SECONDS = 60.0

needs_proc = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks for survivors in /proc")


@contextmanager
def started(words: Sequence[str], mark: Path, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """Start Python with these words in a session of its own, so that a signal to its group reaches no other."""
    with subprocess.Popen(
        [sys.executable, *words],
        env={**os.environ, MARK: str(mark), **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def relatives(mark: Path) -> Iterator[int]:
    """Find the processes that descend from a marked one, also when it is gone."""
    wanted = f"{MARK}={mark}".encode()
    for environment in Path("/proc").glob("[0-9]*/environ"):
        try:
            if wanted in environment.read_bytes().split(b"\0"):
                yield int(environment.parent.name)
        except OSError:
            continue


def traces(processes: Sequence[int]) -> list[str]:
    """List what lies in shared memory that bears the numbers of processes."""
    names = [path.name for path in SHARED_MEMORY.iterdir()] if SHARED_MEMORY.exists() else []
    return [name for name in names for process in processes if f"-{process}-" in name or f"_{process}_" in name]


def await_true(condition: Callable[[], bool], seconds: float, otherwise: str) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.02)


def assert_gone(mark: Path, known: Sequence[int], seconds: float = PATIENCE_SECONDS) -> None:
    """Wait until no relative runs and nothing in shared memory is that of the processes that were known."""
    await_true(lambda: not list(relatives(mark)), seconds, "processes outlive their command")
    await_true(lambda: not traces(known), seconds, "shared memory outlives its processes")
