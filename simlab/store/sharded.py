"""Say what a folder of shards should hold: its own blocks, not those that other machines carry out."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from simlab.engine.addresses import Address
from simlab.engine.asked import crossed_in
from simlab.engine.ledger import Ledger
from simlab.engine.shards import Shard, Whole, lacking, named
from simlab.types import Place


def shards_in(book: Ledger) -> list[Shard]:
    """List the shards that a folder is to hold; none where it is to hold all of its sweep."""
    return named(book.noted("shards", []))


def missing(book: Ledger) -> Iterator[Address]:
    """Go through the blocks that the shards of a folder lack, those that failed left out.

    Of a shard of a sweep that has grown since nobody can tell what it lacks.
    """
    whole, cells = _whole(book), list(dict.fromkeys(entry.cell for entry in book.entries()))
    if whole is None:
        return iter(())
    seal = whole.seal(cells)
    known = named(one for one in book.noted("shards", []) if one["seal"] == seal)
    return lacking(whole, cells, known, partial(_gaps, book, whole.studies))


def incomplete(book: Ledger) -> list[Shard]:
    """List the shards of whose blocks a folder lacks some; nothing where nobody can tell."""
    whole, shards = _whole(book), named(book.noted("shards", []))
    cells = list(dict.fromkeys(entry.cell for entry in book.entries()))
    seals = {one["seal"] for one in book.noted("shards", [])}
    if whole is None or len({shard.of for shard in shards}) != 1 or seals != {whole.seal(cells)}:
        return []
    of = shards[0].of
    numbers = {
        number
        for place, at in enumerate(whole.places())
        for k, cell in enumerate(cells)
        for gap in _gaps(book, whole.studies, cell, Place(*at))
        for number in whole.owners(gap, of, place, k)
    }
    return [Shard(number, of) for number in sorted(numbers)]


def _gaps(book: Ledger, studies: int, cell: str, at: Place) -> list[tuple[int, int]]:
    return book.missing(cell, at, studies, failed=False)


def _whole(book: Ledger) -> Whole | None:
    """Read the sizes of the whole sweep; None for an empty folder."""
    declared, entries = book.declaration(), book.entries()
    if declared is None or not entries:
        return None
    crossed = crossed_in(declared)
    pools, draws = (max(pair[k] for pair in crossed) + 1 for k in (0, 1))
    cells, block = len({entry.cell for entry in entries}), entries[0].config["engine"]["block"]
    return Whole(declared["worlds"], pools, draws, declared["studies"], cells, block)
