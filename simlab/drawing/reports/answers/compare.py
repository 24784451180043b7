"""Report the settings that differ between two stores, and the measures of cells that moved.

Call `report` with a `ChangedStores`, which returns a `Report`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from simlab.answers.compare import ChangedStores, ChangedValue
from simlab.drawing.reports.terms import Cell, Points, Report, ReportTable, Section, Value
from simlab.messages import clip, pluralise, show

MOST_ROWS = 30
"""Values that are listed."""


def report(changes: ChangedStores) -> Report:
    """Make the report of an answer of `simlab compare OLD NEW --changed`."""
    moved = changes.moved
    tested = sum(math.isfinite(value.p_value) for value in changes.values)
    lead = (
        f"{len(moved)} of {pluralise(tested, 'value')} moved"
        if moved
        else f"None of {pluralise(tested, 'value')} moved"
    )
    sections = [Section("Values that moved", (_table(moved[:MOST_ROWS]),))] if moved else []
    if changes.keys:
        rows = tuple((key.key, show(key.old), show(key.new)) for key in changes.keys)
        sections.append(Section("Settings that differ", (ReportTable("", ("key", "old", "new"), rows),)))
    sections.append(Section("", (Points(tuple(_notes(changes))),)))
    return Report(
        "Two stores held against each other",
        "Did anything change?",
        (f"{lead}, in {pluralise(changes.matched, 'cell')} that both stores have.",),
        tuple(sections),
    )


def _table(rows: Sequence[ChangedValue]) -> ReportTable:
    axes = list(dict.fromkeys(name for row in rows for name in row.at))
    return ReportTable(
        "",
        ("measure", *axes, "old", "new", "difference", "p"),
        tuple((row.measure, *(clip(row.at.get(name, ""), 60) for name in axes), *_numbers(row)) for row in rows),
    )


def _numbers(row: ChangedValue) -> tuple[Cell, ...]:
    return (
        Value(row.old, _omit_unknown_error(row.old_mcse)),
        Value(row.new, _omit_unknown_error(row.new_mcse)),
        Value(row.difference, _omit_unknown_error(row.error), signed=True),
        f"{row.p_value:.1g}",
    )


def _omit_unknown_error(error: float) -> float | None:
    return error if math.isfinite(error) and error else None


def _notes(changes: ChangedStores) -> Iterator[str]:
    if len(changes.moved) > MOST_ROWS:
        yield f"The {MOST_ROWS} least by chance of {len(changes.moved)}; --format csv lists all."
    yield (
        "Differences are new minus old, ± the two Monte-Carlo standard errors together. Of what is said to have moved "
        "at most 5 % did not, on average (t-tests, Benjamini-Hochberg)."
    )
    untested = sum(not math.isfinite(value.p_value) for value in changes.values)
    if untested:
        yield f"{pluralise(untested, 'value')} without a known error could not be tested: run more worlds."
    for cells, which in ((changes.only_old, "old"), (changes.only_new, "new")):
        if cells:
            yield f"{pluralise(cells, 'cell')} only in the {which} store."
    if changes.same_seed:
        same = sum(value.old == value.new for value in changes.values)
        yield (
            f"Both have the same seed, so that errors are shared and small changes may pass: {same} of "
            f"{pluralise(len(changes.values), 'value')} are the same bits."
        )
