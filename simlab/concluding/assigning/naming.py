"""Name files after raters, whatever these are called."""

from __future__ import annotations

import re
from collections.abc import Sequence

_LONGEST = 40


def files_for(names: Sequence[str]) -> dict[str, str]:
    """Return for each rater a name of files that every disk takes: a number, and what is left of theirs.

    >>> files_for(["Zoë A.", "../x"])
    {'Zoë A.': '1-Zoë_A', '../x': '2-x'}
    """
    width = len(str(len(names)))
    return {name: f"{k:0{width}d}-{_plain(name)}".rstrip("-") for k, name in enumerate(names, 1)}


def _plain(name: str) -> str:
    return re.sub(r"\W+", "_", name).strip("_")[:_LONGEST]
