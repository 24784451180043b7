"""Say on stderr, in one line, what was understood of a table of ratings."""

from __future__ import annotations

from pathlib import Path

from simlab.commands.notes import note
from simlab.messages import legible
from simlab.tables import understood
from simlab.tables.held import Ratings


def say(file: Path | None, ratings: Ratings) -> None:
    """Say what was understood of a table, and what was left out; call it when nothing more of it can be refused."""
    note(f"{where(file)}: {understood.line(ratings)}")
    for line in (*ratings.notes, *understood.beside(understood.record(ratings))):
        note(f"  {line}")


def where(file: Path | None) -> str:
    """Name a table in a message."""
    return "the built-in table" if file is None else legible(file)
