"""Answer with the figure of a sweep, or with the order of systems that one campaign found."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from simlab.commands import launch
from simlab.commands.export import named as place_name
from simlab.commands.next_steps import reported, step
from simlab.commands.stores import named, opened, viewed
from simlab.drawing import view
from simlab.drawing.figures import around, files, look, orders, sweep
from simlab.store.beside import with_found
from simlab.store.opening import axes_of
from simlab.store.orders import campaign_orders
from simlab.store.query import with_measures
from simlab.store.undefined import undefined
from simlab.types import InputError, Place

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure


class Drawn(NamedTuple):
    """Hold the name of a figure's file, the exit code for what became of the campaigns in it, and what comes next.

    `caption` is what a figure for a paper leaves to its caption; of others, which say it themselves, it is empty.
    """

    file: str
    code: int
    following: str
    caption: str = ""


def answer(
    folder: Path | None,
    conditions: Sequence[str],
    out: Path | None,
    measure: str | None,
    *,
    x: str | None = None,
    target: float | None = None,
) -> Drawn:
    """Draw the figure of a sweep; return the name of its file.

    `x` is the axis, or the measure, that goes across in place of the figure's own; at `target` a line is drawn.
    """
    where = named(folder)
    file = files.choose_file(out, where, "figure.png")
    with viewed(where, conditions) as dataset:
        figure = files.write(drawing(dataset, measure, x=x, target=target), file)
        return Drawn(str(file), launch.soundness(dataset), step(*reported(where)), caption(figure))


def draw_order(folder: Path | None, conditions: Sequence[str], place: Place, out: Path | None) -> Drawn:
    """Draw the partial order of systems that one campaign of preferences found, in each cell that meets the conditions.

    Raises InputError for a store of other studies, and for a campaign that it does not hold.
    """
    where = named(folder)
    file = files.choose_file(out, where, "order.png")
    with opened(where, conditions) as dataset:
        figure = files.write(lambda: orders.draw(campaign_orders(dataset, place), place_name(place)), file)
        return Drawn(str(file), launch.soundness(dataset), step("query", where, *conditions), caption(figure))


def refuse_sweep_options(option: str, measure: str | None, x: str | None, target: float | None) -> None:
    """Raise InputError for options of a sweep's figure beside `option`, which draws one campaign."""
    for other, value in {"--measure": measure, "--x": x, "--target": target}.items():
        if value is not None:
            raise InputError(f"{option} shows one campaign, and has no use for {other}; leave one of them out")


def caption(figure: Figure) -> str:
    """Return what is printed for the caption of a paper; nothing in a style whose figures say it themselves."""
    return textwrap.fill(around.caption_of(figure), 100) if look.now().paper else ""


def drawing(
    dataset: xr.Dataset, measure: str | None, *, x: str | None = None, target: float | None = None
) -> Callable[[], Figure]:
    """Return what draws the figure of a store; raises InputError for an unknown measure or axis."""
    across = [x] if x is not None and x not in axes_of(dataset) else []
    held = with_measures(dataset, [*([measure] if measure else []), *across])
    held = with_found(held, [view.chosen(held, measure)])
    shown = held if x is None else view.along(held, x)
    shown = shown if target is None else view.aimed_at(shown, view.chosen(held, measure), target)
    for name in across:
        if not np.isfinite(shown[name].values).any():
            raise InputError(f"--x {name} has no value in these cells: {undefined(shown, name)}")
    return lambda: sweep.draw(shown, measure)
