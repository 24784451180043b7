"""Measure a process with all that it starts: CPU seconds, and the peak memory of its driver and of its workers."""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

PR_SET_CHILD_SUBREAPER = 36
EVERY = 0.02
"""Seconds between two looks at memory; peaks are the kernel's own (VmHWM), so only the last moments can be missed."""
LAST = 10.0
"""Seconds that what a process left behind is waited for."""


class Taken(NamedTuple):
    """Hold what a process took: wall and CPU seconds of all its processes, peaks in MB, and what it printed."""

    wall: float
    cpu: float
    driver: float
    worker: float
    printed: str


def taken(command: Sequence[str], tree: Path, place: Path, settings: Mapping[str, str] | None = None) -> Taken:
    """Carry out a command of a tree in a folder; workers that outlive their driver are counted, too.

    Raises RuntimeError with what the command said where it fails (a code other than 0 and 3).
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "workers that outlive their driver could not be counted")
    # What a user has: modules are compiled once, and not by every process anew.
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environment = {**kept, "PYTHONPATH": str(tree), "MPLBACKEND": "agg", **(settings or {})}
    with tempfile.TemporaryFile("w+") as out:
        cpu, wall = _of_children(), time.perf_counter()
        child = subprocess.Popen(
            command, cwd=place, env=environment, stdout=out, stderr=subprocess.STDOUT, start_new_session=True
        )
        peaks: dict[int, tuple[bool, float]] = {}
        while child.poll() is None:
            _look(child.pid, peaks)
            time.sleep(EVERY)
        wall = time.perf_counter() - wall
        _reap()
        cpu = _of_children() - cpu
        out.seek(0)
        printed = out.read()
    if child.returncode not in (0, 3):
        raise RuntimeError(f"{' '.join(command)} ended with {child.returncode}:\n{printed[-2000:]}")
    driver, worker = (max((mb for of, mb in peaks.values() if of is which), default=0.0) for which in (False, True))
    return Taken(wall, cpu, driver, worker, printed)


def simlab(*words: object) -> list[str]:
    """Return the command line of simlab, in whichever tree it is found."""
    return [sys.executable, "-m", "simlab", *map(str, words)]


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _reap() -> None:
    """Wait for what a driver left behind, which is now this process's child."""
    ends = time.monotonic() + LAST
    with suppress(ChildProcessError):
        while time.monotonic() < ends:
            if not os.waitpid(-1, os.WNOHANG)[0]:
                time.sleep(EVERY)


def _look(session: int, peaks: dict[int, tuple[bool, float]]) -> None:
    """Note of every process of a session whether it is a worker, and its peak so far in MB."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with suppress(OSError, IndexError):
            pid = int(entry.name)
            if os.getsid(pid) == session:
                held = (entry / "status").read_text()
                worker = b"backends.child" in (entry / "cmdline").read_bytes()
                peaks[pid] = worker, int(held.partition("VmHWM:")[2].split()[0]) / 1024


def unpacked(repository: Path, commit: str, place: Path) -> Path | None:
    """Unpack a commit into a folder, its modules compiled; None where this clone does not have it."""
    archive = subprocess.run(["git", "archive", commit], cwd=repository, capture_output=True, check=False)
    if archive.returncode:
        return None
    place.mkdir()
    subprocess.run(["tar", "x"], cwd=place, input=archive.stdout, check=True)
    compiled(place)
    return place


def compiled(tree: Path) -> None:
    """Compile all modules of a tree: which of two is measured first must not matter."""
    subprocess.run([sys.executable, "-m", "compileall", "-q", "simlab"], cwd=tree, check=True)
