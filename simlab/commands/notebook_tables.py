"""The verbs of the command line that need no store, for notebooks: pilots, metrics, agreement, what can be detected."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from simlab.commands.notebook import checked_jobs, mendable
from simlab.commands.notebook_answers import FittedMetrics, FittedWorld, listed, of_fit, of_grid, with_units
from simlab.messages import or_nearest, shown
from simlab.tables.held import Alike, Told
from simlab.types import InputError

if TYPE_CHECKING:
    import xarray as xr

    from simlab.answers.agreement import Agreement

File: TypeAlias = str | os.PathLike[str]
Rows: TypeAlias = Mapping[str, str | float | Sequence[str | float]]
"""Columns of a table with the values, one or several, of the rows that are read."""
Solve: TypeAlias = Literal["n_human", "n_metric", "n_calibration", "accuracy", "mix"]
SOLVE: tuple[Solve, ...] = ("n_human", "n_metric", "n_calibration", "accuracy", "mix")


def fit(
    table: File | None = None,
    *,
    law: Literal["auto", "mqm", "gaussian", "normal_scores", "ordinal", "binary", "preference"] = "auto",
    columns: Mapping[str, str] | None = None,
    better: Literal["higher", "lower"] | None = None,
    scale: tuple[float, float] | None = None,
    people: File | None = None,
    where: Rows | None = None,
    alike: Alike = "refuse",
    wide: Sequence[str] = (),
    decimal: Literal[",", "."] | None = None,
    cut: float = 300.0,
    seed: int = 0,
    out: File | None = None,
    report: File | None = None,
    progress: bool = False,
) -> FittedWorld:
    """Make a world from the ratings, or preferences, of a pilot (None: the built-in ratings), and check it.

    `law` is fitted, by default the one that predicts documents held out best. `columns`, `better`, `scale`, `people`
    tell of the table what it does not say, `where` which of its rows are read (`{"aspect": "fluency"}`). Where it has
    times, speeds are learnt from them, gaps between two answers cut at `cut` seconds. `out` names the file of the
    world, `report` that of a figure; without them nothing is written. Warns of a world that fails its checks. Raises
    InputError, before anything is fitted, for a table that cannot be read, a law that it does not allow, and for names
    that end in something else.

    >>> world = simlab.fit("pilot.csv", out="pilot.yaml")  # doctest: +SKIP
    >>> world.components.to_dataframe()  # doctest: +SKIP
    """
    from simlab.commands import fit as fits
    from simlab.commands.notes import note
    from simlab.fitting.report import silent
    from simlab.tables.times import check_cut

    _from_zero("seed", seed)
    told = told_of(columns, better, scale, people, where, alike, wide, decimal)
    with mendable():
        check_cut(cut)
        fits.check_names(path_of(out), path_of(report))
        found = fits.found_in(path_of(table), told, law, seed, note if progress else silent, cut)
        world = of_fit(found)
        if out is not None:
            world.write(out)
        if report is not None:
            fits.draw(found.fit, Path(report))
    for line in found.fit.unmixed:
        warnings.warn(line, stacklevel=2)
    if world.failed:
        warnings.warn(f"the world fails checks against its pilot: {', '.join(world.failed)}", stacklevel=2)
    return world


def fit_metric(
    table: File,
    *,
    metrics: Sequence[str] | str | None = None,
    adequate_from: float | None = None,
    threshold: float | None = None,
    margin: float = 0.0,
    human_margin: float = 0.0,
    lower_is_better: bool = False,
    human_lower_is_better: bool = False,
    references: int | None = None,
    keep_order: bool = False,
    columns: Mapping[str, str] | None = None,
    better: Literal["higher", "lower"] | None = None,
    scale: tuple[float, float] | None = None,
    people: File | None = None,
    where: Rows | None = None,
    alike: Alike = "refuse",
    wide: Sequence[str] = (),
    decimal: Literal[",", "."] | None = None,
    out: File | None = None,
) -> FittedMetrics:
    """Tell what metrics are worth from a table of outputs, of preferences, or of unit tests.

    Options are those of `simlab fit-metric`; margins are in the units of the scores, `columns`, `better`, `scale`,
    `people` and `where` those of `fit`. Files for `metric=fitted_...` are
    written only where `out` names a file or a folder. Raises InputError for a table or options that do not fit
    together, and where nothing can be learned.

    >>> simlab.fit_metric("outputs.csv", adequate_from=4).learned.to_dataframe()  # doctest: +SKIP
    """
    from simlab.commands.fit_metric import learned_from
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
    with mendable():
        said = learned_from(
            Path(table),
            names,
            references,
            options,
            path_of(out),
            told_of(columns, better, scale, people, where, alike, wide, decimal),
        )
        if out is not None:
            said.write()
    paths = dict(said.paths) if out is not None else {}
    learned = listed("row", said.rows, ("metric", "what", "rests_on"))
    return FittedMetrics(learned, tuple(said.notes), dict(said.texts), paths, tuple(said.commands))


def backtest(
    table: File | None = None,
    *,
    pilot_share: float = 0.5,
    splits: int = 4,
    advice: bool = False,
    quick: bool = False,
    law: Literal["auto", "mqm", "gaussian", "normal_scores", "ordinal", "binary", "preference"] = "auto",
    columns: Mapping[str, str] | None = None,
    better: Literal["higher", "lower"] | None = None,
    scale: tuple[float, float] | None = None,
    people: File | None = None,
    where: Rows | None = None,
    alike: Alike = "refuse",
    wide: Sequence[str] = (),
    decimal: Literal[",", "."] | None = None,
    seed: int = 0,
    jobs: int | None = None,
    plot: File | None = None,
    progress: bool = False,
) -> xr.Dataset:
    """Hold predictions from a pilot against real studies, on the ratings of a table (None: the built-in one).

    Returns, over `prediction`, `predicted`, `low`, `high` (90 % of worlds), `observed` and `observed_mcse`: of SRP, the
    share confirmed, the significant share, power (never observed: NaN) and Kendall's tau. Coordinates say of which
    measure, split, target, method and design. `columns` to `where` are those of `fit`.

    With `advice` a design is named instead among those of equal cost, from each split's pilot: over `candidate`, what
    was predicted and observed of its significant share and the share confirmed; `rules` says which rules name it
    (`advice`, rules of thumb, and `best`, known afterwards only). Raises InputError for a table that cannot be read or
    split, or that leaves nothing to choose.

    >>> table = simlab.backtest("ratings.tsv", quick=True).to_dataframe()  # doctest: +SKIP
    """
    from simlab.commands import backtest as backtests
    from simlab.drawing.figures import files

    _from_zero("seed", seed)
    if splits < 1:
        raise InputError(f"splits={shown(splits)} must be a whole number >= 1")
    told = told_of(columns, better, scale, people, where, alike, wide, decimal)
    with mendable():
        files.check_suffix(path_of(plot))
        asked = backtests.BacktestOptions(pilot_share, splits, quick, seed, checked_jobs(jobs), law, told)
        found = backtests.answer_of(path_of(table), asked, advice=advice, quiet=not progress)
        if plot is not None:
            backtests.save_figure(found, Path(plot))
    design = ("split", "grouping", "normalization", "documents", "ratings_per_item", "repetition")
    rows = [dict(one) for one in found.records]
    if advice:
        return listed("candidate", rows, (*design, "rules"))
    return with_units(listed("prediction", rows, (*design, "target", "method", "law", "measure", "unknown")))


def detect(
    *settings: str | Mapping[str, object],
    difference: float | None = None,
    solve: Solve | None = None,
    prices: str | Mapping[str, float] | None = None,
    joint: bool = False,
    points: bool = False,
    **more: object,
) -> xr.Dataset:
    """Tell which difference between two or several systems' shares of adequate outputs is measurable; a calculation.

    Settings, as words, mappings or keywords, are n_human, n_metric, n_calibration, alpha, level, power, and rho and
    eta, or accuracy, or correlation; n_systems, multiplicity and find for several systems; a list is an axis. With
    `solve` and `difference` the inverse is answered; with `points` differences are in hundredths.

    Returns, over the axes, what `simlab detect --format json` lists: `epsilon`, `detectable`, ..., shares, and the
    settings themselves. NaN: out of reach. Raises InputError for settings that do not go together.

    >>> simlab.detect(n_human=100, n_metric=[1000, 10000], rho=.7, eta=.7)["detectable"]  # doctest: +SKIP
    """
    from simlab.commands import detect as detection
    from simlab.commands.detect_words import parsed

    if solve is not None and solve not in SOLVE:
        raise InputError(f"solve={shown(solve)} is unknown; {or_nearest(str(solve), SOLVE)}")
    given = {key: list(dict.fromkeys(values)) for key, values in parsed(_detect_words([*settings, more])).items()}
    costs = prices if prices is None or isinstance(prices, str) else ",".join(f"{k}={v}" for k, v in prices.items())
    return of_grid(detection.detections(given, difference, solve, costs, joint, points), given)


def agreement(
    table: File | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    better: Literal["higher", "lower"] | None = None,
    scale: tuple[float, float] | None = None,
    people: File | None = None,
    where: Rows | None = None,
    alike: Alike = "refuse",
    wide: Sequence[str] = (),
    decimal: Literal[",", "."] | None = None,
    cut: float = 300.0,
    speeds: File | None = None,
    plot: File | None = None,
) -> Agreement:
    """Tell how far the raters of a table agree (None: of the built-in one).

    Returns mean Kendall tau-b over single documents and over all shared ones (`single`, `shared`), over `pairs` of
    raters, and the scores of `raters` in points; `.each_row()` yields the rows of all tables, `.plain()` gives all of
    it as JSON has it. `columns`, `better`, `scale`, `people`, `where` and `cut` are those of `fit`. `plot` names the
    file of a figure; from `speeds`, another table with times, hours are predicted. Raises InputError for a table that
    cannot be read.

    >>> simlab.agreement("ratings.tsv").single.kendall  # doctest: +SKIP
    """
    from simlab.commands.agreement import measured_on

    with mendable():
        return measured_on(
            path_of(table),
            path_of(plot),
            told_of(columns, better, scale, people, where, alike, wide, decimal),
            cut,
            path_of(speeds),
        )


def _detect_words(settings: Sequence[str | Mapping[str, object]]) -> list[str]:
    """Write settings as `simlab detect` reads them: its values are numbers, none and free."""
    written: list[str] = []
    for given in settings:
        if isinstance(given, str):
            written.append(given)
            continue
        for key, value in given.items():
            values = value if isinstance(value, list | tuple) else [value]
            written.append(f"{key}={','.join('none' if one is None else str(one) for one in values)}")
    return written


def told_of(
    columns: Mapping[str, str] | None,
    better: Literal["higher", "lower"] | None,
    scale: tuple[float, float] | None,
    people: File | None,
    where: Rows | None,
    alike: Alike = "refuse",
    wide: Sequence[str] = (),
    decimal: Literal[",", "."] | None = None,
) -> Told:
    """Put together what is told of a table beside what it holds."""
    rows = tuple(_values(where or {}))
    return Told(columns or {}, better, scale, path_of(people), rows, alike=alike, wide=tuple(wide), decimal=decimal)


def _values(where: Rows) -> Iterator[tuple[str, str]]:
    """Go through the columns by whose values rows are chosen, each with one of its values as a table has it."""
    for column, values in where.items():
        for value in [values] if isinstance(values, str | int | float) else values:
            yield column, str(value)


def path_of(file: File | None) -> Path | None:
    """Return the path of a file, None for none."""
    return None if file is None else Path(file)


def _from_zero(name: str, value: int) -> None:
    if value < 0:
        raise InputError(f"{name}={shown(value)} must be a whole number >= 0")
