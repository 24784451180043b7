"""Carry out only the cells of a grid that locate where a measure crosses a value, chosen round by round.

Call `run` with a sweep, a folder and two functions, `look` (measures a cell) and `choose` (returns the worlds of each
cell wanted next, by the estimates so far); it returns a `RunSummary`. An interrupted run comes to the same cells. The
cells are those of the whole grid, so a grid that is asked for later finds them there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from simlab.config.sweep import Sweep
from simlab.engine.allocation import replace_sizes
from simlab.engine.backends import Backend
from simlab.engine.block_checks import Fitting
from simlab.engine.continuation import declare
from simlab.engine.ledger import Ledger, LedgerEntry
from simlab.engine.precision_rounds import CellMeasurer
from simlab.engine.preparing import (
    CheckedCell,
    CheckFunction,
    PreparedSweep,
    count_jobs,
    engine_settings,
    prepare,
    read_known,
    refuse_too_large,
)
from simlab.engine.provenance import digest_installation
from simlab.engine.run import (
    RunSummary,
    carry_out,
    finish_run,
    fit_in,
    list_missing,
    make_fitting,
    open_for_sweep,
    prepare_backend,
    sample_again,
    take_in,
)
from simlab.engine.workers import BlockFunction, BlockTask
from simlab.supervision import enter_phase
from simlab.types import Estimate

Position: TypeAlias = tuple[int, ...]
Worlds: TypeAlias = Mapping[Position, int]
"""Numbers of worlds that are wanted of cells, by their places on the axes of the whole grid."""
Choose: TypeAlias = Callable[[Mapping[Position, Estimate], Worlds], Worlds]
"""Returns the worlds that are wanted next, from the estimates and worlds so far; the same if they are enough."""


@dataclass(slots=True)
class _LocatingRounds:
    """Data shared by rounds; `cells` are those of the whole grid, `done` was carried out by this run."""

    sweep: Sweep
    job: PreparedSweep
    book: Ledger
    fitting: Fitting
    backend: Backend
    quiet: bool
    cells: Mapping[Position, CheckedCell]
    done: list[BlockTask] = field(default_factory=list)

    def carry_out(self, tasks: Sequence[BlockTask]) -> None:
        """Carry out blocks, but for those that failed just now."""
        tried = {task.address for task in self.done}
        waiting = [task for task in tasks if task.address not in tried]
        if not waiting:
            return
        self.book.mark_stale()
        if not self.done:
            self.book.note(sampled=False)
        carry_out(waiting, self.book, self.fitting, self.backend, engine_settings(self.sweep), self.quiet)
        self.done += waiting

    def take_in(self, wanted: Worlds) -> dict[Position, LedgerEntry]:
        """Let the ledger take in the cells that are wanted, and carry out what is missing of them."""
        part = narrow_to(self.sweep, wanted)
        grown, entries = fit_in(narrow_job(self.job, part, self.cells, wanted), self.book)
        placed = dict(zip(sorted(wanted), entries, strict=True))
        sizes = {entry.cell: (wanted[at], part.studies) for at, entry in placed.items()}
        self.book.admit(grown, entries, sizes)
        tasks: list[BlockTask] = []
        for worlds in sorted(set(wanted.values())):
            alike = [entry for at, entry in placed.items() if wanted[at] == worlds]
            tasks += list_missing(replace_sizes(part, worlds, part.studies), self.book, alike)
        self.carry_out(tasks)
        return placed


def run(
    sweep: Sweep,
    folder: Path,
    look: CellMeasurer,
    choose: Choose,
    jobs: int | None = None,
    *,
    block: BlockFunction | None = None,
    check: CheckFunction | None = None,
    quiet: bool = False,
    allow_version: bool = False,
    finish: Callable[[Ledger], Sequence[str]] | None = None,
) -> RunSummary:
    """Carry out the cells that locate a crossing (`sweep.locate`), round by round; as `engine.run` else.

    `look` measures a cell, `choose` returns the cells of the next round. Raises InputError as `engine.run` does: every
    cell of the whole grid is checked before anything is written.
    """
    if sweep.locate is None:
        raise ValueError("a sweep that locates nothing is run by simlab.engine.run")
    began, processes, measure = time.monotonic(), count_jobs(sweep, jobs), sweep.locate.measure
    job = prepare(sweep, check, processes, read_known(folder))
    refuse_too_large(sweep, job, folder)
    cells = dict(zip((cell.index for cell in sweep.cells()), job.cells, strict=True))
    wanted = choose({}, {})
    first = narrow_to(sweep, wanted)
    part = narrow_job(job, first, cells, wanted)
    with (
        prepare_backend(job, sweep, folder, processes, quiet=quiet) as backend,
        open_for_sweep(part, folder, allow_version) as book,
    ):
        taken = take_in(first, part, book, allow_version=allow_version)
        fitting = make_fitting(block, taken.entries)
        rounds = _LocatingRounds(sweep, job, book, fitting, backend, quiet, cells)
        enter_phase("running blocks")
        rounds.carry_out(taken.tasks)
        placed = dict(zip(sorted(wanted), taken.entries, strict=True))
        measured: dict[Position, Estimate] = {}
        while True:
            for at, entry in placed.items():
                estimates = look(book, entry, worlds=wanted[at])
                measured |= {at: estimates[measure]} if measure in estimates else {}
            following = choose(measured, wanted)
            if following == wanted:
                break
            placed, wanted = rounds.take_in(following), following
        entries = list(placed.values())
        unsampled = [*rounds.done, *taken.unsampled[len(taken.tasks) :]]
        sample_again(unsampled, book, entries, fitting, backend, engine_settings(sweep))
        book.note_seen(digest_installation())
        return finish_run(sweep, book, replace(taken, entries=entries, tasks=rounds.done), finish, began)


def narrow_to(sweep: Sweep, wanted: Worlds) -> Sweep:
    """Return the part of a sweep that has the wanted cells only, with their values on each axis."""
    used = [sorted({at[k] for at in wanted}) for k in range(len(sweep.axes))]
    axes = tuple(axis.select(places) for axis, places in zip(sweep.axes, used, strict=True))
    kept = frozenset(tuple(places.index(k) for places, k in zip(used, at, strict=True)) for at in wanted)
    return replace(sweep, axes=axes, kept=kept, worlds=max(wanted.values()))


def narrow_job(job: PreparedSweep, part: Sweep, cells: Mapping[Position, CheckedCell], wanted: Worlds) -> PreparedSweep:
    """Return the checked cells of a part of a sweep, with the declaration of that part."""
    requested = job.declaration | {"axes": declare(part)["axes"], "worlds": part.worlds}
    return replace(job, declaration=requested, cells=tuple(cells[at] for at in sorted(wanted)))
