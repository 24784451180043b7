"""Read what can still be read of a ledger whose file is damaged, row by row, into a new one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from simlab.engine.ledger_file import FILE, PLACED, SEALED, fields_of_blocks, opened_alone, reading_leniently, sealed

DAMAGED = f"{FILE}.damaged"
SMALLEST_ROW = 40
MOST_ROWS = 10**6
"""Rows are asked for one by one up to there where a file does not tell how many it has."""


def salvage(folder: Path) -> tuple[int, Path]:
    """Put a new ledger in the place of a damaged one; return how many blocks it holds, and where the old one is kept.

    Raises OSError where the folder cannot be written to.
    """
    path, part = folder / FILE, folder / f"{FILE}.new"
    part.unlink(missing_ok=True)
    with opened_alone(folder, part.name) as new:
        new.execute("BEGIN")
        with suppress(sqlite3.Error), closing(reading_leniently(path)) as old:
            for table, columns in _tables(old).items():
                places = ", ".join("?" * (columns.count(",") + 1))
                for row in _rows(old, table, _read(old, table, columns), path):
                    # Two rows of one name: the second is what an index that was damaged has let in.
                    new.execute(f"INSERT OR IGNORE INTO {table} ({columns}) VALUES ({places})", row)  # noqa: S608
        new.execute("COMMIT")
        blocks = int(new.execute("SELECT count(*) FROM blocks").fetchone()[0])
    aside = _free(folder)
    path.replace(aside)
    part.replace(path)
    return blocks, aside


def _tables(old: sqlite3.Connection) -> dict[str, str]:
    return {"blocks": PLACED, **{table: f"{columns}, seal" for table, columns in SEALED.items()}}


def _read(old: sqlite3.Connection, table: str, columns: str) -> str:
    """Name what is read of a table; rows of older schemas are sealed as they are."""
    try:
        if table == "blocks":
            return fields_of_blocks(old)
        own = SEALED[table]
        return columns if sealed(old) else f"{own}, seal('{table}', {own})"
    except sqlite3.Error:
        return columns


def _rows(old: sqlite3.Connection, table: str, fields: str, path: Path) -> Iterator[tuple[Any, ...]]:
    """Read the rows of a table by their numbers, each on its own: one that cannot be read costs no other."""
    last = min(path.stat().st_size // SMALLEST_ROW, MOST_ROWS)
    with suppress(sqlite3.Error):
        last = min(last, int(old.execute(f"SELECT max(rowid) FROM {table}").fetchone()[0] or 0))  # noqa: S608
    for at in range(1, last + 1):
        with suppress(sqlite3.Error):
            row = old.execute(f"SELECT {fields} FROM {table} WHERE rowid = ?", (at,)).fetchone()  # noqa: S608
            if row is not None and None not in row[:-1]:
                yield row


def _free(folder: Path) -> Path:
    """Find a name for the damaged file under which nothing is kept yet."""
    names = (folder / (DAMAGED if k == 0 else f"{DAMAGED}.{k}") for k in range(1000))
    return next(name for name in names if not name.exists())
