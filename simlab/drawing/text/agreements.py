"""Write how far metrics agree about which trials pass."""

from __future__ import annotations

from collections.abc import Sequence

from simlab.drawing.text import tables
from simlab.drawing.text.tables import Record

ALL = "all"


def table(rows: Sequence[Record]) -> str:
    """Write a row per pair of metrics: shares of equal verdicts and correlations, of all corruptions together."""
    several = len({row["corruption"] for row in rows}) > 1
    shown = [row for row in rows if row["corruption"] == ALL or not several]
    header = ["metric", "other", "references", "agreement", "correlation", "n", "originals"]
    cells = [
        [
            row["metric"],
            row["other"],
            str(row["references"]),
            tables.measured(row["agreement"], row["agreement_error"], 3),
            tables.measured(row["correlation"], row["correlation_error"], 3),
            str(row["n"]),
            str(row["originals"]),
        ]
        for row in shown
    ]
    return "\n".join([tables.aligned(header, cells, left=2), "", *_notes(shown, several)])


def _notes(rows: Sequence[Record], several: bool) -> list[str]:
    notes = [
        "Share of equal verdicts, and the correlation (phi) of verdicts, ± standard error (trials of an original "
        "together; ?: nothing to tell it from)."
    ]
    if several:
        notes.append("All corruptions together; each of them is in --format csv.")
    reasons = dict.fromkeys(reason for row in rows if (reason := row["reason"]))
    notes += [f"No correlation where {reason}." for reason in reasons]
    if near := sum(row["near_ties"] for row in rows):
        notes.append(f"Pairs of verdicts of which one hangs on a near tie: {near} (near_ties in --format csv).")
    return notes
