"""Draw the charts of a report as pictures, for pages without scripts and for papers.

`plot_report` returns all charts of a `Report` as one matplotlib figure, `draw` a single block; `render_svg` and `image`
return text.
"""

from __future__ import annotations

import base64
import io
import textwrap
from typing import TYPE_CHECKING, Any

from simlab.drawing.figures import captions, page_style
from simlab.drawing.figures.page_style import SCREEN
from simlab.drawing.figures.styles import COLOURS, style
from simlab.drawing.reports.terms import Chart, ChartPoint, Explorer, PairMatrix, Report
from simlab.drawing.reports.values import format_value

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 6.5
"""Inches of a figure, about the width of a page of text."""
PANEL = 4.4
"""Inches of a chart beside another."""
MANY, GREY = 20, "#8C8C8C"
"""Rows from which on the arrows between them bend further."""
LONGEST = 40
"""Letters of a name that are written; the table behind a figure has all of them."""


def render_svg(block: Chart | PairMatrix | Explorer) -> str:
    """Draw a block as SVG, the same text for the same block."""
    import matplotlib as mpl

    with mpl.rc_context({**SCREEN.rc, "figure.constrained_layout.use": True, "text.parse_math": False}):
        figure = draw(block)
        written = io.StringIO()
        figure.savefig(written, format="svg", metadata={"Date": None})
    return written.getvalue()


def image(block: Chart | PairMatrix | Explorer) -> str:
    """Return a block's SVG as the address of an image: nothing within it can run, and no id meets another's."""
    return f"data:image/svg+xml;base64,{base64.b64encode(render_svg(block).encode()).decode()}"


def draw(block: Chart | PairMatrix | Explorer) -> Figure:
    """Draw a block: an explorer's first view, a matrix of the first design and kind of claim, or a chart."""
    if isinstance(block, Explorer):
        return block.static()
    return _matrix(block) if isinstance(block, PairMatrix) else _chart(block)


def _chart(chart: Chart) -> Figure:
    axes = _axes(1.2 + 0.3 * len(_names_of(chart)) if chart.kind == "intervals" else 3.6)
    _draw_chart(axes, chart)
    return _take_figure(axes)


def plot_report(report: Report) -> Figure:
    """Draw the charts of a report, two in a row where there is room, with its question above and its numbers below."""
    charts = [block for section in report.sections for block in section.blocks if isinstance(block, Chart)]
    figure = _panels(charts)
    lines = _shared_lines(charts)
    for axes, chart in zip(figure.axes, charts, strict=True):
        _draw_panel(axes, chart, lines)
    if len({(chart.legend, chart.x) for chart in charts}) == 1 and charts[0].kind == "intervals":
        ends = [axes.get_xlim() for axes in figure.axes]
        for axes in figure.axes:
            axes.set_xlim(min(low for low, _ in ends), max(high for _, high in ends))
    if any(lines):
        named = [axes.get_legend_handles_labels() for axes in figure.axes]
        handles = {name: handle for pair in named for handle, name in zip(*pair, strict=True)}
        captions.legend(figure, list(handles.values()), list(handles), _shorten(charts[0].legend) or None, "below")
    captions.question(figure, report.question)
    figures_shown = "; ".join(f"{value.label}: {format_value(value)}" for value in report.figures)
    captions.footnote(figure, report.caption or (f"{figures_shown}." if figures_shown else ""))
    return figure


def _shared_lines(charts: list[Chart]) -> list[str]:
    """Return the lines of panels that have one legend, below them; none where each has its own."""
    same_axis = len({(chart.legend, chart.x) for chart in charts}) == 1
    same_lines = len({tuple(_list_lines([chart])) for chart in charts}) == 1
    return _list_lines(charts) if len(charts) > 1 and (same_axis or same_lines) else []


def _panels(charts: list[Chart]) -> Figure:
    """Return a figure with axes for each chart."""
    from matplotlib.figure import Figure

    beside = 1 if len(charts) < 2 or page_style.is_narrow(page_style.size(2 * PANEL, 1)[0]) else 2
    rows = [charts[k : k + beside] for k in range(0, len(charts), beside)] or [[]]
    heights = [max(map(_height, row), default=1.0) for row in rows]
    figure = Figure(figsize=page_style.size(beside * PANEL, sum(heights) + 1), layout="constrained")
    cells = figure.add_gridspec(len(rows), 1, height_ratios=heights)
    for k, row in enumerate(rows):
        grid = cells[k].subgridspec(1, max(len(row), 1))
        for j in range(len(row)):
            figure.add_subplot(grid[j])
    return figure


def _draw_panel(axes: Axes, chart: Chart, lines: list[str]) -> None:
    """Draw a chart among others; it has a legend of its own where it shares no `lines` with them."""
    _draw_chart(axes, chart, lines)
    columns = axes.get_subplotspec().get_gridspec().ncols  # type: ignore[union-attr]
    room = page_style.letters(_take_figure(axes).get_figwidth() / columns / 2, 10)
    axes.set_title(textwrap.fill(chart.question, room))
    axes.set_xlabel(textwrap.fill(axes.get_xlabel(), room))
    if (legend := axes.get_legend()) is None:
        return
    if any(lines):
        legend.remove()
        return
    if chart.kind == "intervals":
        low, high = axes.get_ylim()
        axes.set_ylim(low, high - 2)
    axes.legend(title=legend.get_title().get_text() or None, loc="best", framealpha=0.85)


def _list_lines(charts: list[Chart]) -> list[str]:
    return list(dict.fromkeys(mark.line for chart in charts for mark in chart.marks))


def _height(chart: Chart) -> float:
    if chart.kind != "intervals":
        return 3.2
    return min(1.4 + (0.16 + 0.06 * len(_list_lines([chart]))) * len(_names_of(chart)), 20.0)


def _names_of(chart: Chart) -> list[str]:
    return list(dict.fromkeys(str(mark.y) for mark in chart.marks)) if chart.kind == "intervals" else []


def _draw_chart(axes: Axes, chart: Chart, lines: list[str] | None = None) -> None:
    """Draw a chart; `lines` are those of all charts that it stands with, so that each has one colour."""
    up, lines = _names_of(chart), lines or _list_lines([chart])
    apart = min(0.16, 0.8 / max(len(lines), 1))
    for k, line in enumerate(lines):
        if marks := [mark for mark in chart.marks if mark.line == line]:
            _line(axes, chart, marks, k, apart * (k - (len(lines) - 1) / 2), up)
    if up:
        _link(axes, chart, up)
        axes.set_yticks(range(len(up)), [_shorten(name) for name in up], parse_math=False)
        axes.invert_yaxis()
    axes.set(xlabel=_shorten(chart.x, 90), ylabel=_shorten(chart.y, 90))
    _bound(axes, chart)
    if any(lines):
        axes.legend(title=_shorten(chart.legend) or None, loc="upper left", bbox_to_anchor=(1, 1))


def _line(axes: Axes, chart: Chart, marks: list[ChartPoint], k: int, aside: float, up: list[str]) -> None:
    """Draw the marks of a line, and rings around those that are chosen."""
    line_style = style(k, _shorten(marks[0].line))
    joined = "-" if chart.kind == "lines" and all(not isinstance(mark.x, str) for mark in marks) else "none"
    if up:
        xs, ys = [float(mark.x) for mark in marks], [up.index(str(mark.y)) + aside for mark in marks]
        axes.hlines(ys, *_ends(marks, xs), color=line_style["color"])
    else:
        places = list(dict.fromkeys(str(mark.x) for mark in chart.marks))
        options = any(isinstance(mark.x, str) for mark in chart.marks)
        xs = [places.index(str(mark.x)) + aside if options else float(mark.x) for mark in marks]
        ys = [float(mark.y) for mark in marks]
        axes.vlines(xs, *_ends(marks, ys), color=line_style["color"], alpha=0.6)
        if options:
            axes.set_xticks(range(len(places)), [_shorten(name) for name in places])
    axes.plot(xs, ys, linestyle=joined, **line_style)
    chosen = [j for j, mark in enumerate(marks) if mark.chosen]
    ring: Any = {"marker": "o", "markersize": 10, "markerfacecolor": "none", "markeredgecolor": "#222222"}
    axes.plot([xs[j] for j in chosen], [ys[j] for j in chosen], linestyle="none", **ring)


def _link(axes: Axes, chart: Chart, up: list[str]) -> None:
    """Draw the arrows of a chart between the first marks of names, bent lest they hide the rows that they cross."""
    from matplotlib.patches import FancyArrowPatch

    places = {str(mark.y): (float(mark.x), up.index(str(mark.y))) for mark in reversed(chart.marks)}
    bend: Any = {"connectionstyle": f"arc3,rad={0.22 if len(up) <= MANY else 0.45}", "shrinkA": 4, "shrinkB": 4}
    for start, end in chart.links:
        ends = places[start], places[end]
        axes.add_patch(
            FancyArrowPatch(*ends, arrowstyle="-|>", mutation_scale=7, color=GREY, linewidth=0.8, zorder=1.5, **bend)
        )


def _ends(marks: list[ChartPoint], values: list[float]) -> tuple[list[float], list[float]]:
    """Return where bars end; at the value where no interval is known."""
    low = [value if mark.low is None else mark.low for mark, value in zip(marks, values, strict=True)]
    high = [value if mark.high is None else mark.high for mark, value in zip(marks, values, strict=True)]
    return low, high


def _bound(axes: Axes, chart: Chart) -> None:
    """Draw the line that is wanted, and keep bars inside the range of the values."""
    up = chart.kind != "intervals"
    if chart.target is not None:
        line = axes.axhline if up else axes.axvline
        line(chart.target, color="#666666", linestyle=":", linewidth=1.2)
    (low, high), (least, most) = (axes.get_ylim() if up else axes.get_xlim()), chart.bounds
    edge = 0.03 * (high - low)
    kept = (low if least is None else max(low, least - edge), high if most is None else min(high, most + edge))
    (axes.set_ylim if up else axes.set_xlim)(*kept)
    if chart.equal:
        both = list(zip(axes.get_xlim(), kept, strict=True))
        axes.set(xlim=(min(both[0]), max(both[1])), ylim=(min(both[0]), max(both[1])))
        axes.locator_params(nbins=6)
        axes.axline((0, 0), slope=1, color="#666666", linewidth=0.8, zorder=0)


def _matrix(block: PairMatrix) -> Figure:
    from matplotlib.colors import LinearSegmentedColormap

    n, shares = len(block.systems), block.shares[0][0]
    axes = _axes(min(6.0, 1.5 + 0.35 * n))
    colours = LinearSegmentedColormap.from_list("shares", ["#f4f8fb", COLOURS[0]])
    grid = [[float("nan")] * n for _ in range(n)]
    for (first, second), share in zip(block.pairs, shares, strict=True):
        grid[first][second] = float("nan") if share is None else share
    drawn = axes.imshow(grid, cmap=colours, vmin=0, vmax=1)
    names = [_shorten(name, 14) for name in block.systems]
    axes.set_xticks(range(n), names, rotation=0 if max(map(len, names)) < 4 else 60)
    axes.set_yticks(range(n), names)
    axes.grid(visible=False)
    axes.set_title(f"{block.kinds[0]}, {_shorten(block.designs[0], 80)}")
    _take_figure(axes).colorbar(drawn, label="share of campaigns")
    return _take_figure(axes)


def _axes(height: float) -> Axes:
    from matplotlib.figure import Figure

    axes: Axes = Figure(figsize=(WIDTH, height), layout="constrained").add_subplot()
    return axes


def _take_figure(axes: Axes) -> Figure:
    figure: Figure = axes.figure  # type: ignore[assignment]
    return figure


def _shorten(text: str, most: int = LONGEST) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
