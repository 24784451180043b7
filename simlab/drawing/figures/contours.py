"""Draw a measure over two axes of numbers: its values as colours, lines of equal value, those of another dashed.

Call `draw` with an open store, which returns the matplotlib figure.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from simlab.drawing import questions, view
from simlab.drawing.figures import captions, panels
from simlab.drawing.view import View
from simlab.drawing.wording import axis_label, measure_label, measured_axis
from simlab.messages import describe_replication
from simlab.types import InputError

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw(dataset: xr.Dataset, measure: str | None = None) -> Figure:
    """Return a figure with one panel per combination of the other axes, with lines at common heights.

    `measure` is shown in place of the one that the sweep's figure declares (None). Raises InputError where one of the
    two axes has fewer than two numbers.
    """
    shown = view.view(dataset, measure)
    for name in (shown.x, shown.line):
        if name is None or not view.is_numeric(dataset, name) or dataset.sizes[name] < 2:
            raise InputError(f"contours need at least two numbers along {name}; choose more values")
    parts = panels.split(dataset, shown.panels)
    figure, grid = panels.sheet([title for title, _ in parts], 3.6, 2.9, sharex=True, sharey=True)
    heights = _heights(dataset[shown.measure].values)
    for axes, (_, part) in zip(grid.flat, parts, strict=False):
        _panel(axes, part, shown, heights)
        axes.set_xlabel(measured_axis(dataset, shown.across) if shown.across else axis_label(shown.x))
        axes.set_ylabel(textwrap.fill(axis_label(str(shown.line)), 36))
    captions.question(figure, questions.sweep_question(dataset, shown, measure))
    words = f"Solid lines: {measure_label(dataset, shown.measure)}"
    if shown.against:
        words += f"; dashed: {measure_label(dataset, shown.against)}"
    if shown.mark is not None:
        words += f"; thick: wanted, {shown.mark:g}"
    sweep = view.read_declaration(dataset)
    captions.footnote(figure, f"{words}; {describe_replication(sweep)} per point.")
    return figure


def _heights(values: Any) -> Any:
    """Choose heights that split the values evenly: where a measure rises steeply, even steps would crowd its lines."""
    known = values[np.isfinite(values)]
    return np.unique([float(f"{height:.2g}") for height in np.quantile(known, np.linspace(0.15, 0.98, 7))])


def _panel(axes: Axes, part: xr.Dataset, shown: View, heights: Any) -> None:
    upwards = part[shown.line].values
    across = part[shown.x].values
    if shown.across:
        # A grid whose columns lean: each cell stands where its own mean is.
        across = part[shown.across].transpose(shown.line, shown.x).values
        upwards = np.repeat(upwards[:, None], across.shape[1], axis=1)
    values = part[shown.measure].transpose(shown.line, shown.x).values
    axes.contourf(across, upwards, values, levels=heights, cmap="cividis", alpha=0.35, extend="both")
    lines = axes.contour(across, upwards, values, levels=heights, colors="#222222", linewidths=1.1)
    axes.clabel(lines, fontsize=7, fmt="%g")
    if shown.mark is not None:
        axes.contour(across, upwards, values, levels=[shown.mark], colors="black", linewidths=2.4)
    if shown.against:
        other = part[shown.against].transpose(shown.line, shown.x).values
        axes.contour(across, upwards, other, levels=heights, colors="#D55E00", linewidths=1.1, linestyles="--")
    axes.grid(visible=False)
