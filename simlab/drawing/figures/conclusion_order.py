"""Draw the order that claims make as a Hasse diagram along the estimates; what follows from others is left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from simlab.answers.conclude import Conclusion, System
from simlab.drawing.figures import look, styles
from simlab.drawing.text.conclusion_numbers import measure, rank, short
from simlab.drawing.text.conclusion_pairs import beaten
from simlab.drawing.text.conclusion_systems import confidence
from simlab.types import Bools, Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

BLUE, VERMILION, GREY = styles.COLOURS[0], styles.COLOURS[1], "#8C8C8C"
MOST_EDGES = 80
"""Of more edges each system keeps only the one to the nearest that it is better than: all others hide the systems."""
MANY, BENT, BENT_MORE = 20, 0.22, 0.45
"""Where rows are many they lie close, and edges must bend further to be seen beside the points."""
MOST_LETTERS, WIDE = 26, 52
BETTER, NEAREST = "claimed better (what follows is left out)", "claimed better (the nearest only)"
CIRCLE = "claims in a cycle"
_STRAIGHT: dict[str, Any] = {"color": GREY, "linewidth": 0.8, "mutation_scale": 7, "linestyle": "-"}
_CIRCULAR: dict[str, Any] = {"color": VERMILION, "linestyle": "--"}


def draw(axes: Axes, found: Conclusion, systems: Sequence[System]) -> set[str]:
    """Draw systems, best at the top, with intervals and the claims between them; return the looks to be explained."""
    estimate, low, high = (np.array([getattr(one, name) for one in systems]) for name in ("estimate", "low", "high"))
    known = np.flatnonzero(np.isfinite(estimate))
    claimed = claims(found, [one.system for one in systems])
    straight, circular = hasse(claimed)
    bend = BENT if len(systems) <= MANY else BENT_MORE
    cut = straight.sum() > MOST_EDGES
    straight = nearest(straight) if cut else straight
    for edges, looks in ((straight, _STRAIGHT), (circular, _STRAIGHT | _CIRCULAR)):
        for better, worse in np.argwhere(edges):
            if better in known and worse in known:
                _arrow(axes, (estimate[better], better), (estimate[worse], worse), bend, looks)
    bottom, top, limits = drawable(estimate[known], low[known], high[known])
    axes.hlines(known, bottom, top, color=BLUE, linewidth=2.2, alpha=0.6, zorder=3)
    axes.plot(estimate[known], known, "o", color=BLUE, markersize=5.5, zorder=4)
    axes.set_xlim(*limits)
    _label(axes, found, systems)
    return {name for name, edges in ((NEAREST if cut else BETTER, straight), (CIRCLE, circular)) if edges.any()}


def claims(found: Conclusion, names: Sequence[str]) -> Bools:
    """Return `[better, worse]` for systems in this order."""
    place = {name: k for k, name in enumerate(names)}
    held = np.zeros((len(names), len(names)), dtype=bool)
    for better, below in beaten(found.pairs).items():
        for worse in below:
            held[place[better], place[worse]] = True
    return held


def hasse(claimed: Bools) -> tuple[Bools, Bools]:
    """Return the claims that follow from no others, and those within cycles, from `claimed[better, worse]`.

    Systems of a cycle count as one when it is asked what follows.
    """
    reach = claimed.copy()
    for k in range(len(claimed)):
        reach |= np.outer(reach[:, k], reach[k])
    together = reach & reach.T
    apart = reach & ~together
    # What lies strictly between two systems, cycles being one, makes a claim follow.
    between = (apart.astype(np.int64) @ apart.astype(np.int64)) > 0
    return claimed & ~together & ~between, claimed & together


def nearest(edges: Bools) -> Bools:
    """Keep of each system's edges the one to the nearest row below it."""
    kept = np.zeros_like(edges)
    for better in np.flatnonzero(edges.any(axis=1)):
        kept[better, np.flatnonzero(edges[better])[0]] = True
    return kept


def _arrow(
    axes: Axes, start: tuple[float, float], end: tuple[float, float], bend: float, looks: dict[str, Any]
) -> None:
    """Draw a claim, bent lest it hide the systems of the rows that it crosses."""
    from matplotlib.patches import FancyArrowPatch

    bent = f"arc3,rad={bend}"
    axes.add_patch(
        FancyArrowPatch(start, end, arrowstyle="-|>", connectionstyle=bent, shrinkA=4, shrinkB=4, zorder=1.5, **looks)
    )


def drawable(values: ArrayLike, low: ArrayLike, high: ArrayLike) -> tuple[Floats, Floats, tuple[float, float]]:
    """Return bounds that can be drawn, and limits of the axis: an interval without an end leaves the panel.

    Unknown ones are nowhere. `values` are shown whatever the bounds.
    """
    bottom, top = np.asarray(low, float), np.asarray(high, float)
    ends = np.concatenate([np.atleast_1d(np.asarray(values, float)), bottom, top])
    ends = ends[np.isfinite(ends)]
    least, most = (float(ends.min()), float(ends.max())) if ends.size else (0.0, 1.0)
    room = 0.05 * max(most - least, 1e-9)
    limits = least - room, most + room
    beyond = limits[0] - (most - least), limits[1] + (most - least)
    return np.where(np.isneginf(bottom), beyond[0], bottom), np.where(np.isposinf(top), beyond[1], top), limits


def _label(axes: Axes, found: Conclusion, systems: Sequence[System]) -> None:
    """Write systems and their possible ranks beside the rows, and what is measured below."""
    rows = range(len(systems))
    axes.set_yticks(rows, list(short([one.system for one in systems], MOST_LETTERS).values()))
    style: Any = {"va": "center", "fontsize": look.points(7.5), "color": "#444444"}
    for row, one in zip(rows, systems, strict=True):
        text = rank(one.rank_low, one.rank_high) + ("" if np.isfinite(one.estimate) else ": not known")
        axes.annotate(text, (1.01, row), xycoords=("axes fraction", "data"), **style)
    axes.annotate("ranks", (1.01, 1.0), xycoords="axes fraction", **style | {"va": "bottom"})
    axes.set_ylim(len(systems) - 0.4, -0.6)
    better = "lower" if found.lower_is_better else "higher"
    what = ", ".join(one for one in measure(found) if one)
    axes.set_xlabel(look.folded(f"{what} ({better} is better; {confidence(found)} intervals)", WIDE))
    axes.grid(axis="x")
    axes.grid(visible=False, axis="y")
    axes.set_title("Order", fontsize=look.points(10), loc="left")
