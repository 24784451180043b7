"""Read who won a comparison: a system's name, a place in the row (a, b), a tie, a sign or a score of the first.

A cell such as A may name a system or mean the first of the row: `read_cell` keeps both readings, `SourceVotes` gathers
them, and `resolve` decides between them by the whole column. Outcomes are 0 (the first wins), 1 (tie), 2 (the second).
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from simlab.files import read_decimal
from simlab.messages import clip
from simlab.tables.cells import CellTable
from simlab.tables.columns import FIRST, SECOND, SIGNS, TIE, place_of
from simlab.tables.names import spelling
from simlab.tables.numbers import write_point
from simlab.types import InputError, Ints

_CODE, _STEPS = 1_000_000_000, 1_000_000
"""Numbers are kept as words above the first of these, in steps of a millionth, until the whole column is known."""
MOST_CODE = 100.0
RULE = "must be the name of one of the two, a, b or tie; or >, = or <; or 1, .5 or 0 (1: the first wins); or empty"


class WinnerComparisons(NamedTuple):
    """Comparisons, flat: `outcome` is 0 where the first is better, 1 for a tie, 2 where the second is.

    `item` and `rater` are -1 where the table names none; `line` is where in the table each stands.
    """

    first: Ints
    second: Ints
    item: Ints
    rater: Ints
    outcome: Ints
    line: Ints


class CellReadings(NamedTuple):
    """Outcomes (0, 1, 2) that a cell means if read as the name of a system, and as a word for a place; -1: none.

    A number is kept in `word` as a code, which `resolve` decodes.
    """

    name: int
    word: int


@dataclass(frozen=True, slots=True)
class SourceVotes:
    """Gather the votes of one source, eight numbers each: first, second, item, rater, line, name, word, times.

    `name` and `word` are those of `CellReadings`, `times` is how many comparisons a count stands for.
    """

    flat: array[int] = field(default_factory=lambda: array("i"))

    def add(self, at: tuple[int, int, int, int, int], readings: CellReadings, times: int = 1) -> None:
        """Add a vote `at` (first, second, item, rater, line)."""
        self.flat.extend((*at, *readings, times))

    def drop(self, lines: Sequence[int]) -> int:
        """Leave out the votes on some lines; return how many there were."""
        columns = self.columns()
        gone = np.isin(columns[4], list(lines))
        if gone.any():
            self.flat[:] = array("i", columns[:, ~gone].T.ravel().tolist())
        return int(gone.sum())

    def columns(self) -> Ints:
        """Return the votes as `[column, vote]`: the eight numbers of each."""
        return np.array(self.flat, np.int64).reshape(-1, 8).T


def read_cell(text: str, first: str, second: str, *, numbers: bool = False) -> CellReadings | None:
    """Return both readings of a cell about two systems; None if it has none. `numbers`: not 0, .5 and 1 alone.

    >>> read_cell("B", "B", "C"), read_cell("tie", "B", "C"), read_cell("?", "B", "C")
    (CellReadings(name=0, word=2), CellReadings(name=-1, word=1), None)
    """
    word, value = place_of(text), read_decimal(write_point(text, True))
    if value is not None and (value in (0.0, 0.5, 1.0) or (numbers and abs(value) <= MOST_CODE)):
        word = _CODE + round(value * _STEPS)
    name = FIRST if text == first else SECOND if text == second else -1
    if name < 0 and word < 0:
        alike = spelling(text)
        name = FIRST if alike == spelling(first) else SECOND if alike == spelling(second) else -1
    return CellReadings(name, word) if name >= 0 or word >= 0 else None


def _decode(word: Ints, name: Ints, line: Ints, source: str, table: CellTable) -> tuple[Ints, str]:
    """Decode numbers among words into outcomes, and say in a sentence what they stand for.

    1, .5 and 0 are what the first gets, 1, 1.5 and 2 count the places, and 1, 0 and -1 are signs. Raises InputError for
    numbers that are none of these, or may be two of them.
    """
    coded = word > _CODE // 2
    if not coded.any():
        return word, ""
    value = np.round((word[coded] - _CODE) / _STEPS, 6)
    there = set(np.unique(value).tolist())
    if there <= {0.0, 0.5, 1.0}:
        place, means = (
            np.where(value == 1, FIRST, np.where(value == 0, SECOND, TIE)),
            "1 is a win of the first, 0 of the second",
        )
    elif there <= {-1.0, 0.0, 1.0}:
        place, means = np.asarray(1 - value, np.int64), "1 is a win of the first, -1 of the second, 0 a tie"
    elif min(there) >= 1 and max(there) <= 2:
        place = np.where(value < 1.5, FIRST, np.where(value > 1.5, SECOND, TIE))
        means = "1 is a win of the first, 2 of the second, 1.5 a tie"
        means += "" if there <= {1.0, 1.5, 2.0} else "; what is between them is a win of the nearer"
    else:
        place, means = np.full(len(value), -1), ""
        unnamed = np.flatnonzero(coded)[name[coded] < 0]
        if len(unnamed):
            k = int(unnamed[0])
            shown = ", ".join(f"{number:g}" for number in sorted(there)[:6])
            raise InputError(
                f"{table.locate(int(line[k]))}: {clip(source, 40)} holds the numbers {shown}, which may mean several "
                "things; write a, b and tie, or 1 (the first wins), .5 and 0"
            )
    word = word.copy()
    word[coded] = place
    return word, f"in {clip(source, 40)} {means}" if means else ""


def resolve(votes: SourceVotes, source: str, table: CellTable) -> tuple[WinnerComparisons, str]:
    """Return comparisons, deciding between names and places by the whole column, and a sentence on numbers ("": none).

    A count of n wins becomes n comparisons.

    Where systems are called A and B, a row of B and A whose winner is A may mean either. What other rows of the column
    say settles it. Raises InputError where it does not.
    """
    first, second, item, rater, line, name, word, times = votes.columns()
    word, means = _decode(word, name, line, source, table)
    unclear = (name >= 0) & (word >= 0) & (name != word)
    if unclear.any():
        by_name = bool(((name >= 0) & (word < 0)).any())
        by_place = bool(((name < 0) & (word >= 0) & (word != TIE)).any())
        # Neither: no row is clear; both: the clear ones contradict each other.
        if by_name == by_place:
            k = int(np.flatnonzero(unclear)[0])
            raise _refusal(bool(name[k]), table.locate(int(line[k])), source)
        word = np.where(unclear & by_name, name, word)
    outcome = np.where(word >= 0, word, name)
    return WinnerComparisons(
        *(np.repeat(column, times) for column in (first, second, item, rater, outcome, line))
    ), means


def has_places(votes: SourceVotes) -> bool:
    """True if winners are written as places in the row: a word for a place stands where no name does.

    Numbers do not count: they are points of one of two columns, whatever order raters saw.
    """
    _, _, _, _, _, name, word, _ = votes.columns()
    return bool(((name < 0) & np.isin(word, (FIRST, SECOND))).any())


def _refusal(second: bool, where: str, source: str) -> InputError:
    named, other = ("second", "first") if second else ("first", "second")
    return InputError(
        f"{where}: {source} may name the {named} system or mean the {other} of the row, and no other row tells; rename "
        "the systems, or write > for the first and < for the second"
    )


def no_outcome(text: str, where: str, column: str) -> InputError:
    """Return the error for a cell that is no outcome of a comparison."""
    return InputError(f"{where}: {clip(column, 40)}={clip(text, 40)!r} {RULE}")


def outputs(comparisons: WinnerComparisons, *further: Ints) -> Ints:
    """Number comparisons so that those of the same two systems, in either order, and equal `further` share a number.

    `further` are columns `[comparison]`, such as the item and the rater.
    """
    columns = (
        np.minimum(comparisons.first, comparisons.second),
        np.maximum(comparisons.first, comparisons.second),
        *further,
    )
    key = np.zeros(len(comparisons.first), np.int64)
    for column in columns:
        values, at = np.unique(column, return_inverse=True)
        # Numbered anew after each column, so that the product cannot overflow.
        _, key = np.unique(key * len(values) + at, return_inverse=True)
    return key


def refuse_contradictions(comparisons: WinnerComparisons, source: str, table: CellTable) -> None:
    """Raise InputError where a metric gives two answers on the same two outputs."""
    known = np.flatnonzero(comparisons.item >= 0)
    if not len(known):
        return
    outcome = np.where(comparisons.first > comparisons.second, 2 - comparisons.outcome, comparisons.outcome)[known]
    _, at, of = np.unique(outputs(comparisons, comparisons.item)[known], return_index=True, return_inverse=True)
    wrong = np.flatnonzero(outcome != outcome[at][of])
    if len(wrong):
        k, before = wrong[0], at[of[wrong[0]]]
        raise InputError(
            f"{table.locate(int(comparisons.line[known[k]]))}: {clip(source, 40)} says {SIGNS[outcome[k]]} of what it "
            "said "
            f"{SIGNS[outcome[before]]} of in line {comparisons.line[known[before]]}; repeats are humans', a metric "
            "compares two outputs once"
        )
