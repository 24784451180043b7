"""Write what a sweep found as plain text: the measure of its figure, how sure that is, and what to ask next.

`finding` returns the tables, `ending` the lines that follow them. Both take the dataset of a store: it has a dimension
for each axis of the sweep, and variables for each measure: its values, and its errors as NAME_mcse.
"""

from __future__ import annotations

import math
import shlex
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from simlab.comparing.ranges import Range, ranges
from simlab.config.conditions import ONE_AT_A_TIME
from simlab.drawing import view
from simlab.drawing.reports import cells
from simlab.drawing.reports.terms import ReportTable
from simlab.drawing.reports.text import write_block
from simlab.drawing.text import accounts, tables
from simlab.drawing.wording import describe_drawn, read_currency
from simlab.messages import show
from simlab.store import query
from simlab.store.coordinates import restore_axis_values
from simlab.store.intervals import sureness
from simlab.store.opening import measures_of, name_axes
from simlab.store.query import add_companion
from simlab.store.world_draws import read_laws

if TYPE_CHECKING:
    import xarray as xr

MOST_CELLS = 2000
"""Cells above which a finding is summed up."""


def finding(dataset: xr.Dataset) -> str:
    """Write the measure of the sweep's figure by design and x axis; of a single cell all its measures."""
    axes, names = name_axes(dataset), measures_of(dataset)
    if not axes:
        return _describe_single_cell(dataset, names)
    if math.prod(dataset.sizes[axis] for axis in axes) > MOST_CELLS:
        return _summarise_grid({axis: dataset.sizes[axis] for axis in axes}, ranges(dataset))
    dataset = add_companion(dataset, [view.view(dataset).measure])
    shown = view.view(dataset)
    wanted = dict.fromkeys([shown.measure, *shown.besides, *([shown.companion] if shown.companion else [])])
    rows = view.rows(dataset, list(wanted))
    known = cells.known_names(rows, list(wanted))
    return _write(rows, list(wanted), axes, cells.tables_of_figure(rows, shown, known) if known else [])


def _describe_single_cell(dataset: xr.Dataset, names: Sequence[str]) -> str:
    """Write what a campaign takes, where its study tells that, and below it all other measures."""
    rows = view.rows(dataset, names)
    taken, others = accounts.split_accounts(names, rows[0])
    known = cells.known_names(rows, others)
    table = _write(rows, others, (), [cells.table(rows, (), known)] if known else [])
    if not taken:
        return table
    answers = str(dataset["ratings_used"].attrs.get("units", "ratings")) if "ratings_used" in dataset else "ratings"
    return "\n\n".join([accounts.account(rows[0], taken, answers, read_currency(dataset)), table])


def _write(rows: Sequence[cells.Row], names: Sequence[str], axes: Sequence[str], laid: Sequence[ReportTable]) -> str:
    """Write the tables `laid` of cells, and below them what their values rest on and which measures have none."""
    lines = cells.missing_measures(rows, names)
    if known := cells.known_names(rows, names):
        behind, *more = cells.notes(rows, known, axes, laid)
        fixed = cells.describe_fixed(rows[0], known)
        fixed_lines = [textwrap.fill(f"held fixed: {fixed}", tables.width())] if fixed else []
        lines = [behind, *fixed_lines, *more, *lines]
    return "\n\n".join([*map(write_block, laid), "\n".join(lines)])


def ending(dataset: xr.Dataset, folder: Path, program: str) -> list[str]:
    """State what errors leave out, whether they are as small as the sweep asks, where the store is, what is next.

    `program` is the name by which simlab is called.
    """
    condition = view.condition(dataset)
    lines = [*([condition] if condition else []), *describe_drawn(read_laws(dataset)), *precision(dataset)]
    return [*lines, f"stored in {folder}", f"next: {program} {next_words(dataset, folder)}"]


def precision(dataset: xr.Dataset) -> list[str]:
    """State in how many cells the errors are as small as a run asked for, and how far off the furthest one is.

    Where a run asked for nothing, one line gives the largest error if it is above what the sweep's own file wants.
    """
    if reaches := query.reaches(dataset):
        return [line for reach in reaches for line in _describe_reach(dataset, reach)]
    wanted = view.read_declaration(dataset).get("precision") or {}
    errors = f"{wanted.get('measure')}_mcse"
    if "mcse" not in wanted or errors not in dataset:
        return []
    largest = _largest_error(dataset, wanted["measure"])
    if not largest > wanted["mcse"]:
        return []
    more = "studies" if dataset.attrs["conditional"] else "worlds"
    return [
        f"error of {wanted['measure']} up to {largest:.2g}, above the {wanted['mcse']:g} wanted; {more}=N runs more"
    ]


def _describe_reach(dataset: xr.Dataset, reach: query.Reach) -> list[str]:
    """State in how many cells an error is as wanted, and of the one that is furthest from it how far."""
    target, n = reach.target, len(reach.cells)
    reached = [at.reached for at in reach.cells.values()]
    what = f"error of {'differences in ' if target.difference else ''}{target.measure}"
    wanted = f"{target.mcse:g} or less, as asked,"
    word = "clusters" if dataset.attrs["conditional"] else "worlds"
    clusters = sorted(at.clusters for at in reach.cells.values())
    span = f"{clusters[0]}{f' to {clusters[-1]}' if clusters[-1] > clusters[0] else ''} {word}"
    if all(reached):
        return [f"{what}: {wanted} in {'the cell' if n == 1 else f'all {n} cells'} ({span})"]
    lines = [f"{what}: {wanted} in {sum(state is True for state in reached)} of {n} cell{'s' * (n > 1)} ({span})"]
    if untold := sum(state is None for state in reached):
        lines.append(
            f"{what}: cannot be told in {untold} cell{'s' * (untold > 1)}: no value, or the same in all {word}"
        )
    open_ = {place: at for place, at in reach.cells.items() if at.reached is False}
    if open_:
        place, at = max(open_.items(), key=lambda entry: entry[1].needed / max(entry[1].clusters, 1))
        axes = name_axes(dataset)
        where = ", ".join(
            f"{axis}={show(restore_axis_values(dataset[axis].values)[k])}" for axis, k in zip(axes, place, strict=True)
        )
        error = "unknown" if math.isnan(at.error) else f"{at.error:.2g}"
        lines.append(
            f"furthest: {f'{where}: ' if where else ''}{error} after {at.clusters:,} {word}, about {at.needed:,} needed"
        )
    return lines


def _largest_error(dataset: xr.Dataset, measure: str) -> float:
    """Return the largest error of a measure; where all campaigns agree, that of what none of them can have seen."""
    sure = sureness(dataset, measure, name_axes(dataset))
    errors = dataset[f"{measure}_mcse"].transpose(*name_axes(dataset)).values
    unseen = np.where(errors > 0, 0.0, (sure.high - sure.low) / 4)
    return float(np.nanmax(np.fmax(errors, unseen), initial=0.0))


def next_words(dataset: xr.Dataset, folder: Path) -> str:
    """Suggest the command that asks the store in `folder` next, without the program's name."""
    where = shlex.quote(str(folder))
    if name_axes(dataset):
        shown = view.view(dataset)
        if ONE_AT_A_TIME in view.read_declaration(dataset).get("only", ""):
            return f"query {where} --sensitivity {shown.measure}"
        for axis in (shown.line, shown.x, *shown.panels):
            if axis and dataset.sizes[axis] > 1:
                return f"compare {where} --by {axis} --measure {shown.measure}"
    return f"query {where} --format json"


def _summarise_grid(sizes: dict[str, int], measures: Sequence[Range]) -> str:
    """Sum up a grid that is too large for a table: how many settings, and what the measures range over."""
    lines = [f"{math.prod(sizes.values())} settings: {' x '.join(f'{axis} ({n})' for axis, n in sizes.items())}"]
    for measure in measures:
        spread = ", ".join(f"{value:.4f}" for value in measure.quartiles)
        lines.append(f"{measure.measure}: least, quartiles and greatest {spread}; no value in {measure.missing}")
    return "\n".join(lines)
