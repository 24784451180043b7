"""Put the designs of several axes, and of several stores, along one axis, so that they are ranked together.

A design is a value of each of these axes, and a store where there are several. `compare_jointly` takes the stores by
name and returns a `Comparison`, whose axis is called `design`. Designs that met the same worlds share clusters, so that
their differences are paired; others have clusters of their own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from simlab.comparing.contrasts import Comparison, compare, describe
from simlab.comparing.promises import Doubts, find_doubts
from simlab.comparing.several_stores import (
    DESIGN,
    SEED,
    EqualLevels,
    check_stores,
    interpolate_to_costs,
    lay_beside,
    list_differing_keys,
    mark_unreached,
    other_systems,
    shared_worlds,
)
from simlab.messages import suggest, word
from simlab.store.coordinates import restore_axis_values
from simlab.store.opening import name_axes
from simlab.types import Array, InputError

if TYPE_CHECKING:
    import xarray as xr

STORE = "store"
"""Name of the part of a design that is its store, beside the axes."""


class _Part(NamedTuple):
    """Designs of one store, along the axis `design`.

    `cells` holds the measure (and the cost to make equal) over the other axes and `design`, `designs[k]` the store and
    axis values of a design, `against` the objections over the same dimensions, and `worlds[k]` what determines the
    systems of a design's worlds.
    """

    cells: xr.Dataset
    designs: list[dict[str, object]]
    against: Doubts
    worlds: list[dict[str, Any]]


def compare_jointly(
    stores: Mapping[str, xr.Dataset],
    by: Sequence[str],
    measure: str,
    baseline: object = None,
    levels: EqualLevels | None = None,
) -> Comparison:
    """Rank the designs along several axes of stores together; with `levels` where they cost, or take, the same.

    `stores` are datasets by name, `by` the axes that make up a design, `baseline` the name of a design (None: the best
    of each cell), `levels` the quantity to make equal, such as cost. Designs without cells on both sides of a cost are
    marked as unreached at it: nothing is extrapolated. Raises InputError for stores that vary other axes than each
    other, and for costs that no two designs have in common.
    """
    if len(stores) > 1:
        check_stores(stores, measure)
    others = _other_axes(stores, by)
    if levels is not None and not others:
        raise InputError(
            f"--at-equal {levels.name} needs an axis along which {levels.name} rises, and --by names them all; leave "
            f"the one that makes studies larger out of --by, such as {by[-1]}"
        )
    parts = [_take_part(name, dataset, by, others, measure, levels) for name, dataset in stores.items()]
    designs = [design for part in parts for design in part.designs]
    if len(stores) == 1:
        designs = [{axis: value for axis, value in design.items() if axis != STORE} for design in designs]
    met = [json.dumps(world, sort_keys=True) for part in parts for world in part.worlds]
    slots = {worlds: k for k, worlds in enumerate(dict.fromkeys(met))}
    joined = _join(parts, [slots[worlds] for worlds in met], list(map(_name, designs)))
    joined[measure].attrs.update(next(iter(stores.values()))[measure].attrs)
    against = _lay_doubts(parts, joined, others)
    keys = list_differing_keys([world for part in parts for world in part.worlds])
    equal = None
    if levels is not None:
        equal = interpolate_to_costs(joined, DESIGN, measure, levels, against)
        joined, against = equal.dataset, equal.against
    rows = compare(joined, by=DESIGN, measure=measure, baseline=baseline, against=against, unlike=bool(keys))
    if equal is not None:
        rows = mark_unreached(rows, equal)
    comparison = describe(rows, DESIGN, joined[measure], paired=len(slots) == 1, differing=keys, equal=equal)
    known = dict.fromkeys(part for design in designs for part in design)
    return replace(
        comparison, designs={_name(design): {part: design.get(part) for part in known} for design in designs}
    )


def _name(design: Mapping[str, object]) -> str:
    axes = ", ".join(f"{axis}={word(value)}" for axis, value in design.items() if axis != STORE)
    return ": ".join(filter(None, (str(design.get(STORE, "")), axes)))


def _other_axes(stores: Mapping[str, xr.Dataset], by: Sequence[str]) -> list[str]:
    """Name the axes that are not ranked along, which all stores have alike."""
    known = dict.fromkeys(axis for dataset in stores.values() for axis in name_axes(dataset))
    for axis in by:
        if axis not in known:
            raise InputError(f"no store has the axis {axis}; {suggest(axis, list(known))}")
    first, *rest = [[axis for axis in name_axes(dataset) if axis not in by] for dataset in stores.values()]
    for name, others in zip([*stores][1:], rest, strict=True):
        if odd := sorted({*first} ^ {*others}):
            where = name if odd[0] in others else next(iter(stores))
            raise InputError(f"{where} alone varies {odd[0]}; name it in --by, or keep one value: {odd[0]}=VALUE")
    if DESIGN in first:
        raise InputError(f"the store has an axis {DESIGN} itself; name it in --by, too, or keep one of its values")
    return first


def _take_part(
    name: str,
    dataset: xr.Dataset,
    by: Sequence[str],
    others: Sequence[str],
    measure: str,
    levels: EqualLevels | None,
) -> _Part:
    """Put the axes of a store that are ranked along, the last one fastest, into one."""
    own = [axis for axis in by if axis in name_axes(dataset)]
    values = [restore_axis_values(dataset[axis].values) for axis in own]
    places = list(np.ndindex(*(len(design) for design in values)))
    named = [dict(zip(own, (of[k] for of, k in zip(values, at, strict=True)), strict=True)) for at in places]
    doubts = find_doubts(dataset, measure, [*others, *own])
    shape = (*(dataset.sizes[axis] for axis in others), len(places))
    against = Doubts(doubts.marks.reshape(shape), doubts.failed.reshape(shape), doubts.ran.reshape(shape))
    moving = {str(dataset[axis].attrs.get("key", axis)): axis for axis in own if _moves_worlds(dataset, axis)}
    shared = shared_worlds(dataset)
    return _Part(
        _stack(dataset, own, others, dict.fromkeys([measure, *([levels.name] if levels else [])])),
        [{STORE: name, **design} for design in named],
        against,
        [{**shared, **{key: design[axis] for key, axis in moving.items()}} for design in named],
    )


def _moves_worlds(dataset: xr.Dataset, axis: str) -> bool:
    """True if designs along an axis live in other worlds: it varies the seed, or the systems."""
    return str(dataset[axis].attrs.get("key", axis)) == SEED or other_systems(dataset, axis)


def _stack(dataset: xr.Dataset, own: Sequence[str], others: Sequence[str], names: Mapping[str, None]) -> xr.Dataset:
    """Return the measures `names`, with errors and influence, over the axes `others` and one, `design`, for `own`."""
    import xarray as xr

    variables: dict[str, Any] = {}
    shape = [dataset.sizes[axis] for axis in others]
    for name in names:
        for suffix in ("", "_mcse", "_n", "_influence"):
            more = ["cluster"] if suffix == "_influence" else []
            laid = dataset[f"{name}{suffix}"].transpose(*others, *own, *more).values
            laid = laid.reshape(*shape, -1, *laid.shape[len(laid.shape) - len(more) :])
            variables[f"{name}{suffix}"] = ((*others, DESIGN, *more), laid, dataset[name].attrs)
    return xr.Dataset(variables, {axis: dataset[axis] for axis in others})


def _join(parts: Sequence[_Part], slots: Sequence[int], names: Sequence[str]) -> xr.Dataset:
    """Put the cells of all stores beside each other, on all values of the axes that they share."""
    import xarray as xr

    measured = {str(name): array.attrs for name, array in parts[0].cells.data_vars.items()}
    aligned = xr.align(*(part.cells for part in parts), join="outer", exclude=[DESIGN, "cluster"])
    others = [str(dim) for dim in next(iter(aligned[0].data_vars.values())).dims if dim != DESIGN]
    variables: dict[str, Any] = {}
    for name, attrs in measured.items():
        dims = (DESIGN, *others)
        if name.endswith("_influence"):
            rows = [row for cells in aligned for row in cells[name].transpose(*dims, "cluster").values]
            variables[name] = ((*dims, "cluster"), lay_beside(rows, slots), attrs)
        else:
            variables[name] = (dims, np.concatenate([cells[name].transpose(*dims).values for cells in aligned]), attrs)
    joined = xr.Dataset(variables, {**{axis: aligned[0][axis] for axis in others}, DESIGN: list(names)})
    return joined.transpose(*others, DESIGN, "cluster")


def _lay_doubts(parts: Sequence[_Part], joined: xr.Dataset, others: Sequence[str]) -> Doubts:
    """Return the objections to the cells of `joined`, in its order; cells that no store has are without any."""
    shape = tuple(joined.sizes[axis] for axis in others)
    laid = [_lay_part(part, joined, others, shape) for part in parts]
    marks, failed, ran = (np.concatenate(of, axis=-1) for of in zip(*laid, strict=True))
    return Doubts(marks, failed, ran)


def _lay_part(part: _Part, joined: xr.Dataset, others: Sequence[str], shape: tuple[int, ...]) -> Iterator[Array]:
    values_by_axis = [list(joined[axis].values) for axis in others]
    places = np.ix_(
        *(
            [of.index(value) for value in part.cells[axis].values]
            for axis, of in zip(others, values_by_axis, strict=True)
        ),
        range(len(part.designs)),
    )
    for of in (part.against.marks, part.against.failed, part.against.ran):
        empty = np.empty((*shape, len(part.designs)), of.dtype)
        empty.fill(() if of.dtype == object else 0)
        empty[places] = of
        yield empty
