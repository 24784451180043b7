"""Answer with the figure of a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from simlab.commands import launch
from simlab.commands.stores import named, viewed
from simlab.drawing import view
from simlab.drawing.figures import files, sweep
from simlab.files import check_writable
from simlab.store.beside import with_found
from simlab.store.query import with_measures


class Drawn(NamedTuple):
    """Hold the name of a figure's file, and the exit code for what became of the campaigns that it shows."""

    file: str
    code: int


def answer(folder: Path | None, conditions: Sequence[str], out: Path | None, measure: str | None) -> Drawn:
    """Draw the figure of a sweep; return the name of its file."""
    files.check_suffix(out)
    where = named(folder)
    file = out or where / "figure.png"
    check_writable(file, "--out")
    with viewed(where, conditions) as dataset:
        held = with_measures(dataset, [measure] if measure else [])
        held = with_found(held, [view.chosen(held, measure)])
        files.write(lambda: sweep.draw(held, measure), file)
        return Drawn(str(file), launch.soundness(dataset))
