"""Report a planned study as a whole: the plan, who rates what, and what was concluded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from simlab.drawing.reports.answers import conclude, conclude_reading, plan, plan_reading
from simlab.drawing.reports.terms import Code, Prose, Report, Section, Table
from simlab.messages import several


class Assigned(NamedTuple):
    """Hold who rates how much: ratings of each rater, and how many documents and systems they are about."""

    loads: Mapping[str, int]
    documents: int
    systems: int


class Contents(NamedTuple):
    """Hold what stands in the folder of a plan: parsed plan.json and conclusion.json, study file and paragraph."""

    plan: Mapping[str, Any]
    study: str
    paragraph: str = ""
    assigned: Assigned | None = None
    conclusion: Mapping[str, Any] | None = None


def report(contents: Contents, folder: Path) -> Report:
    """Make the report of a plan's folder; what is concluded comes first where there is a conclusion.

    Raises InputError for a plan or a conclusion that is none.
    """
    found = plan_reading.planned(contents.plan.get("answer"), "plan.json: answer")
    paragraph, _, _ = contents.paragraph.partition("\n\nReferences\n")
    provenance = {"study file": str(contents.plan.get("digest", "unknown")), "seed": str(found.wanted.seed)}
    said = " ".join(paragraph.split())
    made = plan.of(found, {"plan": contents.plan}, _commands(contents, folder), provenance, said)
    if contents.assigned:
        made = replace(made, sections=(*made.sections, _assignment(contents.assigned)))
    made = replace(made, sections=(*made.sections, Section("Study file", (Code(contents.study, "yaml"),), folded=True)))
    return made if contents.conclusion is None else _concluded(made, contents.conclusion)


def _commands(contents: Contents, folder: Path) -> tuple[str, ...]:
    name = folder.name
    planned = " ".join(_typed(contents.plan))
    done = [f"simlab plan {planned} --out {name}".replace("  ", " "), f"simlab assign {name} --items items.csv"]
    return (*done, f"simlab conclude FILLED.csv --plan {name}", f"simlab report {name} --out report.html")


def _typed(held: Mapping[str, Any]) -> list[str]:
    """Return the words with which a plan was asked for, files by their names."""
    asked = held.get("asked")
    given = asked.get("words", []) if isinstance(asked, Mapping) else []
    texts = [word for word in given if isinstance(word, str)] if isinstance(given, Sequence) else []
    return [word if "=" in word else Path(word).name for word in texts]


def _assignment(held: Assigned) -> Section:
    asked = f"{several(sum(held.loads.values()), 'rating')} are assigned to {several(len(held.loads), 'rater')}"
    said = f"{asked}: {several(held.documents, 'document')} by {several(held.systems, 'system')}."
    table = Table("Ratings of each rater", ("rater", "ratings"), tuple(held.loads.items()))
    return Section("Assignment", (Prose(said), table))


def _concluded(planned: Report, held: Mapping[str, Any]) -> Report:
    """Put what was concluded before the plan that it follows."""
    found = conclude_reading.conclusion(held, "conclusion.json")
    made = conclude.of(found, None, (), {})
    plan_ = [replace(one, heading=f"Plan: {one.heading[:1].lower()}{one.heading[1:]}") for one in planned.sections]
    keys = {one.key for one in planned.references}
    return replace(
        made,
        title="Planned study",
        answer=(*made.answer, f"As planned: {planned.answer[0]}"),
        sections=(*made.sections, *plan_),
        data={**planned.data, "conclusion": held},
        held_fixed=tuple(dict.fromkeys((*made.held_fixed, *planned.held_fixed))),
        reservations=(*made.reservations, *(f"the plan: {one}" for one in planned.reservations)),
        reproduce=planned.reproduce,
        references=(*(one for one in made.references if one.key not in keys), *planned.references),
        paragraph=f"{planned.paragraph} {made.paragraph}",
        provenance=planned.provenance,
    )
