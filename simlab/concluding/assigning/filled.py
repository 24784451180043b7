"""Read what raters filled in, in whatever form: which code got which rating, and where that stands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from simlab.concluding.assigning.cells import bare
from simlab.messages import legible
from simlab.tables.cells import load, renamed
from simlab.tables.numbers import missing
from simlab.types import InputError

FORM = "a filled assignment (slot, rating)"
USUAL = {"slot": ("code",), "rating": ("score",)}


class Given(NamedTuple):
    """Hold a rating as it was written: the `slot` it is of, by whom ("": by whom it was asked of), and where it stands.

    `line` is the number of the line, or of the entry.
    """

    slot: str
    rater: str
    rating: str
    where: str
    line: int


def given(path: Path) -> list[Given]:
    """Read a filled assignment; raise InputError, naming file and line, for what is none."""
    return [one for one in _of_csv(path) if not missing(one.rating)]


def _of_csv(path: Path) -> Iterator[Given]:
    table = renamed(load(path, FORM), USUAL, {})
    for name in USUAL:
        if name not in table.header:
            there = legible(", ".join(table.header), 120)
            raise InputError(f"{table.where}: has no column {name}; it has {there}; give {FORM}")
    slot, rating = table.column("slot"), table.column("rating")
    rater = table.column("rater") if "rater" in table.header else None
    for line, cells in table.rows:
        who = "" if rater is None else bare(cells[rater])
        yield Given(cells[slot], who, cells[rating], table.at(line), line)
