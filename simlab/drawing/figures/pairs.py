"""Draw what a campaign concluded about each pair of systems, held against the full human evaluation.

Source: Deriu et al. 2023, figure 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from simlab.drawing.figures import panels
from simlab.drawing.text.tables import counted, number
from simlab.store.opening import axes_of
from simlab.studies.outcomes import OK
from simlab.types import Array, Floats, InputError, Ints

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KINDS = (
    ("different, as by humans", "#009E73", "", "white"),
    ("not told apart, as by humans", "#B8DDD0", "=", "black"),
    ("inversion: the other one is better", "#D55E00", "×", "white"),
    ("omission: a difference is missed", "#0072B2", "−", "white"),
    ("insertion: a difference is claimed", "#E69F00", "+", "black"),
)
"""What a verdict is, its colour (Okabe and Ito; one tint), and the sign that stands for it in grey, with its colour."""

FIRST_WRONG = 2


@dataclass(frozen=True, slots=True)
class Matrix:
    """Hold what is drawn of a cell, systems in the order of the full human evaluation.

    `kind[pair]` indexes KINDS and is of one campaign (`world`, `study`); `wrong[pair]` is the share of that world's
    `campaigns` that judge the pair otherwise than all human ratings. Pair by pair, `better` and `worse` are places.
    """

    names: tuple[str, ...]
    better: Ints
    worse: Ints
    kind: Ints
    wrong: Floats
    campaigns: int
    world: int
    study: int


def draw(dataset: xr.Dataset) -> Figure:
    """Draw a panel per cell: below the diagonal one campaign, above it how often the pair is judged wrongly.

    Raises InputError for a store without verdicts, or with more cells than fit on a page.
    """
    if "verdict" not in dataset:
        raise InputError(
            "a figure of pairs needs verdicts about pairs, which this store does not hold; it is for studies of "
            "preferences that keep their outcomes (engine.outcomes=true)"
        )
    parts = panels.split(dataset, axes_of(dataset))
    found = [matrix(cell) for _, cell in parts]
    side = max(2.5, 0.2 * max((len(held.names) for held in found if held), default=0) + 0.7)
    figure, grid = panels.sheet([title for title, _ in parts], side, side)
    for place, held in zip(grid.flat, found, strict=False):
        _panel(place, held)
    _legend(figure)
    panels.footnote(figure, caption([held for held in found if held]))
    figure.set_layout_engine("compressed")
    # The room beside squares is known only once they are laid out: without this, names are cut off.
    figure.draw_without_rendering()
    return figure


def matrix(cell: xr.Dataset) -> Matrix | None:
    """Read what is drawn of a cell; None where no campaign of it was carried out."""
    ran = np.flatnonzero(cell["status"].values == OK)
    if not ran.size:
        return None
    world = cell["world"].values
    # Pairs are the same systems within a world only.
    ran = ran[world[ran] == world[ran[0]]]
    n = int(cell["n_systems"])
    own = np.flatnonzero(cell["pair_second"].values < n)
    ends = np.stack([cell["pair_first"].values[own], cell["pair_second"].values[own]])
    said = kinds(cell["verdict"].values[np.ix_(ran, own)], cell["reference_verdict"].values[np.ix_(ran, own)])
    order = _order(ends, cell["reference_p"].values[ran[0], own], n)
    places = np.argsort(order)[ends]
    return Matrix(
        tuple(str(name) for name in cell["system"].values[order]),
        places.min(0),
        places.max(0),
        said[0],
        (said >= FIRST_WRONG).mean(0),
        len(ran),
        int(world[ran[0]]),
        int(cell["study"].values[ran[0]]),
    )


def kinds(verdict: Array, reference: Array) -> Ints:
    """Say what each verdict is, as an index into KINDS.

    >>> kinds(np.array([1, 0, -1, 0, 1]), np.array([1, 0, 1, 1, 0])).tolist()
    [0, 1, 2, 3, 4]
    """
    wrong = np.where(verdict == 0, 3, np.where(reference == 0, 4, 2))
    found: Ints = np.where(verdict == reference, np.where(verdict == 0, 1, 0), wrong)
    return found


def caption(found: list[Matrix]) -> str:
    """Say which campaign is shown, and what the numbers are."""
    if not found:
        return "No campaign was carried out."
    shown = {(held.world, held.study) for held in found}
    which = "world {}, study {}".format(*shown.pop()) if len(shown) == 1 else "the first carried out in each cell"
    below = f"Below the diagonal: what one campaign says ({which}), held against all human ratings of its test set"
    order = "systems in the order of their wins in these, best first"
    campaigns = [held.campaigns for held in found]
    above = (
        f"Above: share of the {counted(campaigns, 'campaign')} of that world that judge the pair otherwise than these"
    )
    why = "in another world the systems are others"
    return f"{below}; {order}. " + (f"{above}; {why}." if max(campaigns) > 1 else "")


def _order(ends: Ints, rates: Floats, n: int) -> Ints:
    """Order systems by wins less losses over all pairs."""
    lead = np.nan_to_num(rates[:, 0] - rates[:, 2])
    total = np.bincount(ends[0], lead, n) - np.bincount(ends[1], lead, n)
    order: Ints = np.argsort(-total, kind="stable")
    return order


def _panel(place: Axes, held: Matrix | None) -> None:
    place.grid(visible=False)
    place.tick_params(length=0)
    for spine in place.spines.values():
        spine.set_visible(False)
    if held is None:
        place.set_xticks([])
        place.set_yticks([])
        place.text(0.5, 0.5, "no campaign was carried out", ha="center", transform=place.transAxes, fontsize=7)
        return
    _colour(place, held)
    n = len(held.names)
    for high, low, kind, wrong in zip(held.better, held.worse, held.kind, held.wrong, strict=True):
        _, _, sign, colour = KINDS[kind]
        place.text(high, low, sign, ha="center", va="center", fontsize=8, color=colour, fontweight="bold")
        if held.campaigns > 1:
            share = number(wrong, 2) if 0 < wrong < 1 else f"{wrong:.0f}"
            place.text(low, high, share, ha="center", va="center", fontsize=5.5, color="#222222")
    place.set_xticks(range(n), held.names, rotation=90, fontsize=6.5)
    place.set_yticks(range(n), held.names, fontsize=6.5)


def _colour(place: Axes, held: Matrix) -> None:
    """Colour the squares: kinds of verdicts below, greys above."""
    from matplotlib.colors import ListedColormap

    n = len(held.names)
    below, above = np.full((2, n, n), np.nan)
    below[held.worse, held.better] = held.kind
    above[held.better, held.worse] = held.wrong if held.campaigns > 1 else np.nan
    style: Any = {"edgecolors": "white", "linewidth": 0.8}
    edges = np.arange(n + 1) - 0.5
    colours = ListedColormap([colour for _, colour, _, _ in KINDS])
    place.pcolormesh(edges, edges, np.ma.masked_invalid(above), cmap="Greys", vmin=-0.1, vmax=2.2, **style)
    place.pcolormesh(edges, edges, np.ma.masked_invalid(below), cmap=colours, vmin=-0.5, vmax=len(KINDS) - 0.5, **style)
    place.set(xlim=(-0.5, n - 0.5), ylim=(n - 0.5, -0.5), aspect="equal")


def _legend(figure: Figure) -> None:
    """Explain colours and signs, the sign on its colour."""
    from matplotlib.legend_handler import HandlerTuple
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: Any = [
        (Patch(color=colour), Line2D([], [], marker=f"${sign}$" if sign else "", color=on, linestyle="", markersize=5))
        for _, colour, sign, on in KINDS
    ]
    figure.legend(
        handles,
        [name for name, *_ in KINDS],
        handler_map={tuple: HandlerTuple(ndivide=1)},
        handleheight=1.1,
        handlelength=1.4,
        loc="outside right upper",
        title="against all human ratings",
        alignment="left",
    )
