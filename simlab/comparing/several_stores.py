"""Compare designs of several stores, and designs of one store where they cost the same.

`compare_designs` compares the values of an axis of one store and returns a `Comparison`; with `EqualLevels` it does so
at equal cost (`interpolate_to_costs`). `join` puts the cells of several stores along one axis, for `contrasts.compare`.

Two designs of one number of documents may differ in what they cost, and the one that costs more should not win for
that. Along the other axis each design has cells of rising mean cost; at a given cost its measure lies on the line
between the two cells around it, `m = (1 - w) m_1 + w m_2` with `w = (c - c_1) / (c_2 - c_1)`. Both cells met the same
clusters (worlds), so influence values combine as the values do, and those of mean costs, where campaigns differ in what
they cost, enter by the delta method:

    influence of m = (1 - w) I(m_1) + w I(m_2) - (m_2 - m_1) / (c_2 - c_1) ((1 - w) I(c_1) + w I(c_2))

What the line misses of a curve between two cells is no error that replication would show: it is the less, the closer
the cells are.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from simlab.comparing.contrasts import Comparison, Row, compare, describe
from simlab.comparing.promises import Doubts, find_doubts
from simlab.messages import flatten, word
from simlab.store.coordinates import restore_axis_values
from simlab.store.opening import config_of, measures_of, name_axes
from simlab.store.query import records
from simlab.store.reservations import HELD_FIXED, read_notes
from simlab.types import Array, Bools, Floats, InputError, Ints

if TYPE_CHECKING:
    import xarray as xr

DESIGN, SEED = "design", "seed"
POINTS = 5
"""Number of costs at which designs are compared, from about the least to the greatest that all have."""
SURE = 4.0
"""Standard errors by which mean costs of neighbours must differ; below, the line between them has no slope."""


def compare_designs(
    dataset: xr.Dataset, by: str, measure: str, baseline: object = None, levels: EqualLevels | None = None
) -> Comparison:
    """Compare the designs along the axis `by` of a store; with `levels` where they cost, or take, the same.

    `baseline` is a value of the axis (None: the best design of each cell). Raises InputError for a baseline that the
    store does not hold, and for costs that designs do not have in common.
    """
    key, other = str(dataset[by].attrs.get("key", by)), other_systems(dataset, by)
    paired, differing = not other and key != SEED, (key,) if other else ()
    equal = None
    if levels is not None:
        against = find_doubts(dataset, measure, axes_of_doubts(dataset, by, measure))
        equal = interpolate_to_costs(dataset, by, measure, levels, against)
    compared = dataset if equal is None else equal.dataset
    compared = compared if paired else separate_clusters(compared, by, measure)
    speaking = None if equal is None else equal.against
    rows = compare(compared, by=by, measure=measure, baseline=baseline, against=speaking, unlike=other)
    rows = rows if equal is None else mark_unreached(rows, equal)
    return describe(rows, by, dataset[measure], paired=paired, differing=differing, equal=equal)


def mark_unreached(rows: Sequence[Row], equal: Equal) -> list[Row]:
    """Mark rows whose design has no cells around their cost as unreached, and name the costs of its cells.

    `rows` are those of `equal.dataset`, in the order of its cells.
    """
    ends = np.broadcast_to(equal.ends[..., None, :, :], (*equal.reached.shape, 2)).reshape(-1, 2)
    return [
        row
        if there
        else replace(row, standing="unreached", marks=(*row.marks, f"{equal.level} {low:.4g} to {high:.4g} only"))
        for row, there, (low, high) in zip(rows, equal.reached.ravel(), ends.tolist(), strict=True)
    ]


def common_measures(stores: Mapping[str, xr.Dataset]) -> tuple[str, ...]:
    """Return the names of the measures that all stores hold, in the order of the first."""
    first, *others = stores.values()
    return tuple(name for name in measures_of(first) if all(name in measures_of(other) for other in others))


@dataclass(frozen=True, slots=True)
class Joined:
    """Cells of several stores along one axis, `design`, and the objections to each (`against`).

    `dataset` holds one measure over `design`, with errors and influence values. `paired` where all met the same worlds;
    `differing` names the keys in which their systems differ.
    """

    dataset: xr.Dataset
    paired: bool
    differing: tuple[str, ...]
    against: Doubts


def join(stores: Mapping[str, xr.Dataset], measure: str) -> Joined:
    """Put a measure of all cells of all stores, given by name, along one axis `design`.

    Cells of the same seed and systems met the same worlds, so that their differences are paired; others are
    independent. Raises InputError for stores whose measures are not replicated over worlds or are calculations.
    """
    import xarray as xr

    check_stores(stores, measure)
    rows = [row for name, dataset in stores.items() for row in _cells(name, dataset, measure)]
    met = [json.dumps(row.worlds, sort_keys=True) for row in rows]
    slots = {worlds: k for k, worlds in enumerate(dict.fromkeys(met))}
    influence = lay_beside([row.influence for row in rows], [slots[worlds] for worlds in met])
    variables: dict[str, Any] = {
        f"{measure}{suffix}": (DESIGN, np.array([row.record[f"{measure}{suffix}"] for row in rows]))
        for suffix in ("", "_mcse", "_n", "_low", "_high")
    }
    variables[f"{measure}_influence"] = ((DESIGN, "cluster"), influence)
    joined = xr.Dataset(variables, {DESIGN: [row.design for row in rows]})
    joined[measure].attrs.update(next(iter(stores.values()))[measure].attrs)
    fixed = dict.fromkeys(words for dataset in stores.values() for words in read_notes(dataset, [measure]).values())
    if fixed:
        joined[measure].attrs[HELD_FIXED] = "; elsewhere ".join(fixed)
    return Joined(
        joined, len(slots) == 1, list_differing_keys([row.worlds for row in rows]), _join_doubts(stores, measure)
    )


def separate_clusters(dataset: xr.Dataset, by: str, measure: str) -> xr.Dataset:
    """Give each design along an axis clusters of its own, since worlds of one index are not the same worlds."""
    name = f"{measure}_influence"
    moved = dataset[name].transpose(by, ..., "cluster")
    spread = lay_beside(list(moved.values), range(moved.sizes[by]))
    rest = dataset.drop_vars(name).drop_dims("cluster", errors="ignore")
    return rest.assign({name: (moved.dims, spread)})


def list_differing_keys(worlds: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Name the keys in which `worlds`, records of keys of systems, differ; worlds of other seeds count as alike."""
    keys = dict.fromkeys(key for world in worlds for key in world if key != SEED)
    return tuple(key for key in keys if len({json.dumps(world.get(key)) for world in worlds}) > 1)


def other_systems(dataset: xr.Dataset, axis: str) -> bool:
    """True if the cells along an axis have other systems: if it varies them, or asks other questions of others."""
    key = str(dataset[axis].attrs.get("key", axis))
    systems = config_of(dataset).get("systems", {})
    return key.partition(".")[0] == "systems" or (key == "question" and "_target_" not in systems)


def lay_beside(influence: Sequence[Floats], slots: Sequence[int]) -> Floats:
    """Lay each design's `influence[..., cluster]` out as `[design, ..., column]`, NaN elsewhere.

    `slots[design]` numbers the sets of worlds: designs of one slot met the same clusters and share columns.
    """
    size = max(values.shape[-1] for values in influence)
    laid = np.full((len(influence), *influence[0].shape[:-1], size * (max(slots) + 1)), np.nan)
    for spread, values, slot in zip(laid, influence, slots, strict=True):
        spread[..., slot * size : slot * size + values.shape[-1]] = values
    return laid


def _join_doubts(stores: Mapping[str, xr.Dataset], measure: str) -> Doubts:
    doubts = [find_doubts(dataset, measure, name_axes(dataset)) for dataset in stores.values()]
    marks, failed, ran = ([np.ravel(getattr(part, name)) for part in doubts] for name in ("marks", "failed", "ran"))
    return Doubts(np.concatenate(marks), np.concatenate(failed), np.concatenate(ran))


def check_stores(stores: Mapping[str, xr.Dataset], measure: str) -> None:
    """Raise InputError for stores without a value of a measure, or that do not replicate it over worlds."""
    for name, dataset in stores.items():
        if not np.isfinite(dataset[measure].values).any():
            raise InputError(f"{measure} has no value in {name}; name another --measure")
    clusters = {str(dataset[measure].attrs.get("cluster")) for dataset in stores.values()}
    if clusters != {"world"}:
        raise InputError(
            f"{measure} is replicated over {', '.join(sorted(clusters))}; stores are compared over worlds: "
            "run each with several worlds"
        )


class _Cell(NamedTuple):
    design: str
    record: Mapping[str, Any]
    influence: Floats
    worlds: Mapping[str, Any]


def _cells(store: str, dataset: xr.Dataset, measure: str) -> Iterator[_Cell]:
    """Yield each cell: the name of the design, its record, its influence values, and what determines its worlds."""
    axes = name_axes(dataset)
    influence = dataset[f"{measure}_influence"].transpose(*axes, "cluster").values
    flat = influence.reshape(-1, influence.shape[-1])
    for record, values in zip(records(dataset, [measure]), flat, strict=True):
        at = ", ".join(f"{axis}={word(record[axis])}" for axis in axes)
        yield _Cell(f"{store}: {at}" if at else store, record, values, _worlds(dataset, record))


def _worlds(dataset: xr.Dataset, record: Mapping[str, Any]) -> dict[str, Any]:
    """Return what determines the systems of a cell's worlds: the seed and all keys of systems, with their values."""
    axes = json.loads(dataset.attrs["sweep"])["axes"]
    varied = [axis for axis in axes if axis["key"] == SEED or axis["key"].partition(".")[0] == "systems"]
    return {**shared_worlds(dataset), **{axis["key"]: record[axis["name"]] for axis in varied}}


def shared_worlds(dataset: xr.Dataset) -> dict[str, Any]:
    """Return the seed and the keys of systems that all cells of a store share, with their values."""
    config = config_of(dataset)
    return dict(flatten({SEED: config.get(SEED), "systems": config.get("systems")}))


class EqualLevels(NamedTuple):
    """Quantity that designs are to have in common (`name`, such as cost), and its `values`.

    Without `values` a few are taken, from the least to the greatest that all designs have, or with `of_two` that two of
    them have.
    """

    name: str
    values: tuple[float, ...] = ()
    of_two: bool = False


class Equal(NamedTuple):
    """A store at equal cost: its measure over `by`, and over `level`, the costs in place of the axis `along`.

    `values` are those of the axis `along`. Arrays are over the axes that are left, costs and designs: `reached[...,
    cost, design]` is True where a cost lies among those of a design, `between[..., cost, design, 2]` are the two cells
    that a value rests on, as indices on `along`, `weight[..., cost, design]` is that of the second, and `against` are
    the objections to these cells. `ends[..., design, 2]` are a design's least and greatest cost.
    """

    dataset: xr.Dataset
    level: str
    along: str
    values: list[object]
    against: Doubts
    between: Ints
    weight: Floats
    reached: Bools
    ends: Floats


class _CostLine(NamedTuple):
    """Cells of one design in the order of their costs, `[cell]`; influence values are `[cell, cluster]`.

    `place` is a cell's index on the axis along which costs rise; influence is scaled by `_scale_influence`.
    """

    place: Ints
    cost: Floats
    cost_influence: Floats
    value: Floats
    influence: Floats
    n: Ints


class _At(NamedTuple):
    """A measure of a design at a cost, interpolated between the cells at two places of an axis.

    `weight` is that of the second cell; where the cost is not `reached`, value and influence are NaN.
    """

    value: float
    influence: Floats
    n: int
    places: tuple[int, int]
    weight: float
    reached: bool


def interpolate_to_costs(dataset: xr.Dataset, by: str, measure: str, levels: EqualLevels, doubts: Doubts) -> Equal:
    """Interpolate a measure to costs that all designs along `by` can have, in every cell of the axes that are left.

    `levels` name the quantity to make equal, the mean of an outcome such as `cost`; the arrays of `doubts` are over the
    measure's other axes, then `by`. Raises InputError where costs do not rise along one other axis, and where those of
    the designs have no range in common.
    """
    import xarray as xr

    level = levels.name
    _check_clusters(dataset, measure, level)
    along = _find_cost_axis(dataset, by, measure, level)
    rest = [str(dim) for dim in dataset[measure].dims if dim not in (by, along)]
    shape = tuple(dataset.sizes[name] for name in (*rest, by))
    lines = {at: _line(dataset, [*rest, by, along], measure, level, at) for at in np.ndindex(*shape)}
    _refuse_flat(dataset, by, along, level, lines)
    costs = _costs(dataset, by, along, levels, lines)
    points = {at: [_interpolate(line, cost) for cost in costs] for at, line in lines.items()}
    dims = (*rest, by, level)
    variables: dict[str, Any] = {
        measure: (dims, _lay_out(points, shape, [[point.value for point in row] for row in points.values()])),
        f"{measure}_n": (dims, _lay_out(points, shape, [[point.n for point in row] for row in points.values()])),
        f"{measure}_influence": (
            (*dims, "cluster"), _lay_out(points, shape, [[point.influence for point in row] for row in points.values()])
        ),
    }  # fmt: skip
    coords = {name: dataset[name] for name in (*rest, by)}
    joined = xr.Dataset(variables, {**coords, level: costs})
    joined[measure].attrs.update(dataset[measure].attrs)
    joined[level].attrs.update({"long_name": f"mean {level}", "key": level})
    order = (*rest, level, by)
    between = _lay_out(points, shape, [[point.places for point in row] for row in points.values()])
    weight = _lay_out(points, shape, [[point.weight for point in row] for row in points.values()])
    return Equal(
        joined.transpose(*order, "cluster"),
        level,
        along,
        restore_axis_values(dataset[along].values),
        _gather_cost_doubts(
            dataset, doubts, along, [*rest, by], axes_of_doubts(dataset, by, measure), points, len(costs)
        ),
        np.moveaxis(between, -2, -3),
        np.moveaxis(weight, -1, -2),
        np.moveaxis(_lay_out(points, shape, [[point.reached for point in row] for row in points.values()]), -1, -2),
        _lay_out(points, shape, [(line.cost[0], line.cost[-1]) for line in lines.values()]),
    )


def _lay_out(values: Any, shape: tuple[int, ...], rows: Sequence[Any]) -> Array:
    laid = np.array(rows)
    return laid.reshape(*shape, *laid.shape[1:])


def _check_clusters(dataset: xr.Dataset, measure: str, level: str) -> None:
    first, second = (dataset[name].attrs.get("cluster") for name in (measure, level))
    if first != second:
        raise InputError(
            f"--at-equal {level}: {measure} is replicated over {first} and {level} over {second}, so that their errors "
            "cannot be put together; name another --measure"
        )


def _find_cost_axis(dataset: xr.Dataset, by: str, measure: str, level: str) -> str:
    """Find the one axis, beside `by`, along which costs differ."""
    others = [str(dim) for dim in dataset[measure].dims if dim != by]
    cost = dataset[level]
    rising = [name for name in others if np.nanmax((cost.max(name) - cost.min(name)).values, initial=0.0) > 0]
    if not others:
        raise InputError(
            f"--at-equal {level} needs a second axis along which {level} rises, and this store has {by} alone; sweep "
            "design.documents, or budget.total, beside it"
        )
    # An axis whose costs differ by noise alone rises for nobody.
    rising = [name for name in rising if _differs(dataset, name, level)]
    if not rising:
        raise InputError(f"--at-equal {level}: {level} does not vary along {', '.join(others)}; sweep design.documents")
    if len(rising) > 1:
        first = word(restore_axis_values(dataset[rising[-1]].values)[0])
        raise InputError(
            f"--at-equal {level}: {level} rises along {' and '.join(rising)}, and each cost has many cells then; keep "
            f"one value of {' or '.join(rising)}, such as {rising[-1]}={first}"
        )
    return rising[0]


def _differs(dataset: xr.Dataset, name: str, level: str) -> bool:
    """True if mean costs differ along an axis by more than their errors."""
    spread = dataset[level].max(name) - dataset[level].min(name)
    return bool((spread > SURE * dataset[f"{level}_mcse"].max(name)).any())


def _line(dataset: xr.Dataset, axes: Sequence[str], measure: str, level: str, at: tuple[int, ...]) -> _CostLine:
    def read_values(name: str, *more: str) -> Array:
        return np.asarray(dataset[name].transpose(*axes, *more).values[at])

    value, cost = read_values(measure).astype(float), read_values(level).astype(float)
    known = np.flatnonzero(np.isfinite(value) & np.isfinite(cost))
    place = known[np.argsort(cost[known], kind="stable")]
    influence, own = (_scale_influence(read_values(f"{name}_influence", "cluster")) for name in (measure, level))
    return _CostLine(
        place, cost[place], own[place], value[place], influence[place], read_values(f"{measure}_n")[place].astype(int)
    )


def _scale_influence(influence: Floats) -> Floats:
    """Scale influence values so that the root of their sum of squares is the error, and they can be added up."""
    k = np.isfinite(influence).sum(-1, keepdims=True)
    return np.asarray(influence / np.sqrt(np.where(k > 1, k * (k - 1), np.nan)), float)


def _restore_influence(influence: Floats) -> Floats:
    k = int(np.isfinite(influence).sum())
    # Undoes `_scale_influence` for the clusters that the result has, which may be fewer than those of its parts.
    return np.asarray(influence * np.sqrt(k * (k - 1)), float)


def _refuse_flat(dataset: xr.Dataset, by: str, along: str, level: str, lines: dict[tuple[int, ...], _CostLine]) -> None:
    """Raise InputError where a design has too few cells, or neighbours of the same cost."""
    for at, line in lines.items():
        design = f"{by}={word(restore_axis_values(dataset[by].values)[at[-1]])}"
        if len(line.place) < 2:
            raise InputError(f"--at-equal {level}: {design} has fewer than two cells with a value along {along}")
        gap = np.diff(line.cost)
        error = np.sqrt(np.nansum(np.diff(line.cost_influence, axis=0) ** 2, axis=1))
        if (flat := np.flatnonzero(gap <= np.maximum(SURE * error, 1e-9 * np.abs(line.cost[1:])))).size:
            first, second = (word(restore_axis_values(dataset[along].values)[line.place[flat[0] + k]]) for k in (0, 1))
            raise InputError(
                f"--at-equal {level}: {design} has a mean {level} of {line.cost[flat[0]]:.6g} at {along}={first} and "
                f"of {line.cost[flat[0] + 1]:.6g} at {along}={second}, which do not surely differ; leave one of them "
                "out, or run more worlds"
            )


def _costs(
    dataset: xr.Dataset, by: str, along: str, levels: EqualLevels, lines: dict[tuple[int, ...], _CostLine]
) -> Floats:
    """Return the costs that are asked for, else from about the least to the greatest that designs have in common."""
    low = max(lines.items(), key=lambda entry: entry[1].cost[0])
    high = min(lines.items(), key=lambda entry: entry[1].cost[-1])
    least, most = float(low[1].cost[0]), float(high[1].cost[-1])
    if levels.values or levels.of_two:
        ends = np.array([[line.cost[0], line.cost[-1]] for line in lines.values()])
        least, most = _find_shared_range(ends) if levels.of_two else (float(ends[:, 0].min()), float(ends[:, 1].max()))
    if least > most:
        names = [word(value) for value in restore_axis_values(dataset[by].values)]
        raise InputError(
            f"--at-equal {levels.name}: {by}={names[high[0][-1]]} costs {high[1].cost[-1]:.6g} at most and "
            f"{by}={names[low[0][-1]]} {low[1].cost[0]:.6g} at least, so that no {levels.name} is common to both; "
            f"sweep more of {along}"
        )
    for cost in levels.values:
        if not least <= cost <= most:
            raise InputError(
                f"--at-equal {levels.name}={word(cost)}: no design has it, and nothing is extrapolated; choose "
                f"from {least:.6g} to {most:.6g}"
            )
    return np.array(levels.values) if levels.values else _choose_costs(least, most)


def _find_shared_range(ends: Floats) -> tuple[float, float]:
    """Return the least and the greatest cost that two designs have, of `ends[design, 2]`; inf, -inf if none are."""
    low, high = ends.T
    # Two ranges overlap from the larger of their beginnings to the smaller of their ends.
    first, last = np.maximum.outer(low, low), np.minimum.outer(high, high)
    pairs = (first <= last) & ~np.eye(len(ends), dtype=bool)
    return float(first[pairs].min(initial=np.inf)), float(last[pairs].max(initial=-np.inf))


def _choose_costs(least: float, most: float) -> Floats:
    """Return a few costs in a range, as round as their distance allows.

    >>> _choose_costs(1117.5, 4323.0), _choose_costs(7.0, 7.0)
    (array([1120., 1920., 2720., 3520., 4320.]), array([7.]))
    """
    if most - least <= 1e-9 * most:
        return np.array([least])
    # A tenth of the power of ten of a step: the costs have two digits that differ.
    unit = 10 ** np.floor(np.log10((most - least) / (POINTS - 1)) - 1)
    ends = np.ceil(least / unit), np.floor(most / unit)
    return np.asarray(np.round(np.linspace(*ends, POINTS)) * unit)


def _interpolate(line: _CostLine, cost: float) -> _At:
    """Return the measure of a design at a cost; beyond the range of its cells it has no value there."""
    k = int(np.clip(np.searchsorted(line.cost, cost, side="right") - 1, 0, len(line.cost) - 2))
    step = line.cost[k + 1] - line.cost[k]
    w = float((cost - line.cost[k]) / step)
    share = np.array([1 - w, w])
    pair = slice(k, k + 2)
    used = share > 0
    slope = (line.value[k + 1] - line.value[k]) / step
    parts = share[:, None] * (line.influence[pair] - slope * np.nan_to_num(line.cost_influence[pair]))
    # A cluster that one of the two cells lacks adds nothing there; the mean costs are those of either cell.
    absent = np.isnan(parts[used]).all(axis=0)
    influence = np.where(absent, np.nan, np.nansum(parts, axis=0))
    places = (int(line.place[k]), int(line.place[k + 1]))
    if not line.cost[0] <= cost <= line.cost[-1]:
        return _At(np.nan, np.full(influence.shape, np.nan), 0, places, np.nan, reached=False)
    value = float(share @ line.value[pair])
    return _At(value, _restore_influence(influence), int(line.n[pair][used].min()), places, w, reached=True)


def _gather_cost_doubts(
    dataset: xr.Dataset,
    doubts: Doubts,
    along: str,
    axes: Sequence[str],
    order: Sequence[str],
    values: dict[tuple[int, ...], list[_At]],
    n_costs: int,
) -> Doubts:
    """Gather for each value what speaks against either of the cells that it rests on.

    Lines are found over `axes`, the designs last; doubts stand over `order`.
    """
    shape = tuple(dataset.sizes[name] for name in axes[:-1])
    size = (*shape, n_costs, dataset.sizes[axes[-1]])
    marks, failed, ran = np.empty(size, object), np.zeros(size, int), np.zeros(size, int)
    for at, row in values.items():
        for k, point in enumerate(row):
            used = [
                place for place, share in zip(point.places, (1 - point.weight, point.weight), strict=True) if share > 0
            ]
            coords = dict(zip(axes, at, strict=True))
            where = [tuple({**coords, along: place}[name] for name in order) for place in used]
            here = (*at[:-1], k, at[-1])
            marks[here] = tuple(dict.fromkeys(mark for index in where for mark in doubts.marks[index]))
            failed[here] = sum(int(doubts.failed[index]) for index in where)
            ran[here] = sum(int(doubts.ran[index]) for index in where)
    return Doubts(marks, failed, ran)


def axes_of_doubts(dataset: xr.Dataset, by: str, measure: str) -> list[str]:
    """Return the axes over which doubts of a measure stand: its own, designs last."""
    return [*(str(dim) for dim in dataset[measure].dims if dim != by), by]
