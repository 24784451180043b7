"""Exit codes of commands, in one table that docs/results.md explains, and the traces of an interrupted command.

It imports nothing heavy: an interrupted program may not have imported more.
"""

from __future__ import annotations

from collections.abc import Sequence

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
"""Nothing usable: every campaign failed, or no cell meets the conditions of a query."""
INTERRUPTED, TERMINATED, HUNG_UP, CLOSED_PIPE = 130, 143, 129, 141
"""After SIGINT, SIGTERM and SIGHUP, and where the reader of the output has closed it."""


def name_remains(how: str, words: Sequence[str]) -> str:
    """Format the line on what is kept of a command (its `words`) that a signal ended; `how` it ended: "interrupted".

    >>> name_remains("interrupted", ["query"])
    'interrupted; there is no answer yet, give the same command again'
    """
    if words and words[0] in ("run", "sweep", "merge"):
        return f"{how}; blocks that were finished are kept, the same command continues"
    return f"{how}; there is no answer yet, give the same command again"
