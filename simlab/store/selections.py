"""Select cells of a store by their values on axes and by bounds on measures, sort them, and take the first ones.

Call `select_cells` with an open store, bounds and an order, which returns a `Selection` of indices into the flattened
grid; `gather` takes indices and returns the store of these cells.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from simlab.store import fill_values
from simlab.store.intervals import sureness
from simlab.store.opening import name_axes
from simlab.store.query import remember_precision
from simlab.types import Bools, Floats, Ints

if TYPE_CHECKING:
    import xarray as xr

CELL = "cell"
"""Dimension of cells that were selected out of a grid."""
_MEETS = {">=": np.greater_equal, "<=": np.less_equal, ">": np.greater, "<": np.less}


class Bound(NamedTuple):
    """Bound on a measure or an axis of numbers (`name`); `sign` is >=, <=, > or <, `text` the bound as typed."""

    name: str
    sign: str
    value: float
    text: str


class SortOrder(NamedTuple):
    """Measure or axis by which cells are sorted."""

    name: str
    descending: bool = False


class Selection(NamedTuple):
    """Indices `[cell]` of cells in the flattened grid: those that meet the bounds, in order.

    `straddling[bound, index]` marks, over the whole grid, the cells whose 95 % interval lies on both sides of a bound.
    `missed` are those that miss a bound only within the error, the nearest first; `nearest` is the order in which all
    cells come closest to the bounds, where none meets them.
    """

    matches: Ints
    straddling: Bools
    missed: Ints
    nearest: Ints


def select_cells(dataset: xr.Dataset, bounds: Sequence[Bound], order: SortOrder | None) -> Selection:
    """Select the cells that meet all bounds by their values, in order (None: as they lie).

    A cell without a value meets no bound and comes last.
    """
    axes = name_axes(dataset)
    n = int(np.prod([dataset.sizes[axis] for axis in axes], dtype=int))
    meets, straddling, lacking = np.ones((len(bounds), n), bool), np.zeros((len(bounds), n), bool), np.zeros(n)
    for k, bound in enumerate(bounds):
        value = flat_values(dataset, bound.name)
        meets[k] = _MEETS[bound.sign](value, bound.value)
        if bound.name not in axes:
            sure = sureness(dataset, bound.name, axes)
            straddling[k] = (np.ravel(sure.low) < bound.value) & (np.ravel(sure.high) > bound.value)
        lacking += np.where(meets[k], 0.0, np.abs(value - bound.value) / _spread(value))
    meets_all: Bools = np.asarray(meets.all(0))
    within: Bools = np.asarray((meets | straddling).all(0) & ~meets_all)
    cells = np.flatnonzero(meets_all)
    by_distance = np.argsort(lacking, kind="stable")
    nearest = by_distance[np.isfinite(lacking[by_distance])] if not len(cells) else cells[:0]
    missed = by_distance[within[by_distance]]
    return Selection(cells[_sort_cells(dataset, cells, order)] if order else cells, straddling, missed, nearest)


def flat_values(dataset: xr.Dataset, name: str) -> Floats:
    """Return a measure, or an axis of numbers, for each cell of the flattened grid."""
    axes = name_axes(dataset)
    if name not in axes:
        return np.ravel(np.asarray(dataset[name].transpose(*axes).values, float))
    shape = [dataset.sizes[axis] for axis in axes]
    along = np.asarray(dataset[name].values, float).reshape([-1 if axis == name else 1 for axis in axes])
    return np.ravel(np.broadcast_to(along, shape))


def _sort_cells(dataset: xr.Dataset, cells: Ints, order: SortOrder) -> Ints:
    """Return the order of cells by a measure or an axis; cells without a value stand last, equal ones as they were."""
    axes = name_axes(dataset)
    if order.name in axes:
        shape = [dataset.sizes[axis] for axis in axes]
        value = np.asarray(np.unravel_index(cells, shape)[axes.index(order.name)], float)
    else:
        value = flat_values(dataset, order.name)[cells]
    return np.argsort(-value if order.descending else value, kind="stable")


def _spread(value: Floats) -> float:
    """Return the range of values in a store, by which distances from bounds on several measures are comparable."""
    known = value[np.isfinite(value)]
    # A measure that is the same everywhere has no range to divide by.
    return float(np.ptp(known)) or 1.0 if known.size else 1.0


def gather(dataset: xr.Dataset, cells: Ints) -> xr.Dataset:
    """Return a store of one axis, `cell`, that has these cells of the flattened grid in this order.

    The values on the axes of the store are coordinates along it.
    """
    import xarray as xr

    axes = name_axes(dataset)
    if not axes:
        return dataset.expand_dims({CELL: [0]}).isel({CELL: cells}) if len(cells) != 1 else dataset
    shape = [dataset.sizes[axis] for axis in axes]
    at = np.unravel_index(cells, shape)
    dataset = remember_precision(dataset)
    taken = dataset.isel({axis: xr.DataArray(k, dims=CELL) for axis, k in zip(axes, at, strict=True)})
    taken = taken.assign_coords({CELL: (CELL, np.arange(len(cells)), {"key": CELL})})
    places = {int(cell): k for k, cell in enumerate(cells)}
    for name in taken.data_vars:
        if absent := fill_values.absent_cells(taken[name].attrs):
            flat = np.ravel_multi_index(np.transpose(absent), shape).tolist()
            kept = sorted(places[cell] for cell in flat if cell in places)
            about = {key: value for key, value in taken[name].attrs.items() if key != fill_values.ABSENT}
            taken[name].attrs = about | fill_values.absence_attributes([[k] for k in kept])
    sweep: dict[str, Any] = json.loads(dataset.attrs["sweep"])
    return taken.assign_attrs(sweep=json.dumps(sweep | {"axes": [{"name": CELL, "key": CELL, "values": []}]}))
