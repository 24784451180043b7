"""Draw the figure that a sweep declares.

A kind of figure is a module of this package, named as the kind, with a function `draw(dataset, measure)`; the kinds
that a sweep may declare are those of `simlab.config.sweepfile.FIGURES`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from simlab.config.sweepfile import FIGURES
from simlab.drawing import view
from simlab.messages import show, suggest
from simlab.types import InputError

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure


def draw(dataset: xr.Dataset, measure: str | None = None) -> Figure:
    """Return the figure of a store as its sweep declares it, or (`measure`) of another measure in the same way.

    Raises InputError for a store without axes, and for a kind of figure that this simlab does not know.
    """
    kind = view.figure_kind(dataset)
    if kind not in FIGURES:
        raise InputError(f"this store declares a figure of kind {show(kind)}; {suggest(kind, FIGURES)}")
    figure: Figure = import_module(f"simlab.drawing.figures.{kind}").draw(dataset, measure)
    return figure
