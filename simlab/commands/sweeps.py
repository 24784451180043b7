"""The verbs that simulate designs (run, sweep) and read their stores (query, compare, plot).

A verb is one function of typed options, for the command line and, as `simlab.NAME`, for notebooks: there `_label_NAME`
turns what it returns into datasets and figures. A store is the folder that a run or a sweep filled.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simlab.commands.flags import (
    AllowVersion,
    Along,
    AtMost,
    Conditions,
    ConfigDir,
    FigureStyle,
    FigureWidth,
    File,
    Force,
    Jobs,
    Locate,
    Measure,
    Measures,
    Multirun,
    OneAtATime,
    OneStore,
    Out,
    Plugins,
    Precision,
    Preset,
    Quick,
    Setting,
    Settings,
    Shard,
    Store,
    make_path,
    write_targets,
)
from simlab.commands.typed_commands import verb
from simlab.messages import show
from simlab.types import InputError

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from simlab.answers.compare import ChangedStores
    from simlab.commands.compare import ComparedDesigns
    from simlab.commands.launch import Launch
    from simlab.commands.plot import DrawnFigure
    from simlab.commands.query import Query


def _label_launch(launch: Launch) -> xr.Dataset:
    from simlab.commands.launch import load

    return load(launch)


@verb(_label_launch)
def run(
    *settings: Settings,
    out: Out = None,
    jobs: Jobs = None,
    quick: Quick = False,
    multirun: Multirun = False,
    config_dir: ConfigDir = None,
    plugins: Plugins = None,
    precision: Precision = None,
    at_most: AtMost = None,
    allow_version: AllowVersion = False,
    force: Force = False,
    shard: Shard = None,
    progress: bool = False,
    **more: object,
) -> Launch:
    """Run one design and print its measures.

    KEY=VALUE changes a setting; `simlab show` names the options of the groups. FILE, if it comes first, is a study
    file as `simlab show --config` prints it. KEY=uniform(A,B), normal(MEAN,SD), lognormal(MEDIAN,SD) or
    posterior(FILE), of what `simlab fit` wrote: each world draws its value.

    Returns the store: a dataset of measures (`srp[]`, beside it `srp_mcse`, `srp_n`, `srp_influence[cluster]`), in
    memory, and of outcomes (`estimate[replicate, system]`, `significant[replicate, pair]`, ...), which are read when
    they are used. `units` and `long_name` are attributes of each. In notebooks settings may be mappings, too, and
    keys without a dot keywords; with `multirun` a list is an axis. `precision` may be a mapping (`{"srp": 0.01}`); see
    docs/laboratory.md. With `shard="3/16"` what is returned holds no more than that part; see `merge`.

    Warns of campaigns that failed. Raises InputError, before anything is written, for settings that do not go together,
    and for a fitted world that failed its checks unless `force`.

    >>> simlab.run("design.grouping=ungrouped", {"design.documents": 30}, worlds=2)["srp"]  # doctest: +SKIP
    """
    from simlab.commands.launch import Launch
    from simlab.commands.show_config import run_of
    from simlab.commands.words import words
    from simlab.config.groups import own_options
    from simlab.config.sweepfile import MULTIRUN, RUN, replace_until

    own = make_path(config_dir)
    with own_options(own):
        typed = words([*settings, more], axes=multirun)
        declared, overrides = run_of(typed, multirun=multirun, plugins=plugins or ())
        declared = replace_until(declared, write_targets(precision), None if at_most is None else str(at_most))
    return Launch(
        declared,
        None if declared.command in (RUN.command, MULTIRUN.command) else declared.name,
        overrides,
        make_path(out),
        jobs,
        quick=quick,
        config_dir=own,
        plugins=list(plugins or ()),
        allow_version=allow_version,
        force=force,
        shard=shard,
        quiet=not progress,
    )


@verb(_label_launch)
def sweep(
    name: Annotated[str | Path, typer.Argument(metavar="NAME|FILE|DIR", hidden=True)],
    *settings: Settings,
    out: Out = None,
    jobs: Jobs = None,
    quick: Quick = False,
    preset: Preset = None,
    config_dir: ConfigDir = None,
    plugins: Plugins = None,
    precision: Precision = None,
    at_most: AtMost = None,
    locate: Locate = None,
    along: Along = None,
    one_at_a_time: OneAtATime = False,
    allow_version: AllowVersion = False,
    force: Force = False,
    shard: Shard = None,
    progress: bool = False,
    **more: object,
) -> Launch:
    """Run a grid of designs, or continue it; print the finding.

    NAME is one of `simlab show`, FILE a YAML file like those. KEY=VALUE changes a setting and KEY=A,B makes it an
    axis. The same command again continues an interrupted sweep; more worlds, studies or values run what is missing.
    DIR is the folder of a sweep, which is continued: `worlds=400`, or KEY=A,B adds values to an axis. KEY=uniform(A,B),
    normal(MEAN,SD), lognormal(MEDIAN,SD) or posterior(FILE), of what `simlab fit` wrote: each world draws its value,
    the same for all designs.

    With --locate, KEY=LOW..HIGH is an axis of 20 values between these, of which few are carried out. With
    --one-at-a-time each axis leaves its first value while the others have theirs, for `simlab query --sensitivity`.

    With --script: time, memory and queue of the jobs are lines of the script, to be edited. They merge into --out.

    Returns the store as `run` does, with the axes of the sweep as its first dimensions (of a calculation: measures
    only). A dataset reads outcomes from the folder: open the folder anew after it has grown. In notebooks a list is an
    axis: `{"design.documents": [10, 20]}` is `"design.documents=10,20"`.

    Warns of campaigns that failed. Raises InputError, before anything is written, for settings that do not go together,
    and for a folder that holds another sweep.

    >>> results = simlab.sweep("item_grouping", {"design.documents": [20, 60]}, quick=True)  # doctest: +SKIP
    >>> results["srp"].sel(grouping="ungrouped", documents=20)  # doctest: +SKIP
    """
    from simlab.commands.continuation import find_folder, read_declared
    from simlab.commands.launch import Launch
    from simlab.commands.words import words
    from simlab.config import load_sweep
    from simlab.config.groups import own_options
    from simlab.config.locating import spread_range
    from simlab.config.sweepfile import QUICK, apply_preset, keep_one_at_a_time, replace_locate, replace_until

    own = make_path(config_dir)
    with own_options(own):
        overrides = words([*settings, more], axes=True)
        if (folder := find_folder(os.fspath(name))) is not None:
            if out is not None or quick or preset is not None:
                raise InputError(f"{name} is continued where it is; leave --out, --quick and --preset out")
            declared, out = read_declared(folder, plugins or ()), folder
        else:
            declared = apply_preset(load_sweep(os.fspath(name)), None if preset == QUICK else preset)
        declared = replace_until(declared, write_targets(precision), None if at_most is None else str(at_most))
        declared = replace_locate(declared, locate, along)
        declared = keep_one_at_a_time(declared) if one_at_a_time else declared
        if declared.locate is not None:
            overrides = [spread_range(text) for text in overrides]
    return Launch(
        declared,
        os.fspath(name),
        overrides,
        make_path(out),
        jobs,
        quick=quick or preset == QUICK,
        config_dir=own,
        plugins=list(plugins or ()),
        allow_version=allow_version,
        force=force,
        shard=shard,
        quiet=not progress,
    )


def _label_query(cells: Query) -> xr.Dataset:
    return cells.dataset()


@verb(_label_query)
def query(
    store: OneStore = None,
    *conditions: Conditions,
    measure: Measures = None,
    sort: Annotated[
        str | None, typer.Option(metavar="NAME", help="Sort by this measure or axis; -NAME: the greatest first.")
    ] = None,
    top: Annotated[int | None, typer.Option(metavar="N", help="Keep the first N cells.", min=1)] = None,
    **axes: object,
) -> Query:
    """Print the measures of a store, with errors and n.

    DIR is a store, the last one if left out. AXIS=VALUE[,VALUE] keeps the cells with these values, AXIS=LOW..HIGH
    those within a range, 'MEASURE>=X' (<=, >, <; quoted) those that reach a value: with --sort cost --top 1 the
    cheapest of these. A cell whose 95 % interval has X inside is marked.

    Returns, over the axes, each measure beside its `_mcse`, `_n` (campaigns), `_clusters`, `_low` and `_high` (a 95 %
    interval inside the range of the measure) and `_failed` (campaigns of the cell), as `simlab query --format json`;
    what was found stands beside SRP and the like. Cells that were bounded, sorted or cut lie along `cell`, in order,
    with the axes as coordinates; `within_error` names the bounds within whose error they are. Attributes are
    `long_name`, `units`, `comment` and `references`, as the CF conventions have them; `held_fixed` says what studies
    share. With `.to_dataframe()` a table (of a store without axes: `.to_pandas()`). In notebooks the store may be a
    dataset, and conditions `{"design.grouping": "ungrouped"}` or `grouping="ungrouped"`; a list keeps several values, a
    slice a range. `measure` names measures, or stored outcomes that have a mean (`"cost"`); by default those that the
    store holds.

    Raises InputError for an axis, a value or a measure that the store does not hold, and for what is no condition.

    >>> simlab.query("outputs/item_grouping", measure="srp,cost", documents=[10, 20]).to_dataframe()  # doctest: +SKIP
    >>> simlab.query("outputs/item_grouping", "srp>=.7", sort="cost", top=1)  # doctest: +SKIP
    """
    from simlab.commands.query import Query

    names = measure.split(",") if isinstance(measure, str) else None if measure is None else list(measure)
    return Query(store, [*conditions, axes], names, sort, top)


def _label_compare(compared: ComparedDesigns | ChangedStores) -> xr.Dataset | ChangedStores:
    from simlab.answers.compare import ChangedStores
    from simlab.commands.compare import label

    return compared if isinstance(compared, ChangedStores) else label(compared)


@verb(_label_compare)
def compare(
    store: Annotated[Store | Sequence[Store] | None, typer.Argument(metavar="DIR|AXIS=VALUE", hidden=True)] = None,
    *conditions: Annotated[Setting, typer.Argument(metavar="DIR|AXIS=VALUE", hidden=True)],
    by: Annotated[
        Sequence[str] | str | None,
        typer.Option(metavar="AXIS[,AXIS]", help="Compare the values of this axis, or of these together."),
    ] = None,
    measure: Measure = None,
    baseline: Annotated[
        str | float | None, typer.Option(metavar="VALUE", help="Take differences from it, not from the best.")
    ] = None,
    at_equal: Annotated[
        str | None,
        typer.Option("--at-equal", metavar="NAME[=X]", help="Compare where they have the same: cost, hours, days."),
    ] = None,
    changed: Annotated[
        bool, typer.Option("--changed", help="Of two stores, OLD NEW: say which settings differ, which values moved.")
    ] = False,
    **axes: object,
) -> ComparedDesigns | ChangedStores:
    """Compare designs: paired differences, the best, ties.

    Designs met the same worlds, so their difference has less error than they have. A design ties with the best
    when the 95 % interval of their difference includes 0. AXIS=VALUE[,VALUE] keeps the cells with these values.
    Several stores are compared cell by cell, whatever kind of studies they hold; leave out --by.
    With --at-equal cost, designs stand on the line between their cells along the axis on which cost rises: --by
    raters,grouping --at-equal cost ranks all that there are, of several stores too. Nothing is extrapolated.
    With --changed, two stores are held against each other, cells with the same settings each: exit code 3 where a value
    moved by more than chance (differences over combined errors, Benjamini-Hochberg at .05).

    Returns, over the axes (of several stores: along `design`), the measure as `query` does, then `difference`,
    `difference_mcse`, `difference_low` and `difference_high` (a 95 % t interval), in the unit of the measure and NaN
    for the baseline itself, `clusters`, `baseline`, `standing` (best, tied, behind, marked, unranked, unreached,
    unknown) and `marked`: what speaks against calling the design the best; `.to_dataframe()` gives a row per design.
    Attributes: `by`, `measure`, `cluster`, `paired`, False where some designs did not meet the same worlds, and
    `differing`, the keys in which their systems differ. Of several axes together `design` is the axis, with theirs
    along it; `by` may be a list. In notebooks several stores may be a list, too. With `changed` a record: `keys` that
    differ, `values`, and those that `moved`.

    Raises InputError for an axis, a value or a measure that the store does not hold.

    >>> simlab.compare("outputs/item_grouping", by="grouping", documents=20).to_dataframe()  # doctest: +SKIP
    """
    from simlab.commands.compare import ask, ask_changed

    if changed:
        if by is not None or baseline is not None or at_equal is not None:
            raise InputError("--changed takes two stores as they are; leave out --by, --baseline and --at-equal")
        return ask_changed(store, [*conditions, axes], measure)
    against = baseline if baseline is None or isinstance(baseline, str) else show(baseline)
    return ask(store, [*conditions, axes], by, measure, against, at_equal)


def _label_plot(drawn: DrawnFigure) -> Figure:
    return drawn.figure


@verb(_label_plot)
def plot(
    store: OneStore = None,
    *conditions: Conditions,
    out: Annotated[
        File | None, typer.Option(metavar="FILE", help="Write .png, .svg or .pdf; DIR/figure.png by default.")
    ] = None,
    measure: Measure = None,
    x: Annotated[
        str | None, typer.Option("--x", metavar="NAME", help="Across: an axis, or a measure such as money or hours.")
    ] = None,
    target: Annotated[
        float | None, typer.Option(metavar="X", help="Draw a line at the value of the measure that is wanted.")
    ] = None,
    style: FigureStyle = "screen",
    width: FigureWidth = None,
    timeline: Annotated[
        bool, typer.Option("--timeline", help="Draw one campaign: who worked on what and when, what was lost.")
    ] = False,
    world: Annotated[int | None, typer.Option(metavar="N", help="One campaign: index of the world.", min=0)] = None,
    pool: Annotated[
        int | None, typer.Option(metavar="N", help="One campaign: index of the pool of raters.", min=0)
    ] = None,
    draw: Annotated[
        int | None, typer.Option(metavar="N", help="One campaign: index of the draw of documents.", min=0)
    ] = None,
    study: Annotated[
        int | None, typer.Option(metavar="N", help="One campaign: index of the study in its world.", min=0)
    ] = None,
    plugins: Plugins = None,
    **axes: object,
) -> DrawnFigure:
    """Draw the figure of a sweep; print the name of its file.

    With --timeline: one campaign of one cell (AXIS=VALUE) on its clock; written to DIR/timeline.png.
    With --study or --world alone: the partial order of systems that one campaign of preferences found, as a Hasse
    diagram for each cell; written to DIR/order.png.
    With --style paper: title and footnote are left out and printed, as the caption of the paper.

    Returns a figure, which `%matplotlib inline` shows; a notebook writes it only where `out` names a file.

    Raises InputError for a store of one cell, for a measure that it does not hold, and for more panels than a page has.

    >>> simlab.plot("outputs/item_grouping", measure="power", out="power.svg")  # doctest: +SKIP
    """
    from simlab.commands import plot as figures
    from simlab.drawing.figures.page_style import figure_style, look

    campaign = {"world": world, "pool": pool, "draw": draw, "study": study}
    with figure_style(look(style, width)):
        if timeline or any(index is not None for index in campaign.values()):
            figures.refuse_sweep_options(timeline, campaign, measure, x, target)
            at = {name: index or 0 for name, index in campaign.items()}
            return figures.draw_campaign(
                store, [*conditions, axes], at, make_path(out), plugins or (), timeline=timeline
            )
        return figures.draw_sweep(store, [*conditions, axes], make_path(out), measure, x, target)
