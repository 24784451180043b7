"""Report what a second study asks, which settles what a first one left open, from the record in its folder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simlab.drawing.reports import references
from simlab.drawing.reports.answers import reading
from simlab.drawing.reports.answers.reading import FLAG, MAYBE_WHOLE, TEXT, TEXTS, WHOLE, Kind, Row
from simlab.drawing.reports.terms import Report, Section, Table, Value
from simlab.messages import several

LIST = Kind("a list", lambda value: isinstance(value, list))
FIELDS = {
    "systems": TEXTS,
    **dict.fromkeys(("documents", "ratings"), WHOLE),
    "raters": MAYBE_WHOLE,
    "pairs": LIST,
    "new_raters": FLAG,
    "why": TEXT,
}
PAIR = {**dict.fromkeys(("first", "second"), TEXT), "number": WHOLE}


def is_one(held: Mapping[str, Any]) -> bool:
    """Tell the record of a second study from that of a plan."""
    return "reached" not in held and {"pairs", "new_raters", "why"} <= held.keys()


def report(held: Mapping[str, Any], provenance: Mapping[str, str]) -> Report:
    """Make the report of a second study; raise InputError for what is none."""
    row = reading.record(held, "answer", FIELDS)
    pairs = reading.filled(row["pairs"], "answer.pairs", PAIR)
    return Report(
        "Second study",
        f"Which further ratings settle {several(len(pairs), 'open pair')}?",
        (f"This study {row['why']}.",),
        (Section("Pairs to settle", (_table(pairs),)),),
        dict(held),
        (
            Value(row["documents"], label="new documents"),
            Value(row["ratings"], label=f"ratings of {several(len(row['systems']), 'system')}"),
        ),
        ("what the first study estimated: how far these systems are apart, and how raters and documents differ",),
        (),
        references=references.cited(["O'Hagan et al. 2005", references.SIMLAB]),
        paragraph=f"A second study {row['why']} (assurance: O'Hagan et al. 2005).",
        provenance=provenance,
    )


def _table(pairs: list[Row]) -> Table:
    rows = tuple((one["first"], one["second"], Value(one["number"])) for one in pairs)
    said = "Each pair, and what settles it with 80 % at the middle of what its difference may be"
    return Table(said, ("system", "and system", "new documents that settle it"), rows)
