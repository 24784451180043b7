"""Write reports as Markdown, for notes and repositories; charts stand there as the tables behind them.

Call `page` with reports, which returns the text of a file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from simlab.drawing.reports.paper import figures_table, paragraph, still_blocks
from simlab.drawing.reports.terms import Code, Figures, Points, Prose, Report, ReportTable, Section
from simlab.drawing.reports.values import cells, find_number_columns, format_value, titles

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~$])")


def page(*reports: Report) -> str:
    """Return reports as one Markdown text, with a rule between them."""
    return "\n\n---\n\n".join("\n\n".join(filter(None, _parts(report))) for report in reports) + "\n"


def escape_text(given: str) -> str:
    r"""Write a text so that it stands as it is, on one line.

    >>> escape_text("a_b | <script>"), escape_text("two\nlines")
    ('a\\_b \\| \\<script\\>', 'two lines')
    """
    return _SPECIAL.sub(r"\\\1", " ".join(str(given).split()))


def _parts(report: Report) -> Iterator[str]:
    yield f"# {escape_text(report.question)}"
    yield from map(escape_text, report.answer)
    if table := figures_table(report):
        yield _table(table)
    for heading, items in (("Reservations", report.reservations), ("Held fixed", report.held_fixed)):
        if items:
            yield from _section(Section(heading, (Points(tuple(items)),)))
    for section in report.sections:
        yield from _section(section)
    yield from _section(Section("For a paper", (Prose(paragraph(report)),)))
    yield from _origin(report)


def _origin(report: Report) -> Iterator[str]:
    """Yield how a report is made again, what it cites, and where its numbers are from."""
    if report.reproduce:
        yield from _section(Section("Reproduce", (Code("\n".join(report.reproduce), "console"),)))
    if report.references:
        listed = Points(tuple(reference.text for reference in report.references))
        bibtex = Code("\n\n".join(reference.bibtex for reference in report.references), "bibtex")
        yield from _section(Section("References", (listed, bibtex)))
    if report.provenance:
        yield from _section(
            Section("Provenance", (Points(tuple(f"{key}: {value}" for key, value in report.provenance.items())),))
        )


def _section(section: Section) -> Iterator[str]:
    yield f"## {escape_text(section.heading)}"
    for block in still_blocks(section):
        yield _SIMPLE[type(block)](block)


def _prose(block: Prose) -> str:
    return "\n\n".join(escape_text(part) for part in block.text.split("\n\n") if part.strip())


def _points(block: Points) -> str:
    return "\n".join(f"- {escape_text(item)}" for item in block.items)


def _figures(block: Figures) -> str:
    return _points(Points(tuple(f"{value.label}: {format_value(value)}" for value in block.values)))


def _code(block: Code) -> str:
    """Write a text as it is, fenced by more ticks than it holds in a row."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", block.text)), default=0))
    return f"{fence}{block.language}\n{block.text}\n{fence}"


def _table(block: ReportTable) -> str:
    ends = ["---:" if right else "---" for right in find_number_columns(block)]
    rows = [list(map(escape_text, titles(block))), ends, *(list(map(escape_text, row)) for row in cells(block))]
    lines = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"{escape_text(block.caption)}\n\n{lines}" if block.caption else lines


_SIMPLE: Mapping[type, Callable[[Any], str]] = {
    Prose: _prose,
    Points: _points,
    Code: _code,
    Figures: _figures,
    ReportTable: _table,
}
