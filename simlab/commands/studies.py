"""The verbs about a study with real raters: plan, assign, conclude, report.

A verb is one function of typed options, for the command line and, as `simlab.NAME`, for notebooks: there `_label_NAME`
turns the record that it returns into datasets and other results of notebooks.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias, Unpack

import typer

from simlab.commands.flags import (
    FIGURES,
    Columns,
    File,
    Force,
    Jobs,
    Plugins,
    RowsWhere,
    Seed,
    TableOptions,
    is_left_out,
    make_overrides,
    make_path,
    write_targets,
)
from simlab.commands.notes import note
from simlab.commands.typed_commands import verb
from simlab.types import InputError

if TYPE_CHECKING:
    from simlab.commands.assign import WrittenSheets
    from simlab.commands.conclude import ConcludeAnswer
    from simlab.commands.notebook_conclusion import Concluded
    from simlab.commands.notebook_plans import PlannedStudy
    from simlab.commands.plan import WrittenPlan
    from simlab.commands.report import WrittenReport

Wanted: TypeAlias = Mapping[str, float] | str
"""Targets of a plan: values by measure, or the text of the option."""


def _label_plan(planned: WrittenPlan) -> PlannedStudy:
    from simlab.commands.notebook_plans import label_plan

    return label_plan(planned)


@verb(_label_plan)
def plan(
    subject: Annotated[File | None, typer.Argument(metavar="TABLE|WORLD", hidden=True)] = None,
    *settings: Annotated[str | Mapping[str, object], typer.Argument(metavar="KEY=VALUE", hidden=True)],
    target: Annotated[
        Wanted | None, typer.Option(metavar="M=X[,M=X]", help="Reach this; else power=.8,no_wrong_claim=.95.")
    ] = None,
    floor: Annotated[Wanted | None, typer.Option(metavar="M=X[,M=X]", help="And let these be no less.")] = None,
    smallest_difference: Annotated[
        float | None, typer.Option(metavar="X", help="The smallest difference that matters, on your scale.")
    ] = None,
    over: Annotated[
        str | None, typer.Option(metavar="KEY[=A,B|A..B],...", help="Choose among these; else what the world allows.")
    ] = None,
    candidates: Annotated[
        File | None, typer.Option(metavar="FILE", help="Choose among these designs: .csv, or .yaml.")
    ] = None,
    scenarios: Annotated[
        Sequence[File] | str | None,
        typer.Option(metavar="WORLD[,WORLD]", help="Ask in these worlds, too, whether the advice holds."),
    ] = None,
    margin: Annotated[float, typer.Option(metavar="X", help="Values of a target this close are as good.")] = 0.02,
    confidence: Annotated[
        float, typer.Option(metavar="X", help="Let the choice be right with this probability.")
    ] = 0.95,
    at_most: Annotated[
        str | int, typer.Option("--at-most", metavar="N|T", help="Simulate at most N studies, or so long: 90s, 3m.")
    ] = "5000",
    systems: Annotated[int | None, typer.Option(metavar="N", help="Without a pilot: so many systems.")] = None,
    raters: Annotated[int | None, typer.Option(metavar="N", help="So many raters.")] = None,
    price: Annotated[float | None, typer.Option(metavar="X", help="What a rating costs.")] = None,
    budget: Annotated[float | None, typer.Option(metavar="X", help="What there is to spend.")] = None,
    by: Annotated[
        str | None, typer.Option(metavar="T", help="When it must be done: 5d, 36h, friday, or a date.")
    ] = None,
    law: Annotated[
        str,
        typer.Option(metavar="LAW", help="Fit this law to TABLE, as `simlab fit` does; auto: what predicts best."),
    ] = "auto",
    out: Annotated[
        File | None, typer.Option(metavar="DIR", help="The study's folder; by default in outputs/, by what is asked.")
    ] = None,
    family: Annotated[
        Literal["all", "against", "best", "ranks", "fdr"] | None,
        typer.Option(help="Freeze what will be promised: see `conclude --family`.", show_default=False),
    ] = None,
    against: Annotated[str | None, typer.Option(metavar="SYSTEM", help="Freeze this baseline.")] = None,
    jobs: Jobs = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Take other random numbers.", min=0)] = 1,
    force: Force = False,
    progress: bool = False,
    **told: Unpack[TableOptions],
) -> WrittenPlan:
    """Name the design to buy: the cheapest that finds what must be found.

    TABLE holds the ratings of a pilot, WORLD is what `simlab fit` wrote, or a study file; without either the presets'
    worlds serve. KEY=VALUE says the rest: budget.total, budget.deadline, budget.price_per_rating, and any other key.

    Returns the design, its figures in worlds that the search had not seen, and all designs that were looked at. In
    notebooks `target` and `floor` may be mappings (`{"power": 0.8}`). The study's folder is `out`, by default one in
    `outputs/`.

    Raises InputError, before anything is carried out, for what is asked wrongly.

    >>> planned = simlab.plan("pilot.csv", "budget.total=2000", price=0.5, out="my")  # doctest: +SKIP
    >>> planned.design["design.documents"], planned.measures["power"]["value"]  # doctest: +SKIP
    """
    from simlab.commands import plan as plans
    from simlab.commands.words import words

    others = (
        scenarios
        if scenarios is None or isinstance(scenarios, str)
        else ",".join([os.fspath(path) for path in scenarios])
    )
    options = plans.PlanOptions(
        words=(*([] if subject is None else [os.fspath(subject)]), *words(settings, axes=False)),
        target=write_targets(target),
        floor=write_targets(floor),
        smallest=smallest_difference,
        over=over,
        candidates=make_path(candidates),
        scenarios=others or None,
        margin=margin,
        confidence=confidence,
        at_most=str(at_most),
        systems=systems,
        raters=raters,
        price=price,
        budget=budget,
        by=by,
        law=law,
        out=make_path(out),
        jobs=jobs,
        seed=seed,
        column_overrides=make_overrides(**told),
        force=force,
        family=family,
        against=against,
    )
    return plans.write_plan(options, say=note)


def _label_assign(sheets: WrittenSheets) -> list[Path]:
    return sheets.files


@verb(_label_assign)
def assign(
    plan: Annotated[File, typer.Argument(metavar="DIR", hidden=True)],
    *,
    items: Annotated[
        File, typer.Option(metavar="FILE", help="Read what is rated: document, segment, source, system, output.")
    ],
    raters: Annotated[
        File | None, typer.Option(metavar="FILE", help="Read who rates: rater, hours, cap; else r1, r2, ...")
    ] = None,
    out: Annotated[
        File | None, typer.Option(metavar="FILE", help="Write sheets here; DIR/assignment.csv by default.")
    ] = None,
    form: Annotated[
        Literal["csv", "label_studio", "appraise"], typer.Option("--as", help="Write for a spreadsheet, or a tool.")
    ] = "csv",
    seed: Annotated[int | None, typer.Option(metavar="N", help="Deal by other random numbers.", min=0)] = None,
    controls: Annotated[
        float | None, typer.Option(metavar="SHARE", help="Put in so many control ratings for each rating.")
    ] = None,
    languages: Annotated[
        str, typer.Option(metavar="SRC-TGT", help="For Appraise: which languages, by its codes.")
    ] = "eng-deu",
    after: Annotated[
        File | None, typer.Option(metavar="TABLE", help="Ask about what TABLE, of this plan, left open.")
    ] = None,
    alone: Annotated[
        bool, typer.Option("--alone", help="With --after: as a new study, which is concluded by itself.")
    ] = False,
    columns: Columns = None,
    where: RowsWhere = None,
    plugins: Plugins = None,
) -> WrittenSheets:
    """Assign a planned study: who rates what, in which order.

    DIR is the folder of a plan, or a study file. Sheets are a draw of the design that was simulated; systems are named
    in DIR/key.csv only. `simlab conclude FILE --plan DIR` reads filled sheets, and says what they show. With --after
    the pairs that are still open are asked about on documents that nobody rated, in a folder below DIR.

    Returns the sheets (a file or a folder), and in the folder of the plan the key, by which `conclude` unblinds them,
    and the study.

    Raises InputError, before anything is written, for a folder without a plan, and for items and raters that do not fit
    its design.

    >>> simlab.assign("my", items="items.csv", raters="raters.csv")  # doctest: +SKIP
    >>> simlab.conclude("my/assignment.csv", plan="my")  # doctest: +SKIP
    """
    from simlab.commands import assign as assignments

    if alone and after is None:
        raise InputError("--alone goes with --after TABLE")
    if after is None and (columns or where):
        raise InputError("--columns and --where are of --after TABLE; name it, or leave them out")
    overrides = make_overrides(columns, where=where)
    people, sheets, done = make_path(raters), make_path(out), make_path(after)
    options = assignments.AssignOptions(
        Path(items), people, sheets, form, seed, controls, languages, done, alone, overrides
    )
    return assignments.carry_out(Path(plan), options, list(plugins or ()))


def _label_conclusion(answered: ConcludeAnswer) -> Concluded:
    from simlab.commands.notebook_conclusion import label_conclusion

    return label_conclusion(answered)


@verb(_label_conclusion)
def conclude(
    table: Annotated[File | None, typer.Argument(metavar="TABLE|DIR", hidden=True)] = None,
    *words: Annotated[File, typer.Argument(metavar="TABLE|KEY=VALUE", hidden=True)],
    world: Annotated[int | None, typer.Option(metavar="N", help="With DIR: index of the world.", min=0)] = None,
    pool: Annotated[int | None, typer.Option(metavar="N", help="With DIR: index of the pool of raters.", min=0)] = None,
    draw: Annotated[
        int | None, typer.Option(metavar="N", help="With DIR: index of the documents' draw.", min=0)
    ] = None,
    study: Annotated[int | None, typer.Option(metavar="N", help="With DIR: index of the study.", min=0)] = None,
    plugins: Plugins = None,
    plan: Annotated[
        File | None, typer.Option(metavar="FILE", help="Follow this study file; without TABLE: say what is planned.")
    ] = None,
    promise: Annotated[
        Literal["fixed", "anytime"] | None,
        typer.Option(help="fixed: at the plan's end; anytime: after every batch, of preferences.", show_default=False),
    ] = None,
    level: Annotated[
        float | None, typer.Option(metavar="X", help="Let any claim be wrong with this probability; else .05.")
    ] = None,
    metric: Annotated[
        Sequence[str] | str | None,
        typer.Option(metavar="COLUMN[,COLUMN]", help="Hold these metrics, or judges, against humans."),
    ] = None,
    family: Annotated[
        Literal["all", "against", "best", "ranks", "fdr"] | None,
        typer.Option(
            help="Promise claims of all pairs, or those with one system; who may be best; ranks; a share of claims.",
            show_default=False,
        ),
    ] = None,
    against: Annotated[
        str | None, typer.Option(metavar="SYSTEM", help="Compare all systems with this one only.")
    ] = None,
    margin: Annotated[
        float | None, typer.Option(metavar="X", help="Say which pairs are no more than X apart, or not worse by more.")
    ] = None,
    exclude: Annotated[
        Sequence[str] | None, typer.Option(metavar="RATER", help="Show the conclusion without this rater, too.")
    ] = None,
    adequate_from: Annotated[
        float | None, typer.Option(metavar="X", help="Outputs are adequate from this human score.")
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(metavar="X", help="A metric says adequate above it; else the best.")
    ] = None,
    seed: Seed = 0,
    repetition: Annotated[
        bool,
        typer.Option(
            "--no-repetition",
            callback=is_left_out,
            help="Leave out how a repetition would come out.",
            show_default=False,
        ),
    ] = True,
    check: Annotated[
        bool, typer.Option("--check", help="Read TABLE and say by what it would be concluded, and no result.")
    ] = False,
    consensus: Annotated[
        bool, typer.Option("--consensus", help="Say what most raters would say of items, their errors learned.")
    ] = False,
    look: Annotated[
        bool, typer.Option("--look", help="Look before the plan's end; its promise is then withdrawn.")
    ] = False,
    figure: Annotated[
        File | None,
        typer.Option(metavar="FILE", help="Draw systems, pairs, raters and metrics, as .png, .svg or .pdf."),
        FIGURES,
    ] = None,
    paragraph: Annotated[
        File | None, typer.Option(metavar="FILE", help="Write a paragraph for the paper, as .md or .txt.")
    ] = None,
    progress: bool = False,
    **told: Unpack[TableOptions],
) -> ConcludeAnswer:
    """Conclude from a table: who is better, with a promise.

    TABLE holds ratings, preferences, or outputs that humans and metrics scored. A second one holds scores of a metric
    (with --metric), else another study of these systems. KEY=VALUE changes a key of the analysis. With DIR in place of
    TABLE: a campaign of a store.

    Returns the systems and pairs as datasets, the promise, and the record that `--format json` prints. `columns`,
    `better`, `scale`, `people` and `where` tell of the table what it does not say.

    Raises InputError, before anything is estimated, for a table that cannot be read and for what is asked wrongly.

    >>> found = simlab.conclude("ratings.csv", against="baseline")  # doctest: +SKIP
    >>> found.pairs.to_dataframe()[["first", "second", "difference", "verdict"]]  # doctest: +SKIP
    >>> found.plot("order.png")  # doctest: +SKIP
    """
    from simlab.commands import conclude as conclusions
    from simlab.concluding.options import ConcludeOptions

    metrics = metric.split(",") if isinstance(metric, str) else metric or ()
    wanted = ConcludeOptions(
        column_overrides=make_overrides(**told),
        promise=promise,
        level=level,
        metrics=tuple(dict.fromkeys(name.strip() for name in metrics if name.strip())),
        family=family,
        against=against,
        margin=margin,
        exclude=tuple(dict.fromkeys([exclude] if isinstance(exclude, str) else exclude or ())),
        seed=seed,
        again=repetition,
        look=look,
        consensus=consensus,
        adequate_from=adequate_from,
        threshold=threshold,
    )
    return conclusions.carry_out(
        [os.fspath(word) for word in (table, *words) if word is not None],
        make_path(plan),
        wanted,
        {"world": world, "pool": pool, "draw": draw, "study": study},
        make_path(figure),
        make_path(paragraph),
        plugins or [],
        check=check,
    )


def _label_report(written: WrittenReport) -> str:
    for line in written.doubts:
        warnings.warn(line, stacklevel=3)
    return written.text


@verb(_label_report)
def report(
    *targets: Annotated[File, typer.Argument(metavar="DIR|ANSWER.json", hidden=True)],
    out: Annotated[
        File | None, typer.Option(metavar="FILE", help="Write here; DIR/report.html, or beside an answer.")
    ] = None,
    form: Annotated[
        Literal["html", "md", "tex"] | None,
        typer.Option("--format", help="Write in this form; html, or that of FILE.", show_default=False),
    ] = None,
    heds: Annotated[bool, typer.Option("--heds", help="Add what is known of the datasheet HEDS 3.0.")] = False,
    plugins: Plugins = None,
) -> WrittenReport:
    """Write an answer as one file that anyone can open and cite.

    DIR is the folder of a sweep or of a plan, ANSWER.json what --save kept of plan, conclude, fit, agreement,
    backtest, mutt or detect. html opens in any browser, offline; md and tex hold the tables and a paragraph for a
    paper.

    Returns the text of the report; a notebook writes it only where `out` names a file, whose ending gives the form
    where `form` is left out. What parts of `plugins` do is read from their docstrings.

    Warns of what is to be doubted. Raises InputError for what no report can be made of.

    >>> simlab.report("outputs/item_grouping", out="report.html")  # doctest: +SKIP
    """
    from simlab.commands import report as reports

    return reports.carry_out(list(map(Path, targets)), make_path(out), form, heds=heds, plugins=plugins or [])
