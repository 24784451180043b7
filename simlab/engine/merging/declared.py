"""Unite what folders declare, by the rules by which a folder grows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import zip_longest
from typing import Any

from simlab.engine.continuation import position
from simlab.engine.ledger import Entry, Ledger
from simlab.engine.ledger_file import SEALED, draft
from simlab.engine.ledger_rows import Requests, cell_row
from simlab.engine.merging.sources import Source
from simlab.messages import legible
from simlab.types import InputError

CELLS = f"SELECT {SEALED['cells']} FROM cells ORDER BY position"  # noqa: S608 (no text from outside)


@contextmanager
def united(sources: Sequence[Source]) -> Iterator[Source]:
    """Draft a ledger of all that folders declare and ask, without a block.

    Raises InputError where one of them holds another sweep than those before it, or none.
    """
    first = sources[0].folder
    with closing(draft()) as database:
        union = Source(first, database, Ledger(database, first))
        for source in sources:
            _add(union, source)
        yield union


def _add(union: Source, source: Source) -> None:
    with source.reading():
        declared = source.book.declaration()
    if declared is None:
        raise InputError(f"{legible(source.folder)} holds no sweep yet: nothing of it was begun; leave it out")
    asked = source.book.requests()
    before = union.book.declaration()
    if before is None:
        union.book.adopt(declared, source.rows(CELLS), asked)
    elif before == declared and _same_cells(union, source):
        union.book.adopt(declared, (), asked)
    else:
        _grow(union, source, declared, asked)


def _same_cells(union: Source, source: Source) -> bool:
    """Tell whether two ledgers have the same cells at the same places; keys say what determines their numbers."""
    pairs = zip_longest(union.rows(CELLS), source.rows(CELLS))
    return all(one and other and (one[:2], one[3]) == (other[:2], other[3]) for one, other in pairs)


def _grow(union: Source, source: Source, declared: Mapping[str, Any], asked: Requests) -> None:
    with source.reading():
        entries = source.book.entries()
    try:
        grown = union.book.grown(declared)
        placed = [_placed(entry, grown, declared) for entry in entries]
        union.book.check(grown["axes"], placed)
    except InputError as error:
        said = str(error).removesuffix("; give another --out")
        raise InputError(f"{legible(source.folder)}: {said}; merge folders of one sweep") from error
    union.book.adopt(grown, map(cell_row, placed), asked)


def _placed(entry: Entry, grown: Mapping[str, Any], declared: Mapping[str, Any]) -> Entry:
    """Find the place of a cell on the grid of the union."""
    values = [axis["values"][k] for axis, k in zip(declared["axes"], entry.position, strict=True)]
    return Entry(position(grown, declared, values), entry.cell, entry.config, entry.systems)


def write(union: Source, book: Ledger) -> None:
    """Let a ledger take in what a union declares, which holds all that the ledger does."""
    book.adopt(union.book.declaration() or {}, union.rows(CELLS), union.book.requests())
