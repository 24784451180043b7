"""Lay out a chart: panels with common scales, one legend, and a caption that says what the bands are.

`draw` is the frame of figures of lines, repetitions and trade-offs: each calls it with an open store, the `View` of
what is shown and a function that draws one panel; it returns the matplotlib figure.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from simlab.drawing import questions, view
from simlab.drawing.figures import captions, page_style, panels, styles
from simlab.drawing.text.tables import count_nouns
from simlab.drawing.view import View
from simlab.drawing.wording import axis_label, measure_label, measured_axis, shorten_axis_name
from simlab.messages import describe_replication
from simlab.store.intervals import campaigns
from simlab.store.opening import name_axes
from simlab.store.reservations import HELD_FIXED

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

SCALE_LABELS = {"linear": "{}", "log": "{}, log scale", "neg_log": "negative natural logarithm of {}"}
"""Label of an axis by its scale, `{}` being the measure."""

MARK: Any = {"color": "#444444", "linewidth": 1.0, "linestyle": (0, (1, 2)), "zorder": 1.4}
"""How the line of a target looks in every figure."""

Panel: TypeAlias = Callable[[Any, "xr.Dataset", View], None]
"""Draws a part of a store on axes: takes the axes, the part and the view."""


def draw(
    dataset: xr.Dataset,
    shown: View,
    panel: Panel,
    width: float = 2.6,
    height: float = 2.2,
    requested: str | None = None,
    words: ChartWords | None = None,
) -> Figure:
    """Return a figure with a panel for each combination of `shown.panels`, common scales, a legend and a caption.

    `panel` draws a part of the store on its axes; `width` and `height` are its inches. `requested` is the measure that
    was named for the figure, None for the sweep's own (another one has a question of its own). `words` are those of the
    legend and of the caption; None for the usual ones.
    """
    parts = panels.split(view.drop_reference_panels(dataset, shown), shown.panels)
    figure, grid = panels.sheet([title for title, _ in parts], width, height, sharex=True, sharey=True)
    for axes, (_, part) in zip(grid.flat, parts, strict=False):
        panel(axes, part, shown)
    captions.question(figure, questions.sweep_question(dataset, shown, requested))
    _label_panels(figure, grid, len(parts), dataset, shown, words or _default_words(dataset, shown))
    return figure


class ChartWords(NamedTuple):
    """Words of a chart: the title of a legend and the caption."""

    legend: str | None
    caption: str


def _default_words(dataset: xr.Dataset, shown: View) -> ChartWords:
    return ChartWords(shorten_axis_name(shown.line) if shown.line else None, caption(dataset, shown))


def mark(axes: Any, shown: View) -> None:
    """Draw the line of the target value (`shown.mark`), where it has a place on the scale."""
    if shown.mark is not None and np.isfinite(at := styles.scale_value(shown.mark, shown.scale)):
        axes.axhline(at, label=f"wanted: {shown.mark:g}", **MARK)


def collect_legend_entries(filled: Any) -> tuple[list[Any], list[str]]:
    """Return the handles and labels of the legend of all panels, each label once; `filled` are the panels' axes."""
    handles_by_label: dict[str, Any] = {}
    for axes in filled:
        handles, labels = axes.get_legend_handles_labels()
        handles_by_label |= {
            label: handle for label, handle in zip(labels, handles, strict=True) if label not in handles_by_label
        }
    return list(handles_by_label.values()), list(handles_by_label)


def caption(dataset: xr.Dataset, shown: View) -> str:
    """State what the bands are, how much stands behind them, and what they leave out."""
    sweep, clusters = view.read_declaration(dataset), f"{view.cluster(dataset, shown.measure)}s"
    if "calculation" in sweep:
        return "Calculated, without simulation: no sampling error."
    shared = f"designs share the {clusters}, so overlapping intervals can still differ (simlab compare)"
    fixed = dataset[shown.measure].attrs.get(HELD_FIXED)
    parts = [
        shown.against and f"beside points: {axis_label(shown.x)}",
        f"95 % intervals over {clusters}, inside the range of the measure",
        f"{describe_replication(sweep)} per point",
        fixed and f"held fixed: {fixed}",
        shows_found_measure(shown)
        and f"dotted: {measure_label(dataset, str(shown.companion))}; where nothing is found, the measure is 1",
        shown.line and shared,
        _failures(dataset),
        view.condition(dataset),
    ]
    return "; ".join(part for part in parts if part) + "."


def shows_found_measure(shown: View) -> bool:
    """True if lines show the companion, how much was found, beside their measure: on a linear scale only."""
    return shown.companion is not None and shown.scale == "linear" and shown.against is None


def _failures(dataset: xr.Dataset) -> str | None:
    """State how many campaigns failed; None where all were carried out."""
    failed, ok = (int(counts.sum()) for counts in campaigns(dataset, name_axes(dataset)))
    return f"{failed} of {count_nouns([failed + ok], 'campaign')} failed and are left out" if failed else None


def _label_panels(figure: Figure, grid: Any, count: int, dataset: xr.Dataset, shown: View, words: ChartWords) -> None:
    columns, filled = grid.shape[1], grid.ravel()[:count]
    _limit(filled, dataset, shown)
    letters = page_style.letters(
        0.85 * figure.get_figheight() / grid.shape[0], page_style.current_style().rc["font.size"]
    )
    wide = figure.get_figwidth()
    room = 0.85 * wide if page_style.is_narrow(wide) else wide - 0.75 * panels.BESIDE
    across = page_style.letters(room / columns, page_style.current_style().rc["font.size"])
    for axes in filled[::columns]:
        label = SCALE_LABELS[shown.scale].format(measured_axis(dataset, shown.measure))
        axes.set_ylabel(textwrap.fill(label, letters))
    for axes in filled[-columns:]:
        measured = shown.against or shown.across
        label = measured_axis(dataset, measured) if measured else axis_label(shown.x)
        axes.set_xlabel(textwrap.fill(label, across))
        axes.xaxis.set_tick_params(labelbottom=True)
    handles, labels = collect_legend_entries(filled)
    captions.legend(figure, handles, labels, words.legend)
    captions.footnote(figure, words.caption)


def _limit(filled: Any, dataset: xr.Dataset, shown: View) -> None:
    values = dataset[shown.measure].values
    if shows_found_measure(shown):
        values = np.append(values, dataset[str(shown.companion)].values)
    if shown.scale == "log" and np.any(values > 0):
        for axes in filled:
            axes.set_yscale("log")
    if shown.scale != "linear":
        positive = values[values > 0]
        values = positive if shown.scale == "log" else -np.log(positive)
    filled[0].set_ylim(styles.limits(filled[0].get_ylim(), values, shown.scale))
    if shown.against:
        filled[0].set_xlim(styles.limits(filled[0].get_xlim(), dataset[shown.against].values))
