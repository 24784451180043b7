"""Report the plan of a second study, whose ratings settle the pairs that a first study left open.

Call `report` with a `SecondStudy`, which returns a `Report`.
"""

from __future__ import annotations

from simlab.answers.plan import SecondStudy
from simlab.drawing.reports import references
from simlab.drawing.reports.terms import Report, ReportTable, Section, Value
from simlab.messages import pluralise


def report(second: SecondStudy) -> Report:
    """Make the report of a second study."""
    return Report(
        "Second study",
        f"Which further ratings settle {pluralise(len(second.pairs), 'open pair')}?",
        (f"This study {second.why}.",),
        (Section("Pairs to settle", (_table(second),)),),
        second.serialise(),
        figures=(
            Value(second.documents, label="new documents"),
            Value(second.ratings, label=f"ratings of {pluralise(len(second.systems), 'system')}"),
        ),
        held_fixed=(
            "what the first study estimated: how far these systems are apart, and how raters and documents differ",
        ),
        references=references.list_references(["O'Hagan et al. 2005", references.SIMLAB]),
        paragraph=f"A second study {second.why} (assurance: O'Hagan et al. 2005).",
    )


def _table(second: SecondStudy) -> ReportTable:
    rows = tuple((pair.first, pair.second, Value(pair.number)) for pair in second.pairs)
    caption = "Each pair, and what settles it with 80 % at the middle of what its difference may be"
    return ReportTable(caption, ("system", "and system", "new documents that settle it"), rows)
