"""Read the cells of a table: names, numbers and outcomes, each mistake named by file, line and value."""

from __future__ import annotations

import csv
import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simlab.files import decimal
from simlab.fitting_metrics.data import MOST_SYSTEMS
from simlab.messages import legible, or_nearest
from simlab.tables.lines import numbered_lines
from simlab.types import InputError

FORMS = (
    "outputs (columns system, item, human and one or more metrics), preferences (item, system_a and system_b or pair, "
    "human, metric), or the scores that `simlab mutt TRIALS --scores FILE.csv` writes"
)
_NOT_METRICS = frozenset(
    ("system", "item", "rater", "annotator", "document", "doc", "segment", "pair", "system_a", "system_b")
)
LARGEST = 1e50
"""Squares of larger scores, and sums of them, would not be numbers."""
MISSING = frozenset(("", "na", "n/a", "nan", "none", "null"))


@dataclass(frozen=True, slots=True)
class Table:
    """Hold the cells of a table: `rows` are (number of the line, its cells), as many as the `header` has."""

    where: str
    header: tuple[str, ...]
    rows: Sequence[tuple[int, list[str]]]

    def at(self, line: int) -> str:
        """Name a line in a message."""
        return f"{self.where}, line {line}"

    def column(self, name: str) -> int:
        """Return the place of a column that is there."""
        return self.header.index(name)


def load(path: Path) -> Table:
    """Read a table: tabs or commas, as its first line has them; raises InputError for lines that do not fit it."""
    where = legible(path)
    lines = numbered_lines(path)
    _, first = next(lines, (0, ""))
    if not first.strip():
        raise InputError(f"{where}: the first line is empty; it must name the columns of a table of {FORMS}")
    tabbed = "\t" in first
    header = tuple(cell.strip() for cell in next(_split([first], tabbed, where)))
    if twice := next((name for name in header if header.count(name) > 1), None):
        raise InputError(f"{where}, line 1: the column {legible(twice, 40)!r} is there twice; name each once")
    rows = []
    for at, line in lines:
        if not line.strip():
            continue
        cells = next(_split([line], tabbed, f"{where}, line {at}"))
        if len(cells) != len(header):
            raise InputError(f"{where}, line {at}: has {len(cells)} cells for {len(header)} columns; mend the line")
        rows.append((at, [cell.strip() for cell in cells]))
    if not rows:
        raise InputError(f"{where}: holds no rows below its header; give a table of {FORMS}")
    return Table(where, header, rows)


def _split(lines: Sequence[str], tabbed: bool, where: str) -> Iterator[list[str]]:
    # Published .tsv tables do not quote; a quotation mark there is part of the text.
    quoting: Any = csv.QUOTE_NONE if tabbed else csv.QUOTE_MINIMAL
    try:
        yield from csv.reader(lines, delimiter="\t" if tabbed else ",", quoting=quoting, strict=True)
    except csv.Error as error:
        raise InputError(
            f"{where}: is no line of comma-separated values ({error}); mend its quotation marks"
        ) from error


def human_columns(table: Table) -> list[int]:
    """Return the places of human scores: `human`, or several that begin with it."""
    return [k for k, name in enumerate(table.header) if name == "human" or name.startswith(("human_", "human "))]


def metric_columns(table: Table, wanted: Sequence[str]) -> dict[str, int]:
    """Return the places of the metrics that are asked for, else of all columns that are nothing else."""
    others = [k for k in range(len(table.header)) if k not in human_columns(table)]
    there = {table.header[k]: k for k in others if table.header[k] and table.header[k] not in _NOT_METRICS}
    for name in wanted:
        if name not in there:
            raise no_metric(name, table, there)
    return {name: there[name] for name in dict.fromkeys(wanted)} if wanted else there


def no_metric(name: str, table: Table, there: Collection[str]) -> InputError:
    """Say that a table lacks a metric that was asked for, and which it has."""
    advice = or_nearest(name, there or ["none"], "it has", 200)
    return InputError(f"--metrics {legible(name, 40)}: {table.where} has no such metric; {advice}")


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


class Numbers(dict[Any, int]):
    """Number things in the order in which they come."""

    def __missing__(self, key: Any) -> int:
        self[key] = len(self)
        return self[key]


def check_systems(n: int, table: Table) -> None:
    """Raise InputError for more systems than can be compared."""
    if n > MOST_SYSTEMS:
        raise InputError(
            f"{table.where}: {n} systems are more than {MOST_SYSTEMS} that can be compared; does `system` name them?"
        )
