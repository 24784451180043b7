"""Answer how far the raters of a table agree."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from simlab.commands.next_steps import ended, told_words
from simlab.commands.understanding import say, where
from simlab.drawing.figures import agreement as figure
from simlab.drawing.figures import files
from simlab.drawing.text import agreement as text
from simlab.drawing.text.tables import Form
from simlab.fitting.agreement import Agreement, agreement_of
from simlab.fitting.agreement_hours import predicted
from simlab.messages import legible
from simlab.tables import understood
from simlab.tables.held import NOTHING, Ratings, Told
from simlab.tables.times import CUT, check_cut
from simlab.world.recorded import table


def answer(
    file: Path, form: Form, plot: Path | None, told: Told = NOTHING, cut: float = CUT, speeds: Path | None = None
) -> str:
    """Read a table of ratings and write how far its raters agree; draw their scores if a file for that is named.

    `speeds` names another table: what it says of speeds is held against the hours of this one.
    """
    check_cut(cut)
    files.check_suffix(plot, "--plot")
    ratings = table(file, told)
    measured = _measured(file, ratings, plot, told, cut, speeds)
    say(file, ratings)
    if form == "table":
        return ended(text.page(measured.tables(), measured.notes()), "fit", file, *told_words(told))
    return text.write(understood.record(ratings), measured.tables(), form)


def measured_on(
    file: Path | None, plot: Path | None, told: Told = NOTHING, cut: float = CUT, speeds: Path | None = None
) -> Agreement:
    """Measure how far the raters of a table agree (None: of the built-in one); draw their scores if asked.

    Raises InputError for a table that cannot be read, and for a figure's file that no format belongs to.
    """
    check_cut(cut)
    files.check_suffix(plot, "--plot")
    return _measured(file, table(file, told), plot, told, cut, speeds)


def _measured(
    file: Path | None, ratings: Ratings, plot: Path | None, told: Told, cut: float, speeds: Path | None
) -> Agreement:
    measured = agreement_of(ratings, where(file), cut)
    if speeds is not None:
        # Which scores are better, and on which scale, is another table's own matter.
        known = table(speeds, replace(told, better=None, scale=None))
        named = f"--speeds {legible(speeds)}"
        measured = replace(measured, predicted=(predicted(known.times, ratings.times, cut, named),))
    if plot is not None:
        files.write(lambda: figure.draw(measured), plot)
    return measured
