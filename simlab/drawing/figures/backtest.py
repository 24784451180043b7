"""Draw how far predictions from a pilot came true."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from simlab.drawing.text.backtest import METHODS, TARGETS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from simlab.fitting.backtest import Record

COLOURS = {"pseudo_side_by_side": "#0072B2", "system_balanced": "#D55E00", "ungrouped": "#009E73"}
MARKERS = {"none": "o", "mean": "s", "error": "^", "zscore": "D"}


def draw(records: Sequence[Record], summary: Sequence[Mapping[str, Any]]) -> Figure:
    """Draw predicted against observed SRP: targets side by side, the fitted world above, the naive one below.

    `summary` is that of each target and method, all numbers of ratings per item together.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.6, 7.4), layout="constrained")
    grid = figure.subplots(2, 2, sharex=True, sharey=True)
    rows = {(row["target"], row["method"]): row for row in summary}
    for i, method in enumerate(("fit", "naive")):
        for j, target in enumerate(TARGETS):
            own = [record for record in records if (record.target, record.method) == (target, method)]
            _draw(grid[i, j], own)
            row = rows[target, method]
            words = f"mean abs. error {row['mae']:.3f}, {row['coverage']:.0%} of 90 % intervals hold"
            grid[i, j].set_title(f"{TARGETS[target]}: {METHODS[method]}\n{words}", fontsize=9)
    grid[1, 0].set(xlabel="predicted SRP", ylabel="observed SRP")
    grid[1, 1].set(xlabel="predicted SRP")
    grid[0, 0].set(ylabel="observed SRP")
    _legend(figure)
    return figure


def _draw(axes: Axes, records: Sequence[Record]) -> None:
    axes.plot([0, 1], [0, 1], color="0.5", linewidth=0.8)
    for record in records:
        colour, marker = COLOURS[record.grouping], MARKERS[record.normalization]
        axes.plot([record.low, record.high], [record.observed] * 2, color=colour, alpha=0.25, linewidth=1)
        filled = colour if record.ratings_per_item == 1 else "white"
        axes.plot(record.predicted, record.observed, marker, color=colour, markerfacecolor=filled, markersize=4)
    lows = [min(record.low, record.observed) for record in records]
    axes.set(aspect="equal", xlim=(min(axes.get_xlim()[0], min(lows) - 0.02), 1.02))
    low = max(min(lows) - 0.03, 0)
    axes.set(xlim=(low, 1.02), ylim=(low, 1.02))


def _legend(figure: Figure) -> None:
    from matplotlib.lines import Line2D

    entries = [Line2D([], [], marker="o", linestyle="", color=c, label=g.replace("_", " ")) for g, c in COLOURS.items()]
    entries += [Line2D([], [], marker=m, linestyle="", color="0.3", label=n) for n, m in MARKERS.items()]
    entries.append(Line2D([], [], marker="o", linestyle="", color="0.3", markerfacecolor="white", label="2 ratings"))
    figure.legend(handles=entries, loc="outside lower center", ncols=4, fontsize=8)
