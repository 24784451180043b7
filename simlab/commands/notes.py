"""Print notes beside the answer on stderr, and name the program as the user started it.

Call `note` to print a line and `program` for the name; `silence_notes` and `reservations` are context managers.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simlab.messages import Reservation, clip

if TYPE_CHECKING:
    from simlab.tables.rating_table import Ratings

_QUIET: ContextVar[bool] = ContextVar("quiet", default=False)


def note(line: str) -> None:
    """Print a note that is not the answer, unless notes are off."""
    if not _QUIET.get():
        print(line, file=sys.stderr)


def note_table(file: Path | None, ratings: Ratings) -> None:
    """Print how a table was read, and what was left out; call it once the table cannot be refused any more."""
    from simlab.tables import table_summary

    note(f"{name_table(file)}: {table_summary.line(ratings)}")
    for line in (*ratings.notes, *table_summary.list_remarks(table_summary.record(ratings))):
        note(f"  {line}")


def name_table(file: Path | None) -> str:
    """Name a table in a message."""
    return "the built-in table" if file is None else clip(file)


@contextmanager
def silence_notes(wanted: bool = True) -> Iterator[None]:
    """Print no notes inside the context, as in notebooks; with `wanted` False print them."""
    before = _QUIET.set(wanted)
    try:
        yield
    finally:
        _QUIET.reset(before)


def program() -> str:
    """Return how the user started simlab, so that a suggested command works where it is typed."""
    return "uv run simlab" if "UV_RUN_RECURSION_DEPTH" in os.environ else "simlab"


@contextmanager
def reservations() -> Iterator[list[str]]:
    """Collect warnings of the class `Reservation`, each text once, in the list that is yielded; others are shown."""
    messages: list[str] = []
    with warnings.catch_warnings():
        shown = warnings.showwarning

        def keep(message: Any, category: type[Warning], *more: Any, **named: Any) -> None:
            if not issubclass(category, Reservation):
                shown(message, category, *more, **named)
            elif str(message) not in messages:
                messages.append(str(message))

        warnings.showwarning = keep
        warnings.simplefilter("always", Reservation)
        # Joblib says when imported that it found no semaphores; whoever needs them says where, and what to do.
        warnings.filterwarnings("ignore", ".*joblib will operate in serial mode")
        yield messages
