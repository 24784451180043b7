"""Say what a sweep would take, before it is run; nothing is written."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from simlab.config.sweep import Sweep
from simlab.engine import ledger
from simlab.engine.checking import CheckFunction
from simlab.engine.pool import Task
from simlab.engine.provenance import provenance, refuse_other_numbers
from simlab.engine.run import (
    default_jobs,
    fit_in,
    missing,
    outcome_bytes,
    prepare,
    refuse_too_large,
    study_block,
)
from simlab.engine.workers import BlockFunction, work

PATIENCE_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Forecast:
    """Hold what a run would do: blocks and campaigns of the whole sweep, of them missing; seconds; bytes stored."""

    cells: int
    campaigns: int
    blocks_missing: int
    campaigns_missing: int
    jobs: int
    seconds: float
    how: str
    bytes: int


def forecast(
    sweep: Sweep,
    folder: Path,
    jobs: int | None = None,
    *,
    block: BlockFunction | None = None,
    check: CheckFunction | None = None,
    allow_version: bool = False,
) -> Forecast:
    """Say what `engine.run` would do with the same arguments; raises what it would raise."""
    job = prepare(sweep, check)
    refuse_too_large(sweep, job)
    if (folder / ledger.FILE).exists():
        with ledger.reading(folder) as book:
            refuse_other_numbers(book.provenance(), provenance(), str(folder), allowed=allow_version)
            tasks = missing(sweep, book, fit_in(job, book)[1])
    else:
        tasks = missing(sweep, None, [cell.at(()) for cell in job.cells])
    processes = jobs or default_jobs(sweep)
    seconds, how = _seconds(block or study_block(), tasks, processes)
    campaigns = len(job.cells) * sweep.worlds * sweep.studies
    todo = sum(task.address.count for task in tasks)
    return Forecast(len(job.cells), campaigns, len(tasks), todo, processes, seconds, how, outcome_bytes(sweep, job))


def _seconds(block: BlockFunction, tasks: Sequence[Task], jobs: int) -> tuple[float, str]:
    """Time one study in as many cells as patience allows, and scale up; cells not timed count as the mean."""
    todo: dict[str, int] = {}
    for task in tasks:
        todo[task.address.cell] = todo.get(task.address.cell, 0) + task.address.count
    if not todo:
        return 0.0, "nothing is missing"
    firsts = {task.address.cell: task for task in reversed(tasks)}
    took: dict[str, float] = {}
    began = time.monotonic()
    for cell, task in firsts.items():
        took[cell] = _time(block, task)
        if time.monotonic() - began > PATIENCE_SECONDS:
            break
    mean = sum(took.values()) / len(took)
    seconds = sum(n * took.get(cell, mean) for cell, n in todo.items()) / min(jobs, len(tasks))
    return seconds, f"from one study timed here in each of {len(took)} of {len(firsts)} cells"


def _time(block: BlockFunction, task: Task) -> float:
    """Time the second of two runs of a study: the first also draws the world, which a block shares."""
    address = replace(task.address, count=1)
    work(block, task.config, address)
    began = time.monotonic()
    work(block, task.config, address)
    return time.monotonic() - began
