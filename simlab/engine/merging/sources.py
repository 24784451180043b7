"""Open the folders that are to be merged, compare their blocks, and copy those that are lacking."""

from __future__ import annotations

import heapq
import os
import resource
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from simlab.engine.addresses import Address, Finished, unpack
from simlab.engine.block_checks import BlockSchema, find_unusable
from simlab.engine.ledger import FILE, Ledger, LedgerRow
from simlab.engine.ledger_file import COLUMNS, open_alone, open_to_read, plain_errors
from simlab.engine.ledger_rows import read_block
from simlab.engine.provenance import digest_installation
from simlab.engine.replays import are_same
from simlab.messages import clip
from simlab.types import InputError

MOST_BLOCKS, MOST_BYTES = 1000, 16 * 2**20
"""Blocks, and bytes of them, that are copied in one transaction at most."""

_ADDRESSES = (
    "SELECT cell, world, pool, draw, first, count, status, checksum, rowid FROM blocks"
    " ORDER BY cell, world, pool, draw, first, count"
)

SPARE_FILES = 64
"""Number of open files that are kept for other uses than the ledgers of sources."""
_MENDING = "the command that filled it mends it"


class SourceBlock(NamedTuple):
    """A block of the folder numbered `source`; fields are in the order of comparison; `row` is that of its ledger."""

    cell: str
    world: int
    pool: int
    draw: int
    first: int
    n_studies: int
    source: int
    ok: bool
    checksum: str
    row: int

    @property
    def place(self) -> tuple[str, int, int, int]:
        """Name the cell and the place in it."""
        return self[:4]

    @property
    def end(self) -> int:
        """Return the number of the first study behind the block."""
        return self.first + self.n_studies

    @property
    def address(self) -> Address:
        """Name the block."""
        return Address(self.cell, self.world, self.first, self.n_studies, self.pool, self.draw)


def refuse_contradictions(sources: Sequence[SourceFolder], names: Mapping[str, str]) -> None:
    """Raise InputError where two folders hold other results for a study, or blocks that are cut differently.

    Torn blocks do not count, and neither do failed ones beside others. `names` are the cells' names in errors, by key.
    """
    streams = [_list_blocks(number, source) for number, source in enumerate(sources)]
    for together in _group_overlaps(heapq.merge(*streams)):
        last: SourceBlock | None = None
        for block in (block for block in together if block.ok):
            # Blocks that have nothing in common may stand here together beside one that failed and spans both.
            if last is None or block.first >= last.end:
                last = block
            elif block.address != last.address:
                raise InputError(_cut_differently(last, block, sources, names))
            elif block.checksum != last.checksum and (what := _difference(last, block, sources)):
                raise InputError(_contradiction(last, block, sources, names, what))


def _list_blocks(number: int, source: SourceFolder) -> Iterator[SourceBlock]:
    for *at, status, checksum, row in source.rows(_ADDRESSES):
        if row not in source.left_out:
            yield SourceBlock._make((*at, number, status == "ok", checksum, row))


def _group_overlaps(blocks: Iterable[SourceBlock]) -> Iterator[list[SourceBlock]]:
    """Gather blocks that have studies in common, one block after the other."""
    together: list[SourceBlock] = []
    place, end = None, 0
    for block in blocks:
        if block.place != place or block.first >= end:
            if len(together) > 1:
                yield together
            together, place, end = [], block.place, 0
        together.append(block)
        end = max(end, block.end)
    if len(together) > 1:
        yield together


def _difference(block: SourceBlock, other: SourceBlock, sources: Sequence[SourceFolder]) -> str | None:
    """State in which outcome two blocks differ; None where only how they were packed does."""
    first, second = (_block(sources[side.source], side.row) for side in (block, other))
    arrays, others = unpack(first.payload), unpack(second.payload)
    names = [name for name in {**arrays, **others} if not are_same(arrays.get(name), others.get(name))]
    if names:
        return names[0]
    return None if first.failures == second.failures else "reason for failed campaigns"


def _block(source: SourceFolder, row: int) -> Finished:
    (stored,) = source.rows(f"SELECT rowid, {COLUMNS} FROM blocks WHERE rowid = ?", row)  # noqa: S608
    return read_block(stored).block


def _contradiction(
    block: SourceBlock, other: SourceBlock, sources: Sequence[SourceFolder], names: Mapping[str, str], what: str
) -> str:
    first, second = (sources[side.source].folder for side in (block, other))
    campaign = f"{block.cell[:8]}{block.address.campaign(0).removeprefix('0')}"
    return (
        f"{names.get(block.cell, '')}{block.address}: {clip(first)} and {clip(second)} hold different results "
        f"({what}); `simlab verify {clip(first)} --replay {campaign}` tells whether the first is right; leave the "
        "other out"
    )


def _cut_differently(
    block: SourceBlock, other: SourceBlock, sources: Sequence[SourceFolder], names: Mapping[str, str]
) -> str:
    first, second = (sources[side.source].folder for side in (block, other))
    return (
        f"{names.get(block.cell, '')}{block.address}: {clip(first)} and {clip(second)} cut the same studies into "
        f"different blocks (of {block.n_studies} and of {other.n_studies}, see engine.block); leave one of them out"
    )


def copy(source: SourceFolder, into: SourceFolder, came: Callable[[Sequence[Finished]], None]) -> None:
    """Copy the blocks of a folder that `into` lacks, in batches; `came` is called with the blocks that it then has."""
    batch: list[Finished] = []
    size = 0
    for row in source.rows(f"SELECT rowid, {COLUMNS} FROM blocks"):  # noqa: S608 (no text from outside)
        read_row = read_block(row)
        # What was looked through has not changed since: nobody could write to it.
        if read_row.at in source.left_out or not read_row.sound:
            continue
        if _lacks(into, read_row.block):
            batch.append(read_row.block)
            size += len(read_row.block.payload)
        else:
            came([read_row.block])
        if len(batch) >= MOST_BLOCKS or size >= MOST_BYTES:
            _commit(batch, into, came)
            batch, size = [], 0
    if batch:
        _commit(batch, into, came)


def _commit(batch: Sequence[Finished], into: SourceFolder, came: Callable[[Sequence[Finished]], None]) -> None:
    with into.reading():
        into.book.record(batch)
    came(batch)


def _lacks(into: SourceFolder, block: Finished) -> bool:
    """True if a folder holds nothing of a block that is as good; one that failed is as good as one that failed."""
    at = block.address
    there = into.rows(
        "SELECT status FROM blocks WHERE cell = ? AND world = ? AND pool = ? AND draw = ?"
        " AND first < ? AND first + count > ?",
        *(at.cell, at.world, at.pool, at.draw, at.first + at.count, at.first),
    )
    return all(status == "failed" and not block.failed for (status,) in there)


@dataclass(slots=True)
class SourceFolder:
    """An open folder with its ledger; `left_out[row]` is why a block of it cannot be used."""

    folder: Path
    database: sqlite3.Connection
    book: Ledger
    left_out: dict[int, str] = field(default_factory=dict)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Report errors of SQLite while this folder is read."""
        with plain_errors(self.folder / FILE):
            yield

    def rows(self, query: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query of the folder's ledger, one by one."""
        with self.reading():
            # Not `yield from`, which would close the cursor of a generator that is left after its database.
            for row in self.database.execute(query, values):  # noqa: UP028
                yield row

    def look_through(self, declared: Mapping[str, BlockSchema]) -> list[LedgerRow]:
        """Find the blocks that cannot be used: torn ones, and those that are unlike what their cell declares.

        Raises InputError where the folder has blocks of cells that it does not know.
        """
        with self.reading():
            unusable = list(find_unusable(self.book, seen=self.book.is_seen(digest_installation()), declared=declared))
            torn = Counter(row.block.address.cell for row, _ in unusable)
            lost = [cell for cell, count in self.book.count_orphans().items() if count > torn.get(cell, 0)]
        if lost:
            raise InputError(f"{clip(self.folder)}: {len(lost)} of its cells are lost; {_MENDING}")
        self.left_out = {row.at: why for row, why in unusable}
        return [row for row, _ in unusable]


@contextmanager
def open_sources(out: Path, folders: Sequence[Path]) -> Iterator[tuple[SourceFolder | None, list[SourceFolder]]]:
    """Open the folder that others are merged into, where there is one, for writing, and the others for reading.

    Raises InputError for a folder that is named twice, under whatever name, that holds no sweep, that is damaged or
    of another schema, or to which a run is writing.
    """
    _refuse_twice(out, folders)
    _allow_files(len(folders))
    with ExitStack() as stack:
        sources = []
        for folder in folders:
            database = stack.enter_context(open_to_read(folder, whole=True))
            # What is read from here on is what was there at the beginning; who wants to write has to wait.
            database.execute("BEGIN")
            sources.append(_check_source(SourceFolder(folder, database, Ledger(database, folder))))
        into = None
        if (out / FILE).exists():
            database = stack.enter_context(open_alone(out))
            into = _check_source(SourceFolder(out, database, Ledger(database, out)))
        yield into, sources


def _check_source(source: SourceFolder) -> SourceFolder:
    with source.reading():
        if damaged := source.book.list_damaged():
            raise InputError(f"{clip(source.folder)}: {damaged[0]} is damaged in its {FILE}; {_MENDING}")
    return source


def _refuse_twice(out: Path, folders: Sequence[Path]) -> None:
    """Raise InputError where a folder would be merged with itself; links are followed."""
    named, seen = [out, *folders], dict[tuple[int, int], int]()
    for number, folder in enumerate(named):
        for path in (folder, folder / FILE):
            if not path.exists():
                continue
            status = path.stat()
            known = seen.setdefault((status.st_dev, status.st_ino), number)
            if known != number:
                raise InputError(_explain_twice(folder, named[known], out if known == 0 else None))


def _explain_twice(folder: Path, known: Path, out: Path | None) -> str:
    same = "" if folder == known else f": {clip(folder)} and {clip(known)} are one folder"
    if out is not None:
        return f"merge {clip(out)} with itself{same}; name in front the folder to merge into, then those to be merged"
    return f"{clip(folder)} is to be merged twice{same}; name it once"


def _allow_files(count: int) -> None:
    """Let this process have as many files open as there are ledgers; raise InputError where it may not."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * count + len(os.listdir("/dev/fd")) + SPARE_FILES
    if hard != resource.RLIM_INFINITY and wanted > hard:
        raise InputError(f"{count} folders are more than can be open at a time; merge some of them first")
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
