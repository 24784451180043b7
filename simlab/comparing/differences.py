"""Compute the paired difference of a measure between two designs, with its standard error and 95 % interval.

`compare_paired` takes two `Point`s and returns a `Contrast`; `bound_difference` then corrects its interval. A cluster
is the unit of replication, usually a world. The influence values of K clusters are those of the jackknife, such that
`sqrt(sum(influence**2) / (K (K - 1)))` is the standard error.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from simlab.measures.precision import EXACT, margin
from simlab.types import Floats


@dataclass(frozen=True, slots=True)
class Point:
    """A measure of one design: its value, `influence[cluster]` (NaN where a cluster is absent) and n.

    `low` and `high` bound its 95 % interval, inside the range of the measure.
    """

    value: float
    influence: Floats
    n: int
    low: float = float("nan")
    high: float = float("nan")

    @property
    def clusters(self) -> int:
        """Count the clusters that the value rests on."""
        return int(np.isfinite(self.influence).sum())


@dataclass(frozen=True, slots=True)
class Contrast:
    """A paired difference, its standard error and its t interval at 95 %; NaN where no error can be given."""

    difference: float
    mcse: float
    low: float
    high: float
    clusters: int

    @property
    def tie(self) -> bool:
        """True if the interval includes no difference (with room for the last bits of a sum)."""
        return self.low <= 1e-12 and self.high >= -1e-12


def mcse(point: Point) -> float:
    """Return the Monte-Carlo standard error of one design's measure; NaN below two clusters."""
    return float(np.sqrt(np.sum(_scale_influence(point) ** 2))) if point.clusters > 1 else float("nan")


def lacks_error(point: Point) -> bool:
    """True if an error of 0 cannot be relied on: the clusters are too few to bound the value by an interval."""
    return mcse(point) <= EXACT and not np.isfinite(point.high - point.low)


def compare_paired(first: Point, second: Point) -> Contrast:
    """Return first minus second, deleting the same cluster from both designs.

    With equal clusters the error is `sqrt(sum d^2 / (K (K - 1)))` with d the difference of the influence values
    per cluster: what both designs owe to the same world cancels. A cluster that only one of them has enters
    alone, so that designs with different numbers of clusters are compared honestly too; the degrees of freedom
    are those of the smaller number.
    """
    clusters = min(first.clusters, second.clusters)
    size = max(len(first.influence), len(second.influence))
    difference = first.value - second.value
    gap = _pad_values(_scale_influence(first), size) - _pad_values(_scale_influence(second), size)
    error = float(np.sqrt(np.sum(gap**2))) if clusters > 1 else float("nan")
    half = margin(clusters) * error
    return Contrast(difference, error, difference - half, difference + half, clusters)


def bound_difference(contrast: Contrast, first: Point, second: Point, bounds: tuple[float, float] | None) -> Contrast:
    """Return the contrast with its interval inside the range of a difference, and wide enough where an error is 0.

    `bounds` are the least and the greatest value of the measure (None: unbounded). An error of 0 at the end of a range
    understates the uncertainty: there the intervals of the two values make up that of the difference (Newcombe 1998,
    method 10), and where one has none, the difference has none.
    """
    low, high, gap = contrast.low, contrast.high, contrast.difference
    if lacks_error(first) or lacks_error(second):
        return replace(contrast, low=float("nan"), high=float("nan"))
    if any(mcse(point) <= EXACT < point.high - point.low for point in (first, second)):
        low = gap - float(np.hypot(first.value - first.low, second.high - second.value))
        high = gap + float(np.hypot(first.high - first.value, second.value - second.low))
    most = float("inf") if bounds is None else bounds[1] - bounds[0]
    # NumPy's maximum keeps NaN; whether Python's does depends on the order of its arguments.
    return replace(contrast, low=float(np.maximum(low, -most)), high=float(np.minimum(high, most)))


def _scale_influence(point: Point) -> Floats:
    """Return the influence values such that the root of their sum of squares is the standard error."""
    k = point.clusters
    scale = np.sqrt(k * (k - 1)) if k > 1 else np.nan
    # An absent cluster adds nothing to a sum of squares.
    return np.where(np.isfinite(point.influence), point.influence / scale, 0.0)


def _pad_values(values: Floats, size: int) -> Floats:
    return np.pad(values, (0, size - len(values)))
