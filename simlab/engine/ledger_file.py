"""Open the file of a ledger: its tables, its lock, its schema, and what is said where it cannot be opened."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from hashlib import blake2b
from pathlib import Path

from simlab import schemas
from simlab.messages import legible
from simlab.types import InputError

FILE = "ledger.sqlite"
STORE = "results.zarr"
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
"""The tables whose rows are sealed, and what of a row is; blocks seal themselves."""

_NEEDED = {
    "SQLITE_FULL": "free some space",
    "SQLITE_IOERR": "look after the disk, or free some space,",
    "SQLITE_READONLY": "make it writable",
    "SQLITE_CANTOPEN": "make its folder readable and writable, or give another --out,",
    "SQLITE_PERM": "make it writable",
}
"""What is needed where SQLite cannot read or write."""


class DamagedLedger(InputError):
    """Report a ledger that cannot be read as a whole, or not at all."""


class LostLedger(DamagedLedger):
    """Report a ledger that no command can mend: it is empty beside a store, or nothing tells which sweep filled it."""


def damage(path: Path, how: str) -> DamagedLedger:
    """Return the error for a damaged ledger that the command of its sweep can mend."""
    return DamagedLedger(
        f"{legible(path)} is damaged ({legible(how)}); the same `simlab sweep` or `simlab run` keeps what can still be "
        "read of it and computes the rest again"
    )


def loss(path: Path, how: str) -> LostLedger:
    """Return the error for a damaged ledger that no command can mend."""
    return LostLedger(
        f"{legible(path)} is damaged ({legible(how)}); bring back a copy of the folder, or give another --out"
    )


@contextmanager
def opened_alone(folder: Path, name: str = FILE) -> Iterator[sqlite3.Connection]:
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
        database.execute("COMMIT")
        yield database


@contextmanager
def opened_to_read(folder: Path, patience: float | None = None, *, whole: bool = False) -> Iterator[sqlite3.Connection]:
    """Open the ledger of a folder so that nothing can be changed; wait so many seconds where a run is writing to it.

    Raises InputError where there is none, it is not a ledger, a run is writing to it, or it has to be `whole` and pages
    of it are bad.
    """
    path = folder / FILE
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


def reading_leniently(path: Path) -> sqlite3.Connection:
    """Open the file of a damaged ledger, whatever its header says, so that nothing of it can be changed."""
    return _connect(path, "ro&immutable=1")


def seal_of_row(table: str, *values: object) -> str:
    """Seal a row of a table: its checksum."""
    return blake2b(_SEALED.encode([table, *values]).encode(), digest_size=16).hexdigest()


_SEALED = json.JSONEncoder(default=repr)


def _refuse_bad_pages(database: sqlite3.Connection, path: Path) -> None:
    """Ask SQLite whether its file is whole: its pages, and that its index is that of its rows."""
    (said,) = database.execute("PRAGMA integrity_check(1)").fetchone()
    if said != "ok":
        raise damage(path, " ".join(said.split()).removeprefix("*** in database main *** "))


def _is_empty(database: sqlite3.Connection, path: Path) -> bool:
    """Tell whether nothing was written yet; raise InputError where someone else wrote it."""
    application, version, tables = (
        database.execute(query).fetchone()[0]
        for query in ("PRAGMA application_id", "PRAGMA user_version", "SELECT count(*) FROM sqlite_master")
    )
    if application == 0 and tables == 0:
        return True
    if application != APPLICATION:
        raise InputError(f"{path} is not a simlab ledger; give another --out")
    if version != schemas.LEDGER:
        schemas.refuse_other(legible(path), "a ledger", version, schemas.LEDGER, _maker(database))
    return False


def _maker(database: sqlite3.Connection) -> object:
    """Return the version of simlab that filled a ledger of another schema last; None where it does not say so."""
    try:
        (kept,) = database.execute("SELECT value FROM meta WHERE key = 'provenance'").fetchone()
        return json.loads(kept)[-1]["simlab"]
    except (sqlite3.Error, ValueError, TypeError, LookupError, RecursionError):
        return None


def _refuse_emptied(path: Path) -> None:
    if path.name == FILE and any((path.parent / store).exists() for store in (STORE, f"{STORE}.old")):
        raise LostLedger(
            f"{legible(path)} is empty: the blocks of the {STORE} beside it are lost, and that stays as it is; "
            "bring back a copy of the folder, or give another --out"
        )


def draft() -> sqlite3.Connection:
    """Start a ledger that nobody else sees, in memory as far as it goes; it is gone when it is closed."""
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
    """Raise what SQLite says of a file as InputError: where, what, and what to do."""
    try:
        yield
    except sqlite3.Error as error:
        raise _plain(path, error) from error


def _plain(path: Path, error: sqlite3.Error) -> InputError:
    code = getattr(error, "sqlite_errorname", "")
    if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return InputError(f"{path.parent} is in use by another run; wait until it ends or give another --out")
    if code == "SQLITE_NOTADB" and not (path.parent / STORE).exists():
        return InputError(f"{path} is not a simlab ledger; give another --out")
    if code.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return damage(path, str(error))
    for begin, needed in _NEEDED.items():
        if code.startswith(begin):
            return InputError(f"{path}: {error}; {needed} and run the same command again: finished blocks are kept")
    return damage(path, str(error))
