"""Draw which corruptions metrics notice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from simlab.drawing.figures import around, look, panels
from simlab.drawing.text import tables
from simlab.drawing.text.pass_rates import rule
from simlab.messages import shortened

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CELL, NAMES = 0.42, 1.6
"""Inches of a pass rate, and of the names beside rows."""


def draw(dataset: xr.Dataset) -> Figure:
    """Draw pass rates as a heat map, a panel per number of references; those of one kind stand together."""
    rows, columns = dataset.sizes["corruption"], dataset.sizes["metric"]
    references, most = dataset["references"].values.tolist(), 30 if look.now().width is None else 14
    width, height = max(CELL * columns + 0.4, 1.4), 0.3 * rows + 0.8 + 0.06 * most
    figure, lines = panels.laid([NAMES + width, *[width] * (len(references) - 1)], height, most=3)
    filled = [axes for line in lines for axes in line]
    for k, axes in enumerate(filled):
        image = _panel(axes, dataset.isel(references=k), most, named=any(axes is line[0] for line in lines))
        axes.set(title=tables.counted([references[k]], "reference"), xlabel="metric")
    place: Any = {"ax": filled, "shrink": 0.8} if len(lines) == 1 else {"ax": lines[-1], "location": "bottom"}
    figure.colorbar(image, label="pass rate", aspect=25, **place)
    around.question(figure, "Which corruptions does each metric notice?")
    around.footnote(figure, _caption(dataset))
    return figure


def _panel(axes: Axes, shown: xr.Dataset, most: int, *, named: bool) -> Any:
    rates = shown["pass_rate"].values
    # Cividis looks the same to readers with and without red-green colour blindness, and orders by lightness in grey.
    image = axes.imshow(np.ma.masked_invalid(rates), cmap="cividis", vmin=0, vmax=1, aspect="auto")
    for (row, column), rate in np.ndenumerate(rates):
        text = f"{rate:.0f}" if rate in (0, 1) else tables.number(rate, 2)
        colour = "white" if rate < 0.55 else "black"
        axes.text(column, row, text, ha="center", va="center", fontsize=look.points(7), color=colour)
    _name(axes, shown, most)
    axes.tick_params(length=0, labelleft=named)
    axes.set_ylabel("corruption (kind)" if named else "")
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    return image


def _name(axes: Axes, shown: xr.Dataset, most: int) -> None:
    """Name rows and columns with so many letters, and part the kinds."""
    kinds, names = shown["kind"].values.tolist(), shown["corruption"].values.tolist()
    pairs = zip(names, kinds, strict=True)
    rows = [f"{shortened(name, most)} ({kind})" if name != kind else name for name, kind in pairs]
    columns = [shortened(name, most) for name in shown["metric"].values.tolist()]
    # Names are the user's: a dollar sign in one is no formula.
    axes.set_yticks(range(len(rows)), rows, fontsize=look.points(7), parse_math=False)
    axes.set_xticks(range(len(columns)), columns, rotation=90, fontsize=look.points(7), parse_math=False)
    for row in range(1, len(kinds)):
        if kinds[row] != kinds[row - 1]:
            axes.axhline(row - 0.5, color="white", linewidth=3)


def _caption(dataset: xr.Dataset) -> str:
    counts = dataset["n"].values
    n = tables.counted([int(counts[counts > 0].min()), int(counts.max())], "trial")
    near = int(dataset["near_ties"].sum())
    hang = f" {tables.counted([near], 'verdict')} hang{'s' * (near == 1)} on a near tie." if near else ""
    return f"Pass rates: {rule(dataset.attrs['tolerance'], dataset.attrs['near_tie'])} {n} behind each.{hang}"
