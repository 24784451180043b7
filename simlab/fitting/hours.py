"""Predict how many hours other people will take, and hold that against what they took."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from simlab.fitting.speed_law import log_score
from simlab.fitting.speeds import FittedSpeeds, fitted_speeds
from simlab.rng import stream
from simlab.tables.times import Times
from simlab.types import Floats, Speeds

INTERVAL = (0.05, 0.5, 0.95)
CAMPAIGNS = 4000


class Hours(NamedTuple):
    """Hold the hours of work of a campaign: the median and a 90 % interval."""

    low: float
    median: float
    high: float


def loads(times: Times) -> list[list[int]]:
    """Return how many timed answers each person gave in each login, as a prediction takes them."""
    n = np.bincount(times.login, minlength=len(times.login_names))
    return [n[times.person == person].tolist() for person in range(len(times.person_names))]


def even_loads(n_answers: int, n_people: int, each: int) -> list[list[int]]:
    """Share answers out among people, in logins of `each` answers at most.

    >>> even_loads(10, 2, 3)
    [[3, 2], [3, 2]]
    """
    own = [n_answers // n_people + (person < n_answers % n_people) for person in range(n_people)]
    return [[min(each, left) for left in range(n, 0, -each)] for n in own]


def predicted_hours(
    rng: np.random.Generator, speeds: Sequence[Speeds], loads: Sequence[Sequence[int]], per_screen: float = 1.0
) -> Hours:
    """Predict the hours that people whom nobody has met take; `loads[person]` are the answers of each of their logins.

    `speeds` are draws of what is known of people at large (`FittedSpeeds.of_worlds`, or one for speeds that are taken
    for known); `per_screen` is how many answers a screen has.
    """
    totals = campaigns(rng, speeds, loads, per_screen, max(1, math.ceil(CAMPAIGNS / len(speeds))))
    return Hours(*(float(value) for value in np.quantile(totals, INTERVAL)))


def campaigns(
    rng: np.random.Generator,
    speeds: Sequence[Speeds],
    loads: Sequence[Sequence[int]],
    per_screen: float,
    each: int,
) -> Floats:
    """Draw the total hours of campaigns, `each` for every draw of speeds."""
    drawn = np.repeat(np.array([(*one[:4],) for one in speeds]), each, axis=0)
    mean, rater_sd, login_sd, screen_sd = drawn.T[..., None]
    person = np.repeat(np.arange(len(loads)), [len(own) for own in loads])
    answers = np.array([*chain.from_iterable(loads)], float)
    # Screens are lognormal with mean 1, and so, nearly, is the mean of those of a login.
    screens = np.log1p(np.expm1(screen_sd**2) * np.minimum(per_screen / np.maximum(answers, 1), 1))
    log = rater_sd * rng.standard_normal((len(drawn), len(loads)))[:, person]
    log += login_sd * rng.standard_normal((len(drawn), len(answers)))
    log += np.sqrt(screens) * rng.standard_normal((len(drawn), len(answers))) - screens / 2
    log -= (rater_sd**2 + login_sd**2) / 2
    return np.asarray((mean * answers * np.exp(log)).sum(axis=1) / 3600)


class Held(NamedTuple):
    """Hold a prediction of the hours of other people against what they took.

    `log_score` is the log predictive density of a login's log seconds per answer, `flat` that of one lognormal for
    everybody, fitted to the same table and predicting in the same way.
    """

    predicted: Hours
    happened: float
    log_score: float
    flat: float

    @property
    def inside(self) -> bool:
        """Tell whether the interval holds what happened."""
        return self.predicted.low <= self.happened <= self.predicted.high


def held_against(known: FittedSpeeds, times: Times) -> Held | None:
    """Predict the hours of another table's logins from what one table says, under its cut, and look; None: no times.

    Who answered how much is taken from the other table, what they are like from the first: none of them is known.
    """
    other = fitted_speeds(times, known.cut)
    if other is None:
        return None
    speeds = known.of_worlds(len(known.draws))
    predicted = predicted_hours(stream(0, "held against"), speeds, loads(times), known.screens.answers)
    scores = (log_score(known.worked, other.worked, flat=flat) for flat in (False, True))
    return Held(predicted, times.hours(known.cut), *scores)


def hours_again(fitted: FittedSpeeds) -> Hours:
    """Predict the hours of the same answers, shared out alike, by other people."""
    speeds = fitted.of_worlds(len(fitted.draws))
    return predicted_hours(stream(0, "hours"), speeds, loads(fitted.times), fitted.screens.answers)
