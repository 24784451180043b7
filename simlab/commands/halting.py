"""Say what is left of a command that was halted; light, since whoever says it may have imported nothing else."""

from __future__ import annotations

from collections.abc import Sequence


def halted(how: str, words: Sequence[str]) -> str:
    """Say what a command line that was ended by a signal leaves.

    >>> halted("interrupted", ["query"])
    'interrupted; there is no answer yet, give the same command again'
    """
    if words and words[0] in ("run", "sweep", "merge"):
        return f"{how}; blocks that were finished are kept, the same command continues"
    return f"{how}; there is no answer yet, give the same command again"
