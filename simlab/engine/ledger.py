"""Keep every finished block on disk: the truth of a sweep, asked for what is missing, handed what is finished.

One SQLite file per folder, written by the driver only. Each block is one transaction, flushed to the disk before
the next, so that neither a killed driver nor a power cut loses a finished block. The driver holds SQLite's
exclusive lock for as long as it runs; the operating system lifts the lock of a killed one.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from simlab.engine.addresses import Address, Finished, gaps
from simlab.engine.continuation import determining, grow, refuse_difference, refuse_mixture
from simlab.engine.ledger_file import (
    FILE,
    PLACED,
    SCHEMA,
    STORE,
    bring_up_to_date,
    fields_of_blocks,
    opened_alone,
    opened_to_read,
)

__all__ = ["FILE", "SCHEMA", "STORE", "Entry", "Ledger", "Row", "reading", "writing"]


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
    with opened_alone(folder) as database:
        yield Ledger(database, folder)


@contextmanager
def reading(folder: Path) -> Iterator[Ledger]:
    """Open the ledger of a folder without changing it.

    Raises InputError where there is none, it is not a ledger, or a run is writing to it.
    """
    with opened_to_read(folder) as database:
        yield Ledger(database, folder)


class Ledger:
    """Answer what is finished and what is missing, and take in what is finished."""

    def __init__(self, database: sqlite3.Connection, folder: Path) -> None:
        self._database = database
        self._fields = fields_of_blocks(database)
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

    def block(self, at: Address) -> Finished | None:
        """Read a block whose checksum holds; None where there is none."""
        there = f"world = {at.world} AND first = {at.first} AND count = {at.count} AND pool = {at.pool}"
        rows = self._blocks(f"WHERE cell = ? AND {there} AND draw = {at.draw}", at.cell)
        return next((row.block for row in rows if row.sound), None)

    def withdraw(self, at: Address, reason: str) -> None:
        """Give up a finished block, which is from now on one that failed."""
        with self._transaction() as database:
            database.execute(
                "DELETE FROM blocks WHERE cell = ? AND world = ? AND first = ? AND count = ? AND pool = ? AND draw = ?",
                astuple(at),
            )
        self.record(Finished(at, reason=reason))

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
            bring_up_to_date(self._database)
            yield self._database
        except BaseException:
            # SQLite itself has rolled back where, say, the disk is full.
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")
        self._fields = fields_of_blocks(self._database)


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
