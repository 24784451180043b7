"""Draw one measure against another: what a design gives for what it takes.

Call `draw` with an open store, which returns the matplotlib figure. Source: Deriu et al. 2023, figure 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from simlab.comparing.contrasts import groups
from simlab.drawing import view
from simlab.drawing.figures import charts, page_style, styles
from simlab.drawing.view import View
from simlab.drawing.wording import value_label
from simlab.store.coordinates import restore_axis_values
from simlab.types import Floats

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw(dataset: xr.Dataset, measure: str | None = None) -> Figure:
    """Return a figure of a measure against the measure that the sweep sets beside it.

    `measure` is shown in place of the one that the sweep's figure declares (None).
    """
    shown = view.view(dataset, measure)
    # Where both ways are measures, a wide panel would flatten what is gained.
    alone = all(dataset.sizes[name] == 1 for name in shown.panels)
    return charts.draw(dataset, shown, panel, *((4.2, 3.0) if alone else (2.6, 2.2)), requested=measure)


def panel(axes: Axes, part: xr.Dataset, shown: View) -> None:
    """Draw a line per design, its points in the order of the axis x, with 95 % intervals both ways."""
    ordered = part.sortby(shown.x) if view.is_numeric(part, shown.x) else part
    names = [value_label(shown.x, value) for value in restore_axis_values(ordered[shown.x].values)]
    given, taken = (groups(ordered, shown.x, str(name)) for name in (shown.measure, shown.against))
    for k, ((at, ys), (_, xs)) in enumerate(zip(given, taken, strict=True)):
        style = styles.style(k, value_label(shown.line, at[shown.line]) if shown.line else "")
        (x, *x_bounds), (y, *y_bounds) = styles.estimates(xs), styles.estimates(ys, shown.scale)
        axes.plot(x, y, linestyle=styles.dash_pattern(k), **style)
        reach: Any = {"xerr": styles.bars(x, *x_bounds), "yerr": styles.bars(y, *y_bounds)}
        axes.errorbar(x, y, **reach, linestyle="none", color=style["color"], elinewidth=0.8, capsize=1.5)
        _name(axes, names, x, y, style["color"])
        # Once more, above the names.
        axes.plot(x, y, linestyle="none", zorder=4, **style | {"label": "_"})
    charts.mark(axes, shown)
    axes.grid(visible=True, axis="x")
    _hide_repeated(axes)


def _name(axes: Axes, names: Sequence[str], x: Floats, y: Floats, colour: str) -> None:
    """Write the value of the axis x beside each point, on a white edge that keeps it off the lines."""
    from matplotlib.patheffects import withStroke

    style: Any = {
        "xytext": (4, -3),
        "textcoords": "offset points",
        "va": "top",
        "fontsize": page_style.points(6),
        "zorder": 3,
    }
    edge = [withStroke(linewidth=1.5, foreground="white")]
    for name, at_x, at_y in zip(names, x, y, strict=True):
        if np.isfinite(at_x + at_y):
            axes.annotate(name, (at_x, at_y), color=colour, path_effects=edge, **style)


def _hide_repeated(axes: Axes) -> None:
    """Hide a name that is written over the same name of a point of another line: points lie together there."""
    # Limits are settled when somebody asks for them; before, all names would seem to lie together.
    axes.get_xlim(), axes.get_ylim()
    shown: list[tuple[str, Any]] = []
    for text in axes.texts:
        place = text.get_window_extent()
        over = any(name == text.get_text() and place.overlaps(other) for name, other in shown)
        text.set_visible(not over)
        if not over:
            shown.append((text.get_text(), place))
