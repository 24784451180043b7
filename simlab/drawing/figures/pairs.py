"""Draw what a campaign concluded about each pair of systems, held against the full human evaluation.

Call `draw` with an open store that keeps verdicts, which returns the matplotlib figure. Source: Deriu et al. 2023,
figure 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from simlab.comparing.verdicts import Matrix, matrix
from simlab.drawing.figures import captions, lines, panels
from simlab.drawing.text.tables import count_nouns, number
from simlab.store.opening import name_axes
from simlab.store.reservations import describe_world
from simlab.types import InputError

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

QUESTION = "Which pairs of systems are judged as by all human ratings?"
MATCHES = (
    ("different, as by humans", "#009E73", "", "white"),
    ("not told apart, as by humans", "#B8DDD0", "=", "black"),
    ("inversion: the other one is better", "#D55E00", "×", "white"),
    ("omission: a difference is missed", "#0072B2", "−", "white"),
    ("insertion: a difference is claimed", "#E69F00", "+", "black"),
)
"""What a verdict is (in the order of `comparing.verdicts`), its colour (Okabe and Ito; one tint), and the sign that
stands for it in grey, with its colour."""


def draw(dataset: xr.Dataset, measure: str | None = None) -> Figure:
    """Return a figure with a panel per cell: below the diagonal one campaign, above how often a pair is judged wrongly.

    A `measure`, if one is named, is drawn as lines instead. Raises InputError for a store without verdicts, or with
    more cells than fit on a page.
    """
    if measure is not None:
        return lines.draw(dataset, measure)
    if "verdict" not in dataset:
        raise InputError(
            "a figure of pairs needs verdicts about pairs, which this store does not hold; it is for studies of "
            "preferences that keep their outcomes (engine.outcomes=true)"
        )
    parts = panels.split(dataset, name_axes(dataset))
    matrices = [matrix(cell) for _, cell in parts]
    side = max(2.5, 0.2 * max((len(cell_matrix.names) for cell_matrix in matrices if cell_matrix), default=0) + 0.7)
    figure, grid = panels.sheet([title for title, _ in parts], side, side)
    for axes, cell_matrix in zip(grid.flat, matrices, strict=False):
        _panel(axes, cell_matrix)
    _legend(figure)
    captions.question(figure, QUESTION)
    captions.footnote(
        figure,
        f"{caption([cell_matrix for cell_matrix in matrices if cell_matrix])} Held fixed: {describe_world(dataset)}.",
    )
    figure.set_layout_engine("compressed")
    # The room beside squares is known only once they are laid out: without this, names are cut off.
    figure.draw_without_rendering()
    return figure


def caption(matrices: list[Matrix]) -> str:
    """State which campaign is shown, and what the numbers are."""
    if not matrices:
        return "No campaign was carried out."
    shown = {(cell_matrix.world, cell_matrix.study) for cell_matrix in matrices}
    which = "world {}, study {}".format(*shown.pop()) if len(shown) == 1 else "the first carried out in each cell"
    below = f"Below the diagonal: what one campaign says ({which}), held against all human ratings of its test set"
    order = "systems in the order of their wins in these, best first"
    campaigns = [cell_matrix.campaigns for cell_matrix in matrices]
    n = count_nouns(campaigns, "campaign")
    above = f"Above: share of the {n} of that world that judge the pair otherwise than these"
    why = "in another world the systems are others"
    return f"{below}; {order}. " + (f"{above}; {why}." if max(campaigns) > 1 else "")


def _panel(axes: Axes, matrix: Matrix | None) -> None:
    axes.grid(visible=False)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    if matrix is None:
        axes.set_xticks([])
        axes.set_yticks([])
        axes.text(0.5, 0.5, "no campaign was carried out", ha="center", transform=axes.transAxes, fontsize=7)
        return
    _colour(axes, matrix)
    n = len(matrix.names)
    for high, low, match, wrong in zip(matrix.better, matrix.worse, matrix.match, matrix.wrong, strict=True):
        _, _, sign, colour = MATCHES[match]
        axes.text(high, low, sign, ha="center", va="center", fontsize=8, color=colour, fontweight="bold")
        if matrix.campaigns > 1:
            share = number(wrong, 2) if 0 < wrong < 1 else f"{wrong:.0f}"
            axes.text(low, high, share, ha="center", va="center", fontsize=5.5, color="#222222")
    axes.set_xticks(range(n), matrix.names, rotation=90, fontsize=6.5)
    axes.set_yticks(range(n), matrix.names, fontsize=6.5)


def _colour(axes: Axes, matrix: Matrix) -> None:
    """Colour the squares: what verdicts are below, greys above."""
    from matplotlib.colors import ListedColormap

    n = len(matrix.names)
    below, above = np.full((2, n, n), np.nan)
    below[matrix.worse, matrix.better] = matrix.match
    above[matrix.better, matrix.worse] = matrix.wrong if matrix.campaigns > 1 else np.nan
    style: Any = {"edgecolors": "white", "linewidth": 0.8}
    edges = np.arange(n + 1) - 0.5
    colours = ListedColormap([colour for _, colour, _, _ in MATCHES])
    axes.pcolormesh(edges, edges, np.ma.masked_invalid(above), cmap="Greys", vmin=-0.1, vmax=2.2, **style)
    axes.pcolormesh(
        edges, edges, np.ma.masked_invalid(below), cmap=colours, vmin=-0.5, vmax=len(MATCHES) - 0.5, **style
    )
    axes.set(xlim=(-0.5, n - 0.5), ylim=(n - 0.5, -0.5), aspect="equal")


def _legend(figure: Figure) -> None:
    """Explain colours and signs, the sign on its colour."""
    from matplotlib.legend_handler import HandlerTuple
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: Any = [
        (Patch(color=colour), Line2D([], [], marker=f"${sign}$" if sign else "", color=on, linestyle="", markersize=5))
        for _, colour, sign, on in MATCHES
    ]
    captions.legend(
        figure,
        handles,
        [name for name, *_ in MATCHES],
        "against all human ratings",
        handler_map={tuple: HandlerTuple(ndivide=1)},
        handleheight=1.1,
        handlelength=1.4,
    )
