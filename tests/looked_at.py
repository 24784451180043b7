"""Look at a figure as its reader does: return in words what is wrong with it, nothing where all is well."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

INCH = 72.0


def settled(figure: Any) -> Any:
    """Lay a figure out, as its file has it."""
    figure.draw_without_rendering()
    return figure


def faults(figure: Any, bounds: tuple[float, float] | None = None) -> list[str]:
    """List all faults of a figure; `bounds` are those of the measure on its y axes."""
    settled(figure)
    found = [*title(figure), *outside(figure), *names(figure), *labels_apart(figure), *legend(figure)]
    for axes in figure.axes:
        found += bars(axes, bounds)
    return found


def title(figure: Any) -> list[str]:
    """Check that there is a question from the left, fully inside."""
    held = figure._suptitle
    if held is None or not held.get_text():
        return ["no title"]
    return [] if held.get_ha() == "left" and held.get_position()[0] < 0.05 else ["the title is not on the left"]


def outside(figure: Any) -> list[str]:
    """Name the texts that the edge of the figure cuts."""
    page = figure.bbox.padded(1)
    cut = [text for text in _texts(figure) if not all(page.contains(*corner) for corner in _corners(text))]
    return [f"cut at the edge: {text.get_text()!r}" for text in cut]


def _corners(text: Any) -> tuple[tuple[float, float], tuple[float, float]]:
    box = text.get_window_extent()
    return (box.x0, box.y0), (box.x1, box.y1)


def _texts(figure: Any) -> Iterator[Any]:
    from matplotlib.axis import Axis
    from matplotlib.text import Text

    ticks = {id(text) for axis in figure.findobj(Axis) for text in _tick_texts(axis, every=True)}
    shown = {id(text) for axis in figure.findobj(Axis) for text in _tick_texts(axis)}
    for text in figure.findobj(Text):
        if text.get_visible() and text.get_text().strip() and (id(text) not in ticks or id(text) in shown):
            yield text


def _tick_texts(axis: Any, *, every: bool = False) -> list[Any]:
    """Return the labels of an axis that are drawn; matplotlib keeps others beyond its ends."""
    ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
    low, high = sorted(axis.get_view_interval())
    room = 1e-9 * (high - low)
    own = [tick for tick in ticks if every or low - room <= tick.get_loc() <= high + room]
    return [
        text for tick in own for text in (tick.label1, tick.label2) if every or (text.get_visible() and text.get_text())
    ]


def names(figure: Any, units: tuple[str, ...] = ()) -> list[str]:
    """Check that the outermost axes say what is on them."""
    panels = [axes for axes in figure.axes if axes.axison and axes.has_data()]
    found = [] if any(axes.get_xlabel() for axes in panels) else ["no axis across has a name"]
    found += [] if any(axes.get_ylabel() for axes in panels) else ["no axis upwards has a name"]
    said = " ".join(axes.get_xlabel() + axes.get_ylabel() for axes in panels)
    return found + [f"no axis names {unit}" for unit in units if unit not in said]


def labels_apart(figure: Any) -> list[str]:
    """Name neighbouring tick labels, and texts around the panels, that stand upon each other."""
    found = []
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            found += _upon([text for text in _tick_texts(axis) if axes.axison])
    around = [axes.xaxis.label for axes in figure.axes] + [axes.yaxis.label for axes in figure.axes]
    around += [axes.title for axes in figure.axes] + [figure._suptitle, figure._supxlabel, *figure.legends]
    return found + _upon([one for one in around if one is not None and _said(one)])


def _said(one: Any) -> str:
    return one.get_text() if hasattr(one, "get_text") and not hasattr(one, "get_texts") else "legend"


def _upon(held: list[Any]) -> list[str]:
    boxes = [(one, one.get_window_extent()) for one in held]
    pairs = [(a, b) for (a, box), (b, other) in combinations(boxes, 2) if box.padded(-0.5).overlaps(other.padded(-0.5))]
    return [f"{_said(a)!r} stands upon {_said(b)!r}" for a, b in pairs]


def legend(figure: Any) -> list[str]:
    """Name what is drawn under a name that no legend has."""
    listed = {text.get_text() for held in [*figure.legends, *_legends(figure)] for text in held.get_texts()}
    drawn = {label for axes in figure.axes for label in axes.get_legend_handles_labels()[1]}
    return [f"the legend lacks {label!r}" for label in sorted(drawn - listed)]


def _legends(figure: Any) -> list[Any]:
    return [held for axes in figure.axes if (held := axes.get_legend()) is not None]


def bars(axes: Any, bounds: tuple[float, float] | None) -> list[str]:
    """Name intervals that leave the axes, or the range of the measure."""
    low, high = sorted(axes.get_ylim())
    heights = [values for values in _intervals(axes) if values.size]
    if not heights:
        return []
    least, most = min(float(values.min()) for values in heights), max(float(values.max()) for values in heights)
    room = 1e-9 + 1e-9 * (high - low)
    found = [] if low - room <= least and most <= high + room else [f"bars from {least:g} to {most:g} leave the axes"]
    if bounds is not None and not bounds[0] - 1e-9 <= least <= most <= bounds[1] + 1e-9:
        found.append(f"bars from {least:g} to {most:g} leave {bounds}")
    return found


def _intervals(axes: Any) -> Iterator[Any]:
    """Return the heights of bands and of upright bars, that are drawn in the data of the axes."""
    from matplotlib.collections import LineCollection, PolyCollection

    for held in axes.collections:
        if isinstance(held, LineCollection | PolyCollection) and held.get_transform().contains_branch(axes.transData):
            for path in held.get_paths():
                heights = path.vertices[:, 1]
                yield heights[np.isfinite(heights)]


def is_colour_blind_safe(figure: Any) -> bool:
    """Tell whether all lines are of Okabe and Ito's colours, or of grey."""
    from matplotlib.colors import to_hex, to_rgb

    from simlab.drawing.figures.styles import COLOURS

    drawn = {to_hex(line.get_color()).upper() for axes in figure.axes for line in axes.lines}
    return all(one in COLOURS or len(set(to_rgb(one))) == 1 for one in drawn)


def fonts_of(file: Path) -> set[str]:
    """Return the subtypes of the fonts in a PDF, and `embedded` where their programs are within."""
    data = file.read_bytes()
    found = {match.decode() for match in re.findall(rb"/Subtype /(Type0|Type1|Type3|TrueType|CIDFontType2)", data)}
    return found | ({"embedded"} if re.search(rb"/FontFile[23]?\b", data) else set())


def inches_of(file: Path) -> float:
    """Return the width of a figure's file."""
    if file.suffix == ".png":
        from matplotlib.image import imread

        return float(imread(file).shape[1]) / 300
    if file.suffix == ".pdf":
        box = re.search(rb"/MediaBox \[\s*0 0 ([\d.]+) ", file.read_bytes())
        assert box
        return float(box[1]) / INCH
    width = re.search(r'<svg[^>]* width="([\d.]+)pt"', file.read_text(encoding="utf-8"))
    assert width
    return float(width[1]) / INCH
