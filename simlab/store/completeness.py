"""List what a folder lacks of what was asked of it: of its sweep, or of the shards that it is to hold."""

from __future__ import annotations

from dataclasses import replace

from simlab.engine.addresses import Address
from simlab.engine.ledger import Ledger
from simlab.engine.ledger_rows import crossed_in
from simlab.engine.shards import Shard, Whole, missing_blocks, named
from simlab.types import Place


def shards_in(book: Ledger) -> list[Shard]:
    """List the shards that a folder is to hold; none where it is to hold all of its sweep."""
    return named(book.noted("shards", []))


def missing(book: Ledger) -> list[Address]:
    """List the blocks that a folder lacks, cell by cell, failed ones left out; without shards gaps are not cut.

    Of a shard of a sweep that has grown since nobody can tell what it lacks.
    """
    whole, cells, noted = _whole(book), _cells(book), book.noted("shards", [])
    if whole is None:
        return []
    shards: list[Shard] | list[None] = [None]
    wanted = dict.fromkeys(cells, [whole.studies] * whole.worlds)
    if noted:
        seal = whole.seal(cells)
        shards = named(one for one in noted if one["seal"] == seal)
    else:
        whole, asked = replace(whole, block=whole.studies), book.wanted()
        wanted = {cell: asked.of_worlds(cell) for cell in cells}

    def gaps(cell: str, at: Place) -> list[tuple[int, int]]:
        studies = wanted[cell]
        return book.missing(cell, at, studies[at.world], failed=False) if at.world < len(studies) else []

    number = {cell: k for k, cell in enumerate(cells)}
    return sorted(missing_blocks(whole, cells, gaps, shards), key=lambda at: number[at.cell])


def incomplete(book: Ledger) -> list[Shard]:
    """List the shards of whose blocks a folder lacks some; nothing where nobody can tell."""
    whole, cells, noted = _whole(book), _cells(book), book.noted("shards", [])
    shards, seals = named(noted), {one["seal"] for one in noted}
    if whole is None or len({shard.of for shard in shards}) != 1 or seals != {whole.seal(cells)}:
        return []
    of = shards[0].of
    numbers = {
        number
        for place, at in enumerate(whole.places())
        for k, cell in enumerate(cells)
        for gap in book.missing(cell, Place(*at), whole.studies, failed=False)
        for number in whole.owners(gap, of, place, k)
    }
    return [Shard(number, of) for number in sorted(numbers)]


def _cells(book: Ledger) -> list[str]:
    return list(dict.fromkeys(book.cells().values()))


def _whole(book: Ledger) -> Whole | None:
    """Read the sizes of the whole sweep; None for an empty folder."""
    declared, entries = book.declaration(), book.entries()
    if declared is None or not entries:
        return None
    crossed = crossed_in(declared)
    pools, draws = (max(pair[k] for pair in crossed) + 1 for k in (0, 1))
    block = entries[0].config.get("engine", {}).get("block", declared["studies"])
    return Whole(declared["worlds"], pools, draws, declared["studies"], len(_cells(book)), block)
