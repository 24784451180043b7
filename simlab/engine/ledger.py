"""Keep every finished block on disk: the truth of a sweep, asked for what is missing, handed what is finished.

One SQLite file per folder, written by the driver only. Each block is one transaction, flushed to the disk before
the next, so that neither a killed driver nor a power cut loses a finished block. The driver holds SQLite's
exclusive lock for as long as it runs; the operating system lifts the lock of a killed one.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from simlab.engine.addresses import Address, Finished, gaps
from simlab.engine.continuation import determining, grow, refuse_difference, refuse_mixture
from simlab.types import InputError

FILE = "ledger.sqlite"
STORE = "results.zarr"
SCHEMA = 2
APPLICATION = 0x53494D4C
LOCK_SECONDS = 1.0

TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE cells (position TEXT PRIMARY KEY, cell TEXT NOT NULL, config TEXT NOT NULL, systems TEXT NOT NULL);
CREATE TABLE asked (cell TEXT, worlds INTEGER, studies INTEGER, PRIMARY KEY (cell, worlds, studies));
CREATE TABLE blocks (
    cell TEXT, world INTEGER, first INTEGER, count INTEGER, status TEXT NOT NULL, reason TEXT NOT NULL,
    failures TEXT NOT NULL, checksum TEXT NOT NULL, payload BLOB NOT NULL,
    pool INTEGER NOT NULL DEFAULT 0, draw INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (cell, world, pool, draw, first, count)
)
"""
COLUMNS = "cell, world, first, count, status, reason, failures, checksum, payload"
PLACED = f"{COLUMNS}, pool, draw"


@dataclass(frozen=True, slots=True)
class Entry:
    """Place a cell on the sweep's grid: its key, its config and the names of its systems."""

    position: tuple[int, ...]
    cell: str
    config: Mapping[str, Any]
    systems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """Hold a block as it was read, and whether its checksum still holds."""

    block: Finished
    sound: bool


@contextmanager
def writing(folder: Path) -> Iterator[Ledger]:
    """Open the ledger of a folder, alone; a new one is started where there is none.

    Raises InputError where another run holds it or the file is not a ledger.
    """
    path = folder / FILE
    _make(folder)
    with _plain_errors(path), closing(_connect(path, "rwc")) as database:
        database.execute("PRAGMA locking_mode = EXCLUSIVE")
        database.execute("PRAGMA synchronous = EXTRA")
        # In this locking mode the lock outlasts the transaction; it is lifted when the connection closes.
        database.execute("BEGIN EXCLUSIVE")
        if _is_empty(database, path):
            _start(database)
        elif not _placed(database):
            _place_blocks(database)
        database.execute("COMMIT")
        yield Ledger(database, folder)


@contextmanager
def reading(folder: Path) -> Iterator[Ledger]:
    """Open the ledger of a folder without changing it.

    Raises InputError where there is none, it is not a ledger, or a run is writing to it.
    """
    path = folder / FILE
    if not path.is_file():
        raise InputError(f"{folder} holds no sweep: it has no {FILE}")
    with _plain_errors(path), closing(_connect(path, "rw")) as database:
        database.execute("PRAGMA query_only = 1")
        if _is_empty(database, path):
            raise InputError(f"{folder} holds no sweep: its {FILE} is empty")
        yield Ledger(database, folder)


class Ledger:
    """Answer what is finished and what is missing, and take in what is finished."""

    def __init__(self, database: sqlite3.Connection, folder: Path) -> None:
        self._database = database
        # A ledger of schema 1 that is only read has one pool and one draw.
        self._fields = PLACED if _placed(database) else f"{COLUMNS}, 0 AS pool, 0 AS draw"
        self.folder = folder

    def declaration(self) -> dict[str, Any] | None:
        """Return what the folder's sweep has come to declare; None for a new folder."""
        declared: dict[str, Any] | None = self._get("sweep")
        return declared

    def grown(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the folder will declare once it has taken in what is asked; raise InputError if it cannot."""
        stored = self.declaration()
        return dict(asked) if stored is None else grow(stored, asked, str(self.folder))

    def check(self, axes: Sequence[Mapping[str, Any]], entries: Sequence[Entry]) -> None:
        """Raise InputError where a cell's place is taken by another config, or a default has changed since."""
        stored = {entry.position: entry for entry in self.entries()}
        for entry in entries:
            if entry.position in stored and stored[entry.position].cell != entry.cell:
                refuse_difference(
                    determining(stored[entry.position].config), determining(entry.config), str(self.folder)
                )
        held, new = ([(entry.position, entry.config) for entry in cells] for cells in (stored.values(), entries))
        refuse_mixture(axes, held, new, str(self.folder))

    def admit(self, grown: Mapping[str, Any], entries: Sequence[Entry], worlds: int, studies: int) -> None:
        """Take in what the folder will declare, and that `worlds` times `studies` are wanted of these cells."""
        with self._transaction() as database:
            self._put("sweep", grown)
            database.executemany("INSERT OR REPLACE INTO cells VALUES (?, ?, ?, ?)", map(_cell_row, entries))
            wanted = [(entry.cell, worlds, studies) for entry in entries]
            database.executemany("INSERT OR IGNORE INTO asked VALUES (?, ?, ?)", wanted)

    def entries(self) -> list[Entry]:
        """List the cells of the grid that were ever asked for, in the grid's order."""
        rows = self._database.execute("SELECT position, cell, config, systems FROM cells")
        entries = [
            Entry(tuple(json.loads(position)), cell, json.loads(config), tuple(json.loads(systems)))
            for position, cell, config, systems in rows
        ]
        return sorted(entries, key=lambda entry: entry.position)

    def missing(self, cell: str, world: int, studies: int, *, failed: bool = True) -> list[tuple[int, int]]:
        """List the studies of a world that are not finished, as (first, count); `failed` ones are among them."""
        held = ("ok",) if failed else ("ok", "failed")
        rows = self._database.execute(
            f"SELECT first, count FROM (SELECT {self._fields} FROM blocks)"  # noqa: S608 (no text from outside)
            " WHERE cell = ? AND world = ? AND pool = 0 AND draw = 0 AND status IN (?, ?)",
            (cell, world, held[0], held[-1]),
        )
        return gaps(rows, studies)

    def wanted(self, cell: str) -> list[int]:
        """Return how many studies of each world were ever asked for."""
        rows = self._database.execute("SELECT worlds, studies FROM asked WHERE cell = ?", (cell,)).fetchall()
        return [
            max(studies for worlds, studies in rows if worlds > world)
            for world in range(max((worlds for worlds, _ in rows), default=0))
        ]

    def record(self, block: Finished) -> None:
        """Commit a finished block; what an earlier failure at the same studies said is replaced."""
        with self._transaction() as database:
            at = block.address
            database.execute(
                "DELETE FROM blocks WHERE status = 'failed' AND cell = ? AND world = ? AND pool = ? AND draw = ?"
                " AND first < ? AND first + count > ?",
                (at.cell, at.world, at.pool, at.draw, at.first + at.count, at.first),
            )
            database.execute(
                f"INSERT INTO blocks ({PLACED}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
                _block_row(block),
            )

    def blocks(self, cell: str | None = None) -> Iterator[Row]:
        """Read the blocks of a cell (of all cells) in the order of worlds and studies."""
        return self._blocks("" if cell is None else "WHERE cell = ?", *(() if cell is None else (cell,)))

    def failed(self) -> list[Finished]:
        """List the blocks that failed."""
        return [row.block for row in self._blocks("WHERE status = 'failed'")]

    def _blocks(self, condition: str, *values: str) -> Iterator[Row]:
        order = "ORDER BY cell, world, pool, draw, first"
        query = f"SELECT {self._fields} FROM blocks {condition} {order}"  # noqa: S608 (no text from outside)
        return map(_read_block, self._database.execute(query, values))

    def failed_designs(self) -> dict[str, int]:
        """Count, per reason, the studies whose design could not be carried out."""
        counts: dict[str, int] = {}
        for (text,) in self._database.execute("SELECT failures FROM blocks WHERE failures != '[]'"):
            for _, reason in json.loads(text):
                counts[reason] = counts.get(reason, 0) + 1
        return counts

    def discard_torn(self) -> list[Address]:
        """Give up blocks whose checksum no longer holds, so that they are computed again."""
        torn = [row.block.address for row in self.blocks() if not row.sound]
        with self._transaction() as database:
            database.executemany(
                "DELETE FROM blocks WHERE cell = ? AND world = ? AND first = ? AND count = ? AND pool = ? AND draw = ?",
                map(astuple, torn),
            )
        return torn

    def note_provenance(self, provenance: Mapping[str, str]) -> None:
        """Keep under which versions blocks were computed, the latest last."""
        earlier = [known for known in self.provenance() if known != provenance]
        with self._transaction():
            self._put("provenance", [*earlier, dict(provenance)])

    def provenance(self) -> list[dict[str, str]]:
        """List the versions under which blocks were computed, the latest last."""
        return self._get("provenance") or []

    def complaints(self) -> list[str]:
        """Ask SQLite whether its file is whole."""
        complaints = [str(row[0]) for row in self._database.execute("PRAGMA integrity_check")]
        return [] if complaints == ["ok"] else complaints

    def _get(self, key: str) -> Any:
        row = self._database.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return None if row is None else json.loads(row[0])

    def _put(self, key: str, value: Any) -> None:
        self._database.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, json.dumps(value)))

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield self._database
        except BaseException:
            # SQLite itself has rolled back where, say, the disk is full.
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")


def _make(folder: Path) -> None:
    if (folder / STORE).exists() and not (folder / FILE).exists():
        raise InputError(f"{folder} holds a {STORE} that no {FILE} belongs to; give another --out")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be made a folder ({error.strerror}); give another --out") from error


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}", uri=True, timeout=LOCK_SECONDS, isolation_level=None
    )


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
    if version > SCHEMA:
        raise InputError(f"{path} was written by a newer simlab (schema {version}, known is {SCHEMA}); update simlab")
    return False


def _start(database: sqlite3.Connection) -> None:
    for statement in TABLES.split(";"):
        database.execute(statement)
    database.execute(f"PRAGMA application_id = {APPLICATION}")
    database.execute(f"PRAGMA user_version = {SCHEMA}")


def _placed(database: sqlite3.Connection) -> bool:
    """Tell whether blocks know their pool of raters and their draw of documents, as since schema 2."""
    return "pool" in [row[1] for row in database.execute("PRAGMA table_info(blocks)")]


def _place_blocks(database: sqlite3.Connection) -> None:
    """Give the blocks of a ledger of schema 1 their pool and draw, the first ones."""
    table = next(statement for statement in TABLES.split(";") if "TABLE blocks" in statement)
    database.execute("ALTER TABLE blocks RENAME TO unplaced")
    database.execute(table)
    database.execute(f"INSERT INTO blocks ({PLACED}) SELECT {COLUMNS}, 0, 0 FROM unplaced")  # noqa: S608
    database.execute("DROP TABLE unplaced")
    database.execute(f"PRAGMA user_version = {SCHEMA}")


@contextmanager
def _plain_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise InputError(_said(path, error)) from error


def _said(path: Path, error: sqlite3.Error) -> str:
    code = getattr(error, "sqlite_errorname", "")
    if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return f"{path.parent} is in use by another run; wait until it ends or give another --out"
    if code == "SQLITE_NOTADB":
        return f"{path} is not a simlab ledger; give another --out"
    if code.startswith("SQLITE_CORRUPT"):
        return f"{path} is damaged ({error}); bring back a copy or give another --out"
    return f"{path}: {error}"


def _cell_row(entry: Entry) -> tuple[str, str, str, str]:
    return json.dumps(entry.position), entry.cell, json.dumps(entry.config), json.dumps(entry.systems)


def _block_row(block: Finished) -> tuple[Any, ...]:
    status = "failed" if block.failed else "ok"
    at = block.address
    held = (status, block.reason, json.dumps(block.failures), block.checksum, block.payload)
    return at.cell, at.world, at.first, at.count, *held, at.pool, at.draw


def _read_block(row: Sequence[Any]) -> Row:
    cell, world, first, count, status, reason, failures, checksum, payload, pool, draw = row
    address = Address(cell, world, first, count, pool, draw)
    try:
        listed = tuple((study, why) for study, why in json.loads(failures))
    except (ValueError, TypeError):
        return Row(Finished(address, payload, reason), sound=False)
    block = Finished(address, payload, reason, listed)
    return Row(block, sound=block.checksum == checksum and block.failed == (status == "failed"))
