"""Read who is to rate, and how much each of them can."""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

from simlab.files import decimal
from simlab.messages import legible
from simlab.tables.cells import load, named, renamed
from simlab.tables.columns import aliases, who_rates
from simlab.tables.names import refuse_alike
from simlab.tables.numbers import missing
from simlab.types import InputError

FORM = "raters (rater, hours, cap)"


class Person(NamedTuple):
    """Hold a rater: the hours that they have, and the most ratings that they give (inf: any number)."""

    name: str
    hours: float = math.inf
    cap: float = math.inf


def read_people(path: Path) -> tuple[Person, ...]:
    """Read a table of raters; raise InputError, naming file and line, for what is none."""
    table = renamed(load(path, FORM), {"rater": who_rates(), **aliases("hours", "cap")}, {})
    if "rater" not in table.header:
        there = legible(", ".join(table.header), 120)
        raise InputError(f"{table.where}: has no column rater; it has {there}; give a table of {FORM}")
    found: dict[str, Person] = {}
    for line, cells in table.rows:
        name, where = named(table, cells, line, "rater"), table.at(line)
        if name in found:
            raise InputError(f"{where}: the rater {legible(name, 40)} is there a second time; name each once")
        limits = {one: _limit(cells[table.column(one)], one, where) for one in ("hours", "cap") if one in table.header}
        found[name] = Person(name, **limits)
    refuse_alike(found, "raters", table.where, table.path)
    return tuple(found.values())


def _limit(text: str, column: str, where: str) -> float:
    if missing(text):
        return math.inf
    value = decimal(text)
    if value is None or value < 0:
        raise InputError(
            f"{where}: {column}={legible(ascii(text), 40)} is no number from 0; mend it, or leave it empty"
        )
    return value


def numbered_people(n: int) -> tuple[Person, ...]:
    """Name raters whom nobody named: r1, r2, ..."""
    return tuple(Person(f"r{k + 1}") for k in range(n))
