"""Report how far the raters of a table agree, and how lenient, sharp and fast each one is.

Call `report` with an `Agreement` (`simlab.answers.agreement`), which returns a `Report` of text, tables and charts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite
from typing import TypeAlias, TypeVar

from simlab.answers.agreement import (
    Agreement,
    Coefficient,
    HoursPredicted,
    MeanAgreement,
    RaterBesideOthers,
    RaterScores,
)
from simlab.drawing.reports import references
from simlab.drawing.reports.terms import (
    Cell,
    Chart,
    ChartPoint,
    Points,
    Report,
    ReportTable,
    Section,
    Value,
    value_or_reason,
)
from simlab.drawing.text import tables
from simlab.messages import pluralise

Rater = TypeVar("Rater", RaterBesideOthers, RaterScores)
Rows: TypeAlias = tuple[tuple[Cell, ...], ...]

UNKNOWN = "not known from this table"
UNSHARED = "no output has ratings of two raters"
UNNAMED = "the table does not say who rated"
ALONE = "all ratings are by one rater"
EQUAL = "scores that can be compared are all equal"
UNMET = "no two raters rated all outputs of a document"
"""These six are reasons why numbers are not known."""
FEW = 20
"""Over fewer documents, intervals from documents drawn anew tend to be too narrow."""
MOST_MARKS = 60
"""Raters that a chart shows; of more, those at both ends."""
TRAITS = {
    "leniency": (
        "How lenient are raters?",
        "better than others on the same outputs [points], 95 %",
        "shared",
        (None, None),
    ),
    "sharpness": ("How sharp are raters?", "slope on the others' mean, 95 %", "shared", (None, None)),
    "seconds": ("How fast are raters?", "mean time of an answer [s]", "timed", (0.0, None)),
    "failed_share": ("Who failed control items?", "share of control items failed, 95 %", "controls", (0.0, 1.0)),
}
"""Charts of raters by trait: the question, the axis with its unit, the field that counts n, and the range."""
SCORES = {
    "mean": "mean",
    "sd": "sd",
    "q25": "25 %",
    "q50": "50 %",
    "q75": "75 %",
    "q90": "90 %",
    "maximum": "most",
    "zero_share": "share of 0",
    "errors_per_segment": "errors a segment",
}
"""Columns of the scores of each rater."""


def report(agreement: Agreement) -> Report:
    """Make the report of an answer of `simlab agreement`."""
    sentences = tuple(_sentences(agreement))
    return Report(
        "Agreement of raters",
        "How far do the raters of this table agree, and how do they differ?",
        sentences,
        tuple(_sections(agreement)),
        figures=tuple(_key_figures(agreement)),
        held_fixed=tuple(_list_fixed(agreement)),
        reservations=tuple(_reservations(agreement)),
        references=references.list_references([*_list_references(agreement), references.SIMLAB]),
        paragraph=_paragraph(agreement, sentences),
    )


def _known_coefficients(agreement: Agreement) -> list[Coefficient]:
    return [row for row in agreement.coefficients if isfinite(row.value)]


def _known_rankings(agreement: Agreement) -> list[MeanAgreement]:
    return [row for row in agreement.agreement if isfinite(row.kendall)]


def _sort_raters_by(agreement: Agreement, trait: str) -> list[RaterBesideOthers]:
    """Return the raters of whom a trait is known, least first."""
    known = [row for row in agreement.corated if isfinite(getattr(row, trait))]
    return sorted(known, key=lambda row: float(getattr(row, trait)))


def _paragraph(agreement: Agreement, sentences: Sequence[str]) -> str:
    intervals = " Intervals are of 95 %, over documents, for these raters." if _known_coefficients(agreement) else ""
    return f"{' '.join(sentences)}{intervals} Agreement of raters was measured with simlab."


def _list_references(agreement: Agreement) -> Iterator[str]:
    if _known_coefficients(agreement):
        yield from ("Krippendorff 2004", "McGraw and Wong 1996")
    if _known_rankings(agreement):
        yield "Riley et al. 2024"
    if any(row.controls for row in agreement.corated):
        yield "Clopper and Pearson 1934"


def _sentences(agreement: Agreement) -> Iterator[str]:
    raters, known = agreement.read.raters, _known_coefficients(agreement)
    by = "raters who are not named" if raters is None else pluralise(raters, "rater")
    of = f"{pluralise(agreement.read.systems, 'system')} on {pluralise(agreement.read.documents or 0, 'document')}"
    yield f"{pluralise(agreement.read.used, 'rating')} of {of} by {by} were read."
    if not known:
        yield f"How far raters agree on scores is not known: {_explain_missing_coefficients(agreement)}."
    else:
        first, *others = (f"{_name(row)} is {_number_with_interval(row)}" for row in known)
        rest = f"; {', '.join(others)}" if others else ""
        yield f"{first} over {pluralise(known[0].outputs, 'output')}{rest}."
    for row in _known_rankings(agreement):
        tau, pairs = (
            tables.format_with_error(row.kendall, row.standard_error, 2),
            pluralise(row.rater_pairs, "rater pair"),
        )
        yield f"Over {row.kind}, two raters rank the systems with a Kendall's tau of {tau} ({pairs})."
    if not _known_rankings(agreement) and (raters or 0) > 1:
        why = EQUAL if any(row.documents for row in agreement.pairs) else UNMET
        yield f"How far rankings by two raters agree is not known: {why}."
    for name, unit in (("leniency", " points"), ("sharpness", "")):
        yield from _ends(agreement, name, unit)
    if len(timed := _sort_raters_by(agreement, "seconds")) > 1:
        least, most = (f"{tables.number(row.seconds, 1)} s ({row.rater})" for row in (timed[0], timed[-1]))
        yield f"An answer took from {least} to {most} on average."
    if met := sum(row.controls for row in agreement.corated):
        yield (
            f"{sum(row.failed for row in agreement.corated):,} of {pluralise(met, 'answer')} to control items were "
            "failed."
        )


def _explain_missing_coefficients(agreement: Agreement) -> str:
    """State why no coefficient of agreement has a value."""
    if agreement.read.raters is None:
        return UNNAMED
    if agreement.read.raters == 1:
        return ALONE
    return EQUAL if any(row.outputs and row.raters > 1 for row in agreement.coefficients[:1]) else UNSHARED


def _name(row: Coefficient) -> str:
    return f"{row.coefficient}, k = {row.ratings_each:.3g}" if isfinite(row.ratings_each) else row.coefficient


def _number_with_interval(row: Coefficient) -> str:
    text = tables.number(row.value, 2)
    if not isfinite(row.low):
        return text
    return f"{text} ({tables.number(row.low, 2)} to {tables.number(row.high, 2)})"


def _ends(agreement: Agreement, name: str, unit: str) -> Iterator[str]:
    """State who has least and who most of a trait."""
    known = _sort_raters_by(agreement, name)
    if known and getattr(known[0], name) < getattr(known[-1], name):
        least, most = (_format_trait(row, name, unit) for row in (known[0], known[-1]))
        yield f"{name.capitalize()} runs from {least} to {most}."


def _format_trait(row: RaterBesideOthers, name: str, unit: str) -> str:
    value, low, high = (getattr(row, f"{name}{end}") for end in ("", "_low", "_high"))
    bounds = f", {tables.number(low, 2)} to {tables.number(high, 2)}" if isfinite(low) else ""
    return f"{tables.number(value, 2)}{unit} ({row.rater}{bounds})"


def _key_figures(agreement: Agreement) -> Iterator[Value]:
    for row in _known_coefficients(agreement)[:1]:
        yield _coefficient(row, label=row.coefficient)
    for ranking in _known_rankings(agreement):
        yield _ranking(ranking, label=f"Kendall's tau over {ranking.kind}")
    for worked in agreement.hours:
        if worked.cut == agreement.cut:
            label = f"hours of work, gaps cut at {worked.cut:g} s"
            yield Value(worked.hours, n=worked.answers, unit="h", label=label)


def _sections(agreement: Agreement) -> Iterator[Section]:
    blocks = (_table_of_coefficients(agreement), _table_of_rankings(agreement))
    if shown := tuple(table for table in blocks if table.rows):
        yield Section("How far raters agree", shown)
    if charts := tuple(_charts(agreement)):
        yield Section("How raters differ", (*charts, Points(tuple(_words_on_traits(agreement)))))
    yield Section("The scores of each rater", (_scores(agreement),), folded=bool(charts))
    if (pairs := _table_of_pairs(agreement)).rows:
        yield Section("Pairs of raters", (pairs,), folded=True)
    if agreement.hours:
        predictions = (_table_of_predictions(agreement.predicted),) if agreement.predicted else ()
        notes = (Points((agreement.rule,)),) if agreement.rule else ()
        yield Section("Hours of work", (_table_of_hours(agreement), *predictions, *notes))


def _charts(agreement: Agreement) -> Iterator[Chart]:
    """Draw leniency, sharpness, speed and failed control items of the raters, where they are known."""
    table = _table_beside_others(agreement.corated)
    for name, (question, axis, n, bounds) in TRAITS.items():
        known = _sort_raters_by(agreement, name)
        if len(known) > 1:
            marks = tuple(_mark(row, name, n) for row in _select_shown_raters(known))
            least, most = (f"{row.rater} {tables.number(getattr(row, name), 2)}" for row in (known[0], known[-1]))
            alt = f"{pluralise(len(known), 'rater')}, from {least} to {most}."
            yield Chart(
                "intervals", question, axis, "rater", marks, alt, bounds=bounds, table=table, interval="95 % interval"
            )


def _scores(agreement: Agreement) -> Chart:
    """Draw the middle half of each rater's scores, the harshest first, with the table of all."""
    order = sorted(agreement.raters, key=lambda row: row.mean, reverse=agreement.read.better == "lower")
    marks = tuple(
        ChartPoint(row.q50, row.rater, row.q25, row.q75, n=row.ratings) for row in _select_shown_raters(order)
    )
    least, most = (f"{row.rater} {tables.number(row.q50, 1)}" for row in (order[0], order[-1]))
    return Chart(
        "intervals",
        "What scores do raters give?",
        f"score ({agreement.read.better} is better): median, 25 to 75 %",
        "rater",
        marks,
        f"Median scores of {pluralise(len(order), 'rater')}, from {least} to {most}.",
        table=_table_of_scores(agreement),
        interval="25 to 75 %",
    )


def _select_shown_raters(raters: list[Rater]) -> list[Rater]:
    """Return the raters that a figure has room for: of many those at the ends."""
    return raters if len(raters) <= MOST_MARKS else raters[: MOST_MARKS // 2] + raters[-MOST_MARKS // 2 :]


def _mark(row: RaterBesideOthers, name: str, n: str) -> ChartPoint:
    value = _bounded_value(row, name, n)
    return ChartPoint(getattr(row, name), row.rater, value.low, value.high, n=value.n)


def _words_on_traits(agreement: Agreement) -> Iterator[str]:
    if _sort_raters_by(agreement, "leniency"):
        yield "Leniency is how much better than the other raters of the same outputs one scores, in points."
        yield "Sharpness is the slope on their mean: noise in it makes all slopes smaller, so compare raters."
    if agreement.controls:
        yield f"A control item is failed where {agreement.controls}; intervals of shares are exact (95 %)."
    if max(len(_sort_raters_by(agreement, name)) for name in TRAITS) > MOST_MARKS:
        yield f"Figures have the {MOST_MARKS} raters at the ends; the tables have all."


def _list_fixed(agreement: Agreement) -> Iterator[str]:
    if any(isfinite(row.low) for row in agreement.coefficients):
        yield "these raters: intervals draw the documents anew, not the people"


def _reservations(agreement: Agreement) -> Iterator[str]:
    known = _known_coefficients(agreement)
    documents = min((row.documents for row in known), default=FEW)
    if documents < FEW:
        has_intervals = any(isfinite(row.low) for row in known)
        why = "intervals are likely too narrow" if has_intervals else "too few for an interval"
        yield f"Scores of two raters are on {pluralise(documents, 'document')} only: {why}."
    if _known_rankings(agreement):
        yield "Standard errors of Kendall's tau are over pairs, which share raters: too small for raters at large."
    if partial := sum(row.partial for row in agreement.pairs):
        yield (
            f"Left out of rankings: {pluralise(partial, 'comparison')} on documents that the two did not both complete."
        )
    if constant := sum(row.constant for row in agreement.pairs):
        yield f"Left out of rankings: {pluralise(constant, 'comparison')} in which a rater scored all systems the same."
    if (agreement.read.raters or 0) > 1:
        yield "Where raters rated different documents, their mean scores differ by these as well."
    for row in agreement.predicted:
        if not row.inside:
            yield "The hours that happened lie outside what the speeds of other people predict."


def _coefficient(row: Coefficient, label: str = "") -> Value:
    return value_or_reason(
        row.value, UNKNOWN, low=row.low, high=row.high, n=row.ratings, clusters=row.documents, label=label
    )


def _ranking(row: MeanAgreement, label: str = "") -> Value:
    """Return a mean Kendall's tau with its standard error over pairs of raters."""
    return value_or_reason(row.kendall, UNKNOWN, standard_error=row.standard_error, n=row.rater_pairs, label=label)


def _table_of_coefficients(agreement: Agreement) -> ReportTable:
    body = tuple(
        (_name(row), _coefficient(row), row.outputs, row.ratings, row.raters, row.documents)
        for row in _known_coefficients(agreement)
    )
    columns = ("agreement on outputs", "value", "outputs", "ratings", "raters", "documents")
    return ReportTable("Agreement of scores, with 95 % intervals over documents", columns, body)


def _table_of_rankings(agreement: Agreement) -> ReportTable:
    body = tuple(
        (row.kind, _ranking(row), row.rater_pairs, row.documents, row.comparisons, row.undefined)
        for row in _known_rankings(agreement)
    )
    columns = ("over", "Kendall's tau", "pairs of raters", "documents", "comparisons", "without a ranking")
    return ReportTable("Agreement of rankings of the systems, ± standard error over pairs of raters", columns, body)


def _table_beside_others(rows: Sequence[RaterBesideOthers]) -> ReportTable:
    """Lay out raters beside the others; what nobody knows of anyone has no column."""
    columns: dict[str, tuple[Cell, ...]] = {"rater": tuple(row.rater for row in rows)}
    for name, title in (("leniency", "leniency [points]"), ("sharpness", "sharpness")):
        if any(isfinite(getattr(row, name)) for row in rows):
            columns["shared outputs"] = tuple(row.shared for row in rows)
            columns[title] = tuple(_bounded_value(row, name, "shared") for row in rows)
    if any(isfinite(row.seconds) for row in rows):
        columns["answers timed"] = tuple(row.timed for row in rows)
        columns["seconds"] = tuple(value_or_reason(row.seconds, UNKNOWN, n=row.timed) for row in rows)
        columns["hours"] = tuple(value_or_reason(row.hours, UNKNOWN) for row in rows)
    if any(row.controls for row in rows):
        columns["control items"] = tuple(row.controls for row in rows)
        columns["failed"] = tuple(row.failed for row in rows)
        columns["share failed"] = tuple(_bounded_value(row, "failed_share", "controls") for row in rows)
    caption = "Each rater beside the others, with 95 % intervals"
    return ReportTable(caption, tuple(columns), tuple(zip(*columns.values(), strict=True)))


def _bounded_value(row: RaterBesideOthers, name: str, n: str) -> Value:
    stem = name.removesuffix("_share")
    low, high = (getattr(row, f"{stem}_{end}", float("nan")) for end in ("low", "high"))
    return value_or_reason(getattr(row, name), UNKNOWN, low=low, high=high, n=getattr(row, n))


def _table_of_scores(agreement: Agreement) -> ReportTable:
    shown = [name for name in SCORES if any(isfinite(getattr(row, name)) for row in agreement.raters)]
    body: Rows = tuple(
        (row.rater, row.ratings, row.documents, *(value_or_reason(getattr(row, name), UNKNOWN) for name in shown))
        for row in agreement.raters
    )
    columns = ("rater", "ratings", "documents", *(SCORES[name] for name in shown))
    return ReportTable("Scores of each rater [points]", columns, body)


def _table_of_pairs(agreement: Agreement) -> ReportTable:
    body: Rows = tuple(
        (
            row.first,
            row.second,
            *(value_or_reason(tau, UNKNOWN, n=row.documents) for tau in (row.single, row.shared)),
            row.documents,
        )
        for row in agreement.pairs
        if isfinite(row.single) or isfinite(row.shared)
    )
    columns = ("rater", "and rater", "per document", "all shared documents", "documents")
    return ReportTable("Kendall's tau between the rankings of systems by two raters", columns, body)


def _table_of_hours(agreement: Agreement) -> ReportTable:
    body = tuple(
        (f"{row.cut:,g}", Value(row.hours), Value(row.seconds), row.answers, row.logins, row.people)
        for row in agreement.hours
    )
    columns = ("gaps cut at [s]", "hours", "seconds an answer", "answers", "logins", "people")
    return ReportTable("Hours of work, gaps between answers cut", columns, body)


def _table_of_predictions(rows: Sequence[HoursPredicted]) -> ReportTable:
    """Lay out what speeds of other people predict of the hours."""
    body = tuple(
        (
            row.people,
            f"{row.cut:,g}",
            Value(row.median, low=row.low, high=row.high),
            Value(row.happened),
            "yes" if row.inside else "NO",
        )
        for row in rows
    )
    columns = ("people whose speeds were learnt", "gaps cut at [s]", "hours predicted", "happened", "inside")
    return ReportTable("Hours predicted from the speeds of other people, with 90 % intervals", columns, body)
