"""Write how far raters agree, and what the scores of each are like."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from simlab.drawing.text import tables
from simlab.drawing.text.tables import Record

COLUMNS: Mapping[str, Mapping[str, str]] = {
    "agreement": {"kind": "Kendall's tau over", "kendall": "mean", "standard_error": "± error", "rater_pairs": "pairs"},
    "pairs": {
        "first": "rater", "second": "and rater", "single": "per document", "shared": "all documents",
        "documents": "documents",
    },
    "raters": {
        "rater": "rater", "ratings": "ratings", "documents": "documents", "mean": "mean score", "sd": "sd",
        "q25": "25 %", "q50": "50 %", "q75": "75 %", "q90": "90 %", "maximum": "most", "zero_share": "zeros",
        "errors_per_segment": "errors",
    },
}  # fmt: skip


def page(agreement: Mapping[str, Sequence[Record]], notes: Sequence[str]) -> str:
    """Write the tables `agreement`, `pairs` and `raters`, and what they rest on."""
    return "\n\n".join([*(_table(name, rows) for name, rows in agreement.items() if rows), "\n".join(notes)])


def write(agreement: Mapping[str, Sequence[Record]], form: str) -> str:
    """Write the tables for a program: as JSON by their names, else as one whose first column names them."""
    if form == "json":
        return json.dumps({name: tables.plain(rows) for name, rows in agreement.items()}, indent=1)
    rows = [{"table": name, **row} for name, records in agreement.items() for row in records]
    keys = dict.fromkeys(key for row in rows for key in row)
    return tables.write([{key: row.get(key) for key in keys} for row in rows], form)


def _table(name: str, rows: Sequence[Record]) -> str:
    columns = COLUMNS[name]
    left = sum(isinstance(rows[0][key], str) for key in columns)
    return tables.aligned([*columns.values()], [[_cell(row[key]) for key in columns] for row in rows], left=left)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return tables.number(value, 2) if math.isfinite(value) else "-"
    return str(value)
