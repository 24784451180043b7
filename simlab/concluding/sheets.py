"""Write the answers of a campaign as a table or as events, and read them back.

Events are lines of JSON, one an answer. `text` writes a `Sheet`, `read` returns `SheetRows`; `serialise_value` and
`restore_value` turn arrays, records and tuples into JSON and back.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from math import prod
from pathlib import Path
from typing import Any, Literal, NamedTuple, NoReturn, TypeAlias

import numpy as np

from simlab.files import read_decimal
from simlab.messages import clip, show, suggest
from simlab.tables.cells import open_cells, rename
from simlab.tables.lines import numbered_lines
from simlab.tables.opening import difference, first_record
from simlab.tables.rating_table import ColumnOverrides
from simlab.types import Array, Collected, InputError, KnownCorrelation, KnownRates, Parts

As: TypeAlias = Literal["table", "events"]
ENDINGS: Mapping[As, str] = {"table": ".csv", "events": ".jsonl"}
TURN = "turn"
"""Column of a table that counts answers pair by pair; the `order` of events counts all answers."""

ARRAY, RECORD, TUPLE = "array", "record", "tuple"
MOST_VALUES = 50_000_000
_TYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "float32", "float64")
_RECORDS = {one.__name__: one for one in (KnownRates, KnownCorrelation, Parts)}
_DEEPEST = 8
_NAMES_MOST = 4


class Read(NamedTuple):
    """Collected answers, the number that was planned, and sentences on where a table falls short of its plan.

    `unlisted` says why missing answers could not be listed beside the plan ("": they were, or need no list). `hours` is
    the working time of all raters together (NaN: not known).
    """

    collected: Collected
    planned: int
    deviations: list[str]
    unlisted: str = ""
    hours: float = math.nan


class Sheet(NamedTuple):
    """Answers as rows of cells, in the order in which they came; `event` is the word for one of them.

    The first `answers` rows are answers; further rows hold a metric's scores of outputs without answers, and are events
    called `metric`. None is an empty cell.
    """

    event: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[Any]]
    answers: int


@dataclass(frozen=True, slots=True)
class SheetRows:
    """Cells of a table, or of events, as texts: `cells[column][k]`, "" = empty; `lines[k]` is the line of k.

    Columns have our names. `events` leave out what is empty.
    """

    where: str
    cells: Mapping[str, list[str]]
    lines: Sequence[int]
    events: bool = False

    def name_line(self, k: int) -> str:
        """Name the line of a row in a message."""
        return f"{self.where}, line {self.lines[k]}"

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.lines)

    def describe_difference(self, first: int, second: int) -> str:
        """State where the first of two rows stands, and in which columns they differ."""
        own, other = ([cells[k] for cells in self.cells.values()] for k in (first, second))
        return f"line {self.lines[first]}; {difference(list(self.cells), own, other)}"


def text(sheet: Sheet, form: As) -> str:
    """Write a sheet; numbers have as many digits as it takes to read back the same."""
    return "".join(_table(sheet) if form == "table" else _events(sheet))


def _table(sheet: Sheet) -> Iterator[str]:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(sheet.columns)
    writer.writerows([_cell(value) for value in row] for row in sheet.rows)
    yield buffer.getvalue()


def _cell(value: Any) -> str:
    return "" if value is None else repr(value) if isinstance(value, float) else str(value)


def _events(sheet: Sheet) -> Iterator[str]:
    columns = [TURN if name == "order" else name for name in sheet.columns]
    for k, row in enumerate(sheet.rows):
        record = {name: value for name, value in zip(columns, row, strict=True) if value is not None}
        event = sheet.event if k < sheet.answers else "metric"
        yield json.dumps({"event": event, "order": k, **record}, ensure_ascii=False, allow_nan=False) + "\n"


def is_events(path: Path) -> bool:
    """True if a file holds the events that simlab exports: its first record is one."""
    return {"event", "order"} <= first_record(path).keys()


def refuse_events(path: Path) -> None:
    """Raise InputError for events, which are read by the file that was exported with them."""
    if is_events(path):
        where = clip(path)
        raise InputError(
            f"{where}: holds events, which are read by what was exported beside them: --plan {where}.study.yaml"
        )


def read(path: Path, usual: Mapping[str, Sequence[str]], columns: Mapping[str, str], forms: str) -> SheetRows:
    """Read a table or events; `usual[ours]` are other names of a column, `columns[ours]` the user's choice.

    `forms` says in messages what the file can be. Raises InputError naming file and line for what is neither.
    """
    if is_events(path):
        return _read_events(path)
    table = rename(open_cells(path, forms, ColumnOverrides(columns=columns)), usual, columns)
    lines, cells = [], []
    for line, row in table.rows:
        lines.append(line)
        cells.append(row)
    by_column = zip(*cells, strict=True) if cells else ([] for _ in table.header)
    return SheetRows(
        table.where, {name: list(values) for name, values in zip(table.header, by_column, strict=True)}, lines
    )


def _read_events(path: Path) -> SheetRows:
    where, events, lines = clip(path), [], []
    for line, written in numbered_lines(path):
        if written.strip():
            events.append(_event(written, f"{where}, line {line}"))
            lines.append(line)
    names = dict.fromkeys(name for event in events for name in event if name != "order")
    columns = {name: [event.get(name, "") for event in events] for name in names}
    return SheetRows(where, {"order" if name == TURN else name: cells for name, cells in columns.items()}, lines, True)


def _event(written: str, where: str) -> dict[str, str]:
    try:
        event = json.loads(written)
    except (ValueError, RecursionError):
        event = None
    if not isinstance(event, dict) or not all(isinstance(value, str | int | float) for value in event.values()):
        raise InputError(f'{where}: is no event, such as {{"event": "rating", "system": "A", "score": 1.0, ...}}')
    return {name: _cell(value) for name, value in event.items()}


def column(rows: SheetRows, name: str) -> list[str]:
    """Return the cells of a column; raise InputError where it is not there."""
    if rows.events and name not in rows.cells:
        return [""] * len(rows)
    if name not in rows.cells:
        raise InputError(
            f"{rows.where}: has no column {name}, and its plan needs one; {suggest(name, rows.cells, 'it has')}"
        )
    return rows.cells[name]


def number(rows: SheetRows, name: str, k: int) -> float:
    """Return the number in column `name` of row `k`; raise InputError where there is none."""
    text = column(rows, name)[k]
    value = read_decimal(text)
    if value is None:
        raise InputError(f"{rows.name_line(k)}: {name}={clip(ascii(text), 40)} is no number; mend the line")
    return value


def number_by_plan(rows: SheetRows, name: str, names: Sequence[str], came: Iterable[int] | None = None) -> list[int]:
    """Return for each cell of a column its place in `names`, the plan's; for the rows `came` alone (None: all).

    Raises InputError for a name that the plan does not have, and where no cell has a name of the plan.
    """
    numbers, cells = {name: k for k, name in enumerate(names)}, column(rows, name)
    came = range(len(rows)) if came is None else came
    there = dict.fromkeys(cells[k] for k in came)
    if there and not numbers.keys() & there.keys():
        raise InputError(
            f"{rows.where}: this is the plan of another study: it has {clip(', '.join(names), 60)} and the table "
            f"{clip(', '.join(there), 60)} ({name}); name the plan of this table"
        )
    for k in came:
        if cells[k] not in numbers:
            raise InputError(
                f"{rows.name_line(k)}: {name} {clip(cells[k], 40)} is not in the plan; {suggest(cells[k], names)}"
            )
    return [numbers[cells[k]] for k in came]


def serialise_value(value: Any) -> Any:
    """Write a value as JSON has it; raise InputError for one that could not be read back.

    >>> serialise_value((1, None)), serialise_value(np.array([[0.1, 2]]))
    ({'tuple': [1, None]}, {'array': 'float64', 'shape': [1, 2], 'values': '0.1 2.0'})
    """
    if isinstance(value, np.ndarray):
        return _plain_array(value)
    if isinstance(value, np.generic):
        return {ARRAY: value.dtype.name, "shape": [], "values": _text(np.asarray(value))}
    # Exact types: a subclass would be read back as something else.
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value).__name__ in _RECORDS and type(value) is _RECORDS[type(value).__name__]:
        names = _names(type(value))
        return {RECORD: type(value).__name__, **{name: serialise_value(getattr(value, name)) for name in names}}
    if isinstance(value, tuple):
        return {TUPLE: [serialise_value(one) for one in value]}
    if isinstance(value, list):
        return [serialise_value(one) for one in value]
    if isinstance(value, Mapping):
        return {str(key): serialise_value(one) for key, one in value.items()}
    raise InputError(f"what an analyst is told holds a {type(value).__name__}, which no file can hold")


def restore_value(value: Any, where: str = "told", deep: int = 0) -> Any:
    """Read a value that `serialise_value` wrote; raise InputError, beginning with `where`, for anything else."""
    if deep > _DEEPEST:
        _refuse(where, "is nested too deeply")
    if isinstance(value, list):
        return [restore_value(one, where, deep + 1) for one in value]
    if not isinstance(value, dict):
        return value
    if ARRAY in value:
        return _array(value, where)
    if TUPLE in value:
        if not isinstance(value[TUPLE], list):
            _refuse(where, "holds a tuple that is none")
        return tuple(restore_value(one, where, deep + 1) for one in value[TUPLE])
    if RECORD in value:
        return _record(value, where, deep)
    return {key: restore_value(one, f"{where}.{key}", deep + 1) for key, one in value.items()}


def _plain_array(values: Array) -> dict[str, Any]:
    if values.dtype.name not in _TYPES:
        raise InputError(f"what an analyst is told holds numbers of the type {values.dtype}, which no file can hold")
    return {ARRAY: values.dtype.name, "shape": list(values.shape), "values": _text(values)}


def _text(values: Array) -> str:
    # A float is written with the fewest digits that read back as the same number; float32 as the double that it is.
    return " ".join(map(repr, (values.astype(np.int8) if values.dtype == bool else values).ravel().tolist()))


def _array(value: Mapping[str, Any], where: str) -> Array:
    """Read an array; of a number alone, the number."""
    name, shape, text = value[ARRAY], value.get("shape"), value.get("values")
    if name not in _TYPES or not isinstance(text, str) or not isinstance(shape, list):
        _refuse(where, "is no array")
    if len(shape) > _NAMES_MOST or not all(type(size) is int and 0 <= size <= MOST_VALUES for size in shape):
        _refuse(where, f"has the shape {show(shape)}")
    words = text.split(" ") if text else []
    # `prod` of Python does not overflow, as a damaged shape would make NumPy's.
    if len(words) != prod(shape) or len(words) > MOST_VALUES:
        _refuse(where, f"holds {len(words)} values for the shape {show(shape)}")
    try:
        # Read wide first: a number that is too large for a narrow type would wrap round unseen.
        read = np.array([float(word) if name.startswith("float") else int(word) for word in words], _widen_type(name))
        whole = read.astype(name)
    except (ValueError, OverflowError):
        _refuse(where, f"holds what is no {name}")
    if not name.startswith("float") and not np.array_equal(whole, read):
        _refuse(where, f"holds numbers that are too large for {name}")
    return whole.reshape(shape) if shape else whole.reshape(())[()]


def _widen_type(name: str) -> str:
    return "float64" if name.startswith("float") else "int64"


def _record(value: Mapping[str, Any], where: str, deep: int) -> Any:
    kind = _RECORDS.get(str(value[RECORD]))
    if kind is None or value.keys() - {RECORD} != set(_names(kind)):
        _refuse(where, f"is no record that simlab knows ({show(value[RECORD])})")
    return kind(**{name: restore_value(value[name], f"{where}.{name}", deep + 1) for name in _names(kind)})


def _names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind)) if is_dataclass(kind) else kind._fields  # type: ignore[attr-defined]


def _refuse(where: str, why: str) -> NoReturn:
    raise InputError(f"{where} {why}; the file is damaged, or was changed by hand: export the campaign again")
