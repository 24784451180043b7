"""Write what a table tells of metrics: which to trust, to correct or to leave out, and why."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from simlab.answers.conclude import Metric, Rated
from simlab.drawing.text import conclusion_numbers as numbers
from simlab.drawing.text import tables
from simlab.drawing.text.tables import WIDTH, number
from simlab.messages import several

VERDICTS = {"trust": "trust", "correct": "correct", "leave_out": "leave out"}
QUALITIES = {"youden": "J", "correlation": "correlation"}
MOST_METRICS = 6
MOST_ERRORS = 3


def table(metrics: Sequence[Metric]) -> Iterator[str]:
    """Write a row for each metric, with the reason for its verdict below; many are cut, and that is said."""
    if not metrics:
        return
    shown = metrics[:MOST_METRICS]
    quality = "/".join(dict.fromkeys(QUALITIES.get(one.quality_of, one.quality_of) for one in shown))
    header = ["metric", "verdict", f"{quality} of systems", "they differ by", "width", "more human labels settle it"]
    lines = tables.aligned(header, [_row(one, named=True) for one in shown], left=2, last_left=True).splitlines()
    if max(map(len, lines)) > WIDTH:
        lines = tables.aligned(header, [_row(one, named=False) for one in shown], left=2, last_left=True).splitlines()
    yield lines[0]
    for one, line in zip(shown, lines[1:], strict=True):
        yield line
        if one.reason:
            yield f"  {numbers.filled(one.reason, 2)}"
        yield from _errors(one)
        yield from _favour(one)
        yield from _worth(one)
    if cut := len(metrics) - len(shown):
        yield f"... {several(cut, 'metric')} more: --format json has all"
    yield "width: of a corrected interval, over that of humans alone."


def _errors(one: Metric) -> Iterator[str]:
    """Write what a metric's own differences miss of the humans', pair by pair, the largest first."""
    if not one.bias_pairs:
        return
    digits = numbers.decimals_of([(error.high - error.low) / 2 for error in one.bias_pairs])
    errors = sorted(one.bias_pairs, key=lambda error: -abs(error.value))
    said = [
        f"{error.first} - {error.second} {numbers.measured(error.value, error.low, error.high, digits)}"
        for error in errors[:MOST_ERRORS]
    ]
    said += [f"{several(len(errors) - MOST_ERRORS, 'pair')} more"] if len(errors) > MOST_ERRORS else []
    scale = "" if one.bias_factor is None else f", its scores times {number(one.bias_factor, 2)} to spread as humans'"
    text = f"errors of its own differences, all pairs at once{scale}: {'; '.join(said)}"
    yield f"  {numbers.filled(text, 2)}"
    if len(one.bias) > 2:
        text = f"of systems about the mean of all, all systems at once: {_largest(one.bias)}"
        yield f"  {numbers.filled(text, 2)}"


def _favour(one: Metric) -> Iterator[str]:
    """Write which systems a metric scores above others of equal human scores, the farthest first."""
    if one.favour_slope is None or not one.favour:
        return
    value, low, high = (number(bound, 2) for bound in one.favour_slope.bounds())
    turned = " turned round" if one.favour_slope.value < 0 else ""
    text = (
        f"at equal human scores, in its points{turned}, off the line of its means on human means (slope {value}, "
        f"{low} to {high}), each system against the median of the others, all at once: {_largest(one.favour)}"
    )
    yield f"  {numbers.filled(text, 2)}"


def _largest(rows: Sequence[Rated]) -> str:
    """Write the largest values, of those whose bounds leave 0 out first."""
    digits = numbers.decimals_of([(row.high - row.low) / 2 for row in rows])
    ordered = sorted(rows, key=lambda row: (row.low <= 0 <= row.high, -abs(row.value)))
    shown = [f"{row.system} {numbers.measured(row.value, row.low, row.high, digits)}" for row in ordered[:MOST_ERRORS]]
    shown += [f"{several(len(rows) - MOST_ERRORS, 'system')} more"] if len(rows) > MOST_ERRORS else []
    return "; ".join(shown)


def _worth(one: Metric) -> Iterator[str]:
    """Write what a metric is worth in labels, and whether labels were dealt as that takes them."""
    if one.worth_labels is not None:
        value, low, high = (f"{bound:,.0f}" for bound in one.worth_labels.bounds())
        text = f"mixed in it is worth {value} ({low} to {high}) more human labels, by the variance of differences"
        if one.labels_at_random is None:
            text += ", since humans rated all that it scored"
        yield f"  {numbers.filled(text, 2)}"
    if one.labels_at_random is not None:
        fair = "labels are taken to be dealt at random within systems"
        text = fair if one.labels_at_random else f"{fair}, and the table shows otherwise"
        yield f"  {numbers.filled(text, 2)}"


def _row(one: Metric, *, named: bool) -> list[str]:
    spread = numbers.interval(one.spread)
    labels = "-" if one.labels is None else numbers.more(one.labels.changed(answers=""))
    labels = labels.replace(" more human labels", "")
    return [one.name, VERDICTS[one.verdict], _range(one.quality, named), spread, number(one.width, 2), labels]


def _range(quality: Sequence[Rated], named: bool) -> str:
    """Write the lowest and the highest of the systems' values, with whose they are if there is room."""
    known = sorted((one for one in quality if math.isfinite(one.value)), key=lambda one: one.value)
    if not known:
        return "not known"
    if len(known) == 1:
        return numbers.measured(known[0].value, known[0].low, known[0].high, digits=2)
    ends = [number(one.value, 2) + f" ({one.system})" * named for one in (known[0], known[-1])]
    return " to ".join(ends)
