"""Say how far an error is from the one that is wanted, from influence values alone: never from the value itself.

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
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from simlab.measures.intervals import EXACT, LEVEL
from simlab.measures.ranges import Range
from simlab.types import Floats

LEAST_CLUSTERS = 30
HALF_WIDTH = 2
"""Errors from a value to the bound of its 95 % interval."""
MOST_OFF = 0.1
"""Of the error that is wanted a value may be off by that share where a run stops."""
AHEAD = 1.05
"""So much more is asked for than the error found says: half the errors are found too small."""


class Standing(NamedTuple):
    """Hold the error of a value over clusters, and how many clusters it is expected to need in all.

    `reached` says that it needs no more; None where no error can be told.
    """

    error: float
    clusters: int
    needed: int
    reached: bool | None


def is_share(within: Range) -> bool:
    """Tell a share of events from what else can be measured."""
    return within.chance and (within.least, within.greatest) == (0.0, 1.0)


def standing(
    influence: Floats, target: float, *, within: Range, clusters: int | None = None, telling: int | None = None
) -> Standing:
    """Hold an error against a target, given `influence[cluster]` (NaN: there is no such cluster).

    Fewer `clusters` may stand behind a difference than influence it. In a share of what seldom occurs only clusters
    that are `telling` (None: all are) can have seen the event: those in which there was something to count (0: they are
    not known).
    """
    known = influence[np.isfinite(influence)]
    clusters = len(known) if clusters is None else clusters
    if clusters < 2:
        return Standing(math.nan, clusters, LEAST_CLUSTERS, None if clusters == 0 else False)
    telling = clusters if telling is None else min(telling, clusters)
    error = float(np.sqrt(np.sum(known**2) / (clusters * (clusters - 1))))
    flat = float(np.var(known)) <= EXACT**2
    least = max(LEAST_CLUSTERS, _least(known, target, within, flat=flat))
    if telling == 0 or (flat and None in (within.least, within.greatest)):
        return Standing(error, clusters, least, None)
    if telling >= least and error <= target:
        return Standing(error, clusters, clusters, True)
    enough = math.ceil(least * clusters / telling)
    return Standing(error, clusters, max(enough, math.ceil(AHEAD * clusters * (error / target) ** 2)), False)


def unseen(target: float) -> int:
    """Count the clusters that bound an event that none of them has seen as a normal value with a target for its error.

    >>> unseen(0.01), unseen(0.03)
    (149, 49)
    """
    bound = HALF_WIDTH * target
    return math.ceil(math.log(1 - LEVEL) / math.log1p(-bound)) if bound < 1 else 1


def _least(influence: Floats, target: float, within: Range, *, flat: bool) -> int:
    if is_share(within):
        return unseen(target)
    if not flat:
        return straight(influence, target)
    if not within.chance or within.least is None or within.greatest is None:
        return 0
    return unseen(target / (within.greatest - within.least))


def straight(influence: Floats, target: float) -> int:
    """Count the clusters with which a mean of values so skewed is off by a tenth of a target at most.

    It is off by `skewness x sd / clusters`, sd that of a cluster.
    """
    centred = influence - influence.mean()
    spread = float(np.mean(centred**2))
    return math.ceil(abs(float(np.mean(centred**3))) / spread / (MOST_OFF * target))


def gap(first: Floats, second: Floats) -> tuple[Floats, int]:
    """Return the influence of a difference between two cells, cluster by cluster, and the clusters K of the smaller.

    A cluster that only one of them has enters alone. Scaled so that `sqrt(sum(gap^2) / (K (K - 1)))` is the error that
    `simlab compare` gives.
    """
    counts = [int(np.isfinite(one).sum()) for one in (first, second)]
    clusters, size = min(counts), max(len(first), len(second))
    if clusters < 2:
        return np.full(clusters, np.nan), clusters
    scaled = []
    for one, k in zip((first, second), counts, strict=True):
        own = np.where(np.isfinite(one), one, 0.0) / np.sqrt(k * (k - 1))
        scaled.append(np.pad(own, (0, size - len(one))))
    return np.asarray((scaled[0] - scaled[1]) * np.sqrt(clusters * (clusters - 1))), clusters


class Halves(NamedTuple):
    """Hold the influence of worlds on a measure, `[world]`: of their first and their second `studies` studies."""

    first: Floats
    second: Floats
    studies: int


class Parts(NamedTuple):
    """Hold the variance of a world's influence: `between` worlds, and `within` for a single study of each."""

    between: float
    within: float

    def at(self, studies: int) -> float:
        """Return the variance with so many studies of each world."""
        return self.between + self.within / studies


def parts(halves: Halves) -> Parts | None:
    """Estimate what worlds and what studies add to a variance; None where halves of worlds have no value.

    What the two halves of a world have in common is the world's. Studies are taken to add `1 / studies`, which for a
    measure over pairs of studies is no less than they add.
    """
    known = np.isfinite(halves.first) & np.isfinite(halves.second)
    if known.sum() < 3:
        return None
    first, second = (one[known] - one[known].mean() for one in (halves.first, halves.second))
    scale = 1 / (len(first) - 1)
    together = scale * float(first @ second)
    alone = scale * float(first @ first + second @ second) / 2
    between = min(max(together, 0.0), alone)
    return Parts(between, (alone - between) * halves.studies)
