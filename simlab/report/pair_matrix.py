"""Draw what a campaign concluded about each pair of systems, held against the full human evaluation.

Source: Deriu et al. 2023, figure 1.
"""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from simlab.report.tables import word
from simlab.store import axes_of
from simlab.types import Array, InputError

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PANELS = 12
KINDS = (
    ("different, as by humans", "#009E73", ""),
    ("not told apart, as by humans", "#B8DDD0", "·"),
    ("inversion", "#D55E00", "V"),
    ("omission", "#0072B2", "O"),
    ("insertion", "#E69F00", "I"),
)
"""What a verdict is, its colour (Okabe and Ito) and the letter that stands for it in grey print."""


def draw(dataset: xr.Dataset) -> Figure:
    """Draw a panel per cell: below the diagonal one campaign, above it how often the pair is judged wrongly.

    Raises InputError for a store without verdicts, or with more cells than fit on a page.
    """
    from matplotlib.figure import Figure

    if "verdict" not in dataset:
        raise InputError("a figure of pairs needs verdicts about pairs, which this store does not hold")
    axes = axes_of(dataset)
    places = list(np.ndindex(*(dataset.sizes[axis] for axis in axes)))
    if len(places) > MOST_PANELS:
        raise InputError(
            f"the figure would need {len(places)} panels, more than {MOST_PANELS}; choose values, for example "
            f"{axes[0]}={dataset[axes[0]].values.tolist()[0]}"
        )
    columns = min(3, len(places))
    rows = math.ceil(len(places) / columns)
    figure = Figure(figsize=(2.9 * columns + 2.6, 2.9 * rows + 0.9), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    for place, at in zip(grid.flat, places, strict=False):
        cell = dataset.isel(dict(zip(axes, at, strict=True)))
        _panel(place, cell)
        place.set_title(", ".join(f"{axis} = {word(cell[axis].values.item())}" for axis in axes), fontsize=9)
    for place in grid.ravel()[len(places) :]:
        place.remove()
    _dress(figure)
    return figure


def kinds(verdict: Array, reference: Array) -> Array:
    """Name what each verdict is, as an index into KINDS."""
    wrong = np.where(verdict == 0, 3, np.where(reference == 0, 4, 2))
    return np.where(verdict == reference, np.where(verdict == 0, 1, 0), wrong)


def _panel(place: Axes, cell: xr.Dataset) -> None:
    from matplotlib.colors import ListedColormap

    n = int(cell["n_systems"])
    own = np.flatnonzero(cell["pair_second"].values < n)
    first, second = cell["pair_first"].values[own], cell["pair_second"].values[own]
    said = kinds(cell["verdict"].values[:, own], cell["reference_verdict"].values[:, own])
    shown = np.full((n, n), np.nan)
    shown[second, first] = said[0]
    place.imshow(shown, cmap=ListedColormap([colour for _, colour, _ in KINDS]), vmin=-0.5, vmax=len(KINDS) - 0.5)
    # Pairs are the same systems within a world only.
    world = cell["world"].values == cell["world"].values[0]
    wrong = (said[world] > 1).mean(0)
    for a, b, kind, share in zip(first, second, said[0], wrong, strict=True):
        place.text(a, b, KINDS[kind][2], ha="center", va="center", fontsize=8)
        if world.sum() > 1:
            place.text(b, a, f"{share:.0%}".rstrip("%"), ha="center", va="center", fontsize=6.5, color="#444444")
    names = [str(name) for name in cell["system"].values[:n]]
    style: Any = {"fontsize": 6.5}
    place.set_xticks(range(n), names, rotation=90, **style)
    place.set_yticks(range(n), names, **style)
    place.grid(visible=False)
    place.tick_params(length=0)
    for spine in place.spines.values():
        spine.set_visible(False)


def _dress(figure: Figure) -> None:
    from matplotlib.patches import Patch

    handles = [Patch(color=colour, label=f"{letter} {name}".strip()) for name, colour, letter in KINDS]
    figure.legend(handles=handles, loc="outside right upper", title="against all human ratings", alignment="left")
    caption = (
        "Below the diagonal: one campaign (world 0, study 0). Above it: in how many of 100 campaigns of that world the "
        "pair is judged otherwise than by all human ratings."
    )
    words = textwrap.fill(caption, int(17 * figure.get_figwidth()))
    figure.supxlabel(words, fontsize=7, color="#555555", x=0.01, ha="left")
