"""Draw pairs, raters and metrics of a conclusion, a row for each, with their intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from simlab.concluding.conclusion import Conclusion, Metric, Pair, Rater
from simlab.drawing.figures import styles
from simlab.drawing.figures.conclusion_order import BLUE, GREY, VERMILION, short
from simlab.drawing.text.conclusion_metrics import QUALITIES, VERDICTS
from simlab.drawing.text.conclusion_pairs import is_compared, open_pairs
from simlab.drawing.text.conclusion_systems import METHODS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_ROWS, MOST_METRICS, MOST_SYSTEMS = 30, 8, 12
MOST_LETTERS = 16
LOOKS = {
    "claimed": {"color": BLUE, "marker": "o", "markerfacecolor": BLUE},
    "open (not: equal)": {"color": VERMILION, "marker": "s", "markerfacecolor": "white"},
    "never compared": {"color": GREY, "marker": "x", "markerfacecolor": GREY},
}
"""How pairs look, beyond their colour, by what is concluded about them."""


def shown_pairs(pairs: Sequence[Pair]) -> list[Pair]:
    """Return the pairs that are drawn: all, or those that are nearest to the line between claimed and open."""
    if len(pairs) <= MOST_ROWS:
        return list(pairs)
    left = open_pairs(pairs)
    claimed = sorted((one for one in pairs if one.verdict), key=lambda one: _edge(one))
    kept = left[: max(MOST_ROWS // 2, MOST_ROWS - len(claimed))]
    kept += claimed[: MOST_ROWS - len(kept)]
    names = {(one.first, one.second) for one in kept}
    return [one for one in pairs if (one.first, one.second) in names]


def _edge(pair: Pair) -> float:
    """Say how far the interval of a claimed pair stays from 0, over its width."""
    width = pair.high - pair.low
    distance = min(abs(pair.low), abs(pair.high)) / width if width > 0 else math.inf
    return distance if math.isfinite(distance) else math.inf


def draw_pairs(axes: Axes, found: Conclusion, pairs: Sequence[Pair]) -> set[str]:
    """Draw differences with simultaneous intervals, marked by what is concluded; return the looks to be explained."""
    states = [_state(one) for one in pairs]
    axes.axvline(0, color="0.6", linewidth=1)
    if (margin := found.about.get("margin")) is not None:
        axes.axvspan(-margin, margin, color="#009E73", alpha=0.12, linewidth=0)
    for row, (one, state) in enumerate(zip(pairs, states, strict=True)):
        looks = LOOKS[state]
        if is_compared(one):
            axes.hlines(row, one.low, one.high, color=looks["color"], linewidth=1.4)
        at = one.difference if is_compared(one) else 0.0
        axes.plot(at, row, linestyle="", markersize=5, zorder=4, **looks)  # type: ignore[arg-type]
    unit = f", {found.unit}" if found.unit else ""
    _rows(axes, [_named(one) for one in pairs], f"difference{unit} (simultaneous intervals)")
    cut = f" ({len(pairs)} of {len(found.pairs):,}, the hardest to tell apart)" if len(pairs) < len(found.pairs) else ""
    axes.set_title(f"Pairs{cut}", fontsize=10, loc="left")
    return set(states)


def _named(pair: Pair) -> str:
    return f"{short(pair.first, MOST_LETTERS)} - {short(pair.second, MOST_LETTERS)}"


def _state(pair: Pair) -> str:
    if not is_compared(pair):
        return "never compared"
    return "claimed" if pair.verdict else "open (not: equal)"


def shown_raters(raters: Sequence[Rater]) -> list[Rater]:
    """Return the raters that are drawn, the most lenient first: all, or the ends."""
    known = sorted((one for one in raters if math.isfinite(one.leniency)), key=lambda one: -one.leniency)
    half = MOST_ROWS // 2
    return known if len(known) <= MOST_ROWS else [*known[:half], *known[-half:]]


def draw_raters(axes: Axes, found: Conclusion, raters: Sequence[Rater]) -> None:
    """Draw how far above the others raters score the same outputs."""
    axes.axvline(0, color="0.6", linewidth=1)
    rows = range(len(raters))
    axes.hlines(rows, [one.low for one in raters], [one.high for one in raters], color=BLUE, linewidth=1.6, alpha=0.6)
    axes.plot([one.leniency for one in raters], rows, "o", color=BLUE, zorder=4)
    unit = f", {found.unit}" if found.unit else ""
    _rows(axes, [f"{short(one.rater, MOST_LETTERS)} ({one.n:,})" for one in raters], f"leniency{unit}")
    cut = f": {len(raters)} of {len(found.raters):,}" if len(raters) < len(found.raters) else ""
    axes.set_title(f"Raters, on the same outputs{cut}", fontsize=10, loc="left")


def draw_metrics(axes: Axes, metrics: Sequence[Metric], order: Sequence[str]) -> None:
    """Draw how good each metric is for each system, systems of a metric one below the other, best first."""
    axes.axvline(0, color="0.6", linewidth=1)
    for row, metric in enumerate(metrics):
        held = sorted(metric.quality, key=lambda one: order.index(one.system) if one.system in order else len(order))
        at = row + np.linspace(-0.3, 0.3, len(held)) if len(held) > 1 else [float(row)]
        color, marker = styles.COLOURS[row % len(styles.COLOURS)], styles.MARKERS[row % len(styles.MARKERS)]
        axes.hlines(at, [one.low for one in held], [one.high for one in held], color=color, linewidth=1.1, alpha=0.6)
        axes.plot([one.value for one in held], at, marker, color=color, markersize=3.5, zorder=4)
    quality = "/".join(dict.fromkeys(QUALITIES.get(one.quality_of, one.quality_of) for one in metrics))
    _rows(
        axes,
        [f"{short(one.name, MOST_LETTERS)}\n({VERDICTS[one.verdict]})" for one in metrics],
        f"{quality}, systems best first",
    )
    axes.set_title("Metrics", fontsize=10, loc="left")


def draw_means(axes: Axes, found: Conclusion, metric: Metric, order: Sequence[str]) -> list[str]:
    """Draw the means of systems by humans alone and with a metric; return the names of the ways, in their order."""
    ways = [name for name in METHODS if any(one.method == name for one in metric.estimates)]
    place = {system: row for row, system in enumerate(order)}
    for k, way in enumerate(ways):
        held = [one for one in metric.estimates if one.method == way and one.system in place]
        at = [place[one.system] + 0.5 * ((k + 0.5) / len(ways) - 0.5) for one in held]
        looks = styles.style(k, METHODS[way])
        axes.hlines(at, [one.low for one in held], [one.high for one in held], color=looks["color"], linewidth=1.1)
        axes.plot([one.value for one in held], at, linestyle="", markersize=3.8, zorder=4, **looks)
    _rows(axes, [short(one, MOST_LETTERS) for one in order], f"mean{f', {found.unit}' if found.unit else ''}")
    axes.set_title(f"With {metric.name}", fontsize=10, loc="left")
    return ways


def _rows(axes: Axes, names: Sequence[str], label: str) -> None:
    axes.set_yticks(range(len(names)), list(names), fontsize=7.5)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlabel(label)
    axes.grid(axis="x")
    axes.grid(visible=False, axis="y")
