"""Draw what was predicted of studies beside what real studies showed, design by design."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from simlab.drawing.reports.terms import Cell, Chart, Mark, Section, Table, Value
from simlab.drawing.text import tables
from simlab.drawing.text.backtest import MEASURES, TARGETS
from simlab.messages import several

if TYPE_CHECKING:
    from simlab.fitting.backtest.records import Record

PREDICTED, OBSERVED = "predicted, 90 % interval", "observed in real studies"
SHARES = ("srp", "confirmed", "significant_share", "power")
"""Measures that lie between 0 and 1."""


def number(held: float) -> Value:
    """Hold a number that may be none."""
    return Value(held) if math.isfinite(held) else Value(None, reason="not known")


def judged(one: Record) -> bool:
    """Tell whether there is something to hold a prediction against."""
    return math.isfinite(one.observed) and math.isfinite(one.predicted)


def sections(means: Sequence[Record]) -> Iterator[Section]:
    """Draw each measure of a target's designs; of one normalisation and number of ratings, as the text page does."""
    fitted = [one for one in means if one.method == "fit" and math.isfinite(one.predicted)]
    for k, target in enumerate(sorted({one.target for one in fitted})):
        own = [one for one in fitted if one.target == target]
        first = min((one.normalization != "none", one.ratings_per_item, one.normalization) for one in own)
        shown = [one for one in own if (one.ratings_per_item, one.normalization) == first[1:]]
        # What nothing can be held against has no picture; the table of designs has its numbers.
        names = [name for name in MEASURES if any(one.measure == name and judged(one) for one in shown)]
        charts = tuple(_chart(name, [one for one in shown if one.measure == name]) for name in names)
        if charts:
            yield Section(f"Predicted and real: studies on {TARGETS[target]}", charts, folded=k > 0)


def _chart(measure: str, rows: Sequence[Record]) -> Chart:
    marks = [mark for one in rows for mark in _marks(one)]
    first = rows[0]
    of = f"{several(first.ratings_per_item, 'rating')} of each output, normalization {first.normalization}"
    name = MEASURES[measure]
    known = [one for one in rows if judged(one)]
    off = sum(abs(one.predicted - one.observed) for one in known) / len(known)
    held = f" On average they differ by {tables.number(off, 3)}."
    return Chart(
        "intervals",
        f"{name} of studies on {TARGETS[first.target]}: predicted and observed ({of})",
        name,
        "design",
        tuple(marks),
        f"{name} predicted from a pilot and observed, {several(len(rows), 'design')}.{held}",
        bounds=(0.0, 1.0) if measure in SHARES else (None, 1.0),
        interval="90 % interval",
    )


def _marks(one: Record) -> Iterator[Mark]:
    place = f"{one.grouping}, {one.documents}"
    low, high = _ends(one)
    yield Mark(one.predicted, place, low, high, line=PREDICTED)
    if math.isfinite(one.observed):
        error = f"Monte-Carlo error in a split {tables.number(one.observed_mcse, 3)}"
        yield Mark(one.observed, place, line=OBSERVED, note=error if math.isfinite(one.observed_mcse) else "")


def _ends(one: Record) -> tuple[float | None, float | None]:
    return (one.low, one.high) if math.isfinite(one.low) and math.isfinite(one.high) else (None, None)


def designs(means: Sequence[Record], target: str) -> Table:
    """Lay out what the fitted worlds predicted of every design on a target, and what was observed."""
    own = [one for one in means if one.method == "fit" and one.target == target]
    held: dict[tuple[str, str, int, int], dict[str, Record]] = {}
    for one in own:
        design = one.grouping, one.normalization, one.documents, one.ratings_per_item
        held.setdefault(design, {})[one.measure] = one
    names = [name for name in MEASURES if any(name in row for row in held.values())]
    rows = tuple((*design, *(cell for name in names for cell in _cells(row.get(name)))) for design, row in held.items())
    columns = tuple(word for name in names for word in (f"{MEASURES[name]}, predicted", "real"))
    return Table(
        "Averages over splits; predictions with 90 % intervals",
        ("grouping", "normalization", "documents", "ratings", *columns),
        rows,
    )


def _cells(one: Record | None) -> tuple[Cell, Cell]:
    if one is None or not math.isfinite(one.predicted):
        return Value(None, reason="not predicted"), Value(None, reason="not observed")
    low, high = _ends(one)
    real = Value(one.observed) if math.isfinite(one.observed) else Value(None, reason=one.unknown)
    return Value(one.predicted, low=low, high=high), real
