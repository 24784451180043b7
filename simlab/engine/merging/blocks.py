"""Compare the blocks of all folders in the order of their addresses, and copy those that are lacking."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from simlab.engine.addresses import Address, Finished, unpack
from simlab.engine.ledger_file import COLUMNS
from simlab.engine.ledger_rows import read_block
from simlab.engine.merging.sources import Source
from simlab.engine.replaying import same
from simlab.messages import legible
from simlab.types import InputError

MOST_BLOCKS, MOST_BYTES = 1000, 16 * 2**20
"""Blocks are committed as soon as there are so many, or so many bytes of them."""

_ADDRESSES = (
    "SELECT cell, world, pool, draw, first, count, status, checksum, rowid FROM blocks"
    " ORDER BY cell, world, pool, draw, first, count"
)


class Held(NamedTuple):
    """Name a block that a folder holds, in the order in which blocks are compared; `row` is where it stands there."""

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
        """Number the study behind the last one."""
        return self.first + self.n_studies

    @property
    def address(self) -> Address:
        """Name the block."""
        return Address(self.cell, self.world, self.first, self.n_studies, self.pool, self.draw)


def refuse_contradictions(sources: Sequence[Source], names: Mapping[str, str]) -> None:
    """Raise InputError where two folders hold other results for a study, or blocks that are cut differently.

    Torn blocks do not count, and neither do failed ones beside others. `names` name the cells.
    """
    streams = [_held(number, source) for number, source in enumerate(sources)]
    for together in _overlapping(heapq.merge(*streams)):
        last: Held | None = None
        for one in (one for one in together if one.ok):
            # Blocks that have nothing in common may stand here together beside one that failed and spans both.
            if last is None or one.first >= last.end:
                last = one
            elif one.address != last.address:
                raise InputError(_cut_differently(last, one, sources, names))
            elif one.checksum != last.checksum and (what := _difference(last, one, sources)):
                raise InputError(_contradiction(last, one, sources, names, what))


def _held(number: int, source: Source) -> Iterator[Held]:
    for *at, status, checksum, row in source.rows(_ADDRESSES):
        if row not in source.left_out:
            yield Held._make((*at, number, status == "ok", checksum, row))


def _overlapping(blocks: Iterable[Held]) -> Iterator[list[Held]]:
    """Gather blocks that have studies in common, one block after the other."""
    together: list[Held] = []
    place, end = None, 0
    for one in blocks:
        if one.place != place or one.first >= end:
            if len(together) > 1:
                yield together
            together, place, end = [], one.place, 0
        together.append(one)
        end = max(end, one.end)
    if len(together) > 1:
        yield together


def _difference(one: Held, other: Held, sources: Sequence[Source]) -> str | None:
    """Say in which outcome two blocks differ; None where only how they were packed does."""
    first, second = (_block(sources[held.source], held.row) for held in (one, other))
    arrays, others = unpack(first.payload), unpack(second.payload)
    names = [name for name in {**arrays, **others} if not same(arrays.get(name), others.get(name))]
    if names:
        return names[0]
    return None if first.failures == second.failures else "reason for failed campaigns"


def _block(source: Source, row: int) -> Finished:
    (held,) = source.rows(f"SELECT rowid, {COLUMNS} FROM blocks WHERE rowid = ?", row)  # noqa: S608
    return read_block(held).block


def _contradiction(one: Held, other: Held, sources: Sequence[Source], names: Mapping[str, str], what: str) -> str:
    first, second = (sources[held.source].folder for held in (one, other))
    campaign = f"{one.cell[:8]}{one.address.campaign(0).removeprefix('0')}"
    return (
        f"{names.get(one.cell, '')}{one.address}: {legible(first)} and {legible(second)} hold different results "
        f"({what}); `simlab verify {legible(first)} --replay {campaign}` tells whether the first is right; leave the "
        "other out"
    )


def _cut_differently(one: Held, other: Held, sources: Sequence[Source], names: Mapping[str, str]) -> str:
    first, second = (sources[held.source].folder for held in (one, other))
    return (
        f"{names.get(one.cell, '')}{one.address}: {legible(first)} and {legible(second)} cut the same studies into "
        f"different blocks (of {one.n_studies} and of {other.n_studies}, see engine.block); leave one of them out"
    )


def copy(source: Source, into: Source, came: Callable[[Sequence[Finished]], None]) -> None:
    """Copy the blocks of a folder that another lacks, a batch at a time; `came` is told of all that is then there."""
    batch: list[Finished] = []
    size = 0
    for row in source.rows(f"SELECT rowid, {COLUMNS} FROM blocks"):  # noqa: S608 (no text from outside)
        held = read_block(row)
        # What was looked through has not changed since: nobody could write to it.
        if held.at in source.left_out or not held.sound:
            continue
        if _lacks(into, held.block):
            batch.append(held.block)
            size += len(held.block.payload)
        else:
            came([held.block])
        if len(batch) >= MOST_BLOCKS or size >= MOST_BYTES:
            _commit(batch, into, came)
            batch, size = [], 0
    if batch:
        _commit(batch, into, came)


def _commit(batch: Sequence[Finished], into: Source, came: Callable[[Sequence[Finished]], None]) -> None:
    with into.reading():
        into.book.record(batch)
    came(batch)


def _lacks(into: Source, block: Finished) -> bool:
    """Tell whether a folder holds nothing of a block that is as good; one that failed is as good as one that failed."""
    at = block.address
    there = into.rows(
        "SELECT status FROM blocks WHERE cell = ? AND world = ? AND pool = ? AND draw = ?"
        " AND first < ? AND first + count > ?",
        *(at.cell, at.world, at.pool, at.draw, at.first + at.count, at.first),
    )
    return all(status == "failed" and not block.failed for (status,) in there)
