"""Compare systems by fitted strengths: bounds of all differences at once, and whether one scale explains the votes.

`scale` bounds differences of the `Strengths` that `strengths.fit` returns. They hold if one strength for each system
explains the comparisons, which `explain_scale` tests. `drop` finds the fewest votes without which another system is on
top.

The effect of a vote on the distance of two strengths is its influence, minus the contrast times the inverse information
times its score. Votes go in the order of their influence, and the fit is made anew to see whether the top has changed.
Sources: Broderick, Giordano and Meager 2020; Huang, Shen, Wei and Broderick 2025 (dropping a handful of preferences).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simlab.analysis.preferences.net_wins import list_spreads
from simlab.analysis.preferences.strengths import (
    Strengths,
    contrast_errors,
    covariances,
    distances,
    effective_clusters,
    fit,
    probabilities,
)
from simlab.analysis.preferences.votes import Votes, Way, clusters
from simlab.types import Array, Floats, Ints

DRAWS = 4_000
"""Draws of the largest |t| of all pairs, for simultaneous bounds."""
SHARE = 0.2
"""Share of votes that are dropped at most; a top that stands this much is called robust."""
_RIVALS, _REFITS = 5, 40
_TIED = 1e-6
"""Logits below which two systems are on top together: fits end within a thousandth of that."""


class StrengthScale(NamedTuple):
    """Scale of strengths: errors `sd[system]`, all pairs' differences with simultaneous bounds, verdicts `[pair]`.

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
    """Test of one strength a system: chi-square over its dispersion, degrees of freedom, p-value."""

    statistic: float
    freedom: int
    dispersion: float
    p_value: float


def scale(rng: np.random.Generator, votes: Votes, way: Way, fitted: Strengths, level: float) -> StrengthScale:
    """Bound the differences of strengths of all pairs together at a level, votes clustered as `way` has it."""
    # Errors are no smaller than those of independent votes: near separation clusters hardly vary any more.
    covariance = [*covariances(votes, way, fitted), fitted.bread]
    freedom = max(min(effective_clusters(cluster) for cluster in clusters(votes, way)) - 1, 1.0)
    contrasts = _contrasts(fitted.n_systems)
    together = np.equal(*(fitted.part[k] for k in np.triu_indices(fitted.n_systems, 1)))
    difference = np.where(together, distances(fitted.value), np.nan)
    error = contrast_errors(contrasts, covariance)
    # Last stands that of independent votes, before it that of all ways in which votes cluster together.
    joint = covariance[-2]
    critical = _critical_value(rng, contrasts[together], joint, freedom, level)
    low, high = difference - critical * error, difference + critical * error
    low, high = _remove_prior_bounds(fitted, low, high)
    verdict = np.where(low > 0, 1, np.where(high < 0, -1, 0))
    # A single strength is told about the mean of its part, since no level of all is known.
    own = np.zeros((fitted.n_systems, fitted.n_systems + 1))
    own[:, :-1] = (
        np.eye(fitted.n_systems) - (fitted.part[:, None] == fitted.part) / np.bincount(fitted.part)[fitted.part]
    )
    return StrengthScale(
        contrast_errors(own, covariance), difference, low, high, verdict, freedom, critical, covariance
    )


def quantile(freedom: float, level: float) -> float:
    """Return the two-sided quantile of t: how many standard errors a 1 - `level` interval of one number reaches."""
    from scipy.special import stdtrit

    return float(stdtrit(max(freedom, 1.0), 1 - level / 2))


def explain_scale(votes: Votes, way: Way, fitted: Strengths) -> Explained:
    """Test wins less losses of each pair against those that strengths imply; clusters of votes inflate chance.

    Pearson's chi-square over the mean dispersion. Source: Rao and Scott 1984 (first-order correction).
    """
    from scipy.special import chdtrc

    counts = votes.counts()
    n = counts.sum(1).astype(float)
    seen = n > 0
    chance = probabilities(distances(fitted.value), fitted.log_ties)
    net = chance[:, 0] - chance[:, 2]
    variance = n * (chance[:, 0] + chance[:, 2] - net**2)
    # Each part whose systems are compared has one strength fewer than systems, since only distances count.
    freedom = int(seen.sum()) - fitted.n_systems + int(fitted.part.max()) + 1
    if freedom <= 0 or not variance[seen].all():
        return Explained(np.nan, max(freedom, 0), np.nan, np.nan)
    off = (counts[:, 0] - counts[:, 2] - n * net)[seen] ** 2 / variance[seen]
    several = seen & (n > 1)
    # The largest of means: a mean of the largest would take what is chance in each pair for dispersion.
    dispersion = 1.0
    if several.any() and way != "vote":
        spread = [
            float((way_spread.evaluate(net)[several] / variance[several]).mean())
            for way_spread in list_spreads(votes, way)
        ]
        dispersion = max(*spread, 1.0)
    statistic = float(off.sum() / dispersion)
    return Explained(statistic, freedom, dispersion, float(chdtrc(freedom, statistic)))


def _contrasts(n: int) -> Floats:
    first, second = np.triu_indices(n, 1)
    rows = np.arange(len(first))
    contrasts = np.zeros((len(first), n + 1))
    contrasts[rows, first], contrasts[rows, second] = 1.0, -1.0
    return contrasts


def _critical_value(
    rng: np.random.Generator, contrasts: Floats, covariance: Floats, freedom: float, level: float
) -> float:
    """Return the largest of all contrasts in units of their errors that is exceeded with probability `level`."""
    value, vector = np.linalg.eigh(covariance)
    # V_r + V_x - V_rx may have negative eigenvalues (Cameron, Gelbach and Miller 2011).
    root = contrasts @ (vector * np.sqrt(np.maximum(value, 0.0)))
    sd = np.sqrt((root**2).sum(1))
    root = root[sd > 0] / sd[sd > 0, None]
    highest = np.zeros(DRAWS)
    for start in range(0, DRAWS, 500):
        z = rng.standard_normal((root.shape[1], 500))
        highest[start : start + 500] = np.abs(root @ z).max(0, initial=0.0)
    # Few clusters leave the errors uncertain, too.
    return float(np.quantile(highest / np.sqrt(rng.chisquare(max(freedom, 1.0), DRAWS) / max(freedom, 1.0)), 1 - level))


def _remove_prior_bounds(fitted: Strengths, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Take bounds away where nothing but a prior gives them: how far a system that won all is ahead."""
    first, second = np.triu_indices(fitted.n_systems, 1)
    bounded_above, bounded_below = fitted.reaches[second, first], fitted.reaches[first, second]
    high = np.where(bounded_above | np.isnan(high), high, np.inf)
    low = np.where(bounded_below | np.isnan(low), low, -np.inf)
    return low, high


class Dropped(NamedTuple):
    """Number of votes that have to go (infinite: more than `limit`) for `rival` to be above `top`; indices."""

    top: int
    rival: int
    n: float
    limit: int


def drop(counts: Array, fitted: Strengths) -> Dropped | None:
    """Find the fewest votes without which another system is on top; None where no system is alone there.

    `counts[pair, 3]` are those that `fitted` comes from; systems are those of the largest part that votes connect.

    An upper bound: fewer that are chosen otherwise may do, too.
    """
    largest = np.bincount(fitted.part).argmax()
    inside = np.flatnonzero(fitted.part == largest)
    limit = int(SHARE * counts.sum())
    if len(inside) < 2 or not limit:
        return None
    order = inside[np.argsort(-fitted.value[inside], kind="stable")]
    top, rivals = int(order[0]), order[1 : 1 + _RIVALS]
    if fitted.value[top] - fitted.value[rivals[0]] < _TIED:
        return None
    best = Dropped(top, int(rivals[0]), np.inf, limit)
    for rival in rivals.tolist():
        n = _count_fewest_votes(counts, fitted, top, rival, int(min(best.n - 1, limit)))
        if n is not None:
            best = Dropped(top, rival, n, limit)
    return best


def _count_fewest_votes(counts: Array, fitted: Strengths, top: int, rival: int, most: int) -> float | None:
    """Return the votes that have to go to put `rival` above `top`, by bisection; None if more than `most`."""
    if most < 1 or not _has_passed(_remove_votes(counts, fitted, top, rival, most), fitted.n_systems, top, rival):
        return None
    fails, does = 0, most
    guess = _expected_votes(counts, fitted, top, rival, most)
    for _ in range(_REFITS):
        if does - fails <= 1:
            break
        middle = guess if fails < guess < does else (fails + does) // 2
        # The guess is tried once; from then on the bracket is halved.
        guess = -1
        if _has_passed(_remove_votes(counts, fitted, top, rival, middle), fitted.n_systems, top, rival):
            does = middle
        else:
            fails = middle
    return float(does)


def _has_passed(counts: Array, n_systems: int, top: int, rival: int) -> bool:
    if not (counts[:, 0] + counts[:, 2]).any():
        return False  # ties alone have no strengths, and put nobody on top
    value = fit(counts, n_systems).value
    return bool(value[rival] >= value[top])


def _expected_votes(counts: Array, fitted: Strengths, top: int, rival: int, most: int) -> int:
    """Return the number of votes that influence alone says are enough."""
    influence, order = _order_votes(fitted, top, rival)
    gone = _take_votes(counts, order, most)
    gain = np.cumsum(np.repeat(influence.ravel()[order], gone))
    enough = np.flatnonzero(gain >= fitted.value[top] - fitted.value[rival])
    return int(enough[0]) + 1 if len(enough) else most


def _remove_votes(counts: Array, fitted: Strengths, top: int, rival: int, n: int) -> Array:
    """Leave out the n votes that hold the top up most."""
    _, order = _order_votes(fitted, top, rival)
    left = counts.ravel().astype(np.int64)
    left[order] -= _take_votes(counts, order, n)
    return left.reshape(counts.shape)


def _take_votes(counts: Array, order: Ints, n: int) -> Ints:
    there = counts.ravel()[order].astype(np.int64)
    before = np.cumsum(there) - there
    return np.asarray(np.clip(n - before, 0, there))


def _order_votes(fitted: Strengths, top: int, rival: int) -> tuple[Floats, Ints]:
    """Return how much nearer the rival comes without a vote `[pair, outcome]`, and votes by that, the largest first."""
    first, second = np.triu_indices(fitted.n_systems, 1)
    contrast = fitted.bread[top] - fitted.bread[rival]
    chance = probabilities(distances(fitted.value), fitted.log_ties)
    net, tie = chance[:, 0] - chance[:, 2], chance[:, 1]
    of_d = np.array([0.5, 0.0, -0.5]) - net[:, None] / 2
    of_ties = np.array([0.0, 1.0, 0.0]) - tie[:, None]
    influence = of_d * (contrast[first] - contrast[second])[:, None] + of_ties * contrast[-1]
    return influence, np.argsort(-influence.ravel(), kind="stable")
