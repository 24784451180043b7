"""Answer with the figure of a sweep, or with how its measure settled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from simlab.commands import launch
from simlab.commands.stores import named, viewed
from simlab.drawing import view
from simlab.drawing.figures import convergence, files, sweep
from simlab.files import check_writable
from simlab.store.beside import with_found
from simlab.store.query import with_measures

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure


class Drawn(NamedTuple):
    """Hold the name of a figure's file, and the exit code for what became of the campaigns that it shows."""

    file: str
    code: int


def answer(
    folder: Path | None, conditions: Sequence[str], out: Path | None, measure: str | None, *, settled: bool = False
) -> Drawn:
    """Draw the figure of a sweep, or how its measure settled; return the name of its file."""
    files.check_suffix(out)
    where = named(folder)
    file = out or where / ("convergence.png" if settled else "figure.png")
    check_writable(file, "--out")
    with viewed(where, conditions) as dataset:
        files.write(drawing(dataset, measure, settled=settled), file)
        return Drawn(str(file), launch.soundness(dataset))


def drawing(dataset: xr.Dataset, measure: str | None, *, settled: bool) -> Callable[[], Figure]:
    """Return what draws the figure of a store, or how its measure settled; raises InputError for an unknown measure."""
    held = with_measures(dataset, [measure] if measure else [])
    if settled:
        return lambda: convergence.draw(held, measure)
    held = with_found(held, [view.chosen(held, measure)])
    return lambda: sweep.draw(held, measure)
