"""Write a comparison of designs: who is best, who ties, and by how much the others fall behind."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from simlab.comparing.contrasts import Row, less_is_better, records, rests_on_few
from simlab.drawing.text import tables
from simlab.drawing.text.cells import BOUNDS, measured_column, replication
from simlab.measures.labels import FEW_CLUSTERS
from simlab.messages import word
from simlab.store.units import scopes

INTERVAL = "95 % interval"
UNPAIRED = "Not all designs met the same worlds: differences between those are not paired."
NO_ERROR = "No error can be given from"
NO_BEST = "Something speaks against every design that may lead: none is called best."
PLAIN_WORDS = {
    "best": "best",
    "tied": "tied with the best",
    "behind": "",
    "unknown": "?",
    "marked": "",
    "unranked": "not ranked",
}
MOST_MARKS = 8
"""So many reasons are written; the rest is counted."""


def table(rows: Sequence[Row], by: str, measure: str, cluster: str, *, paired: bool = True, fixed: str = "") -> str:
    """Write one line per design, in every cell of the other axes, and what the columns rest on.

    The arguments are those of `notes`.
    """
    head, lines = [by, measure, f"minus {_baseline(rows)}", INTERVAL, "standing"], _lines(rows, by, measure)
    others = list(rows[0].at)
    cells = [[word(row.at[name]) for name in others] for row in rows]
    joined = [[*cell, *line] for cell, line in zip(cells, lines, strict=True)]
    text = tables.folded([*others, *head], joined, left=len(others) + 1, last_left=True)
    below = notes(rows, by, measure, cluster, paired=paired, fixed=fixed)
    bounds = [f"{BOUNDS}."] if "≤" in text or "≥" in text else []
    without = any(line.startswith(NO_ERROR) for line in below)
    unsure = [f"{tables.untold(cluster)}."] if "± ?" in text and not without else []
    return "\n".join([text, "", *below, *bounds, *unsure])


def _lines(rows: Sequence[Row], by: str, measure: str) -> list[list[str]]:
    values = measured_column(records(rows, by, measure), measure)
    digits = tables.decimals([row.contrast.mcse for row in rows if row.contrast])
    return [
        [word(row.design), value, *difference(row, digits), f"{standing(row)}{' *' if row.marks else ''}".lstrip()]
        for row, value in zip(rows, values, strict=True)
    ]


def standing(row: Row) -> str:
    """Write where a design stands."""
    return PLAIN_WORDS[row.standing] if math.isfinite(row.value) else "no value"


def unlike(keys: Sequence[str]) -> list[str]:
    """Say that designs with systems of their own are not ranked, and which keys make the difference."""
    named = ", ".join(keys[:3]) + (", ..." if len(keys) > 3 else "")
    return [f"Their systems are not the same ones ({named}): none is called best."]


def at_equal(level: str, along: str) -> str:
    """Say that designs are held against each other between the cells of an axis, where these cost the same."""
    return f"At equal mean {level}: between the cells along {along}; errors hold that of the {level}, too."


def difference(row: Row, digits: int | None = None) -> tuple[str, str]:
    """Write the difference from the baseline and its interval; of the baseline itself nothing.

    Without `digits` they have as many as the error of the difference asks for.
    """
    found = row.contrast
    if found is None:
        return "", ""
    error = tables.told(found.mcse, (found.low, found.high), found.clusters)
    places = tables.decimals([error]) if digits is None else digits
    gap = tables.measured(found.difference, error, places, sign=True)
    if not math.isfinite(found.low):
        return gap, "?"
    return gap, f"{tables.number(found.low, places)} to {tables.number(found.high, places)}"


def _baseline(rows: Sequence[Row]) -> str:
    """Name what differences are taken from: a value, or what leads where that changes from cell to cell."""
    named = {word(row.baseline) for row in rows}
    best = all(row.standing == "best" for row in rows if row.contrast is None)
    return named.pop() if len(named) == 1 else "the best" if best else "the first"


def notes(
    rows: Sequence[Row], by: str, measure: str, cluster: str, *, paired: bool = True, fixed: str = ""
) -> list[str]:
    """Say what a comparison rests on: what is held fixed, what differences are paired over, what speaks against it.

    `cluster` is the word for what the measure is replicated over, in the same worlds for all (`paired`) or not; `fixed`
    says what its studies share.
    """
    clusters = [row.contrast.clusters for row in rows if row.contrast and math.isfinite(row.contrast.difference)]
    held, against = [f"Held fixed: {fixed}."] if fixed else [], _against(rows, by)
    if max(clusters, default=0) < 2:
        few = tables.counted(clusters or [0], cluster)
        return [*held, f"{NO_ERROR} {few}; run more worlds or studies.", *against]
    values = replication([row.n for row in rows], [row.clusters for row in rows if math.isfinite(row.value)], cluster)
    shared = f"Differences are paired over {tables.counted(clusters, cluster)} that the designs share."
    return [
        *held,
        shared if paired else UNPAIRED,
        f"± Monte-Carlo standard error; n = {values} behind each value.",
        "95 % t intervals, one at a time; tied: the difference from the best may be 0.",
        *(["Less is better."] if less_is_better(measure) else []),
        *_few(rows, cluster),
        *([f"{scope}."] if (scope := scopes([*rows[0].at, by, measure])) else []),
        *against,
    ]


def _few(rows: Sequence[Row], cluster: str) -> list[str]:
    """Say, in a line or none, that every value rests on a few clusters."""
    known = [row for row in rows if math.isfinite(row.value)]
    if not all(map(rests_on_few, known)):
        return []
    word = "campaign" if cluster == "replicate" else cluster
    return [f"Fewer than {FEW_CLUSTERS} {word}s stand behind every value: with more, another design may lead."]


def _against(rows: Sequence[Row], by: str) -> list[str]:
    """Say what speaks against designs, a line for each design and sort of reason, and where none is left to be best."""
    alike: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        at = ", ".join(f"{name}={word(value)}" for name, value in row.at.items())
        for mark in row.marks:
            # What differs from cell to cell is the number that was found.
            sort = re.sub(r"[\d.]+", "", mark)
            alike.setdefault((word(row.design), sort), []).append(f"{mark} ({at})" if at else mark)
    lines = [f"* {design}: {_first(marks)}" for (design, _), marks in alike.items()]
    more = [f"* and {len(lines) - MOST_MARKS} reasons more: --format json"] if len(lines) > MOST_MARKS else []
    return [*lines[:MOST_MARKS], *more, *([NO_BEST] if _without_best(rows) else [])]


def _first(marks: Sequence[str]) -> str:
    return marks[0] + (f", and alike in {tables.counted([len(marks) - 1], 'cell')} more" if len(marks) > 1 else "")


def _without_best(rows: Sequence[Row]) -> bool:
    """Tell whether in some cell a design leads that is not called best, and no other one is."""
    cells: dict[str, set[str]] = {}
    for row in rows:
        cells.setdefault(repr(row.at), set()).add(row.standing)
    return any("marked" in standings and "best" not in standings for standings in cells.values())
