"""Simulate the missing campaigns of a sweep, block by block, on all cores; a failing block does not stop it.

Call `run` with a sweep and a folder, which returns a `RunSummary`: it checks the cells (`prepare`), opens the folder's
ledger, adds the cells and sizes wanted to it (`take_in`), carries out the missing blocks, and repeats a sample of them
(`sample_again`).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simlab.config.sweep import Sweep
from simlab.engine import ledger
from simlab.engine.addresses import Finished
from simlab.engine.backends import Backend, open_backend
from simlab.engine.block_checks import Fitting, check_system_count, find_unusable
from simlab.engine.continuation import positions
from simlab.engine.dispatch import dispatch
from simlab.engine.ledger import Ledger, LedgerEntry, UnsoundRow
from simlab.engine.ledger_file import lost_ledger
from simlab.engine.preparing import (
    CheckFunction,
    Failure,
    PreparedSweep,
    count_jobs,
    engine_settings,
    failures,
    prepare,
    read_known,
    refuse_too_large,
)
from simlab.engine.progress import Remaining, progress
from simlab.engine.provenance import LOST, code_digest, digest_installation, provenance, refuse_other_program
from simlab.engine.replays import withdraw_what_does_not_come_again
from simlab.engine.shards import Shard, SweepSizes, add_shard, missing_blocks
from simlab.engine.workers import BlockFunction, BlockTask, read_limits
from simlab.supervision import enter_phase
from simlab.types import Place


@dataclass(frozen=True, slots=True)
class RunSummary:
    """Summary of a run: its cells, blocks and campaigns, and the failures in all that the folder holds.

    `blocks` and `campaigns` count those of this run, `torn` the damaged blocks that were given up; `notes` are lines
    for the user.
    """

    cells: int
    blocks: int
    campaigns: int
    seconds: float
    torn: int
    failures: tuple[Failure, ...]
    failed_designs: Mapping[str, int]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LedgerWork:
    """Work that a ledger has taken in: cells, blocks to be carried out, number of torn ones given up, notes.

    Of the blocks that are `unsampled` some are to be carried out again: those of this run, and of one that was killed
    before it came to that.
    """

    entries: list[LedgerEntry]
    tasks: list[BlockTask]
    unsampled: list[BlockTask]
    torn: int
    notes: tuple[str, ...]


def run(
    sweep: Sweep,
    folder: Path,
    jobs: int | None = None,
    *,
    block: BlockFunction | None = None,
    check: CheckFunction | None = None,
    quiet: bool = False,
    allow_version: bool = False,
    finish: Callable[[Ledger], Sequence[str]] | None = None,
    shard: Shard | None = None,
) -> RunSummary:
    """Carry out the missing blocks of a sweep, or of a `shard` of it, and keep them in the folder's ledger.

    `block` carries out a block and `check` checks a cell (None: those of studies), by `jobs` processes (None: as the
    config says, else one per core). `finish` is called at the end, while no other
    run can write to the folder; the lines that it returns are added to the notes. `allow_version` continues a folder
    whose numbers were computed by a simlab that gives others. Raises InputError, before anything is written, where the
    keys of a cell contradict each other, the sweep is too large, the folder holds another sweep or other numbers, or
    another run is at it.
    """
    began = time.monotonic()
    processes = count_jobs(sweep, jobs)
    job = prepare(sweep, check, processes, read_known(folder))
    refuse_too_large(sweep, job, folder)
    with (
        prepare_backend(job, sweep, folder, processes, quiet=quiet) as backend,
        open_for_sweep(job, folder, allow_version) as book,
    ):
        taken = take_in(sweep, job, book, allow_version=allow_version, shard=shard)
        enter_phase("running blocks")
        fitting = make_fitting(block, taken.entries)
        if taken.tasks:
            carry_out(taken.tasks, book, fitting, backend, engine_settings(sweep), quiet)
        sample_again(taken.unsampled, book, taken.entries, fitting, backend, engine_settings(sweep))
        book.note_seen(digest_installation())
        return finish_run(sweep, book, taken, finish, began)


def finish_run(
    sweep: Sweep, book: Ledger, taken: LedgerWork, finish: Callable[[Ledger], Sequence[str]] | None, began: float
) -> RunSummary:
    """Lay the store, if `finish` does that, and sum up a run that began at a monotonic time."""
    notes = taken.notes
    if finish is not None:
        enter_phase("computing measures and laying the store", sweep.base.get("plugins", ()))
        notes += tuple(finish(book))
    campaigns = sum(task.address.count for task in taken.tasks)
    did = (len(taken.entries), len(taken.tasks), campaigns, time.monotonic() - began, taken.torn)
    return RunSummary(*did, failures(book), book.failed_designs(), notes)


def open_for_sweep(job: PreparedSweep, folder: Path, allow_version: bool) -> AbstractContextManager[Ledger]:
    """Open the ledger of a folder for a sweep; of a damaged file what can be read is kept, if it is of that sweep."""

    def look(book: Ledger) -> None:
        *_, entries = _find_place(job, book, allow_version=allow_version)
        if book.is_damaged("sweep") or book.declaration() is None:
            # Without a declaration only the cells tell that it is this sweep's.
            cells = {*book.cells().values(), *(cell for cell, _ in book.campaigns())}
            if cells.isdisjoint(entry.cell for entry in entries):
                raise lost_ledger(folder / ledger.FILE, "what its sweep is cannot be read")

    return ledger.open_to_write(folder, look)


def _find_place(
    job: PreparedSweep, book: Ledger, *, allow_version: bool
) -> tuple[list[str], dict[str, Any], list[LedgerEntry]]:
    """Find the sweep's place in what a ledger holds, and lines for the user; raise InputError where it has none."""
    return refuse_other_program(book, allowed=allow_version), *fit_in(job, book)


@contextmanager
def prepare_backend(job: PreparedSweep, sweep: Sweep, folder: Path, jobs: int, *, quiet: bool) -> Iterator[Backend]:
    """Open the backend that carries out blocks; for a new folder it must be ready before anything is written."""
    with open_backend(engine_settings(sweep), jobs, quiet=quiet) as backend:
        if not (folder / ledger.FILE).exists():
            backend.begin(cell.config for cell in job.cells)
        yield backend


def sample_again(
    unsampled: Sequence[BlockTask],
    book: Ledger,
    entries: Sequence[LedgerEntry],
    fitting: Fitting,
    backend: Backend,
    engine: Mapping[str, Any],
) -> None:
    """Carry out some of these blocks again, and withdraw those that do not come out the same."""
    if not unsampled:
        return
    withdraw_what_does_not_come_again(unsampled, book, fitting, backend, read_limits(engine))
    # Cells that this command did not ask for are left to one that does: nothing that a file says is run.
    book.note(sampled=set(book.cells().values()) <= {entry.cell for entry in entries})


def take_in(
    sweep: Sweep, job: PreparedSweep, book: Ledger, *, allow_version: bool = False, shard: Shard | None = None
) -> LedgerWork:
    """Let a ledger take in a sweep, and give up blocks that cannot be used; return the work that is left.

    Raises InputError, before anything is written, where the folder holds another sweep, or what another program filled.
    """
    before, now, has_cells = book.provenance(), provenance(), bool(book.cells())
    mixed, grown, entries = _find_place(job, book, allow_version=allow_version)
    mended, torn = (
        book.list_damaged(),
        [row for row, _ in find_unusable(book, seen=book.is_seen(digest_installation()))],
    )
    if torn:
        book.discard(torn)
    if shard is None or not has_cells or book.read_note("shards", []):
        # A folder that was asked for a whole sweep goes on to hold that.
        book.note(shards=_shards(book, sweep_sizes(sweep, entries), entries, shard))
    book.admit(grown, entries, {entry.cell: (sweep.worlds, sweep.studies) for entry in entries})
    book.note_known(digest_installation(), job.known)
    if sweep.file:
        book.note(file=sweep.file)
    tasks = list_missing(sweep, book, entries, shard)
    if tasks or torn:
        book.mark_stale()
    if tasks or not before:
        book.note_provenance(now)
        book.note_code(code_digest())
    elif before == [LOST]:
        book.note_provenance(LOST)
    lost = f", {len(tasks):,} that are lost or were never there are computed now"
    notes = book.salvaged._replace(blocks=book.n_blocks()).describe(lost) if book.salvaged else []
    notes += [_describe_damage(mended)] if mended else []
    notes += mixed if tasks else []
    return LedgerWork(entries, tasks, _list_unsampled(tasks, entries, book), len(torn), tuple(notes))


def _list_unsampled(tasks: list[BlockTask], entries: Sequence[LedgerEntry], book: Ledger) -> list[BlockTask]:
    owed = (
        []
        if book.read_note("sampled", True)
        else [BlockTask(at, entry.config) for entry in entries for at in book.addresses(entry.cell)]
    )
    if tasks and not owed:
        book.note(sampled=False)
    return [*tasks, *owed]


def _describe_damage(records: Sequence[UnsoundRow]) -> str:
    more = f" and {len(records) - 1} more" if len(records) > 1 else ""
    return f"damaged in the ledger: {records[0]}{more}; what this command asks for is written anew"


def fit_in(job: PreparedSweep, book: Ledger) -> tuple[dict[str, Any], list[LedgerEntry]]:
    """Return the folder's grown declaration and the sweep's cells on its grid; raise InputError where they misfit."""
    grown = book.extend_declaration(job.declaration)
    place = positions(grown, job.declaration)
    entries = [cell.place_on_grid(place(cell.values)) for cell in job.cells]
    book.check(grown["axes"], entries)
    return grown, entries


def list_missing(
    sweep: Sweep, book: Ledger | None, entries: Sequence[LedgerEntry], shard: Shard | None = None
) -> list[BlockTask]:
    """Cut the unfinished studies into blocks, world by world, the same studies of all cells in a row.

    With a shard only its own blocks are returned, cut as those of the whole sweep are.
    """
    cells = {entry.cell: entry.config for entry in entries}

    def gaps(cell: str, at: Place) -> list[tuple[int, int]]:
        return book.find_gaps(cell, at, sweep.studies) if book else [(0, sweep.studies)]

    blocks = missing_blocks(sweep_sizes(sweep, entries), list(cells), gaps, [shard])
    # What cells share of a study is worked out once while it is carried out in all of them.
    return [BlockTask(at, cells[at.cell]) for at in sorted(blocks, key=lambda at: at.order)]


def sweep_sizes(sweep: Sweep, entries: Sequence[LedgerEntry]) -> SweepSizes:
    """Return the sizes of a whole sweep, which decide the shard of each block."""
    cells = len({entry.cell for entry in entries})
    return SweepSizes(
        sweep.worlds, sweep.pools, sweep.document_draws, sweep.studies, cells, engine_settings(sweep)["block"]
    )


def _shards(
    book: Ledger, whole: SweepSizes, entries: Sequence[LedgerEntry], shard: Shard | None
) -> list[dict[str, Any]]:
    """Return which shards a folder holds from now on; none where all of its sweep is asked for."""
    return (
        []
        if shard is None
        else add_shard(book.read_note("shards", []), shard, whole.seal(dict.fromkeys(e.cell for e in entries)))
    )


def study_block() -> BlockFunction:
    """Return the function that carries out a block of studies."""
    from simlab.studies.blocks import run_block

    return run_block


def make_fitting(block: BlockFunction | None, entries: Sequence[LedgerEntry]) -> Fitting:
    """Return the function that carries out blocks: those of studies unless another is given."""
    counts = {len(entry.systems) for entry in entries}
    n_systems = counts.pop() if len(counts) == 1 else None
    if block is not None:
        return Fitting(block, n_systems)
    from simlab.studies.blocks import run_blocks

    return Fitting(study_block(), n_systems, run_blocks)


def carry_out(
    tasks: Sequence[BlockTask], book: Ledger, block: Fitting, backend: Backend, engine: Mapping[str, Any], quiet: bool
) -> None:
    """Carry out blocks in worker processes, and keep each as it is finished."""
    total = sum(task.address.count for task in tasks)
    # Only where cells have different numbers of systems is a block looked at twice.
    sizes = {} if block.n_systems else {entry.cell: len(entry.systems) for entry in book.entries()}
    todo = Counter[str]()
    for task in tasks:
        todo[task.address.cell] += task.address.count
    backend.begin(task.config for task in tasks)
    remaining = Remaining(todo, min(backend.workers, len(tasks)))
    with progress(total, quiet=quiet, left=remaining.seconds) as advance:

        def accept(finished: Sequence[Finished]) -> None:
            book.record([check_system_count(block, sizes) for block in finished])
            remaining.record_blocks(finished)
            advance(sum(block.address.count for block in finished))

        dispatch(block, tasks, backend, read_limits(engine), accept)
