"""Carry out rounds of worlds until every cell has the wanted standard error, or time or campaigns run out.

Call `run` with a sweep that has targets (`until`), a folder, and a function `look` that measures a cell; it returns a
`RunSummary`. A run to a precision is decided by errors only, never by values; held fixed are the seed, pools, draws of
documents and, of a recorded table, the world. Cells that have reached their targets rest while others go on, on the
same worlds. The folder is whole after every step: whoever stops between two leaves nothing half done.
"""

from __future__ import annotations

import itertools
import math
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from statistics import median
from typing import Any, Protocol

import numpy as np

from simlab.config.precision_targets import Until
from simlab.config.sweep import Sweep
from simlab.engine.addresses import Address, Finished, unpack
from simlab.engine.allocation import (
    FIRST_STUDIES,
    ErrorQuestion,
    Estimates,
    Goal,
    choose_studies,
    enlarge_goal,
    first_studies,
    is_one_world,
    list_set_sizes,
    questions,
    refuse_too_few,
    replace_sizes,
    whole_sets,
)
from simlab.engine.backends import Backend
from simlab.engine.block_checks import Fitting
from simlab.engine.bounds import refuse_many_blocks
from simlab.engine.dispatch import dispatch
from simlab.engine.ledger import Ledger, LedgerEntry
from simlab.engine.preparing import (
    CheckFunction,
    PreparedSweep,
    count_jobs,
    engine_settings,
    prepare,
    read_known,
    refuse_too_large,
)
from simlab.engine.run import (
    RunSummary,
    carry_out,
    finish_run,
    list_missing,
    make_fitting,
    open_for_sweep,
    prepare_backend,
    sample_again,
    take_in,
)
from simlab.engine.workers import BlockFunction, BlockLike, BlockLimits, BlockTask, Config, read_limits
from simlab.measures.precision import LEAST_CLUSTERS
from simlab.messages import duration
from simlab.studies.worlds import address
from simlab.supervision import enter_phase
from simlab.types import Array, Estimate, InputError, Place

MOST_CELLS = 6
BLOCK_SECONDS = 0.004
"""Seconds of a block beside those of its studies: to hand it over, pack, commit and read it again."""
BASE = 4.0
"""Costs are rounded to powers of this; the number of studies depends on their root, and loses an eighth at most."""


class CellMeasurer(Protocol):
    """Measures a cell from what the ledger holds of it: all, studies in a range of numbers, or its first worlds."""

    def __call__(
        self, book: Ledger, entry: LedgerEntry, studies: range | None = None, worlds: int | None = None
    ) -> Mapping[str, Estimate]:
        """Return the estimates, by measure; measures without a value are left out."""


@dataclass(slots=True)
class _Rounds:
    """Data shared by rounds; `sets` are numbers of studies that share documents, `looked` the last size and estimates.

    `pace` are the seconds that a campaign took last, with all jobs.
    """

    sweep: Sweep
    until: Until
    job: PreparedSweep
    book: Ledger
    entries: Sequence[LedgerEntry]
    fitting: Fitting
    backend: Backend
    look: CellMeasurer
    quiet: bool
    began: float
    one_world: bool
    sets: frozenset[int]
    done: list[BlockTask] = field(default_factory=list)
    looked: dict[str, tuple[tuple[int, int], Mapping[str, Estimate]]] = field(default_factory=dict)
    pace: float = 0.0

    def size(self, goal: Goal, cell: str, end: int) -> tuple[int, int]:
        """Return the worlds and studies of a cell on the way to a goal, up to a world (of one world: a study)."""
        along = min(goal.along[cell], end)
        return (1, along) if self.one_world else (along, goal.studies)

    def unit(self, task: BlockTask) -> int:
        """Return the smallest end of a step that includes a block."""
        at = task.address
        return at.first + at.count if self.one_world else at.world + 1


def run(
    sweep: Sweep,
    folder: Path,
    look: CellMeasurer,
    jobs: int | None = None,
    *,
    block: BlockFunction | None = None,
    check: CheckFunction | None = None,
    quiet: bool = False,
    allow_version: bool = False,
    finish: Callable[[Ledger], Sequence[str]] | None = None,
) -> RunSummary:
    """Carry out worlds until the targets of a sweep (`until`) are reached; as `engine.run` else.

    The first round is 30 worlds of each cell; after it the studies of a world are chosen, from what worlds and studies
    add to the error and what they cost. `look` measures a cell. A round that was begun is gone on with, whatever is
    then asked for. Raises InputError as `engine.run` does, and where `--at-most` leaves nothing to be carried out.
    """
    if sweep.until is None:
        raise ValueError("a sweep without a target is run by simlab.engine.run")
    began, processes, sets = time.monotonic(), count_jobs(sweep, jobs), list_set_sizes(sweep)
    alone = is_one_world(sweep)
    first = replace_sizes(sweep, 1, 1 if alone else first_studies(sweep, sets))
    job = prepare(first, check, processes, read_known(folder))
    refuse_too_few(first, sweep.until)
    with (
        prepare_backend(job, first, folder, processes, quiet=quiet) as backend,
        open_for_sweep(job, folder, allow_version) as book,
    ):
        taken = take_in(first, job, book, allow_version=allow_version)
        fitting = make_fitting(block, taken.entries)
        shared = (first, sweep.until, job, book, taken.entries, fitting, backend, look, quiet, began, alone, sets)
        rounds = _Rounds(*shared)
        enter_phase("running blocks")
        notes = (*taken.notes, *_run_goals(rounds))
        unsampled = [*rounds.done, *taken.unsampled[len(taken.tasks) :]]
        sample_again(unsampled, book, taken.entries, fitting, backend, engine_settings(sweep))
        return finish_run(sweep, book, replace(taken, tasks=rounds.done, notes=notes), finish, began)


def _run_goals(rounds: _Rounds) -> list[str]:
    """Go from goal to goal; return a line where an end other than the targets came first."""
    goal = _resume_goal(rounds)
    asked_errors = questions(rounds.until.targets, rounds.entries)
    while True:
        if why := _run_goal(rounds, goal):
            return [f"{why}; the same command goes on"]
        following, goal = _choose_next_goal(rounds, goal, asked_errors)
        if following is None:
            return [line] if (line := goal.describe_variance()) else []
        if more := _explain_excess(rounds, following):
            return [more]
        goal = following
        rounds.book.note(goal=goal.serialise())


def _resume_goal(rounds: _Rounds) -> Goal:
    """Return the goal of a round that was begun in this folder, and of cells that are new to it that of the first."""
    stored, before, sweep = _read_goal(rounds.book), rounds.book.read_requested_sizes().sizes, rounds.sweep
    studies = max([sweep.studies, *(studies for sizes in before.values() for _, studies in sizes)])
    reached = {cell: max(size[rounds.one_world] for size in sizes) for cell, sizes in before.items()}
    least = LEAST_CLUSTERS * (max(rounds.sets) if rounds.one_world else 1)
    along = {cell: max(least, n) for cell, n in reached.items()} | (stored["along"] if stored else {})
    goal = {entry.cell: max(least, along.get(entry.cell, 0)) for entry in rounds.entries}
    if stored:
        chosen = stored["chosen"] or rounds.until.studies is not None
        return Goal(goal, max(stored["studies"], studies), chosen, stored["ratio"], stored["worlds"])
    # A folder that was filled without a target keeps the studies that its worlds have.
    chosen = rounds.one_world or rounds.until.studies is not None or not FIRST_STUDIES <= studies == sweep.studies
    begun = Goal(goal, studies, chosen)
    if not chosen:
        limits = read_limits(engine_settings(sweep))
        begun = replace(begun, ratio=world_in_studies(rounds.fitting.block, rounds.entries, rounds.backend, limits))
    rounds.book.note(goal=begun.serialise())
    return begun


def _read_goal(book: Ledger) -> dict[str, Any] | None:
    """Return the goal that a folder holds; None where it is not whole."""
    goal = book.read_note("goal")
    return goal if isinstance(goal, dict) and goal.keys() >= {one.name for one in fields(Goal)} else None


def _choose_next_goal(rounds: _Rounds, goal: Goal, questions: Sequence[ErrorQuestion]) -> tuple[Goal | None, Goal]:
    """Return the goal of the next round, after one that was carried out; None where all targets are reached.

    Beside it the goal that was carried out, with the studies that were chosen after it.
    """
    if not goal.chosen:
        half = goal.studies // 2
        first, second = (
            {entry.cell: rounds.look(rounds.book, entry, studies) for entry in rounds.entries}
            for studies in (range(half), range(half, 2 * half))
        )
        chosen = choose_studies(goal, questions, (first, second), lambda n: whole_sets(n, rounds.sets))
        rounds.book.note(goal=chosen.serialise())
        if chosen.studies != goal.studies:
            return chosen, goal
        goal = chosen
    return enlarge_goal(
        goal, questions, _measure_cells(rounds, goal), max(rounds.sets) if rounds.one_world else 1
    ), goal


def _measure_cells(rounds: _Rounds, goal: Goal) -> Estimates:
    """Measure all cells; those that have not changed since they were last measured are not read again."""
    for entry in rounds.entries:
        size = rounds.size(goal, entry.cell, goal.along[entry.cell])
        if entry.cell not in rounds.looked or rounds.looked[entry.cell][0] != size:
            rounds.looked[entry.cell] = size, rounds.look(rounds.book, entry, None)
    return {cell: estimates for cell, (_, estimates) in rounds.looked.items()}


def _run_goal(rounds: _Rounds, goal: Goal) -> str:
    """Carry out what is missing of a goal, step by step; say what ended it where that came first."""
    top = max(goal.along.values())
    most = top if rounds.until.campaigns is None else _limit_worlds(rounds, goal, top)
    waiting = _tasks(rounds, goal, most)
    while waiting:
        end = _next_end(rounds, waiting)
        if end is None:
            return f"--at-most {duration(rounds.until.seconds or 0)} is over"
        step = [task for task in waiting if rounds.unit(task) <= end]
        waiting = waiting[len(step) :]
        _ask(rounds, goal, end)
        _carry_out(rounds, step)
    _ask(rounds, goal, most)
    return f"--at-most {rounds.until.campaigns:,} campaigns are there" if most < top else ""


def _tasks(rounds: _Rounds, goal: Goal, end: int) -> list[BlockTask]:
    """Cut what is missing of a goal into blocks, those that come first in front; what failed just now is left out."""
    sizes = {entry.cell: rounds.size(goal, entry.cell, end) for entry in rounds.entries}
    tried = {task.address for task in rounds.done}
    missing: list[BlockTask] = []
    for studies in sorted({studies for _, studies in sizes.values()}):
        entries = [entry for entry in rounds.entries if sizes[entry.cell][1] == studies]
        worlds = max(sizes[entry.cell][0] for entry in entries)
        missing += [
            task
            for task in list_missing(replace_sizes(rounds.sweep, worlds, studies), rounds.book, entries)
            if task.address.world < sizes[task.address.cell][0] and task.address not in tried
        ]
    return sorted(missing, key=rounds.unit)


def _ask(rounds: _Rounds, goal: Goal, end: int) -> None:
    """Note in the ledger that of each cell the worlds and studies of a goal are wanted, up to an end."""
    if end == 0:
        return
    sizes = {entry.cell: rounds.size(goal, entry.cell, end) for entry in rounds.entries}
    worlds, studies = (max(size[k] for size in sizes.values()) for k in (0, 1))
    rounds.book.admit(
        rounds.book.extend_declaration(rounds.job.declaration | {"worlds": worlds, "studies": studies}), (), sizes
    )


def _carry_out(rounds: _Rounds, tasks: Sequence[BlockTask]) -> None:
    rounds.book.mark_stale()
    if not rounds.done:
        rounds.book.note(sampled=False)
    began = time.monotonic()
    carry_out(tasks, rounds.book, rounds.fitting, rounds.backend, engine_settings(rounds.sweep), rounds.quiet)
    rounds.pace = (time.monotonic() - began) / sum(task.address.count for task in tasks)
    rounds.done += tasks


def _next_end(rounds: _Rounds, waiting: Sequence[BlockTask]) -> int | None:
    """Return up to which world the next step goes: half of the time that is left; None where no world fits into it.

    The first world is carried out in any case.
    """
    if rounds.until.seconds is None:
        return rounds.unit(waiting[-1])
    first = rounds.unit(waiting[0])
    if not rounds.pace:
        return first
    left = rounds.until.seconds - (time.monotonic() - rounds.began)
    needed = list(itertools.accumulate(task.address.count * rounds.pace for task in waiting))
    end = rounds.unit(waiting[fits - 1]) - 1 if (fits := bisect_right(needed, left / 2)) else 0
    if end >= first:
        return end
    of_first = needed[sum(rounds.unit(task) == first for task in waiting) - 1]
    return first if of_first <= left else None


def _limit_worlds(rounds: _Rounds, goal: Goal, top: int) -> int:
    """Return up to which world a goal is carried out with so many campaigns in all, those in the folder counted."""
    wanted, crossed = rounds.book.read_requested_sizes(), rounds.sweep.pools * rounds.sweep.document_draws
    before = {entry.cell: wanted.studies_by_world(entry.cell) for entry in rounds.entries}

    def campaigns(end: int) -> int:
        sizes = {cell: rounds.size(goal, cell, end) for cell in before}
        return crossed * sum(
            sum(max(n, studies if world < worlds else 0) for world, n in enumerate(before[cell]))
            + studies * max(0, worlds - len(before[cell]))
            for cell, (worlds, studies) in sizes.items()
        )

    return bisect_right(range(1, top + 1), rounds.until.campaigns or 0, key=campaigns)


def _explain_excess(rounds: _Rounds, goal: Goal) -> str | None:
    """State why a goal is more than a folder holds; None where it is not."""
    sizes = [rounds.size(goal, cell, n) for cell, n in goal.along.items()]
    larger = replace_sizes(rounds.sweep, max(worlds for worlds, _ in sizes), max(studies for _, studies in sizes))
    try:
        refuse_many_blocks(larger)
        refuse_too_large(larger, rounds.job, rounds.book.folder)
    except InputError as error:
        return f"no folder holds what the targets need: {error}"
    return None


@dataclass(frozen=True, slots=True)
class _Seconds:
    arrays: Mapping[str, Array]
    failures: list[tuple[int, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Stopwatch:
    """Take the CPU seconds of a study in a new world, and of the same study once more."""

    block: BlockFunction

    def __call__(self, config: Config, places: Sequence[Place]) -> BlockLike:
        """Carry out studies for their time only."""
        # The first imports and compiles.
        self.block(config, places)
        again = [place._replace(world=place.world + 1) for place in places]
        took = []
        for _ in range(2):
            began = time.process_time()
            self.block(config, again)
            took.append(time.process_time() - began)
        return _Seconds({"took": np.array(took)})


def world_in_studies(
    block: BlockFunction, entries: Sequence[LedgerEntry], backend: Backend, limits: BlockLimits
) -> float:
    """Return the cost of a new world, shared by the cells that use it, in studies of a cell.

    A power of 4, so that it hardly depends on the machine. 1 where no study could be carried out.
    """
    sharing = Counter(address(entry.config) for entry in entries)
    chosen = entries[:: max(1, -(-len(entries) // MOST_CELLS))]
    tasks = [BlockTask(Address(entry.cell, 0, 0, 1), entry.config) for entry in chosen]
    shared = {entry.cell: sharing[address(entry.config)] for entry in chosen}
    ratios: list[float] = []

    def note(finished: Sequence[Finished]) -> None:
        for finished_block in finished:
            if not finished_block.failed:
                whole, study = unpack(finished_block.payload)["took"]
                # Two timings of a cheap world may come out the wrong way round.
                world = max(whole - study, 0.0) / shared[finished_block.address.cell]
                # A study that is too short for the clock would make worlds infinitely dear.
                ratios.append((world + BLOCK_SECONDS) / max(study, 1e-4))

    dispatch(Stopwatch(block), tasks, backend, limits, note)
    return round_coarsely(median(ratios)) if ratios else 1.0


def round_coarsely(ratio: float) -> float:
    """Round to a power of 4 between 1/16 and 256.

    >>> round_coarsely(3.0), round_coarsely(1e9)
    (4.0, 256.0)
    """
    return BASE ** min(max(round(math.log(ratio, BASE)), -2), 4)
