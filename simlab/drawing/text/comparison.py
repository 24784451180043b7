"""Write a comparison of designs: who is best, who ties, and by how much the others fall behind."""

from __future__ import annotations

import math
from collections.abc import Sequence

from simlab.comparing.contrasts import Row, less_is_better
from simlab.comparing.labelled import records
from simlab.drawing.text import tables
from simlab.drawing.text.cells import measured_column, replication

INTERVAL = "95 % interval"
SHARED, NOT_SHARED = "that the designs share", "of each: their systems are not the same ones"
UNPAIRED = "Not all stores met the same worlds: differences between those are not paired."
PLAIN_WORDS = {"best": "best", "tied": "tied with the best", "behind": "", "unknown": "?"}


def table(rows: Sequence[Row], by: str, measure: str, cluster: str, *, shared: bool = True) -> str:
    """Write one line per design, in every cell of the other axes, and what the columns rest on.

    `cluster` is the word for what the measure is replicated over, `shared` by the designs or not. Where the width does
    not hold all columns, there is a table for each cell; where these do not fit either, they leave out their intervals,
    and a line says so.
    """
    head, lines = [by, measure, f"minus {_baseline(rows)}", INTERVAL, "standing"], _lines(rows, by, measure)
    others = list(rows[0].at)
    cells = [[tables.word(row.at[name]) for name in others] for row in rows]
    joined = [[*cell, *line] for cell, line in zip(cells, lines, strict=True)]
    text, left_out = tables.aligned([*others, *head], joined, left=len(others) + 1, last_left=True), []
    if not tables.fits(text):
        left_out = [] if tables.fits(tables.aligned(head, lines, last_left=True)) else [INTERVAL]
        text = _by_cell(others, cells, head, lines, left_out)
    notes = _notes(rows, measure, cluster, shared=shared)
    missing = [f"Left out for width: {', '.join(left_out)}; --format csv has all columns."] if left_out else []
    return "\n".join([text, "", *notes, *missing])


def _by_cell(
    others: Sequence[str],
    cells: Sequence[Sequence[str]],
    head: Sequence[str],
    lines: Sequence[Sequence[str]],
    left_out: Sequence[str],
) -> str:
    """Write a table for each cell of the other axes, without the columns that are left out."""
    parts: dict[str, list[Sequence[str]]] = {}
    for cell, line in zip(cells, lines, strict=True):
        title = ", ".join(f"{name}={value}" for name, value in zip(others, cell, strict=True))
        parts.setdefault(title, []).append(line)
    kept = [k for k, name in enumerate(head) if name not in left_out]
    picked = {title: [[line[k] for k in kept] for line in part] for title, part in parts.items()}
    texts = {title: tables.aligned([head[k] for k in kept], part, last_left=True) for title, part in picked.items()}
    return "\n\n".join(f"{title}\n{text}".lstrip() for title, text in texts.items())


def _lines(rows: Sequence[Row], by: str, measure: str) -> list[list[str]]:
    values = measured_column(records(rows, by, measure), measure)
    digits = tables.decimals([row.contrast.mcse for row in rows if row.contrast])
    return [
        [tables.word(row.design), value, *_difference(row, digits), PLAIN_WORDS[row.standing]]
        for row, value in zip(rows, values, strict=True)
    ]


def _difference(row: Row, digits: int) -> tuple[str, str]:
    """Write the difference from the baseline and its interval; of the baseline itself nothing."""
    if row.contrast is None:
        return "", ""
    gap = tables.measured(row.contrast.difference, row.contrast.mcse, digits, sign=True)
    if not math.isfinite(row.contrast.low):
        return gap, "?"
    return gap, f"{tables.number(row.contrast.low, digits)} to {tables.number(row.contrast.high, digits)}"


def _baseline(rows: Sequence[Row]) -> str:
    """Name what differences are taken from: a value, or the best where that changes from cell to cell."""
    named = {tables.word(row.baseline) for row in rows}
    return named.pop() if len(named) == 1 else "the best"


def _notes(rows: Sequence[Row], measure: str, cluster: str, *, shared: bool) -> list[str]:
    clusters = [row.contrast.clusters for row in rows if row.contrast]
    if max(clusters) < 2:
        return [f"No error can be given from {tables.counted(clusters, cluster)}; run more worlds or studies."]
    values = replication([row.n for row in rows], [row.clusters for row in rows if math.isfinite(row.value)], cluster)
    return [
        f"Differences are paired over {tables.counted(clusters, cluster)} {SHARED if shared else NOT_SHARED}.",
        f"± Monte-Carlo standard error; n = {values} behind each value.",
        "95 % t intervals, one at a time; tied: the difference from the best may be 0.",
        *(["Less is better."] if less_is_better(measure) else []),
    ]
