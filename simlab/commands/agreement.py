"""Write how far the raters of a table agree."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from simlab.drawing.text import tables
from simlab.drawing.text.tables import Form, Record
from simlab.fitting import agreement as measured

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


def agreement(file: Path, form: Form, plot: Path | None) -> str:
    """Read a table of ratings and write how far its raters agree; draw their scores if asked."""
    from simlab.drawing.figures import sweeps as figures
    from simlab.rng import stream
    from simlab.world.recorded import recorded

    if plot is not None:
        figures.check_suffix(plot)
    found = measured.agreement(recorded(stream(0, "agreement"), path=str(file), sha256=None, names=None))
    if plot is not None:
        figures.save(measured.figure(found), plot)
    return _written(found.tables(), found.notes(), form)


def _written(found: Mapping[str, Sequence[Record]], notes: Sequence[str], form: Form) -> str:
    if form == "json":
        return json.dumps({name: json.loads(tables.to_json(rows)) for name, rows in found.items()}, indent=1)
    if form == "csv":
        rows = [{"table": name, **row} for name, records in found.items() for row in records]
        keys = dict.fromkeys(key for row in rows for key in row)
        return tables.to_csv([{key: row.get(key) for key in keys} for row in rows])
    return "\n\n".join([*(_table(name, rows) for name, rows in found.items() if rows), "\n".join(notes)])


def _table(name: str, rows: Sequence[Record]) -> str:
    columns = COLUMNS[name]
    left = sum(isinstance(rows[0][key], str) for key in columns)
    return tables.aligned([*columns.values()], [[_cell(row[key]) for key in columns] for row in rows], left=left)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return tables.number(value, 2) if math.isfinite(value) else "-"
    return str(value)
