"""The verbs about tables of ratings or scores: agreement, fit, backtest, mutt, fit_metric.

A verb is one function of typed options, for the command line and, as `simlab.NAME`, for notebooks: there `_label_NAME`
turns the record that it returns into datasets and other results of notebooks. A pilot is a small study whose ratings a
larger one is planned by. What a verb needs is imported when it is called.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias, Unpack

import typer

from simlab.commands.flags import (
    FIGURES,
    Cut,
    Figure,
    File,
    Jobs,
    Plugins,
    Quick,
    Seed,
    Table,
    TableOptions,
    make_overrides,
    make_path,
)
from simlab.commands.typed_commands import verb

if TYPE_CHECKING:
    import xarray as xr

    from simlab.answers.agreement import Agreement
    from simlab.answers.backtest import Backtest, BacktestAdvice, BacktestPapers
    from simlab.answers.mutt import MetricAgreement, PassRates
    from simlab.commands.fit import FitResult
    from simlab.commands.fit_metric import MetricFits
    from simlab.commands.notebook_answers import FittedMetrics, FittedWorld
    from simlab.metric_tests.sentences import CorruptedSentences

LawName: TypeAlias = Literal["auto", "mqm", "gaussian", "normal_scores", "ordinal", "binary", "preference"]
DESIGN = ("split", "grouping", "normalization", "documents", "ratings_per_item", "repetition")
"""Fields of a backtest's row that describe its design; they become coordinates."""
METRICS = "bleu,rouge_l,cider,chrf"
"""Metrics that `mutt` tests by default."""


def _label_agreement(agreement: Agreement) -> Agreement:
    return agreement


@verb(_label_agreement)
def agreement(
    table: Table = None,
    *,
    cut: Cut = 300.0,
    speeds: Annotated[
        File | None, typer.Option(metavar="TABLE", help="Predict the hours from the speeds of another table.")
    ] = None,
    plot: Figure = None,
    **told: Unpack[TableOptions],
) -> Agreement:
    """Measure how far the raters of a table of ratings agree.

    The table has system, document, rater and score, or is an MQM table, packed or not; left out, it is the built-in
    one.

    Returns mean Kendall tau-b over single documents and over all shared ones (`single`, `shared`), over `pairs` of
    raters, and the scores of `raters` in points; `.each_row()` yields the rows of all tables, `.serialise()` gives all
    of it as JSON has it. `plot` names the file of a figure; from `speeds`, another table with times, hours are
    predicted.
    `columns`, `better`, `scale`, `people`, `where` tell of the table what it does not say. Raises InputError for a
    table that cannot be read.

    >>> simlab.agreement("ratings.tsv").single.kendall  # doctest: +SKIP
    """
    from simlab.commands.agreement import measure

    return measure(make_path(table), make_path(plot), make_overrides(**told), cut, make_path(speeds))


def _label_fit(result: FitResult) -> FittedWorld:
    from simlab.commands.notebook_answers import label_fit

    for line in result.fit.unmixed:
        warnings.warn(line, stacklevel=3)
    if result.failed:
        warnings.warn(f"the world fails checks against its pilot: {', '.join(result.failed)}", stacklevel=3)
    return label_fit(result)


@verb(_label_fit)
def fit(
    table: Table = None,
    *,
    out: Annotated[
        File | None, typer.Option(metavar="FILE", help="Write the world here, as .yaml; else nothing is written.")
    ] = None,
    law: Annotated[
        str,
        typer.Option(
            metavar="LAW",
            help="Fit this law: mqm, gaussian, normal_scores, ordinal, binary, preference, or MODULE:FUNCTION, a "
            "NumPyro model of yours; auto: the one that predicts documents held out best.",
        ),
    ] = "auto",
    report: Annotated[
        File | None,
        typer.Option(metavar="FILE", help="Draw what the fit says of the pilot, as .png, .svg or .pdf."),
        FIGURES,
    ] = None,
    seed: Seed = 0,
    cut: Cut = 300.0,
    progress: bool = False,
    **told: Unpack[TableOptions],
) -> FitResult:
    """Make a world from the ratings of a pilot, and check it.

    The table holds ratings or preferences; left out, it is the built-in ratings. Use the world with systems=fitted
    systems.path=OUT. One that fails its checks is written, marked, and refused by run and sweep without --force.

    Returns the components of the world and its checks against the pilot as datasets. `columns`, `better`, `scale`,
    `people` tell of the table what it does not say, `where` which of its rows are read (`{"aspect": "fluency"}`). Where
    it has times, speeds are learnt from them, gaps between two answers cut at `cut` seconds.

    A `law` of one's own, MODULE:FUNCTION, is a NumPyro model; it is imported, sampled by NUTS and checked as others.

    Warns of a world that fails its checks. Raises InputError, before anything is fitted, for a table that cannot be
    read, a law that it does not allow or that is none, and for names that end in something else.

    >>> world = simlab.fit("pilot.csv", out="pilot.yaml")  # doctest: +SKIP
    >>> world.components.to_dataframe()  # doctest: +SKIP
    """
    from simlab.commands import fit as fits

    return fits.carry_out(make_path(table), make_overrides(**told), law, make_path(out), make_path(report), seed, cut)


def _label_backtest(answer: Backtest | BacktestAdvice | BacktestPapers) -> xr.Dataset:
    from simlab.answers.backtest import BacktestAdvice, BacktestPapers
    from simlab.commands.notebook_answers import attach_units, lay_out_records

    rows = [dict(record) for record in answer.records]
    if isinstance(answer, BacktestPapers):
        return lay_out_records("row", rows, ("advice", "source", "test", "measure", "repetition", "verdict", "reason"))
    if isinstance(answer, BacktestAdvice):
        return lay_out_records("candidate", rows, (*DESIGN, "rules"))
    return attach_units(lay_out_records("prediction", rows, (*DESIGN, "target", "method", "law", "measure", "unknown")))


@verb(_label_backtest)
def backtest(
    table: Table = None,
    *,
    pilot_share: Annotated[float, typer.Option(metavar="X", help="Fit to this share of the documents.")] = 0.5,
    splits: Annotated[int, typer.Option(metavar="N", help="Split the documents at random N times.", min=1)] = 4,
    law: Annotated[
        LawName,
        typer.Option(help="Fit this law; auto: the first that the table allows of binary, mqm, gaussian, ordinal."),
    ] = "auto",
    advice: Annotated[
        Literal["pilot", "papers"] | None,
        typer.Option(help="Judge advice instead: the design that a pilot names, or what papers advise."),
    ] = None,
    metric: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="With --advice papers: mix this metric of TABLE in.")
    ] = None,
    price: Annotated[
        float | None, typer.Option(metavar="X", help="With --advice papers: what a rating costs.", min=0)
    ] = None,
    quick: Quick = False,
    plot: Figure = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Split otherwise.", min=0)] = 0,
    jobs: Jobs = None,
    progress: bool = False,
    **told: Unpack[TableOptions],
) -> Backtest | BacktestAdvice | BacktestPapers:
    """Hold predictions from a pilot against real studies.

    Fits a world to some documents of a table of ratings (left out: the built-in one), predicts what studies on the
    others and on all of them find, and carries out these studies on the real ratings.

    --advice pilot names a design of those that cost the same, and judges it. --advice papers holds what papers advise
    (side by side, even loads, z-scores, more documents rather than ratings, a metric as control variate) against what
    they warn of.

    Returns, over `prediction`, `predicted`, `low`, `high` (90 % of worlds), `observed` and `observed_mcse`: of SRP, the
    share confirmed, the significant share, power (never observed: NaN) and Kendall's tau. Coordinates say of which
    measure, split, target, method and design. With `advice="pilot"` a design is named instead among those of equal
    cost, from each split's pilot: over `candidate`, what was predicted and observed of its significant share and the
    share confirmed; `rules` says which rules name it (`advice`, rules of thumb, and `best`, known afterwards only).
    With `advice="papers"` over `row`: `effect`, `error`, `low`, `high` (95 %), `n` and the `verdict` on each advice.

    Raises InputError for a table that cannot be read or split, or that leaves nothing to choose or to try.

    >>> table = simlab.backtest("ratings.tsv", quick=True).to_dataframe()  # doctest: +SKIP
    """
    from simlab.commands import backtest as backtests

    options = backtests.BacktestOptions(
        pilot_share, splits, quick, seed, jobs, law, make_overrides(**told), metric, price
    )
    return backtests.run_backtest(make_path(table), options, advice=advice, plot=make_path(plot), quiet=not progress)


def _label_mutt(answer: PassRates | MetricAgreement | CorruptedSentences) -> PassRates | MetricAgreement | xr.Dataset:
    from simlab.commands.notebook_answers import lay_out_records
    from simlab.metric_tests.sentences import CorruptedSentences, summary

    if isinstance(answer, CorruptedSentences):
        return lay_out_records("corruption", summary(answer), ("kind", "needs"))
    return answer


@verb(_label_mutt)
def mutt(
    source: Annotated[File, typer.Argument(metavar="DIR|FILE", hidden=True)],
    *,
    metrics: Annotated[
        Sequence[str] | str, typer.Option(metavar="M[,M]", help="Test these, or PACKAGE.MODULE.FUNCTION.")
    ] = METRICS,
    references: Annotated[
        str | None, typer.Option(metavar="N[,N]", help="Score against so many references; else all.")
    ] = None,
    kind: Annotated[
        Sequence[str] | None, typer.Option(metavar="NAME=KIND", help="Say of which kind a corruption is.")
    ] = None,
    tolerance: Annotated[float, typer.Option(metavar="X", help="Let scores of preserving ones differ so far.")] = 0.15,
    near_tie: Annotated[
        float, typer.Option(metavar="X", help="Call differences up to this share of a score ties.")
    ] = 0.0,
    agreement: Annotated[
        bool, typer.Option("--agreement", help="Say instead how far verdicts of metrics agree.")
    ] = False,
    plugins: Plugins = None,
    figure: Figure = None,
    scores: Annotated[File | None, typer.Option(metavar="FILE", help="Also write the scores, as .csv.")] = None,
    make: Annotated[
        File | None,
        typer.Option(metavar="FILE", help="Corrupt the sentences of the first FILE by rules; write trials, as .jsonl."),
    ] = None,
    types: Annotated[str | None, typer.Option(metavar="T[,T]", help="With --make: in these ways; else all.")] = None,
    words: Annotated[
        File | None, typer.Option(metavar="FILE", help="With --make: take words of near_syms and sem_opps, too.")
    ] = None,
    seed: Annotated[int | None, typer.Option(metavar="N", help="With --make: choose otherwise; else 0.", min=0)] = None,
) -> PassRates | MetricAgreement | CorruptedSentences:
    """Test what metrics notice in corrupted sentences.

    DIR holds COCO caption JSON (NAME_a.json originals, NAME_b.json corruptions, NAME_r5.json references), FILE is a
    .jsonl or .tsv with original, corruption, kind, references. KIND is altering, disrupting or preserving.
    Metrics: bleu, rouge_l, cider, meteor (needs Java), chrf, ter, sacrebleu, rouge.

    --make makes trials of sentences of yours, and tests nothing: FILE is a .jsonl or .tsv with sentence and references.
    T is neg_subj, neg_verb, sem_opps, shuffled, double_PP, remove_prep, swap_chunks, det_sub, near_syms, passive. What
    a rule does not fit is left out, and counted.

    Returns pass rates, or with `agreement` how far the verdicts of metrics agree; `.each_row()` yields their rows. With
    `make`, over `corruption`, how many `trials` were written and how many sentences were `left_out`.

    Raises InputError before anything is scored for what is asked wrongly or malformed, and afterwards where no metric
    gave a score or no rule fits any sentence; nothing is written then.

    >>> simlab.mutt("sentences.jsonl", make="trials.jsonl")["trials"]  # doctest: +SKIP
    >>> simlab.mutt("trials.jsonl", metrics=["bleu", "chrf"])  # doctest: +SKIP
    """
    from simlab.commands import mutt as unit_tests

    names = metrics if isinstance(metrics, str) else ",".join(metrics)
    making: dict[str, object] = {"--types": types, "--words": words, "--seed": seed}
    testing: dict[str, object] = {
        "--references": references,
        "--kind": kind,
        "--agreement": agreement,
        "--plugins": plugins,
    }
    testing |= {"--figure": figure, "--scores": scores, "--metrics": names != METRICS}
    unit_tests.refuse_mixed(make is not None, making, testing)
    if make is not None:
        from simlab.commands import mutt_trials

        return mutt_trials.make(Path(source), types or "all", make_path(words), Path(make), seed=seed or 0)
    return unit_tests.carry_out(
        Path(source),
        names,
        references,
        kinds=kind or [],
        tolerance=tolerance,
        near_tie=near_tie,
        agreement=agreement,
        plugins=plugins or [],
        figure=make_path(figure),
        scores=make_path(scores),
    )


def _label_fit_metric(fits: MetricFits) -> FittedMetrics:
    from simlab.commands.notebook_answers import FittedMetrics, lay_out_records

    learned = lay_out_records("row", fits.rows, ("metric", "what", "rests_on"))
    if fits.named:
        fits.write()
    paths = fits.paths if fits.named else {}
    return FittedMetrics(learned, tuple(fits.notes), dict(fits.texts), dict(paths), tuple(fits.commands))


@verb(_label_fit_metric)
def fit_metric(
    table: Annotated[File, typer.Argument(metavar="FILE", hidden=True)],
    *,
    metrics: Annotated[Sequence[str] | str | None, typer.Option(metavar="M[,M]", help="Fit these; else all.")] = None,
    adequate_from: Annotated[
        float | None, typer.Option(metavar="X", help="Outputs are adequate from this human score.")
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(metavar="X", help="A metric says adequate above it; else the best.")
    ] = None,
    margin: Annotated[float, typer.Option(metavar="X", help="Scores of a metric this close are a draw.")] = 0.0,
    human_margin: Annotated[float, typer.Option(metavar="X", help="Human scores this close are a draw.")] = 0.0,
    lower_is_better: Annotated[bool, typer.Option("--lower-is-better", help="Of scores of metrics.")] = False,
    human_lower_is_better: Annotated[bool, typer.Option("--human-lower-is-better", help="Of human scores.")] = False,
    references: Annotated[
        int | None, typer.Option(metavar="N", help="Take unit tests with so many references.")
    ] = None,
    keep_order: Annotated[
        bool, typer.Option("--keep-order", help="Let the metric favour the first system of a pair.")
    ] = False,
    out: Annotated[
        File | None, typer.Option(metavar="FILE|DIR", help="Write here; a .yaml file, or a folder for several.")
    ] = None,
    **told: Unpack[TableOptions],
) -> MetricFits:
    """Estimate the quality of a metric, for metric=fitted_...

    FILE (.csv, .tsv) holds outputs (system, item, human, and metrics; rows or columns human_1, human_2 are repeats),
    preferences (item, system_a, system_b, winner, and metrics; or counts a_wins, ties, b_wins), or scores that
    `simlab mutt --scores` wrote.

    Returns what was learned, as a dataset, and the texts of files for `metric=fitted_...`; a notebook writes them only
    where `out` names a file or a folder. Margins are in the units of the scores.

    Raises InputError for a table or options that do not fit together, and where nothing can be learned.

    >>> simlab.fit_metric("outputs.csv", adequate_from=4).learned.to_dataframe()  # doctest: +SKIP
    """
    from simlab.commands.fit_metric import learn_metrics
    from simlab.fitting_metrics.fitting import Options

    options = Options(
        margin=margin,
        human_margin=human_margin,
        adequate_from=adequate_from,
        threshold=threshold,
        lower_is_better=lower_is_better,
        human_lower_is_better=human_lower_is_better,
        keep_order=keep_order,
    )
    names = metrics if metrics is None or isinstance(metrics, str) else ",".join(metrics)
    return learn_metrics(Path(table), names, references, options, make_path(out), make_overrides(**told))
