"""Answer whether the design that is named from half of a table's documents is the right one for the others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from simlab.answers.backtest import BacktestAdvice
from simlab.answers.fit import PREFERENCE
from simlab.answers.records import read_record
from simlab.answers.tables import ReadTable
from simlab.commands.backtest import BacktestOptions, Part, each, planned
from simlab.commands.notes import note
from simlab.commands.understanding import say
from simlab.fitting.backtest.advising import FULL, QUICK, advise, candidates, summarize_rules
from simlab.fitting.backtest.carrying_out import Plan, target_of
from simlab.fitting.backtest.planning import A_FIT, check, pilot_documents
from simlab.messages import several
from simlab.tables import preferences, understood
from simlab.types import InputError


def carry_out(table: Path | None, options: BacktestOptions, *, quiet: bool = False) -> BacktestAdvice:
    """Name designs from the pilots of all splits, and carry out their rivals on the real ratings of the others.

    Raises InputError for a table that cannot be read or split, or that leaves nothing to choose.
    """
    from simlab.engine.progress import progress

    plan = _planned(table, options)
    if not quiet:
        say(table, plan.ratings)
        note(f"{plan.law.name}: {several(options.splits, 'fit')}, of {several(options.splits, 'split')}")
    part: Part = (advise, A_FIT, [(plan, split) for split in range(options.splits)])
    with progress(A_FIT * options.splits, quiet=quiet, of="steps") as advance:
        rows = tuple(row for found in each(part, options.jobs, advance) for row in found)
    return BacktestAdvice(
        read=read_record(ReadTable, understood.record(plan.ratings), "read"),
        law=plan.law.name,
        pilot_documents=pilot_documents(plan.world.frame.n_documents, plan.pilot_share),
        rules=summarize_rules(rows),
        records=rows,
    )


def _planned(table: Path | None, options: BacktestOptions) -> Plan:
    if options.law == PREFERENCE or (table is not None and preferences.is_table(table, options.told)):
        raise InputError("--advice: designs are named for studies that rate outputs; preferences have one design only")
    plan = planned(table, options)
    check(plan.world, plan.pilot_share)
    for split in range(options.splits):
        candidates(target_of(plan, split, "held_out"))
    return replace(plan, size=QUICK if options.quick else FULL)
