"""Return the answer of `simlab fit-metric` as text: its numbers on metrics, its files, and what to do next.

A row is one number: its `metric`, `what` it is, `value`, the ends `low` and `high` of its interval, and `rests_on`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from simlab.drawing.text import tables
from simlab.drawing.text.tables import Record
from simlab.messages import pluralise

MOST_ROWS = 130
"""Rows that are written: two numbers for every pair of a dozen systems."""


def page(rows: Sequence[Record], notes: Sequence[str], files: Mapping[str, Path], commands: Sequence[str]) -> str:
    """Write a line per number that was learned, notes, and what to do next; rows that are cut are counted.

    `files[metric]` is the file that was written for it; the first of the `commands` is the next step.
    """
    header = ["metric", "what", "value", "95 % interval", "rests on"]
    rest = len(rows) - MOST_ROWS
    return "\n".join([
        tables.align_columns(header, [_line(row) for row in rows[:MOST_ROWS]], left=2, last_left=True),
        *([f"and {pluralise(rest, 'number')} more: --format json"] if rest > 0 else []),
        "",
        *notes,
        "",
        *(f"written: {file}" for file in files.values()),
        *(f"or: {words}" for words in commands[1:]),
        *(f"next: {words}" for words in commands[:1]),
    ])  # fmt: skip


def write_json(
    read: Mapping[str, Any],
    rows: Sequence[Record],
    notes: Sequence[str],
    files: Mapping[str, Path],
    commands: Sequence[str],
) -> str:
    """Return the same as `page` does as JSON, with all rows; `read` is how the table was read."""
    answer: dict[str, Any] = {
        "read": dict(read),
        "learned": tables.replace_nan(rows),
        "notes": list(notes),
        "files": {name: str(file) for name, file in files.items()},
        "next": list(commands),
    }
    return json.dumps(answer, indent=1)


def _line(row: Record) -> list[str]:
    value, low, high = (tables.number(row[name], 3) for name in ("value", "low", "high"))
    return [row["metric"], row["what"], value, f"{low} to {high}", row["rests_on"]]
