"""Carry out `simlab agreement`: measure how far the raters of a table of ratings agree.

`measure` reads the table and returns an `Agreement` record; `write` makes text, JSON or CSV of it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from simlab.answers.agreement import Agreement
from simlab.commands.next_steps import add_next_step, write_table_words
from simlab.commands.notes import name_table, note_table
from simlab.commands.typed_commands import Given, Launched
from simlab.drawing.figures import files
from simlab.drawing.reports.answers.agreement import report
from simlab.drawing.reports.static import plot_report
from simlab.drawing.reports.text import page
from simlab.drawing.text.tables import Form, write_tables
from simlab.fitting.agreement import measure_agreement, predict_hours
from simlab.messages import clip
from simlab.tables.rating_table import ColumnOverrides
from simlab.tables.times import CUT, check_cut
from simlab.world.recorded import table


def write(agreement: Agreement, form: Form, given: Given) -> Launched:
    """Format the agreement of raters for stdout as table, csv or json; `given` are the command's options by name."""
    if form != "table":
        return Launched(write_tables(agreement, form))
    return Launched(add_next_step(page(report(agreement)), "fit", *write_table_words(given)))


def measure(
    file: Path | None, plot: Path | None, overrides: ColumnOverrides, cut: float = CUT, speeds: Path | None = None
) -> Agreement:
    """Measure how far the raters of the table in `file` agree (None: the built-in one); draw their scores into `plot`.

    `overrides` describe the table where it does not describe itself; gaps between answers are cut at `cut` seconds.
    `speeds` names another table, from whose times the hours of this one are predicted. Raises InputError for a table
    that cannot be read, and for a figure's file that no format belongs to.
    """
    check_cut(cut)
    files.check_suffix(plot, "--plot")
    ratings = table(file, overrides)
    measured = measure_agreement(ratings, name_table(file), cut)
    if speeds is not None:
        # Which scores are better, and on which scale, is another table's own matter.
        known = table(speeds, replace(overrides, better=None, scale=None))
        hours = predict_hours(known.times, ratings.times, cut, f"--speeds {clip(speeds)}")
        measured = measured.model_copy(update={"predicted": (hours,)})
    if plot is not None:
        files.write(lambda: plot_report(report(measured)), plot)
    note_table(file, ratings)
    return measured
