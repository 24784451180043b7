"""Answer how far predictions from a pilot came true."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from simlab.commands.next_steps import ended, told_words
from simlab.commands.notes import note
from simlab.commands.understanding import say, where
from simlab.drawing.figures import backtest as figure
from simlab.drawing.figures import files
from simlab.drawing.text import backtest as text
from simlab.drawing.text import tables
from simlab.drawing.text.tables import Form
from simlab.fitting.backtest.carrying_out import Plan, compare, fitted, observe, predict
from simlab.fitting.backtest.choosing import AUTO
from simlab.fitting.backtest.designs import designs
from simlab.fitting.backtest.planning import FULL, QUICK, SOME, Size, Task, sources, steps, tasks
from simlab.fitting.backtest.records import Record, averages, summary
from simlab.messages import several
from simlab.tables import preferences, understood
from simlab.tables.held import NOTHING, Told, as_errors
from simlab.types import InputError

Part: TypeAlias = tuple[Callable[..., Any], int, Sequence[tuple[Any, ...]]]
"""A function, the steps of progress that a call makes, and what it is asked, call by call."""

PREFERENCE = "preference"


class Asked(NamedTuple):
    """Hold what is asked of a backtest beside its table."""

    pilot_share: float = 0.5
    splits: int = 4
    quick: bool = False
    seed: int = 0
    jobs: int | None = None
    law: str = AUTO
    told: Told = NOTHING

    @property
    def size(self) -> Size:
        """Say how much is simulated."""
        return QUICK if self.quick else FULL


def answer(
    table: Path | None, asked: Asked, *, form: Form, plot: Path | None, keep: Callable[[str], None] | None = None
) -> str:
    """Carry out a backtest and write what came of it; draw it if a file for that is named.

    Raises InputError before anything is fitted for what is asked wrongly or malformed.
    """
    files.check_suffix(plot, "--plot")
    read, records = carry_out(table, asked)
    if plot is not None:
        save_figure(records, plot)
    rows = tables.plain([record._asdict() for record in records])
    found, means = summary(records), averages(records)
    kept = {"summary": tables.plain(found), "averages": tables.plain([one._asdict() for one in means])}
    as_json = json.dumps({"read": read, **kept, "records": rows}, indent=1, allow_nan=False)
    if keep:
        keep(as_json)
    if form != "table":
        return as_json if form == "json" else tables.to_csv(rows)
    page = text.page(found, means, asked.splits)
    return ended(page, "fit", *([table] if table else []), *told_words(asked.told))


def save_figure(records: list[Record], out: Path) -> None:
    """Draw what was predicted against what was observed, measure by measure, into a file."""
    together = summary([record._replace(target="all", ratings_per_item=1) for record in records])
    files.write(lambda: figure.draw(records, together), out)


class Backtested(NamedTuple):
    """Hold what was understood of a table, for programs, and what came of the predictions."""

    read: dict[str, Any]
    records: list[Record]


def carry_out(table: Path | None, asked: Asked, *, quiet: bool = False) -> Backtested:
    """Carry out all parts of a backtest on as many processes as there are cores.

    Raises InputError for a table that cannot be read or split.
    """
    if table is not None and preferences.is_table(table, asked.told):
        return _on_preferences(table, asked, quiet=quiet)
    if asked.law == PREFERENCE:
        raise InputError(f"--law {PREFERENCE} is of tables of preferences; give one, or leave the law out")
    return _on_ratings(table, asked, quiet=quiet)


def _on_ratings(table: Path | None, asked: Asked, *, quiet: bool) -> Backtested:
    from simlab.engine.progress import progress

    plan = planned(table, asked)
    wanted = tasks(plan.world, plan.pilot_share, asked.splits, plan.size)
    to_fit, to_observe = sources(wanted), list(dict.fromkeys(_observed(task) for task in wanted))
    if not quiet:
        say(table, plan.ratings)
        counts = several(len(to_fit), "fit"), several(len(wanted), "prediction"), several(asked.splits, "split")
        note(f"{plan.law.name}: {counts[0]} and {counts[1]}, of {counts[2]}")
    fits: Part = (fitted, steps(plan.size, "fitted"), [(plan, one) for one in to_fit])
    studies: Part = (observe, steps(plan.size, "observed"), [(plan, *one) for one in to_observe])
    weight = steps(plan.size, "predicted")
    total = sum(part[1] * len(part[2]) for part in (fits, studies)) + weight * len(wanted)
    with progress(total, quiet=quiet, of="steps") as advance:
        effects = dict(zip(to_fit, each(fits, asked.jobs, advance), strict=True))
        real = dict(zip(to_observe, each(studies, asked.jobs, advance), strict=True))
        calls = [(plan, task, effects.get(task.source, ())) for task in wanted]
        expected = list(each((predict, weight, calls), asked.jobs, advance))
    pairs = zip(wanted, expected, strict=True)
    records = [one for task, found in pairs for one in compare(plan, task, found, real[_observed(task)])]
    return Backtested(understood.record(plan.ratings), records)


def _on_preferences(table: Path, asked: Asked, *, quiet: bool) -> Backtested:
    from simlab.engine.progress import progress
    from simlab.fitting.backtest.of_preferences import split_records
    from simlab.fitting.preferences import backtest
    from simlab.fitting.preferences.pilot import pilot_of

    if asked.law not in (AUTO, PREFERENCE):
        raise InputError(f"--law {asked.law} is of tables of ratings; this is one of preferences: leave the law out")
    compared = preferences.read(table, asked.told)
    preferences.refuse_two_sorts(compared, where(table))
    whole, size = pilot_of(preferences.by_documents(compared)), backtest.QUICK if asked.quick else backtest.FULL
    if not quiet:
        note(f"{where(table)}: {preferences.understood(compared)}")
        for line in understood.beside(preferences.record(compared)):
            note(f"  {line}")
    parts = [backtest.split(whole, asked.pilot_share, number, asked.seed) for number in range(asked.splits)]
    calls = [(whole, part, number, asked.seed, size) for number, part in enumerate(parts)]
    with progress(len(calls), quiet=quiet, of="splits") as advance:
        found = list(each((split_records, 1, calls), asked.jobs, advance))
    return Backtested(preferences.record(compared), [record for records in found for record in records])


def planned(table: Path | None, asked: Asked) -> Plan:
    """Read a table and choose the law for it.

    Raises InputError for a table that cannot be read, and for a law that it does not allow.
    """
    from simlab.fitting.backtest.choosing import chosen
    from simlab.fitting.laws import laws
    from simlab.world import recorded
    from simlab.world.recorded import world_of

    read = recorded.table(table, asked.told)
    if read.layout == "averages":
        raise InputError(f"{where(table)}: holds averaged scores without raters; give the table of ratings per rater")
    ratings = as_errors(read)
    world = world_of(ratings, where(table))
    size = asked.size
    if not designs(world, size.thirds, size.ratings_per_item):
        # Nobody else rated an output: studies of all documents cannot be repeated, those of some can, on others.
        size = replace(size, thirds=SOME)
    return Plan(world, chosen(laws(), ratings, asked.law), ratings, asked.pilot_share, size, asked.seed)


def _observed(task: Task) -> tuple[int, str]:
    """Name the real studies that a task is held against; those on all documents are the same in every split."""
    return (0 if task.target == "all" else task.source.split), task.target


def each(part: Part, jobs: int | None, advance: Callable[[int], None]) -> Iterator[Any]:
    """Carry out all calls of a part, several at a time, in their order; tell each that is done."""
    from joblib import Parallel, delayed

    function, weight, asked = part
    for answered in Parallel(n_jobs=jobs or -1, return_as="generator")(delayed(function)(*one) for one in asked):
        advance(weight)
        yield answered
