"""Tell single systems and raters, and how far they spread at large, from margins and the errors of these.

A margin is a unit's truth, normal around a common level, and an error whose variance simulated tables show, as it goes
with the parameters of the law. The spread is sampled from its marginal posterior on a grid, so that few units give many
spreads, some of them near 0, and never one that is cut off there.
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
    `noise[unit]` the variance that an error's deviation from the mean error has on average, and `own` and `common` how
    the variances of deviations and of the mean error go with `features[table]` of parameters. `prior` is the scale of
    the half-normal prior of the spread; a single unit, which has none, may have a normal prior of that scale around
    `known`.
    """

    corrected: Floats
    error: Floats
    noise: Floats
    features: Floats
    own: Floats
    common: Floats
    prior: float
    known: float | None = None


def weighed(corrected: Floats, error: Floats, features: Floats, prior: float, known: float | None = None) -> Units:
    """Take margins with the errors of simulated ones; `features[table, feature]` are what their variances go with."""
    n = len(corrected)
    mean = error.mean(1, keepdims=True)
    own = error - mean
    noise = np.maximum((own**2).mean(0) * n / max(n - 1, 1), 1e-9)
    of_own, of_common = (_surface(features, square) for square in ((own**2).mean(1), mean[:, 0] ** 2))
    return Units(corrected, error, noise, features, of_own, of_common, prior, known)


def _surface(features: Floats, square: Floats) -> Floats:
    """Return coefficients, none negative, of what squares of errors are on average: variances add up.

    Squares scatter as they are large, so large ones count less in a second step.
    """
    # It takes longer to import than a law on a scale, which has no need of it, takes to fit a small table.
    from scipy.optimize import nnls

    scale = max(float(square.mean()), 1e-12)
    weight = np.ones(len(square))
    for _ in range(2):
        coefficient, _ = nnls(features * weight[:, None], square / scale * weight)
        weight = 1 / np.maximum(features @ coefficient, 0.1)
    return np.asarray(coefficient * scale)


def _variance(features: Floats, coefficient: Floats) -> Floats:
    """Return the variance of errors, at least a tenth of what it is on average."""
    variance = features @ coefficient
    return np.asarray(np.maximum(variance, 0.1 * variance.mean() + 1e-12))


def log_posterior(corrected: Floats, noise: Floats, prior: float) -> Floats:
    """Return the log probability of each spread of GRID, given units whose level is not known: `[..., spread]`.

    `noise[..., unit]` are variances of errors.

    `p(tau | y) ~ prior(tau) x prod (tau^2 + v_u)^-1/2 x (sum w_u)^-1/2 x exp(-1/2 sum w_u (y_u - level)^2)` with
    `w_u = 1 / (tau^2 + v_u)`. Source: Gelman et al., Bayesian Data Analysis, 3rd ed., 5.21.
    """
    level, weight = _level(corrected, noise, GRID)
    squares = (weight * (corrected - level[..., None]) ** 2).sum(-1)
    log = 0.5 * np.log(weight).sum(-1) - 0.5 * np.log(weight.sum(-1)) - 0.5 * squares - 0.5 * (GRID / prior) ** 2
    log = log + np.log(_widths())
    return np.asarray(log - logsumexp(log, axis=-1, keepdims=True))


def draw(rng: np.random.Generator, units: Units, features: Floats, pick: Ints) -> tuple[Floats, Floats]:
    """Draw units, `[draw, unit]`, and the spread of units at large for each draw.

    `features[draw]` are those of its parameters, `pick[draw]` says which table's error a draw gets, scaled to them.
    One unit tells nothing of a spread, which then comes from its prior.
    """
    common = units.error[pick].mean(1, keepdims=True)
    own = units.error[pick] - common
    common = common * _scales(units.common, features, units.features, pick)[:, None]
    if len(units.corrected) == 1:
        spread = np.abs(units.prior * rng.standard_normal(len(pick)))
        if units.known is None:
            return units.corrected - common, spread
        share = units.prior**2 / (units.prior**2 + _variance(features, units.common)[:, None])
        return units.known + share * (units.corrected - units.known) - np.sqrt(share) * common, spread
    own = own * _scales(units.own, features, units.features, pick)[:, None]
    average = _variance(units.features, units.own).mean()
    # To the nearest percent, so that draws of like noise share a grid.
    percent = np.rint(100 * np.log(np.maximum(features @ units.own, 0.1 * average + 1e-12) / average)) / 100
    noise = units.noise * np.exp(percent)[:, None]
    spread = np.empty(len(pick))
    _, first, group = np.unique(percent, return_index=True, return_inverse=True)
    for k, log in enumerate(log_posterior(units.corrected, noise[first], units.prior)):
        spread[group == k] = draw_spreads(rng, log, int((group == k).sum()))
    weight = 1 / (spread[:, None] ** 2 + noise)
    # How uncertain the level is stands in the mean error already.
    level = ((weight * units.corrected).sum(1) / weight.sum(1))[:, None]
    share = spread[:, None] ** 2 * weight
    return level + share * (units.corrected - level) - common - np.sqrt(share) * own, spread


def _scales(coefficient: Floats, wanted: Floats, tables: Floats, pick: Ints) -> Floats:
    """Return by what the error of a table is multiplied to be as large as parameters want it."""
    held = _variance(tables, coefficient)
    return np.asarray(np.sqrt(np.maximum(wanted @ coefficient, 0.1 * held.mean()) / held[pick]))


def draw_spreads(rng: np.random.Generator, log: Floats, n: int) -> Floats:
    """Draw spreads from the log probabilities of GRID, each anywhere within the cell of its point."""
    at = rng.choice(len(GRID), n, p=np.exp(log))
    return np.asarray(_edges()[at] + _widths()[at] * rng.random(n))


def _level(corrected: Floats, noise: Floats, spread: Floats) -> tuple[Floats, Floats]:
    """Return the best level of the units for each spread, and their weights `[..., spread, unit]`."""
    weight = 1 / (spread[:, None] ** 2 + noise[..., None, :])
    return (weight * corrected).sum(-1) / weight.sum(-1), weight


def _edges() -> Floats:
    return np.concatenate([[0.0], (GRID[1:] + GRID[:-1]) / 2])


def _widths() -> Floats:
    return np.diff(np.append(_edges(), GRID[-1]))
