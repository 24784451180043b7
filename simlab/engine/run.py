"""Carry out what a sweep is missing, block by block, on all cores; nothing that goes wrong in a block stops it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simlab.config.sweep import Cell, Sweep
from simlab.engine import ledger
from simlab.engine.addresses import Address, Finished, cut
from simlab.engine.block_checks import Fitting, refused, unusable
from simlab.engine.bounds import Memory, forecast_memory, refuse_many_blocks, refuse_memory
from simlab.engine.checking import CheckFunction, ShapeLike, shape_of
from simlab.engine.conclusions import campaign_bytes, foreign
from simlab.engine.continuation import cell_key, declare, position
from simlab.engine.dispatch import dispatch
from simlab.engine.ledger import Entry, Ledger, Record
from simlab.engine.limits import limits_of
from simlab.engine.machine import check_jobs
from simlab.engine.pool import Task
from simlab.engine.progress import progress
from simlab.engine.provenance import mixture, provenance, refuse_other_numbers
from simlab.engine.replaying import withdraw_what_does_not_come_again
from simlab.engine.workers import BlockFunction
from simlab.messages import shown
from simlab.supervision import entering
from simlab.types import InputError

LARGEST = 2 * 2**30


@dataclass(frozen=True, slots=True)
class Failure:
    """Name a block that failed, and why."""

    address: str
    reason: str


@dataclass(frozen=True, slots=True)
class Summary:
    """Hold what a run did now (cells, blocks, campaigns), and what is wrong in all that the folder holds.

    `notes` are lines that a user should read beside that.
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
class Checked:
    """Hold a cell whose keys agree with each other: its values on the axes, its key, config and systems."""

    values: tuple[Any, ...]
    cell: str
    config: Mapping[str, Any]
    systems: tuple[str, ...]

    def at(self, position: tuple[int, ...]) -> Entry:
        """Place the cell on a grid."""
        return Entry(position, self.cell, self.config, self.systems)


@dataclass(frozen=True, slots=True)
class Job:
    """Hold a sweep whose cells have been checked: what it declares, its cells, and the memory that a worker takes."""

    asked: dict[str, Any]
    cells: tuple[Checked, ...]
    memory: Memory | None = None


@dataclass(frozen=True, slots=True)
class Taken:
    """Hold what a ledger has taken in: cells, blocks to be carried out, how many were given up, lines for the user."""

    entries: list[Entry]
    tasks: list[Task]
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
) -> Summary:
    """Carry out what is missing of a sweep and keep it in the folder's ledger.

    `jobs` processes (None: as the config says, else one per core). `finish` is called at the end, while no other
    run can write to the folder; what it returns is noted. `allow_version` continues a folder whose numbers were
    computed by a simlab that gives others. Raises InputError, before anything is written, where the keys of a cell
    contradict each other, the sweep is too large, the folder holds another sweep or other numbers, or another run is
    at it.
    """
    began = time.monotonic()
    processes = jobs_of(sweep, jobs)
    job = prepare(sweep, check, processes)
    refuse_too_large(sweep, job)
    with ledger.writing(folder) as book:
        taken = take_in(sweep, job, book, allow_version=allow_version)
        if taken.tasks:
            entering("running blocks")
            fitting = Fitting(block or study_block(), _systems(taken.entries))
            _carry_out(taken.tasks, book, fitting, processes, engine_of(sweep), quiet)
        notes = taken.notes
        if finish is not None:
            entering("computing measures and laying the store", sweep.base.get("plugins", ()))
            notes += tuple(finish(book))
            book.mark_laid()
        campaigns = sum(task.address.count for task in taken.tasks)
        did = (len(taken.entries), len(taken.tasks), campaigns, time.monotonic() - began, taken.torn)
        return Summary(*did, failures(book), book.failed_designs(), notes)


def take_in(sweep: Sweep, job: Job, book: Ledger, *, allow_version: bool = False) -> Taken:
    """Let a ledger take in what is asked, and give up what of it cannot be used; return what is then to be done.

    Raises InputError, before anything is written, where the folder holds another sweep or other numbers.
    """
    now, before = provenance(), book.provenance()
    refuse_other_numbers(before, now, str(book.folder), allowed=allow_version)
    grown, entries = fit_in(job, book)
    mended, torn = book.damaged(), [row for row, _ in unusable(book)]
    if torn:
        book.discard(torn)
    book.admit(grown, entries, sweep.worlds, sweep.studies)
    tasks = missing(sweep, book, entries)
    if tasks or not before:
        book.note_provenance(now)
    notes = [_mended(mended)] if mended else []
    mixed = mixture(before, now) if tasks else None
    notes += [f"{book.folder} {mixed}"] if mixed else []
    return Taken(entries, tasks, len(torn), tuple(notes))


def _mended(records: Sequence[Record]) -> str:
    more = f" and {len(records) - 1} more" if len(records) > 1 else ""
    return f"damaged in the ledger: {records[0]}{more}; what this command asks for is written anew"


def prepare(sweep: Sweep, check: CheckFunction | None = None, jobs: int = 1) -> Job:
    """Check every cell of a sweep.

    Raises InputError where the keys of one contradict each other, and, before anything is drawn, where there are too
    many blocks or a world of `jobs` processes would not fit into memory.
    """
    refuse_many_blocks(sweep)
    entering("checking the cells", sweep.base.get("plugins", ()))
    cells = list(sweep.cells())
    memory = None
    if check is None:
        memory = forecast_memory([cell.config for cell in cells])
        refuse_memory(memory, jobs)
    checked = (
        Checked(cell.values, cell_key(cell.config), cell.config, names)
        for cell, names in zip(cells, _names(sweep, cells, check or _check_study), strict=True)
    )
    return Job(declare(sweep) | foreign([cell.config for cell in cells]), tuple(checked), memory)


def _names(sweep: Sweep, cells: Sequence[Cell], check: CheckFunction) -> list[tuple[str, ...]]:
    """Check cells world by world, so that each world is drawn once; return the systems of each."""
    names: dict[int, tuple[str, ...]] = {}
    for k in sorted(range(len(cells)), key=lambda k: _worlds_of(cells[k].config)):
        axes = zip(sweep.axes, cells[k].values, strict=True)
        where = ", ".join(f"{axis.name}={shown(value)}" for axis, value in axes)
        names[k] = tuple(shape_of(cells[k].config, where, check).system_names)
    return [names[k] for k in range(len(cells))]


def fit_in(job: Job, book: Ledger) -> tuple[dict[str, Any], list[Entry]]:
    """Find the sweep's place in what the ledger holds; raise InputError where it has none."""
    grown = book.grown(job.asked)
    entries = [cell.at(position(grown, job.asked, cell.values)) for cell in job.cells]
    book.check(grown["axes"], entries)
    return grown, entries


def missing(sweep: Sweep, book: Ledger | None, entries: Sequence[Entry]) -> list[Task]:
    """Cut what is not finished into blocks, world by world: a worker keeps a world for the next cell's block."""
    size = engine_of(sweep)["block"]
    cells = {entry.cell: entry.config for entry in entries}
    return [
        Task(Address(cell, world, first, count), config)
        for world in range(sweep.worlds)
        for cell, config in cells.items()
        for gap in (book.missing(cell, world, sweep.studies) if book else [(0, sweep.studies)])
        for first, count in cut(gap, size)
    ]


def failures(book: Ledger) -> tuple[Failure, ...]:
    """List the blocks that failed, cell by cell, with addresses as the user knows them."""
    failed = book.failed()
    return tuple(
        Failure(f"{name}{block.address}", block.reason)
        for cell, name in cell_names(book).items()
        for block in failed
        if block.address.cell == cell
    )


def cell_names(book: Ledger) -> dict[str, str]:
    """Name the cells by their values on the axes; a name ends in a comma where there are axes."""
    declared = book.declaration()
    axes = declared["axes"] if declared else []
    return {
        entry.cell: "".join(
            f"{axis['name']}={shown(axis['values'][k])}, " for axis, k in zip(axes, entry.position, strict=True)
        )
        for entry in (book.entries() if declared else [])
    }


def jobs_of(sweep: Sweep, jobs: int | None = None) -> int:
    """Return the number of processes: as asked, else from the config, else from the machine.

    Raises InputError for more than any use.
    """
    from joblib import cpu_count

    if jobs is not None:
        return check_jobs(jobs, f"--jobs {jobs}")
    configured = engine_of(sweep).get("jobs")
    return check_jobs(int(configured), f"engine.jobs={configured}") if configured else int(cpu_count())


def engine_of(sweep: Sweep) -> Mapping[str, Any]:
    """Return the engine's settings."""
    settings: Mapping[str, Any] = sweep.base["engine"]
    return settings


def outcome_bytes(sweep: Sweep, job: Job) -> int:
    """Estimate the size of a sweep's outcomes, uncompressed."""
    per_campaign = (campaign_bytes(cell.config, len(cell.systems)) for cell in job.cells)
    return sweep.worlds * sweep.studies * sum(per_campaign)


def refuse_too_large(sweep: Sweep, job: Job) -> None:
    """Raise InputError where the outcomes would not fit comfortably into a store."""
    size = outcome_bytes(sweep, job)
    if size > LARGEST and job.asked["outcomes"]:
        raise InputError(
            f"the outcomes of {len(job.cells)} cells x {sweep.worlds} worlds x {sweep.studies} studies take "
            f"{size / 2**30:.1f} GiB, more than {LARGEST / 2**30:.0f}; ask for less, or set engine.outcomes=false to "
            "store the measures only"
        )


def study_block() -> BlockFunction:
    """Return the function that carries out a block of studies."""
    from simlab.studies.blocks import run_block

    return run_block


def _systems(entries: Sequence[Entry]) -> int | None:
    """Count the systems of all cells; None where they differ."""
    counts = {len(entry.systems) for entry in entries}
    return counts.pop() if len(counts) == 1 else None


def _check_study(config: Mapping[str, Any]) -> ShapeLike:
    from simlab.studies.checks import check

    return check(config)


def _worlds_of(config: Mapping[str, Any]) -> str:
    from simlab.studies.worlds import address

    return address(config)


def _carry_out(
    tasks: Sequence[Task], book: Ledger, block: Fitting, jobs: int, engine: Mapping[str, Any], quiet: bool
) -> None:
    total = sum(task.address.count for task in tasks)
    # Only where cells have different numbers of systems is a block looked at twice.
    sizes = {} if block.n_systems else {entry.cell: len(entry.systems) for entry in book.entries()}
    with progress(total, quiet=quiet) as advance:

        def accept(finished: Finished) -> None:
            book.record(refused(finished, sizes))
            advance(finished.address.count)

        dispatch(block, tasks, jobs, limits_of(engine), accept)
    withdraw_what_does_not_come_again(tasks, book, block, jobs, limits_of(engine))
