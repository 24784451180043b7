"""Carry out `simlab backtest`: check predictions from a pilot, or advice on designs, on a table of real ratings.

`run_backtest` takes the table and `BacktestOptions`, and returns a record of `simlab.answers.backtest`; `write` makes
text, JSON or CSV of it. The documents of the table are split at random: a world is fitted to the pilot's share, and
what it predicts is compared with studies on the real ratings, which `simlab.fitting.backtest` carries out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from simlab.answers.backtest import AdviceSource, Backtest, BacktestAdvice, BacktestPapers, Prediction, TestName
from simlab.answers.fit import PREFERENCE
from simlab.answers.records import read_record
from simlab.answers.tables import ReadTable
from simlab.commands.next_steps import add_next_step, write_table_words
from simlab.commands.notes import name_table, note, note_table
from simlab.commands.typed_commands import Given, Launched
from simlab.drawing.figures import files
from simlab.drawing.text import tables
from simlab.drawing.text.tables import Form
from simlab.fitting.backtest.designs import designs
from simlab.fitting.backtest.execution import (
    BacktestRun,
    build_backtest,
    compare,
    fit_effects,
    observe,
    predict,
    target_world,
)
from simlab.fitting.backtest.law_choice import AUTO
from simlab.fitting.backtest.planning import (
    A_FIT,
    FULL,
    QUICK,
    SOME,
    PredictionTask,
    SimulationSize,
    check,
    pilot_documents,
    sources,
    steps,
    tasks,
)
from simlab.messages import clip, pluralise
from simlab.rng import stream
from simlab.tables import preferences, table_summary
from simlab.tables.rating_table import NOTHING, ColumnOverrides, flip_signs
from simlab.types import Floats, InputError, World

Advice: TypeAlias = Literal["pilot", "papers"]
"""Whose advice on designs is judged: that of the table's pilot, or that of papers."""
Part: TypeAlias = tuple[Callable[..., Any], int, Sequence[tuple[Any, ...]]]
"""A function, the number of progress steps of a call, and the arguments of each call."""


class BacktestOptions(NamedTuple):
    """Options of a backtest beside its table.

    `pilot_share` of the documents are the pilot, in `splits` random divisions; `quick` simulates less; `law` names the
    model to fit (auto: chosen by the table); `jobs` are processes (None: all cores). `metric` (a column of the table)
    and `price` (of a rating) are for the advice of papers.
    """

    pilot_share: float = 0.5
    splits: int = 4
    quick: bool = False
    seed: int = 0
    jobs: int | None = None
    law: str = AUTO
    column_overrides: ColumnOverrides = NOTHING
    metric: str | None = None
    price: float | None = None

    @property
    def size(self) -> SimulationSize:
        """Return how much is simulated."""
        return QUICK if self.quick else FULL


def write(answer: Backtest | BacktestAdvice | BacktestPapers, form: Form, given: Given) -> Launched:
    """Format the answer of a backtest as table, csv (a row for each of its `records`) or json.

    `given` are the command's options by name, for the next command.
    """
    if form == "json":
        return Launched(tables.write_tables(answer, form))
    if form != "table":
        return Launched(tables.write([dict(record) for record in answer.records], form))
    from simlab.drawing.reports.answers.backtest import report
    from simlab.drawing.reports.text import page

    return Launched(add_next_step(page(report(answer)), "fit", *write_table_words(given)))


def run_backtest(
    table: Path | None,
    options: BacktestOptions,
    *,
    advice: Advice | None = None,
    plot: Path | None = None,
    quiet: bool = False,
) -> Backtest | BacktestAdvice | BacktestPapers:
    """Carry out a backtest of predictions (`advice` None), of a pilot's advice or of papers'; draw it into `plot`.

    `table` None is the built-in one. Raises InputError, before anything is fitted, for wrong options and for a table
    that cannot be read or split.
    """
    files.check_suffix(plot, "--plot")
    _refuse_without_papers(options, advice)
    answer: Backtest | BacktestAdvice | BacktestPapers = CARRY_OUT[advice](table, options, quiet=quiet)
    if plot is not None:
        from simlab.drawing.reports.answers.backtest import report
        from simlab.drawing.reports.static import plot_report

        files.write(lambda: plot_report(report(answer)), plot)
    return answer


def _refuse_without_papers(options: BacktestOptions, advice: Advice | None) -> None:
    for name, given in (("metric", options.metric), ("price", options.price)):
        if given is not None and advice != "papers":
            raise InputError(f"--{name} is of the papers' advice: add --advice papers, or leave it out")


def carry_out(table: Path | None, options: BacktestOptions, *, quiet: bool = False) -> Backtest:
    """Carry out a backtest of predictions, on ratings or on preferences, and return its record.

    Raises InputError for a table that cannot be read or split.
    """
    if table is not None and preferences.is_table(table, options.column_overrides):
        law, read, records = _predict_preferences(table, options, quiet=quiet)
    elif options.law == PREFERENCE:
        raise InputError(f"--law {PREFERENCE} is of tables of preferences; give one, or leave the law out")
    else:
        law, read, records = _predict_ratings(table, options, quiet=quiet)
    return build_backtest(read, law, options.splits, records)


def _predict_ratings(
    table: Path | None, options: BacktestOptions, *, quiet: bool
) -> tuple[str, dict[str, Any], list[Prediction]]:
    """Return the law that was fitted, what was read of the table, and all predictions."""
    from simlab.engine.progress import progress

    plan = plan_backtest(table, options)
    wanted = tasks(plan.world, plan.pilot_share, options.splits, plan.size)
    to_fit, to_observe = sources(wanted), list(dict.fromkeys(_name_observed(task) for task in wanted))
    if not quiet:
        note_table(table, plan.ratings)
        counts = pluralise(len(to_fit), "fit"), pluralise(len(wanted), "prediction"), pluralise(options.splits, "split")
        note(f"{plan.law.name}: {counts[0]} and {counts[1]}, of {counts[2]}")
    fits: Part = (fit_effects, steps(plan.size, "fitted"), [(plan, call) for call in to_fit])
    studies: Part = (observe, steps(plan.size, "observed"), [(plan, *call) for call in to_observe])
    weight = steps(plan.size, "predicted")
    total = sum(part[1] * len(part[2]) for part in (fits, studies)) + weight * len(wanted)
    with progress(total, quiet=quiet, of="steps") as advance:
        effects = dict(zip(to_fit, run_calls(fits, options.jobs, advance), strict=True))
        real = dict(zip(to_observe, run_calls(studies, options.jobs, advance), strict=True))
        calls = [(plan, task, effects.get(task.source, ())) for task in wanted]
        expected = list(run_calls((predict, weight, calls), options.jobs, advance))
    pairs = zip(wanted, expected, strict=True)
    records = [record for task, draws in pairs for record in compare(plan, task, draws, real[_name_observed(task)])]
    return plan.law.name, table_summary.record(plan.ratings), records


def _predict_preferences(
    table: Path, options: BacktestOptions, *, quiet: bool
) -> tuple[str, dict[str, Any], list[Prediction]]:
    """Return the law that was fitted, what was read of the table, and all predictions."""
    from simlab.engine.progress import progress
    from simlab.fitting.preferences import backtest
    from simlab.fitting.preferences.pilot import build_pilot

    if options.law not in (AUTO, PREFERENCE):
        raise InputError(f"--law {options.law} is of tables of ratings; this is one of preferences: leave the law out")
    compared = preferences.read(table, options.column_overrides)
    preferences.refuse_two_sorts(compared, name_table(table))
    read, size = preferences.record(compared), backtest.QUICK if options.quick else backtest.FULL
    whole = build_pilot(preferences.use_documents(compared))
    if not quiet:
        note(f"{name_table(table)}: {preferences.describe(compared)}")
        for line in table_summary.list_remarks(read):
            note(f"  {line}")
    parts = [backtest.split(whole, options.pilot_share, number, options.seed) for number in range(options.splits)]
    calls = [(whole, part, number, options.seed, size) for number, part in enumerate(parts)]
    with progress(len(calls), quiet=quiet, of="splits") as advance:
        records = [
            record
            for records_of_split in run_calls((backtest.predict_split, 1, calls), options.jobs, advance)
            for record in records_of_split
        ]
    return PREFERENCE, read, records


def plan_backtest(table: Path | None, options: BacktestOptions) -> BacktestRun:
    """Read a table and choose the law for it.

    Raises InputError for a table that cannot be read, and for a law that it does not allow.
    """
    from simlab.fitting.backtest.law_choice import choose_law
    from simlab.fitting.laws import laws
    from simlab.world import recorded
    from simlab.world.recorded import make_world

    read = recorded.table(table, options.column_overrides)
    if read.layout == "averages":
        raise InputError(
            f"{name_table(table)}: holds averaged scores without raters; give the table of ratings per rater"
        )
    ratings = flip_signs(read)
    world = make_world(ratings, name_table(table))
    size = options.size
    if not designs(world, size.thirds, size.ratings_per_item):
        # Nobody else rated an output: studies of all documents cannot be repeated, those of some can, on others.
        size = replace(size, thirds=SOME)
    return BacktestRun(
        world, choose_law(laws(), ratings, options.law), ratings, options.pilot_share, size, options.seed
    )


def _name_observed(task: PredictionTask) -> tuple[int, str]:
    """Return the key (split, target) of the real studies that a task is compared with; all splits share `all`."""
    return (0 if task.target == "all" else task.source.split), task.target


def run_calls(part: Part, jobs: int | None, advance: Callable[[int], None]) -> Iterator[Any]:
    """Yield the results of all calls of a part, in order, from `jobs` processes; `advance` takes the steps done."""
    from joblib import Parallel, delayed

    function, weight, calls = part
    for answered in Parallel(n_jobs=jobs or -1, return_as="generator")(
        delayed(function)(*arguments) for arguments in calls
    ):
        advance(weight)
        yield answered


def judge_advice(table: Path | None, options: BacktestOptions, *, quiet: bool = False) -> BacktestAdvice:
    """Name designs from the pilots of all splits, and carry out their rivals on the real ratings of the others.

    Raises InputError for a table that cannot be read or split, or that leaves nothing to choose.
    """
    from simlab.engine.progress import progress
    from simlab.fitting.backtest.design_advice import advise, summarize_rules

    plan = _plan_advice(table, options)
    if not quiet:
        note_table(table, plan.ratings)
        note(f"{plan.law.name}: {pluralise(options.splits, 'fit')}, of {pluralise(options.splits, 'split')}")
    part: Part = (advise, A_FIT, [(plan, split) for split in range(options.splits)])
    with progress(A_FIT * options.splits, quiet=quiet, of="steps") as advance:
        rows = tuple(row for rows_of_split in run_calls(part, options.jobs, advance) for row in rows_of_split)
    return BacktestAdvice(
        read=read_record(ReadTable, table_summary.record(plan.ratings), "read"),
        law=plan.law.name,
        pilot_documents=pilot_documents(plan.world.frame.n_documents, plan.pilot_share),
        rules=summarize_rules(rows),
        records=rows,
    )


def _plan_advice(table: Path | None, options: BacktestOptions) -> BacktestRun:
    from simlab.fitting.backtest import design_advice

    if options.law == PREFERENCE or (table is not None and preferences.is_table(table, options.column_overrides)):
        raise InputError("--advice: designs are named for studies that rate outputs; preferences have one design only")
    plan = plan_backtest(table, options)
    check(plan.world, plan.pilot_share)
    for split in range(options.splits):
        design_advice.candidates(target_world(plan, split, "held_out"))
    return replace(plan, size=design_advice.QUICK if options.quick else design_advice.FULL)


def judge_papers(table: Path | None, options: BacktestOptions, *, quiet: bool = False) -> BacktestPapers:
    """Test what papers advise on the ratings of a table, and in worlds fitted to it.

    Raises InputError for a table that cannot be read, and where none of the advice can be tried.
    """
    from simlab.engine.progress import progress
    from simlab.fitting.backtest import papers

    if options.law == PREFERENCE or (table is not None and preferences.is_table(table, options.column_overrides)):
        raise InputError("--advice papers: the advice is of studies that rate outputs; give a table of ratings")
    plan, amount = plan_backtest(table, options), papers.QUICK if options.quick else papers.FULL
    metric = None if options.metric is None else _read_metric(table, options.metric, options.column_overrides, plan)
    places: dict[AdviceSource, list[World]] = {"recorded": papers.cut_parts(plan, metric), "fitted": [plan.world]}
    settings = {
        (source, name): papers.find_setting(own, name) if name != "metric" or metric is not None else papers.NO_METRIC
        for source, own in places.items()
        for name in papers.ADVICE
    }
    if all(isinstance(choice, str) for choice in settings.values()):
        reasons = "; ".join(dict.fromkeys(str(choice) for choice in settings.values() if choice != papers.NO_METRIC))
        raise InputError(f"--advice papers: none of it can be tried on {name_table(table)}: {reasons}")
    if not quiet:
        note_table(table, plan.ratings)
    if any(source == "fitted" and not isinstance(choice, str) for (source, _), choice in settings.items()):
        places["fitted"] = papers.draw_worlds(plan, amount.draws, metric)
    studies: dict[AdviceSource, Mapping[TestName, int]] = {"recorded": amount.recorded, "fitted": amount.fitted}
    # The design that is advised is the same in much of the advice, and studied once.
    calls = {
        (source, k, arm, setting, test): (world, arm, setting, test, options.seed + k, number)
        for (source, name), setting in settings.items()
        if not isinstance(setting, str)
        for test, number in studies[source].items()
        for arm in papers.ADVICE[name]
        for k, world in enumerate(places[source])
    }
    with progress(len(calls), quiet=quiet, of="steps") as advance:
        part: Part = (papers.measure_arm, 1, list(calls.values()))
        measured = dict(zip(calls, run_calls(part, options.jobs, advance), strict=True))
    records = []
    for (source, name), setting in settings.items():
        for test in studies[source]:
            if isinstance(setting, str):
                records.append(papers.report_untried(name, source, test, setting))
                continue
            first, second = papers.ADVICE[name]
            pairs = [
                (measured[source, k, first, setting, test], measured[source, k, second, setting, test])
                for k in range(len(places[source]))
            ]
            answers = papers.count_answers(places[source][0], setting)
            price = float("nan") if options.price is None else options.price
            records.append(
                papers.judge(name, source, test, setting, pairs, papers.median_seconds(plan), answers, price)
            )
    records.sort(key=lambda record: list(papers.ADVICE).index(record.advice))
    return BacktestPapers(
        read=read_record(ReadTable, table_summary.record(plan.ratings), "read"),
        law=plan.law.name,
        records=tuple(records),
    )


def _read_metric(table: Path | None, column: str, overrides: ColumnOverrides, plan: BacktestRun) -> Floats:
    """Read what a column of the table says of each output, `[system, item]`.

    Raises InputError where it is no column of scores, or lacks an output that people rated.
    """
    from simlab.world.recorded_metrics import recorded

    if table is None:
        raise InputError(f"--metric {clip(column, 40)}: the built-in table has no metric; give a TABLE with one")
    columns = ",".join(f"{ours}={theirs}" for ours, theirs in overrides.columns.items() if ours != "score") or None
    path = str(table)
    rng = stream(plan.seed, "backtest", "papers", "column")
    read: dict[str, Any] = {
        "path": path,
        "column": column,
        "columns": columns,
        "margin": 0.0,
        "bins": 1,
        "better": None,
    }
    world = recorded(rng, plan.world, sha256=None, **read)
    return np.asarray(world.metric, float)


CARRY_OUT: Mapping[Advice | None, Callable[..., Any]] = {
    None: carry_out,
    "pilot": judge_advice,
    "papers": judge_papers,
}
"""Function that carries out a backtest, by whose advice is judged (None: predictions are checked)."""
