"""Answer with the world that the ratings of a pilot make, and how far it can be trusted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from simlab import files as on_disk
from simlab.commands.exit_codes import DONE, RESERVED
from simlab.commands.notes import note, program
from simlab.drawing.figures import files
from simlab.drawing.figures import fitted_world as figure
from simlab.drawing.text import fitted_world as text
from simlab.drawing.text import tables
from simlab.drawing.text.tables import Form
from simlab.fitting import document
from simlab.fitting.report import Report, Say, report
from simlab.messages import legible
from simlab.tables.held import Told
from simlab.types import InputError
from simlab.world import recorded


class Answered(NamedTuple):
    """Hold an answer in a form and as JSON, what is said beside it, and the exit code: 3 where checks failed."""

    text: str
    json: str
    notes: tuple[str, ...]
    code: int


def answer(table: Path | None, told: Told, law: str, out: Path, plot: Path | None, seed: int, form: Form) -> Answered:
    """Fit a world to a table of ratings, write it, and return the report; draw it if a file for that is named.

    The file of a world that failed its checks is written, too, and says so. Raises InputError before anything is fitted
    for what is asked wrongly or malformed.
    """
    check_names(out, plot)
    found = fitted(table, told, law, seed, note)
    document.write(out, found.content(about(table)))
    if plot is not None:
        save_figure(found, plot)
    return _written(found, out, form)


def fitted(table: Path | None, told: Told, law: str, seed: int, say: Say) -> Report:
    """Read a table of ratings (None: the built-in one), fit the law that is asked for or the best, and look at it.

    Raises InputError for a table that cannot be read, and for a law that it does not allow.
    """
    from simlab.fitting.laws import laws

    return report(recorded.table(table, told), laws(), law, seed, say)


def about(table: Path | None) -> dict[str, Any]:
    """Name the table that a world comes from."""
    if table is None:
        return {"table": "built-in"}
    return {"table": table.name, "sha256": on_disk.digest(table)}


def check_names(out: Path | None, plot: Path | None) -> None:
    """Raise InputError for files of a world or of a figure that end in something else."""
    if out is not None and out.suffix.lower() not in (".yaml", ".yml"):
        raise InputError(f"--out {legible(out)}: a fitted world is YAML; end the name with .yaml")
    on_disk.check_writable(out, "--out")
    files.check_suffix(plot, "--report")


def save_figure(found: Report, out: Path) -> None:
    """Draw what a fit says of its pilot into a file."""
    files.write(lambda: figure.draw(found), out)


def following(found: Report, out: Path) -> str:
    """Return the next command: a sweep on the world, or another law where it failed its checks."""
    if not found.checks.failed:
        return f"next: {program()} sweep documents_or_ratings systems=fitted systems.path={out}"
    return f"the file is marked, and run and sweep refuse it without --force; next: {program()} fit TABLE --law LAW"


def _written(found: Report, out: Path, form: Form) -> Answered:
    from simlab.tables import understood

    ratings = found.ratings
    record = {"read": understood.record(ratings), **text.record(found), "written": str(out)}
    as_json = json.dumps(record, indent=1, allow_nan=False)
    code = RESERVED if found.checks.failed else DONE
    if form == "json":
        return Answered(as_json, as_json, ratings.notes, code)
    if form == "csv":
        return Answered(tables.to_csv(text.components(found.listed)), as_json, ratings.notes, code)
    page = text.page(found, understood.line(ratings), out, following(found, out))
    return Answered(page, as_json, ratings.notes, code)
