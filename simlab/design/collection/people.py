"""Draw who works: how quick people are, when they come, how long they stay."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from simlab.types import STAYED, Chances, DesignFailure, Floats

MOST_IN_A_SEAT = 1000
"""So many people one after the other sit in a seat at most: where nobody stays, no campaign ends."""


class Habits(NamedTuple):
    """Hold what people are like, hours throughout: see `crew` for each of them."""

    rater_sd: float
    begins: float
    shift_spread: float
    arrival: float
    drop_out: float


@dataclass(slots=True)
class Person:
    """Hold somebody who works, hours throughout.

    `pace` is what an answer takes them (1 on average), `offset` when their first day begins; `arrives`, and `leaves`
    after so much work. `effort` and `work` are where they stand on the scales of their shifts; they have
    `worked` so many hours and given so many `answers`.
    """

    number: int
    seat: int
    pace: float
    offset: float
    arrives: float
    leaves: float
    effort: float = 0.0
    work: float = 0.0
    worked: float = 0.0
    answers: int = 0
    failed: int = 0
    left: float = math.nan
    why: int = STAYED


class Seats:
    """Bring people: first one for each seat, then others in their place, each seat's second ones together.

    What people are like belongs to their pool, and is the same in all its studies; when they come and leave is the
    study's. As many numbers are drawn whatever the habits, so that studies which differ in them meet the same people.
    """

    def __init__(self, chances: Chances, n: int, habits: Habits) -> None:
        self.people: list[Person] = []
        self._chances, self._n, self._habits = chances, n, habits
        self._drawn: list[tuple[Floats, Floats, Floats, Floats]] = []
        self._taken = [0] * n
        for seat in range(n):
            self.bring(seat, None)

    def bring(self, seat: int, hour: float | None) -> Person:
        """Return somebody new for a seat, who comes at an hour (None: when chance has it)."""
        turn = self._taken[seat]
        if turn == MOST_IN_A_SEAT:
            raise DesignFailure(f"{turn} people one after the other left the same seat; nobody stays to do the work")
        self._taken[seat] += 1
        if turn == len(self._drawn):
            self._drawn.append(self._draw())
        pace, offset, arrives, leaves = (float(column[seat]) for column in self._drawn[turn])
        person = Person(len(self.people), seat, pace, offset, arrives if hour is None else hour, leaves)
        self.people.append(person)
        return person

    def _draw(self) -> tuple[Floats, Floats, Floats, Floats]:
        z, offset = self._chances.people.standard_normal(self._n), self._chances.people.random(self._n)
        arrives, stays = (self._chances.work.standard_exponential(self._n) for _ in range(2))
        habits = self._habits
        leaves = stays / habits.drop_out if habits.drop_out > 0 else np.full(self._n, math.inf)
        return (
            mean_one(z, habits.rater_sd),
            habits.begins + offset * habits.shift_spread,
            arrives * habits.arrival,
            leaves,
        )


def mean_one(z: Floats, sd: float) -> Floats:
    """Return lognormal factors whose mean is 1, so that what work costs on average does not depend on their spread."""
    return np.asarray(np.exp(sd * z - sd**2 / 2))
