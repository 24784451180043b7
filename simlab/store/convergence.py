"""Follow a measure through a run: what its first clusters said, and with what error.

Influence values are what each cluster contributes. The first k of them tell what a run that ended there would have
said, `value + mean(influence[:k])` with the error of k clusters: exactly for a mean over clusters of one size, to first
order for ratios, and of any store, whether or not it keeps outcomes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from simlab.measures.jackknife import LEVELS, clusters, succeeded
from simlab.store.intervals import calculated
from simlab.store.opening import axes_of
from simlab.types import UNRUN, Floats, InputError, Ints

if TYPE_CHECKING:
    import xarray as xr


class Course(NamedTuple):
    """Hold a measure of a cell after its first 2, 3, ... clusters: campaigns carried out, value and error `[step]`."""

    campaigns: Ints
    value: Floats
    mcse: Floats


def courses(dataset: xr.Dataset, measure: str) -> Mapping[tuple[int, ...], Course]:
    """Return the course of a measure in each cell, by its place along the axes; cells of one cluster have none.

    Raises InputError where no cell has two clusters, and so none has an error.
    """
    axes = axes_of(dataset)
    if f"{measure}_influence" not in dataset:
        raise InputError(
            f"the course of {measure} needs {measure}_influence, which this dataset lacks; give the whole store"
        )
    if calculated(dataset, measure):
        raise InputError(f"{measure} is calculated, without campaigns: it has no error that could shrink")
    influence = dataset[f"{measure}_influence"].transpose(*axes, "cluster").values
    found = {
        place: _course(dataset, measure, place, influence[place])
        for place in np.ndindex(*influence.shape[:-1])
        if np.isfinite(influence[place]).sum() > 1
    }
    if not found:
        raise InputError(
            f"{measure} rests on fewer than two clusters in every cell, so no error can be "
            "followed; run more worlds (worlds=N), or name another --measure"
        )
    return found


def _course(dataset: xr.Dataset, measure: str, place: tuple[int, ...], influence: Floats) -> Course:
    there = np.flatnonzero(np.isfinite(influence))
    held, k = influence[there], np.arange(1, len(there) + 1)
    mean = np.cumsum(held) / k
    squares = np.maximum(np.cumsum(held**2) - k * mean**2, 0.0)
    at = dict(zip(axes_of(dataset), place, strict=True))
    value = float(dataset[measure].isel(at)) + mean
    error = np.sqrt(squares[1:] / (k * (k - 1))[1:])
    return Course(_carried_out(dataset.isel(at), measure, len(influence))[there][1:], value[1:], error)


def _carried_out(cell: xr.Dataset, measure: str, n_clusters: int) -> Ints:
    """Count the campaigns of the first clusters; where they are not told apart, all have the same number."""
    if "status" in cell:
        ran = np.flatnonzero(cell["status"].values != UNRUN)
        outcomes = {name: cell[name].values[ran] for name in ("status", *LEVELS) if name in cell.variables}
        group = clusters(outcomes)
        if group.n <= n_clusters:
            counts = np.bincount(group.label, weights=succeeded(outcomes), minlength=n_clusters)
            return np.cumsum(counts).astype(int)
    n, k = int(cell[f"{measure}_n"]), int(np.isfinite(cell[f"{measure}_influence"].values).sum())
    return np.arange(1, n_clusters + 1) * n // k
