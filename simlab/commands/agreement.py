"""Answer how far the raters of a table agree."""

from __future__ import annotations

from pathlib import Path

from simlab.commands.understanding import say, where
from simlab.drawing.figures import agreement as figure
from simlab.drawing.figures import files
from simlab.drawing.text import agreement as text
from simlab.drawing.text.tables import Form
from simlab.fitting.agreement import Agreement, agreement_of
from simlab.tables import understood
from simlab.tables.held import NOTHING, Ratings, Told
from simlab.tables.times import CUT, check_cut
from simlab.world.recorded import table


def answer(file: Path, form: Form, plot: Path | None, told: Told = NOTHING, cut: float = CUT) -> str:
    """Read a table of ratings and write how far its raters agree; draw their scores if a file for that is named."""
    check_cut(cut)
    files.check_suffix(plot, "--plot")
    ratings = table(file, told)
    measured = _measured(file, ratings, plot, cut)
    say(file, ratings)
    if form == "table":
        return text.page(measured.tables(), measured.notes())
    return text.write(understood.record(ratings), measured.tables(), form)


def measured_on(file: Path | None, plot: Path | None, told: Told = NOTHING, cut: float = CUT) -> Agreement:
    """Measure how far the raters of a table agree (None: of the built-in one); draw their scores if asked.

    Raises InputError for a table that cannot be read, and for a figure's file that no format belongs to.
    """
    check_cut(cut)
    files.check_suffix(plot, "--plot")
    return _measured(file, table(file, told), plot, cut)


def _measured(file: Path | None, ratings: Ratings, plot: Path | None, cut: float) -> Agreement:
    measured = agreement_of(ratings, where(file), cut)
    if plot is not None:
        files.save(figure.draw(measured), plot)
    return measured
