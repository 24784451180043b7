"""Number the names of a table and put them in order; refuse names that a reader would take for one."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from simlab.messages import legible, natural
from simlab.tables.opening import rows_with
from simlab.types import InputError, Ints

MOST_NAMES = 1_000_000
"""Sorting more takes more memory than the ratings themselves."""


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


def refuse_alike(names: Iterable[str], what: str, where: str, path: Path | None = None) -> None:
    """Raise InputError for names that differ in case or blanks only: they are meant to be one.

    `path` is where the first rows that have them are looked up, to say in what else these differ.
    """
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault("".join(name.split()).casefold(), name)
        if other != name:
            both = f"{legible(repr(other), 60)} and {legible(repr(name), 60)}"
            rows = "" if path is None else rows_with(path, other, name)
            raise InputError(f"{where}: the {what} {both} differ in case or blanks only{rows}; write them alike")


def refuse_many(numbers: Numbers, what: str, where: str) -> None:
    """Raise InputError for more names than can be put in order."""
    if len(numbers) > MOST_NAMES:
        raise InputError(f"{where}: has more than {MOST_NAMES:,} {what}; check the columns of the table")
