"""Answer which design to buy, and write the folder of the study that carries it out."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from simlab.commands.exit_codes import DONE, RESERVED
from simlab.commands.launch import OUTPUTS, Launched
from simlab.tables.held import NOTHING, Told

if TYPE_CHECKING:
    from simlab.drawing.text.tables import Form

Keep = Callable[[str], None]


class Asked(NamedTuple):
    """Hold what is typed behind `simlab plan`."""

    words: tuple[str, ...] = ()
    target: str | None = None
    floor: str | None = None
    smallest: float | None = None
    over: str | None = None
    candidates: Path | None = None
    scenarios: str | None = None
    margin: float = 0.02
    confidence: float = 0.95
    at_most: str = "3m"
    systems: int | None = None
    raters: int | None = None
    price: float | None = None
    budget: float | None = None
    by: str | None = None
    law: str = "auto"
    out: Path | None = None
    jobs: int | None = None
    seed: int = 1
    told: Told = NOTHING
    force: bool = False


FITTING, SEARCHING, ROBUST, FLIPS = 0.0, 0.45, 0.15, 0.15
"""Shares of the patience that parts of a plan may take; fresh worlds have what is left."""


class Planned(NamedTuple):
    """Hold an answer, the folder that it was written to, and the files there."""

    answer: Answer
    out: Path
    files: tuple[Path, ...]


def answer(asked: Asked, form: Form, keep: Keep | None = None) -> Launched:
    """Plan a study, write its folder, and return what to print; exit code 3 where nothing reaches the targets.

    Raises InputError, before anything is carried out, for what is asked wrongly.
    """
    from simlab.commands import saving
    from simlab.commands.notes import note
    from simlab.drawing.text import plans as text

    planned = carried_out(asked, say=note)
    as_json = text.to_json(planned.answer, planned.out)
    unkept = saving.kept(keep, as_json) if keep else []
    if form == "json":
        page = as_json
    else:
        page = text.to_csv(planned.answer) if form == "csv" else text.page(planned.answer, planned.out, program())
    code = DONE if planned.answer.reached and not unkept else RESERVED
    return Launched(page, unkept, code)
