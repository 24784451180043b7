"""Draw a measure against an axis: lines with bands over numbers, points with bars over options.

Call `draw` with an open store, which returns the matplotlib figure; other figures use `panel` and `line`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from simlab.comparing.contrasts import groups
from simlab.comparing.differences import Point
from simlab.drawing import view
from simlab.drawing.figures import charts, styles
from simlab.drawing.view import View
from simlab.drawing.wording import value_label
from simlab.store.coordinates import restore_axis_values
from simlab.types import Array

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw(dataset: xr.Dataset, measure: str | None = None) -> Figure:
    """Return a figure of a measure in a panel per combination of the further axes.

    `measure` is shown in place of the one that the sweep's figure declares (None).
    """

    def draw_compared_panel(axes: Axes, part: xr.Dataset, shown: View) -> None:
        panel(axes, part, shown)
        if shown.reference:
            _reference(axes, view.select_reference(dataset, part, shown), shown)

    return charts.draw(dataset, view.view(dataset, measure), draw_compared_panel, requested=measure)


def panel(axes: Axes, part: xr.Dataset, shown: View) -> None:
    """Draw a part of a store on axes: one line (or row of points) per value on the axis of the lines."""
    numbers = view.is_numeric(part, shown.x) and part.sizes[shown.x] > 1
    across: Array = part[shown.x].values if numbers else np.arange(part.sizes[shown.x])
    lines = list(groups(part, shown.x, shown.measure))
    for k, (at, points) in enumerate(lines):
        style = styles.style(k, value_label(shown.line, at[shown.line]) if shown.line else "")
        if numbers:
            line(axes, across, points, style | {"linestyle": styles.dash_pattern(k)}, shown.scale)
        else:
            _points(axes, across + 0.12 * (k - (len(lines) - 1) / 2), points, style, shown.scale)
    if charts.shows_found_measure(shown):
        _draw_found_measure(axes, across, part, shown)
    charts.mark(axes, shown)
    if numbers and shown.x_scale == "log" and np.min(across) > 0:
        axes.set_xscale("log")
    elif numbers and np.diff(np.sort(across)).min() > 0.08 * np.ptp(across):
        axes.set_xticks(across)
    if not numbers:
        axes.set_xticks(across, [value_label(shown.x, value) for value in restore_axis_values(part[shown.x].values)])
        axes.set_xlim(-0.5, len(across) - 0.5)


def _reference(axes: Axes, line: xr.Dataset, shown: View) -> None:
    """Draw the design to compare with: in grey, without a band, as it is the same in many panels."""
    ((_, points),) = groups(line.squeeze([*shown.reference, *shown.panels]), shown.x, shown.measure)
    numbers = view.is_numeric(line, shown.x) and line.sizes[shown.x] > 1
    across: Array = line[shown.x].values if numbers else np.arange(line.sizes[shown.x])
    values, _, _ = styles.estimates(points, shown.scale)
    named = ",\n".join(value_label(name, value) for name, value in shown.reference.items())
    style: Any = {"color": "#555555", "linestyle": (0, (5, 2)), "linewidth": 1.6, "marker": "x", "zorder": 1.5}
    axes.plot(across, values, label=f"{named} (reference)", **style)


def _draw_found_measure(axes: Axes, across: Array, part: xr.Dataset, shown: View) -> None:
    """Draw the companion faintly: a stable ranking probability is high, too, where hardly anything is found."""
    for k, (_, points) in enumerate(groups(part, shown.x, str(shown.companion))):
        colour = styles.style(k, "_")["color"]
        axes.plot(across, [point.value for point in points], color=colour, linestyle=":", linewidth=1.0, alpha=0.6)


def line(axes: Axes, across: Array, points: list[Point], style: dict[str, Any], scale: str) -> None:
    """Draw one line over numbers, with the intervals of its points as a band.

    `across` has the place of each point; `style` holds matplotlib's colour, marker and label; `scale` is that of the
    values (linear, log, neg_log).
    """
    values, low, high = styles.estimates(points, scale)
    # Among many points a mark on each would hide the line.
    axes.plot(across, values, markevery=max(1, len(across) // 12), **style)
    axes.fill_between(across, low, high, color=style["color"], alpha=0.18, linewidth=0)


def _points(axes: Axes, across: Array, points: list[Point], style: dict[str, Any], scale: str) -> None:
    values, low, high = styles.estimates(points, scale)
    reach = styles.bars(values, low, high)
    axes.errorbar(across, values, reach, linestyle="none", elinewidth=1.2, capsize=2.5, **style)
