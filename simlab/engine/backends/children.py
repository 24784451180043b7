"""Execute function calls in child processes, so that a call that kills its process harms no other.

Call `call_in_child` with a start token (`start_token`), a function and its arguments, which returns its value;
`run_in_child` does so for calls that are pickled already (`pickle_call`, `unpickle_result`).
"""

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
from simlab.engine.backends.interrupts import pause_interrupts
from simlab.engine.workers import ONE_THREAD, BlockLimits

POLL_SECONDS = 0.25
"""Interval at which a thread that waits for its child checks whether the result is still needed."""
GRACE_SECONDS = 20.0
"""A child ends itself when a block exceeds its time limit; a stopped child cannot, and is killed so much later."""
TOO_LONG = -signal.SIGALRM
"""Exit code of a child that exceeded its time limit."""
_idle: list[Child] = []
_lock = threading.Lock()


class ChildDied(Exception):
    """A child ended instead of returning a result; `code` is its exit code, negative for a signal."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Child:
    """A process that executes one call at a time; `start` is its start token (see `start_token`)."""

    def __init__(self, start: bytes) -> None:
        self.start, self.parent = start, os.getpid()
        self.connection, theirs = Pipe()
        # The driver reports how a child died in one line; Python's own dump would come on top.
        quiet = {} if os.environ.get("PYTHONFAULTHANDLER") else {"PYTHONFAULTHANDLER": ""}
        # An empty entry means the working directory, and a child leaves the one that it starts in.
        path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
        # -P keeps Python from putting the working directory in front of the path.
        words = ("-P", "-m", "simlab.engine.backends.child", str(theirs.fileno()), str(os.getpid()))
        with theirs, pause_interrupts():
            self.process = subprocess.Popen(  # noqa: S603
                (sys.executable, *words),
                env=os.environ | ONE_THREAD | quiet | {"PYTHONPATH": path},
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        with suppress(OSError):
            self.connection.send_bytes(start)

    def is_alive(self) -> bool:
        """True while the process runs."""
        return self.process.poll() is None

    def execute(self, request: bytes, is_wanted: Callable[[], bool], deadline: float) -> bytes | int:
        """Return the pickled result of a call, or the exit code of the child.

        The child is killed when the result is no longer wanted, or at the deadline (`time.monotonic`).
        """
        try:
            self.connection.send_bytes(request)
            while not self.connection.poll(min(POLL_SECONDS, max(deadline - time.monotonic(), 0.0))):
                if (late := time.monotonic() >= deadline) or not is_wanted():
                    self.end()
                    return TOO_LONG if late else self.process.returncode
            return self.connection.recv_bytes()
        except (EOFError, OSError):
            return self.process.wait()

    def end(self) -> None:
        """Kill the process and wait for its end."""
        self.process.kill()
        self.process.wait()
        self.connection.close()


def run_in_child(
    start: bytes, request: bytes, is_wanted: Callable[[], bool], seconds: float | None = None
) -> bytes | int:
    """Execute a call in a child process; return the pickled result, or the exit code if the child died.

    The child is killed once `is_wanted` returns False, or after `seconds` (None: no limit). Starting a child
    takes a second, so an idle one with the same start token is reused.
    """
    deadline = math.inf if seconds is None else time.monotonic() + seconds
    child = _take_child(start)
    try:
        result = child.execute(request, is_wanted, deadline)
        if result == IDLE:
            # An idle child left just as it was taken.
            child = Child(start)
            result = child.execute(request, is_wanted, deadline)
    except BaseException:
        child.end()
        raise
    if isinstance(result, int):
        child.end()
        return result
    with _lock:
        _idle.append(child)
    return result


def run_in_dask_worker(start: bytes, request: bytes, seconds: float | None) -> bytes | int:
    """Execute a call as `run_in_child` does, in a child of a Dask worker, while the scheduler wants its result."""
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def is_wanted() -> bool:
        task = worker.state.tasks.get(key)
        return task is not None and task.state == "executing" and worker.status.name in ("running", "paused")

    return run_in_child(start, request, is_wanted, seconds)


def call_in_child(start: bytes, function: Callable[..., Any], *arguments: Any, seconds: float | None = None) -> Any:
    """Return the value of a function that is called in a child process.

    Raises the exceptions of the function, ChildDied if the child died, TimeoutError if the call took longer than
    `seconds`.
    """
    result = run_in_child(start, pickle_call(function, *arguments), lambda: True, seconds)
    if result == TOO_LONG:
        raise TimeoutError
    if isinstance(result, int):
        raise ChildDied(result)
    return unpickle_result(result)


def pickle_call(function: Callable[..., Any], *arguments: Any) -> bytes:
    """Pickle a call with the working directory; functions that cannot be imported elsewhere go by value."""
    return bytes(cloudpickle.dumps((os.getcwd(), function, arguments)))


def unpickle_result(result: bytes) -> Any:
    """Return the value that a call returned, or raise the exception that it raised."""
    value, error = pickle.loads(result)  # noqa: S301 (from a process that was started for this)
    if error is not None:
        raise error
    return value


def start_token(limits: BlockLimits, code: object) -> bytes:
    """Pickle the limits of a child and the state of the `code` (digests); a child is reused only for an equal token."""
    return pickle.dumps((limits, code))


def fresh_start_token() -> bytes:
    """Return a token that no running child has, so that children load the code as it is now; without limits."""
    return start_token(BlockLimits(), uuid4().hex)


def end_idle_children() -> None:
    """Kill the children that execute nothing."""
    with _lock:
        for child in _idle:
            if child.parent == os.getpid():
                child.end()
        _idle.clear()


def _take_child(start: bytes) -> Child:
    """Take an idle child with this start token, or start one; idle children with another token are killed."""
    with _lock:
        # After a fork, the children of the parent process are not ours.
        ours = [child for child in _idle if child.parent == os.getpid()]
        _idle.clear()
        for child in ours:
            if child.start == start and child.is_alive():
                _idle.append(child)
            else:
                child.end()
        if _idle:
            return _idle.pop()
    return Child(start)


atexit.register(end_idle_children)
