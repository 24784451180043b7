"""View of a store for its report: which measure, of which axes, and which designs are compared with each other.

Call `view_store` with an open store, which returns the `StoreView`; `compare_designs` compares designs in it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from simlab.comparing import several_stores
from simlab.comparing.contrasts import Comparison, Row
from simlab.drawing import view
from simlab.drawing.reports.terms import Cell
from simlab.drawing.wording import axis_label, value_label
from simlab.measures.labels import EMPTINESS
from simlab.messages import word
from simlab.store.coordinates import restore_axis_values
from simlab.store.intervals import is_calculation
from simlab.store.opening import measures_of, name_axes
from simlab.store.query import add_companion, find_companion, select

if TYPE_CHECKING:
    import xarray as xr

MOST_CELLS = 2000
"""Cells that a report holds; of a larger store it shows a part, and says which."""

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StoreView:
    """A store as its report shows it: the measure of its figure, the companion that says what was found, its axes.

    `by` is the axis whose values are compared, `x` the one that goes across where that is another one; both are None
    where there is none. `measures` have a value in some cell; `undefined` have none, and hold the reason. `records` are
    those of all cells, as `view.rows` lists them. `calculated` marks a store without campaigns. `plugins` are the
    packages that may be asked what their parts do.
    """

    dataset: xr.Dataset
    axes: tuple[str, ...]
    measure: str
    companion: str | None
    by: str | None
    x: str | None
    measures: tuple[str, ...]
    undefined: Mapping[str, str]
    records: Sequence[Record]
    calculated: bool
    left_out: str = ""
    plugins: tuple[str, ...] = ()


def view_store(dataset: xr.Dataset, plugins: Sequence[str] = ()) -> StoreView:
    """Return the view of a store: the measure and axes of its sweep's figure, and all measures of all cells.

    Of more than MOST_CELLS cells a part is kept, which `left_out` describes. A measure that is best where nothing is
    found has a `companion`, which says how much was found.
    """
    dataset, left_out = _limit_cells(dataset)
    dataset = add_companion(dataset, measures_of(dataset))
    names, axes = measures_of(dataset), name_axes(dataset)
    records = view.rows(dataset, names)
    defined = tuple(name for name in names if np.isfinite(dataset[name].values).any())
    measure = view.choose_measure(dataset)
    measure = measure if measure in defined or not defined else defined[0]
    shown_ = view.view(dataset, measure) if axes else None
    by = _choose_compared_axis(dataset, (shown_.line, shown_.x, *shown_.panels)) if shown_ else None
    x = shown_.x if shown_ and shown_.x != by and view.is_numeric(dataset, shown_.x) else None
    return StoreView(
        dataset,
        axes,
        measure,
        _find_companion(dataset, measure, defined),
        by,
        x,
        defined,
        {name: _reason(records, name) for name in names if name not in defined},
        records,
        bool(defined) and is_calculation(dataset, measure),
        left_out,
        tuple(plugins),
    )


def _limit_cells(dataset: xr.Dataset) -> tuple[xr.Dataset, str]:
    """Keep, of a store of too many cells, those at the middle of its longest further axes; say which these are."""
    axes, n = name_axes(dataset), math.prod(dataset.sizes[axis] for axis in name_axes(dataset))
    if n <= MOST_CELLS:
        return dataset, ""
    shown_ = view.view(dataset)
    further = [axis for axis in axes if axis not in (shown_.x, shown_.line)]
    kept: dict[str, Any] = {}
    for axis in sorted(further, key=lambda axis: -dataset.sizes[axis]):
        if math.prod(dataset.sizes[name] for name in axes if name not in kept) <= MOST_CELLS:
            break
        values = restore_axis_values(dataset[axis].values)
        kept[axis] = values[len(values) // 2]
    limited = select(dataset, {axis: [value] for axis, value in kept.items()})
    return limited, f"of {n:,} cells this report holds those at {place(kept)}; `simlab query` has all"


def _find_companion(dataset: xr.Dataset, measure: str, defined: Sequence[str]) -> str | None:
    """Name what says how much was found, where a measure is best by emptiness."""
    if measure not in EMPTINESS:
        return None
    companion = find_companion(dataset, [measure])
    return companion if companion in defined else None


def _choose_compared_axis(dataset: xr.Dataset, axes: Sequence[str | None]) -> str | None:
    return next((axis for axis in axes if axis and dataset.sizes[axis] > 1), None)


def _reason(records: Sequence[Record], name: str) -> str:
    return "; ".join(dict.fromkeys(str(record[f"{name}_reason"]) for record in records if record.get(f"{name}_reason")))


def compare_designs(seen: StoreView) -> Comparison | None:
    """Compare the designs along the compared axis, in every cell of the other axes; None if nothing can be compared."""
    if seen.by is None or seen.measure not in seen.measures or f"{seen.measure}_influence" not in seen.dataset:
        return None
    return several_stores.compare_designs(seen.dataset, seen.by, seen.measure)


def select_largest_cells(seen: StoreView, cells: Sequence[Sequence[Row]]) -> list[Sequence[Row]]:
    """Keep the cells at the largest value of the axis across; all of them where none goes across."""
    if seen.x is None:
        return list(cells)
    most = max(seen.dataset[seen.x].values.tolist())
    return [cell for cell in cells if cell[0].at.get(seen.x) == most]


def place(at: Mapping[str, Any]) -> str:
    """Write values of axes as words: `documents=181, grouping=none`."""
    return ", ".join(f"{name}={word(value)}" for name, value in at.items())


def label_design(axis: str, value: object) -> str:
    """Write a design as a reader of figures would say it, beside the word that is typed where these differ."""
    label, typed = value_label(axis, value), word(value)
    if re.fullmatch(r"[\d.]+", label):
        return f"{axis_label(axis)} {label}"
    return label if label.replace(" ", "_") == typed or label == typed else f"{label} ({typed})"


def axis_cell(axis: str, value: Any) -> Cell:
    """Return what stands in a table for a value of an axis: a number as it is, else what figures call it."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else value_label(axis, value)


def keep_finite(value: Any) -> float | None:
    """Return a number; None for what is not one."""
    return float(value) if value is not None and math.isfinite(value) else None
