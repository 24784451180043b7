"""Answer with the world that the ratings of a pilot make."""

from __future__ import annotations

from pathlib import Path

from simlab.drawing.figures import files
from simlab.drawing.figures import fitted_world as figure
from simlab.drawing.text import fitted_world as text
from simlab.files import check_writable
from simlab.fitting import document
from simlab.fitting.report import Report, fitted
from simlab.messages import legible
from simlab.tables.held import NOTHING, Told
from simlab.types import InputError


def answer(table: Path | None, out: Path, method: str, plot: Path | None, seed: int, told: Told = NOTHING) -> str:
    """Fit a world to a table of ratings, write it, and return the report; draw it if a file for that is named.

    Raises InputError before anything is fitted for what is asked wrongly or malformed.
    """
    check_names(out, plot)
    report = fitted(table, method, seed, told)
    document.write(out, report.content())
    if plot is not None:
        save_figure(report, plot)
    return text.page(report, out)


def check_names(out: Path | None, plot: Path | None) -> None:
    """Raise InputError for files of a world or of a figure that end in something else."""
    if out is not None and out.suffix.lower() not in (".yaml", ".yml"):
        raise InputError(f"--out {legible(out)}: a fitted world is YAML; end the name with .yaml")
    check_writable(out, "--out")
    files.check_suffix(plot, "--report")


def save_figure(told: Report, out: Path) -> None:
    """Draw what a fit says of its pilot into a file."""
    files.write(lambda: figure.draw(told.fit.pilot, told.checks), out)
