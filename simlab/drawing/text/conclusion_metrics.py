"""Write what a table tells of metrics: which to trust, to correct or to leave out, and why."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from simlab.concluding.conclusion import Metric, Rated
from simlab.drawing.text import conclusion_numbers as numbers
from simlab.drawing.text import tables
from simlab.drawing.text.fitted_world import WIDTH
from simlab.drawing.text.tables import number
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


def _row(one: Metric, *, named: bool) -> list[str]:
    spread = numbers.interval(one.spread)
    labels = "-" if one.labels is None else numbers.more(one.labels._replace(answers=""))
    labels = labels.replace(" more human labels", "")
    return [one.name, VERDICTS[one.verdict], _range(one.quality, named), spread, number(one.width, 2), labels]


def _range(quality: Sequence[Rated], named: bool) -> str:
    """Write the lowest and the highest of the systems' values, with whose they are if there is room."""
    known = sorted((one for one in quality if math.isfinite(one.value)), key=lambda one: one.value)
    if not known:
        return "not known"
    if len(known) == 1:
        return numbers.measured(*known[0][1:], digits=2)
    ends = [number(one.value, 2) + f" ({one.system})" * named for one in (known[0], known[-1])]
    return " to ".join(ends)
