"""Answer with the figure of a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from simlab.commands.stores import named, opened
from simlab.drawing.figures import files, sweep


def answer(folder: Path | None, conditions: Sequence[str], out: Path | None, measure: str | None) -> str:
    """Draw the figure of a sweep; return the name of its file."""
    if out is not None:
        files.check_suffix(out)
    where = named(folder)
    file = out or where / "figure.png"
    with opened(where, conditions, [measure] if measure else []) as dataset:
        files.write(lambda: sweep.draw(dataset, measure), file)
    return str(file)
