"""Charts of report pages, as Vega-Lite: what a page draws when it is opened, without any of its data.

A page fills in data, titles and the values of its axes. Names of systems and of values of axes never become column ids
or expressions of Vega, where dots, quotes and brackets mean something: columns are called x, y, low, high, line (the
number of a series) and k (the number of a mark), a value that is no number is an index, and the lists `across`, `up`
and `names` hold the texts at these indices. `specs` returns the specifications.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from simlab.drawing.figures.styles import COLOURS

if TYPE_CHECKING:
    import altair as alt

    Laid: TypeAlias = alt.LayerChart | alt.FacetChart

SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down")
DASHES = ((1, 0), (6, 3), (6, 2, 1, 2), (2, 2))
INK, FAINT, WANTED = "#222222", "#8a8a8a", "#666666"
FEW_SYSTEMS = 16
"""Systems up to which the squares of pairs have their numbers written into them."""

CONFIG: dict[str, Any] = {
    "background": None,
    # Pages name figures as a whole; places in lists would tell nobody anything.
    "aria": False,
    "font": "system-ui, 'Segoe UI', 'Liberation Sans', Arial, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": INK,
        "titleColor": INK,
        "domainColor": FAINT,
        "tickColor": FAINT,
        "gridColor": "#e3e3e3",
        "labelFontSize": 12,
        "titleFontSize": 12.5,
        "titleFontWeight": 500,
        "labelLimit": 150,
        "titleLimit": 420,
        "titlePadding": 8,
    },
    "legend": {
        "labelColor": INK,
        "titleColor": INK,
        "labelFontSize": 12.5,
        "titleFontSize": 12.5,
        "titleFontWeight": 500,
        "labelLimit": 220,
        "titleLimit": 240,
        "orient": "top",
        "symbolSize": 90,
        "symbolStrokeWidth": 0,
    },
    "title": {"color": INK, "anchor": "start", "fontSize": 14, "fontWeight": 600, "offset": 12},
}


@cache
def specs() -> dict[str, dict[str, Any]]:
    """Return the Vega-Lite specification of each kind of chart, as Altair writes and checks it.

    Raises ImportError where Altair is not installed.
    """
    kinds = {
        "lines": _lines(),
        "points": _points(),
        "costs": _costs(),
        "intervals": _intervals(),
        "scatter": _scatter(),
        "matrix": _matrix(),
    }
    return {name: _spec(chart) for name, chart in kinds.items()}


def _spec(chart: Laid) -> dict[str, Any]:
    spec: dict[str, Any] = chart.to_dict()
    # What is written in the stead of places: filled in by the page.
    named: list[dict[str, Any]] = [{"name": name, "value": []} for name in ("across", "up", "names")]
    return spec | {"config": CONFIG, "params": named}


def _marks() -> alt.Chart:
    import altair as alt

    return alt.Chart(alt.NamedData("marks"))


def _colour() -> alt.Color:
    import altair as alt

    return alt.Color("line:N", legend=alt.Legend(labelExpr="names[datum.value]"))


def _mark_lines(*, dashed: bool = False) -> dict[str, Any]:
    """Mark lines so that more than their colours tells them apart."""
    import altair as alt

    legend = alt.Legend(labelExpr="names[datum.value]")
    if dashed:
        return {"color": _colour(), "strokeDash": alt.StrokeDash("line:N", legend=legend)}
    return {"color": _colour(), "shape": alt.Shape("line:N", legend=legend)}


def _hover_marks(**at: Any) -> alt.Chart:
    """Lay wide marks that are not seen above others: what is hovered need not be hit by a hair."""
    import altair as alt

    wide = _marks().mark_point(size=500, opacity=0, filled=True, clip=True)
    hit: alt.Chart = wide.encode(tooltip=alt.Tooltip("k:Q"), **at)
    return hit


def _target_line(*, up: bool) -> tuple[alt.Chart, alt.Chart]:
    """Draw and label the line that is wanted, on the axis of the values."""
    import altair as alt

    data = alt.Chart(alt.NamedData("wanted"))
    rule, label = data.mark_rule(strokeDash=[3, 3], color=WANTED, size=1.5), "label:N"
    if up:
        text = data.mark_text(align="right", baseline="bottom", dx=-3, dy=-3, color=WANTED, fontSize=12)
        return rule.encode(y="y:Q"), text.encode(y="y:Q", x=alt.value("width"), text=label)
    text = data.mark_text(align="left", baseline="top", dx=4, dy=2, color=WANTED, fontSize=12)
    return rule.encode(x="x:Q"), text.encode(x="x:Q", y=alt.value(0), text=label)


def _lines() -> Laid:
    """Numbers across, a line with a band for each value."""
    import altair as alt

    marks = _marks()
    band = marks.mark_area(opacity=0.17, clip=True).encode(x="x:Q", y="low:Q", y2="high:Q", color=_colour())
    line = marks.mark_line(clip=True, strokeWidth=2).encode(x="x:Q", y="y:Q", **_mark_lines(dashed=True))
    point = marks.mark_point(filled=True, size=48, opacity=1, clip=True).encode(x="x:Q", y="y:Q", **_mark_lines())
    return alt.layer(band, *_target_line(up=True), line, point, _hover_marks(x="x:Q", y="y:Q"))


def _points() -> Laid:
    """Options across, a point with a bar for each value, beside each other where lines share an option."""
    import altair as alt

    at = {"x": alt.X("x:N", axis=alt.Axis(labelExpr="across[datum.value]")), "xOffset": alt.XOffset("line:N")}
    marks = _marks()
    bar = marks.mark_rule(strokeWidth=2, clip=True).encode(y="low:Q", y2="high:Q", color=_colour(), **at)
    point = marks.mark_point(filled=True, size=70, opacity=1, clip=True).encode(y="y:Q", **_mark_lines(), **at)
    return alt.layer(*_target_line(up=True), bar, point, _hover_marks(y="y:Q", **at))


def _costs() -> Laid:
    """Draw designs by their costs: points with bars, joined in the order of the axis that they were made for."""
    import altair as alt

    marks, order = _marks(), alt.Order("k:Q")
    bar = marks.mark_rule(strokeWidth=1.6, opacity=0.55, clip=True)
    bar_at = bar.encode(x="x:Q", y="low:Q", y2="high:Q", color=_colour())
    line = marks.mark_line(clip=True, strokeWidth=1.6, opacity=0.8)
    line_at = line.encode(x="x:Q", y="y:Q", order=order, **_mark_lines(dashed=True))
    point = marks.mark_point(filled=True, size=60, opacity=1, clip=True).encode(x="x:Q", y="y:Q", **_mark_lines())
    return alt.layer(
        *_target_line(up=True), bar_at, line_at, _plot_ring(x="x:Q", y="y:Q"), point, _hover_marks(x="x:Q", y="y:Q")
    )


def _intervals() -> Laid:
    """Names up, values with their intervals across."""
    import altair as alt

    at = {"y": alt.Y("y:N", axis=alt.Axis(labelExpr="up[datum.value]")), "yOffset": alt.YOffset("line:N")}
    marks = _marks()
    bar = marks.mark_rule(strokeWidth=2, clip=True).encode(x="low:Q", x2="high:Q", color=_colour(), **at)
    point = marks.mark_point(filled=True, size=70, opacity=1, clip=True).encode(x="x:Q", **_mark_lines(), **at)
    return alt.layer(*_target_line(up=False), bar, _plot_ring(x="x:Q", **at), point, _hover_marks(x="x:Q", **at))


def _scatter() -> Laid:
    """Numbers on both axes, the line where they are equal; what is chosen has a ring and stands out."""
    import altair as alt

    marks = _marks()
    bar = marks.mark_rule(strokeWidth=1.2, opacity=0.4, clip=True)
    bar_at = bar.encode(x="x:Q", y="low:Q", y2="high:Q", color=_colour())
    point = marks.mark_point(filled=True, size=55, opacity=0.85, clip=True).encode(x="x:Q", y="y:Q", **_mark_lines())
    line = alt.Chart(alt.NamedData("equal")).mark_line(color=WANTED, strokeWidth=1, clip=True).encode(x="x:Q", y="y:Q")
    return alt.layer(
        line, *_target_line(up=True), bar_at, _plot_ring(x="x:Q", y="y:Q"), point, _hover_marks(x="x:Q", y="y:Q")
    )


def _plot_ring(**at: Any) -> alt.Chart:
    """Draw a ring around what is chosen."""
    marks = _marks().transform_filter("datum.chosen").properties(name="ring")
    ring: alt.Chart = marks.mark_point(size=240, color=INK, strokeWidth=1.6, clip=True).encode(**at)
    return ring


def _matrix() -> Laid:
    """Pairs of systems, a square each, the fuller the larger their share."""
    import altair as alt

    at = {
        "x": alt.X("x:N", axis=alt.Axis(labelExpr="names[datum.value]", orient="top", labelAngle=0, labelLimit=90)),
        "y": alt.Y("y:N", axis=alt.Axis(labelExpr="names[datum.value]", labelLimit=110)),
    }
    steps = [0, 0.25, 0.5, 0.75, 1]
    legend = alt.Legend(
        title="share of campaigns",
        orient="bottom",
        values=steps,
        format=".2f",
        symbolType="square",
        symbolFillColor=COLOURS[0],
    )
    share = alt.Opacity("share:Q", scale=alt.Scale(domain=[0, 1], range=[0.04, 1]), legend=legend)
    marks = _marks()
    square = marks.mark_rect(fill=COLOURS[0], stroke=FAINT, strokeWidth=0.5).properties(name="square")
    text = marks.mark_text(fontSize=11).encode(text="label:N", **at)
    faint = text.transform_filter("datum.share < 0.8").properties(name="faint")
    full = text.mark_text(fontSize=11, color="#ffffff").transform_filter("datum.share >= 0.8").properties(name="full")
    return alt.layer(square.encode(opacity=share, tooltip=alt.Tooltip("k:Q"), **at), faint, full)
