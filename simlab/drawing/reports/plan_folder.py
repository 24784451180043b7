"""Report a plan's folder as a whole: what was planned, who was asked for what, and the conclusion.

Call `report` with the contents of its files, which returns a `Report` of text, tables and charts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from simlab.answers.plan import SecondStudy, StudyPlan
from simlab.answers.records import REMEDY, read_record
from simlab.drawing.reports import references
from simlab.drawing.reports.answers import conclude, plan, second_batch
from simlab.drawing.reports.terms import CitedWork, Prose, Report, ReportTable, Section, Value
from simlab.messages import clip, pluralise
from simlab.types import InputError

PLANNED, CONCLUDED = "plan.json", "conclusion.json"
"""Files of a plan's folder."""
REMEDIES = {PLANNED: "plan anew into a folder of its own", CONCLUDED: "conclude anew"}
"""End of the message on a file that cannot be read."""


def report(contents: Mapping[str, Any], folder: Path) -> Report:
    """Make the report of a plan's folder.

    `contents` are its parts: `plan` (plan.json), `study` (the composed config), `assignment` (counts of what people
    were asked) and `conclusion` (its record; each of these None where there is none), `paragraph` and `reproduce`.
    Raises InputError, naming the file, for a part that is not of its form.
    """
    provenance = {"folder": clip(folder, 200), "study": clip(contents["plan"]["digest"], 80)}
    planned = _report_plan(contents, folder, provenance)
    concluded = _report_conclusion(contents, folder, provenance)
    parts = [part for part in (concluded, planned) if part is not None]
    assignment = contents["assignment"]
    return Report(
        clip(folder.resolve().name, 80),
        parts[0].question,
        (*_sentences(concluded, planned), *(_describe_assignment(assignment) if assignment else ())),
        tuple(_sections(concluded, planned, assignment)),
        {key: contents[key] for key in ("plan", "assignment", "conclusion")},
        tuple(value for part in parts for value in part.figures),
        tuple(dict.fromkeys(line for part in parts for line in part.held_fixed)),
        tuple(_reservations(concluded, planned, assignment)),
        contents["reproduce"],
        _references(parts),
        "\n\n".join(part.paragraph for part in reversed(parts) if part.paragraph),
        provenance,
    )


def _report_plan(contents: Mapping[str, Any], folder: Path, provenance: Mapping[str, str]) -> Report:
    try:
        record: Any = read_record(StudyPlan, contents["plan"]["answer"], others=[SecondStudy])
    except InputError as error:
        raise _name_file(error, folder / PLANNED) from error
    if isinstance(record, SecondStudy):
        return replace(second_batch.report(record), provenance=provenance)
    made = plan.report(record, contents["study"])
    return replace(
        made, paragraph=contents["paragraph"] or made.paragraph, provenance={**provenance, **made.provenance}
    )


def _report_conclusion(contents: Mapping[str, Any], folder: Path, provenance: Mapping[str, str]) -> Report | None:
    if contents["conclusion"] is None:
        return None
    try:
        conclusion = conclude.read(contents["conclusion"])
    except InputError as error:
        raise _name_file(error, folder / CONCLUDED) from error
    made = replace(conclude.report(conclusion), data=contents["conclusion"], provenance=dict(provenance))
    if conclusion.plan is None or conclusion.plan.digest == contents["plan"]["digest"]:
        return made
    other = f"{CONCLUDED} follows another study than {PLANNED} plans ({clip(conclusion.plan.digest, 12)})"
    return replace(made, reservations=(other, *made.reservations))


def _name_file(error: InputError, file: Path) -> InputError:
    problem = str(error).replace(REMEDY, REMEDIES[file.name])
    return InputError(f"{clip(file, 200)}: {problem}")


def _sentences(report: Report | None, planned: Report) -> Iterator[str]:
    """State what was concluded before what was planned; without a conclusion, the answer of the plan."""
    if report is None:
        yield from planned.answer
        return
    yield from report.answer
    yield f"As planned: {planned.answer[0][:1].lower()}{planned.answer[0][1:]}"


def _describe_assignment(assignment: Mapping[str, Any]) -> Iterator[str]:
    """State how much people were asked for."""
    loads = [rater["ratings"] for rater in assignment["raters"]]
    span = f"{min(loads):,}" if min(loads) == max(loads) else f"{min(loads):,} to {max(loads):,}"
    yield (
        f"Assigned: {pluralise(assignment['ratings'], 'rating')} of {pluralise(assignment['outputs'], 'output')} of "
        f"{pluralise(len(assignment['systems']), 'system')} on {pluralise(assignment['documents'], 'document')}, to "
        f"{pluralise(len(loads), 'rater')}, {span} each{_controls(assignment)}."
    )


def _controls(assignment: Mapping[str, Any]) -> str:
    return f", and {pluralise(assignment['controls'], 'control rating')}" if assignment["controls"] else ""


def _sections(report: Report | None, planned: Report, assignment: Mapping[str, Any] | None) -> Iterator[Section]:
    yield from report.sections if report else ()
    if assignment:
        yield Section("Who was asked", (Prose(_spread(assignment)), _table(assignment)))
    if report:
        # What was planned stands in full behind what came of it.
        yield Section("What was planned", (Prose(" ".join(planned.answer)),))
    yield from planned.sections


def _spread(assignment: Mapping[str, Any]) -> str:
    least, most = assignment["per_output"]
    each = pluralise(most, "rater") if least == most else f"{least:,} to {most:,} raters"
    systems = ", ".join(f"{clip(name, 60)} {n:,}" for name, n in assignment["systems"].items())
    return f"Each output goes to {each}. Ratings of each system: {systems}. Raters see codes in place of systems."


def _table(assignment: Mapping[str, Any]) -> ReportTable:
    titles = ("rater", "ratings", "documents", *(("controls",) if assignment["controls"] else ()))
    rows = tuple((rater["rater"], *(Value(rater[name]) for name in titles[1:])) for rater in assignment["raters"])
    return ReportTable("What each rater was asked", titles, rows)


def _reservations(report: Report | None, planned: Report, assignment: Mapping[str, Any] | None) -> Iterator[str]:
    yield from report.reservations if report else ()
    yield from (f"of the plan: {line}" if report else line for line in planned.reservations)
    if report is None:
        yield "nothing is concluded yet: " + ("the ratings are out" if assignment else "nobody was asked yet")


def _references(parts: Sequence[Report]) -> tuple[CitedWork, ...]:
    """List what parts cite, each once, simlab at the end."""
    works = {work.key: work for part in parts for work in part.references}
    return tuple(sorted(works.values(), key=lambda work: (work.key == references.SIMLAB, work.key)))
