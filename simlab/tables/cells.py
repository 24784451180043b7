"""Open any table as rows of cells, give its columns our names, and read names and numbers from its cells.

Call `load` with the file (or `load_answers`, which leaves control items out), then `rename`: both return a `CellTable`,
whose columns then have our names, such as `system` and `item`. Mistakes are reported with file, line and value.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from simlab.files import read_decimal
from simlab.messages import clip, suggest
from simlab.tables.columns import (
    COPIES,
    MAY_SCORE,
    NAMES,
    LeftOutRatings,
    Names,
    Where,
    chosen_rows,
    fold_name,
    naming_people,
    skip_lines,
)
from simlab.tables.control_items import Marks, find_marks
from simlab.tables.lines import REMEDY
from simlab.tables.names import NO_NAMES, Spellings
from simlab.tables.numbers import decide_commas, is_missing, write_point
from simlab.tables.opening import CellRows, TableFile, open_table
from simlab.tables.rating_table import NOTHING, ColumnOverrides, reading_record
from simlab.types import InputError

LARGEST = 1e50
"""Largest score: squares of larger ones, and their sums, would overflow."""
MOST_SYSTEMS = 200
_FIXED = ("human", "source", "seconds", "order")
"""Columns that have one name."""


@dataclass(frozen=True, slots=True)
class CellTable:
    """Cells of a table: `rows` are (number of the line, its cells), as many as the `header` has.

    Rows are read while one goes through them, once; `path` is where they can be read again. `where` names the file in
    messages. `chosen` are the values of columns by which rows were chosen, `notes` sentences on lines above the header,
    `marks` the column that marks control items. `commas`: a comma may be a decimal one (None: where that is clear).
    `overrides` are the user's options, `spellings` merges names that look alike (None: names stay as they are), `own`
    is the file's own header.
    """

    where: str
    header: tuple[str, ...]
    rows: Iterable[tuple[int, list[str]]]
    path: Path | None = None
    notes: tuple[str, ...] = ()
    chosen: Where = ()
    marks: Marks | None = None
    commas: bool | None = None
    overrides: ColumnOverrides = NOTHING
    spellings: Spellings | None = None
    own: tuple[str, ...] = ()

    def locate(self, line: int) -> str:
        """Name a line in a message."""
        return f"{self.where}, line {line}"

    def again(self) -> Iterator[tuple[int, list[str]]]:
        """Go through the rows once more."""
        if self.path is None:
            return iter(())
        table = open_cells(self.path, "", self.overrides)
        rows = chosen_rows(table.rows, table.header, self.chosen, self.where)
        rows = rows if self.marks is None else self.marks.keep(rows)
        return rows if self.spellings is None else self.spellings.rows(rows, self.places())

    def places(self) -> dict[str, int]:
        """Return the place of each column."""
        return {name: k for k, name in enumerate(self.header)}

    def record(self, ours: Iterable[str]) -> dict[str, Any]:
        """Return how the table is read, as a record: the file's own name of each column of `ours` that it has."""
        named = dict(zip(self.header, self.own, strict=False))
        return reading_record(self.overrides, {name: named[name] for name in ours if name in named})

    def column(self, name: str) -> int:
        """Return the place of a column that is there."""
        return self.header.index(name)

    def first_rows(self) -> list[list[str]]:
        """Return the cells of the first rows without using these up."""
        return self.rows.look_ahead() if isinstance(self.rows, CellRows) else []


def load(path: Path, forms: str, overrides: ColumnOverrides = NOTHING) -> CellTable:
    """Open a table with its rows, cut at tabs, semicolons or commas, as its header has them, or read from JSON.

    `forms` says in messages what a table can be. Only rows with the values of `overrides.where` are read.

    Raises InputError for a file without columns or rows, and, while rows are read, for lines that do not fit it.
    """
    table = open_cells(path, forms, overrides)
    rows = CellRows(chosen_rows(skip_lines(table.rows, overrides.skip), table.header, overrides.where, table.where))
    if not rows.look_ahead(1):
        raise InputError(f"{table.where}: holds no rows below its header; give a table of {forms}")
    return replace(table, rows=rows, chosen=overrides.where)


def load_answers(path: Path, forms: str, overrides: ColumnOverrides = NOTHING) -> CellTable:
    """Open a table of answers, `load`, without the rows that its marks say are of control items.

    Raises InputError as `load` does.
    """
    table = load(path, forms, overrides)
    theirs, chosen = (
        {fold_name(name) for name in overrides.columns.values()},
        {fold_name(name) for name, _ in overrides.where},
    )
    read = (names for key, names in NAMES.items() if key != "control")
    known = {*theirs, *chosen, *_FIXED, *(alias for names in read for alias in (*names.usual, *names.rare))}
    used = [
        at for at, name in enumerate(table.header) if fold_name(name) in known or fold_name(name).startswith("human")
    ]
    marks = find_marks(table.first_rows(), table.again, table.header, used)
    return table if marks is None else replace(table, rows=CellRows(marks.keep(table.rows)), marks=marks)


def open_cells(path: Path, forms: str, overrides: ColumnOverrides = NOTHING) -> CellTable:
    """Read the header of a table, which may have no rows; `forms` says what a table can be.

    Raises InputError for a file without columns, and, while rows are read, for lines that do not fit it.
    """
    file = open_table(path, overrides, f"give a table of {forms}" if forms else REMEDY)
    if twice := next((name for name in file.header if name and file.header.count(name) > 1), None):
        raise InputError(f"{file.header_at}: the column {clip(twice, 40)!r} is there twice; name each once")
    commas = decide_commas(overrides.decimal, file.dialect is None or file.dialect.mark != ",")
    return CellTable(
        file.where,
        file.header,
        CellRows(_rows(file)),
        path,
        file.notes,
        commas=commas,
        overrides=overrides,
        own=file.header,
    )


def _rows(file: TableFile) -> Iterator[tuple[int, list[str]]]:
    width = len(file.header)
    for line, row in file.rows:
        if len(row) != width:
            raise InputError(f"{file.where}, line {line}: has {len(row)} cells for {width} columns; mend the line")
        yield line, [cell.strip() for cell in row]


def rename(table: CellTable, usual: Mapping[str, Names | Sequence[str]], overrides: Mapping[str, str]) -> CellTable:
    """Give columns our names: by `overrides` (ours -> the table's), else by the names that they usually have.

    `usual[ours]` are those names. Raises InputError for a column of `overrides` that is missing, and where two columns
    could be the same of ours.
    """
    names = list(table.header)
    for ours, theirs in overrides.items():
        exact = [k for k, name in enumerate(table.header) if name == theirs]
        matches = exact or [k for k, name in enumerate(table.header) if fold_name(name) == fold_name(theirs)]
        if not matches:
            advice = suggest(theirs, [name for name in table.header if name], "it has", 200)
            raise InputError(f"--columns {clip(f'{ours}={theirs}', 60)}: {table.where} has no such column; {advice}")
        # Another column that bears our name is put in brackets, so that it is not taken for the one that was told.
        names = [f"({name})" if fold_name(name) == ours else name for name in names]
        names[matches[0]] = ours
    names = [fold_name(name) if fold_name(name) in _FIXED and fold_name(name) not in names else name for name in names]
    people = naming_people(names, table.first_rows()) if MAY_SCORE.intersection(map(fold_name, names)) else set()
    for ours, aliases in usual.items():
        if ours not in names:
            known = aliases if isinstance(aliases, Names) else Names(tuple(aliases))
            _adopt(names, ours, known, people, table.where)
    return replace(table, header=tuple(names))


def _adopt(names: list[str], ours: str, known: Names, people: Collection[str], where: str) -> None:
    alike = [fold_name(name) for name in names]
    matches = [k for k, name in enumerate(alike) if name == ours or name in known.usual]
    if len(matches) > 1:
        both = clip(" and ".join(names[k] for k in matches), 60)
        raise InputError(
            f"{where}, line 1: {both} could both be the column {ours}; choose one with --columns {ours}=NAME"
        )
    rare = (name for name in known.rare if name in alike)
    usable = (alike.index(name) for name in rare if name not in MAY_SCORE or names[alike.index(name)] in people)
    for k in matches or list(usable)[:1]:
        names[k] = ours


def list_left_out(table: CellTable, copies: int) -> tuple[LeftOutRatings, ...]:
    """Return the numbers of rows that do not count: `copies` of other rows, and control items."""
    controls = (table.marks.count_left_out(),) if table.marks is not None and table.marks.counts else ()
    return (*((LeftOutRatings(copies, COPIES),) if copies else ()), *controls)


def merge_names(table: CellTable) -> CellTable:
    """Replace names that look alike by the one that comes first, if the user says so (`--alike merge`)."""
    if table.overrides.alike != "merge":
        return table
    spellings = Spellings()
    return replace(table, rows=CellRows(spellings.rows(table.rows, table.places())), spellings=spellings)


def number(text: str, where: str, column: str, *, commas: bool | None = False) -> float:
    """Read a number; NaN for a missing one.

    `where` and `column` name the cell in messages; `commas`: a decimal comma is allowed (None: where that is clear).
    Raises InputError for other texts, and for numbers whose squares would overflow.
    """
    if is_missing(text):
        return math.nan
    value = read_decimal(write_point(text, commas))
    if value is None:
        raise InputError(
            f"{where}: {column}={clip(ascii(text), 40)} is no number; mend it, leave it empty, or name the metrics "
            "with --metrics"
        )
    if abs(value) > LARGEST:
        raise InputError(f"{where}: {column}={clip(text, 40)} is larger than {LARGEST:g}; rescale this column")
    return value


def read_name(table: CellTable, cells: Sequence[str], line: int, column: str) -> str:
    """Return a name that must not be empty.

    Raises InputError naming the line where it is empty.
    """
    name = cells[table.column(column)]
    if name in NO_NAMES:
        what = f"is {name!r}, which is no name" if name else "is empty"
        raise InputError(f"{table.locate(line)}: {column} {what}; every row needs one")
    return name


def check_wanted(metrics: Iterable[str], there: Collection[str], where: str) -> None:
    """Raise InputError for a metric that was asked for (`metrics`) and is not among the table's (`there`)."""
    for name in metrics:
        if name not in there:
            advice = suggest(name, there or ["none"], "it has", 200)
            raise InputError(f"--metrics {clip(name, 40)}: {where} has no such metric; {advice}")


def check_systems(n: int, table: CellTable) -> None:
    """Raise InputError for more systems than can be compared."""
    if n > MOST_SYSTEMS:
        raise InputError(
            f"{table.where}: {n} systems are more than {MOST_SYSTEMS} that can be compared; does `system` name them?"
        )
