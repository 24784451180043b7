"""Lay out the cells of a sweep for the page's interactive figure: rows, axes, measures, the first view as numbers.

`seen` is the view of the store; `rows` comes first, `explorer` returns the figure as data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simlab.drawing import view
from simlab.drawing.figures import sweep as figures
from simlab.drawing.reports.sweeping.answering import unit, value
from simlab.drawing.reports.sweeping.store_view import StoreView, axis_cell
from simlab.drawing.reports.terms import Cell, Explorer, Quantity, ReportAxis, ReportTable
from simlab.drawing.text import tables
from simlab.drawing.wording import axis_label, measured_axis, value_label
from simlab.measures.labels import measure_range
from simlab.store.coordinates import restore_axis_values
from simlab.store.intervals import read_range
from simlab.store.measures import LESS_IS_BETTER
from simlab.store.opening import measures_of
from simlab.store.query import RESERVATION, records
from simlab.store.reservations import HELD_FIXED

MOST_WHOLE = 300
"""Cells up to which rows are those of `query`, whole; of more, content that is the same in all rows is said once."""
MOST_ROWS = 400
"""Rows of the table behind the figure."""
COSTS = ("money", "hours", "days", "cost", "human_cost", "ratings_used")
"""Measures that may go across in an equal-cost view."""
ENDS = ("", "_mcse", "_n", "_clusters", "_low", "_high", "_failed", "_reason")
"""Endings of the columns that a measure has in a row."""


def rows(seen: StoreView) -> tuple[Mapping[str, Any], ...]:
    """List the cells as `query --format json` does; of a large store without notes, and measures without any value."""
    listed = tables.replace_nan(records(seen.dataset, measures_of(seen.dataset)))
    if len(listed) <= MOST_WHOLE:
        return tuple(listed)
    left = {HELD_FIXED, RESERVATION, *(f"{name}{end}" for name in seen.undefined for end in ENDS)}
    return tuple(
        {key: content for key, content in row.items() if key not in left and _is_shown(key, content)} for row in listed
    )


def _is_shown(key: str, content: Any) -> bool:
    return content is not None or not key.endswith("_reason")


def explorer(seen: StoreView, question: str, listed: Sequence[Mapping[str, Any]]) -> Explorer | None:
    """Lay out a store with axes, with its rows `listed` by `rows`; None for a single cell, or without a value."""
    if not seen.axes or not seen.measures:
        return None
    dataset, shown = seen.dataset, view.view(seen.dataset, seen.measure)
    return Explorer(
        question,
        alt_text(seen),
        tuple(listed),
        tuple(axis(seen, name) for name in seen.axes),
        tuple(quantity(seen, name) for name in seen.measures),
        seen.measure,
        shown.x,
        shown.line,
        costs(seen),
        table(seen),
        lambda: figures.draw(dataset, seen.measure if seen.measure != view.choose_measure(dataset) else None),
        shown.mark,
    )


def axis(seen: StoreView, name: str) -> ReportAxis:
    """Return an axis of the store: its values as they stand in rows, and as a reader of figures would say them."""
    coordinate = seen.dataset[name]
    values = restore_axis_values(coordinate.values)
    return ReportAxis(
        name,
        str(coordinate.attrs.get("key", name)),
        axis_label(name),
        tuple(values),
        tuple(value_label(name, content) for content in values),
        view.is_numeric(seen.dataset, name),
    )


def quantity(seen: StoreView, name: str) -> Quantity:
    """Return a measure of the store as a `Quantity`: unit, range, whether less is better, what its studies share."""
    about = seen.dataset[name].attrs
    within = read_range(seen.dataset, name) if name in seen.dataset else measure_range(name)
    return Quantity(
        name,
        measured_axis(seen.dataset, name),
        unit(seen, name),
        within.least,
        within.greatest,
        name in LESS_IS_BETTER or bool(about.get("less_is_better")),
        str(about.get(HELD_FIXED, "")),
        view.cluster(seen.dataset, name),
    )


def costs(seen: StoreView) -> tuple[str, ...]:
    """Return the names of the measures of what campaigns take that differ from cell to cell."""
    names = [name for name in COSTS if name in seen.measures]
    return tuple(name for name in names if len({record[name] for record in seen.records}) > 1)


def alt_text(seen: StoreView) -> str:
    """State what the figure shows, for those who do not see it."""
    shown = view.view(seen.dataset, seen.measure)
    values = [record[seen.measure] for record in seen.records if record[seen.measure] == record[seen.measure]]
    lines = f", a line for each {axis_label(shown.line)}" if shown.line else ""
    panels = f", a panel for each {' and '.join(map(axis_label, shown.panels))}" if shown.panels else ""
    span = f"{tables.number(min(values), 2)} to {tables.number(max(values), 2)}"
    return (
        f"{measured_axis(seen.dataset, seen.measure)} against {axis_label(shown.x)}{lines}{panels}: from {span} in "
        f"{tables.count_nouns([len(seen.records)], 'cell')}. The table behind the figure has every value with its "
        "error."
    )


def table(seen: StoreView) -> ReportTable:
    """Write the measure of the figure in all cells, or of a large store in those of its first panel."""
    shown = view.view(seen.dataset, seen.measure)
    order = [*shown.panels, *([shown.line] if shown.line else []), shown.x]
    kept = list(seen.records)
    if len(kept) > MOST_ROWS:
        first = {name: restore_axis_values(seen.dataset[name].values)[0] for name in shown.panels}
        kept = [record for record in kept if all(record[name] == content for name, content in first.items())][
            :MOST_ROWS
        ]
    names = [seen.measure, *([seen.companion] if seen.companion else [])]
    columns = (*map(axis_label, order), *(measured_axis(seen.dataset, name) for name in names), "campaigns", "clusters")
    body = tuple(_line(seen, record, order, names) for record in kept)
    part = "" if len(kept) == len(seen.records) else f", {len(kept)} of {len(seen.records)} cells"
    return ReportTable(f"{measured_axis(seen.dataset, seen.measure)} by cell{part}", columns, body)


def _line(seen: StoreView, record: Mapping[str, Any], order: Sequence[str], names: Sequence[str]) -> tuple[Cell, ...]:
    numbers = [int(record[f"{seen.measure}{end}"]) for end in ("_n", "_clusters")]
    amounts = (value(seen, record, name) for name in names)
    return (*(axis_cell(name, record[name]) for name in order), *amounts, *numbers)


def all_measures(seen: StoreView) -> ReportTable:
    """Write all measures of a store of one cell."""
    record = seen.records[0]
    body = tuple(
        (measured_axis(seen.dataset, name), value(seen, record, name), unit(seen, name), int(record[f"{name}_n"]))
        for name in seen.measures
    )
    return ReportTable("All measures of the study", ("measure", "value", "unit", "campaigns"), body)
