"""Main program of a child process, which executes pickled function calls for the driver that started it.

Called as `python -m simlab.engine.backends.child SOCKET PARENT`: the file descriptor of an inherited socket, and the
process id of the driver. The first message is the child's start token, a pickled (limits, state of the code); each
further one is a pickled (working directory, function, arguments), answered by a pickled (value, exception).
"""

from __future__ import annotations

import os
import pickle
import sys
from contextlib import suppress
from multiprocessing.connection import Connection

from simlab.engine.workers import OUT_OF_MEMORY, guard

IDLE_SECONDS = 300.0
IDLE = 78
"""Exit code of a process that had no call for `IDLE_SECONDS`."""


def execute_calls(socket: int, parent: int) -> None:
    """Execute calls from a socket (its file descriptor) until the driver closes it or sends none for `IDLE_SECONDS`."""
    connection = Connection(socket)
    # The rest of the start token only tells children apart.
    limits, _ = pickle.loads(connection.recv_bytes())  # noqa: S301 (who connects may run code here anyway)
    guard(parent, limits)
    while connection.poll(IDLE_SECONDS):
        try:
            request = connection.recv_bytes()
        except EOFError:
            return
        connection.send_bytes(execute(request))
    os._exit(IDLE)


def execute(request: bytes) -> bytes:
    """Execute a pickled call (working directory, function, arguments); exit if memory is refused.

    Returns (value, None) or (None, exception), pickled.
    """
    try:
        here, function, arguments = pickle.loads(request)  # noqa: S301
        with suppress(OSError):
            # From the working directory of the driver relative paths lead.
            os.chdir(here)
        return pickle.dumps((function(*arguments), None), protocol=5)
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    except Exception as error:
        try:
            return pickle.dumps((None, error))
        except Exception:
            return pickle.dumps((None, RuntimeError(f"{type(error).__name__}: {error}")))


if __name__ == "__main__":
    execute_calls(int(sys.argv[1]), int(sys.argv[2]))
