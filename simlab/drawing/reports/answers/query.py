"""Report cells of a store: those that meet conditions, with their measures and what these rest on.

Call `report` with the answer of `simlab query`, which returns a `Report`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from simlab.answers.query import WITHIN_ERROR, CellFields, CellStatistics, QueriedCells
from simlab.drawing.reports import cells, references
from simlab.drawing.reports.answers import query_statistics
from simlab.drawing.reports.terms import Points, Report, ReportTable, Section
from simlab.drawing.wording import describe_drawn
from simlab.messages import join_words, pluralise, word

MOST_MARKED = 6
"""Cells of a pivot within the error of a bound that are named; in other tables each row says so."""


def report(answer: QueriedCells | CellStatistics) -> Report:
    """Make the report of an answer of `simlab query`: of cells, or of a statistic over worlds, axes or a curve."""
    if isinstance(answer, CellStatistics):
        return query_statistics.report(answer)
    rows, names = answer.rows(), list(answer.measures)
    known = cells.known_names(rows, names)
    sentences = tuple(_sentences(answer))
    fixed = cells.describe_fixed(rows[0], [answer.pivoted] if answer.pivoted else known) if rows else ""
    return Report(
        "Cells of a store",
        f"Which cells have {_join_conditions(answer)}?"
        if answer.conditions
        else "What are the measures of these cells?",
        sentences,
        tuple(_sections(answer, known)),
        held_fixed=(fixed,) if fixed else (),
        references=references.list_references([references.SIMLAB]),
    )


def name_nearest(cells: QueriedCells) -> list[str]:
    """Return a line on the cells that come nearest, where no cell meets the conditions; else an empty list."""
    return [] if cells.cells else [" ".join(_sentences(cells))]


def _sentences(cells: QueriedCells) -> Iterator[str]:
    """State how many cells meet the conditions, which come first, and which miss a bound only within the error."""
    conditions = _join_conditions(cells)
    if not cells.found:
        yield f"No cell of {cells.total:,} has {conditions}."
        if cells.nearest:
            yield f"Nearest: {'; '.join(_describe_cell(cells, cell) for cell in cells.nearest)}."
    elif cells.conditions and (cells.bounded or cells.sort):
        yield (
            f"{cells.found:,} of {pluralise(cells.total, 'cell')} {'has' if cells.found == 1 else 'have'} {conditions}."
        )
    if cells.sort and cells.cells:
        order = f"the greatest {cells.sort[1:]}" if cells.sort.startswith("-") else f"the least {cells.sort}"
        yield f"With {order}: {_describe_cell(cells, cells.cells[0])}."
    if marked := len(_find_cells_within_error(cells)):
        yield f"{pluralise(marked, 'cell')} of these {'is' if marked == 1 else 'are'} within the error of a bound."
    if cells.missed:
        named = "; ".join(_describe_cell(cells, cell) for cell in cells.missed_within_error)
        more = f"; and {cells.missed - len(cells.missed_within_error):,} more" * (
            cells.missed > len(cells.missed_within_error)
        )
        yield f"Within the error of a bound, on its other side: {named}{more}."
    if cells.kept > len(cells.cells):
        yield (f"The first {len(cells.cells):,} of {cells.kept:,} cells are shown; --top N cuts, --format csv has all.")


def _join_conditions(cells: QueriedCells) -> str:
    return join_words(list(cells.conditions)) or "any values"


def _describe_cell(queried: QueriedCells, cell: CellFields) -> str:
    """Name a cell by its axes, with the measures that were asked about."""
    place = ", ".join(f"{axis}={word(cell[axis])}" for axis in queried.axes)
    row = queried.rows((cell,))[0]
    measures = ", ".join(f"{name} {cells.write_value(row, name)}" for name in queried.compared)
    return " with ".join(filter(None, (place, measures))) if measures else place


def _sections(queried: QueriedCells, known: Sequence[str]) -> Iterator[Section]:
    rows, names = queried.rows(), list(queried.measures)
    if not rows:
        return
    lines = cells.missing_measures(rows, names)
    if not known:
        yield Section("", (Points(tuple(lines)),))
        return
    if queried.pivot and queried.pivoted:
        others = [axis for axis in queried.axes if axis != queried.pivot]
        table, known = cells.pivot(rows, queried.pivoted, others, queried.pivot, queried.pivoted), [queried.pivoted]
        marked = _find_cells_within_error(queried)
        lines = [
            f"{_describe_bounds(queried, cell[WITHIN_ERROR])}: {_describe_cell(queried, cell)}"
            for cell in marked[:MOST_MARKED]
        ]
        lines += [f"and {len(marked) - MOST_MARKED:,} cells more"] if len(marked) > MOST_MARKED else []
    else:
        table = _mark(queried, cells.table(rows, queried.axes, known))
    notes = (*cells.notes(rows, known, queried.axes, [table]), *describe_drawn(queried.drawn), *lines)
    yield Section("", (table, Points(notes)))


def _find_cells_within_error(cells: QueriedCells) -> list[CellFields]:
    """Return the cells that lie within the error of a bound."""
    return [cell for cell in cells.cells if cell.get(WITHIN_ERROR)]


def _mark(cells: QueriedCells, table: ReportTable) -> ReportTable:
    """Add a column that says within the error of which bounds cells lie, where any does."""
    if not _find_cells_within_error(cells):
        return table
    marks = [_describe_bounds(cells, cell.get(WITHIN_ERROR)) for cell in cells.cells]
    body = tuple((*row, mark) for row, mark in zip(table.rows, marks, strict=True))
    return ReportTable(table.caption, (*table.columns, "note"), body)


def _describe_bounds(cells: QueriedCells, bounds: str | None) -> str:
    """State within the error of which values a cell lies, with the names of measures where several are bounded."""
    if not bounds:
        return ""
    named = bounds.split("; ")
    if len(cells.bounded) == 1:
        return f"within error of {named[0].removeprefix(cells.bounded[0]).lstrip('<>=')}"
    return f"within error of {join_words(named)}"
