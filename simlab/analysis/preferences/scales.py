"""Compare systems by their strengths: all differences at once, ranks they may have, and whether one scale explains.

What is said here holds if one strength for each system explains the comparisons; `explained` puts that to a test.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simlab.analysis.preferences.net_wins import spreads_of
from simlab.analysis.preferences.strengths import Strengths, covariances, distances, effective, errors_of, probabilities
from simlab.analysis.preferences.votes import Votes, Way, clusters
from simlab.types import Array, Floats

DRAWS = 4_000


class Scale(NamedTuple):
    """Hold strengths' errors `sd[system]`, differences of all pairs with simultaneous bounds, and verdicts `[pair]`.

    NaN between parts that nothing compares. `freedom` are the degrees of freedom, `critical` the standard errors that
    bounds of differences reach, `covariance` that of all parameters, one for each way in which votes cluster.
    """

    sd: Floats
    difference: Floats
    low: Floats
    high: Floats
    verdict: Array
    freedom: float
    critical: float
    covariance: list[Floats]


class Explained(NamedTuple):
    """Hold the test of one strength a system: chi-square over its dispersion, degrees of freedom, p-value."""

    statistic: float
    freedom: int
    dispersion: float
    p_value: float


def scale(rng: np.random.Generator, votes: Votes, way: Way, fitted: Strengths, level: float) -> Scale:
    """Return what strengths say of all pairs together at a level, votes clustered as `way` has it."""
    # Errors are no smaller than those of independent votes: near separation clusters hardly vary any more.
    covariance = [*covariances(votes, way, fitted), fitted.bread]
    freedom = max(min(effective(one) for one in clusters(votes, way)) - 1, 1.0)
    contrasts = _contrasts(fitted.n_systems)
    together = np.equal(*(fitted.part[k] for k in np.triu_indices(fitted.n_systems, 1)))
    difference = np.where(together, distances(fitted.value), np.nan)
    error = errors_of(contrasts, covariance)
    joint = covariance[-2]
    critical = _critical(rng, contrasts[together], joint, freedom, level)
    low, high = difference - critical * error, difference + critical * error
    low, high = _unlimited(fitted, low, high)
    verdict = np.where(low > 0, 1, np.where(high < 0, -1, 0))
    own = np.zeros((fitted.n_systems, fitted.n_systems + 1))
    own[:, :-1] = (
        np.eye(fitted.n_systems) - (fitted.part[:, None] == fitted.part) / np.bincount(fitted.part)[fitted.part]
    )
    return Scale(errors_of(own, covariance), difference, low, high, verdict, freedom, critical, covariance)


def quantile(freedom: float, level: float) -> float:
    """Return how many standard errors an interval of a single number reaches."""
    from scipy.special import stdtrit

    return float(stdtrit(max(freedom, 1.0), 1 - level / 2))


def explained(votes: Votes, way: Way, fitted: Strengths) -> Explained:
    """Test wins less losses of each pair against what strengths imply; clusters inflate what chance does.

    Pearson's chi-square over the mean dispersion. Source: Rao and Scott 1984 (first-order correction).
    """
    from scipy.special import chdtrc

    counts = votes.counts()
    n = counts.sum(1).astype(float)
    seen = n > 0
    chance = probabilities(distances(fitted.value), fitted.log_ties)
    net = chance[:, 0] - chance[:, 2]
    variance = n * (chance[:, 0] + chance[:, 2] - net**2)
    freedom = int(seen.sum()) - fitted.n_systems + int(fitted.part.max()) + 1
    if freedom <= 0 or not variance[seen].all():
        return Explained(np.nan, max(freedom, 0), np.nan, np.nan)
    off = (counts[:, 0] - counts[:, 2] - n * net)[seen] ** 2 / variance[seen]
    several = seen & (n > 1)
    # The largest of means: a mean of the largest would take what is chance in each pair for dispersion.
    dispersion = 1.0
    if several.any() and way != "vote":
        spread = [float((one.at(net)[several] / variance[several]).mean()) for one in spreads_of(votes, way)]
        dispersion = max(*spread, 1.0)
    statistic = float(off.sum() / dispersion)
    return Explained(statistic, freedom, dispersion, float(chdtrc(freedom, statistic)))


def _contrasts(n: int) -> Floats:
    first, second = np.triu_indices(n, 1)
    rows = np.arange(len(first))
    contrasts = np.zeros((len(first), n + 1))
    contrasts[rows, first], contrasts[rows, second] = 1.0, -1.0
    return contrasts


def _critical(rng: np.random.Generator, contrasts: Floats, covariance: Floats, freedom: float, level: float) -> float:
    """Return the largest of all contrasts in units of their errors that is exceeded with probability `level`."""
    value, vector = np.linalg.eigh(covariance)
    root = contrasts @ (vector * np.sqrt(np.maximum(value, 0.0)))
    sd = np.sqrt((root**2).sum(1))
    root = root[sd > 0] / sd[sd > 0, None]
    highest = np.zeros(DRAWS)
    for start in range(0, DRAWS, 500):
        z = rng.standard_normal((root.shape[1], 500))
        highest[start : start + 500] = np.abs(root @ z).max(0, initial=0.0)
    # Few clusters leave the errors uncertain, too.
    return float(np.quantile(highest / np.sqrt(rng.chisquare(max(freedom, 1.0), DRAWS) / max(freedom, 1.0)), 1 - level))


def _unlimited(fitted: Strengths, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Take bounds away where nothing but a prior gives them: how far a system that won all is ahead."""
    first, second = np.triu_indices(fitted.n_systems, 1)
    bounded_above, bounded_below = fitted.reaches[second, first], fitted.reaches[first, second]
    high = np.where(bounded_above | np.isnan(high), high, np.inf)
    low = np.where(bounded_below | np.isnan(low), low, -np.inf)
    return low, high
