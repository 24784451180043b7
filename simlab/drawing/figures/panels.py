"""Split a store into the panels of a figure, and lay them out on a page.

`split` returns the parts of a store with their titles, `sheet` and `lay_out_axes` a matplotlib figure with its axes.
"""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from simlab.drawing.figures import page_style
from simlab.drawing.wording import shorten_axis_name, value_label
from simlab.messages import word
from simlab.store.coordinates import restore_axis_values
from simlab.types import InputError

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PANELS = 12
BESIDE, BELOW = 3.2, 0.5
"""Inches beside panels, of labels and the legend, and below them, of labels."""
SQUEEZED = 2 / 3
"""Of the inches that a panel wants, the share with which it still can be read."""
LEAST_WIDTH, LEAST_HEIGHT = 1.45, 1.5
"""Inches that a panel must have to be read."""


def split(dataset: xr.Dataset, names: Sequence[str]) -> list[tuple[str, xr.Dataset]]:
    """Return a title and the part of the store for each combination of the values of the axes `names`.

    Raises InputError for more panels than a page holds.
    """
    values = [restore_axis_values(dataset[name].values) for name in names]
    count = math.prod(map(len, values))
    if count > MOST_PANELS:
        raise InputError(
            f"the figure would need {count} panels for {', '.join(names)}, more than {MOST_PANELS}; "
            f"choose values, for example {names[0]}={word(values[0][0])}"
        )
    return [
        (_title(names, at), dataset.isel(dict(zip(names, index, strict=True))))
        for at, index in zip(
            itertools.product(*values),
            itertools.product(*(range(len(axis_values)) for axis_values in values)),
            strict=True,
        )
    ]


def sheet(titles: Sequence[str], width: float, height: float, **shared: Any) -> tuple[Figure, Any]:
    """Return a figure with titled axes for each panel of so many inches, and the grid of these axes.

    `shared` are further arguments of `Figure.subplots`, such as `sharex`.
    """
    from matplotlib.figure import Figure

    columns, each, figsize = _places(len(titles), width, height)
    rows = math.ceil(len(titles) / columns)
    figure = Figure(figsize=figsize, layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False, **shared)
    points = page_style.current_style().rc["axes.titlesize"]
    for axes, title in zip(grid.flat, titles, strict=False):
        wide = page_style.letters(0.9 * each, points)
        axes.set_title("\n".join(textwrap.fill(line, wide) for line in title.splitlines()))
    for axes in grid.ravel()[len(titles) :]:
        axes.remove()
    return figure, grid


def _places(count: int, width: float, height: float) -> tuple[int, float, tuple[float, float]]:
    """Return columns of panels, the inches of a panel across, and those of the figure.

    Where the width is not given, panels have the inches that they want; else as many stand in a row as can be read.
    """
    usual = 2 if count == 4 else min(count, 3)
    wide = page_style.current_style().width
    if wide is None:
        return usual, width, (width * usual + BESIDE, height * math.ceil(count / usual) + BELOW)
    room = wide if page_style.is_narrow(wide) else wide - BESIDE
    columns = max(1, min(usual, int(room / LEAST_WIDTH)))
    each = room / columns
    low = min(height, max(height * each / width, LEAST_HEIGHT))
    return columns, each, (wide, low * math.ceil(count / columns) + BELOW)


def lay_out_axes(widths: Sequence[float], height: float, most: int = 99) -> tuple[Figure, list[list[Axes]]]:
    """Return a figure with a panel for each of the widths, and its axes row by row (`split_into_rows`).

    `widths` and `height` are inches, `most` limits the panels of a row.
    """
    from matplotlib.figure import Figure

    rows = split_into_rows(widths, most)
    natural = max(sum(widths[k] for k in row) for row in rows)
    figure = Figure(figsize=page_style.size(natural, height * len(rows)), layout="constrained")
    cells = figure.add_gridspec(len(rows), 1)
    grids = [cells[k].subgridspec(1, len(row), width_ratios=[widths[j] for j in row]) for k, row in enumerate(rows)]
    return figure, [
        [figure.add_subplot(grid[k]) for k in range(len(row))] for grid, row in zip(grids, rows, strict=True)
    ]


def split_into_rows(widths: Sequence[float], most: int = 99, names: Sequence[float] | None = None) -> list[list[int]]:
    """Put panels into rows of `most` at most, and of fewer where the figure has a width; return their indices by row.

    `widths` are the inches that panels want, `names` those of them that the names of a panel's rows take. A panel
    shares a row where it keeps two thirds of the inches that it wants beside these names.
    """
    wide, beside = page_style.current_style().width, names or [0.0] * len(widths)
    least = [own + SQUEEZED * (width - own) for width, own in zip(widths, beside, strict=True)]
    rows: list[list[int]] = [[]]
    for k in range(len(widths)):
        full = len(rows[-1]) == most or (wide is not None and sum(least[j] for j in [*rows[-1], k]) > wide)
        if rows[-1] and full:
            rows.append([])
        rows[-1].append(k)
    return rows


def _title(names: Sequence[str], at: Sequence[object]) -> str:
    pairs = zip(names, at, strict=True)
    return ", ".join(
        f"{' '.join(shorten_axis_name(name).split())} = {value_label(name, value)}" for name, value in pairs
    )
