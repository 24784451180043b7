"""Test whether two systems are preferred equally often by flipping whole raters (items), all pairs of systems at once.

A flip turns all wins of one rater (on one item) into losses and back. Under each pattern of flips the wins less losses
of a pair are divided anew by their error, which is shrunk towards that of the typical pair. Call `cluster_sums`,
`pool_variances`, `measure_lead`, `studentise_lead` and `flip`, in this order.

If two systems are equal, what a rater adds to wins less losses is as likely one way as the other. Errors about the
mean of each pattern let few raters on many items be heard: squares about 0 grow with the very difference that is
tested, once for raters and once for items. The typical pair lends degrees of freedom to pairs of few raters, and a
skewed total is straightened, since a sign is no fair coin where tastes are skewed.
Sources: Canay, Romano and Shaikh 2017 (flips of clusters); Smyth 2004 (moderated variances); Hall 1992 (skewness).

`exact_flip_p_values` and `asymptotic_flip_p_values` are a simpler test, of single pairs by flips of documents. If two
systems are exchangeable, exchanging them in any document changes nothing: given how far apart wins and losses are in
each, the sign of every document's total is a fair coin of its own, however alike the outputs of a document are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import erfc

from simlab.analysis import signs
from simlab.analysis.multiplicity import FlipFamily
from simlab.analysis.preferences.votes import FEWEST, Votes, Way, cells, clusters, sum_votes
from simlab.formulas import SLACK
from simlab.types import Bools, Floats, Ints

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

PRIOR = 12.0
"""Degrees of freedom that the typical pair lends to the error of each."""
SKEW = 0.5
"""Share of the skewness of few that is taken for that of people: all of it costs symmetric tastes their power."""
_AT_ONCE = 4_000_000
"""Signs, or sums, that are held at once: they take the most memory where voters are many."""
_NEARLY_ALL = 0.05
"""Share of the variance of votes on equal systems that those on any have."""
_NOTHING = 1e-9
"""Variance of a total, as a share of its expected variance, up to which it is rounding."""


class ClusterSums(NamedTuple):
    """Sums over the clusters of one way, of contributions c and their weights n: `[pair]`.

    `signed[cluster, 4 * pair]` holds c, c n, c^3 and c n^2, whose sums a flip changes; `squares` are sums of c^2,
    `weighed` of c^2 n, `n` of n, `e` of n^2 and `e3` of n^3, which it leaves as they are.
    """

    signed: csr_matrix[Any]
    squares: Floats
    weighed: Floats
    n: Floats
    e: Floats
    e3: Floats

    @property
    def effective(self) -> Floats:
        """Number of clusters of equal weight that these are worth."""
        return np.asarray(np.maximum(self.n**2 / np.maximum(self.e, SLACK), 1.0))

    def keep(self, pairs: Bools) -> ClusterSums:
        """Return the sums of some pairs."""
        rest = (one[pairs] for one in self[1:])
        return ClusterSums(self.signed[:, np.tile(pairs, 4)], *rest)


class Lead(NamedTuple):
    """Wins less losses, with the variance and the third moment of their total: `[..., pair]`."""

    total: Floats
    variance: Floats
    third: Floats


class Pooling(NamedTuple):
    """Shrinkage of pairs' errors: `expected` variances, up to a factor, and degrees of `freedom` of their own.

    The factor is the median of the `typical` pairs, and 1 where none is; it counts for `prior` degrees of freedom.
    """

    expected: Floats
    freedom: Floats
    typical: Bools
    prior: float

    def keep(self, pairs: Bools) -> Pooling:
        """Return the same of some pairs."""
        return Pooling(self.expected[pairs], self.freedom[pairs], self.typical[pairs], self.prior)


def cluster_sums(votes: Votes, way: Way, contributed: tuple[Floats, Floats]) -> list[ClusterSums]:
    """Sum contributions by rater (item); where both are drawn by rater, by item, and by pair of rater and item.

    `contributed` is what each vote adds (+1, 0, -1, or as `places.contributions` has it) and what it weighs, `[vote]`.
    """
    each = clusters(votes, way)
    return [_sums(votes, one, contributed) for one in (each if way != "both" else [*each, cells(votes)])]


def _sums(votes: Votes, cluster: Ints, contributed: tuple[Floats, Floats]) -> ClusterSums:
    return sum_clusters(*(sum_votes(cluster, votes.pair, one, votes.n_pairs) for one in contributed))


def sum_clusters(c: csr_matrix[Any], n: csr_matrix[Any]) -> ClusterSums:
    """Return the sums of contributions `c[cluster, pair]` of weights `n[cluster, pair]`."""
    from scipy.sparse import hstack

    square, n_square = c.multiply(c), n.multiply(n)
    signed = hstack([c, c.multiply(n), square.multiply(c), c.multiply(n_square)]).tocsr()
    weights = (square, square.multiply(n), n, n_square, n_square.multiply(n))
    return ClusterSums(signed, *(np.asarray(weight.sum(0), float).ravel() for weight in weights))


def pool_variances(sums: Sequence[ClusterSums], squares: Floats, tested: Bools) -> Pooling:
    """Estimate the variance of each pair that pairs have in common, from its votes and the clusters' shares of them.

    `squares[pair]` are sums of squares of single votes. Products of two votes of a cluster tell what it adds to both;
    they are about 0, so that no flip changes what is expected. The typical pair is one of those that are tested.
    """
    ways = sums[:2] if len(sums) == 3 else sums
    n = sums[0].n
    expected = n * float(squares[tested].sum() / max(n[tested].sum(), SLACK))
    for way in ways:
        together = np.maximum(way.e - n, 0.0)
        shared = float((way.squares - squares)[tested].sum() / max(together[tested].sum(), SLACK))
        # Where votes of a cluster disagree by chance, clusters are not taken to lower a variance.
        expected = expected + max(shared, 0.0) * together
    # The scarcer of raters and items says how well an error is known.
    freedom = np.minimum.reduce([way.effective for way in ways]) - 1
    # Votes of few clusters are often all alike, and their median says nothing: then it is what is expected about 0.
    enough = tested & (freedom >= FEWEST - 1)
    typical = enough if 2 * enough.sum() >= tested.sum() else np.zeros_like(tested)
    # A single pair has no others to borrow from.
    prior = PRIOR if tested.sum() > 1 else 0.0
    return Pooling(np.maximum(expected, SLACK), np.maximum(freedom, SLACK), typical, prior)


def measure_lead(sums: Sequence[ClusterSums]) -> Lead:
    """Return the observed lead of each pair with its error.

    Source of the error two ways: Cameron, Gelbach and Miller 2011.
    """
    each = [_moments(way, np.asarray(way.signed.sum(0)).ravel()) for way in sums]
    if len(each) == 1:
        return each[0]
    rater, item, cell = each
    # The noise of single votes is in both errors, and what is left after taking it off once errs more than flips show:
    # the fewer raters or items tell it, the less of it is taken off.
    share = np.maximum(1 - 1 / sums[0].effective - 1 / sums[1].effective, 0.0)
    both = rater.variance + item.variance - share * cell.variance
    variance = np.maximum.reduce([rater.variance, item.variance, both])
    return Lead(rater.total, variance, rater.third + item.third - cell.third)


def _moments(of: ClusterSums, signed: Floats) -> Lead:
    """Return total, variance and third moment about the mean; `signed[..., 4 * pair]` are sums after flips."""
    total, by_n, cubes, by_square = np.split(signed, 4, axis=-1)
    d = total / np.maximum(of.n, SLACK)
    variance = of.squares - 2 * d * by_n + d**2 * of.e
    third = cubes - 3 * d * of.weighed + 3 * d**2 * by_square - d**3 * of.e3
    # A mean of few lies nearer to them than that of people. One cluster has no variance of its own.
    few = of.effective
    stretch = np.where(few > 1 + SLACK, few / np.maximum(few - 1, SLACK), 0.0)
    return Lead(total, np.maximum(variance, 0.0) * stretch, third * stretch**1.5)


def flip_leads(rng: np.random.Generator, sums: Sequence[ClusterSums], patterns: int) -> tuple[Lead, bool]:
    """Return leads under patterns of flips, `[pattern, pair]`, and whether these are all patterns that there are.

    Two ways: the flips of the one that spreads more carry the noise of single votes, too; those of the other add what
    it has beyond that, so that totals vary by the observed squares about 0.
    """
    n = sums[0].signed.shape[0]
    if len(sums) == 1:
        every = n < 60 and 2**n <= patterns
        drawn = signs.list_sign_patterns(n) if every else None
        return _moments(sums[0], _flips(rng, sums[0], patterns, drawn)), every
    rater, item = (_moments(way, _flips(rng, way, patterns)) for way in sums[:2])
    weight = _weights(*(way.squares for way in sums))
    total = weight[0] * rater.total + weight[1] * item.total
    third = weight[0] ** 3 * rater.third + weight[1] ** 3 * item.third
    variance = weight[0] ** 2 * rater.variance + weight[1] ** 2 * item.variance
    return Lead(total, variance, third), False


def _weights(rater: Floats, item: Floats, cell: Floats) -> list[Floats]:
    most, least = np.maximum(rater, item), np.minimum(rater, item)
    beyond = np.maximum(rater + item - cell - most, 0.0)
    left = np.sqrt(beyond / np.maximum(least, SLACK))
    return [np.where(carries, 1.0, left) for carries in (rater >= item, rater < item)]


def _flips(rng: np.random.Generator, of: ClusterSums, patterns: int, drawn: Floats | None = None) -> Floats:
    turned = of.signed.T.tocsr()
    if drawn is not None:
        return np.asarray((turned @ drawn.T).T)
    flipped = np.empty((patterns, turned.shape[0]))
    step = max(_AT_ONCE // max(turned.shape[1], 1), 1)
    for start in range(0, patterns, step):
        rows = slice(start, min(start + step, patterns))
        flipped[rows] = np.asarray(turned @ signs.draw_sign_patterns(rng, rows.stop - rows.start, turned.shape[1]).T).T
    return flipped


class Studentized(NamedTuple):
    """A statistic that is near a t law where tastes are skewed, too, with the variance and the bend that made it."""

    statistic: Floats
    variance: Floats
    bend: Floats


def studentise_lead(lead: Lead, by: Pooling, n: Floats) -> Studentized:
    """Divide totals of votes of weight `n[pair]` by errors shrunk towards the typical pair's; correct for skewness.

    t + b t^2 + b^2 t^3 / 3 + b / 2 with b = skewness / 3 grows with t, as Hall's polynomial does; a third of the
    skewness of the total is b where all of it is believed.
    """
    factor: Floats | float = 1.0
    if by.typical.any():
        d = lead.total[..., by.typical] / n[by.typical]
        # Votes vary less the further systems are apart, and no near pair may be lent the error of far ones.
        ratio = lead.variance[..., by.typical] / (by.expected[by.typical] * np.maximum(1 - d**2, _NEARLY_ALL))
        factor = np.median(ratio, axis=-1, keepdims=True)
    variance = (by.prior * factor * by.expected + by.freedom * lead.variance) / (by.prior + by.freedom)
    floor = _NOTHING * by.expected
    root = np.sqrt(np.maximum(variance, floor))
    t = lead.total / root
    bend = SKEW / 3 * np.where(variance > floor, np.clip(lead.third / root**3, -1, 1), 0.0)
    return Studentized(t + bend * t**2 + bend**2 * t**3 / 3 + bend / 2, np.where(variance > floor, variance, 0.0), bend)


def reach(bend: Floats, critical: float) -> tuple[Floats, Floats]:
    """Return the least and the largest t, `[pair]`, at which the straightened statistic is within a critical value.

    `bend` is that of `Studentized`; t is wins less losses over their error.
    """
    some = np.where(np.abs(bend) < _NOTHING, _NOTHING, bend)
    # t + b t^2 + b^2 t^3 / 3 is ((1 + b t)^3 - 1) / (3 b), so that a cube root turns the statistic back into t.
    low, high = ((np.cbrt(1 + 3 * some * (side - some / 2)) - 1) / some for side in (-critical, critical))
    return np.asarray(low), np.asarray(high)


def flip(
    rng: np.random.Generator, sums: Sequence[ClusterSums], by: Pooling, statistic: Floats, tested: Bools, patterns: int
) -> FlipFamily:
    """Compare the statistics of the tested pairs with those of flipped clusters, all pairs together.

    `by` comes from `pool_variances`, `statistic[pair]` from `studentise_lead`; `patterns` of flips are drawn.
    """
    lead, every = flip_leads(rng, [way.keep(tested) for way in sums], patterns)
    null = np.abs(studentise_lead(lead, by.keep(tested), sums[0].n[tested]).statistic)
    return FlipFamily(np.abs(statistic)[tested], null, every, SLACK**0.5)


def asymptotic_flip_p_values(total: Ints) -> Floats:
    """Return two-sided normal p-values of `z = sum D / sqrt(sum D^2)`, `total[..., document]` the D.

    With documents of one output each that is the sign test `sign_test.asymptotic`.

    >>> asymptotic_flip_p_values(np.array([[1, 1, 1, 1, -1, 0]])).round(4)
    array([0.1797])
    """
    square = (total.astype(float) ** 2).sum(-1)
    return np.asarray(erfc(np.abs(total.sum(-1)) / np.sqrt(2 * np.maximum(square, 1))))


def least_clusters(total: Ints, level: float, most: int = 60) -> int:
    """Return how many more clusters as large as these, all for who is ahead, flips need at a level; 0: none.

    `total[cluster]` are wins less losses; of more clusters than `most` at once nothing is known, and 0 is returned.

    >>> least_clusters(np.array([10, 10, 10, 10, 10, -10]), 0.05), least_clusters(np.array([3, 2]), 0.05)
    (3, 4)
    """
    there = np.abs(total[total != 0])
    ahead = 1 if total.sum() >= 0 else -1
    further = np.full(most, ahead * max(round(float(there.mean())) if len(there) else 1, 1))
    for n in range(most):
        if len(there) + n > most:
            return 0
        if exact_flip_p_values(np.concatenate([[0], total[total != 0], further[:n]])) <= level + SLACK:
            return n
    return 0


def exact_flip_p_values(total: Ints) -> Floats:
    """Return the share of all sign flips of `total[..., document]` whose sum is at least as far from 0.

    >>> exact_flip_p_values(np.array([[3, 3, 3], [1, 1, 1], [0, 0, 0]])).tolist()
    [0.25, 0.25, 1.0]
    """
    flat = np.abs(total.reshape(-1, total.shape[-1]))
    far = int(flat.sum(1).max(initial=0))
    chance = np.zeros((len(flat), 2 * far + 1))
    chance[:, far] = 1.0
    at = np.arange(2 * far + 1)
    for step in flat.T[:, :, None]:
        # Beyond the ends there is nothing: no sum is farther than all documents together.
        from_below = np.where(at >= step, np.take_along_axis(chance, np.maximum(at - step, 0), 1), 0.0)
        from_above = np.where(at + step <= 2 * far, np.take_along_axis(chance, np.minimum(at + step, 2 * far), 1), 0.0)
        chance = (from_below + from_above) / 2
    distance = np.abs(total.sum(-1)).reshape(-1, 1)
    share = np.where(np.abs(at - far) >= distance, chance, 0.0).sum(1)
    return np.asarray(np.minimum(share, 1.0)).reshape(total.shape[:-1])
