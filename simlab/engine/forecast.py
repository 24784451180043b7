"""Say what a sweep would take, before it is run; nothing is written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from simlab.config.sweep import Sweep
from simlab.engine import ledger
from simlab.engine.addresses import Address
from simlab.engine.allocation import first_round
from simlab.engine.backends import refuse_contradiction
from simlab.engine.bounds import PROCESS_BYTES, Memory
from simlab.engine.checking import CheckFunction
from simlab.engine.preparing import Job, engine_of, jobs_of, known_in, outcome_bytes, prepare, refuse_too_large
from simlab.engine.provenance import refuse_other_program
from simlab.engine.purchases import Purchase, ends_first, purchase
from simlab.engine.quoting import Quote, placed, quotes
from simlab.engine.run import fit_in, missing, study_block
from simlab.engine.shards import Shard
from simlab.engine.timing import seconds_of
from simlab.engine.workers import BlockFunction, Task
from simlab.studies.money import currency_of


@dataclass(frozen=True, slots=True)
class Forecast:
    """Hold what a run would do.

    Blocks and campaigns of the whole sweep, and of them missing; seconds (`at_least`: that is a lower bound); bytes
    that are stored; bytes of memory that a process takes, and what these are made of; `purchases` are what a campaign
    buys in each of the cells that were looked at, `quotes` what a campaign takes in some of those that have prices.
    `covered` says what one answer covers, and how money cuts a design, in the first cells.
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
    """Say what `engine.run` would do with the same arguments; raises what it would raise.

    Of a run to a precision only the first round is known.
    """
    refuse_contradiction(engine_of(sweep))
    processes, until = jobs_of(sweep, jobs), sweep.until
    sweep = first_round(sweep) if until else sweep
    job = prepare(sweep, check, processes, known_in(folder))
    refuse_too_large(sweep, job, folder)
    if (folder / ledger.FILE).exists():
        with ledger.reading(folder) as book:
            refuse_other_program(book, allowed=allow_version)
            tasks = missing(sweep, book, fit_in(job, book)[1], shard)
    else:
        tasks = missing(sweep, None, [cell.at(()) for cell in job.cells], shard)
    # What a campaign buys is said of the whole sweep, whatever is stored of it.
    in_order = [job.cells[k] for k in ends_first([cell.values for cell in job.cells])]
    others = [Task(Address(cell.cell, 0, 0, 1), cell.config) for cell in in_order]
    timed = seconds_of(block or study_block(), tasks, processes, others)
    memory = job.sizes.memory or Memory(PROCESS_BYTES, 0.0, "", ())
    return Forecast(
        cells=len(job.cells),
        campaigns=len(job.cells) * sweep.worlds * sweep.of_world,
        blocks_missing=len(tasks),
        campaigns_missing=sum(task.address.count for task in tasks),
        jobs=processes,
        seconds=timed.seconds,
        how=timed.how + ("; the first round, after which errors decide" if until else "") + _elsewhere(sweep),
        bytes=outcome_bytes(sweep, job),
        at_least=timed.at_least or until is not None,
        memory=memory.worker,
        memory_of=memory.of,
        purchases=tuple(bought for one in timed.studies if (bought := purchase(one)) is not None),
        quotes=quotes(block or study_block(), placed(sweep, job.cells)),
        covered=_covered(job) if block is None and check is None else (),
        currency=currency_of(cell.config for cell in job.cells),
    )


def _elsewhere(sweep: Sweep) -> str:
    address = engine_of(sweep).get("scheduler")
    return f"; this machine's time and processes, not those of the workers of {address}" if address else ""


MOST_SAID = 4
"""Cells of which it is said what they ask about."""


def _covered(job: Job) -> tuple[str, ...]:
    from simlab.studies.checks import covered

    lines = (line for cell in job.cells[:MOST_SAID] for line in covered(cell.config))
    return tuple(dict.fromkeys(lines))
