"""Say which cells of a store have reached the precision to which it was run, and how far the others are."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from simlab.config.until import Target, targets_in
from simlab.measures.precision import Standing, gap, standing
from simlab.store.intervals import campaigns, range_in, telling
from simlab.store.opening import axes_of, measures_of
from simlab.types import Array, Floats

if TYPE_CHECKING:
    import xarray as xr

Position = tuple[int, ...]
TOLD = "reached_in_all"
"""Coordinate of a store that was narrowed."""


class Reach(NamedTuple):
    """Hold how a target stands in each cell; of differences, that of the cell with the one it is furthest in."""

    target: Target
    cells: dict[Position, Standing]

    def reached(self, position: Position) -> bool | None:
        """Tell whether a cell has the precision; None where no error can be told."""
        return self.cells[position].reached


def reaches(dataset: xr.Dataset) -> list[Reach]:
    """Hold the errors of a store against the targets of its last run, as far as it holds their measures."""
    targets = targets_in(json.loads(dataset.attrs.get("sweep", "{}")))
    held = [target for target in targets if target.measure in measures_of(dataset)]
    return [Reach(target, dict(_cells(dataset, target))) for target in held]


def remembered(dataset: xr.Dataset) -> xr.Dataset:
    """Keep, as a coordinate, what is told of each cell beside its neighbours, before some of them are left out."""
    targets = targets_in(json.loads(dataset.attrs.get("sweep", "{}")))
    if TOLD in dataset.coords or not any(target.difference for target in targets):
        return dataset
    told = column(dataset)
    return dataset if told is None else dataset.assign_coords({TOLD: (axes_of(dataset), told)})


def column(dataset: xr.Dataset) -> Array | None:
    """Tell of each cell, over the axes, whether all targets are reached there; None for a store that has no target."""
    if TOLD in dataset.coords:
        return np.asarray(dataset[TOLD].transpose(*axes_of(dataset)).values, object)
    found = reaches(dataset)
    if not found:
        return None
    shape = tuple(dataset.sizes[axis] for axis in axes_of(dataset))
    told = np.full(shape, None, object)
    for position in np.ndindex(*shape):
        of_cell = [reach.reached(position) for reach in found]
        told[position] = False if False in of_cell else None if None in of_cell else True
    return told


def _cells(dataset: xr.Dataset, target: Target) -> Iterator[tuple[Position, Standing]]:
    axes = axes_of(dataset)
    influence = dataset[f"{target.measure}_influence"].transpose(*axes, "cluster").values
    within = range_in(dataset, target.measure)
    ran = np.add(*campaigns(dataset, axes)) > 0
    seen = telling(dataset, target.measure)

    def held(of: Floats, places: Sequence[Position], clusters: int | None = None) -> Standing:
        counted = None if seen is None else min((seen[place] for place in places), default=0)
        return standing(of, target.mcse, within=within, clusters=clusters, telling=counted)

    for position in np.ndindex(*influence.shape[:-1]):
        if not target.difference:
            yield position, held(influence[position], [position])
            continue
        pairs = [(position, other) for other in _neighbours(position, influence) if ran[position] and ran[other]]
        gaps = [(pair, *gap(*(influence[place] for place in pair))) for pair in pairs]
        found = [held(of, pair, clusters) for pair, of, clusters in gaps]
        yield position, max(found, key=_distance, default=held(np.empty(0), []))


def _neighbours(position: Position, influence: Floats) -> Iterator[Position]:
    """List the cells that differ in the value on one axis."""
    for axis, size in enumerate(influence.shape[:-1]):
        for k in range(size):
            if k != position[axis]:
                yield (*position[:axis], k, *position[axis + 1 :])


def _distance(at: Standing) -> tuple[int, float]:
    order = (True, None, False)
    return order.index(at.reached), 0.0 if np.isnan(at.error) else at.error
