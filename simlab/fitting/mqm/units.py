"""Tell single systems and raters, and how far they spread at large, from margins and the errors of these.

A margin is a unit's truth, normal around a common level, and an error whose variance simulated tables show. The spread
is sampled from its marginal posterior on a grid, so that few units give many spreads, some of them near 0, and never
one that is cut off there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from simlab.types import Floats, Ints

GRID = np.concatenate([[0.0], np.geomspace(0.002, 6.0, 160)])
"""Spreads (standard deviations) that are tried; between them the density hardly changes."""


@dataclass(frozen=True, slots=True)
class Units:
    """Say what margins tell of single systems or raters.

    `corrected[unit]` are margins less their bias, `error[table, unit]` errors of simulated ones around it,
    `noise[unit]` the variance of an error's deviation from the mean error of all units. `prior` is the scale of the
    half-normal prior of the spread.
    """

    corrected: Floats
    error: Floats
    noise: Floats
    prior: float

    @property
    def shrunk(self) -> Floats:
        """Return the posterior mean of each unit."""
        if len(self.corrected) == 1:
            return self.corrected
        log = log_posterior(self.corrected, self.noise, self.prior)
        share = _shares(self.noise, GRID)
        level = _level(self.corrected, self.noise, GRID)[0][:, None]
        return np.asarray(np.exp(log) @ (level + share * (self.corrected - level)))


def weighed(corrected: Floats, error: Floats, prior: float) -> Units:
    """Take margins with the errors of simulated ones; the variance of a deviation is over all tables."""
    n = len(corrected)
    own = error - error.mean(1, keepdims=True)
    noise = (own**2).mean(0) * n / max(n - 1, 1)
    return Units(corrected, error, np.maximum(noise, 1e-9), prior)


def log_posterior(corrected: Floats, noise: Floats, prior: float) -> Floats:
    """Return the log probability of each spread of GRID, given units whose level is not known.

    `p(tau | y) ~ prior(tau) x prod (tau^2 + v_u)^-1/2 x (sum w_u)^-1/2 x exp(-1/2 sum w_u (y_u - level)^2)` with
    `w_u = 1 / (tau^2 + v_u)`. Source: Gelman et al., Bayesian Data Analysis, 3rd ed., 5.21.
    """
    level, weight = _level(corrected, noise, GRID)
    squares = (weight * (corrected - level[:, None]) ** 2).sum(1)
    log = 0.5 * np.log(weight).sum(1) - 0.5 * np.log(weight.sum(1)) - 0.5 * squares - 0.5 * (GRID / prior) ** 2
    log = log + np.log(_widths())
    return np.asarray(log - logsumexp(log))


def draw(rng: np.random.Generator, units: Units, pick: Ints) -> tuple[Floats, Floats]:
    """Draw units, `[draw, unit]`, and the spread of units at large for each draw.

    `pick[draw]` says whose error a draw gets. One unit tells nothing of a spread, which then comes from its prior.
    """
    common = units.error[pick].mean(1, keepdims=True)
    if len(units.corrected) == 1:
        return units.corrected - common, np.abs(units.prior * rng.standard_normal(len(pick)))
    spread = draw_spreads(rng, log_posterior(units.corrected, units.noise, units.prior), len(pick))
    # How uncertain the level is stands in the mean error already.
    level = _level(units.corrected, units.noise, spread)[0][:, None]
    share = _shares(units.noise, spread)
    own = units.error[pick] - common
    return level + share * (units.corrected - level) - common - np.sqrt(share) * own, spread


def draw_spreads(rng: np.random.Generator, log: Floats, n: int) -> Floats:
    """Draw spreads from the log probabilities of GRID, each anywhere within the cell of its point."""
    at = rng.choice(len(GRID), n, p=np.exp(log))
    return np.asarray(_edges()[at] + _widths()[at] * rng.random(n))


def _level(corrected: Floats, noise: Floats, spread: Floats) -> tuple[Floats, Floats]:
    """Return the best level of the units for each spread, and their weights `[spread, unit]`."""
    weight = 1 / (spread[:, None] ** 2 + noise)
    return (weight * corrected).sum(1) / weight.sum(1), weight


def _shares(noise: Floats, spread: Floats) -> Floats:
    variance = spread[:, None] ** 2
    return np.asarray(variance / (variance + noise))


def _edges() -> Floats:
    return np.concatenate([[0.0], (GRID[1:] + GRID[:-1]) / 2])


def _widths() -> Floats:
    return np.diff(np.append(_edges(), GRID[-1]))
