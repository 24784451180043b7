"""Draw how far predictions from a pilot came true."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from simlab.drawing.figures import around, look, panels
from simlab.drawing.text.backtest import MEASURES, METHODS, TARGETS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from simlab.fitting.backtest.records import Record

COLOURS = {"pseudo_side_by_side": "#0072B2", "system_balanced": "#D55E00", "ungrouped": "#009E73"}
MARKERS = {"all": "o", "held_out": "^"}
OTHER = "#CC79A7"
SAID = (
    "Across: what a world fitted to some documents predicts, with 90 % intervals; upwards: what studies on the real "
    "ratings gave. On the line both are the same."
)


def draw(records: Sequence[Record], summary: Sequence[Mapping[str, Any]]) -> Figure:
    """Draw predicted against observed values, one panel per measure that was observed.

    `summary` is that of each measure and method, all targets and numbers of ratings together.
    """
    names = [name for name in MEASURES if any(one.measure == name and one.judged for one in records)]
    rows = {(row["measure"], row["method"]): row for row in summary}
    titles = [
        f"{MEASURES[name]}\nmean abs. error {rows[name, 'fit']['mae']:.3f}, "
        f"{rows[name, 'fit']['coverage']:.0%} of 90 % intervals hold"
        for name in names
    ]
    figure, grid = panels.sheet(titles, 3.7, 3.7)
    for axes, name in zip(grid.flat, names, strict=False):
        _draw(axes, [one for one in records if one.measure == name and one.judged])
        axes.set(xlabel="predicted", ylabel="observed")
    _legend(figure, records)
    around.question(figure, "Does what a pilot predicts come true?")
    around.footnote(figure, SAID)
    return figure


def _draw(axes: Axes, records: Sequence[Record]) -> None:
    for record in records:
        if record.method == "naive":
            axes.plot(record.predicted, record.observed, "x", color="0.6", markersize=3, zorder=1)
        elif record.method == "fit":
            _draw_fitted(axes, record)
    # Intervals, too, are inside the panel, and a share is at most 1.
    ends = [value for one in records for value in (one.predicted, one.observed, one.low, one.high)]
    known = [value for value in ends if math.isfinite(value)]
    room = 0.04 * max(max(known) - min(known), 0.1)
    low, high = min(known) - room, max(known) + room
    axes.plot([low, high], [low, high], color="0.4", linewidth=0.8, zorder=0)
    axes.set(aspect="equal", xlim=(low, high), ylim=(low, high))


def _draw_fitted(axes: Axes, record: Record) -> None:
    colour = COLOURS.get(record.grouping, OTHER)
    axes.plot([record.low, record.high], [record.observed] * 2, color=colour, alpha=0.2, linewidth=1, zorder=2)
    filled = colour if record.ratings_per_item == 1 else "white"
    style: dict[str, Any] = {"color": colour, "markerfacecolor": filled, "markersize": 4, "zorder": 3}
    axes.plot(record.predicted, record.observed, MARKERS[record.target], **style)


def _legend(figure: Figure, records: Sequence[Record]) -> None:
    from matplotlib.lines import Line2D

    groupings = dict.fromkeys(one.grouping for one in records)
    entries = [Line2D([], [], color=COLOURS.get(g, OTHER), linewidth=3, label=g.replace("_", " ")) for g in groupings]
    for target in dict.fromkeys(one.target for one in records):
        entries.append(Line2D([], [], marker=MARKERS[target], linestyle="", color="0.3", label=TARGETS[target]))
    if any(one.ratings_per_item > 1 for one in records):
        entries.append(
            Line2D([], [], marker="o", linestyle="", color="0.3", markerfacecolor="white", label="2 ratings")
        )
    if any(one.method == "naive" for one in records):
        entries.append(Line2D([], [], marker="x", linestyle="", color="0.6", label=METHODS["naive"]))
    around.legend(figure, entries, [str(one.get_label()) for one in entries], place="below", fontsize=look.points(8))
