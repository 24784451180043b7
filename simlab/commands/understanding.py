"""Read a table of ratings and say on stderr, in one line, what was understood of it."""

from __future__ import annotations

from pathlib import Path

from simlab.commands.notes import note
from simlab.messages import legible
from simlab.tables import understood
from simlab.tables.held import NOTHING, Ratings, Told
from simlab.world.recorded import table


def ratings_of(file: Path | None, told: Told = NOTHING) -> Ratings:
    """Read a table, the built-in one if None; raise InputError for what is not a table of ratings."""
    ratings = table(file, told)
    note(f"{where(file)}: {understood.line(ratings)}")
    for line in ratings.notes:
        note(f"  {line}")
    return ratings


def where(file: Path | None) -> str:
    """Name a table in a message."""
    return "the built-in table" if file is None else legible(file)
