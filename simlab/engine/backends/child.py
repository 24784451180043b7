"""Carry out calls in a process of their own, which a block that dies must not share with anybody.

`python -m simlab.engine.backends.child SOCKET PARENT`: calls come in by a socket that is inherited, and what became of
them goes out by it.
"""

from __future__ import annotations

import os
import pickle
import sys
from contextlib import suppress
from multiprocessing.connection import Connection

from simlab.engine.limits import OUT_OF_MEMORY
from simlab.engine.workers import guard

IDLE_SECONDS = 300.0
IDLE = 78
"""Exit code of a process that nobody needed for so long."""


def main(socket: int, parent: int) -> None:
    """Carry out calls until nobody asks for any more."""
    connection = Connection(socket)
    # What else it is started for, of which code, only tells it from others.
    limits, _ = pickle.loads(connection.recv_bytes())  # noqa: S301 (who connects may run code here anyway)
    guard(parent, limits)
    while connection.poll(IDLE_SECONDS):
        try:
            asked = connection.recv_bytes()
        except EOFError:
            return
        connection.send_bytes(answer(asked))
    os._exit(IDLE)


def answer(asked: bytes) -> bytes:
    """Carry out a call; return the pickled value and error, of which one is None.

    A process that was refused memory ends.
    """
    try:
        here, function, given = pickle.loads(asked)  # noqa: S301
        with suppress(OSError):
            # From the working directory of the driver relative paths lead.
            os.chdir(here)
        return pickle.dumps((function(*given), None), protocol=5)
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    except Exception as error:
        try:
            return pickle.dumps((None, error))
        except Exception:
            return pickle.dumps((None, RuntimeError(f"{type(error).__name__}: {error}")))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
