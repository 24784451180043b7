"""Keep child processes that carry out calls, one at a time each: what ends a child takes nobody else along."""

from __future__ import annotations

import atexit
import math
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import Pipe
from typing import Any
from uuid import uuid4

import cloudpickle

from simlab.engine.backends.child import IDLE
from simlab.engine.backends.interrupts import interrupts_wait
from simlab.engine.limits import Limits
from simlab.engine.threads import ONE_THREAD

LOOK_SECONDS = 0.25
"""So often a thread that waits for its child looks whether anybody still wants the answer."""
GRACE_SECONDS = 20.0
"""A child ends itself where a block takes too long; one that cannot, since it was stopped, is ended so much later."""
TOO_LONG = -signal.SIGALRM
"""Exit code of a child that its own clock has ended."""


class ChildDied(Exception):
    """Report the exit code of a child that ended instead of answering."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Child:
    """Keep a process that carries out calls, started as `start` says (see `started_for`)."""

    def __init__(self, start: bytes) -> None:
        self.start, self.parent = start, os.getpid()
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

    def alive(self) -> bool:
        """Tell whether it still runs."""
        return self.process.poll() is None

    def answer(self, asked: bytes, wanted: Callable[[], bool], until: float) -> bytes | int:
        """Return what a call gives, pickled, or the exit code of the child.

        It is ended where nobody wants that any more, or the clock (`time.monotonic`) has come so far.
        """
        try:
            self.connection.send_bytes(asked)
            while not self.connection.poll(min(LOOK_SECONDS, max(until - time.monotonic(), 0.0))):
                if (late := time.monotonic() >= until) or not wanted():
                    self.end()
                    return TOO_LONG if late else self.process.returncode
            return self.connection.recv_bytes()
        except (EOFError, OSError):
            return self.process.wait()

    def end(self) -> None:
        """End it at once."""
        self.process.kill()
        self.process.wait()
        self.connection.close()


_idle: list[Child] = []
_lock = threading.Lock()


def carry(start: bytes, asked: bytes, wanted: Callable[[], bool], seconds: float | None = None) -> bytes | int:
    """Have a child carry out a call; return the pickled answer, or the exit code of the child that died of it.

    One that is `wanted` no longer, or takes longer than `seconds`, is ended. To start a child takes a second, so those
    that serve are kept for the next call, and end when nobody needs them.
    """
    until = math.inf if seconds is None else time.monotonic() + seconds
    child = _taken(start)
    try:
        answer = child.answer(asked, wanted, until)
        if answer == IDLE:
            # It left just when it was needed again.
            child = Child(start)
            answer = child.answer(asked, wanted, until)
    except BaseException:
        child.end()
        raise
    if isinstance(answer, int):
        child.end()
        return answer
    with _lock:
        _idle.append(child)
    return answer


def carry_for_dask(start: bytes, asked: bytes, seconds: float | None) -> bytes | int:
    """Have a child of a Dask worker carry out a call, as long as the scheduler wants this worker to."""
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def wanted() -> bool:
        task = worker.state.tasks.get(key)
        return task is not None and task.state == "executing" and worker.status.name in ("running", "paused")

    return carry(start, asked, wanted, seconds)


def call(start: bytes, function: Callable[..., Any], *given: Any, seconds: float | None = None) -> Any:
    """Return what a call gives that a child carries out.

    Raises what it raises, ChildDied where the child ended, TimeoutError where it took longer than `seconds`.
    """
    answer = carry(start, asking(function, *given), lambda: True, seconds)
    if answer == TOO_LONG:
        raise TimeoutError
    if isinstance(answer, int):
        raise ChildDied(answer)
    return read(answer)


def asking(function: Callable[..., Any], *given: Any) -> bytes:
    """Pickle a call, functions that cannot be imported elsewhere included, with the folder where it is asked."""
    return bytes(cloudpickle.dumps((os.getcwd(), function, given)))


def read(answer: bytes) -> Any:
    """Return the value of an answer, or raise what was raised instead."""
    value, error = pickle.loads(answer)  # noqa: S301 (from a process that was started for this)
    if error is not None:
        raise error
    return value


def started_for(limits: Limits, code: object) -> bytes:
    """Say what a child is started for: one that was started for other limits, or of other code, does not serve."""
    return pickle.dumps((limits, code))


def anew() -> bytes:
    """Say that children are started anew, with the code as it is now; they have no limits."""
    return started_for(Limits(), uuid4().hex)


def end_all() -> None:
    """End the children that nobody uses now."""
    with _lock:
        for child in _idle:
            if child.parent == os.getpid():
                child.end()
        _idle.clear()


def _taken(start: bytes) -> Child:
    """Take a child that serves, or start one; those that do not are ended."""
    with _lock:
        # After a fork those of the process before are not this one's.
        kept = [child for child in _idle if child.parent == os.getpid()]
        _idle.clear()
        for child in kept:
            if child.start == start and child.alive():
                _idle.append(child)
            else:
                child.end()
        if _idle:
            return _idle.pop()
    return Child(start)


atexit.register(end_all)
