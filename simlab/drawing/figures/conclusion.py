"""Draw what is concluded from a table: the order, its pairs, and where there are any raters and metrics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from simlab.answers.conclude import Conclusion, Pair, System
from simlab.drawing.figures import around, look, panels
from simlab.drawing.figures import conclusion_order as order
from simlab.drawing.figures import conclusion_panels as rows
from simlab.drawing.text.conclusion_numbers import broken, read
from simlab.drawing.text.conclusion_pairs import ordered
from simlab.drawing.text.conclusion_systems import METHODS, estimated_with

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

QUESTION = "Which systems are better than which?"
ROW, LEAST_HEIGHT, MARGINS = 0.22, 3.0, 0.6
"""Inches of a row of 8 points, of the least panel, and of all that is not rows."""
WIDTHS = {"order": 4.4, "pairs": 3.1, "beside": 3.0}
LETTER = 0.062
"""Inches of a letter of the names beside rows, for which columns are widened."""


def draw(found: Conclusion) -> Figure:
    """Draw the order as a Hasse diagram with intervals; pairs, raters and metrics beside it, where there are any.

    What is cut (pairs, raters beyond 30) is said in the titles.
    """
    from matplotlib.figure import Figure

    systems, pairs, beside = ordered(found), rows.shown_pairs(found), _beside(found)
    columns = ["order", *(["pairs"] if pairs else []), *(["beside"] if beside else [])]
    row = ROW * look.points(8) / 8
    counts = {"order": len(systems), "pairs": len(pairs), "beside": sum(height for _, height in beside)}
    names = [LETTER * _letters(name, found, systems, pairs) for name in columns]
    widths = [WIDTHS[name] + own for name, own in zip(columns, names, strict=True)]
    lines = panels.in_rows(widths, names=names)
    # Alone in its row a panel need not be as high as one that others stand beside.
    least = LEAST_HEIGHT if len(lines) == 1 else 0.0
    heights = [max(least, row * max(counts[columns[k]] for k in line)) + MARGINS for line in lines]
    figure = Figure(figsize=look.size(sum(widths), sum(heights)), layout="constrained")
    outer, explained = figure.add_gridspec(len(lines), 1, height_ratios=heights), set[str]()
    for at, (line, height) in enumerate(zip(lines, heights, strict=True)):
        grid = outer[at].subgridspec(1, len(line), width_ratios=[widths[k] for k in line])
        for cell, k in ((grid[place], k) for place, k in enumerate(line)):
            if columns[k] == "order":
                explained |= order.draw(figure.add_subplot(cell), found, systems)
            elif columns[k] == "pairs":
                explained |= rows.draw_pairs(figure.add_subplot(cell), found, pairs)
            else:
                _draw_beside(figure, cell, found, beside, (height - MARGINS) / row)
    _explain(figure, explained)
    around.question(figure, QUESTION)
    around.footnote(figure, caption(found))
    # Ranks stand between the first two panels.
    figure.get_layout_engine().set(w_pad=0.12)  # type: ignore[union-attr, call-arg]
    return figure


def _letters(column: str, found: Conclusion, systems: Sequence[System], pairs: Sequence[Pair]) -> int:
    """Count the letters of the longest name beside the rows of a column."""
    if column == "pairs":
        return max(map(len, rows.named(pairs)), default=0)
    names = [one.system for one in systems]
    if column == "order":
        return _longest(names, order.MOST_LETTERS)
    return _longest([*names, *(one.rater for one in found.raters)], rows.MOST_LETTERS)


def _longest(names: Sequence[str], most: int) -> int:
    return min(max(map(len, names), default=0), most)


def caption(found: Conclusion) -> str:
    """Say what is promised, or that it is not, and what the marks do not say."""
    promise = found.promise
    says = (promise.says[:1].upper() + promise.says[1:]).replace(" below", "")
    held = f"{says}." if promise.holds else f"The promise {broken(found)}. ({says}.)"
    lenient = " Leniency: how far above the others a rater scores the same outputs." if found.raters else ""
    return f"{read(found)}. {held} Open is not equal.{lenient}"


def _beside(found: Conclusion) -> list[tuple[str, float]]:
    """Name the panels of the last column, and how many rows high each is."""
    metric, n_systems = estimated_with(found.metrics), min(len(found.systems), rows.MOST_SYSTEMS)
    raters = len(rows.shown_raters(found.raters))
    listed = [
        ("raters", raters + 3.0 if raters else 0.0),
        ("metrics", 2.5 * len(found.metrics[: rows.MOST_METRICS]) + 3.0 if found.metrics else 0.0),
        ("means", 2.2 * n_systems + 4.0 if metric else 0.0),
    ]
    return [(name, height) for name, height in listed if height]


def _draw_beside(
    figure: Figure, cell: Any, found: Conclusion, beside: Sequence[tuple[str, float]], room: float
) -> None:
    """Draw the panels of the last column from the top; what is left of it stays empty."""
    heights = [height for _, height in beside]
    left = max(room - sum(heights), 0.0)
    inner = cell.subgridspec(len(heights) + (left > 1), 1, height_ratios=[*heights, *([left] if left > 1 else [])])
    for k, (name, _) in enumerate(beside):
        _panel(figure.add_subplot(inner[k]), name, found)
    if left > 1:
        figure.add_subplot(inner[len(heights)]).set_axis_off()


def _panel(axes: Axes, name: str, found: Conclusion) -> None:
    names = [one.system for one in ordered(found)]
    if name == "raters":
        rows.draw_raters(axes, found, rows.shown_raters(found.raters))
    elif name == "metrics":
        rows.draw_metrics(axes, found.metrics[: rows.MOST_METRICS], names)
    elif (metric := estimated_with(found.metrics)) is not None:
        rows.draw_means(axes, found, metric, names[: rows.MOST_SYSTEMS])


def _explain(figure: Figure, explained: Iterable[str]) -> None:
    """Explain marks and lines above the panels."""
    from matplotlib.lines import Line2D

    handles: list[Artist] = [
        Line2D([], [], linestyle="-", label=name, **looks) for name, looks in rows.LOOKS.items() if name in explained
    ]
    lines: dict[str, tuple[str, Any]] = {
        order.BETTER: (order.GREY, "-"),
        order.NEAREST: (order.GREY, "-"),
        order.CIRCLE: (order.VERMILION, "--"),
    }
    handles += [
        Line2D([], [], color=color, linestyle=dash, marker=">", markersize=3.5, label=name)
        for name, (color, dash) in lines.items()
        if name in explained
    ]
    ways = [axes.get_legend_handles_labels()[0] for axes in figure.axes]
    handles += [handle for of in ways for handle in of if handle.get_label() in METHODS.values()]
    around.legend(figure, handles, [str(one.get_label()) for one in handles], place="above", fontsize=look.points(8))
