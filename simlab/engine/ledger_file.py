"""The SQLite file of a ledger: its tables, its lock, its schema, its errors, and the salvage of a damaged one.

`open_alone` and `open_to_read` take a folder and yield a connection; `salvage` copies the readable rows of a damaged
file into a new one, and returns `Salvaged`.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from simlab import schemas
from simlab.files import reason
from simlab.messages import clip, pluralise
from simlab.types import InputError

FILE = "ledger.sqlite"
STORE = "results.zarr"
ARCHIVE = ".zip"
"""Ending of the names of archives of stores."""
APPLICATION = 0x53494D4C
LOCK_SECONDS = 1.0

TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL, seal TEXT);
CREATE TABLE cells (
    position TEXT PRIMARY KEY, cell TEXT NOT NULL, config TEXT NOT NULL, systems TEXT NOT NULL, seal TEXT
);
CREATE TABLE blocks (
    cell TEXT, world INTEGER, first INTEGER, count INTEGER, status TEXT NOT NULL, reason TEXT NOT NULL,
    failures TEXT NOT NULL, checksum TEXT NOT NULL, payload BLOB NOT NULL,
    pool INTEGER NOT NULL, draw INTEGER NOT NULL,
    PRIMARY KEY (cell, world, pool, draw, first, count)
)
"""
COLUMNS = "cell, world, first, count, status, reason, failures, checksum, payload, pool, draw"
SEALED = {"meta": "key, value", "cells": "position, cell, config, systems"}
"""Tables whose rows are sealed, with the columns that the seal covers; blocks have checksums of their own."""

_NEEDED = {
    "SQLITE_FULL": "free some space",
    "SQLITE_IOERR": "look after the disk, or free some space,",
    "SQLITE_READONLY": "make it writable",
    "SQLITE_CANTOPEN": "make its folder readable and writable, or give another --out,",
    "SQLITE_PERM": "make it writable",
}
"""Remedies where SQLite cannot read or write, by the beginning of its error's name."""
_SEALED = json.JSONEncoder(default=repr)
ASIDE = f"{FILE}.damaged"
SMALLEST_ROW = 40
MOST_ROWS = 10**7
"""Largest row number that is tried where rows of a damaged file are read one by one: half a minute's work."""
_COPIED = {"blocks": COLUMNS, **{table: f"{columns}, seal" for table, columns in SEALED.items()}}


class DamagedLedger(InputError):
    """Report a ledger that cannot be read as a whole, or not at all."""


class LostLedger(DamagedLedger):
    """Report a ledger that no command can mend: it is empty beside a store, or nothing tells which sweep filled it."""


def damaged_ledger(path: Path, how: str) -> DamagedLedger:
    """Return the error for a ledger damaged as `how` describes, which the command of its sweep can mend."""
    return DamagedLedger(
        f"{clip(path)} is damaged ({clip(how)}); the same `simlab sweep` or `simlab run` keeps what can still be "
        "read of it and computes the rest again"
    )


def lost_ledger(path: Path, how: str) -> LostLedger:
    """Return the error for a ledger damaged as `how` describes, which no command can mend."""
    return LostLedger(f"{clip(path)} is damaged ({clip(how)}); bring back a copy of the folder, or give another --out")


@contextmanager
def open_alone(folder: Path, name: str = FILE) -> Iterator[sqlite3.Connection]:
    """Open the ledger of a folder for writing, alone; start one where there is none.

    Raises InputError where another run holds it, the file is not a ledger, or it is empty and a store is beside it.
    """
    path = folder / name
    _make(folder)
    with plain_errors(path), closing(_connect(path, "rwc")) as database:
        database.execute("PRAGMA locking_mode = EXCLUSIVE")
        database.execute("PRAGMA synchronous = EXTRA")
        # In this locking mode the lock outlasts the transaction; it is lifted when the connection closes.
        database.execute("BEGIN EXCLUSIVE")
        if _is_empty(database, path):
            # Beside a finished store it is one that was emptied: a run would lay its own in that one's place.
            _refuse_emptied(path)
            _start(database)
        else:
            _refuse_bad_pages(database, path)
            if path.with_name(f"{path.name}-journal").exists():
                # A killed driver may leave an empty journal: SQLite clears it away only where something is written.
                database.execute(f"PRAGMA user_version = {schemas.LEDGER}")
        database.execute("COMMIT")
        yield database


def is_archive(path: Path) -> bool:
    """True if a path is that of an archive of a store, or of a file that is called as one."""
    return path.suffix.lower() == ARCHIVE and path.is_file()


@contextmanager
def open_to_read(folder: Path, patience: float | None = None, *, whole: bool = False) -> Iterator[sqlite3.Connection]:
    """Open the ledger of a folder read-only; wait `patience` seconds (None: one) where a run is writing to it.

    Raises InputError where there is none, it is not a ledger, a run is writing to it, or it has to be `whole` and pages
    of it are bad.
    """
    path = folder / FILE
    if is_archive(folder):
        raise InputError(
            f"{clip(folder)} is an archive, which has no {FILE}; name the folder that it was exported from"
        )
    if not path.is_file():
        raise InputError(
            f"{folder} holds no sweep: it has no {FILE}; name a folder that `simlab sweep` or `simlab run` filled"
        )
    with plain_errors(path), closing(_connect(path, "rw", patience)) as database:
        database.execute("PRAGMA query_only = 1")
        if _is_empty(database, path):
            _refuse_emptied(path)
            raise InputError(f"{folder} holds no sweep: its {FILE} is empty")
        if whole:
            _refuse_bad_pages(database, path)
        yield database


def _make(folder: Path) -> None:
    if (folder / STORE).exists() and not (folder / FILE).exists():
        raise InputError(f"{folder} holds a {STORE} that no {FILE} belongs to; give another --out")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be made a folder ({error.strerror}); give another --out") from error


def _connect(path: Path, mode: str, patience: float | None = None) -> sqlite3.Connection:
    database = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=LOCK_SECONDS if patience is None else patience,
        isolation_level=None,
    )
    # Text that is damaged is read, and then its checksum does not hold.
    database.text_factory = lambda content: content.decode("utf-8", "replace")
    return database


def seal_row(table: str, *values: object) -> str:
    """Seal a row of a table: its checksum."""
    return blake2b(_SEALED.encode([table, *values]).encode(), digest_size=16).hexdigest()


def _refuse_bad_pages(database: sqlite3.Connection, path: Path) -> None:
    """Ask SQLite whether its file is whole: its pages, and that its index is that of its rows."""
    (report,) = database.execute("PRAGMA integrity_check(1)").fetchone()
    if report != "ok":
        raise damaged_ledger(path, " ".join(report.split()).removeprefix("*** in database main *** "))


def _is_empty(database: sqlite3.Connection, path: Path) -> bool:
    """True if nothing was written yet; raise InputError where someone else wrote it."""
    application, version, tables = (
        database.execute(query).fetchone()[0]
        for query in ("PRAGMA application_id", "PRAGMA user_version", "SELECT count(*) FROM sqlite_master")
    )
    if application == 0 and tables == 0:
        return True
    if application != APPLICATION:
        raise InputError(f"{path} is not a simlab ledger; give another --out")
    if version != schemas.LEDGER:
        schemas.refuse_other(clip(path), "a ledger", version, schemas.LEDGER, _read_version(database))
    return False


def _read_version(database: sqlite3.Connection) -> object:
    """Return the version of simlab that filled a ledger of another schema last; None where it does not say so."""
    try:
        (kept,) = database.execute("SELECT value FROM meta WHERE key = 'provenance'").fetchone()
        return json.loads(kept)[-1]["simlab"]
    except (sqlite3.Error, ValueError, TypeError, LookupError, RecursionError):
        return None


def _refuse_emptied(path: Path) -> None:
    if path.name == FILE and any((path.parent / store).exists() for store in (STORE, f"{STORE}.old")):
        raise LostLedger(
            f"{clip(path)} is empty: the blocks of the {STORE} beside it are lost, and that stays as it is; "
            "bring back a copy of the folder, or give another --out"
        )


def draft() -> sqlite3.Connection:
    """Start a temporary ledger, in memory as far as that goes; it is gone when its connection is closed."""
    database = sqlite3.connect("", isolation_level=None)
    _start(database)
    return database


def _start(database: sqlite3.Connection) -> None:
    for statement in TABLES.split(";"):
        database.execute(statement)
    database.execute(f"PRAGMA application_id = {APPLICATION}")
    database.execute(f"PRAGMA user_version = {schemas.LEDGER}")


@contextmanager
def plain_errors(path: Path) -> Iterator[None]:
    """Raise errors of SQLite as InputError: the file, the error, and the remedy."""
    try:
        yield
    except sqlite3.Error as error:
        raise _explain_error(path, error) from error


def _explain_error(path: Path, error: sqlite3.Error) -> InputError:
    code = getattr(error, "sqlite_errorname", "")
    if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return InputError(f"{path.parent} is in use by another run; wait until it ends or give another --out")
    if code == "SQLITE_NOTADB" and not (path.parent / STORE).exists():
        return InputError(f"{path} is not a simlab ledger; give another --out")
    if code.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return damaged_ledger(path, str(error))
    for begin, needed in _NEEDED.items():
        if code.startswith(begin):
            return InputError(f"{path}: {error}; {needed} and run the same command again: finished blocks are kept")
    return DamagedLedger(f"{path}: {error}; the same `simlab sweep` or `simlab run` keeps what can be read of it")


class Salvaged(NamedTuple):
    """Number of blocks read from a damaged ledger, where it is kept, and a line for each table not read to its end."""

    blocks: int
    aside: Path
    left_out: tuple[str, ...]

    def describe(self, more: str = "") -> list[str]:
        """Return the lines for the user; `more` is added to the one on blocks."""
        read = f"{FILE} was damaged: {pluralise(self.blocks, 'block')} of it could be read{more}"
        return [f"{read}; the damaged file is kept as {self.aside.name}", *self.left_out]


def salvage(folder: Path, look: Callable[[sqlite3.Connection], object] = lambda new: None) -> Salvaged | None:
    """Put a new ledger in the place of a damaged one, which is kept beside it; None where it is not damaged any more.

    Nothing takes its place where `look`, which is called with the new one, raises. Raises InputError where another run
    is at it, or the folder cannot be written to.
    """
    path, part = folder / FILE, folder / f"{FILE}.new"
    # As long as this is open nobody else salvages.
    with open_alone(folder, part.name) as new:
        try:
            if not _is_damaged(folder):
                return None
            left_out = _copy(path, new)
            look(new)
            blocks = int(new.execute("SELECT count(*) FROM blocks").fetchone()[0])
            aside = _find_free_name(folder)
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
    for table in _COPIED:
        # A killed run may have left some.
        new.execute(f"DELETE FROM {table}")  # noqa: S608
    # The damaged file is opened whatever its header says, so that nothing of it can be changed.
    with suppress(sqlite3.Error), closing(_connect(path, "ro&immutable=1")) as old:
        for table, columns in _COPIED.items():
            places = ", ".join("?" * (columns.count(",") + 1))
            for row in _rows(old, table, columns, _numbers(old, table, path, left_out)):
                # Two rows of one name: the second is what an index that was damaged has let in.
                new.execute(f"INSERT OR IGNORE INTO {table} ({columns}) VALUES ({places})", row)  # noqa: S608
    new.execute("COMMIT")
    return tuple(left_out)


def _is_damaged(folder: Path) -> bool:
    try:
        with open_alone(folder):
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
        # The file has no room for more rows than that.
        last = max(at, path.stat().st_size // SMALLEST_ROW)
    with suppress(sqlite3.Error):
        last = int(old.execute(f"SELECT max(rowid) FROM {table}").fetchone()[0] or 0)  # noqa: S608
    if last > at + MOST_ROWS:
        left_out.append(f"rows of the table {table} beyond {at + MOST_ROWS:,} were not looked for, if it has any")
    yield from range(at + 1, min(last, at + MOST_ROWS) + 1)


def _find_free_name(folder: Path) -> Path:
    """Find a name for the damaged file under which nothing is kept yet."""
    names = (folder / (ASIDE if k == 0 else f"{ASIDE}.{k}") for k in range(1000))
    return next(name for name in names if not name.exists())
