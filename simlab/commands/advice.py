"""Answer whether the design that is named from half of a table's documents is the right one for the others."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from simlab.answers.backtest import PREFERENCE
from simlab.commands.backtest import BacktestOptions, Part, each, planned
from simlab.commands.next_steps import ended, told_words
from simlab.commands.notes import note
from simlab.commands.understanding import say
from simlab.drawing.text import advice as text
from simlab.drawing.text import tables
from simlab.drawing.text.tables import Form
from simlab.fitting.backtest.advised import rules
from simlab.fitting.backtest.advising import FULL, QUICK, Advised, advise, candidates
from simlab.fitting.backtest.carrying_out import Plan, target_of
from simlab.fitting.backtest.planning import A_FIT
from simlab.fitting.backtest.splitting import check, pilot_documents
from simlab.messages import legible, several
from simlab.tables import preferences, understood
from simlab.types import InputError


def answer(
    table: Path | None,
    asked: BacktestOptions,
    *,
    form: Form,
    plot: Path | None,
    keep: Callable[[str], None] | None = None,
) -> str:
    """Carry out a backtest of advice and write what came of it.

    Raises InputError before anything is fitted for what is asked wrongly or malformed.
    """
    refuse_plot(plot)
    read, rows, plan = carry_out(table, asked)
    found, held = rules(rows), tables.plain(records(rows))
    summary = tables.plain([rule._asdict() for rule in found])
    n = plan.world.frame.n_documents
    documents = (pilot_documents(n, plan.pilot_share), n)
    asked_of = {"law": plan.law.name, "pilot_documents": documents[0]}
    as_json = json.dumps({"read": read, **asked_of, "rules": summary, "records": held}, indent=1, allow_nan=False)
    if keep:
        keep(as_json)
    if form != "table":
        return as_json if form == "json" else tables.to_csv(held)
    page = text.page(found, rows, plan.law.name, documents)
    return ended(page, "fit", *([table] if table else []), *told_words(asked.told))


def refuse_plot(plot: Path | None) -> None:
    """Raise InputError for a figure, which nobody draws."""
    if plot is not None:
        raise InputError(f"--plot {legible(plot)}: a backtest of advice is a table; leave out --plot or --advice")


def records(rows: Sequence[Advised]) -> list[dict[str, Any]]:
    """Write candidates as records, the rules that name one as one text."""
    return [row._asdict() | {"rules": " ".join(row.rules)} for row in rows]


class Judged(NamedTuple):
    """Hold what was understood of a table, for programs, all candidates of all splits, and what was carried out."""

    read: dict[str, Any]
    rows: list[Advised]
    plan: Plan


def carry_out(table: Path | None, asked: BacktestOptions, *, quiet: bool = False) -> Judged:
    """Name designs from the pilots of all splits, and carry out their rivals on the real ratings of the others.

    Raises InputError for a table that cannot be read or split, or that leaves nothing to choose.
    """
    from simlab.engine.progress import progress

    plan = _planned(table, asked)
    if not quiet:
        say(table, plan.ratings)
        note(f"{plan.law.name}: {several(asked.splits, 'fit')}, of {several(asked.splits, 'split')}")
    part: Part = (advise, A_FIT, [(plan, split) for split in range(asked.splits)])
    with progress(A_FIT * asked.splits, quiet=quiet, of="steps") as advance:
        rows = [row for found in each(part, asked.jobs, advance) for row in found]
    return Judged(understood.record(plan.ratings), rows, plan)


def _planned(table: Path | None, asked: BacktestOptions) -> Plan:
    if asked.law == PREFERENCE or (table is not None and preferences.is_table(table, asked.told)):
        raise InputError("--advice: designs are named for studies that rate outputs; preferences have one design only")
    plan = planned(table, asked)
    check(plan.world, plan.pilot_share)
    for split in range(asked.splits):
        candidates(target_of(plan, split, "held_out"))
    return replace(plan, size=QUICK if asked.quick else FULL)
