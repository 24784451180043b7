"""Split a measure of a store into its values in each study of each world.

`values_by_study` takes a store and the indices of a cell and returns `[world, study]`, from the outcomes of campaigns
(one campaign is one study in one world); `panel_of_cells` does so for all cells of a grid.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from simlab.measures.labels import BETWEEN
from simlab.store.layout import is_per_world
from simlab.store.measures import all_measures, bound_measures_of, estimate, means
from simlab.store.opening import config_of, declared_outcomes, name_axes, outcomes_of_cell
from simlab.types import OK, Array, Estimate, Floats, InputError, Outcome, Outcomes

if TYPE_CHECKING:
    import xarray as xr

LEAST_COMPARED = 4
"""Studies that a world needs for the noise of a measure that compares studies with each other."""


def values_by_study(dataset: xr.Dataset, index: Sequence[int], measure: str) -> Floats:
    """Return the value of a measure in each study of each world of a cell: `[world, study]`, NaN where there is none.

    `index` has an index for each axis of the store. A world's row averages to the measure over its studies: they are
    jackknife pseudo-values, of a mean over studies the studies' own values. Where a world has several pools of raters,
    draws of documents or document sets these stand in place of studies. Raises InputError where the store keeps its
    measures only, and where studies are too few for a measure that compares them.
    """
    declared = declared_outcomes(dataset)
    outcomes, computed = outcomes_of_cell(dataset, index), _bound(dataset, declared, measure)
    worlds = np.unique(outcomes["world"])
    rows = [_estimate_world(outcomes, declared, int(world), measure, computed) for world in worlds]
    width = max((len(row) for row in rows), default=1)
    return np.array([np.pad(row, (0, width - len(row)), constant_values=np.nan) for row in rows]).reshape(-1, width)


def panel_of_cells(dataset: xr.Dataset, measure: str, worlds: int) -> Floats:
    """Return the value of a measure in each study of each world of every cell: `[axis, ..., world, study]`.

    NaN where there is none; `worlds` is the number of worlds of the sweep. Raises InputError as `values_by_study` does,
    and where a cell of the grid has no campaign.
    """
    shape = tuple(dataset.sizes[axis] for axis in name_axes(dataset))
    rows = {}
    for at in np.ndindex(*shape):
        outcomes = outcomes_of_cell(dataset, at)
        if not len(outcomes["world"]):
            raise InputError(
                "some cells of the grid have no campaigns, and shares of a variance need all of them; "
                "name values of axes that leave these cells out"
            )
        rows[at] = np.unique(outcomes["world"]), values_by_study(dataset, at, measure)
    width = max(values.shape[1] for _, values in rows.values())
    panel = np.full((*shape, worlds, width), np.nan)
    for at, (of, values) in rows.items():
        panel[at][of, : values.shape[1]] = values
    return panel


def _bound(dataset: xr.Dataset, declared: Mapping[str, Outcome], measure: str) -> Callable[[Outcomes], Estimate]:
    config = config_of(dataset)
    if measure in config.get("measure", {}):
        return bound_measures_of({**config, "measure": {measure: config["measure"][measure]}})[measure]
    known = {**means(declared), **all_measures()}
    return known[measure]


def _estimate_world(
    outcomes: Outcomes,
    declared: Mapping[str, Outcome],
    world: int,
    measure: str,
    computed: Callable[[Outcomes], Estimate],
) -> Floats:
    own = _select_world(outcomes, declared, world)
    estimated = estimate({measure: computed}, own, declared).get(measure)
    if not isinstance(estimated, Estimate) or not np.isfinite(estimated.value):
        return np.full(1, np.nan)
    if measure in BETWEEN and len(estimated.influence) < LEAST_COMPARED:
        raise InputError(
            f"{measure} compares the studies of a world, and its noise needs {LEAST_COMPARED} of them; "
            "run more (studies=20)"
        )
    row = np.asarray(estimated.value + estimated.influence, float)
    if estimated.cluster != "replicate":
        return row
    # A study keeps its place, so that designs are compared study by study.
    placed = np.full(int(own["study"].max()) + 1, np.nan)
    placed[own["study"]] = np.where(own["status"] == OK, row, np.nan)
    return placed


def _select_world(outcomes: Outcomes, declared: Mapping[str, Outcome], world: int) -> dict[str, Array]:
    here = outcomes["world"] == world
    return {
        name: array[world : world + 1] if is_per_world(declared, name) else array[here]
        for name, array in outcomes.items()
    }
