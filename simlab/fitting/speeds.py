"""Estimate how long raters take, by rater and for people at large, and predict the hours of other people.

`speed_by_rater` takes a table. `fitted_speeds` takes the times of its answers and returns `FittedSpeeds`;
`predicted_hours` takes draws of these (`FittedSpeeds.speeds_by_world`) and numbers of answers, and returns hours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np

from simlab.fitting.speed_law import LoginTimes, SpeedPosterior, log_score, posterior
from simlab.rng import stream
from simlab.tables.rating_table import Ratings
from simlab.tables.times import CUT, CUTS, Times
from simlab.types import Bools, Floats, Ints, Speeds

FEWEST = 5
"""A rater with fewer timed answers gets no speed of their own."""
LEAST_SECONDS = 0.1
"""Nobody answers in less on average: a login that is quicker was sent in at once, and says nothing of its speed."""
DRAWS, KEPT = 4000, 100
"""Draws that intervals rest on, and those that the file of a world keeps: each world takes one of them."""
_MIDDLE = (0.05, 0.5, 0.95)
INTERVAL = (0.05, 0.5, 0.95)
"""Quantiles of draws: a 90 % interval and the median."""
CAMPAIGNS = 4000
"""Campaigns that a prediction draws."""


class EstimateInterval(NamedTuple):
    """An estimate and its 90 % interval."""

    low: float
    estimate: float
    high: float


class Screens(NamedTuple):
    """Variation of the time of screens within a login: a coefficient of variation and its standard error.

    `answers` is how many answers a screen has, large ones weighing more: their mean square over their mean.
    """

    variation: float
    error: float
    answers: float


@dataclass(frozen=True)
class FittedSpeeds:
    """Speeds of people at large, fitted to a table; gaps were cut at `cut` seconds.

    `left_out` logins were handed in at once and say nothing; `sittings` says that logins were split at long pauses,
    since nobody had two of them.
    """

    times: Times
    cut: float
    worked: LoginTimes
    screens: Screens
    law: SpeedPosterior
    left_out: int
    sittings: bool

    @cached_property
    def draws(self) -> Floats:
        """Draw log_mean, rater_sd and login_sd from the posterior; the same ones each time."""
        return self.law.draws(stream(0, "speeds"), DRAWS)

    @property
    def seconds_per_answer(self) -> EstimateInterval:
        """Return the mean over people and logins."""
        return _span(mean_seconds_per_answer(self.draws))

    @property
    def median_seconds(self) -> EstimateInterval:
        """Return the median over people and logins."""
        return _span(np.exp(self.draws[:, 0]))

    @property
    def rater_sd(self) -> EstimateInterval:
        """Return how much people differ: the standard deviation of their log speeds."""
        return _span(self.draws[:, 1])

    @property
    def login_sd(self) -> EstimateInterval:
        """Return how much the logins of a person differ (sd of log speeds), beyond the scatter of their screens."""
        return _span(self.draws[:, 2])

    @property
    def screen_sd(self) -> EstimateInterval:
        """Return how much screens of a login differ: the lognormal spread with their coefficient of variation."""
        cv, error = self.screens.variation, self.screens.error
        # Even on the log scale, so that the interval stays above 0.
        reach = math.exp(1.645 * error / cv) if cv > 0 and math.isfinite(error) else math.nan
        return EstimateInterval(log_sd(cv / reach), log_sd(cv), log_sd(cv * reach))

    def speeds_by_world(self, n: int = KEPT) -> list[Speeds]:
        """Return n draws of speeds, one for each world: they differ by the uncertainty that the table leaves."""
        draws, spread = self.draws[:n], self.screen_sd.estimate
        means = mean_seconds_per_answer(draws)
        pairs = zip(means.tolist(), draws[:, 1:].tolist(), strict=True)
        return [Speeds(mean, rater, login, spread, self.cut) for mean, (rater, login) in pairs]


def fitted_speeds(times: Times | None, cut: float = CUT) -> FittedSpeeds | None:
    """Estimate how fast people work, gaps cut at `cut` seconds; None where a table has no usable times.

    Log seconds per answer of a login are a mean, plus a normal effect of the person, plus one of the login, plus the
    scatter of its screens, which is known from all screens of the table.
    """
    if times is None or not len(times.gap):
        return None
    login, sittings = _number_sittings(times)
    seconds = times.seconds(cut)
    usable = np.bincount(login, seconds) >= LEAST_SECONDS * np.bincount(login)
    if not usable.any():
        return None
    kept = usable[login]
    screens = _screens(login[kept], times.screen[kept], seconds[kept])
    worked = _summarise_logins(times, login, seconds, kept, screens)
    left_out = int((~usable).sum())
    return FittedSpeeds(times, cut, worked, screens, posterior(worked), left_out, sittings)


def _number_sittings(times: Times) -> tuple[Ints, bool]:
    """Number what a person did in one go: a login; where nobody has two, a login between pauses longer than any cut.

    Else the spread between people could not be told from that between the logins of one.
    """
    if np.bincount(times.person).max() > 1 or times.rule == "durations":
        return times.login, False
    new = np.append(True, np.diff(times.login) != 0) | (times.gap > CUTS[-1])
    return np.cumsum(new) - 1, True


def _screens(login: Ints, screen: Ints, seconds: Floats) -> Screens:
    """Compare the screens of a login with its mean; more answers take longer in proportion. Logins are the clusters."""
    number, of_answer = np.unique(login * (screen.max() + 1) + screen, return_inverse=True)
    took, size, of = np.bincount(of_answer, seconds), np.bincount(of_answer).astype(float), number // (screen.max() + 1)
    mean = np.bincount(of, took) / np.maximum(np.bincount(of, size), 1)
    expected = mean[of] * size
    squares, scale = np.bincount(of, (took - expected) ** 2), np.bincount(of, expected**2)
    n, logins = len(size), len(np.unique(of))
    if n <= logins:
        return Screens(0.0, math.nan, float((size**2).sum() / size.sum()))
    # The mean of each login takes one degree of freedom.
    ratio = squares.sum() / scale.sum() * n / (n - logins)
    # The square of a mean of few screens is larger than that of the true one, by the variance of the mean.
    ratio /= max(1 - ratio * logins / n, 0.5)
    influence = squares - squares.sum() / scale.sum() * scale
    error = math.sqrt(float((influence**2).sum()) * logins / (logins - 1)) / scale.sum() if logins > 1 else math.nan
    cv = math.sqrt(ratio)
    # By the delta method a root errs by the error of its square over twice the root.
    return Screens(cv, error / (2 * cv) if cv else math.nan, float((size**2).sum() / size.sum()))


def _summarise_logins(times: Times, login: Ints, seconds: Floats, kept: Bools, screens: Screens) -> LoginTimes:
    number, of_answer = np.unique(login[kept], return_inverse=True)
    answers: Floats = np.bincount(of_answer).astype(float)
    first = np.unique(login, return_index=True)[1]
    people = times.person[times.login[first]][number]
    # A mean of n screens has squared variation cv^2 / n; the lognormal with that variation has this log variance.
    noise = np.log1p(screens.variation**2 * np.minimum(screens.answers / answers, 1))
    took = np.asarray(np.bincount(of_answer, seconds[kept]), float)
    return LoginTimes(np.unique(people, return_inverse=True)[1], answers, took, noise)


def mean_seconds_per_answer(draws: Floats) -> Floats:
    """Return the mean of a lognormal whose log_mean, rater_sd and login_sd are the columns of `draws`."""
    return np.asarray(np.exp(draws[:, 0] + (draws[:, 1] ** 2 + draws[:, 2] ** 2) / 2))


def log_sd(variation: float) -> float:
    """Return the spread of the logarithm of a lognormal with a coefficient of variation."""
    # A lognormal has squared variation exp(sd^2) - 1.
    return math.sqrt(math.log1p(variation**2))


def _span(values: Floats) -> EstimateInterval:
    return EstimateInterval(*(float(value) for value in np.quantile(values, _MIDDLE)))


def speed_by_rater(ratings: Ratings, cut: float = CUT) -> dict[str, dict[str, float | int]]:
    """Return each rater's speed by name: mean and spread of seconds per answer, gaps cut at `cut` seconds.

    A fit to logarithms would be dominated by answers that were handed in together, which took no time. A table without
    times gives {}.
    """
    times = ratings.times
    if times is None:
        return {}
    own = times.split_by_person(cut)
    return {name: _fit_lognormal(own[name]) for name in sorted(own) if len(own[name]) >= FEWEST and own[name].any()}


def _fit_lognormal(seconds: Floats) -> dict[str, float | int]:
    mean = float(seconds.mean())
    spread = log_sd(float(seconds.std(ddof=1)) / mean)
    return {
        # The median of a lognormal is its mean times exp(-sd^2 / 2).
        "median_seconds": float(f"{mean * math.exp(-(spread**2) / 2):.4g}"),
        "log_sd": float(f"{spread:.4g}"),
        "segments": len(seconds),
    }


class Hours(NamedTuple):
    """Hours of work of a campaign: the median and a 90 % interval."""

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

    `speeds` are draws of what is known of people at large (`FittedSpeeds.speeds_by_world`, or one for speeds that are
    taken for known); `per_screen` is how many answers a screen has.
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
    """Draw the total hours of campaigns, `each` for every draw of speeds: `[campaign]`; see `predicted_hours`."""
    drawn = np.repeat(np.array([(*one[:4],) for one in speeds]), each, axis=0)
    mean, rater_sd, login_sd, screen_sd = drawn.T[..., None]
    person = np.repeat(np.arange(len(loads)), [len(own) for own in loads])
    answers = np.array([*chain.from_iterable(loads)], float)
    # Screens are lognormal with mean 1, and so, nearly, is the mean of those of a login.
    screens = np.log1p(np.expm1(screen_sd**2) * np.minimum(per_screen / np.maximum(answers, 1), 1))
    log = rater_sd * rng.standard_normal((len(drawn), len(loads)))[:, person]
    log += login_sd * rng.standard_normal((len(drawn), len(answers)))
    log += np.sqrt(screens) * rng.standard_normal((len(drawn), len(answers))) - screens / 2
    # Factors have mean 1, so that `mean` stays the mean over people and logins.
    log -= (rater_sd**2 + login_sd**2) / 2
    return np.asarray((mean * answers * np.exp(log)).sum(axis=1) / 3600)


class HoursPrediction(NamedTuple):
    """Predicted hours of other people beside the hours that they took.

    `log_score` is the log predictive density of a login's log seconds per answer, `flat` that of one lognormal for
    everybody, fitted to the same table and predicting in the same way.
    """

    predicted: Hours
    happened: float
    log_score: float
    flat: float

    @property
    def inside(self) -> bool:
        """True if the interval holds the hours that were worked."""
        return self.predicted.low <= self.happened <= self.predicted.high


def compare_predicted_hours(known: FittedSpeeds, times: Times) -> HoursPrediction | None:
    """Predict the hours of another table's logins from speeds of a first, and compare with its own; None: no times.

    Who answered how much is taken from the other table, what they are like from the first: none of them is known.
    """
    other = fitted_speeds(times, known.cut)
    if other is None:
        return None
    speeds = known.speeds_by_world(len(known.draws))
    predicted = predicted_hours(stream(0, "held against"), speeds, loads(times), known.screens.answers)
    scores = (log_score(known.worked, other.worked, flat=flat) for flat in (False, True))
    return HoursPrediction(predicted, times.hours(known.cut), *scores)


def predict_hours_again(fitted: FittedSpeeds) -> Hours:
    """Predict the hours of the same answers, shared out alike, by other people."""
    speeds = fitted.speeds_by_world(len(fitted.draws))
    return predicted_hours(stream(0, "hours"), speeds, loads(fitted.times), fitted.screens.answers)
