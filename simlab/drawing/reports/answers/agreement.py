"""Report how far the raters of a table agree and what each is like, from what `simlab agreement --save` kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from simlab.drawing.reports import references
from simlab.drawing.reports.answers import agreement_tables, reading
from simlab.drawing.reports.answers.reading import FLAG, MAYBE, MAYBE_WHOLE, NUMBER, TEXT, WHOLE, Row
from simlab.drawing.reports.terms import Chart, Mark, Points, Report, Section, Table, Value
from simlab.drawing.text import tables
from simlab.messages import several
from simlab.tables.times import CUT

READ = {**dict.fromkeys(("used", "systems", "documents"), WHOLE), "raters": MAYBE_WHOLE}
COEFFICIENT = {
    "coefficient": TEXT,
    **dict.fromkeys(("value", "low", "high", "ratings_each"), MAYBE),
    **dict.fromkeys(("ratings", "outputs", "raters", "documents"), WHOLE),
}
RANKING = {
    "kind": TEXT,
    **dict.fromkeys(("kendall", "standard_error"), MAYBE),
    **dict.fromkeys(("rater_pairs", "pairs_left_out", "documents", "comparisons", "undefined"), WHOLE),
}
PAIR = {
    **dict.fromkeys(("first", "second"), TEXT),
    **dict.fromkeys(("single", "shared"), MAYBE),
    **dict.fromkeys(("documents", "constant", "partial"), WHOLE),
}
SCORED = ("mean", "sd", "q25", "q50", "q75", "q90", "maximum", "zero_share", "errors_per_segment")
RATER = {"rater": TEXT, "ratings": WHOLE, "documents": WHOLE, **dict.fromkeys(SCORED, MAYBE)}
TRAITS = tuple(f"{name}{end}" for name in ("leniency", "sharpness") for end in ("", "_low", "_high"))
BESIDE = {
    "rater": TEXT,
    **dict.fromkeys((*TRAITS, "seconds", "hours", "failed_share", "failed_low", "failed_high"), MAYBE),
    **dict.fromkeys(("shared", "shared_documents", "timed", "controls", "failed"), WHOLE),
}
HOURS = {
    "rule": TEXT,
    **dict.fromkeys(("cut", "hours", "seconds"), NUMBER),
    **dict.fromkeys(("answers", "logins", "people"), WHOLE),
}
PREDICTED = {
    **dict.fromkeys(("cut", "low", "median", "high", "happened"), NUMBER),
    **dict.fromkeys(("log_score", "flat_log_score"), MAYBE),
    "people": WHOLE,
    "inside": FLAG,
}
UNSHARED = "no output has ratings of two raters"
UNNAMED = "the table does not say who rated"
ALONE = "all ratings are by one rater"
EQUAL = "scores that can be compared are all equal"
UNMET = "no two raters rated all outputs of a document"
FEW = 20
"""Over fewer documents, intervals from documents drawn anew tend to be too narrow."""
MOST_MARKS = 60
OF = "95 % interval"


class Held(NamedTuple):
    """Hold what an answer has: what was read, and the tables of `simlab agreement`."""

    read: Row
    coefficients: list[Row]
    rankings: list[Row]
    pairs: list[Row]
    raters: list[Row]
    beside: list[Row]
    hours: list[Row]
    predicted: list[Row]

    @property
    def known(self) -> list[Row]:
        """Coefficients that have a value."""
        return [row for row in self.coefficients if row["value"] is not None]


def report(saved: Mapping[str, Any]) -> Report:
    """Make the report of an answer of `simlab agreement`; raise InputError for what is none."""
    held = _held(saved.get("answer"))
    told = tuple(_sentences(held))
    return Report(
        "Agreement of raters",
        "How far do the raters of this table agree, and how do they differ?",
        told,
        tuple(_sections(held)),
        dict(saved),
        tuple(_large(held, reading.amount(saved, "--cut", CUT))),
        held_fixed=("these raters: intervals draw the documents anew, not the people",),
        reservations=tuple(_reservations(held)),
        reproduce=(reading.command(saved),),
        references=references.cited([*_cited(held), references.SIMLAB]),
        paragraph=_paragraph(held, told),
        provenance=reading.provenance(saved),
    )


def _held(held: Any) -> Held:
    parts = reading.record(held, "answer", {"read": reading.OBJECT})
    read = reading.record(parts["read"], "answer.read", READ)
    fields = {
        "coefficients": COEFFICIENT,
        "agreement": RANKING,
        "pairs": PAIR,
        "raters": RATER,
        "corated": BESIDE,
        "hours": HOURS,
        "predicted": PREDICTED,
    }
    found = {name: reading.records(held.get(name), f"answer.{name}", wanted) for name, wanted in fields.items()}
    if not found["raters"]:
        raise reading.wrong("answer.raters", "is empty, so that there is nothing to report")
    return Held(read, *found.values())


def _paragraph(held: Held, told: Sequence[str]) -> str:
    intervals = " Intervals are of 95 %, over documents, for these raters." if held.known else ""
    return f"{' '.join(told)}{intervals} Agreement of raters was measured with simlab."


def _cited(held: Held) -> Iterator[str]:
    if held.known:
        yield from ("Krippendorff 2004", "McGraw and Wong 1996")
    if any(row["kendall"] is not None for row in held.rankings):
        yield "Riley et al. 2024"
    if any(row["controls"] for row in held.beside):
        yield "Clopper and Pearson 1934"


def _sentences(held: Held) -> Iterator[str]:
    raters = held.read["raters"]
    by = "raters who are not named" if raters is None else several(raters, "rater")
    of = f"{several(held.read['systems'], 'system')} on {several(held.read['documents'], 'document')}"
    yield f"{several(held.read['used'], 'rating')} of {of} by {by} were read."
    if not held.known:
        yield f"How far raters agree on scores is not known: {_unknown(held)}."
    else:
        first, *others = (f"{_name(row)} is {_interval(row)}" for row in held.known)
        rest = f"; {', '.join(others)}" if others else ""
        yield f"{first} over {several(held.known[0]['outputs'], 'output')}{rest}."
    known = [row for row in held.rankings if row["kendall"] is not None]
    for row in known:
        pairs = several(row["rater_pairs"], "rater pair")
        yield f"Over {row['kind']}, two raters rank the systems with a Kendall's tau of {_tau(row)} ({pairs})."
    if not known and (raters or 0) > 1:
        why = EQUAL if any(row["documents"] for row in held.pairs) else UNMET
        yield f"How far rankings by two raters agree is not known: {why}."
    for name, unit in (("leniency", " points"), ("sharpness", "")):
        yield from _ends(held, name, unit)
    timed = sorted((row for row in held.beside if row["seconds"] is not None), key=lambda row: float(row["seconds"]))
    if len(timed) > 1:
        least, most = (f"{tables.number(row['seconds'], 1)} s ({row['rater']})" for row in (timed[0], timed[-1]))
        yield f"An answer took from {least} to {most} on average."
    if met := sum(row["controls"] for row in held.beside):
        yield f"{sum(row['failed'] for row in held.beside):,} of {several(met, 'answer')} to control items were failed."


def _unknown(held: Held) -> str:
    """Say why no coefficient of agreement has a value."""
    if held.read["raters"] is None:
        return UNNAMED
    if held.read["raters"] == 1:
        return ALONE
    return EQUAL if any(row["outputs"] and row["raters"] > 1 for row in held.coefficients[:1]) else UNSHARED


def _name(row: Row) -> str:
    each = row["ratings_each"]
    return f"{row['coefficient']}, k = {each:.3g}," if each is not None else str(row["coefficient"])


def _tau(row: Row) -> str:
    error = row["standard_error"]
    return tables.measured(row["kendall"], float("nan") if error is None else error, 2)


def _interval(row: Row) -> str:
    text = tables.number(row["value"], 2)
    if row["low"] is None or row["high"] is None:
        return text
    return f"{text} ({tables.number(row['low'], 2)} to {tables.number(row['high'], 2)})"


def _ends(held: Held, name: str, unit: str) -> Iterator[str]:
    """Say who has least and who most of a trait."""
    known = sorted((row for row in held.beside if row[name] is not None), key=lambda row: float(row[name]))
    if known and known[0][name] < known[-1][name]:
        least, most = (_trait(row, name, unit) for row in (known[0], known[-1]))
        yield f"{name.capitalize()} runs from {least} to {most}."


def _trait(row: Row, name: str, unit: str) -> str:
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    bounds = "" if low is None or high is None else f", {tables.number(low, 2)} to {tables.number(high, 2)}"
    return f"{tables.number(row[name], 2)}{unit} ({row['rater']}{bounds})"


def _large(held: Held, cut: float) -> Iterator[Value]:
    for row in held.known[:1]:
        yield agreement_tables.coefficient(row, label=row["coefficient"])
    for row in held.rankings:
        if row["kendall"] is not None:
            yield agreement_tables.ranking(row, label=f"Kendall's tau over {row['kind']}")
    for row in held.hours:
        if row["cut"] == cut:
            yield Value(row["hours"], n=row["answers"], unit="h", label=f"hours of work, gaps cut at {cut:g} s")


def _sections(held: Held) -> Iterator[Section]:
    if held.known or any(row["kendall"] is not None for row in held.rankings):
        blocks = (agreement_tables.coefficients(held.coefficients), agreement_tables.rankings(held.rankings))
        yield Section("How far raters agree", tuple(table for table in blocks if table.rows))
    beside = agreement_tables.beside(held.beside)
    if charts := tuple(_charts(held, beside)):
        notes = Points(tuple(_traits(held)))
        yield Section("How raters differ", (*charts, notes))
    scores = agreement_tables.scores(held.raters)
    yield Section("The scores of each rater", (scores,), folded=bool(charts))
    if any(row["single"] is not None or row["shared"] is not None for row in held.pairs):
        yield Section("Pairs of raters", (agreement_tables.pairs(held.pairs),), folded=True)
    if held.hours:
        told = (agreement_tables.predicted(held.predicted),) if held.predicted else ()
        yield Section("Hours of work", (agreement_tables.worked(held.hours), *told))


def _charts(held: Held, table: Table) -> Iterator[Chart]:
    """Draw leniency, sharpness, speed and failed control items of the raters, where they are known."""
    for name, (question, axis, of, bounds) in agreement_tables.CHARTS.items():
        known = sorted((row for row in held.beside if row[name] is not None), key=lambda row: float(row[name]))
        if len(known) > 1:
            shown = known if len(known) <= MOST_MARKS else known[: MOST_MARKS // 2] + known[-MOST_MARKS // 2 :]
            marks = tuple(_mark(row, name, of) for row in shown)
            least, most = (f"{row['rater']} {tables.number(row[name], 2)}" for row in (known[0], known[-1]))
            alt = f"{several(len(known), 'rater')}, from {least} to {most}."
            yield Chart("intervals", question, axis, "rater", marks, alt, bounds=bounds, table=table, interval=OF)


def _mark(row: Row, name: str, of: str) -> Mark:
    stem = name.removesuffix("_share")
    return Mark(row[name], row["rater"], row.get(f"{stem}_low"), row.get(f"{stem}_high"), n=row[of])


def _traits(held: Held) -> Iterator[str]:
    if any(row["leniency"] is not None for row in held.beside):
        yield "Leniency is how much better than the other raters of the same outputs one scores, in points."
        yield "Sharpness is the slope on their mean: noise in it makes all slopes smaller, so compare raters."
    if any(row["failed_share"] is not None for row in held.beside):
        yield "Intervals of failed control items are exact (95 %)."
    if max(sum(row[name] is not None for row in held.beside) for name in agreement_tables.CHARTS) > MOST_MARKS:
        yield f"Figures have the {MOST_MARKS} raters at the ends; the tables have all."


def _reservations(held: Held) -> Iterator[str]:
    documents = min((row["documents"] for row in held.known), default=FEW)
    if documents < FEW:
        told = any(row["low"] is not None for row in held.known)
        why = "intervals are likely too narrow" if told else "too few for an interval"
        yield f"Scores of two raters are on {several(documents, 'document')} only: {why}."
    if any(row["kendall"] is not None for row in held.rankings):
        yield "Standard errors of Kendall's tau are over pairs, which share raters: too small for raters at large."
    if partial := sum(row["partial"] for row in held.pairs):
        yield f"Left out of rankings: {several(partial, 'comparison')} on documents that the two did not both complete."
    if constant := sum(row["constant"] for row in held.pairs):
        yield f"Left out of rankings: {several(constant, 'comparison')} in which a rater scored all systems the same."
    if (held.read["raters"] or 0) > 1:
        yield "Where raters rated different documents, their mean scores differ by these as well."
    for row in held.predicted:
        if not row["inside"]:
            yield "The hours that happened lie outside what the speeds of other people predict."
