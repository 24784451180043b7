"""Test whether wins and losses of many pairs of systems differ, and bound by how much, all pairs at once.

Call `weigh_votes`, which returns `Weighed`: p-values, claims and bounds of each pair. d is a share of wins less that of
losses. The way is the independent unit: the vote, the rater, the item, or raters and items crossed.

Votes that are independent are held to the sign test; others to flips of whole raters (items), all pairs together, so
that a family of claims knows how they depend on each other.
Where one system of a pair stood first more often than the other, what the place is worth is taken off first.
Sources: Canay, Romano and Shaikh 2017 (sign changes of clusters); Romano and Wolf 2005 (step-down); Cameron, Gelbach
and Miller 2011 (clusters two ways).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from simlab.analysis import sign_test
from simlab.analysis.multiplicity import holm
from simlab.analysis.preferences.cluster_flips import (
    cluster_sums,
    flip,
    measure_lead,
    pool_variances,
    reach,
    studentise_lead,
)
from simlab.analysis.preferences.places import contributions, fisher_p_values_of_places, known_orders
from simlab.analysis.preferences.votes import Votes, Way, cells, clusters, sum_votes
from simlab.formulas import SLACK
from simlab.types import Bools, Floats

PATTERNS = 1_999
"""Patterns of flips: with the observed one, p-values are multiples of 1/2000."""

OF_MANY, MANY = 999, 200_000
"""Patterns from `MANY` votes on, where each takes milliseconds."""


class ClusterSquares(NamedTuple):
    """Sums over clusters of squares of (wins less losses) less d times votes: `a - 2 b d + e d^2`, `[pair]`."""

    a: Floats
    b: Floats
    e: Floats

    def evaluate(self, d: Floats | float) -> Floats:
        """Return the sums at d."""
        return np.asarray(self.a - 2 * self.b * d + self.e * np.square(d))


class Weighed(NamedTuple):
    """Votes, differences, p-values and bounds of each pair `[pair]`; NaN was never compared.

    `difference` is the share of wins less that of losses, at equal places where these are known and uneven, `sd` its
    standard error, `low` and `high` bound it for all pairs of the family at once: -1 and 1 where one system always
    stood first. `critical` is how many standard errors these reach, `critical_open` how many a pair
    that is not claimed needs. `claimed` follows from `adjusted`.
    """

    n: Floats
    difference: Floats
    sd: Floats
    low: Floats
    high: Floats
    p_value: Floats
    adjusted: Floats
    claimed: Bools
    critical: float
    critical_open: float


def weigh_votes(
    rng: np.random.Generator, votes: Votes, way: Way, family: Bools, level: float, n_patterns: int = PATTERNS
) -> Weighed:
    """Test the pairs marked by `family[pair]` together at a level; `way` is the independent unit of votes.

    Votes that are independent are held to the exact sign test, with Holm; others to flips, with step-down max-T.
    """
    n = np.bincount(votes.pair, minlength=votes.n_pairs).astype(float)
    one_way = known_orders(votes).one_way
    contributed = contributions(votes)
    total, weight = (np.asarray(np.bincount(votes.pair, each, minlength=votes.n_pairs), float) for each in contributed)
    tested = family & (n > 0) & ~one_way
    if way == "vote":
        spreads = list_spreads(votes, way, contributed)
        p_value, adjusted, critical, critical_open = _apply_exact_test(votes, tested, level)
        with np.errstate(invalid="ignore", divide="ignore"):
            sd = np.sqrt(largest_spread(spreads, total / weight)) / weight
        low, high = bounds(total, weight, spreads, critical)
    else:
        p_value, adjusted, critical, critical_open, sd, (low, high) = _test_by_flips(
            rng, votes, way, tested, level, contributed, n_patterns
        )
    # A total of 0 has no direction, whatever its p-value.
    claimed = tested & (np.nan_to_num(adjusted, nan=1.0) <= level + SLACK) & (np.abs(total) > SLACK)
    with np.errstate(invalid="ignore", divide="ignore"):
        difference = total / weight
    low, high = reconcile_bounds(low, high, np.sign(total), claimed)
    unknown = n == 0
    for values in (low, high, p_value, adjusted):
        values[unknown] = np.nan
    raw = np.bincount(votes.pair, votes.value, minlength=votes.n_pairs)
    for values, known in ((difference, raw / np.maximum(n, 1)), (low, -1.0), (high, 1.0), (p_value, 1.0)):
        values[one_way] = np.broadcast_to(known, n.shape)[one_way]
    adjusted[one_way], sd[one_way] = 1.0, np.nan
    return Weighed(n, difference, sd, low, high, p_value, adjusted, claimed, critical, critical_open)


def list_spreads(votes: Votes, way: Way, contributed: tuple[Floats, Floats] | None = None) -> list[ClusterSquares]:
    """Return sums of squares over clusters, one for each way in which votes cluster, of which the largest counts.

    Two ways: by rater, by item, and both. `contributed` holds each vote's contribution and weight `[vote]` (None: the
    vote itself, +1, 0, -1, and 1).
    """
    each = (votes.value.astype(float), np.ones(len(votes.pair))) if contributed is None else contributed
    squares = [_spread(votes, each, cluster) for cluster in clusters(votes, way)]
    if way == "both":
        cell = _spread(votes, each, cells(votes))
        squares.append(ClusterSquares(*(x + y - z for x, y, z in zip(*squares, cell, strict=True))))
    return squares


def largest_spread(spreads: Sequence[ClusterSquares], d: Floats | float) -> Floats:
    """Return the largest spread at d, `[pair]`."""
    return np.asarray(np.maximum.reduce([spread.evaluate(d) for spread in spreads]))


def bounds(total: Floats, n: Floats, spreads: Sequence[ClusterSquares], critical: float) -> tuple[Floats, Floats]:
    """Return the least and largest d, `[pair]`, with |total - n d| <= critical sqrt(spread(d)).

    `total[pair]` are wins less losses of `n[pair]` votes, `spreads` come from `list_spreads`.

    A score interval, as Wilson's: at d = 0 it is the test itself. Votes with mean d vary by at least |d| - d^2 each,
    whatever came (all ties do not say that there are only ties).
    """
    nothing = np.zeros_like(n)
    ranges = [_roots(total, n, spread, critical) for spread in spreads]
    # These sums are n (|d| - d^2), the least variance of votes whose mean is d, for positive and then negative d.
    low_part, high_part = _roots(total, n, ClusterSquares(nothing, -n / 2, -n), critical)
    ranges.append(
        (np.where(high_part >= 0, np.maximum(low_part, 0), np.nan), np.where(high_part >= 0, high_part, np.nan))
    )
    low_part, high_part = _roots(total, n, ClusterSquares(nothing, n / 2, -n), critical)
    ranges.append(
        (np.where(low_part <= 0, low_part, np.nan), np.where(low_part <= 0, np.minimum(high_part, 0), np.nan))
    )
    low, high = (np.stack(side) for side in zip(*ranges, strict=True))
    return np.clip(np.fmin.reduce(low), -1, 1), np.clip(np.fmax.reduce(high), -1, 1)


def reconcile_bounds(low: Floats, high: Floats, sign: Floats, claimed: Bools) -> tuple[Floats, Floats]:
    """Make bounds agree with claims: those of a claimed pair lie on one side of 0, those of an open one hold 0.

    Step-down claims more than intervals of one step; its bounds end at 0. Source: Strassburger and Bretz 2008.
    """
    low = np.where(claimed & (sign > 0), np.maximum(low, 0), np.where(claimed, low, np.minimum(low, 0)))
    high = np.where(claimed & (sign < 0), np.minimum(high, 0), np.where(claimed, high, np.maximum(high, 0)))
    return low, high


def _spread(votes: Votes, contributed: tuple[Floats, Floats], cluster: Any) -> ClusterSquares:
    total, n = (sum_votes(cluster, votes.pair, each, votes.n_pairs) for each in contributed)
    return ClusterSquares(*(np.asarray(x.multiply(y).sum(0)).ravel() for x, y in ((total, total), (total, n), (n, n))))


def _apply_exact_test(votes: Votes, compared: Bools, level: float) -> tuple[Floats, Floats, float, float]:
    """Return p-values, adjusted ones, and critical values of all pairs and of open ones, by exact tests and Holm."""
    from scipy.special import ndtri

    uneven = known_orders(votes).uneven
    p_value = sign_test.exact(votes.counts())
    p_value = np.where(uneven, fisher_p_values_of_places(votes), p_value) if uneven.any() else p_value
    adjusted = np.full(len(p_value), np.nan)
    adjusted[compared] = holm(p_value[compared])
    m = max(int(compared.sum()), 1)
    # Bounds of one step are Bonferroni's; what an open pair needs falls with the pairs claimed, as Holm has it.
    left = max(m - int((adjusted[compared] <= level + SLACK).sum()), 1)
    return p_value, adjusted, float(ndtri(1 - level / 2 / m)), float(ndtri(1 - level / 2 / left))


def _test_by_flips(
    rng: np.random.Generator,
    votes: Votes,
    way: Way,
    compared: Bools,
    level: float,
    contributed: tuple[Floats, Floats],
    patterns: int,
) -> tuple[Floats, Floats, float, float, Floats, tuple[Floats, Floats]]:
    """Return p-values, adjusted ones, critical values of all pairs and of open ones, standard errors, and bounds."""
    from scipy.special import ndtri

    sums = cluster_sums(votes, way, contributed)
    squares = np.bincount(votes.pair, contributed[0] ** 2, minlength=votes.n_pairs).astype(float)
    by = pool_variances(sums, squares, compared)
    lead = measure_lead(sums)
    seen = studentise_lead(lead, by, sums[0].n)
    p_value, adjusted = np.full((2, votes.n_pairs), np.nan)
    flips = flip(rng, sums, by, seen.statistic, compared, patterns)
    p_value[compared], adjusted[compared] = flips.p_values(), flips.max_t()
    open_ = adjusted[compared] > level + SLACK
    highest = flips.null.max(1, initial=0.0)
    highest_open = flips.null[:, open_].max(1, initial=0.0) if open_.any() else highest
    # Flips of contributions that cancel out vary by nothing, and bound nothing.
    least = float(ndtri(1 - level / 2))
    critical, critical_open = (
        max(float(np.quantile(x, 1 - level, method="higher")), least) for x in (highest, highest_open)
    )
    n, root = sums[0].n, np.sqrt(seen.variance)
    below, above = reach(seen.bend, critical)
    with np.errstate(invalid="ignore", divide="ignore"):
        sd = root / n
        low, high = (lead.total - above * root) / n, (lead.total - below * root) / n
    # Where all raters agree, single votes still vary.
    alone = bounds(lead.total, n, (), critical)
    within = np.clip(np.fmin(low, alone[0]), -1, 1), np.clip(np.fmax(high, alone[1]), -1, 1)
    return p_value, adjusted, critical, critical_open, sd, within


def _roots(total: Floats, n: Floats, spread: ClusterSquares, critical: float) -> tuple[Floats, Floats]:
    """Solve (total - n d)^2 <= critical^2 spread(d); everything where no d is far enough, NaN where none is near."""
    c = critical**2
    square, linear, constant = n**2 - c * spread.e, total * n - c * spread.b, total**2 - c * spread.a
    inside = linear**2 - square * constant
    with np.errstate(invalid="ignore", divide="ignore"):
        # Rounding: where all votes are alike the two roots meet.
        root = np.sqrt(np.where(inside < 0, np.where(inside > -1e-9 * np.maximum(linear**2, 1), 0.0, np.nan), inside))
        low, high = (linear - root) / square, (linear + root) / square
    return np.where(square <= 0, -1.0, low), np.where(square <= 0, 1.0, high)
