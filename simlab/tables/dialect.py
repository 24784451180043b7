"""Tell how the cells of a table are set apart, and go through its rows, each with the number of its line."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from simlab.messages import legible
from simlab.types import InputError

MOST_COLUMNS = 1000
"""A table with more is no table of ratings: names of systems, or of documents, stand where columns do."""

_MARKS = "\t;,"


class Dialect(NamedTuple):
    """Say what sets cells apart, and whether quotation marks around a cell belong to it or not."""

    mark: str
    quoted: bool


def dialect_of(header: str) -> Dialect:
    r"""Tell the dialect of a table by its first line: the first of tab, semicolon and comma that sets cells apart.

    Published tables with tabs do not quote, and their sentences hold single quotation marks, so tabs go with quoting
    only where the header itself is quoted.

    >>> dialect_of("system,score"), dialect_of('system\tscore')
    (Dialect(mark=',', quoted=True), Dialect(mark='\t', quoted=False))
    """
    for mark in _MARKS:
        if len(cells(header, Dialect(mark, True))) > 1:
            return Dialect(mark, mark != "\t" or header.startswith('"'))
    return Dialect("\t", False)


def cells(line: str, dialect: Dialect) -> list[str]:
    """Cut one line into cells."""
    if not dialect.quoted:
        return line.split(dialect.mark)
    try:
        return next(csv.reader([line], delimiter=dialect.mark), [])
    except csv.Error:
        return line.split(dialect.mark)


def header_of(line: str, dialect: Dialect, where: str) -> list[str]:
    """Return the names of the columns without blanks around them.

    Raises InputError for more columns than a table of ratings has.
    """
    names = [name.strip() for name in cells(line, dialect)]
    if len(names) > MOST_COLUMNS:
        raise InputError(
            f"{where}: has {len(names):,} columns, and a table of ratings at most {MOST_COLUMNS:,}; write one rating "
            "a row: system, document, rater, score"
        )
    return names


def rows(lines: Iterable[tuple[int, str]], dialect: Dialect, where: str) -> Iterator[tuple[int, list[str]]]:
    """Go through the rows below the header: the number of the line that each begins on, and its cells.

    Empty lines are left out. Raises InputError naming the line where quotation marks do not match.
    """
    if not dialect.quoted:
        yield from ((number, line.split(dialect.mark)) for number, line in lines if line)
        return
    place = _Place(lines)
    reader = csv.reader(place, delimiter=dialect.mark, strict=True)
    try:
        for row in reader:
            if row:
                yield place.first, row
            place.begun = False
    except csv.Error as error:
        said = legible(f"{where}, line {place.first}: quotation marks do not match ({error})")
        raise InputError(f"{said}; double those inside of a cell") from error


class _Place:
    """Hand lines to the reader of cells and remember where its row began."""

    def __init__(self, lines: Iterable[tuple[int, str]]) -> None:
        self._lines = iter(lines)
        self.first, self.begun = 0, False

    def __iter__(self) -> Iterator[str]:
        for number, whole in self._lines:
            # A bare carriage return in an unquoted cell is a line end of another program.
            for line in whole.split("\r"):
                if not self.begun:
                    self.first, self.begun = number, True
                yield f"{line}\n"
