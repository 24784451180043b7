"""Number the names of a table and put them in order; refuse names that a reader would take for one, or merge them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from simlab.messages import legible, natural
from simlab.tables.held import Alike
from simlab.tables.opening import rows_with
from simlab.types import InputError, Ints

MOST_NAMES = 1_000_000
"""Sorting more takes more memory than the ratings themselves."""


NO_NAMES = frozenset(("", "nan", "NaN", "NAN", "#N/A", "#n/a", "<NA>", "NaT")).union(
    ("#REF!", "#VALUE!", "#NAME?", "#DIV/0!", "#NUM!", "#NULL!", "#ERROR!")
)
"""What programs write where there is no name. `Nan` is one, of people."""
_DOUBTFUL = frozenset(("na", "n/a", "none", "null", "missing", "unknown", "-", "--"))
"""Names, in lower case, that may stand for a gap; they are kept, and that is said."""
_NUMBER = re.compile(r"0*(\d+)(?:\.0*)?", re.ASCII)
_ONE_NAME = {"system_a": "system", "system_b": "system"}
_NAMED = ("system", "system_a", "system_b", "document", "segment", "item", "rater")

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
    r"""Write a name without blanks, capitals and invisible characters; numbers apart by blanks stay two.

    Full width, and an accent of its own behind a letter, are ways to write the same; 1, 1.0 and 01 are one number, and
    1.1 and 1.10 are two versions.

    >>> spelling("My System") == spelling("mysystem"), spelling("1 6") == spelling("16")
    (True, False)
    >>> spelling("An\u200ba") == spelling("Ana"), spelling("01") == spelling("1.0"), spelling("1.10") == spelling("1.1")
    (True, True, False)
    """
    if not name.isascii():
        name = unicodedata.normalize("NFC", "".join(map(_plain, name)))
    text = "".join(re.sub(r"(?<=\d)\s+(?=\d)", "\0", name).split()).casefold()
    number = _NUMBER.fullmatch(text)
    return number[1] if number else text if text.isascii() else unicodedata.normalize("NFC", text)


def _plain(letter: str) -> str:
    """Return a letter in its usual width, nothing for one that cannot be seen."""
    if unicodedata.category(letter) == "Cf" or 0xFE00 <= ord(letter) <= 0xFE0F:
        return ""
    wide = unicodedata.decomposition(letter).startswith(("<wide>", "<narrow>", "<noBreak>"))
    return unicodedata.normalize("NFKC", letter) if wide else letter


def printed(name: str) -> str:
    r"""Return a name so that what cannot be seen in it can.

    >>> printed("Ana"), printed("Jos\u00e9")
    ("'Ana'", "'Jos\\xe9'")
    """
    return legible(ascii(name), 60)


class Spellings:
    """Take names that look alike for one, the spelling that comes first; `met` keeps which were."""

    def __init__(self) -> None:
        self._first: dict[tuple[str, str], str] = {}
        self.met: dict[tuple[str, str], str] = {}

    def first(self, column: str, name: str) -> str:
        """Return the first spelling of a name in a column of names."""
        kind = _ONE_NAME.get(column, column)
        first = self._first.setdefault((kind, spelling(name)), name)
        if first != name:
            self.met.setdefault((kind, name), first)
        return first

    def rows(
        self, rows: Iterable[tuple[int, list[str]]], columns: Mapping[str, int]
    ) -> Iterator[tuple[int, list[str]]]:
        """Go through rows, whose `columns[ours]` are places of columns, with one spelling of each name."""
        places = [(name, columns[name]) for name in _NAMED if name in columns]
        pair = columns.get("pair")
        for line, row in rows:
            for name, at in places:
                if at < len(row) and row[at].strip():
                    row[at] = self.first(name, row[at].strip())
            if pair is not None and pair < len(row):
                row[pair] = "|".join(self.first("system", part.strip()) for part in row[pair].split("|"))
            yield line, row

    def remarks(self) -> Iterator[str]:
        """Say which names were taken for one."""
        shown = [f"{kind} {printed(name)} is {printed(first)}" for (kind, name), first in self.met.items()]
        if shown:
            more = f", and {len(shown) - 6:,} more" if len(shown) > 6 else ""
            yield f"taken for one name (--alike merge): {', '.join(shown[:6])}{more}"


KEPT = "kept as a name"
"""How a note begins on a name that may stand for a gap."""


def doubtful_names(names: Iterable[str], what: str) -> Iterator[str]:
    """Say which names may stand for a gap; `what` is named by them.

    >>> list(doubtful_names(["Ana", "NA"], "rater"))
    ["kept as a name: the rater 'NA'; if it stands for a gap, take these rows out"]
    """
    for name in names:
        if name.lower() in _DOUBTFUL:
            yield f"{KEPT}: the {what} {name!r}; if it stands for a gap, take these rows out"


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


def refuse_alike(
    names: Iterable[str], what: str, where: str, path: Path | None = None, alike: Alike | None = None
) -> None:
    """Raise InputError for names that a reader would take for one, unless their owner keeps them (`alike`).

    `alike` is None where their owner cannot say so. `path` is where the first rows that have them are looked up, to
    say in what else these differ.
    """
    if alike == "keep":
        return
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(spelling(name), name)
        if other != name:
            rows = "" if path is None else rows_with(path, other, name)
            remedy = "write them alike" + (", or say --alike merge or --alike keep" if alike else "")
            raise InputError(f"{where}: the {what} {_differ(other, name)}{rows}; {remedy}")


def _differ(one: str, other: str) -> str:
    if "".join(one.split()).casefold() == "".join(other.split()).casefold():
        return f"{legible(repr(one), 60)} and {legible(repr(other), 60)} differ in case or blanks only"
    if one.isascii() and other.isascii():
        return f"{printed(one)} and {printed(other)} are one number, written in two ways"
    return f"{printed(one)} and {printed(other)} look alike: letters are encoded in two ways, or cannot be seen"


def refuse_many(numbers: Numbers, what: str, where: str) -> None:
    """Raise InputError for more names than can be put in order."""
    if len(numbers) > MOST_NAMES:
        raise InputError(f"{where}: has more than {MOST_NAMES:,} {what}; check the columns of the table")
