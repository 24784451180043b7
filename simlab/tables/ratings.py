"""Read tables of one row per rating: who rated what, and how."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import compress, islice
from typing import NamedTuple

import numpy as np

from simlab.tables import direction, numbers
from simlab.tables.columns import require
from simlab.tables.gathered import Gathered, Indexed, indexed, left_out, refuse_repeats, without_repeats
from simlab.tables.held import Ratings, Told
from simlab.tables.people import with_people
from simlab.tables.times import Times, times_of
from simlab.types import Floats, InputError, Ints

RATER = "rater"
"""Stands for whoever rated, where a table does not say."""
MOST_CRITERIA = 16
_AT_ONCE = 10_000
_TIMES = ("seconds", "start", "end")
_COUNTS = ("errors", "minor", "major")


class Header(NamedTuple):
    """Hold the first line of a table: `columns[ours]` is the place of a column, `widths` how many cells rows may have.

    `before`: it has tabs and the columns that simlab has always read as sums of errors.
    """

    where: str
    names: Sequence[str]
    columns: Mapping[str, int]
    widths: range
    before: bool


@dataclass(slots=True)
class _Read:
    """Collect what the cells say beside names; a criterion is dropped at its first cell that is no number."""

    held: Gathered = field(default_factory=Gathered)
    score: array[float] = field(default_factory=lambda: array("d"))
    errors: array[int] = field(default_factory=lambda: array("q"))
    seconds: array[float] = field(default_factory=lambda: array("d"))
    ended: array[float] = field(default_factory=lambda: array("d"))
    criteria: dict[str, array[float]] = field(default_factory=dict)
    rows: int = 0


def read(rows: Iterator[tuple[int, list[str]]], header: Header, told: Told, *, as_before: bool) -> Ratings:
    """Read every rating of a table with the columns of `header`.

    Raises InputError naming file and line for what is no rating, and for a rating that is there twice.
    """
    require(("system", "segment" if "segment" in header.columns else "document", "score"), *_of(header))
    gathered = _Read()
    while chunk := list(islice(rows, _AT_ONCE)):
        _add(gathered, chunk, header)
    if not gathered.rows:
        raise InputError(f"{header.where}: holds a header and no ratings")
    if not gathered.score:
        raise InputError(f"{header.where}: holds no score")
    return _ratings(gathered, header, told, as_before)


def _of(header: Header) -> tuple[Mapping[str, int], Sequence[str], str]:
    return header.columns, header.names, f"{header.where}, line 1"


def cells(chunk: Sequence[tuple[int, list[str]]], header: Header) -> dict[str, list[str]]:
    """Cut rows into the columns that are read, without blanks around cells.

    Raises InputError for a row that is too short or too long, and for one without a name of what was rated.
    """
    for number, row in chunk:
        if len(row) not in header.widths:
            wide = header.widths[0]
            raise InputError(f"{header.where}, line {number}: has {len(row)} fields where the header has {wide}")
    columns = {key: [row[at].strip() for _, row in chunk] for key, at in header.columns.items()}
    for key in ("system", "document", "segment", "rater"):
        if "" in columns.get(key, ()):
            number = chunk[columns[key].index("")][0]
            raise InputError(f"{header.where}, line {number}: the {key} is empty")
    return columns


def _add(read: _Read, chunk: Sequence[tuple[int, list[str]]], header: Header) -> None:
    columns = cells(chunk, header)
    first = not read.rows
    read.rows += len(chunk)
    if gaps := {text for text in set(columns["score"]) if numbers.missing(text)}:
        rated = [text not in gaps for text in columns["score"]]
        columns = {key: list(compress(texts, rated)) for key, texts in columns.items()}
        chunk = list(compress(chunk, rated))
    read.held.add([number for number, _ in chunk], *names(columns, len(chunk)))

    def at(k: int) -> str:
        return f"{header.where}, line {chunk[k][0]}"

    read.score.extend(numbers.each(columns["score"], numbers.score, at))
    read.errors.extend(_errors(columns, len(chunk), at))
    times = {key: numbers.each(columns[key], partial(numbers.seconds, key), at) for key in _TIMES if key in columns}
    read.seconds.extend(_seconds(times, len(chunk)))
    read.ended.extend(times.get("end", [np.nan] * len(chunk)))
    _add_criteria(read, chunk, header, first)


def names(columns: Mapping[str, list[str]], n: int) -> tuple[list[str], list[str], list[str], list[str]]:
    """Return systems, documents, segments and raters.

    Where a table has no documents each segment is one, where it has no segments a document is rated whole.
    """
    segments = columns["segment"] if "segment" in columns else columns["document"]
    if "position" in columns:
        segments = [f"{place} {name}" for place, name in zip(columns["position"], segments, strict=True)]
    return columns["system"], columns.get("document", segments), segments, columns.get("rater", [RATER] * n)


def _errors(columns: Mapping[str, list[str]], n: int, at: Callable[[int], str]) -> Iterable[int]:
    """Count the errors of ratings: the column `errors`, else minor and major added up, else -1 (not known)."""
    keys = ("errors",) if "errors" in columns else tuple(key for key in _COUNTS if key in columns)
    if not keys:
        return [-1] * n
    counts = (numbers.each(columns[key], partial(numbers.count, key), at) for key in keys)
    return (int(sum(row)) for row in zip(*counts, strict=True))


def _seconds(times: Mapping[str, Sequence[float]], n: int) -> Iterable[float]:
    if "seconds" in times:
        return times["seconds"]
    if {"start", "end"} <= times.keys():
        return (end - start for start, end in zip(times["start"], times["end"], strict=True))
    return [np.nan] * n


def _add_criteria(read: _Read, chunk: Sequence[tuple[int, list[str]]], header: Header, first: bool) -> None:
    """Read further columns for as long as they hold numbers and nothing else."""
    used = set(header.columns.values())
    for at, name in enumerate(header.names):
        if first and name and at not in used and len(read.criteria) < MOST_CRITERIA and header.names.count(name) == 1:
            read.criteria[name] = array("d")
        if name in read.criteria and at not in used:
            values = numbers.all_numbers([row[at].strip() for _, row in chunk])
            if values is None:
                del read.criteria[name]
            else:
                read.criteria[name].extend(values)


def _ratings(read: _Read, header: Header, told: Told, as_before: bool) -> Ratings:
    found, kept, who, notes = _numbered(read.held, header, told)
    lines = np.array(read.held.line)[kept]
    score, errors = np.array(read.score)[kept], np.array(read.errors, np.int64)[kept]
    counted = direction.counted(score, errors, as_before=as_before)
    better, source = direction.of_plain(
        told, score, header.where, counted=counted, before=header.before, as_before=as_before
    )
    direction.check(score, told, better, lambda k: f"{header.where}, line {lines[k]}")
    seconds = np.array(read.seconds)[kept]
    _check_spent(seconds, lines, header.where)
    return of_indexed(
        found,
        score,
        errors,
        seconds,
        lower_is_better=better == "lower",
        better_from=source,
        scale=told.scale or (direction.usual(score) if better == "higher" else None),
        layout="ratings",
        rater_known="rater" in header.columns,
        criteria=_told_criteria(read, kept),
        notes=notes,
        rows=read.rows,
        gaps=read.rows - len(read.score),
        times=_times(read, who) if "rater" in header.columns else None,
    )


def _times(read: _Read, who: Mapping[str, str]) -> Times | None:
    """Take the time between ends, repeated answers included; durations where a table has no ends."""
    if not (np.isfinite(read.ended).any() or np.isfinite(read.seconds).any()):
        return None
    held = read.held
    names, documents = list(held.raters), [document for document, _ in held.items]
    outputs = [(system, documents[item]) for system, item in zip(held.system, held.item, strict=True)]
    return times_of([names[rater] for rater in held.rater], read.ended, read.seconds, outputs, who)


def _numbered(held: Gathered, header: Header, told: Told) -> tuple[Indexed, Ints, Mapping[str, str], Sequence[str]]:
    """Number who rated what, list the ratings that count, and say who each login is.

    What a person said under a second login does not count.
    """
    known = "rater" in header.columns
    found = indexed(held, header.where)
    refuse_repeats(held, found, header.where, rater_known=known)
    if told.people is None:
        return found, np.arange(len(held.line)), {}, ()
    people, who, notes = with_people(held, told.people, rater_known=known)
    found, kept = without_repeats(indexed(people, header.where))
    return found, kept, who, (*notes, *left_out(len(held.line) - len(kept)))


def _told_criteria(read: _Read, kept: Ints) -> dict[str, Floats]:
    criteria = {name: np.array(values)[kept] for name, values in read.criteria.items()}
    return {name: values for name, values in criteria.items() if np.isfinite(values).any()}


def _check_spent(seconds: Floats, lines: Ints, where: str) -> None:
    if np.any(seconds < 0):
        k = int(np.argmax(seconds < 0))
        raise InputError(f"{where}, line {lines[k]}: took {seconds[k]:g} seconds; a rating ends after it starts")


def of_indexed(found: Indexed, score: Floats, errors: Ints, seconds: Floats, **rest: object) -> Ratings:
    """Put ratings together from indices and what was said."""
    flat = {"score": score, "errors": errors, "seconds": seconds}
    return Ratings(**found._asdict(), **flat, **rest)  # type: ignore[arg-type]
