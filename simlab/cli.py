"""The command line: words in, one answer on stdout, everything else on stderr.

Nothing heavy is imported before a command needs it, so that help and mistakes are answered at once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from simlab.commands.errors import UsageError, complain, explain
from simlab.commands.notes import note
from simlab.drawing.text.tables import Form

if TYPE_CHECKING:
    from simlab.commands.launch import Launched

app = typer.Typer(
    name="simlab",
    help="Simulate study designs for evaluations of text-generation systems before paying for one.",
    epilog="Start with `simlab sweep item_grouping --quick`; `simlab list` names the other questions.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

Overrides = Annotated[list[str] | None, typer.Argument(metavar="KEY=VALUE", hidden=True)]
Where = Annotated[list[str] | None, typer.Argument(metavar="DIR|AXIS=VALUE", hidden=True)]
Jobs = Annotated[int | None, typer.Option(min=1, metavar="N", help="Worker processes; all cores by default.")]
Quick = Annotated[bool, typer.Option("--quick", help="Take few, small cells: a first look in seconds.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Run nothing; say how many cells and blocks, how long, how big.")
]
Plugins = Annotated[list[str] | None, typer.Option(metavar="PACKAGE", help="Use the parts of a package of yours.")]
Format = Annotated[Form, typer.Option("--format", help="Write the answer in this form.", show_default=False)]
Measures = Annotated[str | None, typer.Option("--measure", metavar="M[,M]", help="Print only these measures.")]
Measure = Annotated[str | None, typer.Option("--measure", metavar="M", help="Take this measure, not the figure's.")]
Out = Annotated[Path | None, typer.Option(metavar="DIR", help="Store here; by default in outputs/, by name.")]


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"simlab {version('simlab')}")
        raise typer.Exit


@app.callback()
def simlab(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    """Take the options that belong to no command."""


@app.command(epilog="Example: simlab run design.grouping=ungrouped design.documents=30")
def run(
    overrides: Overrides = None,
    out: Out = None,
    jobs: Jobs = None,
    quick: Quick = False,
    dry_run: DryRun = False,
    plugins: Plugins = None,
) -> None:
    """Run one design and print its measures.

    KEY=VALUE changes a setting; `simlab list` names the options of the groups.
    """
    from simlab.commands import run as runs

    _say(runs.answer(overrides or [], out=out, jobs=jobs, quick=quick, dry=dry_run, plugins=plugins or []))


@app.command(epilog="Example: simlab sweep item_grouping design.documents=20,40 --quick")
def sweep(
    name: Annotated[str, typer.Argument(metavar="NAME|FILE", hidden=True)],
    overrides: Overrides = None,
    out: Out = None,
    jobs: Jobs = None,
    quick: Quick = False,
    dry_run: DryRun = False,
    plugins: Plugins = None,
) -> None:
    """Run a grid of designs, or continue it; print the finding.

    NAME is one of `simlab list`, FILE a YAML file like those. KEY=VALUE changes a setting and KEY=A,B makes it an
    axis. The same command again continues an interrupted sweep; more worlds, studies or values run what is missing.
    """
    from simlab.commands import sweep as sweeps

    _say(sweeps.answer(name, overrides or [], out=out, jobs=jobs, quick=quick, dry=dry_run, plugins=plugins or []))


@app.command(epilog="Example: simlab query outputs/item_grouping grouping=ungrouped --measure srp --format json")
def query(where: Where = None, measure: Measures = None, form: Format = "table") -> None:
    """Print the measures of a store, with errors and n.

    DIR is a store, the last one if left out. AXIS=VALUE[,VALUE] keeps the cells with these values.
    """
    from simlab.commands import query as queries

    print(queries.answer(*_place(where), measure.split(",") if measure else None, form))


@app.command(epilog="Example: simlab compare outputs/item_grouping --by grouping --measure srp")
def compare(
    where: Where = None,
    by: Annotated[str | None, typer.Option(metavar="AXIS", help="Compare the values of this axis.")] = None,
    measure: Measure = None,
    baseline: Annotated[
        str | None, typer.Option(metavar="VALUE", help="Take differences from it, not from the best.")
    ] = None,
    form: Format = "table",
) -> None:
    """Compare designs: paired differences, the best, ties.

    Designs met the same worlds, so their difference has less error than they have. A design ties with the best
    when the 95 % interval of their difference includes 0. AXIS=VALUE[,VALUE] keeps the cells with these values.
    Several stores are compared cell by cell, whatever kind of studies they hold; leave out --by.
    """
    from simlab.commands import compare as comparisons

    folders, conditions = _places(where)
    if len(folders) > 1 and by is None:
        print(comparisons.of_stores(folders, conditions, measure, baseline, form))
    elif by is None or len(folders) > 1:
        raise UsageError("name the axis with --by, or several stores without it")
    else:
        print(comparisons.answer(folders[0] if folders else None, conditions, by, measure, baseline, form))


@app.command(epilog="Example: simlab plot outputs/item_grouping --out figure.svg")
def plot(
    where: Where = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write .png, .svg or .pdf; DIR/figure.png by default.")
    ] = None,
    measure: Measure = None,
) -> None:
    """Draw the figure of a sweep; print the name of its file."""
    from simlab.commands import plot as figures

    print(figures.answer(*_place(where), out, measure))


@app.command(epilog="Example: simlab order outputs/preference_protocol metric=ideal --study 3")
def order(
    where: Where = None,
    world: Annotated[int, typer.Option(metavar="N", help="Index of the world.", min=0)] = 0,
    study: Annotated[int, typer.Option(metavar="N", help="Index of the study in its world.", min=0)] = 0,
    form: Annotated[Literal["table", "json"], typer.Option("--format", help="How to write it.")] = "table",
) -> None:
    """Print the partial order of systems that a campaign found.

    For studies of preferences. AXIS=VALUE[,VALUE] keeps the cells with these values.
    """
    from simlab.commands import order as orders

    print(orders.answer(*_place(where), world, study, form))


@app.command(epilog="Example: simlab agreement ratings.tsv --plot agreement.png")
def agreement(
    file: Annotated[Path, typer.Argument(metavar="FILE", hidden=True)],
    form: Format = "table",
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Also draw it, as .png, .svg or .pdf.")] = None,
) -> None:
    """Tell how far the raters of a table of ratings agree.

    FILE is a table of MQM ratings, .tsv or .tar.gz.
    """
    from simlab.commands import agreement as raters

    print(raters.answer(file, form, plot))


@app.command(epilog="Example: simlab fit pilot.tsv --out pilot.yaml --report pilot.png")
def fit(
    file: Annotated[Path | None, typer.Argument(metavar="FILE", hidden=True)] = None,
    out: Annotated[Path, typer.Option(metavar="FILE", help="Write the world here, as .yaml.")] = Path("fitted.yaml"),
    method: Annotated[
        Literal["fast", "nuts"], typer.Option(help="Moments, in seconds, or chains, in minutes.")
    ] = "fast",
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw what the fit says of the pilot, as .png, .svg or .pdf.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Take other random numbers.", min=0)] = 0,
) -> None:
    """Make a world from the ratings of a pilot.

    FILE is a table of ratings, the built-in one if left out. Use the world with systems=fitted systems.path=OUT.
    """
    from simlab.commands import fit as fits

    print(fits.answer(file, out, method, report, seed))


@app.command(epilog="Example: simlab backtest ratings.tsv --pilot-share .5 --plot backtest.png")
def backtest(
    file: Annotated[Path | None, typer.Argument(metavar="FILE", hidden=True)] = None,
    pilot_share: Annotated[float, typer.Option(metavar="X", help="Fit to this share of the documents.")] = 0.5,
    splits: Annotated[int, typer.Option(metavar="N", help="Split the documents at random N times.", min=1)] = 4,
    quick: Quick = False,
    form: Format = "table",
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Also draw it, as .png, .svg or .pdf.")] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Split otherwise.", min=0)] = 0,
    jobs: Jobs = None,
) -> None:
    """Hold predictions from a pilot against real studies.

    Fits a world to some documents of a table, predicts the SRP of studies on the others and on all of them, and
    carries out these studies on the real ratings. FILE is a table of ratings, the built-in one if left out.
    """
    from simlab.commands import backtest as backtests

    print(backtests.answer(file, pilot_share, splits=splits, quick=quick, form=form, plot=plot, seed=seed, jobs=jobs))


@app.command(epilog="Example: simlab mutt trials.jsonl --metrics bleu,chrf --figure pass_rates.png")
def mutt(
    place: Annotated[Path, typer.Argument(metavar="DIR|FILE", hidden=True)],
    metrics: Annotated[
        str, typer.Option(metavar="M[,M]", help="Test these, or PACKAGE.MODULE.FUNCTION.")
    ] = "bleu,rouge_l,cider,chrf",
    references: Annotated[
        str | None, typer.Option(metavar="N[,N]", help="Score against so many references; else all.")
    ] = None,
    kind: Annotated[
        list[str] | None, typer.Option(metavar="NAME=KIND", help="Say of which kind a corruption is.")
    ] = None,
    tolerance: Annotated[float, typer.Option(metavar="X", help="Let scores of preserving ones differ so far.")] = 0.15,
    plugins: Plugins = None,
    form: Format = "table",
    figure: Annotated[Path | None, typer.Option(metavar="FILE", help="Also draw it, as .png, .svg or .pdf.")] = None,
    scores: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write the scores, as .csv.")] = None,
) -> None:
    """Test what metrics notice in corrupted sentences.

    DIR holds COCO caption JSON (NAME_a.json originals, NAME_b.json corruptions, NAME_r5.json references), FILE is a
    .jsonl or .tsv with original, corruption, kind, references. KIND is altering, disrupting or preserving.
    Metrics: bleu, rouge_l, cider, chrf, ter, sacrebleu, rouge.
    """
    from simlab.commands import mutt as unit_tests

    print(
        unit_tests.answer(
            place,
            metrics,
            references,
            kinds=kind or [],
            tolerance=tolerance,
            plugins=plugins or [],
            form=form,
            figure=figure,
            scores=scores,
        )
    )


@app.command(epilog="Example: simlab detect n_human=100 n_metric=1000,10000 rho=.7 eta=.7 alpha=.6")
def detect(
    settings: Overrides = None,
    difference: Annotated[
        float | None, typer.Option(metavar="D", help="Say how often this difference is found; with --solve, reach it.")
    ] = None,
    solve: Annotated[
        Literal["n_human", "n_metric", "n_calibration", "accuracy", "mix"] | None,
        typer.Option(help="Find the least of this that measures the difference; mix: the cheapest ratings."),
    ] = None,
    prices: Annotated[
        str | None, typer.Option(metavar="human=P,metric=P", help="What a rating costs, for --solve mix.")
    ] = None,
    joint: Annotated[bool, typer.Option("--joint", help="Solve for systems that share one calibration.")] = False,
    form: Format = "table",
) -> None:
    """Tell which difference between two systems is measurable.

    Outputs are adequate or not, by humans or by a metric. KEY=VALUE[,VALUE] gives n_human, n_metric, n_calibration,
    alpha, level, power, and rho and eta, or accuracy (rho = eta), or correlation (of a score with quality).
    """
    from simlab.commands import detect as detection

    print(detection.answer(settings or [], difference, solve, prices, joint, form))


@app.command("fit-metric", epilog="Example: simlab fit-metric outputs.csv --adequate-from 4")
def fit_metric(
    file: Annotated[Path, typer.Argument(metavar="FILE", hidden=True)],
    metrics: Annotated[str | None, typer.Option(metavar="M[,M]", help="Fit these; else all.")] = None,
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
        Path | None, typer.Option(metavar="FILE|DIR", help="Write here; a .yaml file, or a folder for several.")
    ] = None,
    form: Annotated[Literal["table", "json"], typer.Option("--format", help="How to write it.")] = "table",
) -> None:
    """Tell what a metric is worth, for metric=fitted_...

    FILE (.csv, .tsv) holds outputs (system, item, human, and metrics; rows or columns human_1, human_2 are repeats),
    preferences (item, system_a, system_b, human, and metrics: >, =, <), or scores that `simlab mutt --scores` wrote.
    """
    from simlab.commands import fit_metric as fitted
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
    print(fitted.answer(file, metrics, references, options, out, form))


@app.command(epilog="Example: simlab verify outputs/item_grouping")
def verify(where: Where = None) -> None:
    """Check a store: checksums, missing or torn cells."""
    from simlab.commands import verify as checks

    text, sound = checks.answer(*_place(where))
    print(text)
    raise typer.Exit(0 if sound else 1)


@app.command("list")
def list_() -> None:
    """List the sweeps, and the options of every group."""
    from simlab.commands import list as inventory

    print(inventory.answer())


@app.command()
def show(name: Annotated[str, typer.Argument(metavar="NAME|FILE", hidden=True)]) -> None:
    """Show a sweep, or what a setting does and may be."""
    from simlab.commands import show as declarations

    print(declarations.answer(name))


def main() -> None:
    """Answer the command line and leave with its exit code."""
    sys.exit(answer(sys.argv[1:]))


def answer(words: Sequence[str]) -> int:
    """Carry out one command line; return its exit code: 2 for what the user can mend, 1 for a bug."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")
    try:
        code = _invoke(list(words) or ["--help"])
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has left; what is still buffered must not raise again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except KeyboardInterrupt:
        return complain("interrupted; blocks that were finished are kept, the same command continues", 130)
    except Exception as error:
        return explain(error)
    return code


def _invoke(words: list[str]) -> int:
    command = typer.main.get_command(app)
    try:
        with command.make_context("simlab", words) as context:
            command.invoke(context)
    except typer.Exit as left:
        return int(left.exit_code)
    return 0


def _say(launched: Launched) -> None:
    """Write an answer, then the notes below it: whoever reads both streams reads them in this order."""
    print(launched.text, flush=True)
    for line in launched.notes:
        note(line)


def _places(words: list[str] | None) -> tuple[list[Path], list[str]]:
    """Split the words after a command into folders of stores and conditions on their axes."""
    words = list(words or [])
    folders = [word for word in words if "=" not in word or Path(word).is_dir()]
    return [Path(word) for word in folders], [word for word in words if word not in folders]


def _place(words: list[str] | None) -> tuple[Path | None, list[str]]:
    """Split the words after a command into the folder of a store, if one is named, and conditions on its axes."""
    words = list(words or [])
    named = words and ("=" not in words[0] or Path(words[0]).is_dir())
    return (Path(words[0]), words[1:]) if named else (None, words)
