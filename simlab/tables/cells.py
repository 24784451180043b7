"""Read the cells of a table row by row, names and numbers; each mistake is named by file, line and value."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from simlab.files import decimal
from simlab.messages import legible, or_nearest
from simlab.tables.dialect import Dialect, dialect_of, header_of, rows
from simlab.tables.lines import numbered_lines
from simlab.tables.numbers import missing
from simlab.tables.row_choice import Where, chosen_rows
from simlab.types import InputError

LARGEST = 1e50
"""Squares of larger scores, and sums of them, would not be numbers."""
MOST_SYSTEMS = 200


@dataclass(frozen=True, slots=True)
class Table:
    """Hold the cells of a table: `rows` are (number of the line, its cells), as many as the `header` has.

    Rows are read while one goes through them, once. `chosen` are the values of columns by which they were chosen.
    """

    where: str
    header: tuple[str, ...]
    rows: Iterable[tuple[int, list[str]]]
    chosen: Where = ()

    def at(self, line: int) -> str:
        """Name a line in a message."""
        return f"{self.where}, line {line}"

    def column(self, name: str) -> int:
        """Return the place of a column that is there."""
        return self.header.index(name)


def load(path: Path, forms: str, where: Where = ()) -> Table:
    """Open a table: tabs, semicolons or commas, as its first line has them; `forms` says what a table can be.

    Only rows with the values of `where` are read.

    Raises InputError for a file without columns or rows, and, while rows are read, for lines that do not fit it.
    """
    table = opened(path, forms)
    content = chosen_rows(table.rows, table.header, where, table.where)
    begun = next(content, None)
    if begun is None:
        raise InputError(f"{table.where}: holds no rows below its header; give a table of {forms}")
    return Table(table.where, table.header, chain([begun], content), where)


def opened(path: Path, forms: str) -> Table:
    """Read the header of a table, which may have no rows; `forms` says what a table can be.

    Raises InputError for a file without columns, and, while rows are read, for lines that do not fit it.
    """
    where = legible(path)
    lines = numbered_lines(path)
    number, first = next(lines, (0, ""))
    if not first.strip():
        said = "the first line is empty" if number else "is empty"
        raise InputError(f"{where}: {said}; a first line must name the columns of a table of {forms}")
    dialect = dialect_of(first)
    header = header_of(first, dialect, f"{where}, line 1")
    if twice := next((name for name in header if name and header.count(name) > 1), None):
        raise InputError(f"{where}, line 1: the column {legible(twice, 40)!r} is there twice; name each once")
    return Table(where, tuple(header), _rows(lines, dialect, where, len(header)))


def _rows(
    lines: Iterator[tuple[int, str]], dialect: Dialect, where: str, width: int
) -> Iterator[tuple[int, list[str]]]:
    for line, row in rows(lines, dialect, where):
        cells = [cell.strip() for cell in row]
        if len(cells) == width:
            yield line, cells
        elif any(cells):
            raise InputError(f"{where}, line {line}: has {len(cells)} cells for {width} columns; mend the line")


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
    return replace(table, header=tuple(names))


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
    if missing(text):
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
