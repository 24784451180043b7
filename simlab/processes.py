"""Look at the table of processes: who descends from whom. Standard library only, since it is read in an emergency."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

PROC = "/proc"
BECOME_SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER of Linux."""


def descendants(process: int) -> dict[int, bytes]:
    """Return the processes that descend from one and still run, with their command lines."""
    children: dict[int, list[tuple[int, bytes]]] = {}
    for child, parent, command in _iterate_running():
        children.setdefault(parent, []).append((child, command))
    offspring: dict[int, bytes] = {}
    waiting = [process]
    while waiting:
        for child, command in children.get(waiting.pop(), ()):
            if child not in offspring:
                offspring[child] = command
                waiting.append(child)
    return offspring


def is_tracker(command: bytes) -> bool:
    """True if a process waits for the end of all others, to remove their semaphores: it ends by itself."""
    return b"resource_tracker" in command


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent ends, where the system knows that, so that none is lost."""
    if sys.platform == "linux":
        from ctypes import CDLL

        CDLL(None).prctl(BECOME_SUBREAPER, 1, 0, 0, 0)


def _iterate_running() -> Iterator[tuple[int, int, bytes]]:
    """Yield number, parent and command line of each process that has not ended."""
    if not os.path.exists(f"{PROC}/self/stat"):
        yield from _iterate_listed()
        return
    for name in os.listdir(PROC):
        if name.isdigit():
            try:
                # The name of a program, in brackets, may hold anything.
                state, parent = _read(name, "stat").rpartition(b")")[2].split()[:2]
                command = _read(name, "cmdline")
            except OSError:
                continue
            if state not in b"ZX":
                yield int(name), int(parent), command


def _read(process: str, about: str) -> bytes:
    with open(f"{PROC}/{process}/{about}", "rb") as file:
        return file.read()


def _iterate_listed() -> Iterator[tuple[int, int, bytes]]:
    from subprocess import PIPE, Popen

    with Popen(["ps", "-A", "-o", "pid=,ppid=,stat=,args="], stdout=PIPE) as listing:  # noqa: S607
        lines = listing.communicate()[0].splitlines()
    for number, parent, state, *command in (line.split(None, 3) for line in lines):
        if not state.startswith(b"Z") and int(number) != listing.pid:
            yield int(number), int(parent), b"".join(command)
