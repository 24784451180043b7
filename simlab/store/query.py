"""Answer what a store says about chosen cells and measures."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from simlab.measures.labels import LABELS
from simlab.messages import or_nearest, word
from simlab.store import fill_values, reached
from simlab.store.coordinates import as_written
from simlab.store.held_fixed import HELD_FIXED, held_fixed, say
from simlab.store.intervals import VIEWS, campaigns, sureness
from simlab.store.means import labels_of_means, means
from simlab.store.measures import FAILED, Measures, all_measures, estimate, n_clusters, set_out
from simlab.store.opening import axes_of, declared_outcomes, measures_of, outcome_names, outcomes_of_cell
from simlab.store.undefined import nothing_counted, undefined
from simlab.store.units import speaking
from simlab.types import Array, InputError

if TYPE_CHECKING:
    import xarray as xr

RESERVATION = "reservation"
"""Attribute of a store, and field of records, where its worlds failed the checks against their pilot."""
REACHED = "reached"
"""Field of records of a store that was run to a precision."""
ALL_FAILED, NOT_RUN = "every campaign failed", "no campaign was run"
SAID = {
    "_clusters": "clusters that the value rests on",
    "_low": "lower bound of the 95 % interval",
    "_high": "upper bound of the 95 % interval",
    "_failed": "campaigns of the cell that failed",
    "_reason": "why there is no value",
}
UNEXPLAINED, BROKEN = "undefined", "the measure failed"
"""Why a measure has no value in a cell."""


def with_measures(dataset: xr.Dataset, names: Sequence[str]) -> xr.Dataset:
    """Add measures that a store does not hold but its outcomes give: measures, and means of stored outcomes.

    Of a measure and an outcome of one name the measure is meant. Raises InputError for a name that is neither, and
    where the store keeps no outcomes.
    """
    held = measures_of(dataset)
    if all(name in held for name in names):
        return dataset
    known = {**means(declared_outcomes(dataset)), **all_measures()}
    for name in names:
        if name not in held and name not in known:
            choices = dict.fromkeys([*held, *known])
            raise InputError(f"the store does not have the measure {name}; {or_nearest(name, choices)}")
    return add_measures(dataset, {name: known[name] for name in names if name in known})


def add_measures(dataset: xr.Dataset, measures: Measures) -> xr.Dataset:
    """Add measures that a store does not hold, computed from its outcomes; its own stay as they are.

    A measure that bears the name of an outcome takes its place. Raises InputError where the store keeps no outcomes.
    """
    import xarray as xr

    wanted = {name: measure for name, measure in measures.items() if name not in measures_of(dataset)}
    if not wanted:
        return dataset
    axes = axes_of(dataset)
    shape = tuple(dataset.sizes[axis] for axis in axes)
    declared = outcome_names(dataset)
    estimates = {
        position: estimate(wanted, outcomes_of_cell(dataset, position), declared) for position in np.ndindex(*shape)
    }
    added = set_out(axes, shape, estimates, {name: _about(dataset, name) for name in wanted})
    rest = dataset.drop_vars([name for name in wanted if name in dataset])
    more = _padded(xr.Dataset(speaking(added)), dataset.sizes.get("cluster", 0))
    return say(_padded(rest, n_clusters(estimates)).assign(more), wanted)


def _about(dataset: xr.Dataset, name: str) -> dict[str, Any]:
    """Say what a measure is called, and of the mean of an outcome in which unit it is."""
    if name in LABELS or name not in dataset:
        return dict(LABELS.get(name, {}))
    unit = dataset[name].attrs.get("units")
    return {**labels_of_means(declared_outcomes(dataset)).get(name, {}), **({"units": unit} if unit else {})}


def records(dataset: xr.Dataset, measures: Sequence[str]) -> list[dict[str, Any]]:
    """List the cells of an open store: the values on the axes, and each measure with what there is to say of it.

    Beside a measure `m` stand `m_mcse`, `m_n`, `m_clusters`, `m_low` and `m_high` (a 95 % interval inside the measure's
    range), and `m_failed`, the campaigns of the cell that failed. Where some cell has no value, `m_reason` says why.
    `held_fixed` says of each measure what its studies share, `reservation` what is to be said of all of them. Of a
    store that was run to a precision `reached` tells whether a cell has it (None: no error can be told).
    """
    axes = axes_of(dataset)
    columns = [column for name in measures for column in _columns(dataset, name).items()]
    columns += [] if (told := reached.column(dataset)) is None else [(REACHED, told)]
    cells = itertools.product(*(as_written(dataset[axis].values) for axis in axes))
    fields = [*axes, *(field for field, _ in columns)]
    rows = zip(*(np.asarray(values).ravel().tolist() for _, values in columns), strict=True)
    fixed = {HELD_FIXED: held} if (held := held_fixed(dataset, measures)) else {}
    fixed |= {RESERVATION: dataset.attrs[RESERVATION]} if RESERVATION in dataset.attrs else {}
    return [dict(zip(fields, [*cell, *values], strict=True)) | fixed for cell, values in zip(cells, rows, strict=True)]


def with_views(dataset: xr.Dataset, measures: Sequence[str]) -> xr.Dataset:
    """Return measures, in memory, with all that is said of them: variables over the axes, as in `records`."""
    import xarray as xr

    axes = axes_of(dataset)
    columns = {name: _columns(dataset, name) for name in measures}
    held = [field for told in columns.values() for field in told if field in dataset]
    views = {
        field: xr.Variable(axes, values, _about_view(dataset[name].attrs, field.removeprefix(name)))
        for name, told in columns.items()
        for field, values in told.items()
        if field not in held
    }
    return dataset[held].assign(views)[[field for told in columns.values() for field in told]].load()


def _about_view(attributes: Mapping[str, Any], view: str) -> dict[str, Any]:
    unit = attributes.get("units") if view in ("_low", "_high") else "campaigns" if view == "_failed" else None
    return {"long_name": SAID[view]} | ({"units": unit} if unit else {})


def _columns(dataset: xr.Dataset, name: str) -> dict[str, Array]:
    """Return what is said of a measure, over all axes."""
    stored = {
        f"{name}{end}": dataset[f"{name}{end}"].transpose(*axes_of(dataset)).values for end in ("", "_mcse", "_n")
    }
    axes = axes_of(dataset)
    sure, (failed, ok) = sureness(dataset, name, axes), campaigns(dataset, axes)
    views = dict(zip((f"{name}{end}" for end in VIEWS), (sure.clusters, sure.low, sure.high, failed), strict=True))
    without = ~np.isfinite(stored[name])
    if not without.any():
        return stored | views
    # What a measure counts that is not simlab's own is not known here.
    unexplained = nothing_counted(name) if name in LABELS else UNEXPLAINED
    broken = dataset[name].attrs.get(FAILED)
    without_n = f"{BROKEN}: {broken}" if broken else undefined(dataset, name)
    reasons = _reasons(failed, ok, np.where(stored[f"{name}_n"] == 0, without_n, unexplained))
    reasons[~without] = None
    return stored | views | {f"{name}_reason": reasons}


def _reasons(failed: Array, ok: Array, although_ran: Array) -> Array:
    """Say why a measure has no value in a cell: nothing was carried out there, or another reason."""
    nothing_ran = np.where(failed > 0, ALL_FAILED, NOT_RUN)
    return np.asarray(np.where(ok == 0, nothing_ran, although_ran), object)


def select(dataset: xr.Dataset, conditions: Mapping[str, Sequence[Any]]) -> xr.Dataset:
    """Narrow a store to values of its axes; an axis stays a dimension. Raises InputError for what it does not hold."""
    axes = axes_of(dataset)
    dataset = reached.remembered(dataset) if conditions else dataset
    for axis, values in conditions.items():
        if axis not in axes:
            raise InputError(f"the store has no axis {axis}; {or_nearest(axis, axes) if axes else 'it has one cell'}")
        kept = [place_on(dataset, axis, value) for value in values]
        dataset = _placed_anew(dataset.isel({axis: kept}), axes.index(axis), kept)
    return dataset


def _placed_anew(dataset: xr.Dataset, axis: int, kept: Sequence[int]) -> xr.Dataset:
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
        dataset[name].attrs |= fill_values.with_absent(absent)
    return dataset


def place_on(dataset: xr.Dataset, axis: str, value: Any) -> int:
    """Find a value on an axis, as it is typed or as it is; null is None or NaN. Raises InputError where it is not."""
    text = word(None if value != value else value)
    held = as_written(dataset[axis].values)
    for index, other in enumerate(held):
        if text == word(other) or (type(other) in (int, float) and _number(text) == other):
            return index
    raise InputError(f"{axis}={text} is not in the store; {or_nearest(text, map(word, held))}")


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _padded(dataset: xr.Dataset, clusters: int) -> xr.Dataset:
    """Make room for as many clusters, filled with NaN."""
    lacking = clusters - dataset.sizes.get("cluster", clusters)
    return dataset.pad(cluster=(0, lacking)) if lacking > 0 else dataset
