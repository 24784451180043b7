"""Answer how far predictions from a pilot came true."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from simlab.commands.notes import note
from simlab.commands.understanding import say, where
from simlab.drawing.figures import backtest as figure
from simlab.drawing.figures import files
from simlab.drawing.text import backtest as text
from simlab.drawing.text import tables
from simlab.drawing.text.tables import Form
from simlab.fitting import backtest
from simlab.fitting.backtest import Record
from simlab.tables.held import NOTHING, Told
from simlab.types import InputError


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
    told: Told = NOTHING,
) -> str:
    """Carry out a backtest and write what came of it; draw it if a file for that is named.

    Raises InputError before anything is fitted for what is asked wrongly or malformed.
    """
    files.check_suffix(plot, "--plot")
    splits = 1 if quick else splits
    records = carry_out(table, pilot_share, splits=splits, quick=quick, seed=seed, jobs=jobs, told=told)
    if plot is not None:
        save_figure(records, plot)
    rows = [record._asdict() for record in records]
    if keep:
        keep(tables.to_json(rows))
    if form != "table":
        return tables.write(rows, form)
    return text.page(backtest.summary(records), backtest.averages(records), splits)


def save_figure(records: list[Record], out: Path) -> None:
    """Draw predicted against observed SRP into a file."""
    together = backtest.summary([record._replace(ratings_per_item=1) for record in records])
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
    told: Told = NOTHING,
) -> list[Record]:
    """Carry out all tasks of a backtest on as many processes as there are cores.

    Raises InputError for a table that cannot be read or split.
    """
    from joblib import Parallel, delayed

    from simlab.world import recorded
    from simlab.world.recorded import holds_averages, world_of

    ratings = recorded.table(table, told)
    world = world_of(ratings, where(table))
    if holds_averages(world):
        raise InputError(f"{table}: holds averaged scores without raters; give the table of ratings per rater")
    tasks = backtest.tasks(world, pilot_share, splits, backtest.QUICK if quick else backtest.FULL, seed)
    if not quiet:
        say(table, ratings)
        note(f"{len(tasks)} tasks: {splits} splits, each predicted for all documents and for those held out")
    batches: Any = Parallel(n_jobs=jobs or -1)(delayed(backtest.carry_out)(task) for task in tasks)
    return [record for records in batches for record in records]
