"""Draw the partial orders of campaigns as Hasse diagrams: ranks as rows, what follows from other verdicts left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from simlab.drawing.figures import captions, page_style, panels
from simlab.drawing.figures.styles import COLOURS
from simlab.drawing.wording import shorten_axis_name, value_label
from simlab.messages import shorten
from simlab.types import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

QUESTION = "Which systems did the campaign find better than which?"
VERMILION, GREY = COLOURS[1], "#8C8C8C"
LEVEL, WIDTH = 0.55, 0.75
"""Inches from one rank to the next, and from one system of a rank to the next."""
MOST_LETTERS = 18
"""Letters of a system's name that are written."""
LINE, CYCLE = "better (what follows is left out)", "each beats another, all the way round"
"""Labels of the legend."""


class Placed(NamedTuple):
    """Places of systems: `at[name]` across and down; pairs joined by a line (better first), and pairs of a cycle."""

    at: dict[str, tuple[float, int]]
    beats: list[tuple[str, str]]
    cyclic: list[tuple[str, str]]


def draw(ended: Sequence[Mapping[str, Any]], named: str) -> Figure:
    """Return a figure with the order of one campaign in each cell, a panel a cell.

    `ended` has a mapping for each cell, from `simlab.store.orders.campaign_orders`: its values on the axes, and the
    lists `ranks`, `beats` and `cycles`. `named` is the name of the campaign in the footnote. Raises InputError for more
    cells than a page holds.
    """
    placed = [_place_systems(order) for order in ended]
    if len(ended) > panels.MOST_PANELS:
        raise InputError(
            f"the figure would need {len(ended)} panels, more than {panels.MOST_PANELS}; choose cells, AXIS=VALUE"
        )
    rows = max(len(order["ranks"]) for order in ended)
    most = max(len(rank) for order in ended for rank in order["ranks"])
    figure, grid = panels.sheet([_title(order) for order in ended], max(2.0, WIDTH * most + 0.4), LEVEL * rows + 0.5)
    for axes, places in zip(grid.flat, placed, strict=False):
        _panel(axes, places, rows)
    _explain(figure, placed)
    captions.question(figure, QUESTION)
    captions.footnote(figure, f"{named}; ranks from above: nobody is beaten by a later one. No line is not: equal.")
    return figure


def _title(order: Mapping[str, Any]) -> str:
    at = [(name, value) for name, value in order.items() if not isinstance(value, list)]
    return ", ".join(f"{' '.join(shorten_axis_name(name).split())} = {value_label(name, value)}" for name, value in at)


def _place_systems(order: Mapping[str, Any]) -> Placed:
    """Place each rank on a row, its systems around the middle; those of a cycle stand beside each other."""
    at = {
        name: (k - (len(rank) - 1) / 2, row) for row, rank in enumerate(order["ranks"]) for k, name in enumerate(rank)
    }
    cyclic = [(first, second) for cycle in order["cycles"] for first, second in pairwise(cycle)]
    return Placed(at, [(better, worse) for better, worse in order["beats"]], cyclic)


def _panel(axes: Axes, placed: Placed, rows: int) -> None:
    for better, worse in placed.beats:
        # Over several rows a straight line would run through systems between.
        bend = 0.25 if placed.at[worse][1] - placed.at[better][1] > 1 else 0.0
        _line(axes, placed.at[better], placed.at[worse], bend)
    for pair in placed.cyclic:
        (left, right), (row, _) = zip(*(placed.at[name] for name in pair), strict=True)
        axes.plot([left, right], [row, row], color=VERMILION, linestyle="--", linewidth=1.6, zorder=2)
    for name, (x, y) in placed.at.items():
        box = {"boxstyle": "round,pad=0.25", "facecolor": "white", "edgecolor": "#0072B2", "linewidth": 0.9}
        words: Any = {
            "ha": "center",
            "va": "center",
            "fontsize": page_style.points(8),
            "parse_math": False,
            "bbox": box,
        }
        axes.text(x, y, shorten(name, MOST_LETTERS), zorder=3, **words)
    widest = max(abs(x) for x, _ in placed.at.values())
    axes.set(xlim=(-widest - 0.6, widest + 0.6), ylim=(rows - 0.5, -0.5), xticks=[])
    axes.set_yticks(range(rows), [str(k + 1) for k in range(rows)])
    axes.set_ylabel("rank")
    axes.grid(visible=False)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _line(axes: Axes, start: tuple[float, int], end: tuple[float, int], bend: float) -> None:
    from matplotlib.patches import FancyArrowPatch

    style: Any = {"arrowstyle": "-|>", "mutation_scale": 8, "linewidth": 0.9, "color": GREY}
    axes.add_patch(
        FancyArrowPatch(start, end, connectionstyle=f"arc3,rad={bend}", shrinkA=9, shrinkB=10, zorder=1.5, **style)
    )


def _explain(figure: Figure, placed: Sequence[Placed]) -> None:
    from matplotlib.lines import Line2D

    shown: list[tuple[str, str, Any, bool]] = [
        (LINE, GREY, "-", any(order.beats for order in placed)),
        (CYCLE, VERMILION, "--", any(order.cyclic for order in placed)),
    ]
    handles = [Line2D([], [], color=color, linestyle=dash) for _, color, dash, drawn in shown if drawn]
    captions.legend(figure, handles, [name for name, *_, drawn in shown if drawn], place="below")
