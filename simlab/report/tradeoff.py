"""Draw one measure against another: what a design gives for what it takes. Source: Deriu et al. 2023, figure 2."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from simlab.compare import margin
from simlab.report import figures
from simlab.report.view import View
from simlab.types import Floats

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SCALES = {"linear": "{}", "log": "{}", "neg_log": "-log {}"}


def draw(dataset: xr.Dataset, shown: View, against: str, scale: str) -> Figure:
    """Draw a line per design, its points in the order of the axis x, with 95 % t intervals both ways.

    `scale` neg_log shows the negative natural logarithm of the measure, as the paper does for the KLD.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.6, 3.8), layout="constrained")
    place = figure.subplots()
    lines = dataset[shown.line].values.tolist() if shown.line else [None]
    for k, value in enumerate(lines):
        line = dataset.sel({shown.line: value}) if shown.line else dataset
        for panel in shown.panels:
            line = line.isel({panel: 0})
        _line(place, line, shown, against, scale, k, figures.label(shown.line, value) if shown.line else "")
    place.set_xlabel(_label(dataset, against))
    place.set_ylabel(textwrap.fill(SCALES[scale].format(_label(dataset, shown.measure)), 40))
    if scale == "log":
        place.set_yscale("log")
    if shown.line:
        figure.legend(loc="outside right upper", title=shown.line.replace("_", " "), alignment="left")
    values = ", ".join(str(value) for value in dataset[shown.x].values.tolist())
    caption = (
        f"Points of a line: {figures.axis_label(shown.x)} = {values}. Bars: 95 % t intervals; designs share "
        "their worlds, so overlapping bars can still differ (simlab compare)."
    )
    words = textwrap.fill(caption, int(17 * figure.get_figwidth()))
    figure.supxlabel(words, fontsize=7, color="#555555", x=0.01, ha="left")
    return figure


def _line(place: Axes, line: xr.Dataset, shown: View, against: str, scale: str, k: int, label: str) -> None:
    x, x_half = _estimates(line, against)
    y, y_half = _estimates(line, shown.measure)
    low, high = y - y_half, y + y_half
    if scale == "neg_log":
        # Bounds are transformed: an interval that reaches 0 is open above.
        low, high = -np.log(np.maximum(high, 1e-12)), -np.log(np.maximum(low, y / 20))
        y = -np.log(np.maximum(y, 1e-12))
    style: Any = {
        "color": figures.COLOURS[k % len(figures.COLOURS)],
        "marker": figures.MARKERS[k % len(figures.MARKERS)],
        "linestyle": figures.DASHES[k % len(figures.DASHES)],
    }
    place.errorbar(x, y, [y - low, high - y], x_half, label=label, elinewidth=0.8, capsize=1.5, **style)


def _estimates(line: xr.Dataset, measure: str) -> tuple[Floats, Floats]:
    """Return the values along a line with half the width of their t intervals."""
    clusters = np.isfinite(line[f"{measure}_influence"].values).sum(-1)
    factor = np.array([margin(int(n)) for n in clusters])
    half = factor * line[f"{measure}_mcse"].values
    return line[measure].values, np.nan_to_num(half, posinf=0.0)


def _label(dataset: xr.Dataset, measure: str) -> str:
    return str(dataset[measure].attrs.get("label", measure.replace("_", " ")))
