"""Give every measure of a cell one 95 % interval: over clusters, inside the measure's range, for rare events, too.

Of a share of events the interval is Wilson's (1927) with a t quantile, and with as many independent trials as would
have the error that was found over clusters: `n = v (1 - v) / mcse^2`. What the error cannot tell, the clusters do. An
event that no cluster has seen has a probability of at most `1 - .05^(1/K)` (about 3 / K), however alike the campaigns
of a cluster are; and as long as only a few have seen it, the bound stays there: the error of so few events is not
known. Coverage is simulated in tests/statistics/test_intervals.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simlab.measures.ranges import Range
from simlab.types import Bools, Floats, Ints

LEVEL = 0.95
FEW, FEW_SHARE = 4, 0.4
"""From so few clusters, or so small a share of them, an error is not learned; found by simulation."""
EXACT = 1e-9
"""What sums of floating-point numbers leave of a zero, relative to a range."""


class Interval(NamedTuple):
    """Hold the bounds of 95 % intervals, one per value; NaN where clusters are too few to give any."""

    low: Floats
    high: Floats


def margin(clusters: int) -> float:
    """Return the factor from a standard error to the half-width of a 95 % t interval; NaN below two clusters.

    >>> round(margin(5), 3)
    2.776
    """
    from scipy.special import stdtrit

    return float(stdtrit(clusters - 1, (1 + LEVEL) / 2)) if clusters > 1 else float("nan")


def never_seen(clusters: int) -> float:
    """Return how probable an event can be that none of so many independent clusters has seen (95 %, one-sided).

    Clusters see it with a probability that is no smaller than that of the event itself, whatever their campaigns have
    in common. About 3 / clusters: the rule of three.

    >>> round(never_seen(50), 3)
    0.058
    """
    return float(1 - (1 - LEVEL) ** (1 / clusters)) if clusters > 1 else float("nan")


def interval(value: Floats, influence: Floats, within: Range, telling: Ints | None = None) -> Interval:
    """Return the 95 % interval of each value from `influence[..., cluster]` (NaN: there is no such cluster).

    `telling` counts the clusters that can have seen what is counted, where these are fewer than those with a value.
    """
    value, influence = np.asarray(value, float), np.asarray(influence, float)
    clusters = np.isfinite(influence).sum(-1)
    told = clusters if telling is None else np.minimum(clusters, telling)
    least, greatest = within.least, within.greatest
    if least is None or greatest is None or not within.chance:
        return _clipped(_symmetric(value, _mcse(influence, clusters), _margins(clusters)), within)
    width = greatest - least
    share = _of_share((value - least) / width, influence / width, clusters, told)
    return _clipped(Interval(least + width * share.low, least + width * share.high), within)


def at_the_edge(value: Floats, influence: Floats, within: Range) -> Bools:
    """Mark shares of events that all clusters have seen always, or never: an error of 0 that is none."""
    edge: Bools = np.zeros(np.shape(value), bool)
    if within.least is None or within.greatest is None or not within.chance:
        return edge
    width = within.greatest - within.least
    near = np.minimum(np.abs(value - within.least), np.abs(value - within.greatest)) <= EXACT * width
    flat = np.nanmax(np.abs(influence), axis=-1, initial=0.0) <= EXACT * width
    return np.asarray(near & flat & np.isfinite(influence).any(-1))


def _of_share(value: Floats, influence: Floats, clusters: Ints, telling: Ints) -> Interval:
    error, t = _mcse(influence, clusters), _margins(clusters)
    flat = error <= EXACT
    trials = np.where(flat, telling, value * (1 - value) / np.where(flat, 1.0, error) ** 2)
    low, high = _wilson(value, np.maximum(trials, 1.0), t)
    each = value[..., None] + influence
    seen = np.sum(each > EXACT, axis=-1)
    # Counted from the other end, what is rare is the gap to 1.
    missed = np.sum(each < 1 - EXACT, axis=-1)
    low, high = _few(low, high, value, seen, telling, _share_alike(each))
    gap_low, gap_high = _few(1 - high, 1 - low, 1 - value, missed, telling, _share_alike(1 - each))
    return Interval(1 - gap_high, 1 - gap_low)


def _share_alike(each: Floats) -> Floats:
    """Count the clusters among which a sum would be shared that is shared as unevenly: `(sum y)^2 / sum y^2`."""
    squares = np.nansum(each**2, axis=-1)
    counted: Floats = np.nansum(each, axis=-1) ** 2 / np.where(squares > 0, squares, 1.0)
    return counted


def _few(low: Floats, high: Floats, value: Floats, seen: Ints, clusters: Ints, alike: Floats) -> tuple[Floats, Floats]:
    """Widen the interval of a share that is above 0 in no more than a few clusters.

    Upwards to what an event can be that none has seen; downwards to the exact bound (Clopper and Pearson 1934) on how
    many clusters see it, times what those see that do.
    """
    from scipy.special import betaincinv

    bound = np.vectorize(never_seen, otypes=[float])(clusters)
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


def _symmetric(value: Floats, error: Floats, t: Floats) -> Interval:
    return Interval(value - t * error, value + t * error)


def _clipped(given: Interval, within: Range) -> Interval:
    return Interval(*(np.clip(bound, within.least, within.greatest) for bound in given))


def _mcse(influence: Floats, clusters: Ints) -> Floats:
    pairs = np.where(clusters > 1, clusters * (clusters - 1.0), np.nan)
    error: Floats = np.sqrt(np.nansum(influence**2, axis=-1) / pairs)
    return error


def _margins(clusters: Ints) -> Floats:
    return np.asarray(np.vectorize(margin, otypes=[float])(clusters))
