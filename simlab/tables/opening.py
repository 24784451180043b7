"""Open any file as a table, text or JSON: its header, below titles if there are any, and the rows of cells.

Call `open_table`, which returns a `TableFile`. JSON is a list of records, or one record after the other, each a row of
cells.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from simlab.messages import clip, pluralise
from simlab.tables import columns
from simlab.tables.lines import (
    REMEDY,
    Dialect,
    cells,
    find_dialect,
    first_letter,
    numbered_lines,
    read_header,
    rows,
    whole_text,
)
from simlab.tables.rating_table import NOTHING, ColumnOverrides
from simlab.types import InputError

TITLE_LINES = 10
"""Number of lines in which the header is searched: exports put a title, a date or a remark above it."""
MOST_BYTES = 1 << 28
"""Most bytes of a JSON file: parsed, it takes about ten times as much memory."""
FORM = (
    'JSON is read as records: a list of them, or one a line, such as {"system": "A", "document": 1, "rater": "r1", '
    '"score": 4}'
)
_BLANK = re.compile(r"[ \t\r\n]*")


class CellRows(Iterator[tuple[int, list[str]]]):
    """Rows of cells with the numbers of their lines, to be gone through once; `look_ahead` shows the first ones."""

    def __init__(self, rows: Iterable[tuple[int, list[str]]]) -> None:
        self._rows = iter(rows)
        self._ahead: deque[tuple[int, list[str]]] = deque()

    def __next__(self) -> tuple[int, list[str]]:
        return self._ahead.popleft() if self._ahead else next(self._rows)

    def look_ahead(self, n: int = 200) -> list[list[str]]:
        """Return the cells of the first n rows without using these up."""
        self._ahead.extend(islice(self._rows, max(n - len(self._ahead), 0)))
        return [row for _, row in islice(self._ahead, n)]


@dataclass(frozen=True, slots=True)
class TableFile:
    """The header of a file, on line `line`, and its rows of cells.

    `dialect` is None of JSON. `first` is the first line that is not empty, of the number `first_line`, and `lines` are
    all lines, for files without a header (JSON: none); go through these or through the rows. `notes` are sentences on
    what stands above the header.
    """

    path: Path
    where: str
    header: tuple[str, ...]
    line: int
    dialect: Dialect | None
    rows: CellRows
    first: str = ""
    first_line: int = 1
    lines: Iterable[tuple[int, str]] = ()
    notes: tuple[str, ...] = ()

    @property
    def header_at(self) -> str:
        """Name the line of the header in a message."""
        return f"{self.where}, line {self.line}" if self.dialect else f"{self.where}, its keys"


def open_table(path: Path, overrides: ColumnOverrides = NOTHING, remedy: str = REMEDY) -> TableFile:
    """Open a file; `overrides` names columns of the table, by which its header is known as well.

    `remedy` ends messages about a file that cannot be read: which one to give instead.
    A table with a column for each system is laid out with a row for each. Raises InputError for an empty file, and for
    JSON that is no list of records; rows raise it as they are read.
    """
    file = _open(path, overrides, remedy)
    return stack_systems(file, overrides.wide) if overrides.wide else file


def _open(path: Path, overrides: ColumnOverrides, remedy: str) -> TableFile:
    if is_json(path, remedy):
        records = read_records(path)
        return TableFile(path, records.where, records.keys, 1, None, CellRows(records.rows))
    where = clip(path)
    lines = numbered_lines(path, remedy)
    head = list(islice(lines, TITLE_LINES))
    filled = [k for k, (_, text) in enumerate(head) if text.strip()]
    if not filled:
        raise InputError(f"{where}: is empty; {remedy}")
    at = _header_place([text for _, text in head], filled, overrides)
    number, text = head[at]
    dialect = find_dialect(text)
    header = tuple(read_header(text, dialect, f"{where}, line {number}"))
    content = rows(chain(head[at + 1 :], lines), dialect, where)
    first_line, first = head[filled[0]]
    notes: tuple[str, ...] = ()
    if at != filled[0]:
        above = pluralise(sum(k < at for k in filled), "line")
        notes = (f"the header is line {number}; left out: {above} above it ({clip(first.strip(), 60)})",)
    filled_rows = ((line, row) for line, row in content if any(map(str.strip, row)))
    return TableFile(
        path, where, header, number, dialect, CellRows(filled_rows), first, first_line, chain(head, lines), notes
    )


def _header_place(head: Sequence[str], filled: Sequence[int], overrides: ColumnOverrides) -> int:
    """Return which of the first lines names columns that are read; else the first that names several; else the first.

    Messages then speak of the line that its owner takes for the header.
    """
    names = {k: cells(head[k], find_dialect(head[k])) for k in filled}
    known = (
        k for k in filled if columns.name_a_table(names[k], overrides.columns) or _has_all(names[k], overrides.wide)
    )
    several_names = (k for k in filled if len(names[k]) > 1)
    return next(known, next(several_names, filled[0]))


def _has_all(names: Sequence[str], wanted: Sequence[str]) -> bool:
    return bool(wanted) and {columns.fold_name(name) for name in wanted} <= {columns.fold_name(name) for name in names}


def stack_systems(file: TableFile, wide: Sequence[str]) -> TableFile:
    """Lay a table with a column of scores for each system out: a row for each system, on the same line.

    Raises InputError for a column that is not there, and for a table that names systems or scores beside them.
    """
    at = [columns.column_place(name, file.header, file.header_at, f"--wide {clip(name, 40)}") for name in wide]
    if len(set(at)) < 2:
        raise InputError(f"--wide {clip(','.join(wide), 60)}: name the columns of two systems, or more")
    rest = [k for k in range(len(file.header)) if k not in at]
    for k in rest:
        if columns.fold_name(file.header[k]) in columns.BESIDE_WIDE:
            raise InputError(
                f"--wide {clip(','.join(wide), 60)}: {file.where} has a column {clip(file.header[k], 40)}, too, "
                "and so a row for each system; leave --wide out"
            )
    header = (*(file.header[k] for k in rest), "system", "score")
    return replace(file, header=header, rows=CellRows(_rows_per_system(file, at, rest)))


def _rows_per_system(file: TableFile, at: Sequence[int], rest: Sequence[int]) -> Iterator[tuple[int, list[str]]]:
    n = len(file.header)
    for line, row in file.rows:
        if len(row) != n:
            raise InputError(f"{file.where}, line {line}: has {len(row)} cells for {n} columns; mend the line")
        named = [row[k] for k in rest]
        for k in at:
            yield line, [*named, file.header[k], row[k]]


def differing_rows(path: Path, overrides: ColumnOverrides) -> Callable[[int, int], str]:
    """Return a function that states in which columns the rows on two lines differ; it reads the file again."""

    def compare(first: int, second: int) -> str:
        file = open_table(path, replace(overrides, wide=()))
        lines = {line: row for line, row in file.rows if line in (first, second)}
        return difference(file.header, lines.get(first, []), lines.get(second, []))

    return compare


def difference(names: Sequence[str], first: Sequence[str], second: Sequence[str]) -> str:
    """State in which columns two rows differ.

    >>> difference(["system", "score"], ["A", "4"], ["A", "5"])
    'the two rows differ in score (4, 5)'
    """
    cells_of = zip(names, first, second, strict=False)
    apart = [f"{name} ({before}, {after})" for name, before, after in cells_of if before.strip() != after.strip()]
    if not apart:
        return "the two rows are alike in every column"
    return f"the two rows differ in {clip(', '.join(apart), 160)}"


def compare_rows(path: Path, first: str, second: str) -> str:
    """State where two names stand first, and in which columns these rows differ; empty where no cell is such a name."""
    file, met = open_table(path), dict[str, tuple[int, list[str]]]()
    for line, row in file.rows:
        cells_there = {cell.strip() for cell in row}
        for name in (first, second):
            if name in cells_there:
                met.setdefault(name, (line, row))
        if len(met) == 2:
            (first_line, first_row), (second_line, second_row) = met[first], met[second]
            return f" (lines {first_line} and {second_line}: {difference(file.header, first_row, second_row)})"
    return ""


class Records(NamedTuple):
    """The keys of records in the order in which they come first, and a row of cells each with the number of its line.

    `where` names the file in messages.
    """

    where: str
    keys: tuple[str, ...]
    rows: list[tuple[int, list[str]]]


def is_json(path: Path, remedy: str = REMEDY) -> bool:
    """True if a file holds JSON: it begins with a bracket, and no header of a table does."""
    return first_letter(path, remedy) in ("[", "{")


def first_record(path: Path) -> Mapping[str, Any]:
    """Return the first record of a file; an empty one where it holds none that can be read."""
    if not path.is_file() or not is_json(path):
        return {}
    try:
        return next(_records(whole_text(path, MOST_BYTES), clip(path)), (0, {}))[1]
    except InputError:
        return {}


def read_records(path: Path) -> Records:
    """Read all records of a file of JSON; a key that a record lacks is an empty cell.

    Raises InputError naming the line for broken JSON, and for JSON that is no list of records.
    """
    where = clip(path)
    entries = list(_records(whole_text(path, MOST_BYTES), where))
    if not entries:
        raise InputError(f"{where}: holds no record; {FORM}")
    if len(entries) == 1 and any(isinstance(value, list | dict) for value in entries[0][1].values()):
        shown = clip(", ".join(entries[0][1]), 100)
        raise InputError(f"{where}: holds one JSON object with the keys {shown}; {FORM}")
    keys = tuple(dict.fromkeys(key for _, record in entries for key in record))
    lines = [line for line, _ in entries]
    # Several records on one line are not told apart by its number, and are counted instead.
    if len(set(lines)) < len(lines):
        where = f"{where} (record by record)"
        lines = list(range(1, len(entries) + 1))
    cells = ([_cell(record.get(key)) for key in keys] for _, record in entries)
    return Records(where, keys, list(zip(lines, cells, strict=True)))


def _records(text: str, where: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Go through records and the lines that they begin on."""
    line, before = 1, 0
    for at, value in _values(text, where):
        line += text.count("\n", before, at)
        before = at
        if not isinstance(value, dict):
            kind = "a list" if isinstance(value, list) else "a text" if isinstance(value, str) else "a number"
            raise InputError(f"{where}, line {line}: holds {kind} where a record is read; {FORM}")
        yield line, value


def _values(text: str, where: str) -> Iterator[tuple[int, Any]]:
    """Go through the elements of a list, or values that follow each other, and their places."""
    decoder = json.JSONDecoder()
    at = _skip_blanks(text, 0)
    listed = text[at : at + 1] == "["
    at = _skip_blanks(text, at + 1) if listed else at
    closed = "]" if listed else ""
    while text[at : at + 1] != closed:
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            place = getattr(error, "pos", at)
            problem = clip(getattr(error, "msg", "nested too deeply"), 60)
            raise InputError(
                f"{where}, line {text.count(chr(10), 0, place) + 1}: is no JSON ({problem}); mend it"
            ) from error
        yield at, value
        at = _skip_blanks(text, end)
        if text[at : at + 1] == ",":
            at = _skip_blanks(text, at + 1)
        elif listed and text[at : at + 1] != "]":
            line = text.count("\n", 0, at) + 1
            raise InputError(
                f"{where}, line {line}: the list of records does not go on with a comma, nor ends; mend it"
            )


def _skip_blanks(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return at if match is None else match.end()


def _cell(value: Any) -> str:
    """Write a value as a cell; several words, such as a model and its prompt, are joined."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
        return " ".join(value)
    return json.dumps(value, ensure_ascii=False) if not isinstance(value, bool) else str(value)
