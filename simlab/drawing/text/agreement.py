"""Write how far raters agree, and what the scores of each are like."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from simlab.drawing.text import tables
from simlab.drawing.text.tables import Record

COLUMNS: Mapping[str, Mapping[str, str]] = {
    "coefficients": {
        "coefficient": "agreement on outputs", "value": "value", "low": "95 % interval", "outputs": "outputs",
        "ratings": "ratings", "raters": "raters", "documents": "documents",
    },
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
    "corated": {
        "rater": "rater", "shared": "shared outputs", "leniency": "leniency", "leniency_low": "95 % interval",
        "sharpness": "sharpness", "sharpness_low": "95 % interval", "seconds": "seconds", "hours": "hours",
        "controls": "controls", "failed": "failed", "failed_low": "95 % interval",
    },
    "hours": {
        "rule": "time between answers", "cut": "cut at, s", "hours": "hours", "seconds": "seconds an answer",
        "answers": "answers", "logins": "logins", "people": "people",
    },
    "predicted": {
        "people": "speeds of other people", "cut": "cut at, s", "median": "predicted hours", "low": "90 % interval",
        "happened": "happened", "inside": "inside", "log_score": "log score a login",
        "flat_log_score": "of one flat speed",
    },
}  # fmt: skip


def page(agreement: Mapping[str, Sequence[Record]], notes: Sequence[str]) -> str:
    """Write the tables that have rows, and what they rest on."""
    known = {name: [row for row in rows if _known(name, row)] for name, rows in agreement.items()}
    return "\n\n".join([*(_table(name, rows) for name, rows in known.items() if rows), "\n".join(notes)])


def _known(name: str, row: Record) -> bool:
    """Say whether a row says anything; what nobody knows is said once, in a note."""
    keys = {
        "coefficients": ("value",),
        "agreement": ("kendall",),
        "pairs": ("single", "shared"),
        "corated": ("leniency", "seconds", "failed_share"),
    }
    return name not in keys or any(math.isfinite(row[key]) for key in keys[name])


def write(read: Mapping[str, Any], agreement: Mapping[str, Sequence[Record]], form: str) -> str:
    """Write what was read and the tables as JSON, by their names; else one table whose first column names them."""
    if form == "json":
        named = {name: tables.plain(rows) for name, rows in agreement.items()}
        return json.dumps({"read": dict(read), **named}, indent=1)
    rows = [{"table": name, **row} for name, records in agreement.items() for row in records]
    keys = dict.fromkeys(key for row in rows for key in row)
    return tables.write([{key: row.get(key) for key in keys} for row in rows], form)


def _table(name: str, rows: Sequence[Record]) -> str:
    columns = COLUMNS[name]
    if name == "corated":
        columns = {key: word for key, word in columns.items() if _told(key, rows)}
    left = sum(isinstance(rows[0][key], str) for key in columns)
    return tables.aligned([*columns.values()], [[_shown(row, key) for key in columns] for row in rows], left=left)


def _told(key: str, rows: Sequence[Record]) -> bool:
    """Say whether any rater was timed, or met a control item: else the columns are left out."""
    beside = {
        "seconds": "timed",
        "hours": "timed",
        "controls": "controls",
        "failed": "controls",
        "failed_low": "controls",
    }
    return key not in beside or any(row[beside[key]] for row in rows)


def _shown(row: Record, key: str) -> str:
    if key.endswith("low"):
        low, high = row[key], row[f"{key[:-3]}high"]
        return f"{tables.number(low, 2)} to {tables.number(high, 2)}" if math.isfinite(low) else "-"
    if key == "coefficient" and math.isfinite(row["ratings_each"]):
        return f"{row[key]}, k = {row['ratings_each']:.3g}"
    return f"{row[key]:,g}" if key == "cut" else _cell(row[key])


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return tables.number(value, 2) if math.isfinite(value) else "-"
    return str(value)
