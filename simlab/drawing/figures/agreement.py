"""Draw how the scores of each rater are distributed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from simlab.drawing.figures import around, look, panels
from simlab.types import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from simlab.fitting.agreement import Agreement
    from simlab.fitting.agreement_corated import Corated
    from simlab.fitting.agreement_profiles import RaterProfile


QUESTION = "How do raters differ in what they score?"
TRAITS = {
    "leniency": "leniency: better than the\nothers on the same outputs (points)",
    "sharpness": "sharpness: slope on\nthe others' mean",
}
UNIT, NAMES, ROW = 1.55, 1.6, 0.3
"""Inches of a panel of width 1, of the names of raters, and of a row of 9 points."""


def draw(agreement: Agreement) -> Figure:
    """Draw how each rater's scores are distributed, how lenient, sharp and fast they are; harshest rater at the top."""
    sign = 1 if agreement.lower_is_better else -1
    order = sorted(range(len(agreement.raters)), key=lambda k: sign * agreement.raters[k].mean)
    raters = [agreement.raters[k] for k in order]
    beside = [agreement.corated[k] for k in order] if any(rater.shared for rater in agreement.corated) else []
    edges, share = agreement.bands()
    better = "lower" if agreement.lower_is_better else "higher"
    drawings: list[tuple[float, Callable[[Axes], None]]] = [
        (3.0 * UNIT + NAMES, lambda axes: _draw_shares(axes, edges, share[order])),
        (2.0 * UNIT, lambda axes: _draw_spread(axes, raters, better)),
    ]
    if beside:
        drawings += [(1.5 * UNIT, partial(_draw_trait, raters=beside, name=name)) for name in TRAITS]
    if any(np.isfinite(rater.seconds) for rater in beside):
        drawings += [(1.2 * UNIT, partial(_draw_speed, raters=beside))]
    height = min(1.3 + ROW * look.points(9) / 9 * len(raters), 20)
    figure, lines = panels.laid([wide for wide, _ in drawings], height)
    for axes, (_, drawing) in zip((axes for line in lines for axes in line), drawings, strict=True):
        drawing(axes)
    for first, *others in lines:
        first.set_yticks(range(len(raters)), [f"{rater.rater} ({rater.ratings:,})" for rater in raters])
        first.set_ylabel("rater (ratings)")
        for axes in others:
            axes.sharey(first)
            axes.tick_params(axis="y", length=0, labelleft=False)
    around.question(figure, QUESTION)
    around.footnote(figure, _headline(agreement))
    return figure


def _headline(agreement: Agreement) -> str:
    if not agreement.shared.comparisons:
        return "No two raters rated the same outputs."
    single, shared = agreement.single.kendall, agreement.shared.kendall
    return f"Kendall's tau between raters: {single:.2f} per document, {shared:.2f} over shared documents."


def _draw_shares(axes: Axes, edges: Floats, shares: Floats) -> None:
    """Stack the shares of scores in bands."""
    from matplotlib import colormaps

    left = np.cumsum(shares, axis=1) - shares
    colours = colormaps["cividis"](np.linspace(0.95, 0.05, len(edges)))
    for band, edge in enumerate(edges):
        label = f"up to {edge:g}" if band or edge else "score 0"
        axes.barh(range(len(shares)), shares[:, band], left=left[:, band], color=colours[band], label=label, height=0.8)
    axes.set(xlim=(0, 1), xlabel="share of ratings")
    _finish(axes, len(edges))


def _draw_spread(axes: Axes, raters: Sequence[RaterProfile], better: str) -> None:
    rows = range(len(raters))
    low, median, high, most = np.array([rater.quantiles for rater in raters]).T
    axes.hlines(rows, low, most, color="0.7", linewidth=1.5, label="25 to 90 %")
    axes.hlines(rows, low, high, color="#0072B2", linewidth=5, label="25 to 75 %")
    axes.plot(median, rows, "|", color="black", markersize=11, markeredgewidth=2, label="median", clip_on=False)
    axes.plot([rater.mean for rater in raters], rows, "D", color="#E69F00", markeredgecolor="black", label="mean")
    axes.set(xlabel=f"score ({better} is better)")
    if 0 <= low.min() < most.max() / 4:
        axes.set_xlim(0, None)
    _finish(axes, 4)


def _draw_trait(axes: Axes, raters: Sequence[Corated], name: str) -> None:
    """Draw leniency or sharpness with its intervals, beside what a rater like the others has."""
    value, low, high = (np.array([getattr(rater, f"{name}{end}") for rater in raters]) for end in ("", "_low", "_high"))
    label, like, word = TRAITS[name], 0.0, "like the others"
    if name == "sharpness":
        known = value[np.isfinite(value)]
        like, word = float(np.median(known)) if known.size else 0.0, "middle rater"
    rows = range(len(raters))
    axes.axvline(like, color="0.6", linewidth=1, label=word)
    axes.hlines(rows, low, high, color="#0072B2", linewidth=2, label="95 %")
    axes.plot(value, rows, "o", color="#0072B2", markersize=5)
    axes.set(xlabel=label)
    _finish(axes, 2)


def _draw_speed(axes: Axes, raters: Sequence[Corated]) -> None:
    """Draw how long an answer of each rater took on average."""
    axes.plot([rater.seconds for rater in raters], range(len(raters)), "o", color="#0072B2", markersize=5, label="mean")
    axes.set(xlabel="speed: seconds\nan answer took")
    axes.set_xlim(0, None)
    _finish(axes, 1)


def _finish(axes: Axes, n_labels: int) -> None:
    """Explain a panel above it; where it is narrow, in fewer columns."""
    anchored: dict[str, Any] = {"loc": "lower center", "bbox_to_anchor": (0.5, 1)}
    compact: dict[str, Any] = {"frameon": False, "fontsize": look.points(8), "handlelength": 1, "columnspacing": 1}
    axes.legend(ncols=n_labels, **anchored, **compact)
    axes.spines[["top", "right"]].set_visible(False)
