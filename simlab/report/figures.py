"""Draw a sweep's figure: a measure against an axis, one line per design, t intervals as bands."""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simlab.compare import Point, groups, margin, mcse
from simlab.report import view
from simlab.report.tables import word
from simlab.report.view import View
from simlab.types import Array, Floats, InputError

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".svg", ".pdf")
MOST_PANELS = 12

# Okabe and Ito's colours without their yellow, which is faint on white; dark and light ones alternate.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v")
DASHES = ("-", "--", "-.", ":")

STYLE: Any = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": "#E5E5E5",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.5,
    "svg.hashsalt": "simlab",
    "pdf.fonttype": 42,
}

AXIS_LABELS = {
    "documents": "documents per study",
    "ratings_per_item": "ratings per item",
    "load_entropy": "load entropy of the raters (normalised)",
    "grouping": "item grouping",
    "batch_size": "annotations of a pair between two looks",
    "annotations_per_pair": "annotations per pair, at most",
    "sharpness": "sharpness of the metric (0: knows nothing, 1: errs never)",
    "n_outputs": "outputs rated by the metric",
    "systems_difference": "true difference of win and loss rate",
}
VALUE_LABELS = {("load_entropy", "null"): "balanced"}


def plot(dataset: xr.Dataset, out: Path, measure: str | None = None) -> None:
    """Write the sweep's figure to a file whose suffix names the format; refuse others before drawing."""
    import matplotlib as mpl

    from simlab.report import pair_matrix, tradeoff

    check_suffix(out)
    wanted = view.declared(dataset).get("figure") or {}
    with mpl.rc_context(STYLE):
        if measure is None and wanted.get("kind") == "pairs":
            save(pair_matrix.draw(dataset), out)
        elif measure is None and wanted.get("kind") == "tradeoff":
            save(tradeoff.draw(dataset, view.view(dataset), wanted["against"], wanted.get("scale", "linear")), out)
        else:
            save(draw(dataset, view.view(dataset, measure)), out)


def check_suffix(out: Path) -> None:
    """Raise InputError for a file that no format belongs to."""
    if out.suffix.lower() not in SUFFIXES:
        raise InputError(f"--out {out}: a figure is written as {', '.join(SUFFIXES)}; end the name with one of them")


def save(figure: Figure, out: Path) -> None:
    """Write a figure without the time of day, so that the same store gives the same file."""
    undated = {".png": {"Software": None}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=200, metadata=undated[out.suffix.lower()])


def draw(dataset: xr.Dataset, shown: View) -> Figure:
    """Draw all panels with common scales, one legend and a caption that says what the bands are."""
    from matplotlib.figure import Figure

    panels = list(_panels(dataset, shown))
    columns = 2 if len(panels) == 4 else min(len(panels), 3)
    rows = math.ceil(len(panels) / columns)
    figure = Figure(figsize=(2.6 * columns + 3.2, 2.2 * rows + 1.3), layout="constrained")
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for place, (title, panel) in zip(grid.flat, panels, strict=False):
        _panel(place, panel, shown)
        place.set_title(title, fontsize=9)
    for place in grid.ravel()[len(panels) :]:
        place.remove()
    _dress(figure, grid, len(panels), dataset, shown)
    return figure


def caption(dataset: xr.Dataset, shown: View) -> str:
    """Say what the bands are, how much stands behind them, and what they leave out."""
    sweep, cluster = view.declared(dataset), str(dataset[shown.measure].attrs.get("cluster", "cluster"))
    worlds, studies = int(sweep["worlds"]), int(sweep["studies"])
    size = f"{worlds} worlds × {studies} studies" if worlds > 1 else f"1 world × {studies} studies"
    kind = f"{cluster.replace('_', ' ')}s"
    shared = f"designs share the {kind}, so overlapping intervals can still differ (simlab compare)"
    parts = [f"95 % t intervals over {kind}", f"{size} per point", shown.line and shared, view.condition(dataset)]
    return "; ".join(part for part in parts if part) + "."


def _panels(dataset: xr.Dataset, shown: View) -> Iterator[tuple[str, xr.Dataset]]:
    values = [dataset[name].values.tolist() for name in shown.panels]
    count = math.prod(map(len, values))
    if count > MOST_PANELS:
        raise InputError(
            f"the figure would need {count} panels for {', '.join(shown.panels)}, more than {MOST_PANELS}; "
            f"choose values, for example {shown.panels[0]}={values[0][0]}"
        )
    for at in itertools.product(*values):
        title = ", ".join(
            f"{name.replace('_', ' ')} = {label(name, value)}" for name, value in zip(shown.panels, at, strict=True)
        )
        yield title, dataset.sel(dict(zip(shown.panels, at, strict=True)))


def _panel(place: Axes, panel: xr.Dataset, shown: View) -> None:
    numbers = view.is_numeric(panel, shown.x) and panel.sizes[shown.x] > 1
    across: Array = panel[shown.x].values if numbers else np.arange(panel.sizes[shown.x])
    lines = [(at, points) for at, points in groups(panel, shown.x, shown.measure)]
    for k, (at, points) in enumerate(lines):
        named = label(shown.line, at[shown.line]) if shown.line else ""
        style = {"color": COLOURS[k % len(COLOURS)], "marker": MARKERS[k % len(MARKERS)], "label": named}
        if numbers:
            _line(place, across, points, style | {"linestyle": DASHES[k % len(DASHES)]})
        else:
            _points(place, across + 0.12 * (k - (len(lines) - 1) / 2), points, style)
    if numbers and np.diff(np.sort(across)).min() > 0.08 * np.ptp(across):
        place.set_xticks(across)
    if not numbers:
        place.set_xticks(across, [label(shown.x, value) for value in panel[shown.x].values.tolist()])
        place.set_xlim(-0.5, len(across) - 0.5)


def _line(place: Axes, across: Array, points: list[Point], style: dict[str, Any]) -> None:
    values, half = _values(points)
    place.plot(across, values, **style)
    place.fill_between(across, values - half, values + half, color=style["color"], alpha=0.18, linewidth=0)


def _points(place: Axes, across: Array, points: list[Point], style: dict[str, Any]) -> None:
    values, half = _values(points)
    place.errorbar(across, values, np.nan_to_num(half), linestyle="none", elinewidth=1.2, capsize=2.5, **style)


def _values(points: list[Point]) -> tuple[Floats, Floats]:
    values = np.array([point.value for point in points])
    return values, np.array([margin(point.clusters) * mcse(point) for point in points])


def _dress(figure: Figure, grid: Any, panels: int, dataset: xr.Dataset, shown: View) -> None:
    columns, drawn = grid.shape[1], grid.ravel()[:panels]
    _limits(drawn[0], dataset[shown.measure].values)
    for place in drawn[::columns]:
        place.set_ylabel(str(dataset[shown.measure].attrs.get("label", shown.measure.replace("_", " "))))
    for place in drawn[-columns:]:
        place.set_xlabel(axis_label(shown.x))
        place.xaxis.set_tick_params(labelbottom=True)
    if shown.line:
        handles, labels = drawn[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside right upper", title=shown.line.replace("_", " "), alignment="left")
    # About 17 letters of 7 points stand on an inch.
    words = textwrap.fill(caption(dataset, shown), int(17 * figure.get_figwidth()))
    figure.supxlabel(words, fontsize=7, color="#555555", x=0.01, ha="left")


def _limits(place: Axes, values: Floats) -> None:
    """Keep bands of few clusters from drowning the lines: a share is shown between 0 and 1."""
    known = values[np.isfinite(values)]
    low, high = place.get_ylim()
    if known.size and known.max() <= 1:
        place.set_ylim(top=min(high, 1.02))
    if known.size and known.min() >= 0:
        place.set_ylim(bottom=max(low, -0.02))


def axis_label(name: str) -> str:
    """Write the name of an axis for a reader."""
    return AXIS_LABELS.get(name, name.replace("_", " "))


def label(name: str, value: object) -> str:
    """Write a value of an axis for a reader."""
    return VALUE_LABELS.get((name, str(value)), word(value).replace("_", " "))
