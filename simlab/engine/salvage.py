"""Read what can still be read of a ledger whose file is damaged, row by row, into a new one."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

from simlab.engine.ledger_file import (
    COLUMNS,
    FILE,
    SEALED,
    DamagedLedger,
    LostLedger,
    opened_alone,
    reading_leniently,
)
from simlab.files import reason
from simlab.messages import several
from simlab.types import InputError

DAMAGED = f"{FILE}.damaged"
SMALLEST_ROW = 40
MOST_ROWS = 10**7
"""Where a file cannot be read in one go rows are asked for one by one up to there: half a minute's work."""
TABLES = {"blocks": COLUMNS, **{table: f"{columns}, seal" for table, columns in SEALED.items()}}


class Salvaged(NamedTuple):
    """Hold how many blocks were read, where the old file is kept, and a line for each table not read to its end."""

    blocks: int
    aside: Path
    left_out: tuple[str, ...]

    def describe(self, more: str = "") -> list[str]:
        """Return the lines for the user; `more` is added to the one on blocks."""
        read = f"{FILE} was damaged: {several(self.blocks, 'block')} of it could be read{more}"
        return [f"{read}; the damaged file is kept as {self.aside.name}", *self.left_out]


def salvage(folder: Path, look: Callable[[sqlite3.Connection], object] = lambda new: None) -> Salvaged | None:
    """Put a new ledger in the place of a damaged one, which is kept beside it; None where it is not damaged any more.

    Nothing takes its place where `look`, which is shown the new one, raises. Raises InputError where another run is at
    it, or the folder cannot be written to.
    """
    path, part = folder / FILE, folder / f"{FILE}.new"
    # As long as this is open nobody else salvages.
    with opened_alone(folder, part.name) as new:
        try:
            if not _is_damaged(folder):
                return None
            left_out = _copy(path, new)
            look(new)
            blocks = int(new.execute("SELECT count(*) FROM blocks").fetchone()[0])
            aside = _free(folder)
            # With two names for the old file the folder has a ledger at any moment; not every disk knows such.
            try:
                aside.hardlink_to(path)
            except OSError:
                path.replace(aside)
            part.replace(path)
            return Salvaged(blocks, aside, left_out)
        except OSError as error:
            raise InputError(f"{path}: cannot be put aside ({reason(error)}); make its folder writable") from error
        finally:
            part.unlink(missing_ok=True)


def _copy(path: Path, new: sqlite3.Connection) -> tuple[str, ...]:
    """Copy what can be read; return a line for each table not read to its end."""
    left_out: list[str] = []
    new.execute("BEGIN")
    for table in TABLES:
        # A killed run may have left some.
        new.execute(f"DELETE FROM {table}")  # noqa: S608
    with suppress(sqlite3.Error), closing(reading_leniently(path)) as old:
        for table, columns in TABLES.items():
            places = ", ".join("?" * (columns.count(",") + 1))
            for row in _rows(old, table, columns, _numbers(old, table, path, left_out)):
                # Two rows of one name: the second is what an index that was damaged has let in.
                new.execute(f"INSERT OR IGNORE INTO {table} ({columns}) VALUES ({places})", row)  # noqa: S608
    new.execute("COMMIT")
    return tuple(left_out)


def _is_damaged(folder: Path) -> bool:
    try:
        with opened_alone(folder):
            return False
    except LostLedger:
        raise
    except DamagedLedger:
        return True


def _rows(old: sqlite3.Connection, table: str, fields: str, numbers: Iterable[int]) -> Iterator[tuple[Any, ...]]:
    """Read the rows of a table by their numbers, each on its own: one that cannot be read costs no other."""
    for at in numbers:
        with suppress(sqlite3.Error):
            row = old.execute(f"SELECT {fields} FROM {table} WHERE rowid = ?", (at,)).fetchone()  # noqa: S608
            if row is not None and None not in row[:-1]:
                yield row


def _numbers(old: sqlite3.Connection, table: str, path: Path, left_out: list[str]) -> Iterator[int]:
    """Give the numbers of a table's rows as far as the file tells them, and then all that may follow."""
    at = 0
    try:
        for (at,) in old.execute(f"SELECT rowid FROM {table} NOT INDEXED"):  # noqa: S608 (no text from outside)
            yield at
        return
    except sqlite3.Error:
        last = max(at, path.stat().st_size // SMALLEST_ROW)
    with suppress(sqlite3.Error):
        last = int(old.execute(f"SELECT max(rowid) FROM {table}").fetchone()[0] or 0)  # noqa: S608
    if last > at + MOST_ROWS:
        left_out.append(f"rows of the table {table} beyond {at + MOST_ROWS:,} were not looked for, if it has any")
    yield from range(at + 1, min(last, at + MOST_ROWS) + 1)


def _free(folder: Path) -> Path:
    """Find a name for the damaged file under which nothing is kept yet."""
    names = (folder / (DAMAGED if k == 0 else f"{DAMAGED}.{k}") for k in range(1000))
    return next(name for name in names if not name.exists())
