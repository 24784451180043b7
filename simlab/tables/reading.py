"""Read a stranger's table of ratings, whichever layout it has: what stands in it decides, not its name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from simlab.messages import legible
from simlab.tables import averages, judged, logs, mqm, preferences, ratings, segment_scores
from simlab.tables.cells import Table, renamed
from simlab.tables.columns import found, require
from simlab.tables.dialect import Dialect, dialect_of, header_of, rows
from simlab.tables.held import NOTHING, Ratings, Told
from simlab.tables.lines import numbered_lines
from simlab.tables.ratings import Header
from simlab.tables.row_choice import chosen_rows, phrase
from simlab.types import InputError

BEFORE = ("system", "rater", "score"), ("doc", "document"), ("globalSegId", "seg_id", "segment", "docSegId", "doc_id")
"""Columns of plain tables that simlab has always read, as sums of errors: all of the first, one of each other."""


def read(path: Path, told: Told = NOTHING, *, as_before: bool = False) -> Ratings:
    """Read every rating of a table, with what its owner tells beside it.

    Layouts: one row per rating; MQM releases, one row per marked error; averages of segments; campaign logs of
    Appraise; segment scores, or marked errors, of mt-metrics-eval. `as_before`: plain tables that simlab could always
    read hold sums of errors, whatever their scores look like, unless told otherwise.

    Raises InputError naming file and line for what is not a table of ratings, and for what is told and cannot be.
    """
    where = legible(path)
    lines = numbered_lines(path)
    number, first = next(lines, (0, ""))
    if not number:
        raise InputError(f"{where}: is empty")
    whole = chain([(number, first)], lines)
    if logs.is_first(first):
        return logs.read(rows(whole, logs.DIALECT, where), _without_columns(told, where), where)
    if segment_scores.is_first(first):
        return segment_scores.read(path, whole, _without_columns(told, where, "people"), where)
    if averages.is_header(first) and not told.columns:
        return averages.read(first, lines, _without_columns(told, where, "people"), where)
    return _with_header(first, lines, told, where, as_before=as_before)


def listed(path: Path, told: Told = NOTHING) -> Iterator[tuple[str, str]]:
    """Go through the rows of a table with a header: document and segment of each, whether it has a score or not.

    Raises InputError for lines that do not fit the header, and for what has no such columns.
    """
    where = legible(path)
    lines = numbered_lines(path)
    first = next(lines, (0, ""))[1]
    dialect = dialect_of(first)
    names = header_of(first, dialect, f"{where}, line 1")
    chosen = found(names, told.columns, f"{where}, line 1")
    require(("segment" if "segment" in chosen else "document",), chosen, names, f"{where}, line 1")
    kept = {key: at for key, at in chosen.items() if key in ("system", "document", "position", "segment")}
    header = Header(where, names, kept, range(len(names), len(names) + 1), False)
    for line in chosen_rows(rows(lines, dialect, where), names, told.where, where):
        _, documents, segments, _ = ratings.names(ratings.cells([line], header), 1)
        yield documents[0], segments[0]


def always_read(path: Path) -> bool:
    """Tell whether simlab has always read a plain table, as sums of errors."""
    first = next(numbered_lines(path), (0, ""))[1]
    dialect = dialect_of(first)
    return _before([name.strip() for name in first.split("\t")], dialect)


def _with_header(first: str, lines: Iterator[tuple[int, str]], told: Told, where: str, *, as_before: bool) -> Ratings:
    dialect = dialect_of(first)
    names = header_of(first, dialect, f"{where}, line 1")
    wide = len(names)
    # Releases end the header with a "# Documentation" column that no row fills.
    while names and names[-1].startswith("#"):
        names.pop()
    chosen = found(names, told.columns, f"{where}, line 1")
    header = Header(where, names, chosen, range(len(names), wide + 1), _before(names, dialect))
    content = chosen_rows(rows(lines, dialect, where), names, told.where, where)
    if "severity" in chosen or ("category" in chosen and "score" not in chosen):
        return replace(mqm.read(content, header, told), where=told.where)
    if "score" not in chosen:
        _refuse_others(Table(where, tuple(names), ()))
    return replace(ratings.read(content, header, told, as_before=as_before), where=told.where)


def _refuse_others(table: Table) -> None:
    """Raise InputError for a table that says of outputs something else than scores, and say who reads it."""
    if preferences.holds(renamed(table, preferences.USUAL, {}).header):
        raise InputError(
            f"{table.where}: holds comparisons of two systems, and this reads ratings (system, document, rater, score);"
            " comparisons are for simlab fit, backtest and fit-metric"
        )
    if judged.holds(renamed(table, judged.USUAL, {}).header):
        human = next(name for name in table.header if name.startswith("human"))
        raise InputError(
            f"{table.where}: holds metrics beside humans, which is for simlab fit-metric; "
            f"--columns score={legible(human, 40)} reads what humans say"
        )


def _before(names: Sequence[str], dialect: Dialect) -> bool:
    needed, documents, segments = BEFORE
    known = set(names)
    return (
        dialect == Dialect("\t", False)
        and known >= set(needed)
        and bool(known & set(documents) and known & set(segments))
    )


def _without_columns(told: Told, where: str, *also: str) -> Told:
    """Raise InputError for what is told of a table that cannot have it."""
    if told.columns:
        ours, theirs = next(iter(told.columns.items()))
        raise InputError(f"--columns {legible(f'{ours}={theirs}', 60)}: {where} has no header that names columns")
    if told.where:
        raise InputError(f"--where {phrase(told.where)}: {where} has no header that names columns")
    if "people" in also and told.people is not None:
        raise InputError(f"--people {legible(told.people)}: {where} does not say who rated")
    return told
