"""Compute the statistics of `simlab query`: quantiles or shares over worlds, importance, sensitivity, and crossings.

`choose_statistic` reads which one the options name; `compute_statistic` returns its `CellStatistics`. The numbers come
from `simlab.comparing.cell_datasets`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from simlab.answers.query import CellStatistics
from simlab.commands import query_words, stores
from simlab.comparing import cell_datasets, solving
from simlab.config.locating import Locate, read_target
from simlab.drawing import view
from simlab.messages import clip
from simlab.store.coordinates import restore_axis_values
from simlab.store.query import ensure_measures
from simlab.store.selections import Bound
from simlab.store.world_draws import read_laws
from simlab.types import InputError

if TYPE_CHECKING:
    import xarray as xr

    from simlab.commands.query import Query

OPTIONS = ("quantiles", "share", "importance", "sensitivity", "solve")
"""Options that ask for a statistic in place of cells; one of them at a time."""


def choose_statistic(given: Mapping[str, Any]) -> str | None:
    """Return the statistic that the options name, one of `OPTIONS`; None where they name none.

    Raises InputError for several, and for an option that belongs to another one.
    """
    named = [name for name in OPTIONS if given.get(name) is not None]
    if len(named) > 1:
        raise InputError(f"--{named[0]} and --{named[1]} are two questions; ask one at a time")
    if given.get("target") is not None and named != ["solve"]:
        raise InputError("--target is the value that a measure is to reach; name the axis with --solve AXIS")
    if given.get("by") is not None and named != ["importance"]:
        raise InputError("--by takes two designs apart for --importance MEASURE; `simlab compare` compares designs")
    if given.get("around") is not None and named != ["sensitivity"]:
        raise InputError("--around names the base for --sensitivity MEASURE; AXIS=VALUE alone keeps cells")
    return named[0] if named else None


def compute_statistic(query: Query, statistic: str, given: Mapping[str, Any]) -> CellStatistics:
    """Compute a statistic, one of `OPTIONS`, for the cells that meet the query's conditions; `given` are the options.

    Raises InputError for bounds among the conditions, for what the store does not hold, and, naming the cell, where
    the statistic cannot be told.
    """
    where, conditions = query.place
    if query.sort or query.top or given.get("pivot"):
        raise InputError(f"--{statistic} answers for every cell; leave out --sort, --top and --pivot")
    with stores.open_narrowed(where, ()) as whole:
        requested = query_words.read_conditions(whole, conditions)
        if requested.bounds:
            raise InputError(
                f"--{statistic} answers for every cell; narrow axes, not measures ({requested.bounds[0].text})"
            )
        dataset = stores.narrow(whole, requested.values)
        measure, compute = _read(statistic, query, given, dataset)
        with_one = ensure_measures(dataset, [measure])
        laid = compute(with_one)
        level = solving.LEVEL if statistic == "solve" else 0.95
        rest = _rest(laid) if read_laws(dataset) and statistic == "importance" else {}
        return _describe(statistic, str(laid.attrs.get("measure", measure)), laid, read_laws(dataset), level, rest)


def locate_crossing(dataset: xr.Dataset, located: Locate) -> CellStatistics:
    """Compute where along its axis a sweep's located target is reached, or where its curves cross.

    Raises InputError for axes and measures that the store does not hold, and for curves of fewer than three cells.
    """
    solve = _solve(located.along or "", located)
    laid = solve(ensure_measures(dataset, [located.measure]))
    return _describe("solve", located.measure, laid, read_laws(dataset), solving.LEVEL, {})


def _describe(
    statistic: str, measure: str, laid: xr.Dataset, drawn: dict[str, str], level: float, rest: dict[str, float]
) -> CellStatistics:
    rows, axes = _rows(laid)
    return CellStatistics(
        statistic=statistic,  # type: ignore[arg-type]
        measure=measure,
        quantity=laid[_name_main(laid)].attrs.get("long_name", measure),
        axes=axes,
        level=level,
        rows=rows,
        drawn=drawn,
        rest=rest,
    )


def _solve(axis: str, target: Locate | Bound) -> Callable[[xr.Dataset], xr.Dataset]:
    """Return a function of a store that solves its curves along an axis for a target, or for their crossing."""
    if isinstance(target, Bound):
        return partial(cell_datasets.solve_axis, axis=axis, bound=target)
    if target.by is not None:
        return partial(cell_datasets.solve_crossings, axis=axis, measure=target.measure, by=target.by)
    return partial(cell_datasets.solve_axis, axis=axis, bound=cell_datasets.reach(target.measure, target.value or 0.0))


def _read(statistic: str, query: Query, given: Mapping[str, Any], dataset: xr.Dataset) -> tuple[str, Any]:
    """Return the measure of a statistic, and the function that computes it from a dataset with that measure."""
    text = str(given[statistic])
    if statistic == "share":
        bound = cell_datasets.read_bound(text)
        return bound.name, lambda dataset: cell_datasets.world_shares(dataset, bound)
    if statistic == "importance":
        return text, lambda dataset: cell_datasets.axis_importance(dataset, text, given.get("by"))
    if statistic == "sensitivity":
        base = read_base(dataset, given.get("around"))
        return text, lambda dataset: cell_datasets.measure_axis_sensitivity(dataset, text, base)
    if statistic == "solve":
        target = _read_target(given.get("target"))
        return target.name if isinstance(target, Bound) else target.measure, _solve(text, target)
    if query.measures is None or len(query.measures) != 1:
        raise InputError("--quantiles are those of one measure; name it with --measure")
    (measure,), levels = query.measures, _read_levels(text)
    return measure, lambda dataset: cell_datasets.world_quantiles(dataset, measure, levels)


def _read_levels(text: str) -> list[float]:
    try:
        return [float(word) for word in text.split(",")]
    except ValueError as error:
        raise InputError(f"--quantiles {text}: write numbers between 0 and 1, such as .1,.5,.9") from error


def _read_target(text: str | None) -> Bound | Locate:
    """Read a target: `power=.8` is at least .8, or at most for a measure of which less is better.

    `power:grouping` is where the curves of an axis cross each other.
    """
    if text is None:
        raise InputError("--solve needs what is to be reached; name it with --target, such as --target power=.8")
    if ">" in text or "<" in text:
        return cell_datasets.read_bound(text)
    return read_target("--target", text)


def read_base(dataset: xr.Dataset, around: Mapping[str, object] | str | None) -> dict[str, object]:
    """Read the values of axes, by their names or config keys, that a base has: `documents=40,grouping=ungrouped`.

    Raises InputError for what names no value, and for an axis that is not there or is named twice.
    """
    if around is None or isinstance(around, str):
        pairs: list[tuple[str, object]] = []
        for text in around.split(",") if around is not None else ():
            name, equals, value = text.partition("=")
            if not equals or not value.strip():
                raise InputError(f"--around {clip(text, 60)} names no value; write AXIS=VALUE, such as documents=40")
            pairs.append((name.strip(), value.strip()))
    else:
        pairs = list(around.items())
    base: dict[str, object] = {}
    for name, wanted in pairs:
        axis = view.axis(dataset, name)
        if axis in base:
            raise InputError(f"--around names {axis} twice; a base has one value of it")
        base[axis] = wanted
    return base


def _rows(laid: xr.Dataset) -> tuple[tuple[dict[str, Any], ...], tuple[str, ...]]:
    """Return the rows of a dataset, one for each place on its dimensions, and the names of these.

    Variables that lack a dimension are repeated along it.
    """
    axes = tuple(str(name) for name in laid[_name_main(laid)].dims)
    shape = [laid.sizes[axis] for axis in axes]
    values = [restore_axis_values(laid[axis].values) for axis in axes]
    columns = {
        str(name): laid[name].broadcast_like(laid[_name_main(laid)]).transpose(*axes).values for name in laid.data_vars
    }
    rows = []
    for at in np.ndindex(*shape):
        place = {axis: _make_plain(values[j][k]) for j, (axis, k) in enumerate(zip(axes, at, strict=True))}
        rows.append(place | {name: _make_plain(column[at]) for name, column in columns.items()})
    return tuple(rows), axes


def _rest(laid: xr.Dataset) -> dict[str, float]:
    """Return the share of the variance that neither axes nor drawn keys explain, with its error and interval."""
    return {name: float(laid.attrs[f"rest_{name}".removesuffix("_value")]) for name in ("value", "mcse", "low", "high")}


def _name_main(laid: xr.Dataset) -> str:
    """Return the name of the variable that has all dimensions."""
    return "value" if "value" in laid else "main"


def _make_plain(value: Any) -> Any:
    """Return a number of numpy as Python's, None for what is not finite."""
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and not np.isfinite(value) else value
