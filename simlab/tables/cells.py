"""Read the cells of a table row by row, names and numbers; each mistake is named by file, line and value."""

from __future__ import annotations

import csv
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from simlab.files import decimal
from simlab.messages import legible, or_nearest
from simlab.tables.lines import numbered_lines
from simlab.types import InputError

LARGEST = 1e50
"""Squares of larger scores, and sums of them, would not be numbers."""
MISSING = frozenset(("", "na", "n/a", "nan", "none", "null"))
MOST_COLUMNS = 1000
MOST_SYSTEMS = 200


@dataclass(frozen=True, slots=True)
class Table:
    """Hold the cells of a table: `rows` are (number of the line, its cells), as many as the `header` has.

    Rows are read while one goes through them, once.
    """

    where: str
    header: tuple[str, ...]
    rows: Iterable[tuple[int, list[str]]]

    def at(self, line: int) -> str:
        """Name a line in a message."""
        return f"{self.where}, line {line}"

    def column(self, name: str) -> int:
        """Return the place of a column that is there."""
        return self.header.index(name)


class Numbers(dict[Any, int]):
    """Number things in the order in which they come."""

    def __missing__(self, key: Any) -> int:
        self[key] = len(self)
        return self[key]


def load(path: Path, forms: str) -> Table:
    """Open a table: tabs, semicolons or commas, as its first line has them; `forms` says what a table can be.

    Raises InputError for a file without columns or rows, and, while rows are read, for lines that do not fit it.
    """
    where = legible(path)
    lines = numbered_lines(path)
    _, first = next(lines, (0, ""))
    if not first.strip():
        raise InputError(f"{where}: the first line is empty; it must name the columns of a table of {forms}")
    mark = _mark(first)
    header = _header(first, mark, where)
    rows = _rows(lines, mark, where, len(header))
    begun = next(rows, None)
    if begun is None:
        raise InputError(f"{where}: holds no rows below its header; give a table of {forms}")
    return Table(where, header, chain([begun], rows))


def _mark(line: str) -> str:
    return "\t" if "\t" in line else max(",;", key=line.count)


def _header(line: str, mark: str, where: str) -> tuple[str, ...]:
    header = tuple(cell.strip() for cell in next(_split([line], mark, where)))
    if len(header) > MOST_COLUMNS:
        raise InputError(
            f"{where}, line 1: names {len(header):,} columns; keep those that are meant, {MOST_COLUMNS:,} at most"
        )
    if twice := next((name for name in header if name and header.count(name) > 1), None):
        raise InputError(f"{where}, line 1: the column {legible(twice, 40)!r} is there twice; name each once")
    return header


def _rows(lines: Iterator[tuple[int, str]], mark: str, where: str, width: int) -> Iterator[tuple[int, list[str]]]:
    for at, line in lines:
        if not line.strip():
            continue
        plain = '"' not in line
        cells = line.split(mark) if plain else next(_split([line], mark, f"{where}, line {at}"))
        if len(cells) != width:
            raise InputError(f"{where}, line {at}: has {len(cells)} cells for {width} columns; mend the line")
        yield at, [cell.strip() for cell in cells]


def _split(lines: Sequence[str], mark: str, where: str) -> Iterator[list[str]]:
    # Published .tsv tables do not quote; a quotation mark there is part of the text.
    quoting: Any = csv.QUOTE_NONE if mark == "\t" else csv.QUOTE_MINIMAL
    try:
        yield from csv.reader(lines, delimiter=mark, quoting=quoting, strict=True)
    except csv.Error as error:
        raise InputError(
            f"{where}: is no line of comma-separated values ({error}); mend its quotation marks"
        ) from error


def renamed(table: Table, usual: Mapping[str, Sequence[str]], told: Mapping[str, str]) -> Table:
    """Give columns our names: as told (ours -> the table's), else by the names that they usually have.

    Raises InputError for a column that was told and is not there, and where two columns could be the same of ours.
    """
    names = list(table.header)
    for ours, theirs in told.items():
        if theirs not in table.header:
            advice = or_nearest(theirs, [name for name in table.header if name], "it has", 200)
            raise InputError(f"--columns {legible(f'{ours}={theirs}', 60)}: {table.where} has no such column; {advice}")
        names = [f"({name})" if name == ours else name for name in names]
        names[table.header.index(theirs)] = ours
    for ours, aliases in usual.items():
        if ours not in names:
            _adopt(names, ours, aliases, table.where)
    return Table(table.where, tuple(names), table.rows)


def _adopt(names: list[str], ours: str, aliases: Sequence[str], where: str) -> None:
    wanted = {ours, *aliases}
    found = [k for k, name in enumerate(names) if name.lower().replace(" ", "_") in wanted]
    if len(found) > 1:
        both = legible(" and ".join(names[k] for k in found), 60)
        raise InputError(
            f"{where}, line 1: {both} could both be the column {ours}; choose one with --columns {ours}=NAME"
        )
    for k in found:
        names[k] = ours


def number(text: str, where: str, column: str) -> float:
    """Read a number; NaN for what is missing.

    Raises InputError for what is no number, and for numbers whose squares would not be.
    """
    if text.lower() in MISSING:
        return math.nan
    value = decimal(text)
    if value is None:
        raise InputError(
            f"{where}: {column}={legible(ascii(text), 40)} is no number; mend it, leave it empty, or name the metrics "
            "with --metrics"
        )
    if abs(value) > LARGEST:
        raise InputError(f"{where}: {column}={legible(text, 40)} is larger than {LARGEST:g}; rescale this column")
    return value


def named(table: Table, cells: Sequence[str], line: int, column: str) -> str:
    """Return a name that must not be empty.

    Raises InputError naming the line where it is empty.
    """
    name = cells[table.column(column)]
    if not name:
        raise InputError(f"{table.at(line)}: {column} is empty; every row needs one")
    return name


def check_wanted(metrics: Iterable[str], there: Collection[str], where: str) -> None:
    """Raise InputError for a metric that was asked for and that a table lacks."""
    for name in metrics:
        if name not in there:
            advice = or_nearest(name, there or ["none"], "it has", 200)
            raise InputError(f"--metrics {legible(name, 40)}: {where} has no such metric; {advice}")


def check_systems(n: int, table: Table) -> None:
    """Raise InputError for more systems than can be compared."""
    if n > MOST_SYSTEMS:
        raise InputError(
            f"{table.where}: {n} systems are more than {MOST_SYSTEMS} that can be compared; does `system` name them?"
        )


def check_spelling(names: Iterable[str], what: str, where: str) -> None:
    """Raise InputError for two names that differ in case or blanks only: they are one, or will be taken for one."""
    if alike := spelled_alike(names):
        raise InputError(f"{where}: the {what} {alike} differ in case or blanks only; write one name for one of them")


def spelled_alike(names: Iterable[str]) -> str:
    """Return the first two names that differ in case or blanks only; nothing where there are none."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(" ".join(name.split()).casefold(), name)
        if other != name:
            return f"{legible(other, 40)!r} and {legible(name, 40)!r}"
    return ""
