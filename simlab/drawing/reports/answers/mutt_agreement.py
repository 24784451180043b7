"""Report how far metrics agree about which trials pass, from what `simlab mutt --agreement --save` kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from simlab.drawing.reports import references
from simlab.drawing.reports.answers import reading
from simlab.drawing.reports.answers.reading import MAYBE, TEXT, WHOLE, Row, value
from simlab.drawing.reports.terms import Block, Chart, Mark, Points, Report, Section, Table, Value
from simlab.drawing.text import tables
from simlab.drawing.text.agreements import ALL
from simlab.messages import several

FIELDS = {
    **dict.fromkeys(("corruption", "metric", "other", "reason"), TEXT),
    **dict.fromkeys(("references", "n", "originals", "near_ties"), WHOLE),
    **dict.fromkeys(("agreement", "agreement_error", "correlation", "correlation_error"), MAYBE),
}
MOST_MARKS = 60
NONE = "no trial has scores of both"


def report(saved: Mapping[str, Any]) -> Report:
    """Make the report of an answer of `simlab mutt --agreement`; raise InputError for what is none."""
    rows = reading.filled(saved.get("answer"), "answer", FIELDS)
    pooled = _pooled(rows)
    told = tuple(_sentences(pooled))
    return Report(
        "Agreement of metrics",
        "How far do metrics agree about which corruptions they notice?",
        told,
        tuple(_sections(rows, pooled)),
        dict(saved),
        tuple(_large(pooled)),
        held_fixed=("the trials, their references, and what passes",),
        reservations=tuple(_reservations(pooled)),
        reproduce=(reading.command(saved),),
        references=references.cited(["Boag et al. 2016", references.SIMLAB]),
        paragraph=f"Verdicts of metrics on corrupted sentences were compared (Boag et al. 2016). {' '.join(told)} "
        "Errors are standard errors, trials of an original together. Compared with simlab.",
        provenance=reading.provenance(saved),
    )


def _pooled(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of all corruptions together; those of the only one where there is one."""
    several_of = len({row["corruption"] for row in rows}) > 1
    pooled = [row for row in rows if row["corruption"] == ALL or not several_of]
    return pooled or list(rows)


def _known(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of the most references that have an agreement, the least first."""
    most = max(row["references"] for row in rows)
    known = [row for row in rows if row["agreement"] is not None and row["references"] == most]
    return sorted(known, key=lambda row: float(row["agreement"]))


def _sentences(rows: Sequence[Row]) -> Iterator[str]:
    known = _known(rows)
    if not known:
        yield f"No two metrics can be compared: {NONE}."
        return
    of = several(known[0]["references"], "reference")
    yield f"{several(len(known), 'pair')} of metrics are compared, with {of}."
    for row, word in zip([known[0], known[-1]][: len(known)], ("least", "most"), strict=False):
        yield f"{row['metric']} and {row['other']} agree {word}: {_told(row)}."


def _told(row: Row) -> str:
    phi = row["correlation"]
    said = f"no correlation, since {row['reason']}" if phi is None else f"correlation {_measured(row, 'correlation')}"
    return f"verdicts are equal in {_measured(row, 'agreement')} of {several(row['n'], 'trial')} ({said})"


def _measured(row: Row, name: str) -> str:
    error = row[f"{name}_error"]
    return tables.measured(float(row[name]), float("nan") if error is None else float(error), 3)


def _value(row: Row, name: str, label: str = "") -> Value:
    reason = row["reason"] or NONE
    return value(
        row[name], reason, standard_error=row[f"{name}_error"], n=row["n"], clusters=row["originals"], label=label
    )


def _large(rows: Sequence[Row]) -> list[Value]:
    known = _known(rows)
    ends = zip([known[0], known[-1]][: len(known)], ("least", "largest"), strict=False) if known else ()
    return [_value(row, "agreement", f"{word} agreement: {row['metric']}, {row['other']}") for row, word in ends]


def _sections(rows: Sequence[Row], pooled: Sequence[Row]) -> list[Section]:
    chart = _chart(pooled)
    drawn: list[Block] = [chart] if chart else []
    notes = Points(tuple(_notes(rows, pooled)))
    first = Section("Which metrics agree", (*drawn, _table(pooled, "All corruptions together"), notes))
    others = [row for row in rows if row not in pooled]
    return [first, *([Section("Each corruption", (_table(others, ""),), folded=True)] if others else [])]


def _chart(rows: Sequence[Row]) -> Chart | None:
    known = _known(rows)[:MOST_MARKS]
    if not known:
        return None
    marks = tuple(_mark(row) for row in known)
    alt = f"From {_told(known[0])} to {_told(known[-1])}."
    return Chart(
        "intervals",
        "In how many of the trials are the verdicts of two metrics equal?",
        "share of equal verdicts (± 1.96 standard errors)",
        "metrics",
        marks,
        alt,
        bounds=(0.0, 1.0),
        interval="± 1.96 standard errors",
    )


def _mark(row: Row) -> Mark:
    value_, error = float(row["agreement"]), row["agreement_error"]
    low, high = (None, None) if error is None else (max(value_ - 1.96 * error, 0.0), min(value_ + 1.96 * error, 1.0))
    pair = f"{row['metric']} and {row['other']}"
    return Mark(value_, pair, low, high, standard_error=error, n=row["n"], clusters=row["originals"])


def _table(rows: Sequence[Row], caption: str) -> Table:
    several_of = len({row["corruption"] for row in rows}) > 1
    columns = (*(["corruption"] if several_of else []), "metric", "other", "references")
    body = tuple(
        (
            *([row["corruption"]] if several_of else []),
            *(row[name] for name in ("metric", "other", "references")),
            _value(row, "agreement"),
            _value(row, "correlation"),
            row["n"],
            row["originals"],
        )
        for row in rows
    )
    return Table(caption, (*columns, "agreement", "correlation", "n", "originals"), body)


def _notes(rows: Sequence[Row], pooled: Sequence[Row]) -> Iterator[str]:
    yield "Share of equal verdicts, and the correlation (phi) of verdicts, ± standard error."
    yield "Trials of an original are one cluster; without an error nothing was seen to vary, which is no certainty."
    if len(_known(pooled)) > MOST_MARKS:
        yield f"The figure has the {MOST_MARKS} pairs that agree least."
    for reason in dict.fromkeys(row["reason"] for row in pooled if row["reason"]):
        yield f"No correlation where {reason}."


def _reservations(rows: Sequence[Row]) -> Iterator[str]:
    if any(row["agreement"] is not None and row["agreement_error"] is None for row in rows):
        yield (
            "Where all verdicts are equal, or there is one original, no error can be told: that nothing was seen to "
            "vary is no certainty."
        )
    if near := sum(row["near_ties"] for row in rows):
        yield f"Pairs of verdicts of which one hangs on a near tie: {near:,}."
