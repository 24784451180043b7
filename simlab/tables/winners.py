"""Read who won a comparison: a system's name, a place in the row (a, b), a tie, a sign or a score of the first."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from simlab.messages import legible
from simlab.tables.cells import Table
from simlab.types import InputError, Ints

FIRST, TIE, SECOND = 0, 1, 2
SIGNS = (">", "=", "<")
RULE = "must be the name of one of the two, a, b or tie; or >, = or <; or 1, .5 or 0 (1: the first wins); or empty"
WORDS = {
    **dict.fromkeys((">", "a", "1", "1.0", "first", "system_a", "model_a"), FIRST),
    **dict.fromkeys(("=", "tie", "tied", "draw", "equal", "same", ".5", "0.5", "both", "neither"), TIE),
    **dict.fromkeys(("tie (bothbad)", "both bad", "bothbad", "both good"), TIE),
    **dict.fromkeys(("<", "b", "0", "0.0", "second", "system_b", "model_b"), SECOND),
}
"""Both and neither are ties: they say how good the two are, and neither is better."""


class Comparisons(NamedTuple):
    """Hold comparisons, flat: `outcome` is 0 where the first is better, 1 for a tie, 2 where the second is.

    `item` and `rater` are -1 where the table names none; `line` is where in the table each stands.
    """

    first: Ints
    second: Ints
    item: Ints
    rater: Ints
    outcome: Ints
    line: Ints


class Said(NamedTuple):
    """Say how a cell may be read: as the name of a system, and as a word for a place; -1: as none."""

    name: int
    word: int


@dataclass(frozen=True, slots=True)
class Votes:
    """Gather what one source says: first, second, item, rater, line, name, word, and how often it was said, flat."""

    flat: array[int] = field(default_factory=lambda: array("i"))

    def add(self, at: tuple[int, int, int, int, int], said: Said, times: int = 1) -> None:
        """Add what is said of (first, second, item, rater, line)."""
        self.flat.extend((*at, *said, times))

    def columns(self) -> Ints:
        """Return what was gathered as `[column, vote]`."""
        return np.array(self.flat, np.int64).reshape(-1, 8).T


def said(text: str, first: str, second: str) -> Said | None:
    """Read what a cell says of two systems; None for what says nothing.

    >>> said("B", "B", "C"), said("tie", "B", "C"), said("?", "B", "C")
    (Said(name=0, word=2), Said(name=-1, word=1), None)
    """
    word = WORDS.get(text.lower(), -1)
    name = FIRST if text == first else SECOND if text == second else -1
    if name < 0 and word < 0:
        folded = text.casefold()
        name = FIRST if folded == first.casefold() else SECOND if folded == second.casefold() else -1
    return Said(name, word) if name >= 0 or word >= 0 else None


def resolved(votes: Votes, source: str, table: Table) -> Comparisons:
    """Decide between names and places by what the whole column says, and repeat what was counted.

    Where systems are called A and B, a row of B and A whose winner is A may mean either. What other rows of the column
    say settles it. Raises InputError where it does not.
    """
    first, second, item, rater, line, name, word, times = votes.columns()
    unclear = (name >= 0) & (word >= 0) & (name != word)
    if unclear.any():
        by_name = bool(((name >= 0) & (word < 0)).any())
        by_place = bool(((name < 0) & (word >= 0) & (word != TIE)).any())
        if by_name == by_place:
            k = int(np.flatnonzero(unclear)[0])
            raise _unclear(bool(name[k]), table.at(int(line[k])), source)
        word = np.where(unclear & by_name, name, word)
    outcome = np.where(word >= 0, word, name)
    return Comparisons(*(np.repeat(column, times) for column in (first, second, item, rater, outcome, line)))


def as_places(votes: Votes) -> bool:
    """True if winners are written as places in the row: a word for a place stands where no name does."""
    _, _, _, _, _, name, word, _ = votes.columns()
    return bool(((name < 0) & (word >= 0) & (word != TIE)).any())


def _unclear(second: bool, where: str, source: str) -> InputError:
    named, other = ("second", "first") if second else ("first", "second")
    return InputError(
        f"{where}: {source} may name the {named} system or mean the {other} of the row, and no other row tells; rename "
        "the systems, or write > for the first and < for the second"
    )


def no_outcome(text: str, where: str, column: str) -> InputError:
    """Say that a cell is no outcome of a comparison."""
    return InputError(f"{where}: {legible(column, 40)}={legible(text, 40)!r} {RULE}")


def outputs(found: Comparisons, *further: Ints) -> Ints:
    """Number each two systems, in either order, with what `further` names; what is the same has the same number."""
    columns = np.minimum(found.first, found.second), np.maximum(found.first, found.second), *further
    key = np.zeros(len(found.first), np.int64)
    for column in columns:
        values, at = np.unique(column, return_inverse=True)
        _, key = np.unique(key * len(values) + at, return_inverse=True)
    return key


def refuse_contradictions(found: Comparisons, source: str, table: Table) -> None:
    """Raise InputError where a metric says two things of the same two outputs."""
    known = np.flatnonzero(found.item >= 0)
    if not len(known):
        return
    outcome = np.where(found.first > found.second, 2 - found.outcome, found.outcome)[known]
    _, at, of = np.unique(outputs(found, found.item)[known], return_index=True, return_inverse=True)
    wrong = np.flatnonzero(outcome != outcome[at][of])
    if len(wrong):
        k, before = wrong[0], at[of[wrong[0]]]
        raise InputError(
            f"{table.at(int(found.line[known[k]]))}: {legible(source, 40)} says {SIGNS[outcome[k]]} of what it said "
            f"{SIGNS[outcome[before]]} of in line {found.line[known[before]]}; repeats are humans', a metric compares "
            "two outputs once"
        )
