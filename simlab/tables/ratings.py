"""Read tables of one row per rating, with system, document, segment, rater and score.

`reading.read` opens the file and calls `read`, whose `Ratings` are one entry per rating that counts. A criterion is a
further column of numbers, such as fluency. `cells`, `names` and `build_ratings` serve other layouts, too.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import compress, islice
from typing import Any, NamedTuple

import numpy as np

from simlab.messages import pluralise
from simlab.tables import direction, numbers
from simlab.tables.columns import COPIES, LeftOutRatings, require
from simlab.tables.names import (
    NO_NAMES,
    Indexed,
    Numbers,
    RatingCollector,
    Spellings,
    drop_repeats,
    keep_ratings,
    name_rating,
    notes_on_names,
    number_names,
    refuse_repeats,
    repeat_groups,
    state_repeats,
)
from simlab.tables.numbers import find_far_scores
from simlab.tables.opening import TableFile, differing_rows, open_table
from simlab.tables.people import put_people
from simlab.tables.rating_table import ColumnOverrides, Ratings, reading_record
from simlab.tables.repeated_rows import copied_lines, drop_lines, read_again, refuse_criteria
from simlab.tables.times import Times, take_times
from simlab.types import Floats, InputError, Ints

RATER = "rater"
"""Name of the rater where a table does not name raters."""
MOST_CRITERIA = 16
_AT_ONCE = 10_000
_TIMES = ("seconds", "start", "end")
_COUNTS = ("errors", "minor", "major")


class Header(NamedTuple):
    """Header of a table: `columns[ours]` is the place of a column, `widths` how many cells rows may have.

    `before`: it has tabs and the columns that simlab has always read as sums of errors. `file` is what was opened,
    `spellings` are the names that are taken for one, None: names stay as they are.
    """

    where: str
    names: Sequence[str]
    columns: Mapping[str, int]
    widths: range
    before: bool
    file: TableFile
    spellings: Spellings | None = None

    def again(self, overrides: ColumnOverrides) -> Iterator[tuple[int, list[str]]]:
        """Go through all rows of the table once more."""
        return self.merge_names(open_table(self.file.path, overrides).rows)

    def merge_names(self, rows: Iterable[tuple[int, list[str]]]) -> Iterator[tuple[int, list[str]]]:
        """Go through rows with one spelling of each name, where their owner says so."""
        return iter(rows) if self.spellings is None else self.spellings.rows(rows, self.columns)

    def record(self, overrides: ColumnOverrides) -> dict[str, Any]:
        """Return how the table is read, as a record."""
        return reading_record(overrides, {key: self.names[at] for key, at in self.columns.items()})

    def list_unused(self, *also: str) -> tuple[str, ...]:
        """Return the columns that are not read, and those of `also` (our names) that are read and not used."""
        used = {at for key, at in self.columns.items() if key not in also}
        return tuple(name for at, name in enumerate(self.names) if name and at not in used)


@dataclass(slots=True)
class _RatingRows:
    """Collect ratings: names in `collector`, and one entry per rating of `score`, `errors`, `seconds` and `ended`.

    `criteria[name]` are further columns, each dropped at its first cell that is no number. `runs` are the names of runs
    (empty: no such column), `without_score` counts what stands for a missing score.
    """

    collector: RatingCollector = field(default_factory=RatingCollector)
    score: array[float] = field(default_factory=lambda: array("d"))
    errors: array[int] = field(default_factory=lambda: array("q"))
    seconds: array[float] = field(default_factory=lambda: array("d"))
    ended: array[float] = field(default_factory=lambda: array("d"))
    criteria: dict[str, array[float]] = field(default_factory=dict)
    scores: numbers.ScoreColumn = field(default_factory=lambda: numbers.ScoreColumn(False))
    runs: list[str] = field(default_factory=list)
    without_score: Counter[str] = field(default_factory=Counter)
    no_times: dict[str, str] = field(default_factory=dict)
    rows: int = 0


def read(
    rows: Iterator[tuple[int, list[str]]],
    header: Header,
    overrides: ColumnOverrides,
    *,
    as_before: bool,
    averaged: bool,
) -> Ratings:
    """Read every rating of a table with the columns of `header`; `rows` are line numbers and cells.

    `as_before`: plain tables that simlab could always read hold sums of errors, unless `overrides` say otherwise.
    `averaged`: answers that nobody in particular gave to one output, and runs of a system, are averaged.

    Raises InputError naming file and line for what is no rating, and for a rating that is there twice.
    """
    require(("system", "segment" if "segment" in header.columns else "document", "score"), *_unpack(header))
    dialect = header.file.dialect
    commas = numbers.decide_commas(overrides.decimal, dialect is None or dialect.mark != ",")
    gathered = _RatingRows(scores=numbers.ScoreColumn(commas))
    while chunk := list(islice(rows, _AT_ONCE)):
        _add(gathered, chunk, header, overrides)
    if not gathered.rows:
        raise InputError(f"{header.where}: holds a header and no ratings; add rows below it, or name another file")
    if not gathered.score:
        raise InputError(
            f"{header.where}: holds no score, only cells that say there is none; "
            "is it the right column (--columns score=NAME)?"
        )
    return _ratings(gathered, header, overrides, as_before, averaged)


def _unpack(header: Header) -> tuple[Mapping[str, int], Sequence[str], str]:
    return header.columns, header.names, header.file.header_at


def cells(chunk: Sequence[tuple[int, list[str]]], header: Header) -> dict[str, list[str]]:
    """Cut rows into the columns that are read, without blanks around cells.

    Raises InputError for a row that is too short or too long, and for one without a name of what was rated.
    """
    for number, row in chunk:
        if len(row) not in header.widths:
            wide = header.widths[0]
            raise InputError(
                f"{header.where}, line {number}: has {len(row)} fields where the header has {wide}; mend the line: a "
                "cell that holds the separator stands in quotation marks"
            )
    columns = {key: [row[at].strip() for _, row in chunk] for key, at in header.columns.items()}
    for key in ("system", "document", "segment", "rater"):
        if empty := NO_NAMES.intersection(columns.get(key, ())):
            k = next(k for k, name in enumerate(columns[key]) if name in empty)
            what = f"is {columns[key][k]!r}, which is no name" if columns[key][k] else "is empty"
            raise InputError(f"{header.where}, line {chunk[k][0]}: the {key} {what}; fill it in, or take the line out")
    return columns


def _add(read: _RatingRows, chunk: Sequence[tuple[int, list[str]]], header: Header, overrides: ColumnOverrides) -> None:
    columns = cells(chunk, header)
    if overrides.decimal == ",":
        columns |= {key: [numbers.write_point(text, True) for text in columns[key]] for key in _TIMES if key in columns}
    first = not read.rows
    read.rows += len(chunk)
    if gaps := {text for text in set(columns["score"]) if numbers.is_missing(text)}:
        rated = [text not in gaps for text in columns["score"]]
        read.without_score.update(text for text in columns["score"] if text in gaps)
        columns = {key: list(compress(texts, rated)) for key, texts in columns.items()}
        chunk = list(compress(chunk, rated))
    read.collector.add([number for number, _ in chunk], *names(columns, len(chunk)))

    def locate(k: int) -> str:
        return f"{header.where}, line {chunk[k][0]}"

    read.score.extend(numbers.read_each(columns["score"], read.scores.read, locate))
    read.errors.extend(_errors(columns, len(chunk), locate))
    read.runs.extend(columns.get("run", ()))
    times = {key: _read_times(read, key, columns[key], locate) for key in _TIMES if key in columns}
    read.seconds.extend(_seconds(times, len(chunk)))
    read.ended.extend(times.get("end", [np.nan] * len(chunk)))
    _add_criteria(read, chunk, header, first, commas=overrides.decimal == ",")


def _read_times(read: _RatingRows, column: str, texts: Sequence[str], at: Callable[[int], str]) -> list[float]:
    """Read times; where one is in a form of its own, which may mean two days, none of the column is known."""
    if column not in read.no_times:
        try:
            return numbers.read_each(texts, partial(numbers.seconds, column), at)
        except InputError as error:
            read.no_times[column] = str(error)
    return [math.nan] * len(texts)


def names(columns: Mapping[str, list[str]], n: int) -> tuple[list[str], list[str], list[str], list[str]]:
    """Return the names of system, document, segment and rater of each of `n` rows, from their cells by column.

    Where a table has no documents each segment is one, where it has no segments a document is rated whole.
    """
    segments = columns["segment"] if "segment" in columns else columns["document"]
    if "position" in columns:
        segments = [f"{place} {name}" for place, name in zip(columns["position"], segments, strict=True)]
    documents = columns.get("document", segments)
    if "task" in columns:
        documents = [f"{task}/{name}" for task, name in zip(columns["task"], documents, strict=True)]
        segments = documents if "segment" not in columns else segments
    return columns["system"], documents, segments, columns.get("rater", [RATER] * n)


def _errors(columns: Mapping[str, list[str]], n: int, at: Callable[[int], str]) -> Iterable[int]:
    """Count the errors of ratings: the column `errors`, else minor and major added up, else -1 (not known)."""
    keys = ("errors",) if "errors" in columns else tuple(key for key in _COUNTS if key in columns)
    if not keys:
        return [-1] * n
    counts = (numbers.read_each(columns[key], partial(numbers.count, key), at) for key in keys)
    return (int(sum(row)) for row in zip(*counts, strict=True))


def _seconds(times: Mapping[str, Sequence[float]], n: int) -> Iterable[float]:
    if "seconds" in times:
        return times["seconds"]
    if {"start", "end"} <= times.keys():
        return (end - start for start, end in zip(times["start"], times["end"], strict=True))
    return [np.nan] * n


def _add_criteria(
    read: _RatingRows, chunk: Sequence[tuple[int, list[str]]], header: Header, first: bool, *, commas: bool
) -> None:
    """Read further columns for as long as they hold numbers and nothing else."""
    used = set(header.columns.values())
    for at, name in enumerate(header.names):
        if first and name and at not in used and len(read.criteria) < MOST_CRITERIA and header.names.count(name) == 1:
            read.criteria[name] = array("d")
        if name in read.criteria and at not in used:
            values = numbers.all_numbers([numbers.write_point(row[at].strip(), commas) for _, row in chunk])
            if values is None:
                del read.criteria[name]
            else:
                read.criteria[name].extend(values)


def _ratings(read: _RatingRows, header: Header, overrides: ColumnOverrides, as_before: bool, averaged: bool) -> Ratings:
    with_runs = averaged and bool(read.runs)
    indexed, kept, who, notes, copies = _number_rows(read, header, overrides, averaged)
    lines = np.array(read.collector.line)[kept]
    score, errors = np.array(read.score)[kept], np.array(read.errors, np.int64)[kept]
    counted = direction.counts_errors(score, errors, as_before=as_before)
    better, source = direction.settle_plain(
        overrides, score, header.where, counted=counted, before=header.before, as_before=as_before
    )
    direction.check(score, overrides, better, lambda k: f"{header.where}, line {lines[k]}")
    seconds = np.array(read.seconds)[kept] if not read.no_times else np.full(len(kept), np.nan)
    _check_spent(seconds, lines, header.where)
    if "end" in read.no_times:
        read.ended = array("d", [math.nan] * len(read.ended))
    ratings = build_ratings(
        indexed,
        score,
        errors,
        seconds,
        lower_is_better=better == "lower",
        better_from=source,
        scale=overrides.scale or (direction.guess_scale(score) if better == "higher" else None),
        layout="ratings",
        rater_known="rater" in header.columns,
        criteria=_told_criteria(read, kept),
        notes=(*header.file.notes, *notes, *_note_times(read), *notes_on_names(read.collector)),
        rows=read.rows,
        gaps=read.rows - len(read.score),
        times=_times(read, who) if "rater" in header.columns else None,
        far=None if overrides.scale or as_before else find_far_scores(score, lines),
        left_out=(LeftOutRatings(copies, COPIES),) if copies else (),
        remarks=(*read.scores.remarks(), *_note_missing(read), *_list_merged(header)),
        how=header.record(overrides),
        unused=header.list_unused("category", "metadata", *read.no_times, *(() if with_runs else ("run",))),
    )
    return average_ratings(ratings, runs=with_runs) if averaged else ratings


def _list_merged(header: Header) -> Iterator[str]:
    return iter(()) if header.spellings is None else header.spellings.remarks()


def _note_times(read: _RatingRows) -> Iterator[str]:
    if read.no_times:
        first = next(iter(read.no_times.values())).partition("; ")[0]
        yield f"left out: the times in {' and '.join(read.no_times)} ({first}); nothing else needs them"


def _note_missing(read: _RatingRows) -> Iterator[str]:
    """State what stands for a score that is missing, where that is not an empty cell."""
    for mark, n in read.without_score.items():
        if mark:
            yield f"left out: {pluralise(n, 'row')} whose score is {mark!r}, as missing"


def average_ratings(ratings: Ratings, *, runs: bool) -> Ratings:
    """Average the scores of one output by the same rater, or by raters without names; the table's order stays.

    Which scores are better and on which scale they are is known from the single answers. `runs`: these are several runs
    of a system.
    """
    key = (ratings.system * len(ratings.item_names) + ratings.item) * ratings.n_raters + ratings.rater
    _, first, output = np.unique(key, return_index=True, return_inverse=True)
    if len(first) == len(key):
        return ratings
    # `np.unique` sorts by number; this puts outputs back in the order of the table.
    order = np.argsort(first)
    kept = first[order]
    n = np.bincount(output)[order]
    what = (
        "several runs of an item by one system are averaged within the item"
        if runs
        else (
            "raters are not known: answers to an output are averaged, as if its raters were drawn anew for each output"
        )
    )
    return replace(
        ratings,
        system=ratings.system[kept],
        item=ratings.item[kept],
        rater=ratings.rater[kept],
        score=np.bincount(output, weights=ratings.score)[order] / n,
        errors=np.full(len(kept), -1),
        seconds=np.full(len(kept), np.nan),
        criteria={},
        remarks=(*ratings.remarks, what),
        answers=len(key),
        averaged="runs" if runs else "raters",
    )


def _times(read: _RatingRows, who: Mapping[str, str]) -> Times | None:
    """Take the time between ends, repeated answers included; durations where a table has no ends."""
    if not (np.isfinite(read.ended).any() or np.isfinite(read.seconds).any()):
        return None
    collector = read.collector
    names, documents = list(collector.raters), [document for document, _ in collector.items]
    outputs = [(system, documents[item]) for system, item in zip(collector.system, collector.item, strict=True)]
    return take_times([names[rater] for rater in collector.rater], read.ended, read.seconds, outputs, who)


def _number_rows(
    read: _RatingRows, header: Header, overrides: ColumnOverrides, averaged: bool
) -> tuple[Indexed, Ints, Mapping[str, str], Sequence[str], int]:
    """Return indices of ratings by people, which ratings of `read` they are, who each login is, notes, and copied rows.

    What a person said under a second login does not count.
    """
    collector, known, with_runs = read.collector, "rater" in header.columns, averaged and bool(read.runs)
    indexed = number_names(collector, header.where, header.file.path, overrides.alike)
    own = _skip_copies(
        collector, _name_runs(collector, indexed, read.runs) if with_runs else indexed, header, overrides
    )
    copies, runs = len(collector.line) - len(own), read.runs
    if copies:
        collector, indexed = keep_ratings(collector, indexed, own)
        runs = [read.runs[k] for k in own.tolist()] if read.runs else []
    alike = differing_rows(header.file.path, overrides)
    if with_runs:
        refuse_repeats(collector, _name_runs(collector, indexed, runs), header.where, alike, rater_known=True)
    elif known or not averaged:
        refuse_repeats(collector, indexed, header.where, alike, rater_known=known)
    if overrides.people is None:
        return indexed, own, {}, (), copies
    people, who, notes = put_people(collector, overrides.people, rater_known=known)
    indexed, kept = drop_repeats(number_names(people, header.where, header.file.path, overrides.alike))
    return indexed, own[kept], who, (*notes, *state_repeats(len(own) - len(kept))), copies


def _name_runs(collector: RatingCollector, indexed: Indexed, runs: Sequence[str]) -> Indexed:
    """Name each run of a rater as another person would be."""
    numbers = Numbers()
    signed = np.array([numbers[pair] for pair in zip(collector.rater, runs, strict=True)], np.int64)
    return indexed._replace(rater=signed, rater_names=tuple(f"run {run}" for _, run in numbers))


def _skip_copies(collector: RatingCollector, indexed: Indexed, header: Header, overrides: ColumnOverrides) -> Ints:
    """Return which ratings are no copies of earlier rows.

    Raises InputError where a column of criteria tells rows apart.
    """
    groups, known = repeat_groups(collector, indexed), "rater" in header.columns
    if not groups:
        return np.arange(len(collector.line))
    repeated = read_again(header.again(overrides), groups, header.names, set(header.columns.values()))
    copies = copied_lines(repeated, rater_known=known)
    left, line = drop_lines(repeated, copies), np.array(collector.line)
    if left.groups:
        k = int(np.flatnonzero(line == min(map(min, left.groups)))[0])
        what = name_rating(indexed, k, rater_known=known)
        refuse_criteria(left, header.where, what, rater_known=known, surely=not known)
    return np.flatnonzero(~np.isin(line, copies))


def _told_criteria(read: _RatingRows, kept: Ints) -> dict[str, Floats]:
    criteria = {name: np.array(values)[kept] for name, values in read.criteria.items()}
    return {name: values for name, values in criteria.items() if np.isfinite(values).any()}


def _check_spent(seconds: Floats, lines: Ints, where: str) -> None:
    if np.any(seconds < 0):
        k = int(np.argmax(seconds < 0))
        raise InputError(f"{where}, line {lines[k]}: took {seconds[k]:g} seconds; a rating ends after it starts")


def build_ratings(indexed: Indexed, score: Floats, errors: Ints, seconds: Floats, **rest: object) -> Ratings:
    """Return `Ratings` from indices and the score, errors and seconds of each rating; `rest` are further fields."""
    flat = {"score": score, "errors": errors, "seconds": seconds}
    return Ratings(**indexed._asdict(), **flat, **rest)  # type: ignore[arg-type]
