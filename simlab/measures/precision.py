"""Compute 95 % intervals of measures, and how many clusters a wanted error takes, from influence values alone.

`interval` takes values with `influence[..., cluster]` and returns their bounds; `standing` takes the influence values
of one measure and a target for its error, and returns an `ErrorProgress`. A cluster is a world, or whatever a value is
replicated over (see `jackknife`).

Whoever stops when an error looks small stops too often where it is small by chance, and where the law of worlds is
skewed the value is off with it: by about `skewness x error / sqrt(clusters)`, in one look or in many. A few clusters do
not even show how skewed they are. So nothing stops on its own error

* before 30 clusters;
* where a share is measured, before so many that the 95 % bound of what none of them has seen (the rule of three) is as
  near as that of the error wanted: a share near 0 or 1, which is a skewed one, has as many whatever it looks like;
* where anything else is measured, before the value can be off by no more than a tenth of the error wanted.

Where all clusters agree an error of 0 is none: what is bounded waits, as a share does, for as many as bound an event
that none has seen, which may be as far away as the range is wide. Of what has no bounds no error can be told.

What that promises is simulated in tests/statistics/promises.

Of a share of events the interval is Wilson's (1927) with a t quantile, and with as many independent trials as would
have the error that was found over clusters: `n = v (1 - v) / mcse^2`. What the error cannot tell, the clusters do. An
event that no cluster has seen has a probability of at most `1 - .05^(1/K)` (about 3 / K), however alike the campaigns
of a cluster are; and as long as only a few have seen it, the bound stays there: the error of so few events is not
known. Coverage is simulated in tests/statistics/test_intervals.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from simlab.measures.labels import ValueRange
from simlab.types import Bools, Floats, Ints

LEAST_CLUSTERS = 30
"""Clusters before which no run stops on its own error."""
HALF_WIDTH = 2
"""Half the width of a 95 % interval, in standard errors."""
MOST_OFF = 0.1
"""Bias that a value may have where a run stops, as a share of the wanted error."""
AHEAD = 1.05
"""Factor on the number of clusters that the error found calls for: half of all errors are found too small."""
LEVEL = 0.95
"""Level of all intervals."""
FEW, FEW_SHARE = 4, 0.4
"""Number, and share, of clusters with an event up to which the error of its share is not relied on; from simulation."""
EXACT = 1e-9
"""Rounding error of sums that are 0, relative to the range of a measure."""


class ErrorProgress(NamedTuple):
    """Error of a value over clusters, and how many clusters it is expected to need in all.

    `reached` says that it needs no more; None where no error can be told.
    """

    error: float
    clusters: int
    needed: int
    reached: bool | None


def is_share(within: ValueRange) -> bool:
    """True if a measure is a share of events."""
    return within.chance and (within.least, within.greatest) == (0.0, 1.0)


def standing(
    influence: Floats, target: float, *, within: ValueRange, clusters: int | None = None, telling: int | None = None
) -> ErrorProgress:
    """Compare the error of a value with a `target`, given its `influence[cluster]` (NaN: there is no such cluster).

    `within` is the range of the measure, `clusters` the number of clusters (None: those with a value; of a difference,
    that of the smaller cell), and `telling` the number of clusters in which something could be counted (None: all; 0:
    not known).
    """
    known = influence[np.isfinite(influence)]
    clusters = len(known) if clusters is None else clusters
    if clusters < 2:
        return ErrorProgress(math.nan, clusters, LEAST_CLUSTERS, None if clusters == 0 else False)
    telling = clusters if telling is None else min(telling, clusters)
    error = float(np.sqrt(np.sum(known**2) / (clusters * (clusters - 1))))
    flat = float(np.var(known)) <= EXACT**2
    least = max(LEAST_CLUSTERS, _count_fewest_clusters(known, target, within, flat=flat))
    if telling == 0 or (flat and None in (within.least, within.greatest)):
        return ErrorProgress(error, clusters, least, None)
    if telling >= least and error <= target:
        return ErrorProgress(error, clusters, clusters, True)
    # As large a share of further clusters as of these is expected to tell.
    enough = math.ceil(least * clusters / telling)
    return ErrorProgress(error, clusters, max(enough, math.ceil(AHEAD * clusters * (error / target) ** 2)), False)


def clusters_to_bound_unseen(target: float) -> int:
    """Count the clusters that bound the probability of an event none of them has seen by twice the `target` error.

    >>> clusters_to_bound_unseen(0.01), clusters_to_bound_unseen(0.03)
    (149, 49)
    """
    bound = HALF_WIDTH * target
    return math.ceil(math.log(1 - LEVEL) / math.log1p(-bound)) if bound < 1 else 1


def _count_fewest_clusters(influence: Floats, target: float, within: ValueRange, *, flat: bool) -> int:
    if is_share(within):
        return clusters_to_bound_unseen(target)
    if not flat:
        return clusters_to_straighten(influence, target)
    if not within.chance or within.least is None or within.greatest is None:
        return 0
    return clusters_to_bound_unseen(target / (within.greatest - within.least))


def clusters_to_straighten(influence: Floats, target: float) -> int:
    """Count the clusters with which the mean of values as skewed as these is off by a tenth of `target` at most.

    It is off by `skewness x sd / clusters`, sd that of a cluster.
    """
    centred = influence - influence.mean()
    spread = float(np.mean(centred**2))
    return math.ceil(abs(float(np.mean(centred**3))) / spread / (MOST_OFF * target))


def gap(first: Floats, second: Floats) -> tuple[Floats, int]:
    """Return the influence `[cluster]` of a difference between two cells, and the number K of clusters of the smaller.

    `first` and `second` are the influence values of the cells, `[cluster]`; a cluster that only one of them has enters
    alone. Scaled so that `sqrt(sum(gap^2) / (K (K - 1)))` is the error that `simlab compare` gives.
    """
    counts = [int(np.isfinite(each).sum()) for each in (first, second)]
    clusters, size = min(counts), max(len(first), len(second))
    if clusters < 2:
        return np.full(clusters, np.nan), clusters
    scaled = []
    for each, k in zip((first, second), counts, strict=True):
        own = np.where(np.isfinite(each), each, 0.0) / np.sqrt(k * (k - 1))
        scaled.append(np.pad(own, (0, size - len(each))))
    return np.asarray((scaled[0] - scaled[1]) * np.sqrt(clusters * (clusters - 1))), clusters


class Halves(NamedTuple):
    """Influence of worlds on a measure, `[world]`: of their first and their second `studies` studies."""

    first: Floats
    second: Floats
    studies: int


class VarianceParts(NamedTuple):
    """Variance of a world's influence: `between` worlds, and `within` for a single study of each."""

    between: float
    within: float

    def compute_variance(self, studies: int) -> float:
        """Return the variance with `studies` studies of each world."""
        return self.between + self.within / studies


def parts(halves: Halves) -> VarianceParts | None:
    """Estimate the variance between worlds, and of studies within them; None where halves of worlds have no value.

    The covariance of the two halves of a world is that between worlds. Studies are taken to add `1 / studies`, which
    for a measure over pairs of studies is no less than they add.
    """
    known = np.isfinite(halves.first) & np.isfinite(halves.second)
    if known.sum() < 3:
        return None
    first, second = (half[known] - half[known].mean() for half in (halves.first, halves.second))
    scale = 1 / (len(first) - 1)
    together = scale * float(first @ second)
    alone = scale * float(first @ first + second @ second) / 2
    # By chance halves may agree less than not at all, or more than each agrees with itself.
    between = min(max(together, 0.0), alone)
    return VarianceParts(between, (alone - between) * halves.studies)


class MeasureBounds(NamedTuple):
    """Bounds of 95 % intervals, one per value; NaN where clusters are too few to give any."""

    low: Floats
    high: Floats


def margin(clusters: int) -> float:
    """Return the factor from a standard error to the half-width of a 95 % t interval; NaN below two clusters.

    >>> round(margin(5), 3)
    2.776
    """
    from scipy.special import stdtrit

    return float(stdtrit(clusters - 1, (1 + LEVEL) / 2)) if clusters > 1 else float("nan")


def unseen_probability(clusters: int) -> float:
    """Bound the probability of an event that none of `clusters` independent clusters has seen (95 %, one-sided).

    Clusters see it with a probability that is no smaller than that of the event itself, whatever their campaigns have
    in common. About 3 / clusters: the rule of three.

    >>> round(unseen_probability(50), 3)
    0.058
    """
    return float(1 - (1 - LEVEL) ** (1 / clusters)) if clusters > 1 else float("nan")


def interval(value: Floats, influence: Floats, within: ValueRange, telling: Ints | None = None) -> MeasureBounds:
    """Return the 95 % interval of each value from `influence[..., cluster]` (NaN: there is none).

    `within` is the range of the measure. `telling[...]` counts the clusters in which the event could occur (None: all).
    """
    value, influence = np.asarray(value, float), np.asarray(influence, float)
    clusters = np.isfinite(influence).sum(-1)
    informative = clusters if telling is None else np.minimum(clusters, telling)
    least, greatest = within.least, within.greatest
    if least is None or greatest is None or not within.chance:
        return _clip_interval(_symmetric_interval(value, _mcse(influence, clusters), _margins(clusters)), within)
    width = greatest - least
    share = _share_interval((value - least) / width, influence / width, clusters, informative)
    return _clip_interval(MeasureBounds(least + width * share.low, least + width * share.high), within)


def is_at_edge(value: Floats, influence: Floats, within: ValueRange) -> Bools:
    """Return True for shares of events that all clusters have seen always, or never: their error of 0 is none."""
    edge: Bools = np.zeros(np.shape(value), bool)
    if within.least is None or within.greatest is None or not within.chance:
        return edge
    width = within.greatest - within.least
    near = np.minimum(np.abs(value - within.least), np.abs(value - within.greatest)) <= EXACT * width
    flat = np.nanmax(np.abs(influence), axis=-1, initial=0.0) <= EXACT * width
    return np.asarray(near & flat & np.isfinite(influence).any(-1))


def _share_interval(value: Floats, influence: Floats, clusters: Ints, telling: Ints) -> MeasureBounds:
    """Return Wilson's interval of shares from 0 to 1, widened where few clusters have seen, or missed, the event."""
    error, t = _mcse(influence, clusters), _margins(clusters)
    flat = error <= EXACT
    trials = np.where(flat, telling, value * (1 - value) / np.where(flat, 1.0, error) ** 2)
    low, high = _wilson(value, np.maximum(trials, 1.0), t)
    # The value plus its influence is a cluster's pseudo-value: above 0 where the cluster has seen the event.
    each = value[..., None] + influence
    seen = np.sum(each > EXACT, axis=-1)
    # Counted from the other end, what is rare is the gap to 1.
    missed = np.sum(each < 1 - EXACT, axis=-1)
    low, high = _widen_for_few(low, high, value, seen, telling, _share_alike(each))
    gap_low, gap_high = _widen_for_few(1 - high, 1 - low, 1 - value, missed, telling, _share_alike(1 - each))
    return MeasureBounds(1 - gap_high, 1 - gap_low)


def _share_alike(each: Floats) -> Floats:
    """Return the number of equal clusters that clusters of unequal shares are worth: `(sum y)^2 / sum y^2`."""
    squares = np.nansum(each**2, axis=-1)
    counted: Floats = np.nansum(each, axis=-1) ** 2 / np.where(squares > 0, squares, 1.0)
    return counted


def _widen_for_few(
    low: Floats, high: Floats, value: Floats, seen: Ints, clusters: Ints, alike: Floats
) -> tuple[Floats, Floats]:
    """Widen the interval of a share that is above 0 in no more than a few clusters.

    Upwards to the bound of an event that none has seen; downwards to the exact bound (Clopper and Pearson 1934) of the
    share of clusters that see it, times the mean share of the event in these.
    """
    from scipy.special import betaincinv

    bound = _call_by_count(unseen_probability, clusters)
    least = betaincinv(np.maximum(seen, 1), np.maximum(clusters - seen + 1, 1), (1 - LEVEL) / 2)
    down = np.where(seen > 0, least * value * clusters / np.maximum(seen, 1), 0.0)
    few = alike <= np.minimum(FEW, FEW_SHARE * clusters)
    return (
        # Where no bound can be given at all, it is NaN.
        np.where(few, np.where(seen > 0, np.minimum(low, down), 0.0 * bound), low),
        np.where(few, np.where(seen > 0, np.maximum(high, bound), bound), high),
    )


def _wilson(value: Floats, trials: Floats, t: Floats) -> tuple[Floats, Floats]:
    stretched = 1 + t**2 / trials
    centre = (value + t**2 / (2 * trials)) / stretched
    half = t * np.sqrt(np.maximum(value * (1 - value), 0.0) / trials + t**2 / (4 * trials**2)) / stretched
    return centre - half, centre + half


def _symmetric_interval(value: Floats, error: Floats, t: Floats) -> MeasureBounds:
    return MeasureBounds(value - t * error, value + t * error)


def _clip_interval(given: MeasureBounds, within: ValueRange) -> MeasureBounds:
    return MeasureBounds(*(np.clip(bound, within.least, within.greatest) for bound in given))


def _mcse(influence: Floats, clusters: Ints) -> Floats:
    pairs = np.where(clusters > 1, clusters * (clusters - 1.0), np.nan)
    error: Floats = np.sqrt(np.nansum(influence**2, axis=-1) / pairs)
    return error


def _margins(clusters: Ints) -> Floats:
    return _call_by_count(margin, clusters)


def _call_by_count(function: Callable[[int], float], clusters: Ints) -> Floats:
    """Return the values of a function of counts `clusters[...]`, called once for each count that there is."""
    counts, places = np.unique(clusters, return_inverse=True)
    return np.array([function(int(count)) for count in counts])[places].reshape(np.shape(clusters))
