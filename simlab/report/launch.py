"""Launch a run or a sweep from the command line, and end with its finding and the next command to try."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simlab import store
from simlab.types import Estimate, Outcomes

if TYPE_CHECKING:
    import xarray as xr

    from simlab.engine import Summary

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
        from simlab.report.inventory import foreseen

        print(foreseen(forecast(sweep, folder, jobs), folder))
        return
    from simlab.measures.labels import LABELS

    summary = store.run(sweep, folder, bound(sweep.base["measure"], plugins), jobs, labels=LABELS)
    store.remember_last(folder)
    with store.open_results(folder) as dataset:
        print(finding(dataset))
        for line in [*troubles(summary), *ending(dataset, folder)]:
            note(line)


def bound(sections: Mapping[str, Any], plugins: Sequence[str] = ()) -> dict[str, Callable[[Outcomes], Estimate]]:
    """Give the measures of a config as functions of outcomes."""
    from simlab.parts import bind

    return {name: bind(section, plugins) for name, section in sections.items()}


def known_measures(names: Sequence[str]) -> dict[str, Callable[[Outcomes], Estimate]]:
    """Give those of some measures that simlab has, with the parameters that they are declared with."""
    from simlab.config import compose, list_options

    options = [name for name in names if name in list_options()["measure"]]
    return bound(compose([f"measure=[{','.join(options)}]"])["measure"]) if options else {}


def troubles(summary: Summary) -> list[str]:
    """Say what went wrong in a run: nothing that failed is passed over."""
    lines = [f"{count} campaigns failed in {cell}" for cell, count in summary.failed_designs.items()]
    lines += [f"failed: {failure.address}: {failure.reason}" for failure in summary.failures]
    return lines + ([f"{summary.torn} damaged blocks were run again"] if summary.torn else [])


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
    from simlab.query import records
    from simlab.report import cells, view

    if not store.axes_of(dataset):
        names = store.measures_of(dataset)
        return cells.table(records(dataset, names), (), names)
    shown = view.view(dataset)
    return cells.figure_table(records(dataset, [shown.measure]), shown)


def ending(dataset: xr.Dataset, folder: Path) -> list[str]:
    """Say where the store is, what its errors leave out, whether they are as small as asked, and what to try next."""
    from simlab.report import view

    lines = [f"stored in {folder}", f"next: {next_command(dataset, folder)}"]
    asked = view.declared(dataset).get("precision") or {}
    if {"measure", "mcse"} <= asked.keys() and f"{asked['measure']}_mcse" in dataset:
        reached = float(dataset[f"{asked['measure']}_mcse"].max())
        if reached > asked["mcse"]:
            lines.insert(0, f"the error of {asked['measure']} reaches {reached:.2g}, above the {asked['mcse']:g} asked for")
    condition = view.condition(dataset)
    return [condition, *lines] if condition else lines


def next_command(dataset: xr.Dataset, folder: Path) -> str:
    """Suggest what to ask of a store that was just filled."""
    from simlab.report import view

    where = shlex.quote(str(folder))
    if not store.axes_of(dataset):
        return f"{program()} query {where} --format json"
    shown = view.view(dataset)
    return f"{program()} compare {where} --by {shown.line or shown.x} --measure {shown.measure}"


def program() -> str:
    """Return how the user started simlab, so that a suggested command works where it is typed."""
    return "uv run simlab" if "UV_RUN_RECURSION_DEPTH" in os.environ else "simlab"


def note(line: str) -> None:
    """Say something that is not the answer."""
    print(line, file=sys.stderr)
