"""Answer how far predictions from a pilot came true."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from simlab.commands.notes import note
from simlab.commands.understanding import say, where
from simlab.drawing.figures import backtest as figure
from simlab.drawing.figures import files
from simlab.drawing.text import backtest as text
from simlab.drawing.text import tables
from simlab.drawing.text.tables import Form
from simlab.fitting.backtest.carrying_out import Plan, compare, fitted, observe, predict
from simlab.fitting.backtest.choosing import AUTO
from simlab.fitting.backtest.planning import FULL, QUICK, Size, Task, sources, steps, tasks
from simlab.fitting.backtest.records import Record, averages, summary
from simlab.tables.held import NOTHING, Told
from simlab.tables.preferences import Preferences
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
    records = carry_out(table, asked)
    if plot is not None:
        save_figure(records, plot)
    rows = [record._asdict() for record in records]
    if keep:
        keep(tables.to_json(rows))
    if form != "table":
        return tables.write(rows, form)
    return text.page(summary(records), averages(records), asked.splits)


def save_figure(records: list[Record], out: Path) -> None:
    """Draw what was predicted against what was observed, measure by measure, into a file."""
    together = summary([record._replace(target="all", ratings_per_item=1) for record in records])
    files.write(lambda: figure.draw(records, together), out)


def carry_out(table: Path | None, asked: Asked, *, quiet: bool = False) -> list[Record]:
    """Carry out all parts of a backtest on as many processes as there are cores.

    Raises InputError for a table that cannot be read or split.
    """
    compared = None if table is None else preferences_in(table, asked.told)
    if compared is not None:
        return _on_preferences(compared, asked, quiet=quiet)
    if asked.law == PREFERENCE:
        raise InputError(f"--law {PREFERENCE} is of tables of preferences; give one, or leave the law out")
    return _on_ratings(table, asked, quiet=quiet)


def _on_ratings(table: Path | None, asked: Asked, *, quiet: bool) -> list[Record]:
    from simlab.engine.progress import progress

    plan = planned(table, asked)
    wanted = tasks(plan.world, plan.pilot_share, asked.splits, plan.size)
    to_fit, to_observe = sources(wanted), list(dict.fromkeys(_observed(task) for task in wanted))
    if not quiet:
        say(table, plan.ratings)
        note(f"{plan.law.name}: {len(to_fit)} fits and {len(wanted)} predictions, of {asked.splits} splits")
    fits: Part = (fitted, steps(plan.size, "fitted"), [(plan, one) for one in to_fit])
    studies: Part = (observe, steps(plan.size, "observed"), [(plan, *one) for one in to_observe])
    weight = steps(plan.size, "predicted")
    total = sum(part[1] * len(part[2]) for part in (fits, studies)) + weight * len(wanted)
    with progress(total, quiet=quiet, of="steps") as advance:
        effects = dict(zip(to_fit, _each(fits, asked.jobs, advance), strict=True))
        real = dict(zip(to_observe, _each(studies, asked.jobs, advance), strict=True))
        calls = [(plan, task, effects.get(task.source, ())) for task in wanted]
        expected = list(_each((predict, weight, calls), asked.jobs, advance))
    pairs = zip(wanted, expected, strict=True)
    return [one for task, found in pairs for one in compare(plan, task, found, real[_observed(task)])]


def _on_preferences(compared: Preferences, asked: Asked, *, quiet: bool) -> list[Record]:
    from simlab.engine.progress import progress
    from simlab.fitting.backtest.of_preferences import split_records
    from simlab.fitting.preferences import backtest
    from simlab.fitting.preferences.pilot import pilot_of

    if asked.law not in (AUTO, PREFERENCE):
        raise InputError(f"--law {asked.law} is of tables of ratings; this is one of preferences: leave the law out")
    whole, size = pilot_of(compared), backtest.QUICK if asked.quick else backtest.FULL
    parts = [backtest.split(whole, asked.pilot_share, number, asked.seed) for number in range(asked.splits)]
    calls = [(whole, part, number, asked.seed, size) for number, part in enumerate(parts)]
    with progress(len(calls), quiet=quiet, of="splits") as advance:
        found = list(_each((split_records, 1, calls), asked.jobs, advance))
    return [record for records in found for record in records]


def preferences_in(table: Path, told: Told) -> Preferences | None:
    """Read a table of preferences; None where it is none, which its header says.

    Raises InputError for a table of preferences that is malformed.
    """
    from simlab.tables import preferences
    from simlab.tables.cells import load, renamed

    try:
        found = renamed(load(table, preferences.FORM), preferences.USUAL, told.columns)
    except InputError:
        # Who reads ratings says what is wrong with it.
        return None
    return preferences.of_table(found, None) if preferences.holds(found.header) else None


def planned(table: Path | None, asked: Asked) -> Plan:
    """Read a table and choose the law for it.

    Raises InputError for a table that cannot be read, and for a law that it does not allow.
    """
    from simlab.fitting.backtest.choosing import chosen
    from simlab.fitting.laws import laws
    from simlab.world import recorded
    from simlab.world.recorded import holds_averages, world_of

    ratings = recorded.table(table, asked.told)
    world = world_of(ratings, where(table))
    if holds_averages(world):
        raise InputError(f"{table}: holds averaged scores without raters; give the table of ratings per rater")
    return Plan(world, chosen(laws(), ratings, asked.law), ratings, asked.pilot_share, asked.size, asked.seed)


def _observed(task: Task) -> tuple[int, str]:
    """Name the real studies that a task is held against; those on all documents are the same in every split."""
    return (0 if task.target == "all" else task.source.split), task.target


def _each(part: Part, jobs: int | None, advance: Callable[[int], None]) -> Iterator[Any]:
    """Carry out all calls of a part, several at a time, in their order; tell each that is done."""
    from joblib import Parallel, delayed

    function, weight, asked = part
    for answered in Parallel(n_jobs=jobs or -1, return_as="generator")(delayed(function)(*one) for one in asked):
        advance(weight)
        yield answered
