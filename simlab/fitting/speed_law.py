"""Estimate how fast people in general work from the times of a few: lognormal speeds with a rater effect.

Call `posterior` on the times of logins; it returns a `SpeedPosterior` on a grid. `log_score` measures how well these
times predict other people. A person may have worked under several logins; a screen is the answers given in a row about
one output.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from simlab.types import Floats, Ints

RATER_SPREAD, LOGIN_SPREAD = 0.5, 1.0
"""Priors of two standard deviations of log speeds. That between people goes with `sd exp(-sd^2 / (2 .5^2))`: nine
tenths between .16 and 1.2, and none at 0, since people always differ and a few of them may look alike by chance (Chung
et al. 2013, Psychometrika 78). That between the logins of one is half-normal, and may be 0."""

# Steps are narrower where spreads are small; where they are known, a second look is nearer.
_RATER_SD = 3.5 * np.linspace(0, 1, 121) ** 2
_LOGIN_SD = 2.5 * np.linspace(0.02, 1, 120) ** 2
_NOTHING = 1e-9
"""Posterior probability of spreads that a nearer look leaves out."""


@dataclass(frozen=True, slots=True)
class LoginTimes:
    """Times of people, one entry per login: `answers[login]` in `seconds[login]`, by `person[login]`.

    People are numbered from 0, each with a login. `noise[login]` is the variance of the logarithm of the mean of its
    screens around the login's own speed.
    """

    person: Ints
    answers: Floats
    seconds: Floats
    noise: Floats

    @property
    def log(self) -> Floats:
        """Return log seconds per answer; the mean of lognormal screens with mean 1 has a log of half its variance."""
        return np.log(self.seconds / self.answers) + self.noise / 2

    def add_people(self, other: LoginTimes) -> LoginTimes:
        """Put the logins of other people behind these."""
        people = other.person + (self.person.max() + 1 if len(self.person) else 0)
        return LoginTimes(
            np.concatenate([self.person, people]),
            np.concatenate([self.answers, other.answers]),
            np.concatenate([self.seconds, other.seconds]),
            np.concatenate([self.noise, other.noise]),
        )


@dataclass(frozen=True)
class SpeedPosterior:
    """Posterior of speeds on a grid: log seconds per answer = log_mean + rater + login.

    `log_weight[rater_sd, login_sd]` is the logarithm of what the data say of the two spreads (prior included); given
    them, log_mean is normal with `mean` and `variance`. Its prior is flat.
    """

    log_weight: Floats
    mean: Floats
    variance: Floats
    rater_sd: Floats
    login_sd: Floats

    @property
    def log_evidence(self) -> float:
        """Return the logarithm of the density of all logins together, up to a constant of the priors."""
        top = float(self.log_weight.max())
        return top + float(np.log(np.exp(self.log_weight - top).sum()))

    @cached_property
    def weight(self) -> Floats:
        """Return the posterior probability of each pair of spreads."""
        return np.asarray(np.exp(self.log_weight - self.log_evidence))

    @property
    def log_mean(self) -> tuple[float, float]:
        """Return the mean of log_mean and its standard deviation."""
        middle = float((self.weight * self.mean).sum())
        # Total variance: that within the cells of the grid, and that between their means.
        return middle, float(np.sqrt((self.weight * (self.variance + (self.mean - middle) ** 2)).sum()))

    def draws(self, rng: np.random.Generator, n: int) -> Floats:
        """Draw log_mean, rater_sd and login_sd together: `[n, 3]`."""
        cell = rng.choice(self.weight.size, size=n, p=self.weight.ravel())
        log_mean = self.mean.ravel()[cell] + np.sqrt(self.variance.ravel()[cell]) * rng.standard_normal(n)
        row, column = np.unravel_index(cell, self.weight.shape)
        return np.stack([log_mean, self.rater_sd[row], self.login_sd[column]], axis=1)


def posterior(worked: LoginTimes, *, flat: bool = False) -> SpeedPosterior:
    """Weigh pairs of spreads (rater_sd, login_sd) by the logins, log_mean integrated out; `flat`: rater_sd is 0.

    Given the spreads the logins of a person have covariance `rater_sd^2 + diag(d)`, with `d = login_sd^2 + noise`; by
    Sherman and Morrison the person's precision about log_mean is `S / (1 + rater_sd^2 S)` with `S = sum 1 / d`.
    Tails are those of t, since both spreads are integrated over. Source: Gelman et al. 2013, section 5.4.
    """
    far = _posterior_on_grid(worked, _RATER_SD[:1] if flat else _RATER_SD, _LOGIN_SD)
    return _posterior_on_grid(
        worked, _narrow_grid(far.rater_sd, far.weight.sum(1)), _narrow_grid(far.login_sd, far.weight.sum(0))
    )


def _narrow_grid(grid: Floats, weight: Floats) -> Floats:
    """Spread the points of a grid over the part of it that matters."""
    if len(grid) == 1:
        return grid
    there = np.flatnonzero(weight > _NOTHING)
    low, high = grid[max(there[0] - 1, 0)], grid[min(there[-1] + 1, len(grid) - 1)]
    return np.asarray(np.linspace(np.sqrt(low), np.sqrt(high), len(grid)) ** 2)


def _posterior_on_grid(worked: LoginTimes, rater_sd: Floats, login_sd: Floats) -> SpeedPosterior:
    people, log_scale = _summarise_people(worked, login_sd)
    # One spread between people at a time: tables of a crowd have thousands of them.
    log, mean, variance = (
        np.array(rows) for rows in zip(*(_weigh_spread(sd, *people) for sd in rater_sd), strict=True)
    )
    constant = -0.5 * (log_scale + (len(worked.person) - 1) * np.log(2 * np.pi))
    # The grid is uneven, so that each point counts as much as its step is wide.
    own = np.log(_rater_prior(rater_sd)[:, None] * np.exp(-0.5 * (login_sd / LOGIN_SPREAD) ** 2) * _steps(login_sd))
    return SpeedPosterior(log + constant + own, mean, variance, rater_sd, login_sd)


def _weigh_spread(rater_sd: float, precision: Floats, mean: Floats, within: Floats) -> tuple[Floats, Floats, Floats]:
    """Return for each login_sd the log weight of a spread between people, and the mean and variance of log_mean."""
    total = precision / (1 + rater_sd**2 * precision)
    variance = 1 / total.sum(-1)
    middle = variance * (total * mean).sum(-1)
    squares = (total * (mean - middle[:, None]) ** 2).sum(-1) + within
    return -0.5 * (squares + np.log1p(rater_sd**2 * precision).sum(-1) - np.log(variance)), middle, variance


def _summarise_people(worked: LoginTimes, login_sd: Floats) -> tuple[tuple[Floats, Floats, Floats], Floats]:
    """Return for each login_sd the precision and mean of each person, the squares within people, and log scales."""
    order = np.argsort(worked.person, kind="stable")
    person, log = worked.person[order], worked.log[order]
    first = np.flatnonzero(np.append(True, np.diff(person) > 0))
    d = login_sd[:, None] ** 2 + worked.noise[order]
    precision = np.add.reduceat(1 / d, first, axis=1)
    mean = np.add.reduceat(log / d, first, axis=1) / precision
    within = np.asarray(((log - mean[:, person]) ** 2 / d).sum(-1))
    return (precision, mean, within), np.asarray(np.log(d).sum(-1))


def _rater_prior(rater_sd: Floats) -> Floats:
    """Return the prior probability of each spread between people, up to a factor; certain where they do not differ."""
    if len(rater_sd) == 1:
        return np.ones(1)
    # The first cell, at 0, stands for a narrow strip above it.
    there = np.maximum(rater_sd, rater_sd[1] / 4)
    return np.asarray(there * np.exp(-0.5 * (there / RATER_SPREAD) ** 2) * _steps(rater_sd))


def _steps(grid: Floats) -> Floats:
    """Return the width that each point of a grid stands for."""
    between = np.diff(grid) / 2
    return np.asarray(np.append(between, 0) + np.append(0, between))


def log_score(known: LoginTimes, new: LoginTimes, *, flat: bool = False) -> float:
    """Return the log predictive density per login of log seconds per answer of other people's logins.

    All logins of the others count together, so that what the first logins of a person say of the later ones counts,
    as it does where work goes on; parameters are integrated over what is known of them. `flat`: one lognormal for
    everybody, without a rater effect, fitted and predicting in the same way.
    """
    before, both = posterior(known, flat=flat), posterior(known.add_people(new), flat=flat)
    return (both.log_evidence - before.log_evidence) / len(new.person)
