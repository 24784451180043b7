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
    from simlab import engine

    if dry:
        print(engine.plan(sweep, folder, jobs))
        return
    engine.run(sweep, folder, jobs)
    from simlab.store import open_results

    with open_results(folder) as dataset:
        print(finding(dataset))
        note(f"stored in {folder}")
        note(f"next: {next_command(dataset, folder)}")


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
