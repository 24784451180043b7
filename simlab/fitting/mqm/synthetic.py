"""Infer the spreads of the MQM law from a pilot's moments, by simulating the law at the pilot's own design.

Call `regress` on simulated tables for a `Surface`, then `sample` on the observed moments, which returns draws.
`theta[..., parameter]` are parameters in the order of `NAMES`.

A synthetic likelihood (Wood 2010; Price et al. 2018): mean products of pairs are about normal, with a mean that is
linear in the variances and a spread that grows with them. Both are regressed on simulated tables, so that effects of
the pilot's design on the moments (few documents, gaps, shared outputs, estimated margins) are in them. A spread that no
pair informs keeps its prior.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simlab.types import Floats

NAMES = (
    "document_sd",
    "segment_sd",
    "system_document_sd",
    "rater_system_sd",
    "rater_document_sd",
    "rater_output_sd",
    "dispersion",
    "noise_share",
    "kind_document_sd",
    "kind_segment_sd",
    "rater_segment_sd",
    "segment_skew",
    "minor_noise",
    "segment_share",
)
"""Parameters that are inferred from pairs, in the order of the vectors here."""

PRIOR_SCALE = np.array([0.3, 0.5, 0.2, 0.2, 0.3, 0.2, 0.3, np.inf, 0.2, 0.2, 0.3, 1.0, np.inf, np.inf])
"""Scales of half-normal priors; `noise_share` and `minor_noise` are uniform from 0 to 1. A table first shows the
sum of the variances: scales of .5 each would expect scores to vary far more than any table shows."""

MOST = np.array([3, 3, 3, 3, 3, 3, 20, 1, 3, 3, 3, 3, 1, 1])
"""Upper bounds of the parameters, in the order of `NAMES`."""
# Of NAMES those that lie between 0 and 1: noise_share, minor_noise and segment_share.
SHARES = [7, 12, 13]
SPREADS = [0, 1, 2, 3, 4, 5, 8, 9, 10]
"""Which parameters are spreads of logarithms."""

WALKERS, STEPS = 60, 450
"""Walkers of the ensemble, and the steps of each."""


@dataclass(frozen=True, slots=True)
class Surface:
    """Moments as a function of parameters: `mean = coefficient.T @ features`, log of their spread likewise.

    The correlation of what is left, `inverse` to it, is taken to be the same everywhere; both are learnt from tables
    that leave `freedom` degrees of freedom.
    """

    coefficient: Floats
    log_sd: Floats
    inverse: Floats
    freedom: int


def features(theta: Floats) -> Floats:
    """Return the terms that moments are linear in: variances of factors, dispersion, noise, and their product."""
    variance, (dispersion, share) = theta[..., SPREADS] ** 2, np.moveaxis(theta[..., 6:8], -1, 0)
    size = np.log1p(variance.sum(-1))
    skew = theta[..., 11] * variance[..., 1]
    own = theta[..., 12] * (1 - share)
    products = [theta[..., 13] * (1 - share), own, own * dispersion, skew, theta[..., 11], dispersion * share, size**2]
    extra = np.stack([dispersion, dispersion**2, share, *products], axis=-1)
    return np.concatenate([np.ones((*theta.shape[:-1], 1)), variance, extra], axis=-1)


def sizes(theta: Floats) -> Floats:
    """Return the terms of variances of errors: a constant, variances of factors, and two of the scatter of counts."""
    dispersion, share = theta[..., 6], theta[..., 7]
    one = np.ones((*theta.shape[:-1], 1))
    return np.concatenate([one, theta[..., SPREADS] ** 2, np.stack([dispersion, dispersion * share], -1)], axis=-1)


def regress(theta: Floats, moments: Floats) -> Surface:
    """Learn the moments as a function of parameters: `theta[simulation, parameter]`, `moments[simulation, kind]`."""
    x = features(theta)
    coefficient = _ridge(x, moments)
    left = moments - x @ coefficient
    scale = left.std(0) + 1e-9
    total = _size(theta)
    # The logarithm of a residual near 0 has no bound; 2 % of the scale keep it from ruling.
    # E log |z| of a standard normal variable is -.635.
    log_sd = _ridge(total, np.log(np.abs(left) + 0.02 * scale) + 0.635)
    standard = left / np.exp(total @ log_sd)
    log_sd[0] += np.log(standard.std(0))
    standard = standard / standard.std(0)
    freedom = max(len(x) - x.shape[1], 2)
    # What is left in the tables that a surface was laid through is less than what others are away from it.
    log_sd[0] += 0.5 * np.log((len(x) + x.shape[1]) / freedom)
    # Shrunk a little towards independence: with few tables the matrix of many moments is nearly singular.
    correlation = 0.98 * np.corrcoef(standard, rowvar=False).reshape(len(scale), -1) + 0.02 * np.eye(len(scale))
    return Surface(coefficient, log_sd, np.linalg.inv(correlation), freedom)


def _size(theta: Floats) -> Floats:
    """Return what the spread of moments is log-linear in: a constant, and the sizes of the larger variances."""
    # Spreads near 0 have logarithms without bound.
    logs = np.log(np.maximum(theta[..., [0, 1, 2, 3, 4, 6, 10]], 0.05))
    return np.concatenate([np.ones((*theta.shape[:-1], 1)), logs], axis=-1)


def _ridge(x: Floats, y: Floats) -> Floats:
    """Least squares with a ridge of a thousandth: a parameter that was hardly varied gets no wild coefficient."""
    scale = np.sqrt((x**2).mean(0)) + 1e-12
    z = x / scale
    penalty = 1e-3 * len(x) * np.eye(z.shape[1])
    # The constant is left free: shrinking it would pull all moments towards 0.
    penalty[0, 0] = 0.0
    return np.asarray(np.linalg.solve(z.T @ z + penalty, z.T @ y) / scale[:, None])


def log_posterior(theta: Floats, surface: Surface, observed: Floats) -> Floats:
    """Return the log posterior density of `theta[walker, parameter]`, up to a constant."""
    inside = np.all(theta >= 0, axis=-1) & np.all(theta[..., SHARES] <= 1, axis=-1)
    theta = np.clip(theta, 0, MOST)
    log_sd = _size(theta) @ surface.log_sd
    standard = (observed - features(theta) @ surface.coefficient) / np.exp(log_sd)
    distance = np.einsum("...i,ij,...j->...", standard, surface.inverse, standard)
    # A correlation that is learnt makes a normal law a Student's t (Sellentin and Heavens 2016, eq. 8).
    fit = -0.5 * (surface.freedom + 1) * np.log1p(distance / surface.freedom) - log_sd.sum(-1)
    prior = -0.5 * np.sum((theta / PRIOR_SCALE) ** 2, axis=-1)
    return np.where(inside, fit + prior, -np.inf)


def sample(rng: np.random.Generator, surface: Surface, observed: Floats, start: Floats) -> Floats:
    """Sample the posterior with an ensemble of walkers that stretch towards each other (Goodman and Weare 2010).

    `observed` are the same moments of the real table.
    `start[parameter]` is where walkers begin, scattered. Returns draws `[draw, parameter]`, thinned.
    """
    n = len(NAMES)
    walkers = np.abs(start * np.exp(0.3 * rng.standard_normal((WALKERS, n))) + 0.03 * rng.standard_normal((WALKERS, n)))
    walkers[:, SHARES] = np.clip(walkers[:, SHARES], 0.02, 0.98)
    density, kept = log_posterior(walkers, surface, observed), []
    half = WALKERS // 2
    for step in range(STEPS):
        # Half of the walkers move at a time, towards those that stand still: otherwise detailed balance fails.
        for side in (slice(0, half), slice(half, None)):
            others = walkers[slice(half, None) if side.start == 0 else slice(0, half)]
            # Density 1 / sqrt(z) on [1/2, 2], by its inverse distribution function (Goodman and Weare 2010, a = 2).
            stretch = (rng.random(half) + 1) ** 2 / 2
            partner = others[rng.integers(half, size=half)]
            proposed = partner + stretch[:, None] * (walkers[side] - partner)
            at = log_posterior(proposed, surface, observed)
            # A stretch along a ray of n dimensions changes volume by z^(n - 1).
            accept = np.log(rng.random(half)) < (n - 1) * np.log(stretch) + at - density[side]
            walkers[side] = np.where(accept[:, None], proposed, walkers[side])
            density[side] = np.where(accept, at, density[side])
        if step >= STEPS // 3 and step % 10 == 0:
            kept.append(walkers.copy())
    return np.concatenate(kept)
