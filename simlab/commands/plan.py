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
