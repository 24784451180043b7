"""Answer how far predictions from a pilot came true."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from simlab.commands.notes import note
from simlab.drawing.figures import backtest as figure
from simlab.drawing.figures import files
from simlab.drawing.text import backtest as text
from simlab.drawing.text import tables
from simlab.drawing.text.tables import Form
from simlab.fitting.backtest.carrying_out import Plan, compare, fitted, observe, predict
from simlab.fitting.backtest.planning import FULL, QUICK, Size, Task, sources, steps, tasks
from simlab.fitting.backtest.records import Record, averages, summary
from simlab.types import InputError

Part: TypeAlias = tuple[Callable[..., Any], str, Sequence[tuple[Any, ...]]]
"""A function, what it does, and what it is asked, call by call."""


def answer(
    table: Path | None,
    pilot_share: float,
    *,
    splits: int,
    quick: bool,
    form: Form,
    plot: Path | None,
    seed: int,
    jobs: int | None,
    keep: Callable[[str], None] | None = None,
) -> str:
    """Carry out a backtest and write what came of it; draw it if a file for that is named.

    Raises InputError before anything is fitted for what is asked wrongly or malformed.
    """
    files.check_suffix(plot, "--plot")
    records = carry_out(table, pilot_share, splits=splits, quick=quick, seed=seed, jobs=jobs)
    if plot is not None:
        save_figure(records, plot)
    rows = [record._asdict() for record in records]
    if keep:
        keep(tables.to_json(rows))
    if form != "table":
        return tables.write(rows, form)
    return text.page(summary(records), averages(records), splits)


def save_figure(records: list[Record], out: Path) -> None:
    """Draw what was predicted against what was observed, measure by measure, into a file."""
    together = summary([record._replace(target="all", ratings_per_item=1) for record in records])
    files.write(lambda: figure.draw(records, together), out)


def carry_out(
    table: Path | None,
    pilot_share: float,
    *,
    splits: int,
    quick: bool,
    seed: int,
    jobs: int | None,
    quiet: bool = False,
) -> list[Record]:
    """Carry out all parts of a backtest on as many processes as there are cores.

    Raises InputError for a table that cannot be read or split.
    """
    from simlab.engine.progress import progress

    plan = planned(table, pilot_share, quick=quick, seed=seed)
    wanted = tasks(plan.world, pilot_share, splits, plan.size)
    to_fit, to_observe = sources(wanted), list(dict.fromkeys(_observed(task) for task in wanted))
    if not quiet:
        note(f"{len(to_fit)} fits and {len(wanted)} predictions: {splits} splits, for all documents and those held out")
    fits: Part = (fitted, "fitted", [(plan, one) for one in to_fit])
    studies: Part = (observe, "observed", [(plan, *one) for one in to_observe])
    works = {"fitted": len(to_fit), "observed": len(to_observe), "predicted": len(wanted)}
    total = sum(n * steps(plan.size, what) for what, n in works.items())
    with progress(total, quiet=quiet, of="steps") as advance:
        effects = dict(zip(to_fit, _each(fits, plan.size, jobs, advance), strict=True))
        real = dict(zip(to_observe, _each(studies, plan.size, jobs, advance), strict=True))
        asked = [(plan, task, effects.get(task.source, ())) for task in wanted]
        expected = list(_each((predict, "predicted", asked), plan.size, jobs, advance))
    pairs = zip(wanted, expected, strict=True)
    return [one for task, found in pairs for one in compare(plan, task, found, real[_observed(task)])]


def planned(table: Path | None, pilot_share: float, *, quick: bool, seed: int) -> Plan:
    """Read a table and choose the law for it.

    Raises InputError for a table that cannot be read.
    """
    from simlab.fitting.backtest.todays_law import LAW
    from simlab.rng import stream
    from simlab.world.recorded import holds_averages, recorded

    world = recorded(stream(0, "backtest"), path=None if table is None else str(table), sha256=None, names=None)
    if holds_averages(world):
        raise InputError(f"{table}: holds averaged scores without raters; give the table of ratings per rater")
    return Plan(world, LAW, None, pilot_share, QUICK if quick else FULL, seed)


def _observed(task: Task) -> tuple[int, str]:
    """Name the real studies that a task is held against; those on all documents are the same in every split."""
    return (0 if task.target == "all" else task.source.split), task.target


def _each(part: Part, size: Size, jobs: int | None, advance: Callable[[int], None]) -> Iterator[Any]:
    """Carry out all calls of a part, several at a time, in their order; tell each that is done."""
    from joblib import Parallel, delayed

    function, what, asked = part
    for answered in Parallel(n_jobs=jobs or -1, return_as="generator")(delayed(function)(*one) for one in asked):
        advance(steps(size, what))
        yield answered
