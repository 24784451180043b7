"""Report how often two metrics give the same verdict on trials, and how their verdicts correlate.

Call `report` with a `MetricAgreement`, which returns a `Report`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite

from simlab.answers.mutt import ALL, EqualVerdicts, MetricAgreement
from simlab.drawing.reports import references
from simlab.drawing.reports.terms import Chart, ChartPoint, Points, Report, ReportTable, Section, Value, value_or_reason
from simlab.drawing.text import tables
from simlab.messages import pluralise

MOST_MARKS = 60
"""Pairs of metrics that a chart shows."""
NONE = "no trial has scores of both"


def report(agreement: MetricAgreement) -> Report:
    """Make the report of an answer of `simlab mutt --agreement`."""
    # Of one corruption, there is no row of all together.
    pooled = [row for row in agreement.rows if row.corruption == ALL] or list(agreement.rows)
    known = _select_known(pooled)
    sentences = tuple(_sentences(known))
    return Report(
        "Agreement of metrics",
        "How far do metrics agree about which corruptions they notice?",
        sentences,
        tuple(_sections(agreement.rows, pooled, known)),
        figures=tuple(_key_figures(known)),
        held_fixed=("the trials, their references, and what passes",),
        reservations=tuple(_reservations(pooled)),
        references=references.list_references(["Boag et al. 2016", references.SIMLAB]),
        paragraph=f"Verdicts of metrics on corrupted sentences were compared (Boag et al. 2016). {' '.join(sentences)} "
        "Errors are standard errors, trials of an original together. Compared with simlab.",
    )


def _select_known(rows: Sequence[EqualVerdicts]) -> list[EqualVerdicts]:
    """Return the rows of the most references that have an agreement, the least first."""
    most = max(row.references for row in rows)
    known = [row for row in rows if isfinite(row.agreement) and row.references == most]
    return sorted(known, key=lambda row: row.agreement)


def _ends(known: Sequence[EqualVerdicts]) -> Sequence[EqualVerdicts]:
    """Return the pairs that agree most and least; one where all agree alike."""
    return [known[-1], known[0]] if known[:1] and known[0].agreement < known[-1].agreement else known[:1]


def _sentences(known: Sequence[EqualVerdicts]) -> Iterator[str]:
    if not known:
        yield f"No two metrics can be compared: {NONE}."
        return
    yield (
        f"{pluralise(len(known), 'pair')} of metrics are compared, with {pluralise(known[0].references, 'reference')}."
    )
    ends = _ends(known)
    for row, word in zip(ends, (" most", " least") if len(ends) > 1 else ("",), strict=True):
        others = sum(other.agreement == row.agreement for other in known) - 1
        also = f", as do {pluralise(others, 'further pair')}" if others else ""
        yield f"{row.metric} and {row.other} agree{word}{also}: {_describe_agreement(row)}."


def _describe_agreement(row: EqualVerdicts) -> str:
    phi = tables.format_with_error(row.correlation, row.correlation_error, 2)
    correlation = f"correlation {phi}" if isfinite(row.correlation) else f"no correlation, since {row.reason}"
    equal = tables.format_with_error(row.agreement, row.agreement_error, 2)
    return f"verdicts are equal in {equal} of {pluralise(row.n, 'trial')} ({correlation})"


def _value(row: EqualVerdicts, name: str, label: str = "") -> Value:
    value, error = getattr(row, name), getattr(row, f"{name}_error")
    return value_or_reason(
        value, row.reason or NONE, standard_error=error, n=row.n, clusters=row.originals, label=label
    )


def _key_figures(known: Sequence[EqualVerdicts]) -> Iterator[Value]:
    for row, word in zip(_ends(known), ("largest", "least"), strict=False):
        yield _value(row, "agreement", f"{word} agreement: {row.metric}, {row.other}")


def _sections(
    rows: Sequence[EqualVerdicts], pooled: Sequence[EqualVerdicts], known: Sequence[EqualVerdicts]
) -> Iterator[Section]:
    table = _table(pooled, "All corruptions together")
    yield Section(
        "Which metrics agree", (_chart(known, table) if known else table, Points(tuple(_notes(pooled, known))))
    )
    if others := [row for row in rows if row not in pooled]:
        yield Section("Each corruption", (_table(others, "Each corruption"),), folded=True)


def _chart(known: Sequence[EqualVerdicts], table: ReportTable) -> Chart:
    return Chart(
        "intervals",
        "In how many of the trials are the verdicts of two metrics equal?",
        "share of equal verdicts (± 1.96 standard errors)",
        "metrics",
        tuple(_mark(row) for row in known[:MOST_MARKS]),
        f"From {_describe_agreement(known[0])} to {_describe_agreement(known[-1])}.",
        bounds=(0.0, 1.0),
        table=table,
        interval="± 1.96 standard errors",
    )


def _mark(row: EqualVerdicts) -> ChartPoint:
    value = _value(row, "agreement")
    low = None if value.error is None else max(row.agreement - 1.96 * value.error, 0.0)
    high = None if value.error is None else min(row.agreement + 1.96 * value.error, 1.0)
    pair = f"{row.metric} and {row.other}"
    return ChartPoint(row.agreement, pair, low, high, standard_error=value.error, n=row.n, clusters=row.originals)


def _table(rows: Sequence[EqualVerdicts], caption: str) -> ReportTable:
    columns = ("corruption", "metric", "other", "references", "agreement", "correlation", "n", "originals")
    body = tuple(
        (
            row.corruption,
            row.metric,
            row.other,
            row.references,
            _value(row, "agreement"),
            _value(row, "correlation"),
            row.n,
            row.originals,
        )
        for row in rows
    )
    first = 0 if len({row.corruption for row in rows}) > 1 else 1
    return ReportTable(caption, columns[first:], tuple(row[first:] for row in body))


def _notes(pooled: Sequence[EqualVerdicts], known: Sequence[EqualVerdicts]) -> Iterator[str]:
    yield "Share of equal verdicts, and the correlation (phi) of verdicts, ± standard error."
    yield "Trials of an original are one cluster; without an error nothing was seen to vary, which is no certainty."
    if len(known) > MOST_MARKS:
        yield f"The figure has the {MOST_MARKS} pairs that agree least."
    for reason in dict.fromkeys(row.reason for row in pooled if row.reason):
        yield f"No correlation where {reason}."


def _reservations(pooled: Sequence[EqualVerdicts]) -> Iterator[str]:
    if near := sum(row.near_ties for row in pooled):
        yield f"Pairs of verdicts of which one hangs on a near tie: {near:,} (column near_ties of --format csv)."
