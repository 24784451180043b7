"""Merge folders of one sweep into one, which is then as if one run had filled it.

Call `merge` with the target and the source folders; it returns the counts of blocks and notes for the user (`Merged`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from simlab.engine.addresses import Finished
from simlab.engine.block_checks import read_schemas
from simlab.engine.continuation import position
from simlab.engine.ledger import Ledger, LedgerEntry, LedgerRow
from simlab.engine.ledger_file import SEALED, draft, open_alone
from simlab.engine.ledger_rows import Requests, cell_row
from simlab.engine.merging.sources import SourceFolder, copy, open_sources, refuse_contradictions
from simlab.engine.preparing import Failure, cell_names, failures
from simlab.engine.progress import progress
from simlab.engine.provenance import PROGRAM, UNKNOWN, digest_installation
from simlab.messages import clip, pluralise
from simlab.supervision import enter_phase
from simlab.types import InputError

MOST_SAID = 3
CELLS = f"SELECT {SEALED['cells']} FROM cells ORDER BY position"  # noqa: S608 (no text from outside)


@dataclass(frozen=True, slots=True)
class Merged:
    """Result of a merge: the number of `blocks` in the folder now, and of those that the merge added (`came`).

    `failures` and `failed_designs` (studies by reason) are of all that the folder holds, `notes` lines that a user
    should read; torn blocks are among these.
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

    `look` is called with a ledger of what the folder will declare, before anything is written, and may raise. Blocks
    that are in several folders are kept once; torn ones are left out and noted, failed ones replaced where another
    folder has them. Whoever is killed goes on with the same command.

    Raises InputError, before anything is written, where a folder is merged with itself, is none, is damaged or being
    written; where two hold other sweeps, were filled by other code (unless `allow_version`), hold different results
    for the same studies or have cut them differently.
    """
    if out.exists() and not out.is_dir():
        raise InputError(f"{clip(out)} cannot be made a folder (File exists); name another to merge into")
    with open_sources(out, folders) as (into, sources):
        known = [*([into] if into and into.book.declaration() is not None else []), *sources]
        refuse_other_code(known, allowed=allow_version)
        enter_phase("checking what is merged")
        with unite(known) as union:
            look(union.book)
            names, holds = cell_names(union.book), read_schemas(union.book)
            torn = [(source, source.look_through(holds)) for source in known]
            refuse_contradictions(known, names)
            enter_phase("writing blocks")
            with ExitStack() as stack:
                into = into or stack.enter_context(_start_ledger(out))
                return _write(union, sources, into, torn, finish, quiet=quiet)


@contextmanager
def _start_ledger(out: Path) -> Iterator[SourceFolder]:
    """Start the ledger of a new folder."""
    with open_alone(out) as database:
        book = Ledger(database, out)
        if book.declaration() is not None:
            raise InputError(f"{clip(out)} was filled by another run meanwhile; give the same command again")
        yield SourceFolder(out, database, book)


def _write(
    union: SourceFolder,
    sources: Sequence[SourceFolder],
    into: SourceFolder,
    torn: Sequence[tuple[SourceFolder, Sequence[LedgerRow]]],
    finish: Callable[[Ledger], Sequence[str]],
    *,
    quiet: bool,
) -> Merged:
    book, before = into.book, into.book.n_blocks()
    shards = _shards(into, sources)
    book.adopt(union.book.declaration() or {}, union.rows(CELLS), union.book.requests())
    note_versions(book, sources)
    kept = next((file for source in sources if (file := source.book.read_note("file"))), None)
    book.note(shards=shards, **({"file": kept} if kept else {}))
    for source, rows in torn:
        if source is into and rows:
            book.discard(rows)
    total = sum(sum(source.book.campaigns().values()) for source in sources)
    with progress(total, quiet=quiet) as advance:

        def record_blocks(several: Sequence[Finished]) -> None:
            advance(sum(block.address.count for block in several))

        for source in sources:
            copy(source, into, record_blocks)
    campaigns, wanted = book.shortfall()
    if shards and campaigns >= wanted:
        book.note(shards=[])
    notes = [*_describe_torn(torn), *finish(book)]
    n = book.n_blocks()
    return Merged(n, n - before, failures(book), book.failed_designs(), tuple(notes))


def _shards(into: SourceFolder, sources: Sequence[SourceFolder]) -> list[dict[str, Any]]:
    """List the shards that are merged; none where a folder that is to hold all of its sweep is among them."""
    folders = [source.book for source in sources]
    folders += [into.book] if into.book.declaration() is not None else []
    kept = [book.read_note("shards", []) for book in folders]
    if not all(kept):
        return []
    return list(
        {(shard["number"], shard["of"], shard["seal"]): shard for of_folder in kept for shard in of_folder}.values()
    )


def _describe_torn(torn: Sequence[tuple[SourceFolder, Sequence[LedgerRow]]]) -> list[str]:
    """State which folders have blocks that were left out."""
    lines = [_describe_left_out(source, rows) for source, rows in torn if rows]
    more = len(lines) - MOST_SAID
    return lines if more <= 0 else [*lines[:MOST_SAID], f"left out: blocks of {more} more folders"]


def _describe_left_out(source: SourceFolder, rows: Sequence[LedgerRow]) -> str:
    first = rows[0]
    return (
        f"left out: {pluralise(len(rows), 'block')} of {clip(source.folder)} ({first.block.address}: "
        f"{source.left_out[first.at]}); the command of the sweep computes them again"
    )


def refuse_other_code(sources: Sequence[SourceFolder], *, allowed: bool) -> None:
    """Raise InputError where folders were filled by different code, unless that is allowed."""
    filled = [source for source in sources if source.book.provenance()]
    if allowed or not filled:
        return
    first = filled[0]
    for source in filled:
        there, here = _versions(first.book), _versions(source.book)
        for name in there:
            if UNKNOWN in here[name]:
                raise InputError(
                    f"{clip(source.folder)} does not say any more which simlab filled it; leave it out, or give "
                    "--allow-version to merge it as it is"
                )
            if there[name] != here[name]:
                raise InputError(_different_code(name, first, there[name], source, here[name]))


def _versions(book: Ledger) -> dict[str, set[str]]:
    kept = book.provenance()
    versions = {name: {record.get(name, UNKNOWN) for record in kept} for name in PROGRAM}
    return versions | {"code": set(book.read_note("code", [])) or {UNKNOWN}}


def _different_code(name: str, first: SourceFolder, there: set[str], source: SourceFolder, here: set[str]) -> str:
    what = "the code of simlab" if name == "code" else name
    a, b = (" and ".join(sorted(version[:15] for version in values)) for values in (there, here))
    return (
        f"{clip(first.folder)} and {clip(source.folder)} were filled by different code ({what}: {a}, and {b}), "
        "which may give other numbers; fill them by one simlab, or give --allow-version to merge them as they are"
    )


def note_versions(book: Ledger, sources: Sequence[SourceFolder]) -> None:
    """Note the versions of all folders, the cells that were checked, and whether a sample is still to be repeated."""
    for source in sources:
        for versions in source.book.provenance():
            if versions not in book.provenance():
                book.note_provenance(versions)
        book.note_code(*source.book.read_note("code", []))
        book.note_known(digest_installation(), source.book.read_known(digest_installation()))
    if not all(source.book.read_note("sampled", True) for source in sources):
        book.note(sampled=False)


@contextmanager
def unite(sources: Sequence[SourceFolder]) -> Iterator[SourceFolder]:
    """Yield a temporary ledger with the joined declarations, cells and requests of folders, without a block.

    Raises InputError where one of them holds another sweep than those before it, or none.
    """
    first = sources[0].folder
    with closing(draft()) as database:
        union = SourceFolder(first, database, Ledger(database, first))
        for source in sources:
            _add(union, source)
        yield union


def _add(union: SourceFolder, source: SourceFolder) -> None:
    with source.reading():
        declared = source.book.declaration()
    if declared is None:
        raise InputError(f"{clip(source.folder)} holds no sweep yet: nothing of it was begun; leave it out")
    requests = source.book.requests()
    before = union.book.declaration()
    if before is None:
        union.book.adopt(declared, source.rows(CELLS), requests)
    elif before == declared and _same_cells(union, source):
        union.book.adopt(declared, (), requests)
    else:
        _grow(union, source, declared, requests)


def _same_cells(union: SourceFolder, source: SourceFolder) -> bool:
    """True if two ledgers have the same cells at the same places; keys say what determines their numbers."""
    pairs = zip_longest(union.rows(CELLS), source.rows(CELLS))
    return all(one and other and (one[:2], one[3]) == (other[:2], other[3]) for one, other in pairs)


def _grow(union: SourceFolder, source: SourceFolder, declared: Mapping[str, Any], requests: Requests) -> None:
    with source.reading():
        entries = source.book.entries()
    try:
        grown = union.book.extend_declaration(declared)
        placed = [_place_cell(entry, grown, declared) for entry in entries]
        union.book.check(grown["axes"], placed)
    except InputError as error:
        message = str(error).removesuffix("; give another --out")
        raise InputError(f"{clip(source.folder)}: {message}; merge folders of one sweep") from error
    union.book.adopt(grown, map(cell_row, placed), requests)


def _place_cell(entry: LedgerEntry, grown: Mapping[str, Any], declared: Mapping[str, Any]) -> LedgerEntry:
    """Find the place of a cell on the grid of the union."""
    values = [axis["values"][k] for axis, k in zip(declared["axes"], entry.position, strict=True)]
    return LedgerEntry(position(grown, declared, values), entry.cell, entry.config, entry.systems)
