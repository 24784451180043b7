"""Draw how often a repetition confirms a study: a line for each sort of repetition, a panel for each design.

Call `draw` with an open store, which returns the matplotlib figure.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from simlab.comparing.contrasts import groups
from simlab.drawing import view
from simlab.drawing.figures import charts, lines, styles
from simlab.drawing.view import View
from simlab.drawing.wording import value_label
from simlab.store.reservations import read_notes

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE = "held fixed when repeated"
"""Title of the legend."""


def draw(dataset: xr.Dataset, measure: str | None = None) -> Figure:
    """Return a figure of a measure (None: that of the sweep's figure) for each sort of repetition that the store has.

    Sorts are nothing new, new documents, new raters, and both new. A measure with one sort only is drawn as lines.
    """
    shown = view.view(dataset, measure)
    names = view.repetitions(dataset, shown.measure)
    if len(names) < 2 or not view.is_numeric(dataset, shown.x):
        return lines.draw(dataset, measure)
    apart = tuple(name for name in (*shown.panels, shown.line) if name)
    each = replace(shown, line=None, panels=apart)
    fixed = read_notes(dataset, names)
    named = [fixed.get(name, name) for name in names]
    words = charts.ChartWords(TITLE, _caption(dataset, each))
    return charts.draw(
        dataset, each, lambda axes, part, _: _panel(axes, part, each, names, named), requested=measure, words=words
    )


def _panel(axes: Axes, part: xr.Dataset, shown: View, names: list[str], named: list[str]) -> None:
    across = part[shown.across or shown.x].values
    for k, (name, label) in enumerate(zip(names, named, strict=True)):
        ((_, points),) = groups(part, shown.x, name)
        lines.line(axes, across, points, styles.style(k, label) | {"linestyle": styles.dash_pattern(k)}, shown.scale)
    if charts.shows_found_measure(shown):
        ((_, points),) = groups(part, shown.x, str(shown.companion))
        style: Any = {"color": "#777777", "linestyle": ":", "linewidth": 1.2, "label": f"({shown.companion})"}
        axes.plot(across, [point.value for point in points], **style)
    charts.mark(axes, shown)
    axes.set_xscale("log" if shown.x_scale == "log" else "linear")
    if not shown.across:
        axes.set_xticks(across, [value_label(shown.x, value) for value in across.tolist()], minor=False)
        axes.minorticks_off()
    if shown.scale == "linear":
        # Of shares none is above another for want of room.
        axes.set_ylim(0, 1)


def _caption(dataset: xr.Dataset, shown: View) -> str:
    """State what the lines are, as figures of lines do; what is held fixed stands in the legend."""
    text = charts.caption(dataset, shown)
    parts = [part for part in text.removesuffix(".").split("; ") if not part.startswith("held fixed: ")]
    return "; ".join(parts) + "."
