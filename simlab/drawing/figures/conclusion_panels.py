"""Draw pairs, raters and metrics of a conclusion, a row for each, with their intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from simlab.answers.conclude import Conclusion, Metric, Pair, Rater
from simlab.drawing.figures import look, styles
from simlab.drawing.figures.conclusion_order import BLUE, GREY, VERMILION, drawable
from simlab.drawing.text.conclusion_metrics import QUALITIES, VERDICTS
from simlab.drawing.text.conclusion_numbers import measure, short
from simlab.drawing.text.conclusion_pairs import is_compared, open_pairs, ordered, oriented
from simlab.drawing.text.conclusion_systems import METHODS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_ROWS, MOST_METRICS, MOST_SYSTEMS = 30, 8, 12
MOST_LETTERS, WIDE = 16, 46
LOOKS: Mapping[str, Mapping[str, Any]] = {
    "claimed": {"color": BLUE, "marker": "o", "markerfacecolor": BLUE},
    "open (not: equal)": {"color": VERMILION, "marker": "s", "markerfacecolor": "white"},
    "never compared": {"color": GREY, "marker": "x", "markerfacecolor": GREY},
}
"""How pairs look, beyond their colour, by what is concluded about them."""


def shown_pairs(found: Conclusion) -> list[Pair]:
    """Return the pairs that are drawn: all, or those that are nearest to the line between claimed and open."""
    place = {one.system: k for k, one in enumerate(ordered(found))}
    pairs = sorted(map(oriented, found.pairs), key=lambda one: (place[one.first], place[one.second]))
    if len(pairs) <= MOST_ROWS:
        return pairs
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
    known = [one if is_compared(one) else one.changed(low=math.nan, high=math.nan) for one in pairs]
    values = [0.0, *(one.difference for one in known)]
    low, high, limits = drawable(values, [one.low for one in known], [one.high for one in known])
    axes.set_xlim(*limits)
    for row, (one, state) in enumerate(zip(pairs, states, strict=True)):
        looks = LOOKS[state]
        if is_compared(one):
            axes.hlines(row, low[row], high[row], color=looks["color"], linewidth=1.4)
        at = one.difference if is_compared(one) else 0.0
        axes.plot(at, row, linestyle="", markersize=5, zorder=4, **looks)
    what = found.about.get("difference", f"difference, {found.unit}" if found.unit else "difference")
    _rows(axes, named(pairs), look.folded(f"{what} (simultaneous intervals)", WIDE))
    cut = f" ({len(pairs)} of {len(found.pairs):,}, the hardest to tell apart)" if len(pairs) < len(found.pairs) else ""
    axes.set_title(f"Pairs{cut}", fontsize=look.points(10), loc="left")
    return set(states)


def named(pairs: Sequence[Pair]) -> list[str]:
    """Name pairs in their rows."""
    names = short(list(dict.fromkeys(name for one in pairs for name in (one.first, one.second))), MOST_LETTERS)
    return [f"{names[one.first]} - {names[one.second]}" for one in pairs]


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
    rows, names = range(len(raters)), short([one.rater for one in raters], MOST_LETTERS)
    values = [0.0, *(one.leniency for one in raters)]
    low, high, limits = drawable(values, [one.low for one in raters], [one.high for one in raters])
    axes.set_xlim(*limits)
    axes.hlines(rows, low, high, color=BLUE, linewidth=1.6, alpha=0.6)
    axes.plot([one.leniency for one in raters], rows, "o", color=BLUE, zorder=4)
    unit = f", {found.unit}" if found.unit else ""
    _rows(axes, [f"{names[one.rater]} ({one.n:,})" for one in raters], f"leniency{unit}")
    cut = f": {len(raters)} of {len(found.raters):,}" if len(raters) < len(found.raters) else ""
    axes.set_title(f"Raters{cut}", fontsize=look.points(10), loc="left")


def draw_metrics(axes: Axes, metrics: Sequence[Metric], order: Sequence[str]) -> None:
    """Draw how good each metric is for each system, systems of a metric one below the other, best first."""
    axes.axvline(0, color="0.6", linewidth=1)
    for row, metric in enumerate(metrics):
        held = sorted(metric.quality, key=lambda one: order.index(one.system) if one.system in order else len(order))
        at = row + np.linspace(-0.3, 0.3, len(held)) if len(held) > 1 else [float(row)]
        color, marker = styles.COLOURS[row % len(styles.COLOURS)], styles.MARKERS[row % len(styles.MARKERS)]
        axes.hlines(at, [one.low for one in held], [one.high for one in held], color=color, linewidth=1.1, alpha=0.6)
        axes.plot([one.value for one in held], at, marker, color=color, markersize=3.5, zorder=4)
    names = short([one.name for one in metrics], MOST_LETTERS)
    quality = "/".join(dict.fromkeys(QUALITIES.get(one.quality_of, one.quality_of) for one in metrics))
    _rows(
        axes,
        [f"{names[one.name]}\n({VERDICTS[one.verdict]})" for one in metrics],
        look.folded(f"{quality}, systems best first", WIDE),
    )
    axes.set_title("Metrics", fontsize=look.points(10), loc="left")


def draw_means(axes: Axes, found: Conclusion, metric: Metric, order: Sequence[str]) -> None:
    """Draw the means of systems by humans alone and with a metric."""
    ways = [name for name in METHODS if any(one.method == name for one in metric.estimates)]
    place = {system: row for row, system in enumerate(order)}
    for k, way in enumerate(ways):
        held = [one for one in metric.estimates if one.method == way and one.system in place]
        at = [place[one.system] + 0.5 * ((k + 0.5) / len(ways) - 0.5) for one in held]
        looks = styles.style(k, METHODS[way])
        axes.hlines(at, [one.low for one in held], [one.high for one in held], color=looks["color"], linewidth=1.1)
        axes.plot([one.value for one in held], at, linestyle="", markersize=3.8, zorder=4, **looks)
    _rows(axes, list(short(order, MOST_LETTERS).values()), ", ".join(one for one in measure(found) if one))
    axes.set_title(f"With {metric.name}", fontsize=look.points(10), loc="left")


def _rows(axes: Axes, names: Sequence[str], label: str) -> None:
    axes.set_yticks(range(len(names)), list(names), fontsize=look.points(7.5))
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlabel(label)
    axes.grid(axis="x")
    axes.grid(visible=False, axis="y")
