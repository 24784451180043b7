"""Write the finding of a sweep in words: the best design, its lead, and how sure that is.

`seen` is the view of a store (`store_view.view_store`). A design is a value of the axis `seen.by`, a cell one
combination of values of the other axes, a `Row` a design in a cell with its difference from the baseline. `sentences`
is the answer of a report, `sections` its tables, `paragraph` its text for a paper.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from simlab.comparing.contrasts import Comparison, Row, group_by_cell, is_lower_better
from simlab.drawing import view
from simlab.drawing.reports import cells, values
from simlab.drawing.reports.sweeping import comparing
from simlab.drawing.reports.sweeping.store_view import (
    Record,
    StoreView,
    compare_designs,
    label_design,
    place,
    select_largest_cells,
)
from simlab.drawing.reports.terms import Points, ReportTable, Section, Value
from simlab.drawing.text import tables
from simlab.drawing.view import cluster
from simlab.drawing.wording import axis_label, measured_axis, read_currency
from simlab.measures.labels import EMPTINESS
from simlab.messages import word
from simlab.store.reservations import HELD_FIXED

MOST_ANSWERS = 6
"""Cells with a sentence of their own; the rest is in the tables."""
MOST_TABLES = 40
"""Tables of comparisons that are shown; the rest is left to `simlab compare`."""


def sentences(seen: StoreView) -> tuple[str, ...]:
    """State which design is best in each cell at the largest value across, by how much, and how much was found."""
    if not seen.measures:
        return ("No measure of this sweep has a value in any cell.", *_reasons(seen))
    comparison = compare_designs(seen)
    if comparison is None:
        return tuple(_describe_single_design(seen))
    cells = select_largest_cells(seen, group_by_cell(comparison.rows))
    lines = [line for cell in cells[:MOST_ANSWERS] for line in _describe_cell(seen, cell)]
    more = [_standing_of_others(cells[MOST_ANSWERS:])] if len(cells) > MOST_ANSWERS else []
    return (_opening_sentence(seen), *lines, *more)


def _opening_sentence(seen: StoreView) -> str:
    less = " (less is better)" if is_lower_better(seen.measure) else ""
    label = measured_axis(seen.dataset, seen.measure)
    at = f", at the largest {axis_label(seen.x)} ({_largest_value(seen, seen.x)})" if seen.x else ""
    return f"Compared by {label}{less}{at}, along {axis_label(str(seen.by))}."


def _largest_value(seen: StoreView, axis: str) -> str:
    return word(max(seen.dataset[axis].values.tolist()))


def _reasons(seen: StoreView) -> list[str]:
    return [f"{name}: {why}." for name, why in seen.undefined.items() if why]


def _describe_single_design(seen: StoreView) -> list[str]:
    """State what the measures of a store are in which there is nothing to compare."""
    record = seen.records[0]
    names = [seen.measure, *([seen.companion] if seen.companion else [])]
    lines = [f"{measured_axis(seen.dataset, name)}: {amount(seen, record, name)}." for name in names]
    return [*lines, *([] if len(seen.measures) <= len(names) else ["All other measures are in the table below."])]


def _describe_cell(seen: StoreView, rows: Sequence[Row]) -> list[str]:
    """State in one sentence, who leads a cell, by how much, and what was found."""
    where = {name: value for name, value in rows[0].at.items() if name != seen.x}
    head = f"{place(where)}: " if where else ""
    known = [row for row in rows if math.isfinite(row.value)]
    if not known:
        return [f"{head}no design has a value."]
    text = _describe_leader(seen, known)
    return [f"{head}{text}" if head else f"{text[0].upper()}{text[1:]}"]


def _describe_leader(seen: StoreView, rows: Sequence[Row]) -> str:
    lead = next((row for row in rows if row.contrast is None), rows[0])
    shown = [comparing.value(row) for row in rows]
    written = {
        id(row): values.format_value(shown_value, values.places(shown))
        for row, shown_value in zip(rows, shown, strict=True)
    }
    name = label_design(str(seen.by), lead.design)
    text = f"{name} ({written[id(lead)]}{_describe_found(seen, lead)}) {_verb(lead, rows)}"
    if lead.standing == "unranked":
        return f"the systems of the designs are not the same ones, so that none is called best; {name} has the most"
    others = [row for row in rows if row is not lead]
    return f"{text}{_describe_runner_up(seen, others, written)}{_marks(lead)}."


def _verb(lead: Row, rows: Sequence[Row]) -> str:
    tied = [row for row in rows if row.standing == "tied"]
    if lead.standing == "marked":
        return "has the best value, but something speaks against it, and no design is called best"
    if tied:
        return (
            f"has the best value, but is tied with {tables.count_nouns([len(tied)], 'other')}: no design is best alone"
        )
    if any(row.standing == "unknown" for row in rows):
        return "has the best value, but no error can be given, so that no design is called best"
    return "is best"


def _describe_runner_up(seen: StoreView, others: Sequence[Row], written: dict[int, str]) -> str:
    """State how far the next design is behind, with the error and the interval of that difference."""
    if not others:
        return ""
    sign = 1 if is_lower_better(seen.measure) else -1
    nearest = min(others, key=lambda row: sign * row.value)
    assert nearest.contrast is not None  # noqa: S101 (only the leader has none)
    design = label_design(str(seen.by), nearest.design)
    text = f"; the next, {design} ({written[id(nearest)]}{_describe_found(seen, nearest)}),"
    return f"{text} differs by {_difference(comparing.gap(nearest))}"


def _difference(gap: Value | None) -> str:
    """Write a difference from the baseline with its error and its interval."""
    if gap is None:
        return ""
    if gap.mcse is None:
        return f"{values.format_value(gap)} (calculated: no sampling error)"
    interval = values.format_interval(gap)
    return f"{values.format_value(gap)} (95 % interval {interval})" if interval else values.format_value(gap)


def _describe_found(seen: StoreView, row: Row) -> str:
    """State how much a design found, where its value may be good because hardly anything is found; else ''."""
    if seen.companion is None:
        return ""
    record = _record(seen, row)
    return f"; {seen.companion} {amount(seen, record, seen.companion)}" if record else ""


def _record(seen: StoreView, row: Row) -> Record | None:
    at = {**row.at, str(seen.by): row.design}
    return next((record for record in seen.records if all(record[name] == value for name, value in at.items())), None)


def amount(seen: StoreView, record: Record, name: str) -> str:
    """Write a measure of a cell with its error."""
    return cells.write_value(record, name)


def _marks(lead: Row) -> str:
    return f". Against it speaks: {'; '.join(lead.marks)}" if lead.marks else ""


def _standing_of_others(cells: Sequence[Sequence[Row]]) -> str:
    """Count which designs lead the cells that have no sentence of their own."""
    leaders: dict[str, int] = {}
    for rows in cells:
        best = next((row for row in rows if row.standing == "best"), None)
        alone = best is not None and not any(row.standing in ("tied", "unknown") for row in rows)
        leader = f"{word(best.design)} best" if best is not None and alone else "none best alone"
        leaders[leader] = leaders.get(leader, 0) + 1
    counts = ", ".join(f"{leader} in {n}" for leader, n in sorted(leaders.items(), key=lambda entry: -entry[1]))
    return f"In {tables.count_nouns([len(cells)], 'further cell')}: {counts}. The tables below have all of them."


def list_key_figures(seen: StoreView) -> tuple[Value, ...]:
    """Return the numbers that stand large: in the first cell the leader's value, and how much was found."""
    comparison = compare_designs(seen)
    if comparison is None:
        return tuple(
            value(seen, seen.records[0], name) for name in (seen.measure, seen.companion) if name in seen.measures
        )
    cell = [row for row in select_largest_cells(seen, group_by_cell(comparison.rows))[0] if math.isfinite(row.value)]
    lead = next((row for row in cell if row.contrast is None), None)
    record = _record(seen, lead) if lead else None
    if record is None:
        return ()
    return tuple(value(seen, record, name, seen.by) for name in (seen.measure, seen.companion) if name)


def value(seen: StoreView, record: Record, name: str, by: str | None = None) -> Value:
    """Return a measure of a cell with all that is known of its error; with `by`, the label names the design, too."""
    number = record[name]
    of = f", {label_design(by, record[by])}" if by else ""
    known = math.isfinite(number)
    return Value(
        float(number) if known else None,
        _error(seen, record, name),
        n=int(record[f"{name}_n"]) or None,
        clusters=int(record[f"{name}_clusters"]) or None,
        low=_keep_finite(record[f"{name}_low"]) if not seen.calculated else None,
        high=_keep_finite(record[f"{name}_high"]) if not seen.calculated else None,
        unit=unit(seen, name),
        label=f"{measured_axis(seen.dataset, name)}{of}",
        reason="" if known else str(record.get(f"{name}_reason") or ""),
    )


def unit(seen: StoreView, name: str) -> str:
    """Return the unit of a measure; nothing for shares and other pure numbers, and of money its name."""
    units = str(seen.dataset[name].attrs.get("units", ""))
    return "" if units == "1" else (read_currency(seen.dataset) or units) if units == "currency" else units


def _error(seen: StoreView, record: Record, name: str) -> float | None:
    """Return the error of a measure; None of what is calculated, and where too few clusters agree."""
    if seen.calculated or not math.isfinite(record[name]):
        return None
    interval = record[f"{name}_low"], record[f"{name}_high"]
    return _keep_finite(tables.keep_known_error(record[f"{name}_mcse"], interval, record[f"{name}_clusters"]))


def _keep_finite(number: float) -> float | None:
    return float(number) if math.isfinite(number) else None


def sections(seen: StoreView, command: str) -> tuple[Section, ...]:
    """Compare the designs, a table for each cell of the axes that are not compared.

    Cells at the largest value across come first; the others are folded away. `command` is the command line that has all
    tables.
    """
    comparison = compare_designs(seen)
    if comparison is None:
        return ()
    cells = group_by_cell(comparison.rows)
    most = select_largest_cells(seen, cells)
    first, rest = most[:MOST_TABLES], [cell for cell in cells if cell not in most]
    rest = rest if len(cells) <= MOST_TABLES else []
    n = len(first) + len(rest)
    left = [f"{n} of {len(cells)} tables are shown; `{command}` has all of them."] if n < len(cells) else []
    shown = [_table(seen, cell) for cell in (*first, *rest)]
    notes = Points((*left, *_notes(seen, comparison, shown)))
    compared_ = Section("Comparisons", (*shown[: len(first)], notes))
    elsewhere = Section("Comparisons elsewhere", tuple(shown[len(first) :]), folded=True)
    return (compared_, elsewhere) if rest else (compared_,)


def paragraph(seen: StoreView) -> str:
    """Write a paragraph for a paper: what was simulated, what it shows, and what errors are."""
    sweep = view.read_declaration(seen.dataset)
    version = seen.dataset.attrs.get("simlab", "")
    with_ = f"simlab {version}".strip()
    if seen.calculated or not sweep.get("worlds"):
        opening = f"With {with_} we calculated {tables.count_nouns([len(seen.records)], 'design')}."
        return " ".join((opening, *sentences(seen)))
    campaigns = tables.count_nouns([int(sweep["studies"])], "campaign")
    size = f"{tables.count_nouns([int(sweep['worlds'])], 'world')} of {campaigns}"
    designs = tables.count_nouns([len(seen.records)], "design")
    opening = f"With {with_} (seed {seen.dataset.attrs.get('seed')}) we simulated {designs} in {size} each."
    fixed = str(seen.dataset[seen.measure].attrs.get(HELD_FIXED, "")) if seen.measures else ""
    ending = f"± is the Monte-Carlo standard error over {cluster(seen.dataset, seen.measure)}s" if seen.measures else ""
    return " ".join(filter(None, (opening, *sentences(seen), f"{ending}{f'; held fixed: {fixed}' if fixed else ''}.")))


def _table(seen: StoreView, rows: Sequence[Row]) -> ReportTable:
    by, at = str(seen.by), place(rows[0].at)
    label, found_names = measured_axis(seen.dataset, seen.measure), (seen.companion,) if seen.companion else ()
    body = tuple(
        (label_design(by, row.design), *line, *(_found_value(seen, row) for _ in found_names))
        for row, line in zip(rows, comparing.lines(rows), strict=True)
    )
    return ReportTable(
        f"{label}{f', {at}' if at else ''}", (axis_label(by), label, *comparing.columns(rows), *found_names), body
    )


def _found_value(seen: StoreView, row: Row) -> Value | str:
    record = _record(seen, row)
    return value(seen, record, str(seen.companion)) if record else ""


def _notes(seen: StoreView, comparison: Comparison, shown: Sequence[ReportTable]) -> list[str]:
    """State what the columns of the comparisons rest on, as `simlab compare` says it."""
    beside = (
        [f"{seen.measure} is best where nothing is found: read it beside {seen.companion}."] if seen.companion else []
    )
    if seen.measure in EMPTINESS and not seen.companion:
        beside = [f"{seen.measure} is best where nothing is found, and what was found is not known here."]
    fixed = [f"Held fixed: {comparison.held_fixed}."] if comparison.held_fixed else []
    notes = [*fixed, *comparing.notes(comparison, shown), *comparing.reservations(comparison)]
    return [*notes, *_largest_error(seen), *beside]


def _largest_error(seen: StoreView) -> list[str]:
    """Return a line on the largest Monte-Carlo error of the measure, and how many more clusters would halve it."""
    errors = [(error, record) for record in seen.records if (error := _error(seen, record, seen.measure))]
    if not errors:
        return []
    most, record = max(errors, key=lambda pair: pair[0])
    clusters = tables.count_nouns([int(record[f"{seen.measure}_clusters"])], cluster(seen.dataset, seen.measure))
    largest = tables.number(most, max(2, math.ceil(-math.log10(most))))
    return [f"The largest error of {seen.measure} is {largest}, over {clusters}; four times as many halve it."]
