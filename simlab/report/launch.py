"""Launch a run or a sweep from the command line, and end with its finding and the next command to try."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import xarray as xr

    from simlab.engine import Summary

OUTPUTS = Path("outputs")


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
    from simlab.config import compose_sweep

    sweep = compose_sweep(name, overrides, quick=quick, plugins=plugins)
    folder = out or default_folder(name, overrides, quick=quick, plugins=plugins)
    if dry:
        from simlab.forecast import forecast
        from simlab.report import inventory

        print(inventory.foreseen(forecast(sweep, folder, jobs), folder))
        return
    from simlab import store
    from simlab.measures.labels import LABELS
    from simlab.report.known import measures_of

    report(store.run(sweep, folder, measures_of(sweep.base), jobs, labels=LABELS))
    store.remember_last(folder)
    with store.open_results(folder) as dataset:
        print(finding(dataset))
        note(f"stored in {folder}")
        note(f"next: {next_command(dataset, folder)}")


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
    from simlab.report import cells, view

    if not view.axes(dataset):
        return cells.table(view.records(dataset), (), view.measures(dataset))
    shown = view.view(dataset)
    return cells.figure_table(view.records(dataset, [shown.measure]), shown)


def next_command(dataset: xr.Dataset, folder: Path) -> str:
    """Suggest what to ask of a store that was just filled."""
    from simlab.report import view

    names = view.axes(dataset)
    if not names:
        return f"{program()} query {folder} --format json"
    shown = view.view(dataset)
    return f"{program()} compare {folder} --by {shown.line or shown.x} --measure {shown.measure}"


def program() -> str:
    """Return how the user started simlab, so that a suggested command works where it is typed."""
    return "uv run simlab" if "UV_RUN_RECURSION_DEPTH" in os.environ else "simlab"


def note(line: str) -> None:
    """Say something that is not the answer."""
    print(line, file=sys.stderr)
