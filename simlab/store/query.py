"""Answer what a store says about chosen cells and measures."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simlab.messages import or_nearest, shown
from simlab.store.measures import Measures, estimate, n_clusters, set_out
from simlab.store.opening import axes_of, measures_of, open_results, outcome_names, outcomes_of_cell
from simlab.types import InputError

if TYPE_CHECKING:
    import xarray as xr


def add_measures(dataset: xr.Dataset, measures: Measures) -> xr.Dataset:
    """Add measures that a store does not hold, computed from its outcomes; its own stay as they are."""
    import xarray as xr

    wanted = {name: measure for name, measure in measures.items() if name not in dataset}
    if not wanted:
        return dataset
    axes = axes_of(dataset)
    shape = tuple(dataset.sizes[axis] for axis in axes)
    declared = outcome_names(dataset)
    estimates = {place: estimate(wanted, outcomes_of_cell(dataset, place), declared) for place in np.ndindex(*shape)}
    added = set_out(axes, shape, estimates, {name: {} for name in wanted})
    return _padded(dataset, n_clusters(estimates)).assign(_padded(xr.Dataset(added), dataset.sizes.get("cluster", 0)))


def query(
    folder: str | Path,
    conditions: Mapping[str, Sequence[Any]] | None = None,
    measures: Sequence[str] | None = None,
    *,
    known: Measures | None = None,
) -> list[dict[str, Any]]:
    """List, per cell that meets the conditions, its place on the axes and its measures with `_mcse` and `_n`.

    Conditions name values of axes, as typed or as they are. A measure that the store does not hold is computed from
    the outcomes where it is among `known`. Raises InputError for an axis, value or measure that is neither.
    """
    with open_results(folder) as opened:
        wanted = list(measures or measures_of(opened))
        extra = {name: measure for name, measure in (known or {}).items() if name in wanted}
        chosen = add_measures(select(opened, conditions or {}), extra)
        for name in wanted:
            if name not in measures_of(chosen):
                choices = dict.fromkeys([*measures_of(opened), *(known or {})])
                raise InputError(f"the store of {folder} holds no measure {name}; {or_nearest(name, choices)}")
        return records(chosen, wanted)


def records(dataset: xr.Dataset, measures: Sequence[str]) -> list[dict[str, Any]]:
    """List the cells of an open store: the values on the axes, and the measures with `_mcse` and `_n`."""
    axes = axes_of(dataset)
    fields = [f"{name}{suffix}" for name in measures for suffix in ("", "_mcse", "_n")]
    places = itertools.product(*(dataset[axis].values.tolist() for axis in axes))
    columns = [dataset[field].transpose(*axes).values.ravel().tolist() for field in fields]
    return [
        dict(zip([*axes, *fields], [*place, *values], strict=True))
        for place, values in zip(places, zip(*columns, strict=True), strict=True)
    ]


def select(dataset: xr.Dataset, conditions: Mapping[str, Sequence[Any]]) -> xr.Dataset:
    """Narrow a store to values of its axes; an axis stays a dimension. Raises InputError for what it does not hold."""
    axes = axes_of(dataset)
    for axis, values in conditions.items():
        if axis not in axes:
            raise InputError(f"the store has no axis {axis}; {or_nearest(axis, axes) if axes else 'it has one cell'}")
        held = dataset[axis].values.tolist()
        dataset = dataset.isel({axis: [_place(axis, value, held) for value in values]})
    return dataset


def _place(axis: str, value: Any, held: Sequence[Any]) -> int:
    text = shown(value) if not isinstance(value, str) else value
    for place, other in enumerate(held):
        if text == str(other) or _number(text) == other:
            return place
    raise InputError(f"{axis}={text} is not in the store; {or_nearest(text, map(str, held))}")


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _padded(dataset: xr.Dataset, clusters: int) -> xr.Dataset:
    """Make room for as many clusters, filled with NaN."""
    lacking = clusters - dataset.sizes.get("cluster", clusters)
    return dataset.pad(cluster=(0, lacking)) if lacking > 0 else dataset
