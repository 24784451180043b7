"""Report cells of a store: those that meet conditions, with their measures and what these rest on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from simlab.answers.query import WITHIN_ERROR, CellFields, CellStatistics, QueriedCells
from simlab.drawing.reports import cells, references
from simlab.drawing.reports.answers import query_statistics
from simlab.drawing.reports.terms import Points, Report, ReportTable, Section
from simlab.drawing.wording import say_drawn
from simlab.messages import join_words, several, word

MOST_MARKED = 6
"""So many cells of a pivot are named that lie within the error of a bound; in other tables each row says so."""


def report(found: QueriedCells | CellStatistics) -> Report:
    """Make the report of an answer of `simlab query`: of cells, or of a statistic over worlds, axes or a curve."""
    if isinstance(found, CellStatistics):
        return query_statistics.report(found)
    rows, names = found.rows(), list(found.measures)
    known = cells.known_names(rows, names)
    told = tuple(_sentences(found))
    fixed = cells.held_fixed(rows[0], [found.pivoted] if found.pivoted else known) if rows else ""
    return Report(
        "Cells of a store",
        f"Which cells have {_join_conditions(found)}?" if found.conditions else "What are the measures of these cells?",
        told,
        tuple(_sections(found, known)),
        held_fixed=(fixed,) if fixed else (),
        references=references.cited([references.SIMLAB]),
    )


def name_nearest(found: QueriedCells) -> list[str]:
    """Say in a line, where no cell meets the conditions, which come nearest; nothing else."""
    return [] if found.cells else [" ".join(_sentences(found))]


def _sentences(found: QueriedCells) -> Iterator[str]:
    """Say how many cells meet the conditions, which come first, and which miss a bound only within the error."""
    conditions = _join_conditions(found)
    if not found.found:
        yield f"No cell of {found.total:,} has {conditions}."
        if found.nearest:
            yield f"Nearest: {'; '.join(_describe_cell(found, cell) for cell in found.nearest)}."
    elif found.conditions and (found.bounded or found.sort):
        yield f"{found.found:,} of {several(found.total, 'cell')} {'has' if found.found == 1 else 'have'} {conditions}."
    if found.sort and found.cells:
        order = f"the greatest {found.sort[1:]}" if found.sort.startswith("-") else f"the least {found.sort}"
        yield f"With {order}: {_describe_cell(found, found.cells[0])}."
    if marked := len(_marked(found)):
        yield f"{several(marked, 'cell')} of these {'is' if marked == 1 else 'are'} within the error of a bound."
    if found.missed:
        named = "; ".join(_describe_cell(found, cell) for cell in found.missed_within_error)
        more = f"; and {found.missed - len(found.missed_within_error):,} more" * (
            found.missed > len(found.missed_within_error)
        )
        yield f"Within the error of a bound, on its other side: {named}{more}."
    if found.kept > len(found.cells):
        yield (f"The first {len(found.cells):,} of {found.kept:,} cells are shown; --top N cuts, --format csv has all.")


def _join_conditions(found: QueriedCells) -> str:
    return join_words(list(found.conditions)) or "any values"


def _describe_cell(found: QueriedCells, cell: CellFields) -> str:
    """Name a cell by its axes, with the measures that were asked about."""
    place = ", ".join(f"{axis}={word(cell[axis])}" for axis in found.axes)
    row = found.rows((cell,))[0]
    told = ", ".join(f"{name} {cells.write_value(row, name)}" for name in found.compared)
    return " with ".join(filter(None, (place, told))) if told else place


def _sections(found: QueriedCells, known: Sequence[str]) -> Iterator[Section]:
    rows, names = found.rows(), list(found.measures)
    if not rows:
        return
    lines = cells.missing_measures(rows, names)
    if not known:
        yield Section("", (Points(tuple(lines)),))
        return
    if found.pivot and found.pivoted:
        others = [axis for axis in found.axes if axis != found.pivot]
        table, known = cells.pivot(rows, found.pivoted, others, found.pivot, found.pivoted), [found.pivoted]
        marked = _marked(found)
        lines = [
            f"{_say_within(found, cell[WITHIN_ERROR])}: {_describe_cell(found, cell)}" for cell in marked[:MOST_MARKED]
        ]
        lines += [f"and {len(marked) - MOST_MARKED:,} cells more"] if len(marked) > MOST_MARKED else []
    else:
        table = _mark(found, cells.table(rows, found.axes, known))
    notes = (*cells.notes(rows, known, found.axes, [table]), *say_drawn(found.drawn), *lines)
    yield Section("", (table, Points(notes)))


def _marked(found: QueriedCells) -> list[CellFields]:
    """Return the cells that lie within the error of a bound."""
    return [cell for cell in found.cells if cell.get(WITHIN_ERROR)]


def _mark(found: QueriedCells, table: ReportTable) -> ReportTable:
    """Add a column that says within the error of which bounds cells lie, where any does."""
    if not _marked(found):
        return table
    marks = [_say_within(found, cell.get(WITHIN_ERROR)) for cell in found.cells]
    body = tuple((*row, mark) for row, mark in zip(table.rows, marks, strict=True))
    return ReportTable(table.caption, (*table.columns, "note"), body)


def _say_within(found: QueriedCells, bounds: str | None) -> str:
    """Say within the error of which values a cell lies, with the names of measures where several are bounded."""
    if not bounds:
        return ""
    named = bounds.split("; ")
    if len(found.bounded) == 1:
        return f"within error of {named[0].removeprefix(found.bounded[0]).lstrip('<>=')}"
    return f"within error of {join_words(named)}"
