"""Lay out the marks of a chart, or the shares of a matrix of pairs, as a table, for those who do not hover.

`table` takes a `Chart`, `pairs` a `PairMatrix`; both return a `ReportTable`.
"""

from __future__ import annotations

from simlab.drawing.reports.terms import Cell, Chart, ChartPoint, PairMatrix, ReportTable, Value


def table(chart: Chart) -> ReportTable:
    """Return the table that stands behind a chart: its own, or one of its marks."""
    if chart.table is not None:
        return chart.table
    columns: dict[str, list[Cell]] = {
        chart.y if chart.kind == "intervals" else chart.x: [_make_cell(_place(chart, mark)) for mark in chart.marks],
        chart.legend or "line": [mark.line or None for mark in chart.marks],
        chart.x if chart.kind == "intervals" else chart.y: [_value(chart, mark) for mark in chart.marks],
        "chosen": ["yes" if mark.chosen else None for mark in chart.marks],
        "note": [mark.note or None for mark in chart.marks],
    }
    kept = {name: column for name, column in columns.items() if any(cell is not None for cell in column)}
    return ReportTable(chart.question, tuple(kept), tuple(zip(*kept.values(), strict=True)))


def _place(chart: Chart, mark: ChartPoint) -> float | str:
    return mark.y if chart.kind == "intervals" else mark.x


def _make_cell(place: float | str) -> Cell:
    return Value(place) if isinstance(place, float) else place


def _value(chart: Chart, mark: ChartPoint) -> Cell:
    content = mark.x if chart.kind == "intervals" else mark.y
    if isinstance(content, str):
        return content
    return Value(
        float(content), mark.mcse, mark.n, mark.clusters, mark.low, mark.high, standard_error=mark.standard_error
    )


def pairs(block: PairMatrix) -> ReportTable:
    """Return the shares of the first design of a matrix, a row a pair; a page shows those of the design chosen."""
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            block.systems[first],
            block.systems[second],
            *(_share(block.shares[0][kind][k]) for kind in range(len(block.kinds))),
        )
        for k, (first, second) in enumerate(block.pairs)
    )
    return ReportTable(
        f"Shares of the claims about each pair, {block.designs[0]}", ("system", "and system", *block.kinds), rows
    )


def _share(share: float | None) -> Value:
    return Value(share)
