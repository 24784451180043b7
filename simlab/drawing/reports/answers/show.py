"""Report the stores of a folder: what each asks, how far and how precisely it was filled, and what made it.

Call `report` with a `StoredSweeps`, which returns a `Report`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from simlab.answers.show import StoredSweep, StoredSweeps
from simlab.drawing.reports.terms import Block, Cell, Code, Prose, Report, ReportTable, Section
from simlab.drawing.wording import describe_drawn
from simlab.messages import clip, pluralise, size, word

LEAST_SIZE = 2**20 / 10
"""A smaller store is written as this size [bytes]."""
MOST_VALUES = 4
"""Values of an axis that are written out; of more, the first and the last."""


def report(sweeps: StoredSweeps) -> Report:
    """Make the report of an answer of `simlab show FOLDER`."""
    read = [row for row in sweeps.rows if row.problem is None]
    unfinished = sum(row.done < row.asked for row in read)
    line_of_stores = f"{pluralise(len(sweeps.rows), 'store')} on {size(sum(row.bytes for row in read))} of disk"
    line_of_stores += f", {unfinished} of them unfinished" if unfinished else ""
    lines = [f"{line_of_stores}."]
    if dirty := sum(row.dirty for row in read):
        lines.append(f"{dirty} from changed code (dirty): no commit gives these numbers again.")
    sections = [
        Section("", (_table(read),)),
        Section("What each asks, and what made it", tuple(_describe_stores(read))),
    ]
    return Report(
        "Stores",
        "Which stores lie here, and what do they answer?",
        tuple(lines),
        tuple(sections if read else ()),
        reservations=tuple(
            f"{clip(row.store)}: not read: {row.problem}" for row in sweeps.rows if row.problem is not None
        ),
    )


def _table(rows: Sequence[StoredSweep]) -> ReportTable:
    columns = ("store", "sweep", "cells", "precision", "simlab", "size")
    return ReportTable("", columns, tuple(_line(row) for row in rows))


def _line(row: StoredSweep) -> tuple[Cell, ...]:
    cells = f"{row.asked:,}" if row.done >= row.asked else f"{row.done:,} of {row.asked:,}"
    precise = f"{row.measure} ± {row.mcse:.2g}" if math.isfinite(row.mcse) and row.mcse else row.measure
    by = f"{clip(row.simlab, 20)}{' dirty' if row.dirty else ''}"
    return clip(row.store), clip(row.sweep, 60), cells, precise, by, size(max(row.bytes, LEAST_SIZE))


def _describe_stores(rows: Sequence[StoredSweep]) -> Iterator[Block]:
    """Describe each store by its question, its axes, and the command that fills it."""
    for row in rows:
        question = clip(row.question or "one study", 1000).rstrip(".")
        axes = "; ".join(f"{name} {_values(values)}" for name, values in row.axes.items())
        by = f" By {clip(axes, 1000)}." if axes else ""
        more = [*describe_drawn(row.drawn), *([row.adapted] if row.adapted else [])]
        remarks = clip("".join(f" {line[0].upper()}{line[1:]}." for line in more), 1000)
        yield Prose(f"{clip(row.store)}: {question}{'' if question.endswith('?') else '.'}{by}{remarks}")
        yield Code(f"    {clip(row.command or '(the command is not noted)', 2000)}", "console")


def _values(values: Sequence[object]) -> str:
    if len(values) <= MOST_VALUES:
        return ", ".join(map(word, values))
    return f"{word(values[0])} to {word(values[-1])} ({len(values)})"
