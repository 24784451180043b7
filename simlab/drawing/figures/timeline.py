"""Draw the timeline of one campaign: people as rows, what they worked on and when, what was lost, what ended it.

`line` is the timeline (`simlab.engine.timelines`), in hours from the start; a stretch is unbroken work on a task.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from simlab.drawing.figures import captions, page_style
from simlab.types import Bools
from simlab.types.collection import ALL_CAME, DEADLINE, DECIDED, FAILED_CONTROLS, LEFT, MONEY, NOBODY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from simlab.engine.timelines import Timeline

QUESTION = "Who worked on what, and when?"
CAME, OF_CONTROL = 0, 3
"""Two values of `Timeline.what`, places in `STRETCHES`."""
STRETCHES = (
    ("came", "#0072B2", "", "#56B4E9"),
    ("does not count: the rater left in the midst", "#E69F00", "//", "#E69F00"),
    ("does not count: the rater was excluded", "#D55E00", "xx", "#D55E00"),
    ("control items", "#000000", "", "#000000"),
)
"""What work came to: its name, its colour (Okabe and Ito) and pattern, and the colour of every other task."""
THINGS = ("#0072B2", "#56B4E9", "#009E73", "#CC79A7", "#F0E442")
"""Colours of what work was about, where that is few systems or pairs; up to `MOST_THINGS` are shades of a scale."""
MOST_THINGS = 12
"""More systems or pairs than these are not told apart by colours."""
LEAVING = {LEFT: ("dropped out", "X", "#E69F00"), FAILED_CONTROLS: ("excluded: failed control items", "P", "#D55E00")}
"""Why people leave for good: words, marker and colour."""
ENDED = {
    ALL_CAME: "all that was asked came",
    DECIDED: "a decision rule ended it",
    MONEY: "the money was spent",
    DEADLINE: "the deadline came",
    NOBODY: "nobody was left to work",
}
MOST_PEOPLE = 60
"""More rows do not fit on a page; shown are those who worked most."""
DAY, TWO_DAYS = 24.0, 48.0
SPREAD = 0.07
"""Inches that a letter of a name in a bar takes, about."""
WIDTH = 10.5
"""Inches of the figure."""
BESIDE = 3.6
"""Inches beside the bars: the names of people, and the legend."""
ROOM = 1.5
"""A deadline so many times as late as the end is named, not drawn: else nights and days would be a blot."""


def draw(line: Timeline, title: str) -> Figure:
    """Return a figure of a campaign: its nights in grey, its deadline and its end as lines across; `title` names it."""
    from matplotlib.figure import Figure

    rows = _rows(line)
    figure = Figure(figsize=page_style.size(WIDTH, 1.2 + 0.22 * max(len(rows), 4)), layout="constrained")
    axes = figure.subplots()
    reach = _reach(line)
    unit = DAY if reach > TWO_DAYS else 1.0
    for begin, end in line.nights:
        axes.axvspan(begin / unit, end / unit, color="#EEEEEE", linewidth=0, zorder=0, label="_")
    _stretches(axes, line, rows, unit)
    _people(axes, line, rows, unit)
    _ends(axes, line, unit)
    axes.set_yticks(range(len(rows)), [line.people[k] for k in rows], fontsize=page_style.points(7))
    axes.set(ylim=(len(rows) - 0.4, -0.6), xlim=(0, 1.02 * reach / unit))
    axes.set_xlabel(f"{'days' if unit == DAY else 'hours'} from the start, nights and weekends included")
    axes.grid(visible=False)
    _legend(figure, axes, line, rows)
    captions.question(figure, QUESTION)
    text = f"{title}\n{summary(line)}"
    if page_style.current_style().paper:
        captions.footnote(figure, f"{title}: {summary(line)}.")
    else:
        axes.set_title(_wrap_lines(text, figure), fontsize=8, loc="left")
    captions.footnote(figure, caption(line, len(rows)))
    return figure


def _wrap_lines(text: str, figure: Figure) -> str:
    wide = page_style.letters(0.9 * figure.get_figwidth(), 8)
    return "\n".join(textwrap.fill(line, wide) for line in text.split("\n"))


def _reach(line: Timeline) -> float:
    """Return the last hour that is drawn: the end, and the deadline where it is near."""
    near = line.deadline is not None and line.deadline <= ROOM * line.stop
    return max(line.stop, line.deadline if near and line.deadline else 0.0, 1e-9)


def summary(line: Timeline) -> str:
    """State how a campaign ended, and what it took."""
    paid = line.paid
    money = f"{paid['cost']:,.2f} {line.currency or 'in money'}"
    came = f"{paid['ratings']:,.0f} of {paid['planned']:,.0f} {line.answers} came"
    lost = f"{paid['lost']:,.0f} lost, {paid['open']:,.0f} open"
    return f"{came}, {lost}; {money}, {paid['hours']:,.1f} h of work, {paid['days']:,.1f} days; {ENDED[line.ended_by]}"


def caption(line: Timeline, shown: int) -> str:
    """State what rows, shades and numbers are; `shown` counts the people who have rows."""
    parts = ["A row is a person"]
    if _things(line):
        parts.append(f"colours are {line.things}")
    else:
        parts.append(f"a new shade of blue is the next task, numbers in bars are {line.things}")
    if len(np.unique(line.seat)) < len(line.people):
        parts.append("who came in place of somebody stands below them")
    if line.deadline is not None and line.deadline > _reach(line):
        parts.append(f"the deadline, {line.deadline / DAY:,.3g} days after the start, is beyond what is shown")
    parts += ["grey: nobody is at work (nights, weekends)"] if line.nights else []
    if shown == MOST_PEOPLE < len(line.people):
        parts.append(f"shown are the {shown} of {len(line.people)} people who worked most")
    elif shown < len(line.people):
        parts.append(f"who had not come when it ended is left out ({len(line.people) - shown})")
    return "; ".join(parts) + "."


def _rows(line: Timeline) -> list[int]:
    """Choose the people who have rows: those who came, or of too many those who worked most."""
    worked = np.bincount(line.row, weights=line.end - line.begin, minlength=len(line.people))
    came = np.flatnonzero((worked > 0) | (line.arrived <= line.stop))
    if len(came) > MOST_PEOPLE:
        came = np.sort(came[np.argsort(-worked[came], kind="stable")[:MOST_PEOPLE]])
    return [int(k) for k in came]


def _stretches(axes: Axes, line: Timeline, rows: list[int], unit: float) -> None:
    place = {person: k for k, person in enumerate(rows)}
    even, things = _find_alternate_tasks(line), _things(line)
    styles = [_style(line, k, bool(even[k]), things) for k in range(len(line.row))]
    for style in dict.fromkeys(styles):
        indices = [k for k, own in enumerate(styles) if own == style and int(line.row[k]) in place]
        if indices:
            _bars(axes, line, indices, place, unit, facecolor=style[0], hatch=style[1])
    if not things:
        _names(axes, line, place, unit, even)


def _style(line: Timeline, k: int, even: bool, things: Mapping[str, Any]) -> tuple[Any, str]:
    """Return the colour and the pattern of a stretch: what it was about, else another shade for the next task."""
    _, dark, pattern, light = STRETCHES[int(line.what[k])]
    if line.what[k] == CAME and line.about[k] in things:
        return things[line.about[k]], ""
    return (light if even else dark), pattern


def _things(line: Timeline) -> dict[str, Any]:
    """Give what the work was about its colours, where there is little of it and tasks are short; else nothing."""
    import matplotlib as mpl

    names = sorted({name for name in line.about if name}, key=lambda name: (len(name), name))
    short = len(line.about) > 4 * len(names)
    if not (short and len(names) <= MOST_THINGS):
        return {}
    if len(names) <= len(THINGS):
        return dict(zip(names, THINGS, strict=False))
    shades = mpl.colormaps["viridis"](np.linspace(0, 0.95, len(names)))
    return {name: mpl.colors.to_hex(shade) for name, shade in zip(names, shades, strict=True)}


def _bars(axes: Axes, line: Timeline, indices: list[int], place: dict[int, int], unit: float, **style: Any) -> None:
    from matplotlib.collections import PolyCollection

    half = 0.36
    corners = [
        [(x, y + side) for x, side in ((left, -half), (right, -half), (right, half), (left, half))]
        for k in indices
        for left, right, y in [(line.begin[k] / unit, line.end[k] / unit, place[int(line.row[k])])]
    ]
    edge = "white" if style["hatch"] else style["facecolor"]
    axes.add_collection(PolyCollection(corners, linewidths=0.3, edgecolors=edge, zorder=2, **style), autolim=False)


def _find_alternate_tasks(line: Timeline) -> Bools:
    """Shade every other task of a person."""
    even = np.zeros(len(line.row), bool)
    for person in np.unique(line.row):
        own = np.flatnonzero((line.row == person) & (line.what != OF_CONTROL))
        even[own] = np.cumsum(np.diff(line.task[own], prepend=line.task[own][:1]) != 0) % 2 == 1
    return even


def _names(axes: Axes, line: Timeline, place: dict[int, int], unit: float, even: Bools) -> None:
    """Write what a task is about where its bar has room for it."""
    inch = _reach(line) / (WIDTH - BESIDE)
    for k, name in enumerate(line.about):
        if name and int(line.row[k]) in place and (line.end[k] - line.begin[k]) / inch > SPREAD * (len(name) + 1):
            middle, colour = (line.begin[k] + line.end[k]) / 2 / unit, "black" if even[k] else "white"
            axes.text(middle, place[int(line.row[k])], name, fontsize=5, color=colour, ha="center", va="center")


def _people(axes: Axes, line: Timeline, rows: list[int], unit: float) -> None:
    """Mark when people came, and when and why they left for good."""
    came = np.array([line.arrived[k] for k in rows]) / unit
    axes.scatter(came, range(len(rows)), marker="|", s=60, color="#333333", linewidths=1.0, zorder=3, label="_")
    for why, (_, marker, colour) in LEAVING.items():
        gone = [(line.left[k] / unit, y) for y, k in enumerate(rows) if int(line.why[k]) == why]
        if gone:
            x, y = zip(*gone, strict=True)
            axes.scatter(x, y, marker=marker, s=34, color=colour, edgecolors="black", linewidths=0.5, zorder=4)


def _ends(axes: Axes, line: Timeline, unit: float) -> None:
    if line.deadline is not None and line.deadline <= _reach(line):
        axes.axvline(line.deadline / unit, color="#CC79A7", linewidth=1.6, zorder=3)
    if line.ended_by == MONEY:
        axes.axvline(line.stop / unit, color="#009E73", linewidth=1.6, linestyle="--", zorder=3)
    elif line.ended_by != DEADLINE:
        axes.axvline(line.stop / unit, color="#555555", linewidth=1.0, linestyle=":", zorder=3)


def _legend(figure: Figure, axes: Axes, line: Timeline, rows: list[int]) -> None:
    """Explain what occurs in this campaign, and nothing else."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = [
        Patch(facecolor=colour, hatch=pattern, edgecolor="white" if pattern else colour, label=name)
        for what, (name, colour, pattern, _) in enumerate(STRETCHES)
        if (line.what == what).any() and not (what == CAME and _things(line))
    ]
    handles = [Patch(facecolor=colour, label=f"came: {name}") for name, colour in _things(line).items()] + handles
    style: Any = {"linestyle": "", "markersize": 6}
    handles.append(Line2D([], [], marker="|", color="#333333", label="there from here on", **style))
    for why, (name, marker, colour) in LEAVING.items():
        if (line.why[rows] == why).any():
            handles.append(Line2D([], [], marker=marker, color=colour, markeredgecolor="black", label=name, **style))
    if line.nights:
        handles.append(Patch(facecolor="#EEEEEE", label="nobody at work"))
    if line.deadline is not None and line.deadline <= _reach(line):
        handles.append(Line2D([], [], color="#CC79A7", linewidth=1.6, label="deadline"))
    if line.ended_by == MONEY:
        handles.append(Line2D([], [], color="#009E73", linestyle="--", linewidth=1.6, label="money spent"))
    elif line.ended_by != DEADLINE:
        handles.append(Line2D([], [], color="#555555", linestyle=":", linewidth=1.0, label="end"))
    captions.legend(figure, handles, [str(handle.get_label()) for handle in handles], fontsize=page_style.points(7))
