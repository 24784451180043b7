"""Draw how a measure settles as campaigns are carried out: its value, and below it its error on logarithmic scales."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from simlab.drawing import questions, view
from simlab.drawing.figures import around, look, panels, styles
from simlab.drawing.wording import measure_label, short, value_label
from simlab.messages import word
from simlab.store.convergence import Course, courses
from simlab.store.coordinates import as_written
from simlab.store.held_fixed import HELD_FIXED
from simlab.store.opening import axes_of
from simlab.types import InputError

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

MOST_LINES = 21
LONG = 100
"""Two decades on an axis: numbers of three a decade would touch."""
WANTED: Any = {"color": "#000000", "linestyle": (0, (1, 2)), "linewidth": 1.2}
GUIDE: Any = {"color": "#777777", "linestyle": (0, (5, 2)), "linewidth": 1.0}


class Line(NamedTuple):
    """Hold the course of a measure in one cell, with the colour, marker, dashes and name that it is drawn in."""

    course: Course
    style: dict[str, Any]


def draw(dataset: xr.Dataset, measure: str | None = None) -> Figure:
    """Draw the courses of a measure: a line per value of the axis that a figure has across, panels of the others.

    Raises InputError where no error can be followed, and for more lines or panels than a page holds.
    """
    name = view.chosen(dataset, measure)
    across, others = _laid_out(dataset)
    titles = [title for title, _ in panels.split(dataset, others)] if others else [""]
    lines = _lines(dataset, name, across, others)
    every = [line for panel in lines for line in panel]
    figure, grid = _sheet(titles)
    wanted = view.wanted_error(dataset, name)
    for (top, below), held in zip(grid, lines, strict=True):
        _values(top, held, view.bounds(dataset, name))
        _errors(below, held, wanted, _guide(every))
    _limit(*grid[0], [line.course for line in every])
    for axis in (grid[0][0].xaxis, grid[0][1].yaxis):
        _number(axis)
    _dress(figure, grid, measure_label(dataset, name), across)
    around.question(figure, questions.settled(dataset, name))
    around.footnote(figure, _caption(dataset, name))
    return figure


def _laid_out(dataset: xr.Dataset) -> tuple[str | None, list[str]]:
    """Name the axis whose values are lines, and those that make panels; of a single cell there is one line."""
    if not axes_of(dataset):
        return None, []
    across = view.view(dataset).x
    values = as_written(dataset[across].values)
    if len(values) > MOST_LINES:
        raise InputError(
            f"the figure would need {len(values)} lines for {across}, more than {MOST_LINES}; "
            f"choose values, for example {across}={word(values[0])}"
        )
    return across, [axis for axis in axes_of(dataset) if axis != across]


def _lines(dataset: xr.Dataset, measure: str, across: str | None, others: Sequence[str]) -> list[list[Line]]:
    """List the lines of each panel, panels in the order of the other axes."""
    axes = axes_of(dataset)
    held = as_written(dataset[across].values) if across else []
    names = [value_label(str(across), value) for value in held] or ["all campaigns"]
    places = {index: k for k, index in enumerate(np.ndindex(*(dataset.sizes[axis] for axis in others)))}
    lines: list[list[Line]] = [[] for _ in places]
    for place, course in courses(dataset, measure).items():
        at = dict(zip(axes, place, strict=True))
        k = at[across] if across else 0
        style = styles.style(k, names[k]) | {"linestyle": styles.dashes(k)}
        lines[places[tuple(at[axis] for axis in others)]].append(Line(course, style))
    return lines


def _sheet(titles: Sequence[str]) -> tuple[Figure, list[tuple[Axes, Axes]]]:
    """Return a figure, and for each title axes of values above axes of errors; all share their scales."""
    from matplotlib.figure import Figure

    columns = _columns(len(titles))
    rows = math.ceil(len(titles) / columns)
    wide = look.now().width
    tall = 3.8 if wide is None else min(3.8, max(2.6, 1.5 * wide / columns))
    figure = Figure(figsize=look.size(2.8 * columns + 2.2, tall * rows), layout="constrained")
    grid = figure.subplots(2 * rows, columns, squeeze=False)
    pairs = [(grid[2 * row, k], grid[2 * row + 1, k]) for row in range(rows) for k in range(columns)]
    for axes in (one for pair in pairs[len(titles) :] for one in pair):
        axes.remove()
    for pair, title in zip(pairs, titles, strict=False):
        pair[0].set_title(textwrap.fill(title, look.letters(0.85 * figure.get_figwidth() / columns, 9)))
        for axes, first in zip(pair, pairs[0], strict=True):
            axes.sharex(pairs[0][0])
            axes.sharey(first)
    first, below = pairs[0]
    first.set_xscale("log")
    below.set_yscale("log")
    return figure, pairs[: len(titles)]


def _number(axis: Axis) -> None:
    """Write 20, 50, 100 on a logarithmic axis, or 30, 100, 300 on a long one, and no powers."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < LONG * low else (1, 3)))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())


def _columns(n_panels: int) -> int:
    wide = look.now().width
    if wide is not None and look.is_narrow(wide):
        return 1 if n_panels == 1 else 2
    return 2 if n_panels == 4 else min(n_panels, 3)


def _values(axes: Axes, lines: Sequence[Line], bounds: tuple[float, float]) -> None:
    """Draw values, with a band of one error either way, inside what the measure can be.

    A mark stands where the campaigns of a cell end.
    """
    for course, style in lines:
        axes.plot(course.campaigns, course.value, markevery=[-1], **style)
        low, high = (np.clip(course.value + side * course.mcse, *bounds) for side in (-1, 1))
        axes.fill_between(course.campaigns, low, high, color=style["color"], alpha=0.15, linewidth=0)
        # Of two clusters there is no band yet.
        reach = styles.bars(course.value[-1:], low[-1:], high[-1:])
        axes.errorbar(course.campaigns[-1:], course.value[-1:], reach, color=style["color"], elinewidth=1.2)


def _errors(axes: Axes, lines: Sequence[Line], wanted: float | None, guide: float) -> None:
    """Draw errors that are not 0, the guide along which they shrink with independent campaigns, and what is wanted."""
    for course, style in lines:
        axes.plot(course.campaigns, np.where(course.mcse > 0, course.mcse, np.nan), markevery=[-1], **style)
    ends = np.array([[one.course.campaigns[0], one.course.campaigns[-1]] for one in lines] or [[1, 1]])
    across = np.array([ends.min(), ends.max()])
    axes.plot(across, guide / np.sqrt(across), label="as 1/√campaigns", **GUIDE)
    if wanted is not None:
        axes.axhline(wanted, label=f"wanted: {wanted:g}", **WANTED)


def _limit(top: Axes, below: Axes, drawn: Sequence[Course]) -> None:
    """Keep shares between 0 and 1, and what two clusters that are alike say of an error from drowning the others."""
    top.set_ylim(styles.limits(top.get_ylim(), np.concatenate([course.value for course in drawn])))
    least = min((course.mcse[-1] for course in drawn if course.mcse[-1] > 0), default=0.0)
    bottom, most = below.get_ylim()
    below.set_ylim(max(bottom, least / 3), most)


def _guide(lines: Sequence[Line]) -> float:
    """Return the error of a single campaign from which most lines come down: the median of where they end."""
    ends = [one.course.mcse[-1] * np.sqrt(one.course.campaigns[-1]) for one in lines if one.course.mcse[-1] > 0]
    return float(np.median(ends)) if ends else float("nan")


def _dress(figure: Figure, grid: Sequence[tuple[Axes, Axes]], label: str, across: str | None) -> None:
    """Name what is shown; one legend serves all panels, some of which may lack cells."""
    columns = _columns(len(grid))
    for top, below in grid[::columns]:
        top.set_ylabel(textwrap.fill(label, 24))
        below.set_ylabel("its Monte-Carlo\nstandard error, log scale")
    wide = look.letters(0.8 * figure.get_figwidth() / columns, 8)
    for _, below in grid[-columns:]:
        below.set_xlabel(textwrap.fill("campaigns carried out, log scale", wide))
    named: dict[str, Any] = {}
    for _, below in grid:
        handles, labels = below.get_legend_handles_labels()
        named |= dict(zip(labels, handles, strict=True))
    title = short(across) if across else None
    around.legend(figure, list(named.values()), list(named), title)


def _caption(dataset: xr.Dataset, measure: str) -> str:
    """Say what bands and marks are, what errors rest on, and what they leave out."""
    parts = [
        f"bands: value ± one Monte-Carlo standard error, over {view.cluster(dataset, measure)}s",
        "a mark stands where the campaigns of a cell end",
        dataset[measure].attrs.get(HELD_FIXED) and f"held fixed: {dataset[measure].attrs[HELD_FIXED]}",
        view.condition(dataset),
    ]
    return "; ".join(part for part in parts if part) + "."
