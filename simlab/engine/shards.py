"""Divide the blocks of a sweep into shards, which separate machines carry out.

Call `missing_blocks` with the sizes of the whole sweep, its cells, the gaps and the shards, which yields addresses.
The shard of a block follows from the whole sweep alone, never from the content of a folder, so that it has one only. A
*place* of a sweep is a world with one pool of raters and one draw of documents; a *gap* are missing studies, `(first,
count)`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import product
from typing import Any, NamedTuple, TypeAlias

from simlab.engine.addresses import Address, cut
from simlab.messages import show
from simlab.types import InputError, Place

_WRITTEN = re.compile(r"([0-9]{1,9})/([0-9]{1,9})", re.ASCII)


class Shard(NamedTuple):
    """Part `number`, counted from 1, of `n_shards` parts of a sweep."""

    number: int
    n_shards: int

    def __str__(self) -> str:
        """Write it as it is typed."""
        return f"{self.number}/{self.n_shards}"


@dataclass(frozen=True, slots=True)
class SweepSizes:
    """Sizes of a whole sweep: worlds, pools and draws in each, studies in each of these, cells; studies of a block."""

    worlds: int
    pools: int
    draws: int
    studies: int
    cells: int
    block: int

    def places(self) -> Iterator[tuple[int, int, int]]:
        """Go through worlds, pools and draws of documents, in the order in which blocks are carried out."""
        return product(range(self.worlds), range(self.pools), range(self.draws))

    def cut(self, gap: tuple[int, int], shard: Shard | None, place: int, cell: int) -> Iterator[tuple[int, int]]:
        """Cut a gap of the numbered cell, at the numbered place, into blocks, as (first, count).

        For a shard it is cut where the blocks of the whole sweep are cut, and only what is the shard's is kept.
        """
        if shard is None:
            yield from cut(gap, self.block)
            return
        first, end = gap[0], sum(gap)
        for k in range(first // self.block, -(-end // self.block)):
            if self.owner(place, k, cell, shard.n_shards) == shard.number:
                begin = max(first, k * self.block)
                yield begin, min(end, (k + 1) * self.block) - begin

    def owners(self, gap: tuple[int, int], of: int, place: int, cell: int) -> set[int]:
        """Return the numbers of the shards (`of`: number of all) whose blocks lie in a gap."""
        first, end = gap[0], sum(gap)
        return {self.owner(place, k, cell, of) for k in range(first // self.block, -(-end // self.block))}

    def owner(self, place: int, k: int, cell: int, of: int) -> int:
        """Return the number of the shard (`of`: number of all) that has the k-th block of a cell at a place.

        What cells share of a study is worked out once, so the same studies of all cells stay together as long as there
        are enough of them for all shards. Of those that are left over cells are dealt out, each time beginning with
        another one: costs differ between cells, and every shard shall have some of each sort.
        """
        per_place = -(-self.studies // self.block)
        at, together = place * per_place + k, self.worlds * self.pools * self.draws * per_place
        if at < together - together % of:
            return at % of + 1
        return (cell + at * (self.cells % of or 1)) % of + 1

    def seal(self, cells: Iterable[str]) -> str:
        """Digest the facts that decide the blocks of a shard: the sizes, and the cells in their order."""
        sizes = [self.worlds, self.pools, self.draws, self.studies, self.block]
        sealed = blake2b(json.dumps(sizes).encode(), digest_size=16)
        for cell in cells:
            sealed.update(cell.encode())
        return sealed.hexdigest()


def read(text: str) -> Shard:
    """Read a shard as it is typed; raise InputError for what is none.

    >>> read("3/16")
    Shard(number=3, n_shards=16)
    """
    written = _WRITTEN.fullmatch(text.strip())
    if written is None:
        raise InputError(f"--shard {show(text)} names no shard; write I/N, such as 3/16, for the third of 16")
    shard = Shard(int(written[1]), int(written[2]))
    if shard.n_shards < 1 or not 1 <= shard.number <= shard.n_shards:
        raise InputError(
            f"--shard {show(text)} is none of {shard.n_shards} shards; they are counted from 1 to {shard.n_shards}"
        )
    return shard


def add_shard(shards: Sequence[Mapping[str, Any]], shard: Shard, seal: str) -> list[dict[str, Any]]:
    """Return the records of a folder's shards and one more; `seal` is the digest of its sweep, which may have grown."""
    others = [dict(one) for one in shards if (one["number"], one["of"]) != shard]
    return [*others, {"number": shard.number, "of": shard.n_shards, "seal": seal}]


def list_shards(shards: Iterable[Mapping[str, Any]]) -> list[Shard]:
    """List the shards that a folder holds, in their order."""
    return sorted({Shard(shard["number"], shard["of"]) for shard in shards}, key=lambda one: (one.n_shards, one.number))


def name_shards(shards: Sequence[Shard], most: int = 8) -> str:
    """Name shards in a line, at most the first `most` of them.

    >>> name_shards([Shard(2, 4), Shard(3, 4)]), name_shards([])
    ('shards 2/4 and 3/4', '')
    """
    if not shards:
        return ""
    shown_ones = [str(shard) for shard in shards[:most]]
    more = [f"{len(shards) - most} more"] if len(shards) > most else []
    *most_of_them, last = [*shown_ones, *more]
    names = f"{', '.join(most_of_them)} and {last}" if most_of_them else last
    return f"shard{'s' if len(shards) > 1 else ''} {names}"


Gaps: TypeAlias = Callable[[str, Place], Iterable[tuple[int, int]]]
"""Lists the missing studies of a cell (its key) at a place, as (first, count)."""


def missing_blocks(
    whole: SweepSizes, cells: Sequence[str], gaps: Gaps, shards: Sequence[Shard | None] = (None,)
) -> Iterator[Address]:
    """Cut the gaps of cells (keys) into blocks, place by place; yield addresses of those of some shards (None: all)."""
    for place, (world, pool, draw) in enumerate(whole.places()):
        for number, cell in enumerate(cells):
            for gap in gaps(cell, Place(world, pool, draw)):
                for shard in shards:
                    for first, count in whole.cut(gap, shard, place, number):
                        yield Address(cell, world, first, count, pool, draw)
