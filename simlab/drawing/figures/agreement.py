"""Draw how the scores of each rater are distributed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from simlab.types import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from simlab.fitting.agreement import Agreement, RaterProfile


def draw(agreement: Agreement) -> Figure:
    """Draw how each rater's scores are distributed, harshest rater at the top."""
    from matplotlib.figure import Figure

    order = sorted(range(len(agreement.raters)), key=lambda k: agreement.raters[k].mean)
    raters = [agreement.raters[k] for k in order]
    figure = Figure(figsize=(9.5, min(1.9 + 0.3 * len(raters), 20)), layout="constrained")
    shares, spread = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    edges, share = agreement.bands()
    _draw_shares(shares, edges, share[order])
    _draw_spread(spread, raters)
    shares.set_yticks(range(len(raters)), [f"{rater.rater} ({rater.ratings:,})" for rater in raters])
    shares.set_ylabel("rater (ratings)")
    figure.suptitle(_headline(agreement), fontsize=11)
    return figure


def _headline(agreement: Agreement) -> str:
    if not agreement.shared.comparisons:
        return "Scores by rater (no two raters rated the same outputs)"
    single, shared = agreement.single.kendall, agreement.shared.kendall
    return (
        f"Scores by rater; Kendall's tau between raters: {single:.2f} per document, {shared:.2f} over shared documents"
    )


def _draw_shares(axes: Axes, edges: Floats, shares: Floats) -> None:
    """Stack the shares of scores in bands."""
    from matplotlib import colormaps

    left = np.cumsum(shares, axis=1) - shares
    colours = colormaps["cividis"](np.linspace(0.95, 0.05, len(edges)))
    for band, edge in enumerate(edges):
        label = f"up to {edge:g}" if band else f"score {edge:g}"
        axes.barh(range(len(shares)), shares[:, band], left=left[:, band], color=colours[band], label=label, height=0.8)
    axes.set(xlim=(0, 1), xlabel="share of ratings")
    _finish(axes, len(edges))


def _draw_spread(axes: Axes, raters: Sequence[RaterProfile]) -> None:
    rows = range(len(raters))
    low, median, high, most = np.array([rater.quantiles for rater in raters]).T
    axes.hlines(rows, low, most, color="0.7", linewidth=1.5, label="25 to 90 %")
    axes.hlines(rows, low, high, color="#0072B2", linewidth=5, label="25 to 75 %")
    axes.plot(median, rows, "|", color="black", markersize=11, markeredgewidth=2, label="median", clip_on=False)
    axes.plot([rater.mean for rater in raters], rows, "D", color="#E69F00", markeredgecolor="black", label="mean")
    axes.set(xlabel="score (lower is better)", xlim=(0, None))
    axes.tick_params(axis="y", length=0)
    _finish(axes, 4)


def _finish(axes: Axes, n_labels: int) -> None:
    anchored: dict[str, Any] = {"loc": "lower center", "bbox_to_anchor": (0.5, 1)}
    compact: dict[str, Any] = {"frameon": False, "fontsize": 8, "handlelength": 1, "columnspacing": 1}
    axes.legend(ncols=n_labels, **anchored, **compact)
    axes.spines[["top", "right"]].set_visible(False)
