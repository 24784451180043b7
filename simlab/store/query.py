"""Query an open store: select cells by values on axes, add measures, and list the cells as records.

`select` and `ensure_measures` take an `xarray.Dataset` and return another, narrowed or with more measures; `records`
lists a dict for each cell, with the value, error and interval of each measure.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from simlab.config.precision_targets import PrecisionTarget, read_targets
from simlab.engine import ledger
from simlab.measures.labels import EMPTINESS, LABELS
from simlab.measures.precision import ErrorProgress, gap, standing
from simlab.messages import suggest, word
from simlab.store import fill_values
from simlab.store.coordinates import ASKED, axis_values, restore_axis_values
from simlab.store.intervals import VIEWS, campaigns, count_informative_clusters, read_range, sureness
from simlab.store.measures import (
    FAILED,
    Measures,
    all_measures,
    estimate,
    explain_empty,
    explain_undefined,
    labels_of_means,
    means,
    n_clusters,
    set_out,
)
from simlab.store.opening import config_of, declared_outcomes, measures_of, name_axes, outcome_names, outcomes_of_cell
from simlab.store.reservations import HELD_FIXED, add_notes, find_entry, read_notes
from simlab.store.units import describe_variables
from simlab.types import Array, Floats, InputError

if TYPE_CHECKING:
    import xarray as xr

Position = tuple[int, ...]
TOLD = "reached_in_all"
"""Coordinate of a store that was narrowed."""

FOUND = ("power", "significant_share")
"""Measures of the share of differences found: of the true ones, or, where there are none known, of all pairs."""

RESERVATION = "reservation"
"""Attribute of a store, and field of records, where its worlds failed the checks against their pilot."""
REACHED = "reached"
"""Field of records of a store that was run to a precision."""
ALL_FAILED, NOT_RUN = "every campaign failed", "no campaign was run"
NOT_ASKED = "the sweep leaves the cell out"
SAID = {
    "_clusters": "clusters that the value rests on",
    "_low": "lower bound of the 95 % interval",
    "_high": "upper bound of the 95 % interval",
    "_failed": "campaigns of the cell that failed",
    "_reason": "why there is no value",
}
UNEXPLAINED, BROKEN = "undefined", "the measure failed"
"""Why a measure has no value in a cell."""


def setting(dataset: xr.Dataset, key: str, axes: Sequence[str]) -> Array:
    """Return the value of a key of the config in every cell, over axes in this order; None where it is unknown.

    The store has the values that all cells share and those on axes. Further values of the options on an axis are in
    the ledger only, which may be missing.
    """
    values = np.full([dataset.sizes[axis] for axis in axes], None, object)
    on_axis = [axis for axis in axes if dataset[axis].attrs.get("key") == key]
    if on_axis:
        k = axes.index(on_axis[0])
        values[...] = np.array(restore_axis_values(dataset[on_axis[0]].values), object).reshape(
            [-1 if other == k else 1 for other in range(len(axes))]
        )
        return values
    shared = find_entry(config_of(dataset) if "config" in dataset.attrs else {}, key)
    if shared is not None or not axes:
        values[...] = shared
        return values
    configs, on_axes = _configs(dataset), [restore_axis_values(dataset[axis].values) for axis in axes]
    for index in np.ndindex(values.shape):
        at = {axis: of[i] for axis, of, i in zip(axes, on_axes, index, strict=True)}
        values[index] = find_entry(configs.get(frozenset(at.items()), {}), key)
    return values


def _configs(dataset: xr.Dataset) -> dict[frozenset[tuple[str, Any]], Mapping[str, Any]]:
    """Return the config of each cell that the ledger beside a store knows, by its values on the axes."""
    source = dataset.encoding.get("source")
    if source is None:
        return {}
    try:
        with ledger.reading(Path(str(source)).parent) as book:
            axes = (book.declaration() or {"axes": []})["axes"]
            values = [restore_axis_values(axis_values(axis["values"])) for axis in axes]
            return {
                frozenset((axis["name"], of[k]) for axis, of, k in zip(axes, values, entry.position, strict=True)):
                entry.config for entry in book.entries()
            }  # fmt: skip
    except (InputError, OSError):
        return {}


class Reach(NamedTuple):
    """Progress towards a target in each cell; for a target on differences, that of its least precise difference."""

    target: PrecisionTarget
    cells: dict[Position, ErrorProgress]

    def reaches_target(self, position: Position) -> bool | None:
        """Return whether a cell has the precision; None where its error is unknown."""
        return self.cells[position].reached


def reaches(dataset: xr.Dataset) -> list[Reach]:
    """Return the progress towards each target of a store's last run, as far as the store holds its measure."""
    targets = read_targets(json.loads(dataset.attrs.get("sweep", "{}")))
    available = [target for target in targets if target.measure in measures_of(dataset)]
    return [Reach(target, dict(_cells(dataset, target))) for target in available]


def remember_precision(dataset: xr.Dataset) -> xr.Dataset:
    """Add the coordinate `reached_in_all`, computed before cells are left out: whether each reaches its targets."""
    targets = read_targets(json.loads(dataset.attrs.get("sweep", "{}")))
    if TOLD in dataset.coords or not any(target.difference for target in targets):
        return dataset
    reached = reached_column(dataset)
    return dataset if reached is None else dataset.assign_coords({TOLD: (name_axes(dataset), reached)})


def reached_column(dataset: xr.Dataset) -> Array | None:
    """Return whether each cell, over the axes, reaches all targets; None for a store that has no target."""
    if TOLD in dataset.coords:
        return np.asarray(dataset[TOLD].transpose(*name_axes(dataset)).values, object)
    progress = reaches(dataset)
    if not progress:
        return None
    shape = tuple(dataset.sizes[axis] for axis in name_axes(dataset))
    reached = np.full(shape, None, object)
    for position in np.ndindex(*shape):
        of_cell = [reach.reaches_target(position) for reach in progress]
        # One missed target decides; one that cannot be told leaves the cell open.
        reached[position] = False if False in of_cell else None if None in of_cell else True
    return reached


def _cells(dataset: xr.Dataset, target: PrecisionTarget) -> Iterator[tuple[Position, ErrorProgress]]:
    axes = name_axes(dataset)
    influence = dataset[f"{target.measure}_influence"].transpose(*axes, "cluster").values
    within = read_range(dataset, target.measure)
    ran = np.add(*campaigns(dataset, axes)) > 0
    seen = count_informative_clusters(dataset, target.measure)

    def judge_error(of: Floats, places: Sequence[Position], clusters: int | None = None) -> ErrorProgress:
        counted = None if seen is None else min((seen[place] for place in places), default=0)
        return standing(of, target.mcse, within=within, clusters=clusters, telling=counted)

    for position in np.ndindex(*influence.shape[:-1]):
        if not target.difference:
            yield position, judge_error(influence[position], [position])
            continue
        pairs = [(position, other) for other in _neighbours(position, influence) if ran[position] and ran[other]]
        gaps = [(pair, *gap(*(influence[place] for place in pair))) for pair in pairs]
        progress = [judge_error(of, pair, clusters) for pair, of, clusters in gaps]
        yield position, max(progress, key=_distance, default=judge_error(np.empty(0), []))


def _neighbours(position: Position, influence: Floats) -> Iterator[Position]:
    """List the cells that differ in the value on one axis."""
    for axis, size in enumerate(influence.shape[:-1]):
        for k in range(size):
            if k != position[axis]:
                yield (*position[:axis], k, *position[axis + 1 :])


def _distance(at: ErrorProgress) -> tuple[int, float]:
    order = (True, None, False)
    return order.index(at.reached), 0.0 if np.isnan(at.error) else at.error


def find_companion(dataset: xr.Dataset, names: Sequence[str]) -> str | None:
    """Name the measure of `FOUND` to show beside measures `names`; None where none is needed or stored."""
    if not EMPTINESS & set(names) or set(FOUND) & set(names):
        return None
    companions = (name for name in FOUND if name in measures_of(dataset))
    return next((name for name in companions if np.isfinite(dataset[name].values).any()), None)


def add_companion(dataset: xr.Dataset, names: Sequence[str]) -> xr.Dataset:
    """Add to a store the measure that `find_companion` names, from outcomes; a store without these stays as it is."""
    if not EMPTINESS & set(names) or set(FOUND) & set(names):
        return dataset
    for name in FOUND:
        if find_companion(dataset, names):
            return dataset
        try:
            dataset = ensure_measures(dataset, [name])
        except InputError:
            return dataset
    return dataset


def ensure_measures(dataset: xr.Dataset, names: Sequence[str]) -> xr.Dataset:
    """Add measures that a store does not hold but its outcomes give: measures, and means of stored outcomes.

    Of a measure and an outcome of one name the measure is meant. Raises InputError for a name that is neither, and
    where the store keeps no outcomes.
    """
    stored = measures_of(dataset)
    if all(name in stored for name in names):
        return dataset
    known = {**means(declared_outcomes(dataset)), **all_measures()}
    for name in names:
        if name not in stored and name not in known:
            choices = dict.fromkeys([*stored, *known])
            raise InputError(f"the store does not have the measure {name}; {suggest(name, choices)}")
    return add_measures(dataset, {name: known[name] for name in names if name in known})


def add_measures(dataset: xr.Dataset, measures: Measures) -> xr.Dataset:
    """Add measures that a store does not hold, computed from its outcomes; its own stay as they are.

    A measure that bears the name of an outcome takes its place. Raises InputError where the store keeps no outcomes.
    """
    import xarray as xr

    wanted = {name: measure for name, measure in measures.items() if name not in measures_of(dataset)}
    if not wanted:
        return dataset
    axes = name_axes(dataset)
    shape = tuple(dataset.sizes[axis] for axis in axes)
    declared = outcome_names(dataset)
    estimates = {
        position: estimate(wanted, outcomes_of_cell(dataset, position), declared) for position in np.ndindex(*shape)
    }
    added = set_out(axes, shape, estimates, {name: _describe_measure(dataset, name) for name in wanted})
    rest = dataset.drop_vars([name for name in wanted if name in dataset])
    more = _pad_clusters(xr.Dataset(describe_variables(added)), dataset.sizes.get("cluster", 0))
    return add_notes(_pad_clusters(rest, n_clusters(estimates)).assign(more), wanted)


def _describe_measure(dataset: xr.Dataset, name: str) -> dict[str, Any]:
    """Return the label of a measure, and the unit of an outcome's mean."""
    if name in LABELS or name not in dataset:
        return dict(LABELS.get(name, {}))
    unit = dataset[name].attrs.get("units")
    return {**labels_of_means(declared_outcomes(dataset)).get(name, {}), **({"units": unit} if unit else {})}


def records(dataset: xr.Dataset, measures: Sequence[str]) -> list[dict[str, Any]]:
    """List the cells of an open store: the values on the axes, and each measure with its error, interval and counts.

    Beside a measure `m` stand `m_mcse`, `m_n`, `m_clusters`, `m_low` and `m_high` (a 95 % interval inside the measure's
    range), and `m_failed`, the campaigns of the cell that failed. Where some cell has no value, `m_reason` says why.
    `held_fixed` names by measure the draws that its studies share, `reservation` is a warning about all of them. Of a
    store that was run to a precision `reached` tells whether a cell has it (None: no error can be told).
    """
    axes = name_axes(dataset)
    columns = [column for name in measures for column in _columns(dataset, name).items()]
    columns += [] if (reached := reached_column(dataset)) is None else [(REACHED, reached)]
    cells = itertools.product(*(restore_axis_values(dataset[axis].values) for axis in axes))
    fields = [*axes, *(field for field, _ in columns)]
    rows = zip(*(np.asarray(values).ravel().tolist() for _, values in columns), strict=True)
    fixed = {HELD_FIXED: notes} if (notes := read_notes(dataset, measures)) else {}
    fixed |= {RESERVATION: dataset.attrs[RESERVATION]} if RESERVATION in dataset.attrs else {}
    return [dict(zip(fields, [*cell, *values], strict=True)) | fixed for cell, values in zip(cells, rows, strict=True)]


def build_views(dataset: xr.Dataset, measures: Sequence[str]) -> xr.Dataset:
    """Return measures, in memory, with the fields that `records` has of each, as variables over the axes."""
    import xarray as xr

    axes = name_axes(dataset)
    columns = {name: _columns(dataset, name) for name in measures}
    stored = [field for by_field in columns.values() for field in by_field if field in dataset]
    views = {
        field: xr.Variable(axes, values, _describe_view(dataset[name].attrs, field.removeprefix(name)))
        for name, by_field in columns.items()
        for field, values in by_field.items()
        if field not in stored
    }
    return dataset[stored].assign(views)[[field for by_field in columns.values() for field in by_field]].load()


def _describe_view(attributes: Mapping[str, Any], view: str) -> dict[str, Any]:
    unit = attributes.get("units") if view in ("_low", "_high") else "campaigns" if view == "_failed" else None
    return {"long_name": SAID[view]} | ({"units": unit} if unit else {})


def _columns(dataset: xr.Dataset, name: str) -> dict[str, Array]:
    """Return the fields of a measure, by name, over all axes; see `records`."""
    stored = {
        f"{name}{end}": dataset[f"{name}{end}"].transpose(*name_axes(dataset)).values for end in ("", "_mcse", "_n")
    }
    axes = name_axes(dataset)
    sure, (failed, ok) = sureness(dataset, name, axes), campaigns(dataset, axes)
    views = dict(zip((f"{name}{end}" for end in VIEWS), (sure.clusters, sure.low, sure.high, failed), strict=True))
    without = ~np.isfinite(stored[name])
    if not without.any():
        return stored | views
    # What a measure counts that is not simlab's own is not known here.
    unexplained = explain_empty(name) if name in LABELS else UNEXPLAINED
    broken = dataset[name].attrs.get(FAILED)
    without_n = f"{BROKEN}: {broken}" if broken else explain_undefined(dataset, name)
    reasons = _reasons(failed, ok, np.where(stored[f"{name}_n"] == 0, without_n, unexplained))
    reasons[~without] = None
    if ASKED in dataset:
        reasons[~dataset[ASKED].transpose(*axes).values.astype(bool)] = NOT_ASKED
    return stored | views | {f"{name}_reason": reasons}


def _reasons(failed: Array, ok: Array, although_ran: Array) -> Array:
    """Return why a measure has no value in a cell: nothing was carried out there, or another reason."""
    nothing_ran = np.where(failed > 0, ALL_FAILED, NOT_RUN)
    return np.asarray(np.where(ok == 0, nothing_ran, although_ran), object)


def select(dataset: xr.Dataset, conditions: Mapping[str, Sequence[Any]]) -> xr.Dataset:
    """Narrow a store to values of its axes; an axis stays a dimension. Raises InputError for what it does not hold."""
    axes = name_axes(dataset)
    dataset = remember_precision(dataset) if conditions else dataset
    for axis, values in conditions.items():
        if axis not in axes:
            raise InputError(f"the store has no axis {axis}; {suggest(axis, axes) if axes else 'it has one cell'}")
        kept = [place_on(dataset, axis, value) for value in values]
        dataset = _move_absent(dataset.isel({axis: kept}), axes.index(axis), kept)
    return dataset


def _move_absent(dataset: xr.Dataset, axis: int, kept: Sequence[int]) -> xr.Dataset:
    """Name the cells without an outcome by where they lie among those that were kept along an axis."""
    for name in [name for name in dataset.data_vars if fill_values.absent_cells(dataset[name].attrs)]:
        about = dataset[name].attrs
        absent = [
            [*place[:axis], k, *place[axis + 1 :]]
            for k, index in enumerate(kept)
            for place in fill_values.absent_cells(about)
            if place[axis] == index
        ]
        dataset[name].attrs = {key: value for key, value in about.items() if key != fill_values.ABSENT}
        dataset[name].attrs |= fill_values.absence_attributes(absent)
    return dataset


def place_on(dataset: xr.Dataset, axis: str, value: Any) -> int:
    """Return the index of a value, typed or not, on an axis; null is None or NaN. Raises InputError if missing."""
    text = word(None if value != value else value)
    choices = restore_axis_values(dataset[axis].values)
    for index, other in enumerate(choices):
        # As numbers, too: .5 and 0.5, 40 and 40.0 are one value.
        if text == word(other) or (type(other) in (int, float) and _number(text) == other):
            return index
    raise InputError(f"{axis}={text} is not in the store; {suggest(text, map(word, choices))}")


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _pad_clusters(dataset: xr.Dataset, clusters: int) -> xr.Dataset:
    """Make room for as many clusters, filled with NaN."""
    lacking = clusters - dataset.sizes.get("cluster", clusters)
    return dataset.pad(cluster=(0, lacking)) if lacking > 0 else dataset
