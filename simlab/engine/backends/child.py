"""Carry out bundles in a process of their own, for a Dask worker, which a block that dies must not take along.

`python -m simlab.engine.backends.child SOCKET PARENT`: bundles come in by a socket that is inherited, and what became
of them goes out by it.
"""

from __future__ import annotations

import os
import pickle
import sys
from multiprocessing.connection import Connection

from simlab.engine.workers import guard, work_within

IDLE_SECONDS = 300.0
IDLE = 78
"""Exit code of a process that nobody needed for so long."""


def main(socket: int, parent: int) -> None:
    """Carry out bundles until nobody asks for any more."""
    connection = Connection(socket)
    # What else it is started for, of which code, only tells it from others.
    limits, _ = pickle.loads(connection.recv_bytes())  # noqa: S301 (who connects may run code here anyway)
    guard(parent, limits, None)
    while connection.poll(IDLE_SECONDS):
        try:
            asked = connection.recv_bytes()
        except EOFError:
            return
        connection.send_bytes(answer(asked))
    os._exit(IDLE)


def answer(asked: bytes) -> bytes:
    """Carry out a bundle; where it cannot be read here, say why.

    Both ways it is bytes: the Dask worker, and its scheduler, never look into them.
    """
    try:
        limits, here, block, tasks = pickle.loads(asked)  # noqa: S301
    except Exception as error:
        return pickle.dumps(f"{type(error).__name__}: {error}")
    return pickle.dumps(work_within(limits, here, block, tasks), protocol=5)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
