"""Keep every finished block of a sweep on disk, and find which are missing.

`open_to_write` and `reading` open a `Ledger`: `admit` takes in a declaration and cells, `find_gaps` lists missing
studies, `record` commits finished blocks and `blocks` reads them.

One SQLite file per folder, written by the driver only. A bundle of blocks from a worker is one transaction, flushed
to the disk before the next, so that neither a killed driver nor a power cut loses any. The driver
holds SQLite's exclusive lock for as long as it runs; the operating system lifts the lock of a killed one.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import astuple
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from simlab.config.sweep import Alike
from simlab.engine.addresses import Address, Finished, gaps
from simlab.engine.continuation import (
    CROSSED,
    determining_settings,
    grow,
    merge_crossings,
    refuse_difference,
    refuse_mixture,
)
from simlab.engine.ledger_file import (
    ARCHIVE,
    COLUMNS,
    FILE,
    SEALED,
    STORE,
    DamagedLedger,
    LostLedger,
    Salvaged,
    is_archive,
    lost_ledger,
    open_alone,
    open_to_read,
    salvage,
    seal_row,
)
from simlab.engine.ledger_rows import (
    LedgerEntry,
    LedgerRow,
    RequestedSizes,
    Requests,
    UnsoundRow,
    Written,
    block_row,
    cell_row,
    list_crossings,
    names,
    read_block,
    size_of,
)
from simlab.engine.provenance import LOST
from simlab.types import InputError, Place

Held = TypeVar("Held")

LAID, BEHIND = "laid", "behind"
"""State of the store: it holds all that the ledger holds, or a run may have been killed before it was written."""
_INSERT = f"INSERT INTO blocks ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608 (no text from outside)
_AT = "cell = ? AND world = ? AND first = ? AND count = ? AND pool = ? AND draw = ?"


class StoreOrigin(NamedTuple):
    """Origin of a store: digest of the simlab that wrote it, its measures, digests of the ledger and of its files."""

    by: str
    measures: str
    state: str
    content: str


class Known(NamedTuple):
    """Results that need not be computed again: the systems of each checked cell, by its `check_key`.

    `sizes` are the memory and bytes that it forecast for the sweep whose cells and engine have the digest `named`.
    """

    systems: Mapping[str, tuple[str, ...]] = {}
    named: str | None = None
    sizes: Sequence[Any] | None = None


__all__ = [
    "ARCHIVE",
    "FILE",
    "STORE",
    "Ledger",
    "LedgerEntry",
    "LedgerRow",
    "UnsoundRow",
    "is_archive",
    "open_to_write",
    "reading",
]


@contextmanager
def open_to_write(folder: Path, look: Callable[[Ledger], object] | None = None) -> Iterator[Ledger]:
    """Open the ledger of a folder, alone; a new one is started where there is none.

    Where the file is damaged, its readable rows are copied into a new one, if `look`, a check that is called with
    the new ledger, raises nothing. Raises InputError where another run holds it or the file is not a ledger.
    """
    with ExitStack() as stack:
        salvaged = None
        try:
            database = stack.enter_context(open_alone(folder))
        except LostLedger:
            raise
        except DamagedLedger:
            if look is None:
                raise
            salvaged = salvage(folder, lambda new: look(Ledger(new, folder)))
            database = stack.enter_context(open_alone(folder))
        yield Ledger(database, folder, salvaged)


@contextmanager
def reading(folder: Path, patience: float | None = None, *, whole: bool = False) -> Iterator[Ledger]:
    """Open the ledger of a folder without changing it; `patience` and `whole` are those of `open_to_read`."""
    with open_to_read(folder, patience, whole=whole) as database:
        yield Ledger(database, folder)


class Ledger:
    """The blocks, cells and declaration of a folder: which campaigns are finished and which are missing."""

    def __init__(self, database: sqlite3.Connection, folder: Path, salvaged: Salvaged | None = None) -> None:
        """Take an open file; `salvaged` is what was read of a damaged one, where this has just taken its place."""
        self._database = database
        self.folder = folder
        self.salvaged = salvaged
        self._left_out: frozenset[int] = frozenset()
        self._read: dict[str, dict[str, Any]] = {}

    def declaration(self) -> dict[str, Any] | None:
        """Return the declaration of the folder's sweep, as far as it has grown; None for a new folder.

        Raises InputError where that is damaged.
        """
        declared: dict[str, Any] | None = self._load("sweep")
        return declared

    def extend_declaration(self, requested: Mapping[str, Any]) -> dict[str, Any]:
        """Return the folder's declaration joined with the requested one; raise InputError if they contradict."""
        if self.is_damaged("sweep"):
            return self._replace_declaration(requested)
        stored = self.declaration()
        if stored is None and (self.cells() or next(self.blocks(), None)):
            return self._replace_declaration(requested)
        return dict(requested) if stored is None else grow(stored, requested, str(self.folder))

    def _replace_declaration(self, requested: Mapping[str, Any]) -> dict[str, Any]:
        """Return the requested declaration in place of a lost one; `check` refuses cells of another sweep."""
        shape = tuple(len(axis["values"]) for axis in requested["axes"])
        for place in self.cells():
            if len(place) != len(shape) or any(k >= n for k, n in zip(place, shape, strict=True)):
                raise InputError(
                    f"{self.folder}: the declaration of its sweep is damaged, and it holds more cells than are asked; "
                    "give the command that asked for all of them, or another --out"
                )
        sizes = self.requests()
        # How many pools and draws of documents there were is read from the blocks.
        last = [n if type(n) is int else 0 for n in next(self._select("SELECT max(pool), max(draw) FROM blocks"))]
        return {
            **requested,
            "worlds": max([requested["worlds"], *(worlds for worlds, _ in sizes)]),
            "studies": max([requested["studies"], *(studies for _, studies in sizes)]),
            **merge_crossings(dict(zip(CROSSED, (number + 1 for number in last), strict=True)), requested),
        }

    def is_damaged(self, key: str) -> bool:
        """True if a record of the folder as a whole is damaged."""
        return any(record.key == key for record in self._rows("meta")[0])

    def list_damaged(self) -> list[UnsoundRow]:
        """List the rows beside the blocks whose checksum does not hold."""
        return [record for table in SEALED for record in self._rows(table)[0]]

    def _rows(self, table: str) -> tuple[list[UnsoundRow], dict[str, str]]:
        """Read a table once: the rows whose checksum does not hold, and the first two columns of the others."""

        def read() -> tuple[list[UnsoundRow], dict[str, str]]:
            damaged, sound = [], {}
            for at, kept, *values in self._database.execute(f"SELECT rowid, seal, {SEALED[table]} FROM {table}"):  # noqa: S608
                if kept == seal_row(table, *values):
                    sound[values[0]] = values[1]
                else:
                    damaged.append(UnsoundRow(table, at, str(values[0])))
            return damaged, sound

        return self._read_once(table, "rows", read)

    def check(self, axes: Sequence[Mapping[str, Any]], entries: Sequence[LedgerEntry]) -> None:
        """Raise InputError where a cell's place is taken by another config, or a default has changed since."""
        cells = self.cells()
        new = [entry for entry in entries if cells.get(entry.position) != entry.cell]
        stored = {entry.position: entry for entry in self.entries()} if new else {}
        for entry in new:
            if (there := stored.get(entry.position)) is not None:
                refuse_difference(
                    determining_settings(there.config), determining_settings(entry.config), str(self.folder)
                )
        if stored and new:
            # Cells that are held as they are asked were held against each other when they came.
            stored_configs, requested_configs = (
                [(entry.position, entry.config) for entry in of] for of in (stored.values(), entries)
            )
            refuse_mixture(axes, stored_configs, requested_configs, str(self.folder))

    def admit(
        self, grown: Mapping[str, Any], entries: Sequence[LedgerEntry], sizes: Mapping[str, tuple[int, int]]
    ) -> None:
        """Take in the folder's new declaration, cells, and the `(worlds, studies)` wanted of each cell, by its key.

        Rows that are damaged are given up: what is asked is written anew. From now on the store is behind. A ledger
        that holds all this stays as it is.
        """
        written = Written()
        if self._holds(grown, entries, sizes, written):
            return
        before = None if self.is_damaged("sweep") else size_of(self.declaration())
        with self._transaction("cells"):
            for record in self.list_damaged():
                self._database.execute(f"DELETE FROM {record.table} WHERE rowid = ?", (record.at,))  # noqa: S608
            self._forget("meta", "cells")
            # Of cells of which it is lost what was asked all is wanted that the sweep declared.
            whole = before or size_of(grown)
            lost = [(cell, whole) for cell in self._list_unrequested()] if whole else []
            rows = (cell_row(entry, written) for entry in entries)
            self._take(grown, "OR REPLACE", rows, [*lost, *sizes.items()])

    def _holds(
        self,
        grown: Mapping[str, Any],
        entries: Sequence[LedgerEntry],
        sizes: Mapping[str, tuple[int, int]],
        written: Written,
    ) -> bool:
        # Through JSON and back: tuples are lists in what is stored.
        if self.list_damaged() or self._load("sweep") != json.loads(json.dumps(grown)):
            return False
        requests = self.requests()
        if any(cell not in requests.get(size, ()) for cell, size in sizes.items()):
            return False
        # Rows are looked at one by one: all at a time would take gigabytes.
        lacking = {json.dumps(entry.position): entry for entry in entries}
        for row in self._select(f"SELECT {SEALED['cells']} FROM cells") if lacking else ():  # noqa: S608
            if row[0] in lacking and cell_row(lacking[row[0]], written) == row:
                del lacking[row[0]]
        return not lacking

    def adopt(self, grown: Mapping[str, Any], cells: Iterable[tuple[Any, ...]], requests: Requests) -> None:
        """Take in the folder's new declaration, and rows of cells and requests that other ledgers hold.

        From now on the store is behind. Rows that are there stay as they are.
        """
        with self._transaction("cells"):
            self._take(grown, "OR IGNORE", cells, [(cell, size) for size, of in requests.items() for cell in of])

    def _take(
        self,
        grown: Mapping[str, Any],
        otherwise: str,
        cells: Iterable[tuple[Any, ...]],
        sizes: Iterable[tuple[str, tuple[int, int]]],
    ) -> None:
        self._put("sweep", grown)
        self._put("store", BEHIND)
        self._insert(otherwise, "cells", cells)
        requests = {size: set(cells) for size, cells in self.requests().items()}
        for cell, size in sizes:
            requests.setdefault(size, set()).add(cell)
        self._put("asked", [[*size, sorted(cells)] for size, cells in sorted(requests.items())])

    def requests(self) -> Requests:
        """Return the keys of cells by the `(worlds, studies)` that were requested of them; none where that is lost."""

        def read() -> Requests:
            return {(worlds, studies): frozenset(cells) for worlds, studies, cells in self.read_note("asked", ())}

        return self._read_once("meta", "requests", read)

    def note(self, **records: Any) -> None:
        """Keep records of the folder as a whole, by their names; those that are kept already stay as they are."""
        if new := {
            key: value for key, value in records.items() if self.read_note(key) != json.loads(json.dumps(value))
        }:
            with self._transaction():
                for key, value in new.items():
                    self._put(key, value)

    def read_note(self, key: str, otherwise: Any = None) -> Any:
        """Return a record of the folder by its name; `otherwise` where it is missing or damaged."""
        kept = None if self.is_damaged(key) else self._load(key)
        return otherwise if kept is None else kept

    def mark_laid(self, laid: StoreOrigin) -> None:
        """Note that the store holds all that the ledger does, and the store's origin."""
        self.note(store=LAID, laid=laid)

    def read_origin(self) -> StoreOrigin | None:
        """Return the origin of the store; None where it is not known."""
        return None if (kept := self.read_note("laid")) is None else StoreOrigin(*kept)

    def is_laid(self) -> bool:
        """True if the store is known to hold all that the ledger does."""
        return bool(self.read_note("store") == LAID)

    def mark_stale(self) -> None:
        """Note that blocks of the ledger will change, so that the store will differ from it."""
        self.note(store=BEHIND)

    def is_seen(self, by: str) -> bool:
        """True if a simlab has looked at all blocks as they are: in a run, or when it laid the store."""
        now, laid = [by, self.state()], self.read_origin()
        return now in (self.read_note("seen"), laid and [laid.by, laid.state])

    def note_seen(self, by: str) -> None:
        """Note that a simlab has looked at all blocks as they are, and can use them."""
        self.note(seen=[by, self.state()])

    def state(self) -> str:
        """Digest the checksums of blocks and cells, the declaration and the versions."""

        def read() -> str:
            seals = "SELECT seal FROM cells UNION ALL SELECT seal FROM meta WHERE key IN ('sweep', 'provenance')"
            rows = self._select(f"SELECT checksum FROM blocks UNION ALL {seals}")  # noqa: S608
            # Sorted, since rows stand in the order in which they were committed, which differs from run to run.
            return blake2b(json.dumps(sorted(map(str, rows))).encode(), digest_size=16).hexdigest()

        return self._read_once("meta", "state", read)

    def read_known(self, by: str) -> Known:
        """Return the results that the simlab with the digest `by` has noted."""
        kept = self.read_note("known")
        if kept is None or kept[0] != by:
            return Known()
        each = [tuple(names) for names in kept[1]]
        return Known({key: each[k] for key, k in kept[2].items()}, *kept[3:])

    def note_known(self, by: str, known: Known) -> None:
        """Add results of the simlab with the digest `by` to those that it has noted before."""
        before = self.read_known(by)
        systems, last = {**before.systems, **known.systems}, known if known.named else before
        number = {names: k for k, names in enumerate(dict.fromkeys(systems.values()))}
        keys = {key: number[names] for key, names in systems.items()}
        self.note(known=[by, list(number), keys, last.named, last.sizes])

    def n_blocks(self) -> int:
        """Count the blocks."""
        return int(next(self._select("SELECT count(*) FROM blocks"))[0])

    def campaigns(self) -> dict[tuple[str, str], int]:
        """Count campaigns by cell and by the status of their block ('ok' or 'failed')."""
        rows = self._select("SELECT cell, status, sum(count) FROM blocks GROUP BY cell, status")
        return {(cell, status): count for cell, status, count in rows}

    def cells(self) -> dict[tuple[int, ...], str]:
        """Name the cells of the grid that were ever asked for by their places, in the grid's order; see `entries`."""

        def read() -> dict[tuple[int, ...], str]:
            sound = self._rows("cells")[1]
            places = map(tuple, json.loads(f"[{','.join(sound)}]"))
            return dict(sorted(zip(places, sound.values(), strict=True)))

        return self._read_once("cells", "cells", partial(self._read_safely, read))

    def entries(self) -> list[LedgerEntry]:
        """List the cells of the grid that were ever asked for, in the grid's order."""

        def read() -> list[LedgerEntry]:
            wrong, alike = {record.at for record in self._rows("cells")[0]}, Alike()
            rows = self._select("SELECT rowid, position, cell, config, systems FROM cells")
            entries = [
                LedgerEntry(tuple(json.loads(position)), cell, alike(json.loads(config)), names(systems))
                for at, position, cell, config, systems in rows
                if at not in wrong
            ]
            return sorted(entries, key=lambda entry: entry.position)

        return self._read_once("cells", "entries", partial(self._read_safely, read))

    def _read_safely(self, read: Callable[[], Held]) -> Held:
        try:
            return read()
        except (ValueError, TypeError) as error:
            raise lost_ledger(self.folder / FILE, "a cell cannot be read") from error

    def find_gaps(self, cell: str, at: Place, studies: int, *, failed: bool = True) -> list[tuple[int, int]]:
        """List the studies at a place that are not finished, as (first, count); `failed` ones are among them.

        The place is a world, a pool of raters and a draw of documents in it.
        """

        def read() -> dict[tuple[Any, ...], list[tuple[int, int]]]:
            blocks: dict[tuple[Any, ...], list[tuple[int, int]]] = {}
            for *place, first, count in self._select(
                "SELECT cell, world, pool, draw, first, count FROM blocks"
                " WHERE status IN ('ok', ?) AND typeof(first) = 'integer' AND typeof(count) = 'integer'",
                "ok" if failed else "failed",
            ):
                blocks.setdefault(tuple(place), []).append((first, count))
            return blocks

        # All places in one query: a sweep asks about each of a million places in turn.
        kept = self._read_once("blocks", f"held, {failed}", read)
        return gaps(kept.get((cell, at.world, at.pool, at.draw), ()), studies)

    def read_requested_sizes(self) -> RequestedSizes:
        """Return the sizes wanted of each cell: all that were ever asked, or those of the sweep where these are lost.

        Raises InputError where what the sweep declares is damaged.
        """
        declared, lost = self.declaration(), self._list_unrequested()
        sizes = dict[str, tuple[tuple[int, int], ...]]()
        for size, cells in self.requests().items():
            sizes |= {cell: (*sizes.get(cell, ()), size) for cell in cells}
        if whole := size_of(declared):
            sizes |= dict.fromkeys(lost, (whole,))
        return RequestedSizes(sizes, lost, list_crossings(declared))

    def _list_unrequested(self) -> tuple[str, ...]:
        """List the cells whose requested sizes are lost."""
        cells = {cell for (cell,) in self._select("SELECT DISTINCT cell FROM cells")}
        return tuple(sorted(cells.difference(*self.requests().values())))

    def shortfall(self) -> tuple[int, int]:
        """Count the finished campaigns of known cells, and all that are wanted.

        Read from an index of the file, whatever the blocks are. Raises InputError where what the sweep declares is
        damaged.
        """
        wanted = self.read_requested_sizes().campaigns()
        rows = self._select("SELECT cell, sum(count) FROM blocks GROUP BY cell")
        known = {cell for (cell,) in self._select("SELECT cell FROM cells")}
        counts = {cell: count for cell, count in rows if type(count) is int and cell in known}
        return sum(min(counts.get(cell, 0), count) for cell, count in wanted.items()), sum(wanted.values())

    def count_orphans(self) -> dict[str, int]:
        """Count the blocks of the cells that the grid does not hold any more, whose rows are lost.

        Cells of which something was asked are among them when they have no block; where no cell is left at all, an
        empty name stands for them.
        """
        known = set(self.cells().values())
        counts = {cell: 0 for cells in self.requests().values() for cell in cells}
        counts |= dict(self._database.execute("SELECT cell, count(*) FROM blocks GROUP BY cell").fetchall())
        lost = {cell: count for cell, count in counts.items() if cell not in known}
        return lost if lost or known else {"": 0}

    def record(self, blocks: Sequence[Finished]) -> None:
        """Commit finished blocks, all of them or none; they replace earlier failures at the same studies.

        The disk is waited for once: blocks that take milliseconds are handed over several at a time.
        """
        with self._transaction("blocks") as database:
            database.executemany(
                "DELETE FROM blocks WHERE status = 'failed' AND cell = ? AND world = ? AND pool = ? AND draw = ?"
                " AND first < ? AND first + count > ?",
                [
                    (at.cell, at.world, at.pool, at.draw, at.first + at.count, at.first)
                    for at in (block.address for block in blocks)
                ],
            )
            database.executemany(_INSERT, map(block_row, blocks))

    def block(self, at: Address) -> Finished | None:
        """Read a block whose checksum holds; None where there is none."""
        return next((row.block for row in self._blocks(f"WHERE {_AT}", *astuple(at)) if row.sound), None)

    def withdraw(self, at: Address, reason: str) -> None:
        """Give up a finished block, which is from now on one that failed."""
        with self._transaction("blocks") as database:
            database.execute(f"DELETE FROM blocks WHERE {_AT}", astuple(at))  # noqa: S608
            database.execute(_INSERT, block_row(Finished(at, reason=reason)))

    def blocks(self, cell: str | None = None) -> Iterator[LedgerRow]:
        """Read the blocks of a cell (of all cells) in the order of worlds and studies."""
        return self._blocks("" if cell is None else "WHERE cell = ?", *(() if cell is None else (cell,)))

    def leave_out(self, rows: Sequence[LedgerRow]) -> None:
        """Read no longer blocks that cannot be used; in the file they stay."""
        self._left_out = frozenset(row.at for row in rows)

    def addresses(self, cell: str) -> list[Address]:
        """List where the finished blocks of a cell stand; their payloads stay on the disk."""
        rows = self._database.execute(
            "SELECT cell, world, first, count, pool, draw FROM blocks"
            " WHERE cell = ? AND status = 'ok' ORDER BY world, pool, draw, first",
            (cell,),
        )
        return [Address(*row) for row in rows]

    def list_failed(self) -> list[Finished]:
        """List the blocks that failed."""
        return [row.block for row in self._blocks("WHERE status = 'failed'")]

    def _blocks(self, condition: str, *values: Any) -> Iterator[LedgerRow]:
        order = "ORDER BY cell, world, pool, draw, first"
        query = f"SELECT rowid, {COLUMNS} FROM blocks {condition} {order}"  # noqa: S608 (no text from outside)
        rows = self._database.execute(query, values)
        return (read_block(row) for row in rows if row[0] not in self._left_out)

    def failed_designs(self) -> dict[str, int]:
        """Count, per reason, the studies whose design could not be carried out."""
        counts: dict[str, int] = {}
        for (text,) in self._database.execute("SELECT failures FROM blocks WHERE failures != '[]'"):
            for _, reason in json.loads(text):
                counts[reason] = counts.get(reason, 0) + 1
        return counts

    def discard(self, rows: Sequence[LedgerRow]) -> None:
        """Give up blocks that cannot be used, so that they are computed again."""
        with self._transaction("blocks") as database:
            database.executemany("DELETE FROM blocks WHERE rowid = ?", [(row.at,) for row in rows])

    def note_provenance(self, provenance: Mapping[str, str]) -> None:
        """Keep under which versions blocks were computed, the latest last."""
        self.note(provenance=[*(known for known in self.provenance() if known != provenance), dict(provenance)])

    def provenance(self) -> list[dict[str, str]]:
        """List the versions under which blocks were computed, the latest last; unknown ones where they are lost."""
        return list(self.read_note("provenance") or ([dict(LOST)] if self.n_blocks() else []))

    def note_code(self, *digests: str) -> None:
        """Keep by which code of simlab blocks were computed, named by its digest."""
        self.note(code=list(dict.fromkeys([*self.read_note("code", ()), *digests])))

    def _select(self, query: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        return self._database.execute(query, values)

    def _load(self, key: str) -> Any:
        try:
            if self.is_damaged(key):
                raise ValueError("its checksum does not hold")
            return json.loads(self._rows("meta")[1].get(key, "null"))
        except ValueError as error:
            where = self.folder / FILE
            raise DamagedLedger(f"{where}: the record {key} is damaged ({error}); the same command mends it") from error

    def _put(self, key: str, value: Any) -> None:
        self._forget("meta")
        self._insert("OR REPLACE", "meta", [(key, json.dumps(value))])

    def _insert(self, otherwise: str, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
        """Insert rows with their seals."""
        columns = SEALED[table]
        places = ", ".join("?" * (columns.count(",") + 2))
        self._database.executemany(
            f"INSERT {otherwise} INTO {table} ({columns}, seal) VALUES ({places})",  # noqa: S608
            ((*row, seal_row(table, *row)) for row in rows),
        )

    @contextmanager
    def _transaction(self, *tables: str) -> Iterator[sqlite3.Connection]:
        """Write the record of the folder as a whole, and these other tables."""
        self._forget("meta", *tables)
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield self._database
        except BaseException:
            # SQLite itself has rolled back where, say, the disk is full.
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            raise
        finally:
            self._forget("meta", *tables)
        self._database.execute("COMMIT")

    def _forget(self, *tables: str) -> None:
        for table in tables:
            self._read.pop(table, None)

    def _read_once(self, table: str, what: str, read: Callable[[], Held]) -> Held:
        """Read something of a table once, until this ledger writes to it."""
        kept = self._read.setdefault(table, {})
        if what not in kept:
            kept[what] = read()
        value: Held = kept[what]
        return value
