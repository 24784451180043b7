"""Choose what a figure or a table of a store shows: which measure, along which axes, of which cells.

A store is the open dataset of a sweep: each measure `m` (with `m_mcse`, `m_n` and others) over the sweep's axes. A cell
is one combination of values on the axes. `view` reads the figure that the sweep declares and returns a `View`;
`filter_cells` narrows a store, `set_axis_across` and `set_target` change its figure, `rows` lists its cells.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simlab.messages import clip, split_values, suggest, word
from simlab.store.coordinates import restore_axis_values
from simlab.store.opening import measures_of, name_axes
from simlab.store.query import find_companion, records, select
from simlab.store.reservations import is_from_table
from simlab.types import InputError

if TYPE_CHECKING:
    import xarray as xr

ANEW = ("", "_new_documents", "_new_raters", "_new_study")
"""What a repetition draws anew, as the names of measures end."""


@dataclass(frozen=True, slots=True)
class View:
    """View of a store: the measure shown, the axis across (`x`), the axis of the lines, the axes of the panels.

    `line` is None where no axis but x is left; each combination of values on `panels` has a panel. With `against`, the
    measure of this name goes across and x orders the points of a line. In a figure that shows `against` otherwise, or
    several measures, `across` names the measure that goes there. `scale` is that of `measure` (linear, log, neg_log).
    A table shows the measures `besides`, too, and `companion`: how much was found, where `measure` is best for a
    design that finds nothing. A line across marks the value `mark`. Panels show the design `reference`, values of axes
    as they are typed, as a line to compare with.
    """

    measure: str
    x: str
    line: str | None
    panels: tuple[str, ...]
    against: str | None = None
    scale: str = "linear"
    besides: tuple[str, ...] = ()
    x_scale: str = "linear"
    mark: float | None = None
    companion: str | None = None
    reference: Mapping[str, str] = field(default_factory=dict)
    across: str | None = None


def read_declaration(dataset: xr.Dataset) -> dict[str, Any]:
    """Return the sweep as its file declared it: name, aim, axes, figure and so on."""
    sweep: dict[str, Any] = json.loads(dataset.attrs["sweep"])
    return sweep


def view(dataset: xr.Dataset, measure: str | None = None) -> View:
    """Return the view that the sweep's figure declares; without a figure, the last axis of numbers goes across.

    `measure` is shown in place of the figure's. Raises InputError for a store without axes, or without the measure.
    """
    wanted = read_declaration(dataset).get("figure") or {}
    names = name_axes(dataset)
    if not names:
        raise InputError("this store holds one cell and no axis; `simlab query` shows its measures")
    numeric = [name for name in names if is_numeric(dataset, name)]
    x = wanted.get("x") if wanted.get("x") in names else (numeric or list(names))[-1]
    rest = [name for name in names if name != x]
    line = wanted.get("line") if wanted.get("line") in rest else next(iter(rest), None)
    panels = tuple(name for name in rest if name != line)
    shown, against = choose_measure(dataset, measure), wanted.get("against")
    for name in (against, wanted.get("across")):
        if name is not None:
            match_name(name, measures_of(dataset), "the measure")
    # A scale is meant for the measure that the sweep names.
    scale = wanted.get("scale", "linear") if shown == wanted.get("measure") else "linear"
    kind = figure_kind(dataset)
    every = measures_of(dataset) if kind == "pairs" else (against,) if against else ()
    if kind == "repetitions":
        every = tuple(repetitions(dataset, shown))
    besides = tuple(name for name in every if name != shown)
    mark = wanted.get("mark") if shown == wanted.get("measure") else None
    mark = wanted.get("target", mark)
    return View(
        shown,
        str(x),
        line,
        panels,
        against,
        scale,
        besides,
        wanted.get("x_scale", "linear"),
        mark,
        find_companion(dataset, [shown]),
        _reference(dataset, wanted.get("reference") or {}),
        wanted.get("across"),
    )


def set_axis_across(dataset: xr.Dataset, x: str) -> xr.Dataset:
    """Return a store whose figure has another axis, or a measure such as money, across; as it is for all else.

    Where a measure goes across, figures of lines and of pairs become trade-offs. Raises InputError for what is neither
    an axis nor a measure of the store.
    """
    axes, measures = name_axes(dataset), measures_of(dataset)
    match_name(x, [*axes, *measures], "an axis or a measure")
    sweep, kind = read_declaration(dataset), figure_kind(dataset)
    figure = dict(sweep.get("figure") or {})
    if x in axes:
        figure |= {"x": x, "line": None if figure.get("line") == x else figure.get("line")}
    elif kind in ("contours", "repetitions"):
        figure |= {"across": x}
    else:
        figure |= {"kind": "tradeoff", "against": x}
    return dataset.assign_attrs(sweep=json.dumps(sweep | {"figure": figure}))


def set_target(dataset: xr.Dataset, measure: str, target: float) -> xr.Dataset:
    """Return a store whose figure has a line at a target; as it is for all else.

    Raises InputError for a target that the measure cannot have, and for a figure that has no place for a line.
    """
    if figure_kind(dataset) == "pairs" and (read_declaration(dataset).get("figure") or {}).get("measure") != measure:
        raise InputError("--target has no line in a figure of pairs; name a --measure, or leave --target out")
    least, most = bounds(dataset, measure)
    if not (math.isfinite(target) and least <= target <= most):
        raise InputError(f"--target {target:g} is no value of {measure}; name one from {least:g} to {most:g}")
    sweep = read_declaration(dataset)
    figure = dict(sweep.get("figure") or {}) | {"target": target}
    return dataset.assign_attrs(sweep=json.dumps(sweep | {"figure": figure}))


def bounds(dataset: xr.Dataset, measure: str) -> tuple[float, float]:
    """Return the least and the greatest value that a measure can have; infinite where it has none."""
    least, most = dataset[measure].attrs.get("limits", (-math.inf, math.inf))
    return float(least), float(most)


def _reference(dataset: xr.Dataset, wanted: Mapping[str, str]) -> Mapping[str, str]:
    """Return the design that panels are compared with; none where the store was narrowed to others."""
    has_design = all(name in name_axes(dataset) and text in _texts(dataset, name) for name, text in wanted.items())
    return dict(wanted) if has_design else {}


def drop_reference_panels(dataset: xr.Dataset, shown: View) -> xr.Dataset:
    """Return the store without the panels of the reference alone: it is a line in all others."""
    for name in shown.panels:
        others = [k for k, text in enumerate(_texts(dataset, name)) if text != shown.reference.get(name)]
        dataset = dataset.isel({name: others}) if others else dataset
    return dataset


def select_reference(dataset: xr.Dataset, part: xr.Dataset, shown: View) -> xr.Dataset:
    """Return the cells of the reference design for the panel of `part`, a part of the store at one value of each panel.

    They have the values of `reference` on its axes, and those of the part on all other axes of panels.
    """
    place = {name: word(restore_axis_values(part[name].values.reshape(1))[0]) for name in shown.panels} | dict(
        shown.reference
    )
    return dataset.isel({name: [_texts(dataset, name).index(text)] for name, text in place.items()})


def _texts(dataset: xr.Dataset, name: str) -> list[str]:
    return [word(value) for value in restore_axis_values(dataset[name].values)]


def repetitions(dataset: xr.Dataset, measure: str) -> list[str]:
    """Return the names of a measure and of its variants for new documents, new raters or both, if they have values."""
    names = [f"{measure.partition('_new_')[0]}{anew}" for anew in ANEW]
    return [name for name in names if name in measures_of(dataset) and np.isfinite(dataset[name].values).any()]


def figure_kind(dataset: xr.Dataset) -> str:
    """Return the kind of the sweep's figure: undeclared `lines`, or `pairs` for a single study of preferences."""
    wanted = read_declaration(dataset).get("figure") or {}
    alone = not name_axes(dataset) and "verdict" in dataset
    return str(wanted.get("kind", "pairs" if alone else "lines"))


def rows(dataset: xr.Dataset, measures: Sequence[str]) -> list[dict[str, Any]]:
    """Return a row for each cell, as `store.query.records` does, with its values on the axes and those of `measures`.

    To a measure `m` it adds `m_cluster`, the word for what `m` is replicated over.
    """
    listed = records(dataset, measures)
    for row in listed:
        row |= {f"{name}_cluster": cluster(dataset, name) for name in measures}
    return listed


def cluster(dataset: xr.Dataset, measure: str) -> str:
    """Return the word for what a measure is replicated over: world, document set, replicate; cluster if it varies."""
    return cluster_word(str(dataset[measure].attrs.get("cluster", "cluster")))


def cluster_word(named: str) -> str:
    """Write what a store calls its clusters as a word; `cluster` where they vary."""
    return "cluster" if "/" in named else named.replace("_", " ")


def choose_measure(dataset: xr.Dataset, measure: str | None = None) -> str:
    """Return the measure asked for, or else that of the sweep's figure, or else the first of the store."""
    measures = measures_of(dataset)
    if measure is not None:
        return match_name(measure, measures, "the measure")
    wanted = (read_declaration(dataset).get("figure") or {}).get("measure")
    return wanted if wanted in measures else measures[0]


def axis(dataset: xr.Dataset, name: str) -> str:
    """Return the axis that `name`, an axis or a full config key, stands for; raise InputError where none has it."""
    if not name_axes(dataset):
        raise InputError(f"the store holds one cell and has no axis {name}")
    keys = {str(dataset[axis_name].attrs["key"]): axis_name for axis_name in name_axes(dataset)}
    return keys[name] if name in keys else match_name(name, name_axes(dataset), "the axis")


def filter_cells(dataset: xr.Dataset, conditions: Sequence[str]) -> xr.Dataset:
    """Return the store with the cells only that meet conditions such as `grouping=ungrouped,system_balanced`."""
    kept = {}
    for condition in conditions:
        name, equals, values = condition.partition("=")
        if not equals:
            axes = ", ".join(name_axes(dataset))
            instead = f"write AXIS=VALUE, AXIS one of {axes}" if axes else "the store holds one cell and has no axis"
            folder = "; of several folders `simlab compare` speaks" if Path(condition).is_dir() else ""
            raise InputError(f"{clip(condition, 100)} is no condition; {instead}{folder}")
        kept[axis(dataset, name)] = split_values(values)
    return select(dataset, kept)


def is_numeric(dataset: xr.Dataset, name: str) -> bool:
    """True if an axis is of numbers, not of options; null has no place among numbers, and makes them options."""
    return bool(np.issubdtype(dataset[name].dtype, np.number)) and not np.isnan(dataset[name].values).any()


def match_name(name: str, names: Sequence[str], what: str) -> str:
    """Return a name that is among `names`; else raise InputError with the nearest one (`what`: the sort of name)."""
    if name in names:
        return name
    raise InputError(f"the store does not have {what} {name}; {suggest(name, names)}")


def condition(dataset: xr.Dataset) -> str | None:
    """State what the errors of a store of one world leave out; None for a store of several worlds."""
    if not dataset.attrs.get("conditional"):
        return None
    table = is_from_table(*(json.loads(dataset.attrs[name]) for name in ("sweep", "config")))
    return f"conditional on one {'table of ratings' if table else 'world'}: another may rank the designs differently"
