"""Draw which corruptions metrics notice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from simlab.drawing.figures import around, panels
from simlab.drawing.text import tables
from simlab.drawing.text.pass_rates import rule
from simlab.messages import shortened

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw(dataset: xr.Dataset) -> Figure:
    """Draw pass rates as a heat map, a panel per number of references; those of one kind stand together."""
    rows, columns = dataset.sizes["corruption"], dataset.sizes["metric"]
    titles = [tables.counted([n], "reference") for n in dataset["references"].values.tolist()]
    figure, grid = panels.sheet(titles, max(0.42 * columns + 0.4, 1.4), 0.3 * rows + 0.8, sharex=True, sharey=True)
    filled = list(grid.ravel()[: len(titles)])
    for k, axes in enumerate(filled):
        image = _panel(axes, dataset.isel(references=k))
    figure.colorbar(image, ax=filled, label="pass rate", shrink=0.8, aspect=25)
    around.question(figure, "Which corruptions does each metric notice?")
    around.footnote(figure, _caption(dataset))
    return figure


def _panel(axes: Axes, shown: xr.Dataset) -> Any:
    rates = shown["pass_rate"].values
    # Cividis looks the same to readers with and without red-green colour blindness, and orders by lightness in grey.
    image = axes.imshow(np.ma.masked_invalid(rates), cmap="cividis", vmin=0, vmax=1, aspect="auto")
    for (row, column), rate in np.ndenumerate(rates):
        text = f"{rate:.0f}" if rate in (0, 1) else tables.number(rate, 2)
        colour = "white" if rate < 0.55 else "black"
        axes.text(column, row, text, ha="center", va="center", fontsize=7, color=colour)
    _name(axes, shown)
    axes.tick_params(length=0, labelbottom=True)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    return image


def _name(axes: Axes, shown: xr.Dataset) -> None:
    """Name rows and columns, and part the kinds."""
    kinds, names = shown["kind"].values.tolist(), shown["corruption"].values.tolist()
    pairs = zip(names, kinds, strict=True)
    rows = [f"{shortened(name, 30)} ({kind})" if name != kind else name for name, kind in pairs]
    columns = [shortened(name, 30) for name in shown["metric"].values.tolist()]
    # Names are the user's: a dollar sign in one is no formula.
    axes.set_yticks(range(len(rows)), rows, fontsize=7, parse_math=False)
    axes.set_xticks(range(len(columns)), columns, rotation=90, fontsize=7, parse_math=False)
    for row in range(1, len(kinds)):
        if kinds[row] != kinds[row - 1]:
            axes.axhline(row - 0.5, color="white", linewidth=3)


def _caption(dataset: xr.Dataset) -> str:
    counts = dataset["n"].values
    n = tables.counted([int(counts[counts > 0].min()), int(counts.max())], "trial")
    near = int(dataset["near_ties"].sum())
    hang = f" {tables.counted([near], 'verdict')} hang{'s' * (near == 1)} on a near tie." if near else ""
    return f"Pass rates: {rule(dataset.attrs['tolerance'], dataset.attrs['near_tie'])} {n} behind each.{hang}"
