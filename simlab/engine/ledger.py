"""Keep every finished block on disk: the truth of a sweep, asked for what is missing, handed what is finished.

One SQLite file per folder, written by the driver only. Each block is one transaction, flushed to the disk before
the next, so that neither a killed driver nor a power cut loses a finished block. The driver holds SQLite's
exclusive lock for as long as it runs; the operating system lifts the lock of a killed one.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple
from pathlib import Path
from typing import Any

from simlab.engine.addresses import Address, Finished, gaps
from simlab.engine.asked import Asked, asked_of, crossed_in, size_of
from simlab.engine.continuation import CROSSED, crossed, determining, grow, refuse_difference, refuse_mixture
from simlab.engine.ledger_file import (
    FILE,
    PLACED,
    SCHEMA,
    SEALED,
    STORE,
    DamagedLedger,
    bring_up_to_date,
    complaints,
    damage,
    fields_of_blocks,
    opened_alone,
    opened_to_read,
    seal_of_row,
    sealed,
)
from simlab.engine.ledger_rows import Entry, Record, Row, block_row, cell_row, read_block
from simlab.engine.provenance import LOST
from simlab.types import InputError, Place

LAID, BEHIND = "laid", "behind"
"""Whether the store is known to hold what the ledger holds, or a run may have been killed before it was laid anew."""

__all__ = ["FILE", "SCHEMA", "STORE", "Entry", "Ledger", "Record", "Row", "reading", "writing"]

_INSERT = f"INSERT INTO blocks ({PLACED}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608 (no text from outside)


@contextmanager
def writing(folder: Path) -> Iterator[Ledger]:
    """Open the ledger of a folder, alone; a new one is started where there is none.

    Raises InputError where another run holds it or the file is not a ledger.
    """
    with opened_alone(folder) as database:
        yield Ledger(database, folder)


@contextmanager
def reading(folder: Path, patience: float | None = None) -> Iterator[Ledger]:
    """Open the ledger of a folder without changing it; wait so many seconds where a run is writing to it.

    Raises InputError where there is none, it is not a ledger, or a run is writing to it.
    """
    with opened_to_read(folder, patience) as database:
        yield Ledger(database, folder)


class Ledger:
    """Answer what is finished and what is missing, and take in what is finished."""

    def __init__(self, database: sqlite3.Connection, folder: Path) -> None:
        self._database = database
        self.folder = folder
        self._left_out: frozenset[int] = frozenset()
        self._look()

    def declaration(self) -> dict[str, Any] | None:
        """Return what the folder's sweep has come to declare; None for a new folder.

        Raises InputError where that is damaged.
        """
        declared: dict[str, Any] | None = self._get("sweep")
        return declared

    def grown(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the folder will declare once it has taken in what is asked; raise InputError if it cannot."""
        if self.is_damaged("sweep"):
            return self._declared_anew(asked)
        stored = self.declaration()
        if stored is None and (self.entries() or next(self.blocks(), None)):
            return self._declared_anew(asked)
        return dict(asked) if stored is None else grow(stored, asked, str(self.folder))

    def _declared_anew(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Let what is asked take the place of a declaration that is lost; `check` refuses cells of another sweep."""
        shape = tuple(len(axis["values"]) for axis in asked["axes"])
        for entry in self.entries():
            if len(entry.position) != len(shape) or any(k >= n for k, n in zip(entry.position, shape, strict=True)):
                raise InputError(
                    f"{self.folder}: the declaration of its sweep is damaged, and it holds more cells than are asked; "
                    "give the command that asked for all of them, or another --out"
                )
        sizes = [size for of_cell in self.asked(None).sizes.values() for size in of_cell]
        return {
            **asked,
            "worlds": max([asked["worlds"], *(worlds for worlds, _ in sizes)]),
            "studies": max([asked["studies"], *(studies for _, studies in sizes)]),
            **self._crossed_before(asked),
        }

    def _crossed_before(self, asked: Mapping[str, Any]) -> dict[str, int]:
        """Read from the blocks how many pools and draws of documents there are, where no declaration says so."""
        held = self._database.execute(f"SELECT max(pool), max(draw) FROM (SELECT {self._fields} FROM blocks)")  # noqa: S608
        last = [number if type(number) is int else 0 for number in held.fetchone()]
        return crossed(dict(zip(CROSSED, (number + 1 for number in last), strict=True)), asked)

    def is_damaged(self, key: str) -> bool:
        """Tell whether a record of the folder as a whole is damaged."""
        return any(record.table == "meta" and record.key == key for record in self.damaged())

    def damaged(self) -> list[Record]:
        """List the rows beside the blocks whose checksum does not hold; those of older schemas have none."""
        if not self._sealed:
            return []
        return [
            Record(table, at, str(values[0]))
            for table, columns in SEALED.items()
            for at, kept, *values in self._database.execute(f"SELECT rowid, seal, {columns} FROM {table}")  # noqa: S608
            if kept != seal_of_row(table, *values)
        ]

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
        """Take in what the folder will declare, and that `worlds` times `studies` are wanted of these cells.

        Rows that are damaged are given up: what is asked is written anew. From now on the store is behind.
        """
        before = self._size_before() or size_of(grown)
        with self._transaction():
            self._give_up(self.damaged(), before)
            self._put("sweep", grown)
            self._put("store", BEHIND)
            self._insert("OR REPLACE", "cells", map(cell_row, entries))
            self._insert("OR IGNORE", "asked", ((entry.cell, worlds, studies) for entry in entries))

    def ask(self, grown: Mapping[str, Any], sizes: Mapping[str, tuple[int, int]]) -> None:
        """Take in what the folder will declare, and how many worlds and studies are wanted of cells it knows."""
        with self._transaction():
            self._put("sweep", grown)
            self._put("store", BEHIND)
            self._insert("OR IGNORE", "asked", ((cell, *size) for cell, size in sizes.items()))

    def note_goal(self, goal: Mapping[str, Any]) -> None:
        """Keep to which worlds and studies a run to a precision is on its way."""
        with self._transaction():
            self._put("goal", goal)

    def goal(self) -> dict[str, Any] | None:
        """Return to which worlds and studies a run to a precision was on its way; None where there was none."""
        kept: dict[str, Any] | None = None if self.is_damaged("goal") else self._get("goal")
        return kept

    def give_up(self, records: Sequence[Record]) -> None:
        """Delete rows that are damaged; the command that knows what they were writes them anew.

        Of cells of which it is lost what was asked, all is wanted from now on that the sweep declares.
        """
        with self._transaction():
            self._give_up(records, self._size_before())

    def _size_before(self) -> tuple[int, int] | None:
        return None if self.is_damaged("sweep") else size_of(self.declaration())

    def _give_up(self, records: Sequence[Record], size: tuple[int, int] | None) -> None:
        # A cell whose row is damaged may bear any name, and nothing was asked of that.
        self._delete(record for record in records if record.table != "asked")
        lost = self.asked(size).lost
        self._delete(record for record in records if record.table == "asked")
        self._insert("OR IGNORE", "asked", ((cell, *size) for cell in lost if size))

    def _delete(self, records: Iterable[Record]) -> None:
        for record in records:
            self._database.execute(f"DELETE FROM {record.table} WHERE rowid = ?", (record.at,))  # noqa: S608

    def mark_laid(self) -> None:
        """Note that the store holds all that the ledger does."""
        with self._transaction():
            self._put("store", LAID)

    def laid(self) -> bool:
        """Tell whether the store is known to hold all that the ledger does."""
        return bool(self._get("store") == LAID)

    def mark_sampled(self, done: bool) -> None:
        """Note whether a sample of the blocks that were carried out has been carried out again."""
        with self._transaction():
            self._put("sampled", done)

    def sampled(self) -> bool:
        """Tell whether a sample was carried out again; a ledger of before there were samples owes none."""
        return self._get("sampled") is not False

    def n_blocks(self) -> int:
        """Count the blocks."""
        return int(self._database.execute("SELECT count(*) FROM blocks").fetchone()[0])

    def campaigns(self) -> dict[tuple[str, str], int]:
        """Count the campaigns of each cell by the status of their blocks."""
        rows = self._database.execute("SELECT cell, status, sum(count) FROM blocks GROUP BY cell, status")
        return {(cell, status): count for cell, status, count in rows}

    def entries(self) -> list[Entry]:
        """List the cells of the grid that were ever asked for, in the grid's order."""
        wrong = {record.at for record in self.damaged() if record.table == "cells"}
        rows = self._database.execute("SELECT rowid, position, cell, config, systems FROM cells").fetchall()
        try:
            entries = [
                Entry(tuple(json.loads(position)), cell, json.loads(config), tuple(json.loads(systems)))
                for at, position, cell, config, systems in rows
                if at not in wrong
            ]
            return sorted(entries, key=lambda entry: entry.position)
        except (ValueError, TypeError) as error:
            raise damage(self.folder / FILE, "a cell cannot be read") from error

    def missing(self, cell: str, at: Place, studies: int, *, failed: bool = True) -> list[tuple[int, int]]:
        """List the studies at a place that are not finished, as (first, count); `failed` ones are among them.

        The place is a world, a pool of raters and a draw of documents in it.
        """
        held = ("ok",) if failed else ("ok", "failed")
        rows = self._database.execute(
            f"SELECT first, count FROM (SELECT {self._fields} FROM blocks)"  # noqa: S608 (no text from outside)
            " WHERE cell = ? AND world = ? AND pool = ? AND draw = ? AND status IN (?, ?)"
            " AND typeof(first) = 'integer' AND typeof(count) = 'integer'",
            (cell, *at[:3], held[0], held[-1]),
        )
        return gaps(rows, studies)

    def asked(self, size: tuple[int, int] | None) -> Asked:
        """Say what was asked of each cell, in a sweep of so many worlds and studies (None: that is not known)."""
        kept, damaged = [], []
        seals = "seal" if self._sealed else "NULL"
        for *row, own in self._database.execute(f"SELECT {SEALED['asked']}, {seals} FROM asked"):  # noqa: S608
            cell, worlds, studies = row
            sound = type(worlds) is type(studies) is int and (not self._sealed or own == seal_of_row("asked", *row))
            kept += [(cell, worlds, studies)] if sound else []
            damaged += [] if sound else [cell]
        cells = self._database.execute("SELECT DISTINCT cell FROM cells")
        return asked_of((cell for (cell,) in cells), kept, damaged, size)

    def wanted(self) -> Asked:
        """Say what is wanted of each cell: what was ever asked, and all that the sweep declares where that is lost.

        Raises InputError where what the sweep declares is damaged.
        """
        declared = self.declaration()
        return self.asked(size_of(declared))._replace(crossed=crossed_in(declared))

    def shortfall(self) -> tuple[int, int]:
        """Count the campaigns of known cells that are there, and all that are wanted.

        Read from an index of the file, whatever the blocks are. Raises InputError where what the sweep declares is
        damaged.
        """
        rows = self._database.execute(
            f"SELECT cell, sum(count) FROM (SELECT {self._fields} FROM blocks)"  # noqa: S608 (no text from outside)
            " WHERE cell IN (SELECT cell FROM cells) GROUP BY cell"
        )
        held = {cell: count for cell, count in rows if type(count) is int}
        wanted = self.wanted().campaigns()
        return sum(min(held.get(cell, 0), count) for cell, count in wanted.items()), sum(wanted.values())

    def without_cell(self) -> dict[str, int]:
        """Count the blocks of the cells that the grid does not hold any more, whose rows are lost.

        Cells of which something was asked are among them when they have no block; where no cell is left at all, an
        empty name stands for them.
        """
        known = {entry.cell for entry in self.entries()}
        counts = dict.fromkeys(self.asked(None).sizes, 0)
        counts |= dict(self._database.execute("SELECT cell, count(*) FROM blocks GROUP BY cell").fetchall())
        lost = {cell: count for cell, count in counts.items() if cell not in known}
        return lost if lost or known else {"": 0}

    def record(self, block: Finished) -> None:
        """Commit a finished block; what an earlier failure at the same studies said is replaced."""
        with self._transaction() as database:
            at = block.address
            database.execute(
                "DELETE FROM blocks WHERE status = 'failed' AND cell = ? AND world = ? AND pool = ? AND draw = ?"
                " AND first < ? AND first + count > ?",
                (at.cell, at.world, at.pool, at.draw, at.first + at.count, at.first),
            )
            database.execute(_INSERT, block_row(block))

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
            database.execute(_INSERT, block_row(Finished(at, reason=reason)))

    def blocks(self, cell: str | None = None) -> Iterator[Row]:
        """Read the blocks of a cell (of all cells) in the order of worlds and studies."""
        return self._blocks("" if cell is None else "WHERE cell = ?", *(() if cell is None else (cell,)))

    def leave_out(self, rows: Sequence[Row]) -> None:
        """Read no longer blocks that cannot be used; in the file they stay."""
        self._left_out = frozenset(row.at for row in rows)

    def addresses(self, cell: str) -> list[Address]:
        """List where the finished blocks of a cell stand; their payloads stay on the disk."""
        rows = self._database.execute(
            f"SELECT cell, world, first, count, pool, draw FROM (SELECT {self._fields}, status AS kept FROM blocks)"  # noqa: S608
            " WHERE cell = ? AND kept = 'ok' ORDER BY world, pool, draw, first",
            (cell,),
        )
        return [Address(*row) for row in rows]

    def failed(self) -> list[Finished]:
        """List the blocks that failed."""
        return [row.block for row in self._blocks("WHERE status = 'failed'")]

    def _blocks(self, condition: str, *values: str) -> Iterator[Row]:
        order = "ORDER BY cell, world, pool, draw, first"
        query = f"SELECT rowid, {self._fields} FROM blocks {condition} {order}"  # noqa: S608 (no text from outside)
        rows = self._database.execute(query, values)
        return (read_block(row) for row in rows if row[0] not in self._left_out)

    def failed_designs(self) -> dict[str, int]:
        """Count, per reason, the studies whose design could not be carried out."""
        counts: dict[str, int] = {}
        for (text,) in self._database.execute("SELECT failures FROM blocks WHERE failures != '[]'"):
            for _, reason in json.loads(text):
                counts[reason] = counts.get(reason, 0) + 1
        return counts

    def discard(self, rows: Sequence[Row]) -> None:
        """Give up blocks that cannot be used, so that they are computed again."""
        with self._transaction() as database:
            database.executemany("DELETE FROM blocks WHERE rowid = ?", [(row.at,) for row in rows])

    def note_provenance(self, provenance: Mapping[str, str]) -> None:
        """Keep under which versions blocks were computed, the latest last."""
        earlier = [known for known in self.provenance() if known != provenance]
        with self._transaction():
            self._put("provenance", [*earlier, dict(provenance)])

    def provenance(self) -> list[dict[str, str]]:
        """List the versions under which blocks were computed, the latest last; unknown ones where they are lost."""
        kept = None if self.is_damaged("provenance") else self._get("provenance")
        return kept or ([dict(LOST)] if self.n_blocks() else [])

    def complaints(self) -> list[str]:
        """Ask SQLite whether its file is whole."""
        return complaints(self._database)

    def _get(self, key: str) -> Any:
        columns = "value, seal" if self._sealed else "value, NULL"
        row = self._database.execute(f"SELECT {columns} FROM meta WHERE key = ?", (key,)).fetchone()  # noqa: S608
        if row is None:
            return None
        try:
            if self._sealed and row[1] != seal_of_row("meta", key, row[0]):
                raise ValueError("its checksum does not hold")
            return json.loads(row[0])
        except ValueError as error:
            where = self.folder / FILE
            raise DamagedLedger(f"{where}: the record {key} is damaged ({error}); the same command mends it") from error

    def _put(self, key: str, value: Any) -> None:
        self._insert("OR REPLACE", "meta", [(key, json.dumps(value))])

    def _insert(self, otherwise: str, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
        """Insert rows with their seals."""
        columns = SEALED[table]
        places = ", ".join("?" * (columns.count(",") + 2))
        self._database.executemany(
            f"INSERT {otherwise} INTO {table} ({columns}, seal) VALUES ({places})",  # noqa: S608
            ((*row, seal_of_row(table, *row)) for row in rows),
        )

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            bring_up_to_date(self._database)
            self._look()
            yield self._database
        except BaseException:
            # SQLite itself has rolled back where, say, the disk is full.
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            self._look()
            raise
        self._database.execute("COMMIT")

    def _look(self) -> None:
        """Look which columns the tables have: those of an older schema until something is written."""
        self._fields, self._sealed = fields_of_blocks(self._database), sealed(self._database)
