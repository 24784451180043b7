"""Compute statistics of a measure of a store: quantiles and shares over worlds, importance of axes, crossings.

A store is the dataset of a sweep: a measure `m[axis, ...]`, its `m_influence[axis, ..., cluster]`, and the outcomes of
every campaign (one simulated study in one world). A cell is one value of each axis. Each public function takes a store
that holds the measure and returns a dataset over its axes; `simlab query --quantiles`, `--share` and the like call it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from simlab.comparing.contrasts import BETTER_BY, DIFFERENCES, Comparison, is_lower_better
from simlab.comparing.differences import Contrast
from simlab.comparing.importance import grid_importance, sobol_importance
from simlab.comparing.several_stores import compare_designs
from simlab.comparing.solving import LEVEL, Crossing, solve_curve
from simlab.comparing.world_distribution import (
    LEAST_WORLDS,
    WorldDistribution,
    estimate_distribution,
    share_of_worlds_better,
)
from simlab.comparing.world_values import panel_of_cells, values_by_study
from simlab.measures.labels import ValueRange
from simlab.measures.precision import is_share
from simlab.messages import clip, suggest, word
from simlab.store.coordinates import restore_axis_values
from simlab.store.intervals import read_range
from simlab.store.opening import name_axes
from simlab.store.query import place_on
from simlab.store.selections import Bound
from simlab.store.world_draws import read_drawn_inputs, refuse_dependent
from simlab.types import Array, InputError

if TYPE_CHECKING:
    import xarray as xr

CONDITION = re.compile(r"\s*(\w+)\s*(>=|<=)\s*(-?\d*\.?\d+(?:e-?\d+)?)\s*")
"""Text of a bound on a measure: a name, >= or <=, and a number."""
MOST_CELLS = 24
"""Rows of a comparison up to which shares of worlds are added: the outcomes of each are read from the disk."""
BOUNDS = {
    "value": "",
    "mcse": "standard error over worlds",
    "low": "lower bound of the 95 % interval",
    "high": "upper bound of the 95 % interval",
}
"""Variables of an estimate over worlds; the text completes the label of the statistic."""
ABOUT = {
    "worlds": "worlds with a value",
    "studies": "least number of studies of a world",
    "reliability": "share of the variance of the worlds' means that is no noise of studies",
}
"""Variables over the axes that stand beside such an estimate, and their labels."""


def read_bound(text: str) -> Bound:
    """Read a bound on a measure as it is typed; raises InputError for anything else.

    >>> read_bound("power>=.8")
    Bound(name='power', sign='>=', value=0.8, text='power>=.8')
    """
    match = CONDITION.fullmatch(text)
    if match is None:
        raise InputError(
            f"{clip(text)} is no bound on a measure; write MEASURE>=VALUE or MEASURE<=VALUE, such as power>=.8"
        )
    return Bound(match[1], match[2], float(match[3]), text)


def reach(measure: str, value: float) -> Bound:
    """Return the bound that is met once a measure is as good as `value` (at most, or at least it)."""
    sign = "<=" if is_lower_better(measure) else ">="
    return Bound(measure, sign, value, f"{measure}{sign}{word(value)}")


def _is_least(bound: Bound) -> bool:
    return bound.sign.startswith(">")


def world_quantiles(dataset: xr.Dataset, measure: str, quantiles: Sequence[float]) -> xr.Dataset:
    """Estimate quantiles of a measure's true value over worlds: `value[axis, ..., quantile]` with mcse, low and high.

    `quantiles` are probabilities, such as .1, .5, .9. Over the axes stand `worlds`, `studies` and `reliability`, too
    (see `ABOUT`). Raises InputError for quantiles outside (0, 1), and naming the cell where worlds or studies are too
    few.
    """
    if not quantiles or not all(0 < q < 1 for q in quantiles):
        raise InputError(f"quantiles lie between 0 and 1, such as .1,.5,.9; {clip(list(quantiles))} do not")
    within = read_range(dataset, measure)
    distributions = _estimate_cells(
        dataset, lambda at: estimate_distribution(values_by_study(dataset, at, measure), quantiles, (), within)
    )
    table = [[list(quantile) for quantile in of.quantiles] for of in distributions.ravel()]
    about = f"quantile over worlds of: {_label(dataset, measure)}"
    labelled = _label_cells(dataset, distributions, np.array(table), about, ["quantile"])
    return labelled.assign_coords(quantile=np.asarray(quantiles, float))


def world_shares(dataset: xr.Dataset, bound: Bound) -> xr.Dataset:
    """Estimate in what share of worlds a measure's expected value meets a bound: `value[axis, ...]`.

    `bound` is a measure with its threshold (`read_bound`). Beside `value` stand `mcse`, `low` and `high` (95 %),
    `worlds`, `studies` and `reliability`. Raises InputError, naming the cell, where worlds or studies are too few.
    """
    within, sign = read_range(dataset, bound.name), 1 if _is_least(bound) else -1
    if not _is_least(bound):
        # Turning signs round makes "at most" an "at least", and its range with it.
        least, greatest = (None if end is None else -end for end in (within.greatest, within.least))
        within = ValueRange(least, greatest, within.chance)
    distributions = _estimate_cells(
        dataset,
        lambda at: estimate_distribution(
            sign * values_by_study(dataset, at, bound.name), (), [sign * bound.value], within
        ),
    )
    about = f"share of worlds with {bound.name} {bound.sign} {word(bound.value)}"
    return _label_cells(dataset, distributions, np.array([list(of.shares[0]) for of in distributions.ravel()]), about)


def estimate_shares_better(dataset: xr.Dataset, by: str, measure: str, margin: float, baseline: object) -> xr.Dataset:
    """Estimate in what share of worlds each design along an axis is better than the baseline by a margin or more.

    The designs are the values of the axis `by`, one of which is `baseline`; `margin` is in the unit of the measure.
    They are paired world by world and study by study. Returns `value[axis, ...]` with mcse, low and high, without the
    baseline on `by`. Raises InputError for an axis or a baseline that the store does not hold, and naming the cell
    where worlds cannot be compared.
    """
    axes = name_axes(dataset)
    if by not in axes:
        raise InputError(f"the store has no axis {by}; {suggest(by, axes)}")
    base, k = place_on(dataset, by, baseline), axes.index(by)
    rest = dataset.isel({by: [j for j in range(dataset.sizes[by]) if j != base]})
    kept = [j for j in range(dataset.sizes[by]) if j != base]
    if not kept:
        raise InputError(f"the axis {by} of this store has one value: there is nothing to compare")
    less = is_lower_better(measure)

    def compare(at: tuple[int, ...]) -> WorldDistribution:
        own, other = (
            values_by_study(dataset, (*at[:k], place, *at[k + 1 :]), measure) for place in (kept[at[k]], base)
        )
        return share_of_worlds_better(own, other, margin, less_is_better=less)

    distributions = _estimate_cells(rest, compare)
    about = f"share of worlds with {measure} better by {margin:g} or more than with {by}={word(baseline)}"
    return _label_cells(rest, distributions, np.array([list(of.shares[0]) for of in distributions.ravel()]), about)


def add_world_shares(dataset: xr.Dataset, comparison: Comparison) -> Comparison:
    """Add to each row the shares of worlds in which its design is better, or worse, than the baseline by `BETTER_BY`.

    `dataset` is the store that was compared. The comparison comes back as it is where such shares cannot be estimated:
    they need a measure that is a share, and designs in the same 20 worlds or more, with several studies of each whose
    outcomes are kept; and at most `MOST_CELLS` rows, since outcomes are read from the disk.
    """
    telling = comparison.paired and comparison.cluster == "world" and is_share(read_range(dataset, comparison.measure))
    if not telling or len(comparison.rows) > MOST_CELLS or min(row.clusters for row in comparison.rows) < LEAST_WORLDS:
        return comparison
    axes, rows = name_axes(dataset), []
    values = cache(lambda at: values_by_study(dataset, at, comparison.measure))
    less = is_lower_better(comparison.measure)
    try:
        for row in comparison.rows:
            own, other = (
                tuple(place_on(dataset, axis, {**row.at, comparison.by: design}[axis]) for axis in axes)
                for design in (row.design, row.baseline)
            )
            if row.contrast is None:
                rows.append(row)
                continue
            better, worse = (
                share_of_worlds_better(values(first), values(second), BETTER_BY, less_is_better=less).shares[0]
                for first, second in ((own, other), (other, own))
            )
            rows.append(replace(row, better=better, worse=worse))
    except InputError:
        return comparison
    return replace(comparison, rows=rows)


def axis_importance(dataset: xr.Dataset, measure: str, by: str | None = None) -> xr.Dataset:
    """Share the variance of a measure over a grid out to its axes: `main[axis]` and `total[axis]` with their intervals.

    Where worlds drew keys, the variance is that over cells and worlds, and what was drawn follows the axes as
    `drawn_NAME`; `rest` is what neither explains. With `by`, an axis of two designs, it is the variance of the
    difference between them, in the same worlds. Raises InputError where cells have no value, do not differ by more
    than their noise, where worlds that drew keys are fewer than 50 or drew several together, and where `by` is no axis
    of two values.
    """
    import xarray as xr

    axes, drawn = name_axes(dataset), read_drawn_inputs(dataset)
    refuse_dependent(dataset, drawn)
    of, difference = _difference(dataset, measure, by)
    if drawn:
        panel = panel_of_cells(dataset, measure, dataset.sizes["of_world"])
        importance = sobol_importance(drawn, difference(panel), axes)
    else:
        value = dataset[measure].transpose(*axes).values
        influence = dataset[f"{measure}_influence"].transpose(*axes, "cluster").values
        known = difference(np.isfinite(influence).astype(int))
        if by is not None and known.any():
            raise InputError(f"{of}: these cells met different worlds, and a difference needs the same")
        importance = grid_importance(axes, difference(value), difference(influence))
    words = {"main": "alone", "total": "with all its interactions"}
    about_it = "" if by is None else f" of {of}"
    variables = {
        name if not end else f"{name}_{end}": (
            ("axis",),
            [getattr(getattr(axis, name), end or "value") for axis in importance.axes],
            {
                "long_name": f"share of the variance{about_it} that an axis explains {wording}"
                if not end
                else BOUNDS[end]
            },
        )
        for name, wording in words.items()
        for end in ("", "mcse", "low", "high")
    }
    about = {"measure": of, "sd": importance.sd, "n": importance.n, "interactions": importance.interactions.value}
    rest = dict(zip(("rest", "rest_mcse", "rest_low", "rest_high"), importance.rest, strict=True))
    return xr.Dataset(variables, {"axis": [axis.name for axis in importance.axes]}, {**about, **rest})


def _difference(dataset: xr.Dataset, measure: str, by: str | None) -> tuple[str, Callable[[Array], Array]]:
    """Return the quantity's name, and a function of `cells[axis, ...]`: the first design of `by` less the second.

    Without `by` the function returns the cells as they are.
    """
    if by is None:
        return measure, lambda cells: cells
    axes = name_axes(dataset)
    if by not in axes:
        raise InputError(f"the store has no axis {by}; {suggest(by, axes)}")
    designs = [word(value) for value in restore_axis_values(dataset[by].values)]
    if len(designs) != 2:
        values = ",".join(designs[:2]) if len(designs) > 1 else "A,B"
        raise InputError(
            f"--by {by}: a difference is between two designs, and {by} has {len(designs)} here; name two of them, "
            f"such as {by}={values}"
        )
    k = axes.index(by)
    named = f"{measure} of {by}={designs[0]} less that of {by}={designs[1]}"
    # `np.diff` takes the first from the second.
    return named, lambda cells: -np.diff(cells, axis=k)


def measure_axis_sensitivity(dataset: xr.Dataset, measure: str, around: Mapping[str, object]) -> xr.Dataset:
    """Compare each cell that leaves a base in one axis with it: `value[setting]`, `difference[setting]`, `swing`.

    The base has the values of `around`, on other axes those from which a sweep went one at a time, or else the first. A
    setting is a value of an axis, as `documents=40`; differences are paired as those of `compare`, NaN for the base
    itself. The `swing` of an axis is its largest value less its least; axes with the largest come first. Raises
    InputError for a value of `around` that the store does not hold, where the base, or each cell beside it, has no
    value, and where differences have no error.
    """
    import xarray as xr

    axes = name_axes(dataset)
    values = {axis: restore_axis_values(dataset[axis].values) for axis in axes}
    swept = json.loads(dataset.attrs.get("sweep", "{}")).get("around", {})
    base = {axis: values[axis].index(swept[axis]) if swept.get(axis) in values[axis] else 0 for axis in axes}
    base |= {axis: place_on(dataset, axis, value) for axis, value in around.items()}
    named = ", ".join(f"{axis}={word(values[axis][k])}" for axis, k in base.items())
    varied = [axis for axis in axes if dataset.sizes[axis] > 1]
    if not varied:
        raise InputError(
            "no axis of these cells has two values; sweep a key with several, such as design.documents=20,40"
        )
    if not np.isfinite(dataset[measure].transpose(*axes).values[tuple(base.values())]):
        raise InputError(
            f"{named}: the base has no value of {measure}; name one that was carried out, --around {varied[0]}=VALUE"
        )
    rows_by_axis = [_leave_base(dataset, axis, measure, base) for axis in varied]
    if not any(np.isfinite(row["difference"]) for rows in rows_by_axis for row in rows):
        raise InputError(
            f"{named}: no cell that differs from it in one axis alone has a value; name another base, "
            f"--around {varied[0]}=VALUE"
        )
    if all(row["clusters"] < 2 for rows in rows_by_axis for row in rows):
        cluster = str(dataset[measure].attrs.get("cluster", "cluster")).replace("_", " ")
        raise InputError(f"{named}: one {cluster} tells no error of a difference; run more of them")
    rows_by_axis.sort(key=lambda rows: -np.nan_to_num(rows[0]["swing"]))
    rows = [row for of_axis in rows_by_axis for row in of_axis]
    about = {
        "value": _label(dataset, measure),
        "mcse": "standard error of the value",
        **DIFFERENCES,
        "difference": "difference from the base, all other axes alike",
        "clusters": "clusters over which the difference is paired",
        "swing": "largest value of the axis less its least",
        "swing_mcse": "Monte-Carlo standard error of the swing",
        "axis": "axis that leaves the base",
    }
    variables = {name: ("setting", [row[name] for row in rows], {"long_name": text}) for name, text in about.items()}
    settings = [row["setting"] for row in rows]
    return xr.Dataset(variables, {"setting": settings}, {"measure": measure})


def _leave_base(dataset: xr.Dataset, axis: str, measure: str, base: Mapping[str, int]) -> list[dict[str, Any]]:
    """Compare the cells along an axis with the base, in which all other axes stay: a row for each value."""
    line = dataset.isel({name: [k] for name, k in base.items() if name != axis})
    values = restore_axis_values(line[axis].values)
    cells = compare_designs(line, axis, measure, values[base[axis]]).rows
    known = sorted((row.value, k) for k, row in enumerate(cells) if np.isfinite(row.value))
    (_, least), (_, most) = known[0], known[-1]
    apart = compare_designs(line, axis, measure, values[least]).rows[most].contrast
    nothing = Contrast(float("nan"), float("nan"), float("nan"), float("nan"), 0)
    swing = apart or nothing
    rows = []
    for row in cells:
        contrast = row.contrast if row.contrast is not None and np.isfinite(row.value) else nothing
        rows.append(
            {
                "setting": f"{axis}={word(row.design)}",
                "axis": axis,
                "value": row.value,
                "mcse": row.mcse,
                "clusters": contrast.clusters or row.clusters,
                "swing": swing.difference,
                "swing_mcse": swing.mcse,
                "difference": contrast.difference,
                "difference_mcse": contrast.mcse,
                "difference_low": contrast.low,
                "difference_high": contrast.high,
            }
        )
    return rows


def solve_axis(dataset: xr.Dataset, axis: str, bound: Bound) -> xr.Dataset:
    """Estimate from where on along a numeric axis a measure meets a bound, for each combination of the other axes.

    `value`, `mcse`, `low` and `high` (90 %) are in the unit of the axis, infinite beyond the sweep; `reach` says
    whether the target is crossed, and `side` whether it is met from there on or up to there. Raises InputError for an
    axis that is not there, or has other values than numbers.
    """
    rest = _list_other_axes(dataset, axis)
    value, influence = (dataset[name].transpose(*rest, axis, ...).values for name in _list_variables(bound.name))
    about = f"{axis} at which {bound.name} is {word(bound.value)}"
    solve = partial(solve_curve, target=bound.value, less_is_better=not _is_least(bound))
    return _solve_curves(dataset[axis].values, value, influence, solve, about, {name: dataset[name] for name in rest})


def solve_crossings(dataset: xr.Dataset, axis: str, measure: str, by: str) -> xr.Dataset:
    """Estimate from where on along a numeric axis each value of `by` is as good as the first, over the same worlds.

    As `solve_axis` else, with the values of `by` but for the first; their curves are taken to cross once. Raises
    InputError for an axis that is not there or has one value, too.
    """
    rest = _list_other_axes(dataset, axis)
    if by not in rest:
        raise InputError(f"the store has no axis {by} beside {axis}; {suggest(by, rest)}")
    if dataset.sizes[by] < 2:
        raise InputError(f"{by} has one value in this store, and no curves that cross")
    ordered = [by, *(name for name in rest if name != by)]
    value, influence = (dataset[name].transpose(*ordered, axis, ...).values for name in _list_variables(measure))
    first = word(restore_axis_values(dataset[by].values)[0])
    about = f"{axis} at which {measure} is that of {by}={first}"
    solve = partial(solve_curve, target=0.0, less_is_better=is_lower_better(measure))
    coords = {name: dataset[name] if name != by else dataset[by][1:] for name in ordered}
    return _solve_curves(
        # Curves over the same worlds: their difference crosses 0 where they cross, with what they share cancelled.
        dataset[axis].values,
        value[1:] - value[:1],
        influence[1:] - influence[:1],
        solve,
        about,
        coords,
    )


def _list_other_axes(dataset: xr.Dataset, axis: str) -> list[str]:
    """Return the axes but for one; raise InputError where it is not there or has other values than numbers."""
    axes = name_axes(dataset)
    if axis not in axes:
        raise InputError(f"the store has no axis {axis}; {suggest(axis, axes)}")
    if dataset[axis].values.dtype.kind not in "iuf":
        raise InputError(f"{axis} has values that are no numbers, and no curve runs along it; name a numeric axis")
    return [name for name in axes if name != axis]


def _list_variables(measure: str) -> tuple[str, str]:
    return measure, f"{measure}_influence"


def _solve_curves(
    x: Array,
    value: Array,
    influence: Array,
    solve: Callable[[Array, Array, Array], Crossing],
    about: str,
    coords: Mapping[str, xr.DataArray],
) -> xr.Dataset:
    """Solve the curves `value[..., x]` for their crossings: a dataset over `coords`, the axes before the last.

    `influence[..., x, cluster]` gives their errors; `about` describes the crossing in words.
    """
    import xarray as xr

    shape = value.shape[:-1]
    solutions = [solve(x, value[at], influence[at]) for at in np.ndindex(*shape)]
    descriptions = {
        "value": about,
        "low": f"lower bound of the {LEVEL:.0%} interval",
        "high": f"upper bound of the {LEVEL:.0%} interval",
        "mcse": "standard error of crossings within the sweep",
        "reach": "crossed, not_reached within the sweep, or reached_everywhere in it",
        "side": "whether the target is met from there on, or up_to there",
        "cells": "cells with a value along the axis",
    }
    variables = {
        name: (
            list(coords),
            np.array([getattr(solution, name) for solution in solutions]).reshape(shape),
            {"long_name": text},
        )
        for name, text in descriptions.items()
    }
    return xr.Dataset(variables, coords)


def _estimate_cells(dataset: xr.Dataset, estimate: Callable[[tuple[int, ...]], WorldDistribution]) -> Array:
    """Return `estimate(indices on the axes)` of every cell, as objects `[axis, ...]`; errors name the cell."""
    axes = name_axes(dataset)
    estimates = np.empty([dataset.sizes[axis] for axis in axes], object)
    for at in np.ndindex(estimates.shape):
        try:
            estimates[at] = estimate(at)
        except InputError as error:
            where = ", ".join(
                f"{axis}={word(restore_axis_values(dataset[axis].values)[k])}" for axis, k in zip(axes, at, strict=True)
            )
            raise InputError(f"{where}: {error}" if where else str(error)) from error
    return estimates


def _label_cells(
    dataset: xr.Dataset, estimates: Array, table: Array, about: str, more: Sequence[str] = ()
) -> xr.Dataset:
    """Return `table[cell, ..., statistic]` as a dataset over the axes; statistics are those of `BOUNDS`, in order.

    `estimates[axis, ...]` are the cells' `WorldDistribution`s, of which the fields in `ABOUT` are added; `more` names
    the dimensions of the table between cell and statistic.
    """
    import xarray as xr

    axes = name_axes(dataset)
    laid = table.reshape(*estimates.shape, *table.shape[1:])
    variables = {
        name: ((*axes, *more), laid[..., k], {"long_name": text or about})
        for k, (name, text) in enumerate(BOUNDS.items())
    }
    for name, text in ABOUT.items():
        of_cells = np.array([getattr(of, name) for of in estimates.ravel()]).reshape(estimates.shape)
        variables[name] = (axes, of_cells, {"long_name": text})
    return xr.Dataset(variables, {name: dataset[name] for name in axes})


def _label(dataset: xr.Dataset, measure: str) -> str:
    return str(dataset[measure].attrs.get("long_name", measure))
