"""Merge folders of one sweep into one, which is then as if one run had filled it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simlab.engine.addresses import Finished
from simlab.engine.block_checks import declared_in
from simlab.engine.failures import Failure, cell_names, failures
from simlab.engine.ledger import Ledger, Row
from simlab.engine.ledger_file import opened_alone
from simlab.engine.merging import blocks, declared, versions
from simlab.engine.merging.sources import Source, opened
from simlab.engine.progress import progress
from simlab.messages import legible, several
from simlab.supervision import entering
from simlab.types import InputError

MOST_SAID = 3


@dataclass(frozen=True, slots=True)
class Merged:
    """Hold what a merge came to: blocks that are there now, those of them that came.

    `failures` are of all that the folder holds, `notes` lines that a user should read; torn blocks are among these.
    """

    blocks: int
    came: int
    failures: tuple[Failure, ...]
    failed_designs: dict[str, int]
    notes: tuple[str, ...]
    torn: int = 0


def merge(
    out: Path,
    folders: Sequence[Path],
    *,
    allow_version: bool = False,
    quiet: bool = False,
    look: Callable[[Ledger], Any] = lambda book: None,
    finish: Callable[[Ledger], Sequence[str]] = lambda book: (),
) -> Merged:
    """Merge folders into one, a new one or one that holds some of the same sweep; `finish` it while nobody else can.

    `look` is shown what the folder will declare, before anything is written, and may refuse it. Blocks that are in
    several folders are kept once; torn ones are left out and noted, failed ones replaced where another folder has
    them. Whoever is killed goes on with the same command.

    Raises InputError, before anything is written, where a folder is merged with itself, is none, is damaged or being
    written; where two hold other sweeps, were filled by other code (unless `allow_version`), hold different results
    for the same studies or have cut them differently.
    """
    _refuse_file(out)
    with opened(out, folders) as (into, sources):
        known = [*([into] if into and into.book.declaration() is not None else []), *sources]
        versions.refuse_other_code(known, allowed=allow_version)
        entering("checking what is merged")
        with declared.united(known) as union:
            look(union.book)
            names, holds = cell_names(union.book), declared_in(union.book)
            torn = [(source, source.look_through(holds)) for source in known]
            blocks.refuse_contradictions(known, names)
            entering("writing blocks")
            with ExitStack() as stack:
                into = into or stack.enter_context(_started(out))
                return _write(union, sources, into, torn, finish, quiet=quiet)


def _refuse_file(out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise InputError(f"{legible(out)} cannot be made a folder (File exists); name another to merge into")


@contextmanager
def _started(out: Path) -> Iterator[Source]:
    """Start the ledger of a new folder."""
    with opened_alone(out) as database:
        book = Ledger(database, out)
        if book.declaration() is not None:
            raise InputError(f"{legible(out)} was filled by another run meanwhile; give the same command again")
        yield Source(out, database, book)


def _write(
    union: Source,
    sources: Sequence[Source],
    into: Source,
    torn: Sequence[tuple[Source, Sequence[Row]]],
    finish: Callable[[Ledger], Sequence[str]],
    *,
    quiet: bool,
) -> Merged:
    book, before = into.book, into.book.n_blocks()
    shards = _shards(into, sources)
    declared.write(union, book)
    versions.note(book, sources)
    book.note(shards=shards)
    for source, rows in torn:
        if source is into and rows:
            book.discard(rows)
    total = sum(sum(source.book.campaigns().values()) for source in sources)
    with progress(total, quiet=quiet) as advance:

        def came(several: Sequence[Finished]) -> None:
            advance(sum(one.address.count for one in several))

        for source in sources:
            blocks.copy(source, into, came)
    campaigns, wanted = book.shortfall()
    if shards and campaigns >= wanted:
        book.note(shards=[])
    notes = [*_torn(torn), *finish(book)]
    n = book.n_blocks()
    return Merged(n, n - before, failures(book), book.failed_designs(), tuple(notes))


def _shards(into: Source, sources: Sequence[Source]) -> list[dict[str, Any]]:
    """List the shards that are merged; none where a folder that is to hold all of its sweep is among them."""
    folders = [source.book for source in sources]
    folders += [into.book] if into.book.declaration() is not None else []
    kept = [book.noted("shards", []) for book in folders]
    if not all(kept):
        return []
    return list({(one["number"], one["of"], one["seal"]): one for of_folder in kept for one in of_folder}.values())


def _torn(torn: Sequence[tuple[Source, Sequence[Row]]]) -> list[str]:
    """Say which folders have blocks that were left out."""
    lines = [_left_out(source, rows) for source, rows in torn if rows]
    more = len(lines) - MOST_SAID
    return lines if more <= 0 else [*lines[:MOST_SAID], f"left out: blocks of {more} more folders"]


def _left_out(source: Source, rows: Sequence[Row]) -> str:
    first = rows[0]
    return (
        f"left out: {several(len(rows), 'block')} of {legible(source.folder)} ({first.block.address}: "
        f"{source.left_out[first.at]}); the command of the sweep computes them again"
    )
