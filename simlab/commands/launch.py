"""What `run` and `sweep` share: where the store goes, what is said of a run, and the finding that ends it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from simlab.commands.notes import note, program
from simlab.types import InputError

if TYPE_CHECKING:
    from simlab.config import Sweep
    from simlab.drawing.text.tables import Form
    from simlab.engine.run import Summary

OUTPUTS = Path("outputs")


class Launched(NamedTuple):
    """Hold the answer of a launch, and the notes that belong below it, on stderr."""

    text: str
    notes: Sequence[str] = ()


Keep = Callable[[str], None]
"""Keeps an answer, given as JSON."""


def simulate(
    sweep: Sweep, folder: Path, jobs: int | None, *, dry: bool, form: Form = "table", keep: Keep | None = None
) -> Launched:
    """Run what is missing of a sweep and return its finding; dry, run nothing and return what it would take."""
    if dry:
        from simlab.drawing.text.forecast import foreseen
        from simlab.engine.forecast import forecast

        return Launched(foreseen(forecast(sweep, folder, jobs), folder))
    from simlab.measures.labels import LABELS
    from simlab.store import filling
    from simlab.store.measures import measures_of

    report(filling.fill(sweep, folder, measures_of(sweep.base), jobs, labels=LABELS))
    return finding(folder, form, keep)


def finding(folder: Path, form: Form = "table", keep: Keep | None = None) -> Launched:
    """Return the finding of a store that was just filled, in a form, and remember the store as the last one."""
    from simlab.drawing.text import findings, tables
    from simlab.store.folder import remember_last
    from simlab.store.opening import measures_of, open_results
    from simlab.store.query import records

    remember_last(folder)
    with open_results(folder) as dataset:
        rows = records(dataset, measures_of(dataset)) if keep or form != "table" else []
        if keep:
            keep(tables.to_json(rows))
        text = findings.finding(dataset) if form == "table" else tables.write(rows, form)
        return Launched(text, findings.ending(dataset, folder, program()))


def report(summary: Summary) -> None:
    """Say on stderr what went wrong: torn blocks run again, blocks that failed, designs that could not be met."""
    if summary.torn:
        note(f"{summary.torn} blocks of an earlier run were damaged and ran again")
    for failure in summary.failures:
        note(f"failed: {failure.address}: {failure.reason}; the same command tries again")
    for reason, count in summary.failed_designs.items():
        note(f"{count} campaigns failed and are left out of the measures: {reason}")


def folder_of(
    name: str | None, overrides: Sequence[str], out: Path | None, *, quick: bool, plugins: Sequence[str]
) -> Path:
    """Return the folder that was named, or else the default one; raise InputError where a file is in its way."""
    folder = out or default_folder(name, overrides, quick=quick, plugins=plugins)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} cannot be made a folder (File exists); give another --out")
    return folder


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
