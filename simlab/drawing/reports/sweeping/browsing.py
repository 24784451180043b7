"""Lay out a whole store for a reader to descend from its cells to their worlds, and to the campaigns of these.

`section` takes the view of a store and returns that section of its report. `Numbers` are the numbers of cells in the
ledger, by their values on the axes: `simlab verify --replay` takes them.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simlab.drawing.reports.sweeping.exploring import axis
from simlab.drawing.reports.sweeping.origin import SIZES, shown_folder
from simlab.drawing.reports.sweeping.store_view import StoreView
from simlab.drawing.reports.terms import Cell, Code, Drill, Prose, ReportAxis, ReportTable, Section, Value
from simlab.drawing.view import read_declaration
from simlab.drawing.wording import measured_axis
from simlab.messages import word
from simlab.store.coordinates import restore_axis_values
from simlab.store.opening import name_axes
from simlab.types import OK, UNRUN, Floats

if TYPE_CHECKING:
    import xarray as xr

HEADING = "Worlds and campaigns"
MOST_CAMPAIGNS = 400_000
"""Campaigns whose counts of claims a page holds, two or three bytes each."""
MOST_CELLS = 50_000
"""Cells whose worlds and campaigns a page holds."""
MOST_ROWS = 20
"""Rows of the table behind the block."""
DIGITS = 4
"""Significant digits of values."""
FAILED, NOT_RUN = -1, -2
"""Stand for a count of claims where a campaign has none."""

Numbers = Mapping[tuple[Any, ...], int]


def section(seen: StoreView, whole: xr.Dataset, folder: Path, numbers: Numbers | None) -> Section | None:
    """Lay out all cells of the store `whole`; `numbers` has the number of each cell in its ledger.

    `seen` is the view of the store, which may show a part of it. Without `numbers` there is no ledger to replay from.
    None for a calculation, which has no campaigns. Of more cells than a page holds the section says so, with the
    commands that show one.
    """
    axes = name_axes(whole)
    if "status" not in whole or not seen.measures:
        return None
    where = shlex.quote(shown_folder(folder))
    if too_many := name_excess(whole):
        return Section(HEADING, (Prose(f"{too_many} These commands show one cell:"), _commands(where, numbers)))
    values, errors = (
        _round_values(whole[name].transpose(*axes).values) for name in (seen.measure, f"{seen.measure}_mcse")
    )
    sweep = read_declaration(whole)
    sizes = [int(sweep.get(name) or 1) for name in SIZES]
    claims, note = _claims(whole, axes, where)
    counted = _count(whole, axes, numbers)
    replay = f"simlab verify {where} --replay" if numbers is not None else ""
    drill = Drill(
        "Walk from a cell to its worlds and campaigns",
        tuple(_axis(seen, whole, name) for name in axes),
        measured_axis(whole, seen.measure),
        tuple(values),
        tuple(errors),
        tuple(counted),
        claims,
        (sizes[0], sizes[1], sizes[2], sizes[3]),
        replay,
        f"simlab export {where}" if replay else "",
        note,
        _table(whole, axes, seen.measure, counted, replay),
    )
    return Section(HEADING, (drill,), light=True)


def name_excess(whole: xr.Dataset) -> str:
    """Return why a page does not show the worlds and campaigns of a store: too many cells; '' where it does."""
    n_cells = math.prod(whole.sizes[name] for name in name_axes(whole))
    if "status" not in whole or n_cells <= MOST_CELLS:
        return ""
    return f"{n_cells:,} cells are more than the {MOST_CELLS:,} whose worlds and campaigns a page holds."


def _commands(where: str, numbers: Numbers | None) -> Code:
    replay = [f"simlab verify {where} --replay CELL.WORLD.STUDY"] if numbers is not None else []
    lines = [
        f"simlab query {where} AXIS=VALUE",
        *replay,
        f"simlab export {where} AXIS=VALUE --as parquet --out cell.parquet",
    ]
    return Code("\n".join(lines), "console")


def _axis(seen: StoreView, whole: xr.Dataset, name: str) -> ReportAxis:
    return axis(replace(seen, dataset=whole), name)


def _count(whole: xr.Dataset, axes: Sequence[str], numbers: Numbers | None) -> list[int | None]:
    """Return the number of each cell of the grid in the ledger, None where it lacks one; without a ledger its index."""
    values = [restore_axis_values(whole[name].values) for name in axes]
    places = np.ndindex(*(whole.sizes[name] for name in axes))
    if numbers is None:
        return list(range(math.prod(whole.sizes[name] for name in axes)))
    return [numbers.get(tuple(of[k] for of, k in zip(values, place, strict=True))) for place in places]


def _claims(whole: xr.Dataset, axes: Sequence[str], where: str) -> tuple[tuple[tuple[int, ...], ...] | None, str]:
    """Count the pairs that each campaign claims, in each cell; None, and why, where a page does not hold that."""
    status = whole["status"].transpose(*axes, "replicate")
    kept = next((name for name in ("significant", "verdict") if name in whole), None)
    if kept is None:
        return None, "This store keeps measures only, so that it is not shown what each campaign claimed."
    if status.size > MOST_CAMPAIGNS:
        return None, (
            f"What each of {status.size:,} campaigns claimed is more than a page holds; simlab export {where} "
            "AXIS=VALUE --as parquet --out cell.parquet writes those of a cell."
        )
    claimed = np.nan_to_num(whole[kept].transpose(*axes, "replicate", ...).values.astype(float)) != 0
    count = claimed.reshape(*status.shape, -1).sum(-1)
    ran = status.values
    count = np.where(ran == OK, count, np.where(ran == UNRUN, NOT_RUN, FAILED))
    return tuple(map(tuple, count.reshape(-1, status.sizes["replicate"]).tolist())), ""


def _round_values(values: Floats) -> list[float | None]:
    return [float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None for value in values.ravel().tolist()]


def _table(
    whole: xr.Dataset, axes: Sequence[str], measure: str, counted: Sequence[int | None], replay: str
) -> ReportTable:
    """Write the first cells with the line that replays a campaign of each."""
    flat = whole[measure].transpose(*axes).values.ravel(), whole[f"{measure}_mcse"].transpose(*axes).values.ravel()
    shape = [whole.sizes[name] for name in axes]
    values = [restore_axis_values(whole[name].values) for name in axes]
    rows: list[tuple[Cell, ...]] = []
    for k in [k for k, number in enumerate(counted) if number is not None][:MOST_ROWS]:
        value, error = (float(column[k]) for column in flat)
        place = np.unravel_index(k, shape) if shape else ()
        shown = Value(value, mcse=error if math.isfinite(error) else None) if math.isfinite(value) else None
        line = f"{replay} {counted[k]}.0.0" if replay else ""
        rows.append((*(word(of[int(j)]) for of, j in zip(values, place, strict=True)), shown, line))
    caption = f"The first campaign of {len(rows)} of {len(counted):,} cells"
    return ReportTable(caption, (*axes, measured_axis(whole, measure), "its replay"), tuple(rows))
