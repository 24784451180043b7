"""Number the names of a table and put them in order; refuse names that a reader would take for one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from simlab.messages import legible, natural
from simlab.tables.opening import rows_with
from simlab.types import InputError, Ints

MOST_NAMES = 1_000_000
"""Sorting more takes more memory than the ratings themselves."""


_LISTS = (re.compile(r"\s*[,;+&/|]\s*|\s+and\s+", re.IGNORECASE), re.compile(r"\s+"))
"""What sets names in a list apart."""


class Numbers(dict[Any, int]):
    """Number things in the order in which they come."""

    def __missing__(self, key: Any) -> int:
        self[key] = len(self)
        return self[key]


def ranked(numbers: Numbers) -> tuple[tuple[str, ...], Ints]:
    """Return names in natural order, and the place of each by its number."""
    names = list(numbers)
    order = sorted(range(len(names)), key=lambda k: natural(names[k]))
    return tuple(names[k] for k in order), places(order)


def places(order: list[int]) -> Ints:
    """Turn an order into places: `places[order[k]] = k`."""
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return rank


def spelling(name: str) -> str:
    r"""Write a name without blanks and capitals; numbers apart by blanks stay two.

    >>> spelling("My System") == spelling("mysystem"), spelling("1 6") == spelling("16")
    (True, False)
    """
    return "".join(re.sub(r"(?<=\d)\s+(?=\d)", "\0", name).split()).casefold()


def refuse_lists(names: Sequence[str], where: Callable[[int], str]) -> None:
    """Raise InputError, beginning with `where(k)`, for the name of a system that lists the names of others.

    >>> refuse_lists(["A", "B", "my B"], str)
    """
    known = {spelling(name) for name in names}
    for k, name in enumerate(names):
        for apart in _LISTS:
            parts = dict.fromkeys(part for part in apart.split(name.strip()) if part)
            if len(parts) > 1 and all(spelling(part) in known for part in parts):
                others = legible(" and ".join(parts), 80)
                raise InputError(
                    f"{where(k)}: the system {legible(name, 60)!r} names several systems of this table, {others}; "
                    "write a row for each of them, or, if it is one system, call it otherwise"
                )


def refuse_alike(names: Iterable[str], what: str, where: str, path: Path | None = None) -> None:
    """Raise InputError for names that differ in case or blanks only: they are meant to be one.

    `path` is where the first rows that have them are looked up, to say in what else these differ.
    """
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(spelling(name), name)
        if other != name:
            both = f"{legible(repr(other), 60)} and {legible(repr(name), 60)}"
            rows = "" if path is None else rows_with(path, other, name)
            raise InputError(f"{where}: the {what} {both} differ in case or blanks only{rows}; write them alike")


def refuse_many(numbers: Numbers, what: str, where: str) -> None:
    """Raise InputError for more names than can be put in order."""
    if len(numbers) > MOST_NAMES:
        raise InputError(f"{where}: has more than {MOST_NAMES:,} {what}; check the columns of the table")
