"""Launch a run or a sweep from the command line, and end with its finding and the next command to try."""

from __future__ import annotations

import math
import os
import shlex
import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from simlab.types import InputError

if TYPE_CHECKING:
    import xarray as xr

    from simlab.engine.run import Summary

OUTPUTS = Path("outputs")
MOST_CELLS = 2000
"""A finding of more cells is summed up."""


def launch(
    name: str | None,
    overrides: Sequence[str],
    *,
    out: Path | None,
    jobs: int | None,
    quick: bool,
    dry: bool,
    plugins: Sequence[str],
) -> None:
    """Run what is missing of a sweep (without a name: of one cell), then print what was found."""
    from simlab.config import compose_sweep, load_sweep

    if name is not None and load_sweep(name).calculation:
        _calculate(name, overrides, out, quick=quick, dry=dry)
        return
    sweep = compose_sweep(name, overrides, quick=quick, plugins=plugins)
    folder = out or default_folder(name, overrides, quick=quick, plugins=plugins)
    _refuse_file(folder)
    if dry:
        from simlab.commands import inventory
        from simlab.engine.forecast import forecast

        print(inventory.foreseen(forecast(sweep, folder, jobs), folder))
        return
    from simlab.measures.labels import LABELS
    from simlab.store import filling, opening
    from simlab.store.folder import remember_last
    from simlab.store.measures import measures_of

    report(filling.fill(sweep, folder, measures_of(sweep.base), jobs, labels=LABELS))
    remember_last(folder)
    with opening.open_results(folder) as dataset:
        print(finding(dataset), flush=True)
        for line in ending(dataset, folder):
            note(line)


def _calculate(name: str, overrides: Sequence[str], out: Path | None, *, quick: bool, dry: bool) -> None:
    """Carry out a calculation, then print what was found."""
    from simlab.config import compose_calculation, load_sweep
    from simlab.measures.labels import LABELS
    from simlab.store import calculations, opening
    from simlab.store.folder import remember_last

    asked = compose_calculation(load_sweep(name), overrides, quick=quick)
    folder = out or default_folder(name, overrides, quick=quick, plugins=[])
    _refuse_file(folder)
    if dry:
        size = math.prod(len(axis.values) for axis in asked.axes)
        print(f"Nothing was run. This would calculate {size} settings, without simulation, into {folder}")
        return
    calculations.run(asked, folder, LABELS)
    remember_last(folder)
    with opening.open_results(folder) as dataset:
        print(finding(dataset), flush=True)
        for line in ending(dataset, folder):
            note(line)


def _refuse_file(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} cannot be made a folder (File exists); give another --out")


def report(summary: Summary) -> None:
    """Say on stderr what went wrong: torn blocks run again, blocks that failed, designs that could not be met."""
    if summary.torn:
        note(f"{summary.torn} blocks of an earlier run were damaged and ran again")
    for failure in summary.failures:
        note(f"failed: {failure.address}: {failure.reason}; the same command tries again")
    for reason, count in summary.failed_designs.items():
        note(f"{count} campaigns failed and are left out of the measures: {reason}")


def default_folder(name: str | None, overrides: Sequence[str], *, quick: bool, plugins: Sequence[str]) -> Path:
    """Name the folder of a sweep; what was changed by overrides goes to another one, in whatever order it was given.

    >>> default_folder("item_grouping", [], quick=False, plugins=[]).as_posix()
    'outputs/item_grouping'
    """
    changes = sorted([*overrides, *(["--quick"] if quick else []), *(f"--plugins={plugin}" for plugin in plugins)])
    stem = Path(name).stem if name else "run"
    if name and not changes:
        return OUTPUTS / stem
    return OUTPUTS / f"{stem}-{sha256(chr(10).join(changes).encode()).hexdigest()[:8]}"


def finding(dataset: xr.Dataset) -> str:
    """Write the measure of the sweep's figure by design and x axis; of a single cell all its measures."""
    from simlab.drawing import view
    from simlab.drawing.text import cells
    from simlab.store.opening import axes_of, measures_of
    from simlab.store.query import records

    if not axes_of(dataset):
        return cells.table(records(dataset, measures_of(dataset)), (), measures_of(dataset))
    if math.prod(dataset.sizes[axis] for axis in axes_of(dataset)) > MOST_CELLS:
        return _largest(dataset)
    shown = view.view(dataset)
    return cells.figure_table(records(dataset, [shown.measure, *shown.besides]), shown)


def _largest(dataset: xr.Dataset) -> str:
    """Sum up a grid that is too large for a table: how many settings, and what the measures range over."""
    from simlab.store.opening import axes_of, measures_of

    axes = [f"{name} ({dataset.sizes[name]})" for name in axes_of(dataset)]
    size = math.prod(dataset.sizes[name] for name in axes_of(dataset))
    lines = [f"{size} settings: {' x '.join(axes)}"]
    for name in measures_of(dataset):
        values = dataset[name]
        spread = ", ".join(f"{float(values.quantile(q)):.4f}" for q in (0.0, 0.25, 0.5, 0.75, 1.0))
        lines.append(f"{name}: least, quartiles and greatest {spread}; no value in {int(values.isnull().sum())}")
    return "\n".join(lines)


def ending(dataset: xr.Dataset, folder: Path) -> list[str]:
    """Say what the errors leave out, whether they are as small as the sweep asks, where the store is, what is next."""
    from simlab.drawing import view

    condition = view.condition(dataset)
    lines = [*([condition] if condition else []), *precision(dataset)]
    return [*lines, f"stored in {folder}", f"next: {next_command(dataset, folder)}"]


def precision(dataset: xr.Dataset) -> list[str]:
    """Say, in a line or none, that the largest error of a measure is above what the sweep asks for."""
    from simlab.drawing import view

    asked = view.declared(dataset).get("precision") or {}
    errors = f"{asked.get('measure')}_mcse"
    if "mcse" not in asked or errors not in dataset:
        return []
    largest = float(dataset[errors].max())
    if not largest > asked["mcse"]:
        return []
    more = "studies" if dataset.attrs["conditional"] else "worlds"
    return [f"error of {asked['measure']} up to {largest:.2g}, above the {asked['mcse']:g} wanted; {more}=N runs more"]


def next_command(dataset: xr.Dataset, folder: Path) -> str:
    """Suggest what to ask of a store that was just filled."""
    from simlab.drawing import view
    from simlab.store.opening import axes_of

    where = shlex.quote(str(folder))
    if not axes_of(dataset):
        return f"{program()} query {where} --format json"
    shown = view.view(dataset)
    several = [axis for axis in (shown.line, shown.x, *shown.panels) if axis and dataset.sizes[axis] > 1]
    if not several:
        return f"{program()} query {where} --format json"
    return f"{program()} compare {where} --by {several[0]} --measure {shown.measure}"


def program() -> str:
    """Return how the user started simlab, so that a suggested command works where it is typed."""
    return "uv run simlab" if "UV_RUN_RECURSION_DEPTH" in os.environ else "simlab"


def note(line: str) -> None:
    """Say something that is not the answer."""
    print(line, file=sys.stderr)
