"""Say with which code a command leaves: one table, which docs/trust-the-store.md explains to users."""

from __future__ import annotations

DONE = 0
"""Done, and nothing is to be doubted."""
BUG = 1
"""A bug in simlab; its traceback is kept in a file that the line names."""
REFUSED = 2
"""Input refused: one line says where, which value, which rule and what to do; nothing was written or lost."""
RESERVED = 3
"""Done with a reservation: some campaigns failed, a store is unsound, a fitted world fails its checks, a precision or a
target that was asked for is not reached, the promise of a conclusion does not hold or is withdrawn."""
NOTHING = 4
"""Nothing usable: every campaign failed."""
INTERRUPTED, TERMINATED, HUNG_UP, CLOSED_PIPE = 130, 143, 129, 141
"""After SIGINT, SIGTERM and SIGHUP, and where whoever read the output has left."""
