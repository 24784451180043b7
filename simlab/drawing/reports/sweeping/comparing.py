"""Lay out a comparison of designs: who is best, who ties, by how much the others fall behind, and what that rests on.

`simlab compare` (`report`) and the report of a store are made of it. A `Row` is a design in a cell, that is at one
combination of values of the axes that are not compared, with its paired difference from the baseline; `lines` and
`columns` give the table of such rows. Of its standings, `unreached` is a design without cells at that cost, `marked`
one that something speaks against.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from simlab.comparing.contrasts import BETTER_BY, Comparison, Row, group_by_cell, has_few_clusters, is_lower_better
from simlab.drawing.reports.cells import BOUNDS, replication
from simlab.drawing.reports.terms import Cell, Points, Report, ReportTable, Section, Value
from simlab.drawing.reports.values import cells, format_interval, format_value, places
from simlab.drawing.text import tables
from simlab.drawing.view import cluster_word
from simlab.measures.labels import FEW_CLUSTERS
from simlab.messages import word
from simlab.store.units import scopes

INTERVAL = "95 % interval"
UNPAIRED = "Not all designs met the same worlds: differences between those are not paired."
NO_BEST = "Something speaks against every design that may lead: none is called best."
PLAIN_WORDS = {
    "best": "best",
    "tied": "tied with the best",
    "behind": "",
    "unknown": "?",
    "marked": "",
    "unranked": "not ranked",
    "unreached": "no such cells",
}
COUNTED = {
    "behind": "behind it beyond error",
    "tied": "tied with it",
    "marked": "with something against them",
    "unreached": "without cells at that cost",
    "unknown": "of unknown standing",
}
MOST_MARKS = 8
"""Reasons against designs that are written; the rest is counted."""


def report(comparison: Comparison) -> Report:
    """Make the report of an answer of `simlab compare`: one line per design, in every cell of the other axes."""
    rows, others = _sort_rows(comparison), list(comparison.rows[0].at)
    head = (*others, comparison.by, comparison.measure, *columns(rows, named=not comparison.designs))
    shared = any(row.better for row in rows)
    head = (*head, f"by {word(BETTER_BY)[1:]} or more") if shared else head
    at = [tuple(word(row.at[name]) for name in others) for row in rows]
    named = [(*cell, word(row.design)) for cell, row in zip(at, rows, strict=True)]
    tail = [(_share(row, less=is_lower_better(comparison.measure)),) if shared else () for row in rows]
    table = ReportTable(
        "", head, tuple((*name, *line, *more) for name, line, more in zip(named, lines(rows), tail, strict=True))
    )
    return Report(
        "Designs beside each other",
        f"Which {comparison.by} is the best by {comparison.measure}?",
        tuple(_leaders(comparison)) if comparison.designs else (),
        (Section("", (table, Points(tuple(notes(comparison, [table]))))),),
        held_fixed=tuple(filter(None, (comparison.held_fixed,))),
        reservations=tuple(reservations(comparison)),
    )


def _share(row: Row, *, less: bool) -> str:
    if row.contrast is None or row.better is None or row.worse is None:
        return ""
    ahead = row.contrast.difference < 0 if less else row.contrast.difference > 0
    worlds_share = row.better if ahead else row.worse
    # All worlds of some, or none, are a bound and no share: the error of what never varied is not 0.
    sign, share = {1.0: ("≥ ", worlds_share.low), 0.0: ("≤ ", worlds_share.high)}.get(
        worlds_share.value, ("", worlds_share.value)
    )
    return f"{'better' if ahead else 'worse'} in {sign}{format_value(Value(share, digits=2))} of worlds"


def _sort_rows(comparison: Comparison) -> Sequence[Row]:
    """Put designs of several axes in order in each cell, the best first, without those that have no value there.

    Designs along a single axis keep the order of the axis.
    """
    if not comparison.designs:
        return comparison.rows
    sign = 1 if is_lower_better(comparison.measure) else -1
    cells = [[row for row in cell if row.standing != "unreached"] for cell in group_by_cell(comparison.rows)]
    return [row for cell in cells for row in sorted(cell, key=lambda row: (math.isnan(row.value), sign * row.value))]


def _leaders(comparison: Comparison) -> Iterator[str]:
    """Name the best of each cell, and how many are behind it beyond error, tied or unreached."""
    for cell in group_by_cell(comparison.rows):
        best = next((row for row in cell if row.standing == "best"), None)
        if best is None:
            continue
        at = ", ".join(f"{name} {word(value)}" for name, value in best.at.items())
        counted = [f"{n} {words}" for standing, words in COUNTED.items() if (n := _count(cell, standing))]
        leader = f"{at}: {word(best.design)} is the best" if at else f"{word(best.design)} is the best"
        yield f"{leader}; of {len(cell) - 1} others {', '.join(counted)}."


def _count(cell: Sequence[Row], standing: str) -> int:
    return sum(row.standing == standing for row in cell)


def columns(rows: Sequence[Row], *, named: bool = True) -> tuple[str, ...]:
    """Return the heads of the columns that `lines` fills after the measure: difference, interval, standing.

    The difference is from the baseline by its name, or from "the best" where it changes from cell to cell; with `named`
    False, for long names, the best is never named.
    """
    names = {word(row.baseline) for row in rows}
    best = all(row.standing == "best" for row in rows if row.contrast is None)
    baseline = names.pop() if len(names) == 1 and (named or not best) else "the best" if best else "the first"
    return f"minus {baseline}", INTERVAL, "standing"


def lines(rows: Sequence[Row]) -> list[tuple[Cell, ...]]:
    """Lay out, of each design, its value, its difference from the baseline, the interval of that, and its standing."""
    gaps = [gap(row) for row in rows]
    digits = places(gaps)
    return [
        (value(row), difference, _interval(difference, digits), f"{standing(row)}{' *' if row.marks else ''}".lstrip())
        for row, difference in zip(rows, gaps, strict=True)
    ]


def value(row: Row) -> Value:
    """Return the value of a design with its error and interval; what was calculated has no error."""
    if not math.isfinite(row.value):
        return Value(None)
    if _is_calculated(row):
        return Value(row.value)
    return Value(row.value, row.mcse, row.n, row.clusters, *_ends(row.low, row.high))


def _is_calculated(row: Row) -> bool:
    return row.n == 0 and row.mcse == 0


def gap(row: Row) -> Value | None:
    """Return the paired difference of a design from the baseline; None for the baseline itself."""
    contrast = row.contrast
    if contrast is None:
        return None
    if not math.isfinite(contrast.difference):
        return Value(None)
    if row.n == 0 and contrast.low == contrast.high:
        return Value(contrast.difference, signed=True)
    low, high = _ends(contrast.low, contrast.high)
    return Value(contrast.difference, contrast.mcse, clusters=contrast.clusters, low=low, high=high, signed=True)


def _ends(low: float, high: float) -> tuple[float | None, float | None]:
    return (low, high) if math.isfinite(low) else (None, None)


def _interval(gap: Value | None, digits: int | None) -> str:
    if gap is None or (gap.mcse is None and gap.value is not None):
        return ""
    return format_interval(gap, digits) or "?"


def standing(row: Row) -> str:
    """Write the standing of a design in words: best, tied with the best, not ranked; "" where it is behind."""
    return PLAIN_WORDS[row.standing] if math.isfinite(row.value) or row.standing == "unreached" else "no value"


def notes(comparison: Comparison, shown: Sequence[ReportTable]) -> Iterator[str]:
    """State what tables of `lines` rest on, and what their signs mean."""
    rows = [row for row in comparison.rows if row.standing != "unreached"]
    cluster = cluster_word(comparison.cluster)
    known = [row for row in rows if math.isfinite(row.value)]
    clusters = [row.contrast.clusters for row in rows if row.contrast and math.isfinite(row.contrast.difference)]
    if all(map(_is_calculated, known)):
        yield "Calculated, without simulation: no sampling error."
    elif max(clusters, default=0) < 2:
        yield f"No error can be given from {tables.count_nouns(clusters or [0], cluster)}; run more worlds or studies."
        return
    else:
        values = replication([row.n for row in rows], [row.clusters for row in known], cluster)
        shared = f"Differences are paired over {tables.count_nouns(clusters, cluster)} that the designs share."
        yield shared if comparison.paired else UNPAIRED
        yield f"± Monte-Carlo standard error; n = {values} behind each value."
        yield "95 % t intervals, one at a time; tied: the difference from the best may be 0."
    if any(row.better for row in rows):
        yield "Shares of worlds have the noise of studies removed; their intervals: --format json."
    if is_lower_better(comparison.measure):
        yield "Less is better."
    if all(map(has_few_clusters, known)):
        each = "campaign" if cluster == "replicate" else cluster
        yield f"Fewer than {FEW_CLUSTERS} {each}s stand behind every value: with more, another design may lead."
    if scope := scopes([*rows[0].at, comparison.by, comparison.measure]):
        yield f"{scope}."
    written = " ".join(cell for table in shown for line in cells(table) for cell in line)
    if "≤" in written or "≥" in written:
        yield f"{BOUNDS}."
    if "± ?" in written:
        yield f"{tables.explain_missing_error(cluster)}."
    if (equal := comparison.equal) is not None:
        along = f"between the cells along {equal.along}; errors hold that of the {equal.level}, too"
        yield f"At equal mean {equal.level}: {along}."
        yield from _list_unreached(comparison.rows)


def _list_unreached(rows: Sequence[Row]) -> Iterator[str]:
    """Name the designs that do not reach some costs, with the range of their own."""
    lacking = {word(row.design): row.marks[-1] for row in rows if row.standing == "unreached"}
    alike: dict[str, list[str]] = {}
    for design, ends in [*lacking.items()][:MOST_MARKS]:
        alike.setdefault(ends, []).append(design)
    if alike:
        named = "; ".join(f"{ends} for {' and '.join(designs)}" for ends, designs in alike.items())
        more = f"; and {len(lacking) - MOST_MARKS} designs more" if len(lacking) > MOST_MARKS else ""
        yield f"Nothing is extrapolated: {named}{more}."


def reservations(comparison: Comparison) -> Iterator[str]:
    """State what speaks against designs, a line for each and sort of reason, and why none is called the best."""
    alike: dict[tuple[str, str], list[str]] = {}
    for row in comparison.rows:
        if row.standing == "unreached":
            continue
        at = ", ".join(f"{name}={word(value)}" for name, value in row.at.items())
        for mark in row.marks:
            # What differs from cell to cell is the number that was found.
            sort = re.sub(r"[\d.]+", "", mark)
            alike.setdefault((word(row.design), sort), []).append(f"{mark} ({at})" if at else mark)
    remarks = [f"* {design}: {_describe_first(marks)}" for (design, _), marks in alike.items()]
    yield from remarks[:MOST_MARKS]
    if len(remarks) > MOST_MARKS:
        yield f"* and {len(remarks) - MOST_MARKS} reasons more: --format json"
    standings = [{row.standing for row in rows} for rows in group_by_cell(comparison.rows)]
    if any("marked" in standings_of_cell and "best" not in standings_of_cell for standings_of_cell in standings):
        yield NO_BEST
    if keys := comparison.differing:
        named = ", ".join(keys[:3]) + (", ..." if len(keys) > 3 else "")
        yield f"Their systems are not the same ones ({named}): none is called best."


def _describe_first(marks: Sequence[str]) -> str:
    return marks[0] + (f", and alike in {tables.count_nouns([len(marks) - 1], 'cell')} more" if len(marks) > 1 else "")
