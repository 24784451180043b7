"""Read the log of a campaign as Appraise exports it: call `read` with its rows, which returns `Ratings`.

There is no header, and a row has twelve cells: login, system, number of the item in its task, kind (TGT: a target; BAD
and others: control items), source and target language, score, document#system, a flag, error spans as JSON, start and
end in seconds. The items of a practice round are marked as targets, but name no document. Layout as in
wmt-conference/ErrorSpanAnnotation.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from simlab.files import read_decimal
from simlab.messages import pluralise
from simlab.tables import direction, numbers
from simlab.tables.lines import Dialect, cells
from simlab.tables.mqm import points
from simlab.tables.names import RatingCollector, controls, drop_repeats, number_names, state_repeats
from simlab.tables.people import put_people
from simlab.tables.rating_table import ColumnOverrides, Ratings, reading_record
from simlab.tables.ratings import build_ratings
from simlab.tables.times import Times, take_gaps
from simlab.types import InputError

KINDS = ("TGT", "BAD", "REF", "CHK")
"""Kinds of items: targets, and control items: damaged copies of targets, references and repetitions."""
TARGET, DAMAGED = "TGT", "BAD"
DIALECT = Dialect(",", True)
WIDTH = 12
PERCENT = (0.0, 100.0)
RULE = "a damaged copy of an output was not rated as worse than the output"
_MARKED = ("major", "minor")
_Run = tuple[str, str]


class LogEntry(NamedTuple):
    """A row of a log: the segment that was shown, its kind, and the answer.

    `score` is from 0 to 100, `errors` counts the marked spans, `points` are the spans' points of MQM, `seconds` is the
    time from start to end.
    """

    line: int
    shown: ShownSegment
    kind: str
    score: float
    errors: int
    points: float
    seconds: float


class Stamp(NamedTuple):
    """Time `end`, in seconds, at which an answer of whatever kind was given; NaN: it is not known.

    `login` gave it, as item `number` of their task, about `output`: system, kind of item, and document with its suffix.
    """

    login: str
    output: tuple[str, ...]
    number: float
    end: float


@dataclass(slots=True)
class _LogRows:
    """Collect rows: targets and damaged copies, and how many others there are."""

    entries: list[LogEntry] = field(default_factory=list)
    stamps: list[Stamp] = field(default_factory=list)
    practice: int = 0
    undone: int = 0
    rows: int = 0


def is_first(line: str) -> bool:
    """True if a first line is that of a log."""
    row = cells(line, DIALECT)
    return len(row) == WIDTH and row[3] in KINDS and all(read_decimal(row[k]) is not None for k in (2, 6, 10, 11))


def read(rows: Iterable[tuple[int, list[str]]], overrides: ColumnOverrides, where: str) -> Ratings:
    """Read the ratings of a log, of targets that belong to a document; control items are counted as left out.

    Where no row has a score, the score is the sum of marked spans, in points of MQM, and lower is better; else scores
    go from 0 to 100, higher is better. Raises InputError naming file and line for a row of another form.
    """
    log = _LogRows()
    for line, row in rows:
        log.rows += 1
        entry = _entry(log, line, row, f"{where}, line {line}")
        if entry is None:
            log.practice += 1
        else:
            log.entries.append(entry)
    targets = [entry for entry in log.entries if entry.kind == TARGET]
    if not targets:
        raise InputError(f"{where}: holds no rating of a target (kind {TARGET})")
    marked = not any(entry.score for entry in targets) and any(entry.errors for entry in log.entries)
    why = "nobody gave a score, so its spans count, and lower is better" if marked else "higher is better in such logs"
    source = direction.settle(overrides, "lower" if marked else "higher", why, where).source
    return _ratings(log, targets, overrides, where, marked=marked, source=source)


def _entry(log: _LogRows, line: int, row: Sequence[str], where: str) -> LogEntry | None:
    """Read one row; None for one of a practice round. When it ended is noted, whatever it is about."""
    if len(row) != WIDTH:
        raise InputError(f"{where}: has {len(row)} fields; a row of a campaign log has {WIDTH}; export the log again")
    login, system, number, kind, _, _, score, output, _, spans, start, end = (cell.strip() for cell in row)
    if kind not in KINDS:
        raise InputError(
            f"{where}: unknown kind of item {kind[:20]!r}; known are {', '.join(KINDS)}; write one of these"
        )
    if not login or not system:
        raise InputError(f"{where}: the {'system' if login else 'login'} is empty; fill it in, or take the line out")
    ended = numbers.seconds("end", end, where)
    spent = ended - numbers.seconds("start", start, where)
    log.undone += spent < 0
    log.stamps.append(
        Stamp(login, (system, kind, output), read_decimal(number) or 0.0, math.nan if spent < 0 else ended)
    )
    document, sign, rest = output.partition("#")
    if not sign:
        return None
    errors, worth = _count_errors(spans, where)
    shown = ShownSegment(login, system, document, rest.partition("#")[2], numbers.count("item number", number, where))
    return LogEntry(line, shown, kind, numbers.score(score, where), errors, worth, spent if spent >= 0 else math.nan)


def _count_errors(spans: str, where: str) -> tuple[int, float]:
    """Count the errors that are marked and what they are worth in points."""
    try:
        marked: Any = json.loads(spans)
        errors = [(str(span["severity"]).lower(), str(span.get("error_type")).lower()) for span in marked]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise InputError(
            f"{where}: the spans are no list of errors with a severity, as JSON; export the log again"
        ) from error
    tenths = sum(points(severity, kind.replace(" ", "-")) for severity, kind in errors)
    # Points are added up in whole tenths: sums of .1 would break exact ties.
    return sum(severity in _MARKED for severity, _ in errors), tenths / 10


def _ratings(
    log: _LogRows,
    targets: Sequence[LogEntry],
    overrides: ColumnOverrides,
    where: str,
    *,
    marked: bool,
    source: direction.Source,
) -> Ratings:
    place = find_places([entry.shown for entry in targets])
    known = [(entry, at) for entry, at in zip(targets, place, strict=True) if at is not None]
    collector, who, notes = put_people(_gather(known), overrides.people)
    indexed, kept = drop_repeats(number_names(collector, where, alike=overrides.alike))
    rated = [known[k][0] for k in kept.tolist()]
    score = np.array([entry.points if marked else entry.score for entry in rated])
    scale = overrides.scale or (None if marked else PERCENT)
    better: direction.Better = "lower" if marked else "higher"
    direction.check(score, ColumnOverrides(scale=scale), better, lambda k: f"{where}, line {rated[k].line}")
    return build_ratings(
        indexed,
        score,
        np.array([entry.errors for entry in rated], np.int64),
        np.array([entry.seconds for entry in rated]),
        lower_is_better=marked,
        better_from=source,
        scale=scale,
        layout="log",
        how=reading_record(overrides, {}),
        notes=(*notes, *_notes(log, targets, len(known)), *state_repeats(len(known) - len(kept))),
        rows=log.rows,
        controls=controls(list(_match_copies(log, marked)), who, indexed, RULE),
        times=_times(log.stamps, who),
    )


def _times(stamps: Sequence[Stamp], who: Mapping[str, str]) -> Times | None:
    """Take the time between ends: practice, control items and repeated answers are work, too."""
    logins, outputs, order, ends = zip(*((s.login, s.output, s.number, s.end) for s in stamps), strict=True)
    return take_gaps(logins, ends, outputs, who, order)


def _gather(known: Sequence[tuple[LogEntry, int]]) -> RatingCollector:
    collector = RatingCollector()
    collector.add(
        [entry.line for entry, _ in known],
        [entry.shown.system for entry, _ in known],
        [entry.shown.document for entry, _ in known],
        [str(place + 1) for _, place in known],
        [entry.shown.login for entry, _ in known],
    )
    return collector


def _notes(log: _LogRows, targets: Sequence[LogEntry], known: int) -> Iterator[str]:
    control = len(log.entries) - len(targets)
    if log.practice or control:
        yield f"no ratings: {pluralise(log.practice, 'item')} of a practice round, {pluralise(control, 'control item')}"
    if log.undone:
        yield f"left out: the times of {pluralise(log.undone, 'row')} that end before they start"
    if known < len(targets):
        yield f"left out: {pluralise(len(targets) - known, 'rating')}, as it cannot be told of which segments"


def _match_copies(log: _LogRows, marked: bool) -> Iterator[tuple[str, bool]]:
    """Match each damaged copy with the same login's rating of the output: who met it, and whether they failed it.

    Copies and outputs are matched by their order in the task, where there are as many of both.
    """
    shown: dict[tuple[str, str, str], list[LogEntry]] = {}
    copies: dict[tuple[str, str, str, str], list[LogEntry]] = {}
    for entry in sorted(log.entries, key=lambda entry: entry.shown.number):
        login, system, document, mark, _ = entry.shown
        if entry.kind == TARGET:
            shown.setdefault((login, system, document), []).append(entry)
        elif entry.kind == DAMAGED:
            copies.setdefault((login, system, document, mark), []).append(entry)
    for (login, system, document, _), damaged in copies.items():
        whole = shown.get((login, system, document), [])
        for copy, original in zip(damaged, whole, strict=False) if len(damaged) == len(whole) else ():
            failed = copy.points <= original.points if marked else copy.score >= original.score
            yield login, failed


class ShownSegment(NamedTuple):
    """A segment that a login was shown: of a system's document, as item `number` of their task.

    `mark` tells copies of an output from the output itself.
    """

    login: str
    system: str
    document: str
    mark: str
    number: int


def find_places(shown: Sequence[ShownSegment]) -> list[int | None]:
    """Return the place of each segment in its document, from 0; None where it cannot be determined.

    A task shows the segments of a document in their order. The largest number of segments that a login was shown of a
    document is taken for all that it has. A document that a task has no room for goes on in the next, in the order of
    logins; parts that do not add up to the whole cannot be placed.
    """
    runs = _runs(shown)
    size: dict[str, int] = {}
    for (document, _), parts in runs.items():
        size[document] = max([size.get(document, 0), *(len(numbers) for numbers in parts.values())])
    first = {output: _place_parts(parts, size[output[0]]) for output, parts in runs.items()}
    places: list[int | None] = []
    for segment in shown:
        output, run = (segment.document, segment.system), (segment.login, segment.mark)
        start = first[output].get(run)
        places.append(None if start is None else start + runs[output][run].index(segment.number))
    return places


def _runs(shown: Sequence[ShownSegment]) -> dict[tuple[str, str], dict[_Run, list[int]]]:
    """List the numbers of items, in order, by output (document, system), then by who was shown it (login, mark)."""
    runs: dict[tuple[str, str], dict[_Run, set[int]]] = {}
    for segment in shown:
        output = runs.setdefault((segment.document, segment.system), {})
        output.setdefault((segment.login, segment.mark), set()).add(segment.number)
    return {output: {run: sorted(parts[run]) for run in sorted(parts)} for output, parts in runs.items()}


def _place_parts(parts: dict[_Run, list[int]], size: int) -> dict[_Run, int]:
    """Return the place of the first segment of each part that can be placed.

    Whole documents begin at the beginning; parts of the output itself follow each other; a part of a copy is placed
    where a part of the output is as long, and no other.
    """
    first = {run: 0 for run, numbers in parts.items() if len(numbers) == size}
    split = [run for run, numbers in parts.items() if len(numbers) < size and not run[1]]
    if sum(len(parts[run]) for run in split) == size:
        at = 0
        for run in split:
            first[run], at = at, at + len(parts[run])
    for run in parts.keys() - first.keys():
        alike = [first[other] for other in split if other in first and len(parts[other]) == len(parts[run])]
        if run[1] and len(alike) == 1:
            first[run] = alike[0]
    return first
