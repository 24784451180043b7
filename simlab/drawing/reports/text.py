"""Write reports for a terminal: the answer first, tables in place of charts; long tables may be left out and are named.

Call `page` with a `Report`, which returns the text.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from simlab.drawing.reports.paper import still_blocks
from simlab.drawing.reports.terms import Block, Code, Figures, Points, Prose, Report, ReportTable, Section
from simlab.drawing.reports.values import cells, find_number_columns, format_value
from simlab.drawing.text import tables

HELD = "\N{NO-BREAK SPACE}"
"""Keeps `±` on the line of its numbers."""
LEAST_ROOM, MOST_LETTERS = 16, 12
"""Letters: the last column of a table is folded where a text is longer than the second, to the first at least."""
MOST_ROWS = 12
"""Rows of a table above which its folded section is left out, and named, as light ones are."""


def page(report: Report) -> str:
    """Write a report, without its references and provenance: these are for pages that leave the terminal."""
    left_out = [section.heading for section in report.sections if _is_left_out(section)]
    shown = [section for section in report.sections if not _is_left_out(section)]
    notes = [*report.reservations, *(f"Held fixed: {fixed}." for fixed in report.held_fixed)]
    notes += [f"Left out here: {', '.join(left_out)} (--save and `simlab report`)."] if left_out else []
    parts = [_lines(report.answer), *(part for section in shown for part in _parts(section)), _lines(notes)]
    return "\n\n".join(filter(None, parts))


def write_block(block: Block) -> str:
    """Write a part of a section."""
    return _WRITERS[type(block)](block)


def _is_left_out(section: Section) -> bool:
    return section.light or (
        section.folded
        and any(isinstance(block, ReportTable) and len(block.rows) > MOST_ROWS for block in still_blocks(section))
    )


def _parts(section: Section) -> Iterator[str]:
    blocks = map(write_block, still_blocks(section))
    if section.heading:
        yield tables.heading(section.heading)
    yield from blocks


def _lines(texts: Any) -> str:
    return "\n".join(_wrap_text(text) for text in texts)


def _wrap_text(text: str, indent: str = "") -> str:
    # An error stays with its value.
    return textwrap.fill(
        text.replace(" ± ", f"{HELD}±{HELD}"),
        tables.width(),
        subsequent_indent=indent,
        break_on_hyphens=False,
        break_long_words=False,
    ).replace(HELD, " ")


def _prose(block: Prose) -> str:
    return "\n\n".join(_wrap_text(part) for part in block.text.split("\n\n") if part.strip())


def _points(block: Points) -> str:
    return _lines(block.items)


def _figures(block: Figures) -> str:
    return "\n".join(f"{value.label}: {format_value(value)}" for value in block.values)


def _table(block: ReportTable) -> str:
    """Align the columns of numbers on their right edge, below what the table holds; fold long texts of the last one."""
    right, rows = find_number_columns(block), cells(block)
    left = next((k for k, number in enumerate(right) if number), len(block.columns))
    caption = f"{_wrap_text(block.caption)}{'' if block.across else ':'}\n" if block.caption else ""
    if block.across:
        return f"{caption}{tables.crossing(block.across, block.columns, rows, left)}"
    long = not right[-1] and max((len(row[-1]) for row in rows), default=0) > MOST_LETTERS
    if long:
        widths = [max(map(len, column)) + 2 for column in zip(block.columns, *rows, strict=True)]
        room = tables.width() - sum(widths[:-1])
        room = room if room >= LEAST_ROOM else max(tables.width() - sum(widths[:left]), LEAST_ROOM)
        rows = [line for row in rows for line in _fold_row(row, room)]
    return f"{caption}{tables.fold_columns(block.columns, rows, left=left, last_left=not right[-1])}"


def _fold_row(row: list[str], room: int) -> Iterator[list[str]]:
    """Yield a row with its last cell broken to the room that there is, further lines below it."""
    first, *more = textwrap.wrap(row[-1], room, break_on_hyphens=False, break_long_words=False) or [""]
    yield [*row[:-1], first]
    yield from ([*([""] * (len(row) - 1)), line] for line in more)


_WRITERS: Mapping[type, Callable[[Any], str]] = {
    Prose: _prose,
    Points: _points,
    Code: lambda block: block.text,
    Figures: _figures,
    ReportTable: _table,
}
