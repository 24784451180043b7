"""Split a store into the panels of a figure, and lay them out on a page with a footnote."""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from simlab.drawing.wording import short, value_label
from simlab.types import InputError

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

MOST_PANELS = 12


def split(dataset: xr.Dataset, names: Sequence[str]) -> list[tuple[str, xr.Dataset]]:
    """Return a title and the part of the store for each combination of the values of these axes.

    Raises InputError for more panels than a page holds.
    """
    values = [dataset[name].values.tolist() for name in names]
    count = math.prod(map(len, values))
    if count > MOST_PANELS:
        raise InputError(
            f"the figure would need {count} panels for {', '.join(names)}, more than {MOST_PANELS}; "
            f"choose values, for example {names[0]}={values[0][0]}"
        )
    return [
        (_title(names, at), dataset.isel(dict(zip(names, index, strict=True))))
        for at, index in zip(
            itertools.product(*values), itertools.product(*(range(len(held)) for held in values)), strict=True
        )
    ]


def sheet(titles: Sequence[str], width: float, height: float, **shared: Any) -> tuple[Figure, Any]:
    """Return a figure with titled axes for each panel of so many inches, and the grid of these axes."""
    from matplotlib.figure import Figure

    columns = 2 if len(titles) == 4 else min(len(titles), 3)
    rows = math.ceil(len(titles) / columns)
    figure = Figure(figsize=(width * columns + 3.2, height * rows + 1.3), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False, **shared)
    for axes, title in zip(grid.flat, titles, strict=False):
        # About 13 letters of 9 points stand on an inch.
        axes.set_title(textwrap.fill(title, int(13 * width)), fontsize=9)
    for axes in grid.ravel()[len(titles) :]:
        axes.remove()
    return figure, grid


def footnote(figure: Figure, text: str) -> None:
    """Write a caption below the figure."""
    # About 17 letters of 7 points stand on an inch.
    words = textwrap.fill(text, int(17 * figure.get_figwidth()))
    figure.supxlabel(words, fontsize=7, color="#555555", x=0.01, ha="left")


def _title(names: Sequence[str], at: Sequence[object]) -> str:
    pairs = zip(names, at, strict=True)
    return ", ".join(f"{' '.join(short(name).split())} = {value_label(name, value)}" for name, value in pairs)
