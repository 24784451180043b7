"""Write a comparison of designs: who is best, who ties, and by how much the others fall behind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simlab.compare import Row
from simlab.report import tables
from simlab.report.cells import measured_column

PLAIN_WORDS = {"best": "best", "tied": "tied with the best", "behind": "", "unknown": "?"}


def records(rows: Sequence[Row], by: str, measure: str) -> list[dict[str, Any]]:
    """List the rows in full precision; the baseline has no difference from itself."""
    return [
        {
            **row.at,
            by: row.design,
            measure: row.value,
            f"{measure}_mcse": row.mcse,
            f"{measure}_n": row.n,
            "baseline": row.baseline,
            "difference": row.contrast.difference if row.contrast else None,
            "difference_mcse": row.contrast.mcse if row.contrast else None,
            "difference_low": row.contrast.low if row.contrast else None,
            "difference_high": row.contrast.high if row.contrast else None,
            "clusters": row.contrast.clusters if row.contrast else None,
            "standing": row.standing,
        }
        for row in rows
    ]


def table(rows: Sequence[Row], by: str, measure: str, cluster: str) -> str:
    """Write one line per design, in every cell of the other axes, and what the columns rest on."""
    others = list(rows[0].at)
    values = measured_column(records(rows, by, measure), measure)
    differences, intervals = _differences(rows)
    header = [*others, by, measure, f"minus {_baseline(rows)}", "95 % interval", "standing"]
    cells = [
        [*(tables.word(row.at[name]) for name in others), tables.word(row.design), value, gap, interval, _word(row)]
        for row, value, gap, interval in zip(rows, values, differences, intervals, strict=True)
    ]
    return "\n".join([tables.aligned(header, cells, left=len(others) + 1, last_left=True), "", *_notes(rows, cluster)])


def _differences(rows: Sequence[Row]) -> tuple[list[str], list[str]]:
    digits = tables.decimals([row.contrast.mcse for row in rows if row.contrast])
    gaps = [
        row.contrast and tables.measured(row.contrast.difference, row.contrast.mcse, digits, sign=True) for row in rows
    ]
    intervals = [
        row.contrast and f"{tables.number(row.contrast.low, digits)} to {tables.number(row.contrast.high, digits)}"
        for row in rows
    ]
    return [gap or "" for gap in gaps], [interval or "" for interval in intervals]


def _baseline(rows: Sequence[Row]) -> str:
    """Name what differences are taken from: a value, or the best where that changes from cell to cell."""
    named = {tables.word(row.baseline) for row in rows}
    return named.pop() if len(named) == 1 else "the best"


def _word(row: Row) -> str:
    return PLAIN_WORDS[row.standing]


def _notes(rows: Sequence[Row], cluster: str) -> list[str]:
    clusters = sorted({row.contrast.clusters for row in rows if row.contrast})
    if clusters[0] < 2:
        return [f"No error can be given: one {cluster.replace('_', ' ')} only; run more worlds or studies."]
    span = str(clusters[0]) if len(clusters) == 1 else f"{clusters[0]} to {clusters[-1]}"
    n = sorted({row.n for row in rows})
    campaigns = str(n[0]) if len(n) == 1 else f"{n[0]} to {n[-1]}"
    return [
        f"Differences are paired over {span} {cluster.replace('_', ' ')}s that the designs share.",
        f"± Monte-Carlo standard error; n = {campaigns} campaigns behind each value.",
        "95 % t intervals, one at a time; tied: the difference from the best may be 0.",
    ]
