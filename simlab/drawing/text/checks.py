"""The page of `simlab conclude --check`: what a table holds, before anybody looks at its results.

Call `page` with a `TableCheck`, which returns the text.
"""

from __future__ import annotations

from collections.abc import Iterator

from simlab.concluding.checking import TableCheck
from simlab.drawing.reports.answers.conclude_words import read_texts
from simlab.drawing.text.tables import line
from simlab.messages import clip, pluralise

KINDS = {"rate": "ratings", "compare": "comparisons", "judge": "outputs that humans and metrics scored"}
COUNTED = (("systems", "system"), ("documents", "document"), ("items", "item"), ("raters", "rater"))


def page(checked: TableCheck, following: str) -> str:
    """State what a table holds and which promise a conclusion would have; `following` is the command that concludes."""
    return "\n".join([*_lines(checked), "", f"next: {following}"])


def _lines(checked: TableCheck) -> Iterator[str]:
    read = checked.read
    yield line("Read", f"{KINDS.get(checked.question, checked.question)}: {_counts(checked)}")
    yield line("", f"systems: {clip(', '.join(checked.systems), 200)}")
    if columns := [f"{ours} is {theirs}" for ours, theirs in _columns(checked) if ours != theirs]:
        yield line("", f"columns: {clip(', '.join(columns), 200)}")
    if unused := read_texts(read, "unused"):
        yield line("", f"not used: {clip(', '.join(unused), 200)}")
    if read.get("better"):
        scale = read.get("scale")
        on = f"{scale[0]:g} to {scale[1]:g}" if scale else "the scale is not known"
        yield line("", f"{on}, {read['better']} is better")
    for remark in read_texts(read, "remarks"):
        yield line("", remark)
    if checked.planned is not None:
        left = f"deviations: {'; '.join(checked.deviations)}" if checked.deviations else "no deviations"
        yield line("Plan", f"{checked.collected:,} of {checked.planned:,} planned answers; {left}")
    yield line("Promise", f"would be: {checked.promise.says}")
    if not checked.finished:
        yield line("", "not before the plan's end: a look now (--look) withdraws it")
    yield line("Checked", "no result was shown, and no look is recorded")


def _counts(checked: TableCheck) -> str:
    read = checked.read
    parts = [f"{read['used']:,} of {pluralise(read['rows'], 'row')} used"]
    parts += [pluralise(read[name], noun) for name, noun in COUNTED if read.get(name)]
    parts += [] if read.get("raters") else ["raters not named"]
    parts += [pluralise(read["gaps"], "gap")] if read.get("gaps") else []
    return ", ".join(parts)


def _columns(checked: TableCheck) -> Iterator[tuple[str, str]]:
    how = checked.read.get("how")
    columns = how.get("columns") if isinstance(how, dict) else None
    yield from columns.items() if isinstance(columns, dict) else ()
