"""Report how far predictions from a pilot came true, from what `simlab backtest --save` kept."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from simlab.drawing.reports import references
from simlab.drawing.reports.answers import backtest_advice, backtest_charts, reading
from simlab.drawing.reports.answers.backtest_charts import number
from simlab.drawing.reports.answers.reading import MAYBE, REMEDY, TEXT, WHOLE, Row
from simlab.drawing.reports.terms import Points, Prose, Report, Section, Table, Value
from simlab.drawing.text import backtest as text
from simlab.drawing.text import tables
from simlab.drawing.text.backtest import MEASURES, METHODS, TARGETS
from simlab.messages import several
from simlab.types import InputError

if TYPE_CHECKING:
    from simlab.fitting.backtest.records import Record

NUMBERS = ("predicted", "low", "high", "observed", "observed_mcse", "judged_low", "judged_high")
PLACE = {
    "target": reading.one_of(tuple(TARGETS)),
    "method": reading.one_of(tuple(METHODS)),
    "measure": reading.one_of(tuple(MEASURES)),
    "ratings_per_item": WHOLE,
}
SUMMARY = {**PLACE, "n": WHOLE, **dict.fromkeys(("mae", "bias", "coverage", "width"), MAYBE)}
FIELDS = {
    **PLACE,
    "documents": WHOLE,
    **dict.fromkeys(("law", "grouping", "normalization", "repetition", "unknown"), TEXT),
    **dict.fromkeys(NUMBERS, MAYBE),
}
LOW = 0.8
"""Intervals of 90 % that hold less often are called too narrow for this table."""


def report(saved: Mapping[str, Any]) -> Report:
    """Make the report of an answer of `simlab backtest` (or of its --advice); raise InputError for what is none."""
    held = saved.get("answer")
    if not isinstance(held, dict):
        raise InputError(f"answer: must be an object with records; {REMEDY}")
    if "rules" in held:
        return backtest_advice.report(saved)
    means = _means(held)
    records = reading.filled(held.get("records"), "answer.records", {"split": WHOLE})
    splits = len({row["split"] for row in records})
    rows = [reading.known(row) for row in reading.records(held.get("summary"), "answer.summary", SUMMARY)]
    found, others = ([row for row in rows if (row["method"] == "fit") is own] for own in (True, False))
    told = tuple(_sentences(found, others, splits))
    return Report(
        "Backtest of predictions",
        "How far can predictions from a pilot of this table be trusted?",
        told,
        tuple(_sections(found, others, means, splits)),
        dict(saved),
        tuple(_large(found)),
        held_fixed=tuple(_held_fixed(held, means)),
        reservations=tuple(_reservations(found, means, splits)),
        reproduce=(reading.command(saved),),
        references=references.cited(["Riley et al. 2024", references.SIMLAB]),
        paragraph=_paragraph(held, told, means),
        provenance=reading.provenance(saved),
    )


def _means(held: Mapping[str, Any]) -> list[Record]:
    """Read averages over splits, NaN for what is not known."""
    return [reading.shaped(row) for row in reading.filled(held.get("averages"), "answer.averages", FIELDS)]


def _sentences(found: Sequence[Row], others: Sequence[Row], splits: int) -> Iterator[str]:
    """Say of each measure how far predictions were off, on documents held out and on all."""
    if not found:
        yield "Nothing could be held against real studies."
        return
    yield (
        f"Predictions of a world that was fitted to a part of the documents were held against real studies, over "
        f"{several(splits, 'random split')}."
    )
    for measure in dict.fromkeys(row["measure"] for row in found):
        own = [row for row in found if row["measure"] == measure]
        fewest = min(row["ratings_per_item"] for row in own)
        told = "; ".join(_off(row, others) for row in own if row["ratings_per_item"] == fewest)
        yield f"{MEASURES[measure]}: off by {told}."
    if len({row["ratings_per_item"] for row in found}) > 1:
        yield "Studies with more ratings of each output are in the table."


def _off(row: Row, others: Sequence[Row]) -> str:
    naive = _same(row, others, "naive")
    against = f"; Gaussian noise without raters: {tables.number(naive['mae'], 3)}" if naive else ""
    return (
        f"{tables.number(row['mae'], 3)} on {TARGETS[row['target']]} (bias {tables.number(row['bias'], 3)}, "
        f"90 % intervals held in {tables.number(row['coverage'], 2)} of {several(row['n'], 'case')}{against})"
    )


def _same(row: Row, others: Sequence[Row], method: str) -> Row | None:
    """Return what another method came to on the same studies."""
    where = ("measure", "target", "ratings_per_item")
    return next((one for one in others if one["method"] == method and all(one[k] == row[k] for k in where)), None)


def _large(found: Sequence[Row]) -> Iterator[Value]:
    """Return how far each measure was off, on documents that the pilot had not seen where there are any."""
    target = "held_out" if any(row["target"] == "held_out" for row in found) else "all"
    seen: set[str] = set()
    for row in sorted((row for row in found if row["target"] == target), key=lambda row: row["ratings_per_item"]):
        if row["measure"] not in seen:
            seen.add(row["measure"])
            label = f"{MEASURES[row['measure']]}: mean absolute error, {TARGETS[target]}"
            yield Value(row["mae"], n=row["n"], label=label)


def _sections(found: Sequence[Row], others: Sequence[Row], means: Sequence[Record], splits: int) -> Iterator[Section]:
    if found:
        yield Section("How far predictions were off", (_summary(found, others),))
    yield from backtest_charts.sections(means)
    for target in dict.fromkeys(one.target for one in means):
        yield Section(f"Every design on {TARGETS[target]}", (backtest_charts.designs(means, target),), folded=True)
    *notes, _ = text.notes(means, splits)
    yield Section("What this rests on", (Prose(" ".join(notes)), Points(tuple(_words(means)))))


def _words(means: Sequence[Record]) -> Iterator[str]:
    if any(one.target == "held_out" for one in means):
        yield "Documents held out are those that the pilot did not see."
    for name in dict.fromkeys(one.method for one in means):
        yield f"{name}: {METHODS[name]}"


def _summary(found: Sequence[Row], others: Sequence[Row]) -> Table:
    """Lay out how far measures were off, the worlds that were fitted beside other methods."""
    beside = [name for name in ("own", "naive") if any(row["method"] == name for row in others)]
    rows = tuple(
        (
            MEASURES[row["measure"]],
            TARGETS[row["target"]],
            row["ratings_per_item"],
            *(number(row[name]) for name in ("mae", "bias", "coverage", "width")),
            row["n"],
            *(number(other["mae"] if (other := _same(row, others, name)) else math.nan) for name in beside),
        )
        for row in found
    )
    columns = ("measure", "studies on", "ratings", "mean abs. error", "bias", "90 % cover", "width", "n", *beside)
    return Table("Mean absolute errors; those of other methods in the last columns", columns, rows)


def _held_fixed(held: Mapping[str, Any], means: Sequence[Record]) -> Iterator[str]:
    yield f"the table{_of(held)}: cells of it share its ratings, and their errors are not independent"
    laws = ", ".join(dict.fromkeys(one.law for one in means if one.law))
    if laws:
        yield f"the law ({laws})"


def _of(held: Mapping[str, Any]) -> str:
    """Say how large the table is, where that was kept."""
    read = held.get("read")
    words = (
        ("used", "answer"),
        ("systems", "system"),
        ("documents", "document"),
        ("items", "item"),
        ("raters", "rater"),
    )
    counts = [
        several(read[name], word)
        for name, word in words
        if isinstance(read, dict) and reading.WHOLE.allows(read.get(name)) and isinstance(read[name], int)
    ]
    return f" ({', '.join(counts)})" if counts else ""


def _reservations(found: Sequence[Row], means: Sequence[Record], splits: int) -> Iterator[str]:
    """Say where predictions erred beyond their intervals, and what could not be judged."""
    for row in found:
        if row["coverage"] < LOW:
            each = several(row["ratings_per_item"], "rating")
            yield (
                f"{MEASURES[row['measure']]} on {TARGETS[row['target']]}, {each} of each output: 90 % intervals held "
                f"what was observed in only {tables.number(row['coverage'], 2)} of {several(row['n'], 'case')} "
                f"(bias {tables.number(row['bias'], 3)})."
            )
    why = {one.unknown: one.measure for one in means if one.unknown}
    for said, measure in why.items():
        yield f"{MEASURES[measure]} is predicted only: {said}."
    if splits == 1:
        yield "One split: another one would give other numbers; --splits 4 says how far."
    if any(one.repetition == "other documents" for one in means):
        yield "Where nobody else rated an output, a study is compared with studies of other documents of the table."


def _paragraph(held: Mapping[str, Any], told: Sequence[str], means: Sequence[Record]) -> str:
    laws = ", ".join(dict.fromkeys(one.law for one in means if one.law))
    law = f" (law {laws})" if laws else ""
    head = f"Predictions of study outcomes{law} were tested on a table of real ratings{_of(held)}."
    return f"{head} {' '.join(told)} Tested with simlab."
