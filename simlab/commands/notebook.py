"""The verbs of the command line for notebooks and scripts: the same checks and bits, labelled xarray instead of text.

Nothing is printed; what a user can mend is raised as InputError, and nothing is written then.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from simlab.commands.words import words
from simlab.messages import shown
from simlab.types import InputError

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from simlab.commands.stores import Comparison

Setting: TypeAlias = str | Mapping[str, object]
"""`"design.documents=30"` as it is typed, or `{"design.documents": 30}`."""

Store: TypeAlias = "str | os.PathLike[str] | xr.Dataset"
"""The folder of a store, or what `open_results` gave."""


def run(
    *settings: Setting,
    out: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    quick: bool = False,
    plugins: Sequence[str] = (),
    progress: bool = False,
    precision: Mapping[str, float] | str | None = None,
    at_most: str | int | None = None,
    allow_version: bool = False,
    force: bool = False,
    shard: str | None = None,
    **more: object,
) -> xr.Dataset:
    """Run one design, or what is missing of it; return its store.

    `settings` change the defaults, as the words of the command line or as mappings; `more` are keys without a dot. The
    store goes to `out`, by default a folder below `outputs/` that is named after the settings, as `simlab run` does.

    With `precision` (`{"srp": 0.01}`, or `"srp=.01,srp:difference=.02"`) worlds are carried out until the errors are so
    small, `at_most` so long (`"10m"`) or so many campaigns; see docs/precision.md. With `shard="3/16"` the third of 16
    parts is carried out, and what is returned holds no more; see `merge`.

    Returns a dataset of measures (`srp[]`, beside it `srp_mcse`, `srp_n`, `srp_influence[cluster]`), in memory, and of
    outcomes (`estimate[replicate, system]`, `significant[replicate, pair]`, ...), which are read when they are used.
    `units` and `long_name` are attributes of each. Warns of campaigns that failed. Raises InputError, before anything
    is written, for settings that do not go together, and for a fitted world that failed its checks unless `force`.

    >>> simlab.run("design.grouping=ungrouped", {"design.documents": 30}, worlds=2)["srp"]  # doctest: +SKIP
    """
    with mendable():
        overrides = words([*settings, more], axes=False)
        return _carried_out(
            None,
            overrides,
            out,
            jobs,
            quick=quick,
            plugins=plugins,
            progress=progress,
            until=_typed(precision, at_most),
            allow_version=allow_version,
            force=force,
            shard=shard,
        )


def sweep(
    name: str | os.PathLike[str],
    *settings: Setting,
    out: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    quick: bool = False,
    plugins: Sequence[str] = (),
    progress: bool = False,
    precision: Mapping[str, float] | str | None = None,
    at_most: str | int | None = None,
    allow_version: bool = False,
    force: bool = False,
    shard: str | None = None,
    **more: object,
) -> xr.Dataset:
    """Run a grid of designs, or what is missing of it; return its store.

    `name` is one of `simlab list`, or a YAML file like those. In `settings` a list is an axis:
    `{"design.documents": [10, 20]}` is `"design.documents=10,20"`. The same call again continues an interrupted sweep;
    more worlds, studies or values on an axis run what is missing. `precision`, `at_most`, `shard` are those of `run`.

    Returns a dataset as `run` does, with the axes of the sweep as its first dimensions (of a calculation: measures
    only). A dataset reads outcomes from the folder: open the folder anew after it has grown. Raises InputError, before
    anything is written, for settings that do not go together, and for a folder that holds another sweep.

    >>> results = simlab.sweep("item_grouping", {"design.documents": [20, 60]}, quick=True)  # doctest: +SKIP
    >>> results["srp"].sel(grouping="ungrouped", documents=20)  # doctest: +SKIP
    """
    with mendable():
        overrides = words([*settings, more], axes=True)
        return _carried_out(
            os.fspath(name),
            overrides,
            out,
            jobs,
            quick=quick,
            plugins=plugins,
            progress=progress,
            until=_typed(precision, at_most),
            allow_version=allow_version,
            force=force,
            shard=shard,
        )


def query(
    store: Store | None = None,
    *conditions: Setting,
    measure: str | Sequence[str] | None = None,
    **axes: object,
) -> xr.Dataset:
    """Take measures from a store, those that it does not hold computed from its outcomes.

    `store` is a folder or a dataset, the store that was run last if left out. `conditions` and `axes` keep cells:
    `"grouping=ungrouped"`, `{"design.grouping": "ungrouped"}` or `grouping="ungrouped"`; a list keeps several values.
    `measure` names measures, or stored outcomes that have a mean (`"cost"`); by default those that the store holds.

    Returns, over the axes, each measure beside its `_mcse`, `_n` (campaigns), `_clusters`, `_low` and `_high` (a 95 %
    interval inside the range of the measure) and `_failed` (campaigns of the cell), as `simlab query --format json`;
    what was found stands beside SRP and the like. Attributes are `long_name`, `units`, `comment` and `references`, as
    the CF conventions have them; `held_fixed` says what studies share. With
    `.to_dataframe()` a table (of a store without axes: `.to_pandas()`). Raises InputError for an axis, a value or a
    measure that the store does not hold.

    >>> simlab.query("outputs/item_grouping", measure="srp,cost", documents=[10, 20]).to_dataframe()  # doctest: +SKIP
    """
    from simlab.commands import stores
    from simlab.config.explaining import explain_measures
    from simlab.store.query import with_views

    with mendable(), stores.opened(store, stores.apart([*conditions, axes])) as dataset:
        dataset, names = stores.measured(dataset, _names(measure))
        found = with_views(dataset, names)
    for said in explain_measures(names):
        found[said.measure].attrs |= {"comment": said.sentence} | ({"references": said.source} if said.source else {})
    return found


def compare(
    store: Store | Sequence[Store] | None = None,
    *conditions: Setting,
    by: str | None = None,
    measure: str | None = None,
    baseline: object = None,
    at_equal: str | None = None,
    **axes: object,
) -> xr.Dataset:
    """Compare designs: paired differences with their errors, the best, and ties.

    `by` names the axis whose values are compared; differences are taken from `baseline`, else from the best. Several
    stores (a list) are compared cell by cell, without `by`, along the dimension `design`. With `at_equal="cost"` they
    stand on the line between their cells along the axis on which mean cost rises, and `cost` is an axis of the
    answer.

    Returns, over the axes, the measure as `query` does, then `difference`, `difference_mcse`, `difference_low` and
    `difference_high` (a 95 % t interval), in the unit of the measure and NaN for the baseline itself, `clusters`,
    `baseline`, `standing` (best, tied, behind, marked, unranked, unknown) and `marked`: what speaks against calling the
    design the best; `.to_dataframe()` gives a row per design. Attributes: `by`, `measure`, `cluster`, `paired`, False
    where some designs did not meet the same worlds, and `differing`, the keys in which their systems differ. Raises
    InputError for an axis, a value or a measure that the store does not hold.

    >>> simlab.compare("outputs/item_grouping", by="grouping", documents=20).to_dataframe()  # doctest: +SKIP
    """
    from simlab.commands import stores

    several = isinstance(store, list | tuple)
    if several != (by is None):
        raise InputError("name the axis with by=, or several stores without it")
    if several and at_equal is not None:
        raise InputError("at_equal= goes with by= in one store")
    against = baseline if baseline is None or isinstance(baseline, str) else shown(baseline)
    with mendable(), ExitStack() as stack:
        wanted = stores.apart([*conditions, axes])
        if isinstance(store, list | tuple):
            return _labelled(stores.compared_stores(stores.several(stack, store), wanted, measure, against), None)
        dataset = stack.enter_context(stores.opened(store, wanted))
        return _labelled(stores.compared(dataset, str(by), measure, against, at_equal), dataset)


def plot(
    store: Store | None = None,
    *conditions: Setting,
    measure: str | None = None,
    out: str | os.PathLike[str] | None = None,
    x: str | None = None,
    target: float | None = None,
    style: str = "screen",
    width: str | None = None,
    **axes: object,
) -> Figure:
    """Draw the figure of a sweep; it is written (.png, .svg or .pdf) only where `out` names a file.

    `store`, `conditions` and `axes` are those of `query`; `measure` takes the place of the figure's own, and `x`, an
    axis or a measure such as `"money"` or `"hours"`, that of what goes across. A line is drawn at `target`. In the
    style `"paper"` texts are small, title and footnote are left out, and the figure is a column or `width` (`"84mm"`)
    wide. Returns a figure, which `%matplotlib inline` shows. Raises InputError for a store of one cell, for a measure
    that it does not hold, and for more panels than a page has.

    >>> simlab.plot("outputs/item_grouping", measure="power", out="power.svg")  # doctest: +SKIP
    """
    from simlab.commands import stores
    from simlab.commands.plot import drawing
    from simlab.drawing.figures import files
    from simlab.drawing.figures.look import look, worn

    file, looks = None if out is None else Path(out), look(style, width)
    files.check_suffix(file)
    with mendable(), worn(looks), stores.opened(store, stores.apart([*conditions, axes])) as dataset:
        return files.write(drawing(dataset, measure, x=x, target=target), file)


@contextmanager
def mendable() -> Iterator[None]:
    """Raise what is wrong with a file as the command line words it: as InputError."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            raise
        raise InputError(f"{error.filename}: {(error.strerror or type(error).__name__).lower()}") from error


def checked_jobs(jobs: int | None) -> int | None:
    """Return a number of processes, None for one per core; raises InputError for fewer than one."""
    if jobs is not None and jobs < 1:
        raise InputError(f"jobs={shown(jobs)} must be a whole number >= 1, or None for one per core")
    return jobs


def _carried_out(
    name: str | None,
    overrides: Sequence[str],
    out: str | os.PathLike[str] | None,
    jobs: int | None,
    *,
    quick: bool,
    plugins: Sequence[str],
    progress: bool,
    until: tuple[str | None, str | None],
    allow_version: bool,
    force: bool,
    shard: str | None,
) -> xr.Dataset:
    from simlab.commands import launch

    declared, folder, part = launch.declared(
        name,
        overrides,
        None if out is None else Path(out),
        quick=quick,
        plugins=list(plugins),
        force=force,
        until=until,
        shard=shard,
    )
    lines = launch.carry_out(
        declared, folder, checked_jobs(jobs), quiet=not progress, allow_version=allow_version, shard=part
    )
    return found(folder, lines, whole=part is None, level=4)


def found(folder: Path, lines: Sequence[str], *, whole: bool, level: int) -> xr.Dataset:
    """Open what was just carried out, with measures in memory; warn of what went wrong, and what is in doubt.

    Of what is not the `whole` a warning says what is missing. `level` counts the calls up to the user's own.
    """
    from simlab.commands import launch
    from simlab.store.opening import open_filled, open_results
    from simlab.store.quality_warnings import skewness_warning

    for line in lines:
        warnings.warn(line, stacklevel=level)
    dataset = open_filled(folder) if whole else open_results(folder)
    for line in [*launch.doubted(dataset), *filter(None, [skewness_warning(dataset)])]:
        warnings.warn(line, stacklevel=level)
    # Else measures would be read when they are used, and by then the folder may hold others.
    for variable in dataset.variables.values():
        if not {"replicate", "of_world"} & set(variable.dims):
            variable.load()
    return dataset


def _typed(precision: Mapping[str, float] | str | None, at_most: str | int | None) -> tuple[str | None, str | None]:
    """Write a precision, and what ends patience, as the command line has them."""
    if isinstance(precision, Mapping):
        precision = ",".join(f"{name}={mcse!r}" for name, mcse in precision.items())
    return precision, None if at_most is None else str(at_most)


def _labelled(said: Comparison, dataset: xr.Dataset | None) -> xr.Dataset:
    """Label a comparison, and say in its attributes what was compared and what is held fixed."""
    from simlab.comparing import contrasts
    from simlab.store.held_fixed import HELD_FIXED

    answer = contrasts.of_rows(said.rows, said.by, said.measure)
    unit = {"units": said.unit} if said.unit else {}
    fixed = {HELD_FIXED: said.held_fixed} if said.held_fixed else {}
    answer[said.measure].attrs.update({"long_name": said.label, **unit, **fixed})
    for name in (*(f"{said.measure}{end}" for end in ("_mcse", "_low", "_high")), *contrasts.DIFFERENCES):
        answer[name].attrs.update(unit)
    about = {"by": said.by, "measure": said.measure, "cluster": said.cluster, "paired": said.paired}
    about |= {"differing": ", ".join(said.differing)}
    if dataset is None:
        return answer.assign_attrs(about)
    for axis in answer.coords:
        answer[axis].attrs.update(dataset[axis].attrs)
    if said.equal is not None:
        about |= {"at_equal": said.equal.level, "along": said.equal.along}
    return answer.assign_attrs(about | {"conditional": int(dataset.attrs.get("conditional", 0))})


def _names(measure: str | Sequence[str] | None) -> list[str] | None:
    return measure.split(",") if isinstance(measure, str) else None if measure is None else list(measure)
