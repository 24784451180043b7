"""Write what measures hold fixed: whose repetition, or which studies, their numbers are about."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

from simlab.drawing.text.tables import width
from simlab.store.reservations import HELD_FIXED

REST = 3
"""So many measures that hold the same fixed are called the others."""


def lines(record: Mapping[str, object], names: Sequence[str]) -> list[str]:
    """Say, in one text or none, what the measures of a record of `view.rows` hold fixed.

    >>> lines({"held_fixed": {"srp": "raters, documents", "power": "nothing but the law"}}, ["srp", "power"])
    ['held fixed: raters, documents in srp; nothing but the law in power']
    """
    held = record.get(HELD_FIXED)
    if not isinstance(held, Mapping):
        return []
    named: dict[str, list[str]] = {}
    for name in names:
        if name in held:
            named.setdefault(held[name], []).append(name)
    return [textwrap.fill(f"held fixed: {_said(named)}", width())] if named else []


def _said(named: Mapping[str, Sequence[str]]) -> str:
    if len(named) == 1:
        return next(iter(named))
    most = max(named, key=lambda words: len(named[words]))
    rest = most if len(named[most]) > REST else None
    told = [f"{words} in {', '.join(of)}" for words, of in named.items() if words != rest]
    return "; ".join([*told, *([f"{rest} in the others"] if rest else [])])
