"""Carry out a bundle for a thread of a Dask worker, which keeps a child process for that."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import Pipe

from simlab.engine.backends.child import IDLE
from simlab.engine.backends.interrupts import interrupts_wait
from simlab.engine.threads import ONE_THREAD

LOOK_SECONDS = 0.25
"""So often a thread that waits for its child looks whether anybody still wants the answer."""

_children: dict[int, Child] = {}
"""By the thread that keeps it."""


def carry(start: bytes, bundle: bytes) -> bytes | int:
    """Return what became of a bundle, as bytes, or the exit code of the process that died of it.

    `start` says for what the process is started: one that was started for something else is ended. Raises
    RuntimeError where the scheduler has taken the bundle back.
    """
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def wanted() -> bool:
        task = worker.state.tasks.get(key)
        return task is not None and task.state == "executing" and worker.status.name in ("running", "paused")

    thread = threading.get_ident()
    child = _children.get(thread)
    if child is None or not child.serves(start):
        _end(thread)
        child = _children[thread] = Child(start)
    try:
        answer = child.answer(bundle, wanted)
        if answer == IDLE:
            # It left just when it was needed again.
            child = _children[thread] = Child(start)
            answer = child.answer(bundle, wanted)
        return answer
    finally:
        if not child.alive():
            _end(thread)


def end_all() -> None:
    """End the processes that this one keeps."""
    for thread in list(_children):
        _end(thread)


def _end(thread: int) -> None:
    if (child := _children.pop(thread, None)) is not None:
        child.end()


class Child:
    """Keep a process that carries out bundles, started as `start` says."""

    def __init__(self, start: bytes) -> None:
        self.start = start
        self.connection, theirs = Pipe()
        # What a dying process has to say is said in one line by the driver.
        quiet = {} if os.environ.get("PYTHONFAULTHANDLER") else {"PYTHONFAULTHANDLER": ""}
        path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
        words = ("-P", "-m", "simlab.engine.backends.child", str(theirs.fileno()), str(os.getpid()))
        with theirs, interrupts_wait():
            self.process = subprocess.Popen(  # noqa: S603
                (sys.executable, *words),
                env=os.environ | ONE_THREAD | quiet | {"PYTHONPATH": path},
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        with suppress(OSError):
            self.connection.send_bytes(start)

    def serves(self, start: bytes) -> bool:
        """Tell whether this process can carry out another bundle."""
        return self.start == start and self.alive()

    def alive(self) -> bool:
        """Tell whether it still runs."""
        return self.process.poll() is None

    def answer(self, bundle: bytes, wanted: Callable[[], bool]) -> bytes | int:
        """Return its answer, or its exit code; end it, and raise RuntimeError, where nobody wants it any more."""
        try:
            self.connection.send_bytes(bundle)
            while not self.connection.poll(LOOK_SECONDS):
                if not wanted():
                    self.end()
                    raise RuntimeError("nobody waits for this bundle any more")
            return self.connection.recv_bytes()
        except (EOFError, OSError):
            return self.process.wait()

    def end(self) -> None:
        """End it at once."""
        self.process.kill()
        self.process.wait()
        self.connection.close()
