"""Say what the designs of a family may reach, from what was seen of some of them: one path along the sizes a resample.

A share is taken on the probit scale, as a function of the logarithm of the size: a Gaussian process, with a line that
rises for measures that do (Rasmussen and Williams 2006, 2.7). Its errors are those of the resampled worlds, which all
designs share; between sizes that were looked at it adds what nobody has seen, so that a size far from all looks is in
doubt and not ruled out. A path is drawn by conditioning: a draw of the process, corrected at the looks.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from simlab.types import Estimate, Floats, Ints

RISING = frozenset(("power", "power_at", "significant_share"))
"""Measures that rise with size, unless what is seen says otherwise."""
SURE = 4.0
"""Standard errors by which a measure must fall with size before it is taken for one that does not rise."""
NEVER = -1.0
"""Stands for a measure that has no value: no target is reached."""
LEVEL = 2.0
"""Standard deviation of a measure's level, on the probit scale."""
JITTER = 1e-6
ROUNDING = 1e-9


class Shape(NamedTuple):
    """Hold how a measure may run along the logarithm of sizes: a line's slope, and what bends it, `(sd, length)`."""

    slope: float
    slope_sd: float
    bends: tuple[tuple[float, float], ...]


RISES = Shape(0.8, 0.4, ((0.3, 2.0), (0.08, 0.6)))
"""Of a test of means the slope is about 1.4 at a power of .8; pairs that differ by more or less flatten it."""
WANDERS = Shape(0.0, 0.0, ((0.5, 1.2), (0.1, 0.4)))


@dataclass(frozen=True, slots=True)
class Chance:
    """Hold the random numbers of a search: `worlds[resample, world]` are weights of worlds less 1, in all designs."""

    seed: int
    worlds: Floats

    @classmethod
    def of(cls, seed: int, resamples: int, worlds: int) -> Chance:
        """Draw the weights of worlds: those of a Bayesian bootstrap."""
        return cls(seed, np.random.default_rng([seed, 0]).exponential(1.0, (resamples, worlds)) - 1.0)

    def of_path(self, place: int, n: int) -> Floats:
        """Draw standard normal numbers `[resample, n]` for one measure of one family."""
        return np.random.default_rng([self.seed, 1, place]).standard_normal((len(self.worlds), n))

    def mean(self, estimate: Estimate) -> Floats:
        """Return the values of an estimate in resamples of its worlds, by influence: `[resample]`."""
        influence = np.nan_to_num(np.asarray(estimate.influence, float))
        n = len(influence)
        return np.asarray(estimate.value + self.worlds[:, :n] @ influence / np.sqrt(n * max(n - 1, 1)))

    def share(self, estimate: Estimate, place: int) -> Floats:
        """Return a share in resamples of its worlds and of two more that half count: one of 0, one of 1.

        So a share of 1 in twenty worlds is not one of 1 for sure (Jeffreys' interval where worlds are 0 or 1).
        """
        n = len(estimate.influence)
        none, one = np.random.default_rng([self.seed, 2, place]).gamma(0.5, 1.0, (2, len(self.worlds)))
        drawn = np.clip(self.mean(estimate), 0.0, 1.0)
        return np.asarray(np.clip((n * drawn + one) / (n + none + one), 1e-6, 1 - 1e-6))


def path(log_size: Floats, at: Ints, shares: Floats, shape: Shape, normals: Floats) -> Floats:
    """Draw what all sizes reach, `[resample, size]`, from the shares `[resample, look]` of those that were seen."""
    z = ndtri(shares)
    x = log_size - log_size[at].mean()
    prior = shape.slope * x + (z.mean(0) - shape.slope * x[at]).mean()
    covariance = _covariance(x, shape)
    seen = covariance[np.ix_(at, at)] + np.diag(z.var(0) + JITTER)
    gain = np.linalg.solve(seen, covariance[at]).T
    drawn = prior + normals @ np.linalg.cholesky(covariance + JITTER * np.eye(len(x))).T
    return np.asarray(ndtr(drawn + (z - drawn[:, at]) @ gain.T))


def _covariance(x: Floats, shape: Shape) -> Floats:
    apart = (x[:, None] - x) ** 2
    bends = sum(sd**2 * np.exp(-apart / (2 * length**2)) for sd, length in shape.bends)
    return np.asarray(LEVEL**2 + shape.slope_sd**2 * np.outer(x, x) + bends)


def rises(estimates: Sequence[Estimate]) -> bool:
    """Tell whether a measure rises with size as far as can be seen: no fall is larger than its error allows.

    Falls are those between any two sizes: several small ones may add up.
    """
    return not any(
        first.value - second.value > SURE * max(_error(first, second), ROUNDING)
        for first, second in itertools.combinations(estimates, 2)
    )


def _error(first: Estimate, second: Estimate) -> float:
    """Return the standard error of a difference: of the worlds that both met, and of those that one has beyond."""
    n = min(len(first.influence), len(second.influence))
    paired = np.asarray(second.influence)[:n] - np.asarray(first.influence)[:n]
    error = float(np.sqrt(np.sum(paired**2) / (n * max(n - 1, 1))))
    # With other numbers of worlds the value of one is not that of its first worlds.
    return max(error, first.mcse, second.mcse) if len(first.influence) != len(second.influence) else error
