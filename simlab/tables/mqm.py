"""Read MQM releases, one row per error that a rater marked: call `read`, which returns `Ratings`.

Each error has a category and a severity. Weights and columns follow the releases of google/wmt-mqm-human-evaluation:
major 5, minor 1, minor Fluency/Punctuation 0.1, major Non-translation 25, neutral and no-error 0.
"""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from simlab.messages import clip
from simlab.tables import direction, ratings
from simlab.tables.columns import require
from simlab.tables.names import (
    Numbers,
    RatingCollector,
    controls,
    drop_repeats,
    notes_on_names,
    number_names,
    state_repeats,
)
from simlab.tables.people import put_people
from simlab.tables.rating_table import ColumnOverrides, Ratings
from simlab.tables.ratings import Header
from simlab.tables.times import MOST_SECONDS, Times, take_times
from simlab.types import InputError

SEVERITIES = ("major", "minor", "neutral", "no-error", "hotw-test")

_PLANTED = "hotw-test"
RULE = "an error that was planted in the output was missed"
_AT_ONCE = 10_000


class MarkedError(NamedTuple):
    """Content of a row: its cost in tenths of a point, and whether it is an error.

    `planted`: it is about an error that the organisers put into the output to check raters, which was `missed` or not.
    """

    tenths: int
    error: bool
    planted: bool
    missed: bool


@dataclass(slots=True)
class _MqmRows:
    """Collect rows; `unit[row]` is the number of the rating that a row belongs to.

    `planted` are the planted errors that were met: by whom, and whether they were missed.
    """

    collector: RatingCollector = field(default_factory=RatingCollector)
    units: Numbers = field(default_factory=Numbers)
    unit: array[int] = field(default_factory=lambda: array("q"))
    tenths: array[int] = field(default_factory=lambda: array("q"))
    error: array[int] = field(default_factory=lambda: array("q"))
    planted: list[tuple[str, bool]] = field(default_factory=list)
    spent: dict[tuple[str, ...], float] = field(default_factory=dict)
    ended: dict[tuple[str, ...], float] = field(default_factory=dict)
    marks: dict[tuple[str, str], MarkedError] = field(default_factory=dict)
    rows: int = 0


def read(rows: Iterator[tuple[int, list[str]]], header: Header, overrides: ColumnOverrides) -> Ratings:
    """Return one rating per rater and output: the weighted sum of the marked errors; lower is better.

    A planted check is not a rating, so an output with no other row by a rater was not rated by that rater.
    Scores are kept in tenths until the end: sums of .1 would break exact ties. Raises InputError naming file and line
    for what is no row of an MQM release.
    """
    wanted = ("system", "document", "segment", "rater", "category", "severity")
    require(wanted, header.columns, header.names, header.file.header_at)
    better = direction.settle(overrides, "lower", "it lists marked errors, and lower is better", header.where)
    gathered = _MqmRows()
    while chunk := list(islice(rows, _AT_ONCE)):
        _add(gathered, chunk, header)
    if not gathered.unit:
        raise InputError(f"{header.where}: holds a header and no ratings; add rows below it, or name another file")
    return _ratings(gathered, header, overrides, better.source)


def _add(read: _MqmRows, chunk: Sequence[tuple[int, list[str]]], header: Header) -> None:
    columns = ratings.cells(chunk, header)
    read.rows += len(chunk)
    units = zip(*ratings.names(columns, len(chunk)), strict=True)
    labels = zip(columns["severity"], columns["category"], strict=True)
    clocked = map(_read_times, columns.get("metadata", [""] * len(chunk)))
    for (line, _), unit, words, (took, ended) in zip(chunk, units, labels, clocked, strict=True):
        # Many rows share few pairs of words, and each pair is understood once.
        mark = read.marks.get(words) or _mark(*words, f"{header.where}, line {line}")
        read.marks[words] = mark
        if took:
            read.spent[unit] = read.spent.get(unit, 0.0) + took
        read.ended[unit] = max(read.ended.get(unit, -math.inf), ended)
        if mark.planted:
            read.planted.append((unit[3], mark.missed))
            continue
        if unit not in read.units:
            read.collector.add([line], *([name] for name in unit))
        read.unit.append(read.units[unit])
        read.tenths.append(mark.tenths)
        read.error.append(mark.error)


def _ratings(read: _MqmRows, header: Header, overrides: ColumnOverrides, source: direction.Source) -> Ratings:
    collector, who, notes = put_people(read.collector, overrides.people)
    indexed, kept = drop_repeats(number_names(collector, header.where, header.file.path, overrides.alike))
    unit, n = np.array(read.unit, np.int64), len(read.units)
    score = np.bincount(unit, weights=np.array(read.tenths), minlength=n)[kept] / 10
    errors = np.bincount(unit, weights=np.array(read.error), minlength=n)[kept].astype(np.int64)
    direction.check(score, overrides, "lower", lambda k: f"{header.where}, line {collector.line[int(kept[k])]}")
    return ratings.build_ratings(
        indexed,
        score,
        errors,
        np.array([read.spent.get(unit, math.nan) for unit in read.units])[kept],
        lower_is_better=True,
        better_from=source,
        scale=overrides.scale,
        layout="mqm",
        notes=(*header.file.notes, *notes, *state_repeats(n - len(kept)), *notes_on_names(read.collector)),
        remarks=tuple(() if header.spellings is None else header.spellings.remarks()),
        how=header.record(overrides),
        unused=header.list_unused("score", "errors", "minor", "major", "seconds", "start", "end", "run"),
        rows=read.rows,
        controls=controls(read.planted, who, indexed, RULE),
        times=_times(read, who) if "rater" in header.columns else None,
    )


def _times(read: _MqmRows, who: Mapping[str, str]) -> Times | None:
    """Take the time between ends, planted checks included; a rating ends with its last row.

    What the actions of a rating took spans a screen with all its sides, so that it counts only where no row says when
    it was written.
    """
    units = list(read.ended)
    ends = (when if math.isfinite(when := read.ended[unit]) else math.nan for unit in units)
    spent = (read.spent.get(unit, math.nan) for unit in units)
    return take_times([unit[3] for unit in units], ends, spent, [unit[:2] for unit in units], who)


def _mark(severity: str, category: str, where: str) -> MarkedError:
    marked, kind = _word(severity), _word(category)
    if marked not in SEVERITIES:
        given = clip(ascii(severity), 40)
        raise InputError(f"{where}: unknown severity {given}; known are {', '.join(SEVERITIES)}; write one of these")
    if kind == "no-error" and marked in ("major", "minor"):
        raise InputError(f"{where}: category No-error contradicts severity {clip(severity, 40)}")
    planted = _PLANTED in (kind, marked)
    return MarkedError(points(marked, kind), marked in ("major", "minor"), planted, missed=kind == "missed")


def _word(text: str) -> str:
    return text.lower().replace(" ", "-").replace("_", "-")


def points(severity: str, category: str) -> int:
    """Return the weight of an error, in tenths of a point.

    >>> points("major", "style/awkward"), points("minor", "fluency/punctuation"), points("major", "non-translation!")
    (50, 1, 250)
    """
    if severity == "major":
        return 250 if category.startswith("non-translation") else 50
    if severity == "minor":
        return 1 if category == "fluency/punctuation" else 10
    return 0


def _read_times(metadata: str) -> tuple[float, float]:
    """Return the time that actions on a segment took together, and when a row was written, in seconds.

    0 and -inf where the metadata do not say. Releases note both in milliseconds.
    """
    if '"timing"' not in metadata and '"timestamp"' not in metadata:
        return 0.0, -math.inf
    try:
        content = json.loads(metadata)
    except (ValueError, RecursionError):
        return 0.0, -math.inf
    return (_seconds(content), _read_end(content)) if isinstance(content, dict) else (0.0, -math.inf)


def _seconds(metadata: Mapping[str, Any]) -> float:
    try:
        spent = [float(action["timeMS"]) for action in metadata["timing"].values()]
    except (ValueError, TypeError, KeyError, AttributeError):
        return 0.0
    return sum(time for time in spent if math.isfinite(time) and time > 0) / 1000


def _read_end(metadata: Mapping[str, Any]) -> float:
    """Return when a row was written; an answer ends with the last of its rows."""
    written = metadata.get("timestamp")
    if not isinstance(written, int | float) or isinstance(written, bool) or not abs(written) < 1e3 * MOST_SECONDS * 100:
        return -math.inf
    return written / 1000
