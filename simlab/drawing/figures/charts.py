"""Draw a sweep's figure: a measure against an axis or another measure, or what campaigns say about each pair."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simlab.drawing import view
from simlab.drawing.figures import contours, lines, pair_matrix, panels, styles, tradeoff
from simlab.drawing.view import View
from simlab.drawing.wording import axis_label, measure_label, short
from simlab.types import InputError

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".svg", ".pdf")
SCALE_LABELS = {"linear": "{}", "log": "{}, log scale", "neg_log": "negative natural logarithm of {}"}

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


def plot(dataset: xr.Dataset, out: Path, measure: str | None = None) -> None:
    """Write the sweep's figure to a file whose suffix names the format; refuse others before drawing."""
    import matplotlib as mpl

    check_suffix(out)
    with mpl.rc_context(STYLE):
        kind = view.kind(dataset)
        if measure is None and kind == "pairs":
            save(pair_matrix.draw(dataset), out)
        else:
            save((contours.draw if kind == "contours" else draw)(dataset, view.view(dataset, measure)), out)


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
    parts = panels.split(dataset, shown.panels)
    # Where both ways are measures, a wide panel would flatten what is gained.
    width, height = (4.2, 3.0) if shown.against and len(parts) == 1 else (2.6, 2.2)
    figure, grid = panels.sheet([title for title, _ in parts], width, height, sharex=True, sharey=True)
    for place, (_, part) in zip(grid.flat, parts, strict=False):
        (tradeoff if shown.against else lines).panel(place, part, shown)
    _dress(figure, grid, len(parts), dataset, shown)
    return figure


def caption(dataset: xr.Dataset, shown: View) -> str:
    """Say what the bands are, how much stands behind them, and what they leave out."""
    sweep, cluster = view.declared(dataset), str(dataset[shown.measure].attrs.get("cluster", "cluster"))
    if "calculation" in sweep:
        return "Calculated, without simulation: no sampling error."
    worlds, studies = int(sweep["worlds"]), int(sweep["studies"])
    size = f"{worlds} worlds × {studies} studies" if worlds > 1 else f"1 world × {studies} studies"
    kind = f"{cluster.replace('_', ' ')}s"
    shared = f"designs share the {kind}, so overlapping intervals can still differ (simlab compare)"
    parts = [
        shown.against and f"beside points: {axis_label(shown.x)}",
        f"95 % t intervals over {kind}"
        + (" (of the logarithm by the delta method)" if shown.scale != "linear" else ""),
        f"{size} per point",
        shown.line and shared,
        view.condition(dataset),
    ]
    return "; ".join(part for part in parts if part) + "."


def _dress(figure: Figure, grid: Any, count: int, dataset: xr.Dataset, shown: View) -> None:
    columns, drawn = grid.shape[1], grid.ravel()[:count]
    _limit(drawn, dataset, shown)
    letters = int(10.5 * figure.get_figheight() / grid.shape[0])
    for place in drawn[::columns]:
        label = SCALE_LABELS[shown.scale].format(measure_label(dataset, shown.measure))
        place.set_ylabel(textwrap.fill(label, letters))
    for place in drawn[-columns:]:
        place.set_xlabel(measure_label(dataset, shown.against) if shown.against else axis_label(shown.x))
        place.xaxis.set_tick_params(labelbottom=True)
    if shown.line:
        handles, labels = drawn[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside right upper", title=short(shown.line), alignment="left")
    panels.footnote(figure, caption(dataset, shown))


def _limit(drawn: Any, dataset: xr.Dataset, shown: View) -> None:
    values = dataset[shown.measure].values
    if shown.scale == "log" and np.any(values > 0):
        for place in drawn:
            place.set_yscale("log")
    if shown.scale != "linear":
        positive = values[values > 0]
        values = positive if shown.scale == "log" else -np.log(positive)
    drawn[0].set_ylim(styles.limits(drawn[0].get_ylim(), values, shown.scale))
    if shown.against:
        drawn[0].set_xlim(styles.limits(drawn[0].get_xlim(), dataset[shown.against].values))
