"""Answer with the world that the ratings of a pilot make."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from simlab.drawing.figures import files
from simlab.drawing.figures import fitted_world as figure
from simlab.drawing.text import fitted_world as text
from simlab.fitting import document
from simlab.fitting.pilot import read
from simlab.fitting.report import report
from simlab.types import InputError


def answer(table: Path | None, out: Path, method: str, plot: Path | None, seed: int) -> str:
    """Fit a world to a table of ratings, write it, and return the report; draw it if a file for that is named.

    Raises InputError before anything is fitted for what is asked wrongly or malformed.
    """
    if out.suffix.lower() not in (".yaml", ".yml"):
        raise InputError(f"--out {out}: a fitted world is YAML; end the name with .yaml")
    files.check_suffix(plot, "--report")
    fitted = _by(method)(read(table), seed)
    told = report(fitted, table, seed)
    document.write(out, document.content(fitted, table=table, not_identified=told.not_identified, speeds=told.speeds))
    if plot is not None:
        files.write(lambda: figure.draw(fitted.pilot, told.checks), plot)
    return text.page(told, out)


def _by(method: str) -> Any:
    if method == "nuts":
        from simlab.fitting.nuts import fit as by_nuts

        return by_nuts
    from simlab.fitting.fast import fit

    return fit
