"""Answer how far the raters of a table agree."""

from __future__ import annotations

from pathlib import Path

from simlab.drawing.figures import agreement as figure
from simlab.drawing.figures import files
from simlab.drawing.text import agreement as text
from simlab.drawing.text.tables import Form
from simlab.fitting.agreement import agreement
from simlab.rng import stream
from simlab.world.recorded import recorded


def answer(file: Path, form: Form, plot: Path | None) -> str:
    """Read a table of ratings and write how far its raters agree; draw their scores if a file for that is named."""
    files.check_suffix(plot, "--plot")
    measured = agreement(recorded(stream(0, "agreement"), path=str(file), sha256=None, names=None))
    if plot is not None:
        files.save(figure.draw(measured), plot)
    return text.page(measured.tables(), measured.notes()) if form == "table" else text.write(measured.tables(), form)
