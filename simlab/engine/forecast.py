"""Forecast the time, memory and costs of a sweep: some studies are timed, and nothing is written.

Call `forecast` with a sweep and its folder, which returns a `Forecast`. Studies are timed in a process that can be
ended.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from simlab.config.sweep import Sweep
from simlab.effort import current_effort
from simlab.engine import ledger
from simlab.engine.addresses import Address, Finished
from simlab.engine.allocation import make_first_round
from simlab.engine.backends import refuse_contradiction
from simlab.engine.backends.children import call_in_child, fresh_start_token
from simlab.engine.bounds import PROCESS_BYTES, Memory
from simlab.engine.campaign_quotes import Purchase, Quote, order_extremes_first, place_cells, purchase, quotes
from simlab.engine.preparing import (
    CheckFunction,
    PreparedSweep,
    count_jobs,
    engine_settings,
    outcome_bytes,
    prepare,
    read_known,
    refuse_too_large,
)
from simlab.engine.provenance import refuse_other_program
from simlab.engine.run import fit_in, list_missing, study_block
from simlab.engine.shards import Shard
from simlab.engine.workers import BlockFunction, BlockTask, work
from simlab.messages import duration
from simlab.studies.money import find_currency

MOST_SAID = 4
"""Most cells whose coverage lines (`Forecast.covered`) are given."""
LONGEST_SECONDS = 8.0
"""Seconds after which a study that is being timed is cut off."""
SHORT_SECONDS = 0.1
SOME = 10
"""Studies timed together where one takes less than `SHORT_SECONDS`: alone each costs as much as several."""
_START_SECONDS = 30.0
LOOKING_SECONDS = 1.5


@dataclass(frozen=True, slots=True)
class Forecast:
    """Forecast of a run: its size, its time, its memory and its costs.

    Cells and campaigns of the whole sweep, and blocks and campaigns that are missing; seconds (`at_least`: that is a
    lower bound); bytes that are stored; bytes of memory of a process, and a breakdown of these in words; `purchases`
    are the ratings and prices of a campaign in each cell that was simulated, `quotes` the money and time of a campaign
    in some cells that have prices. `covered` are lines on what one answer covers, and on budgets, in the first cells.
    `how` is the basis of the time.
    """

    cells: int
    campaigns: int
    blocks_missing: int
    campaigns_missing: int
    jobs: int
    seconds: float
    how: str
    bytes: int
    at_least: bool = False
    memory: float = 0.0
    memory_of: str = ""
    purchases: tuple[Purchase, ...] = ()
    quotes: tuple[Quote, ...] = ()
    covered: tuple[str, ...] = ()
    currency: str = ""


def forecast(
    sweep: Sweep,
    folder: Path,
    jobs: int | None = None,
    *,
    block: BlockFunction | None = None,
    check: CheckFunction | None = None,
    allow_version: bool = False,
    shard: Shard | None = None,
) -> Forecast:
    """Forecast what `engine.run` would do with the same arguments; raises what it would raise.

    Of a run to a precision only the first round is known.
    """
    refuse_contradiction(engine_settings(sweep))
    processes, until = count_jobs(sweep, jobs), sweep.until
    sweep = make_first_round(sweep) if until else sweep
    job = prepare(sweep, check, processes, read_known(folder))
    refuse_too_large(sweep, job, folder)
    if (folder / ledger.FILE).exists():
        with ledger.reading(folder) as book:
            refuse_other_program(book, allowed=allow_version)
            tasks = list_missing(sweep, book, fit_in(job, book)[1], shard)
    else:
        tasks = list_missing(sweep, None, [cell.place_on_grid(()) for cell in job.cells], shard)
    # What a campaign buys is said of the whole sweep, whatever is stored of it.
    in_order = [job.cells[k] for k in order_extremes_first([cell.values for cell in job.cells])]
    others = [BlockTask(Address(cell.cell, 0, 0, 1), cell.config) for cell in in_order]
    timed = forecast_time(block or study_block(), tasks, processes, others)
    memory = job.sizes.memory or Memory(PROCESS_BYTES, 0.0, "", ())
    return Forecast(
        cells=len(job.cells),
        campaigns=len(job.cells) * sweep.worlds * sweep.of_world,
        blocks_missing=len(tasks),
        campaigns_missing=sum(task.address.count for task in tasks),
        jobs=processes,
        seconds=timed.seconds,
        how=timed.how + ("; the first round, after which errors decide" if until else "") + _note_elsewhere(sweep),
        bytes=outcome_bytes(sweep, job),
        at_least=timed.at_least or until is not None,
        memory=memory.worker,
        memory_of=memory.breakdown,
        purchases=tuple(bought for study in timed.studies if (bought := purchase(study)) is not None),
        quotes=quotes(block or study_block(), place_cells(sweep, job.cells)),
        covered=_list_covered(job) if block is None and check is None else (),
        currency=find_currency(cell.config for cell in job.cells),
    )


def _note_elsewhere(sweep: Sweep) -> str:
    address = engine_settings(sweep).get("scheduler")
    return f"; this machine's time and processes, not those of the workers of {address}" if address else ""


def _list_covered(job: PreparedSweep) -> tuple[str, ...]:
    from simlab.studies.checks import describe_scope

    lines = (line for cell in job.cells[:MOST_SAID] for line in describe_scope(cell.config))
    return tuple(dict.fromkeys(lines))


class TimeForecast(NamedTuple):
    """Seconds of all blocks to be run, whether that is a lower bound only, and the basis of the forecast in words.

    `studies` are those that were timed or looked at.
    """

    seconds: float
    at_least: bool
    how: str
    studies: tuple[Finished, ...] = ()


class _Times(NamedTuple):
    """Studies that were timed with the seconds of a campaign of their cells, in a block.

    `warm` is the time that a process takes before it computes at its pace; `cut` is after how long a study was cut off,
    `looked` are studies of other cells.
    """

    timed: list[tuple[Finished, float]]
    warm: float
    cut: float = 0.0
    looked: tuple[Finished, ...] = ()


def forecast_time(
    block: BlockFunction, tasks: Sequence[BlockTask], jobs: int, others: Sequence[BlockTask] = ()
) -> TimeForecast:
    """Time a few studies of the blocks to be run (`tasks`), and scale up; cells that are not timed count as the mean.

    The first run of a study also imports, compiles and draws the world: each process pays for that once, at the same
    time as the others. Short studies are timed as blocks of several, which share what they can. The first
    studies of `others`, tasks of further cells, are carried out for a little longer, for their outcomes.
    """
    todo: dict[str, int] = {}
    for task in tasks:
        todo[task.address.cell] = todo.get(task.address.cell, 0) + task.address.count
    # Backwards: of the tasks of a cell the first one overwrites the others.
    firsts = {task.address.cell: task for task in reversed(tasks)}
    timed, warm, cut, looked = _times(block, list(firsts.values()), others)
    if not todo:
        return TimeForecast(0.0, False, "nothing is missing", looked)
    took = {task.address.cell: seconds for task, seconds in timed}
    processes = min(jobs, len(tasks))
    if not took:
        worlds = len({task.address.world for task in tasks})
        return TimeForecast(cut * worlds / min(jobs, worlds), True, f"one study was cut off here after {cut:.0f} s")
    mean = sum(took.values()) / len(took)
    seconds = warm + sum(n * took.get(cell, mean) for cell, n in todo.items()) / processes
    how = f"{duration(warm)} to start; from one study timed here in each of {len(took)} of {len(firsts)} cells"
    studies = (*(task for task, _ in timed), *looked)
    return TimeForecast(seconds, cut > 0, how + (", the next was cut off" if cut else ""), studies)


def _times(block: BlockFunction, tasks: Sequence[BlockTask], others: Sequence[BlockTask]) -> _Times:
    """Carry out a study of each cell, and where it is short a block of some."""
    took: list[tuple[Finished, float]] = []
    # Starting a process takes a second, which is no study's.
    start, started = fresh_start_token(), time.monotonic()
    call_in_child(start, os.getpid, seconds=_START_SECONDS)
    warm, began, since = time.monotonic() - started, time.monotonic(), 0.0
    for task in tasks:
        try:
            run = partial(_seconds, start, block, task, began + LONGEST_SECONDS)
            (_, first), (first_seconds, again) = run(1), run(1)
            some = min(task.address.count, SOME) if again < SHORT_SECONDS else 1
            took.append((first_seconds, again if some == 1 else run(some)[1] / some))
        except Exception:
            # Too slow, or the end of its process: no more can be said, and the run itself will say why.
            return _Times(took, warm, time.monotonic() - began)
        # What later cells import is little, and cannot be told from the worlds that they draw.
        warm += max(0.0, first - again) if not since else 0.0
        since = since or time.monotonic()
        if time.monotonic() - since > current_effort().timing_seconds:
            break
    known = {task.address.cell for task, _ in took}
    left = [task for task in others if task.address.cell not in known]
    return _Times(took, warm, looked=_run_first_studies(start, block, left))


def _run_first_studies(start: bytes, block: BlockFunction, tasks: Sequence[BlockTask]) -> tuple[Finished, ...]:
    """Carry out the first study of as many cells as patience allows."""
    looked: list[Finished] = []
    until = time.monotonic() + min(LOOKING_SECONDS, current_effort().timing_seconds)
    with suppress(Exception):
        for task in tasks:
            looked.append(_seconds(start, block, task, until, 1)[0])
    return tuple(looked)


def _seconds(start: bytes, block: BlockFunction, task: BlockTask, until: float, count: int) -> tuple[Finished, float]:
    """Carry out so many studies of a block; return them, and the seconds."""
    address, began = replace(task.address, count=count), time.monotonic()
    finished: Finished = call_in_child(start, work, block, task.config, address, seconds=max(0.01, until - began))
    return finished, time.monotonic() - began
