"""Refuse filled sheets whose columns no longer belong to each other: a code stands beside what is not its own."""

from __future__ import annotations

import itertools
import math
import unicodedata
from collections import Counter
from collections.abc import Sequence

from simlab.concluding.assigning.filled import Given
from simlab.concluding.assigning.key import TEXTS, Meant, text_mark
from simlab.files import decimal
from simlab.messages import legible
from simlab.types import InputError

CHANCE = 1e-9
"""Ratings whose order so few sheets show by chance were sorted."""
REMEDY = "put the rows together again, or take this column out"


def refuse_other_cells(one: Given, meant: Meant) -> None:
    """Raise InputError where a cell beside a code is not that of the key; an empty cell says nothing."""
    for name, cell in one.beside.items():
        own = meant.cells.get(name, cell)
        if not cell or _same(name, cell, own):
            continue
        if name in TEXTS:
            raise InputError(f"{one.where}: {name} is not the text of {one.slot} (key.csv); {REMEDY}")
        raise InputError(
            f"{one.where}: {name}={legible(cell, 40)}, and {one.slot} has {legible(own, 40) or 'none'} (key.csv); "
            f"{REMEDY}"
        )


def _same(name: str, cell: str, own: str) -> bool:
    """True for cells that say the same: spreadsheets write 3 as 3.0, and accents and blanks in their own way."""
    if name in TEXTS:
        return text_mark(cell) == own
    one, other = (" ".join(unicodedata.normalize("NFC", text).split()) for text in (cell, own))
    number = decimal(one)
    return one == other or (number is not None and number == decimal(other))


def refuse_other_raters(came: Sequence[tuple[Given, str, str]], people: Sequence[str]) -> None:
    """Raise InputError where a rater of the study is named on single rows of another one.

    `came` are ratings with who was asked and who is named. A rater takes over all rows of one other, beside the own
    ones, or none: a column that was moved or filled down names people otherwise. Who is not of the study takes over
    what they like.
    """
    named, seats = dict[str, set[str]](), dict[str, set[str]]()
    for _, asked, rater in came:
        named.setdefault(asked, set()).add(rater)
        seats.setdefault(rater, set()).add(asked)
    for one, asked, rater in came:
        if rater == asked or rater not in people:
            continue
        if named[asked] != {rater} or named.get(rater, {rater}) != {rater} or len(seats[rater] - {rater}) > 1:
            raise InputError(
                f"{one.where}: rater={legible(rater, 40)}, and {one.slot} was given to {legible(asked, 40)} (key.csv); "
                f"{REMEDY}; who took over for {legible(asked, 40)} is named on all those rows, and for nobody else"
            )


def refuse_sorted_ratings(came: Sequence[tuple[Given, Meant, float]], where: str) -> None:
    """Raise InputError for ratings that were sorted by themselves: all go up, or all go down, beside rows as dealt.

    Ratings of people who give any order with the same chance stand so in `CHANCE` of all sheets.
    """
    own: dict[str, list[tuple[int, float]]] = {}
    for _, meant, value in came:
        own.setdefault(meant.rater, []).append((meant.position, value))
    if not all(first[0] < then[0] for rows in own.values() for first, then in itertools.pairwise(rows)):
        return
    values = [[value for _, value in rows] for rows in own.values()]
    steps = [then - first for rows in values for first, then in itertools.pairwise(rows)]
    if (min(steps, default=0.0) >= 0 or max(steps, default=0.0) <= 0) and sum(map(_log_chance, values)) < math.log(
        CHANCE
    ):
        raise InputError(
            f"{where}: the ratings of every rater are sorted, and the other columns are not; put the column rating "
            "back as it was filled in"
        )


def _log_chance(values: Sequence[float]) -> float:
    """Return the logarithm of the chance that values in random order are sorted."""
    ties = sum(math.lgamma(n + 1) for n in Counter(values).values())
    return ties - math.lgamma(len(values) + 1)
