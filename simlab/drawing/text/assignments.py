"""Write the summary of an assignment: its size, the raters' loads, and which documents and raters are left out.

Call `page` with an `AssignmentSummary`, which returns the text.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from simlab.drawing.text.tables import WIDTH
from simlab.messages import clip, pluralise

MOST_NAMED = 30
"""Raters whose numbers of ratings are written; of more, only the least and the largest."""
INDENT = 9


class AssignmentSummary(NamedTuple):
    """Summary of an assignment: its study (by digest), how large it is, and how many ratings each rater gets (`loads`).

    `controls` counts ratings of control items, which `ratings` leaves out. `left_out` are documents that were not
    drawn, `spare` raters for whom the study has no place; `said` are further lines, `files` what was written,
    `following` the command that comes next.
    """

    study: str
    systems: int
    documents: int
    ratings: int
    controls: int
    loads: Mapping[str, int]
    left_out: Sequence[str]
    spare: Sequence[str]
    seed: int
    said: Sequence[str]
    files: Sequence[str]
    following: str


def page(sheets: AssignmentSummary) -> str:
    """Write an assignment in some ten lines."""
    lines = (f"{word:<{INDENT}}{text}" for word, text in _head(sheets))
    folded = [textwrap.fill(line, WIDTH, subsequent_indent=" " * INDENT, break_on_hyphens=False) for line in lines]
    wrote = textwrap.fill(f"wrote {', '.join(sheets.files)}", WIDTH, break_long_words=False, break_on_hyphens=False)
    return "\n".join([*folded, "", wrote, f"next: {sheets.following}"])


def _head(sheets: AssignmentSummary) -> Iterator[tuple[str, str]]:
    documents = pluralise(sheets.documents, "document")
    size = f"{pluralise(sheets.systems, 'system')}, {documents}, {pluralise(len(sheets.loads), 'rater')}"
    more = f", and {pluralise(sheets.controls, 'control rating')}" if sheets.controls else ""
    yield "Study", f"{sheets.study[:6]}; {size}: {pluralise(sheets.ratings, 'rating')}{more}"
    yield "Raters", _loads(sheets.loads)
    if sheets.left_out:
        of = sheets.documents + len(sheets.left_out)
        yield "Drawn", f"{documents} of {of}, at random; left out: {clip(', '.join(sheets.left_out), 60)}"
    if sheets.spare:
        yield "Spare", f"{clip(', '.join(sheets.spare), 60)}: all seats of the study are taken"
    yield "Order", f"random for each rater (seed {sheets.seed}); codes in place of systems, which only the key names"
    for line in sheets.said:
        yield "Note", line


def _loads(loads: Mapping[str, int]) -> str:
    least, most = min(loads.values()), max(loads.values())
    if len(loads) > MOST_NAMED:
        return f"{least:,} to {most:,} ratings each" if least < most else f"{least:,} ratings each"
    return ", ".join(f"{clip(name, 20)} {n:,}" for name, n in loads.items())
