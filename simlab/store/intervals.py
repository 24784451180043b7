"""Precision of the measures of a store: 95 % intervals, numbers of clusters, and failed campaigns.

Call `sureness` with an open store and the name of a measure, which returns arrays over the axes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from simlab.measures.jackknife import clusters as clusters_of
from simlab.measures.jackknife import mark_successes
from simlab.measures.labels import CONDITIONAL, ValueRange, measure_range
from simlab.measures.precision import interval, is_at_edge
from simlab.store.measures import all_measures
from simlab.store.opening import name_axes, outcomes_of_cell
from simlab.types import BLOCK_FAILED, OK, UNRUN, Array, Bools, Floats, Ints, Outcomes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import xarray as xr

    from simlab.types import Estimate

VIEWS = ("_clusters", "_low", "_high", "_failed")
"""Endings of the fields of a measure that are computed when needed, and not stored."""


class Sureness(NamedTuple):
    """Precision of a measure over the axes of a store: 95 % bounds, and the clusters that they rest on.

    `low` and `high` are NaN where fewer than two clusters have a value; values of calculations, which are exact, are
    their own bounds.
    """

    low: Floats
    high: Floats
    clusters: Ints


def read_range(dataset: xr.Dataset, measure: str) -> ValueRange:
    """Return the range of a measure of a store."""
    bounds = dataset[measure].attrs.get("limits")
    return measure_range(measure, None if bounds is None else (float(bounds[0]), float(bounds[1])))


def sureness(dataset: xr.Dataset, measure: str, axes: Sequence[str] | None = None) -> Sureness:
    """Return the precision of a measure, over axes in this order (None: the store's own).

    Bounds that the dataset holds are taken as they are; without influence values they are NaN.
    """
    axes = [str(dim) for dim in dataset[measure].dims] if axes is None else axes
    value = np.asarray(dataset[measure].transpose(*axes).values, float)
    clusters = np.zeros(value.shape, int)
    if f"{measure}_influence" in dataset:
        influence = dataset[f"{measure}_influence"].transpose(*axes, "cluster").values
        clusters = np.isfinite(influence).sum(-1)
    if f"{measure}_low" in dataset:
        low, high = (dataset[f"{measure}{end}"].transpose(*axes).values for end in ("_low", "_high"))
        return Sureness(low, high, clusters)
    if f"{measure}_influence" not in dataset:
        unknown = np.full(value.shape, np.nan)
        return Sureness(unknown, unknown, clusters)
    if is_calculation(dataset, measure):
        return Sureness(value, value, 0 * clusters)
    within = read_range(dataset, measure)
    telling = clusters
    if measure in CONDITIONAL:
        telling = _count_informative(dataset, measure, axes, clusters, is_at_edge(value, influence, within))
    return Sureness(*interval(value, influence, within, telling), clusters)


def count_informative_clusters(dataset: xr.Dataset, measure: str) -> Mapping[tuple[int, ...], int] | None:
    """Count, by cell, the clusters in which a conditional measure has cases; None for measures that always have some.

    All counts are 0 for a store that keeps no outcomes.
    """
    if measure not in CONDITIONAL:
        return None
    places = list(np.ndindex(*(dataset.sizes[axis] for axis in name_axes(dataset))))
    if not _keeps_outcomes(dataset):
        return dict.fromkeys(places, 0)
    valued = np.isfinite(dataset[measure].transpose(*name_axes(dataset)).values)
    count = all_measures()[measure]
    return {at: (count(outcomes_of_cell(dataset, at)).telling or 0) if valued[at] else 0 for at in places}


def _keeps_outcomes(dataset: xr.Dataset) -> bool:
    return "significant" in dataset or "verdict" in dataset


def is_calculation(dataset: xr.Dataset, measure: str) -> bool:
    """True if a store is a calculation, whose values have neither replicates nor errors."""
    return not np.any(dataset[f"{measure}_n"].values) and not np.any(dataset[f"{measure}_influence"].values)


def campaigns(dataset: xr.Dataset, axes: Sequence[str]) -> tuple[Ints, Ints]:
    """Return the numbers of campaigns that failed, and of those carried out, as arrays over axes in this order."""
    shape = tuple(dataset.sizes[axis] for axis in axes)
    if "status" not in dataset:
        return np.zeros(shape, int), np.zeros(shape, int)
    status: Array = dataset["status"].transpose(*axes, "replicate").values
    return ((status != OK) & (status != UNRUN)).sum(-1), (status == OK).sum(-1)


def _count_informative(dataset: xr.Dataset, measure: str, axes: Sequence[str], clusters: Ints, edge: Bools) -> Ints:
    """Count the clusters that can have seen what is counted; none are known where a store keeps no outcomes."""
    # Of a store without axes the count is a number, not an array.
    telling = np.array(clusters)
    kept = _keeps_outcomes(dataset)
    for position in map(tuple, np.argwhere(edge)):
        at = dict(zip(axes, position, strict=True))
        index = [at[axis] for axis in name_axes(dataset)] if kept else []
        telling[position] = _count_valued(all_measures()[measure], outcomes_of_cell(dataset, index)) if kept else 0
    return telling


def _count_valued(measure: Callable[[Outcomes], Estimate], outcomes: Outcomes) -> int:
    """Count the clusters of which, all others left out, a measure has a value."""
    group, ok = clusters_of(outcomes), mark_successes(outcomes)
    alone = (
        measure({**outcomes, "status": np.where(ok & (group.label == k), OK, BLOCK_FAILED)}) for k in range(group.n)
    )
    return sum(bool(np.isfinite(estimate.value)) for estimate in alone)
