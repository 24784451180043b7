"""Run a sweep, or merge folders of one, and write the measures of all cells as a Zarr store.

`fill` takes a sweep and a folder and returns the `RunSummary`; `merge` takes folders and returns a `MergeAnswer`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from simlab.config.sweep import Sweep
from simlab.engine import locating, precision_rounds
from simlab.engine import run as engine
from simlab.engine.ledger import Ledger, LedgerEntry
from simlab.engine.merging import Merged
from simlab.engine.merging import merge as merge_ledgers
from simlab.engine.preparing import CheckFunction, count_jobs
from simlab.engine.shards import name_shards
from simlab.engine.workers import BlockFunction
from simlab.messages import pluralise, show
from simlab.parts import is_own
from simlab.store.interrupted_runs import refuse_strange_declaration
from simlab.store.layout import gather, grid, is_per_world
from simlab.store.measures import Labels, Measures, bound_measures_of, estimate
from simlab.store.verifying import list_incomplete
from simlab.store.writing import materialise
from simlab.types import Estimate, InputError


def fill(
    sweep: Sweep,
    folder: Path,
    measures: Measures,
    jobs: int | None = None,
    *,
    labels: Labels | None = None,
    block: BlockFunction | None = None,
    check: CheckFunction | None = None,
    choose: locating.Choose | None = None,
    quiet: bool = False,
    allow_version: bool = False,
) -> engine.RunSummary:
    """Carry out the missing blocks of a sweep (`engine.run`), compute the measures of every cell, write the store.

    A sweep that has a target is run by `engine.precision_rounds`, one that locates a crossing by `engine.locating`,
    whose cells `choose` names round by round. `measures` are functions of outcomes and `labels` their attributes, by
    name; `block` and `check` are those of `engine.run`.
    """
    finish = partial(
        materialise, measures=measures, labels=labels or {}, command=sweep.command, jobs=count_jobs(sweep, jobs)
    )
    run: Callable[..., engine.RunSummary] = engine.run
    if sweep.until is not None:
        run = partial(precision_rounds.run, look=Looking({name: measures[name] for name in sweep.until.measures}))
    elif sweep.locate is not None and choose is not None:
        look = Looking({sweep.locate.measure: measures[sweep.locate.measure]})
        run = partial(locating.run, look=look, choose=choose)
    return run(
        sweep, folder, jobs=jobs, block=block, check=check, quiet=quiet, allow_version=allow_version, finish=finish
    )


class Looking(NamedTuple):
    """Function that measures a cell from the campaigns that a ledger holds of it."""

    measures: Measures

    def __call__(
        self, book: Ledger, entry: LedgerEntry, studies: range | None = None, worlds: int | None = None
    ) -> Mapping[str, Estimate]:
        """Return the measures that have a value, of studies in a range and of the first n `worlds` where given."""
        declared = grid(book).outcomes
        rows = (row for row in book.blocks(entry.cell) if worlds is None or row.block.address.world < worlds)
        outcomes = gather(rows, entry.config, declared)
        if studies is not None:
            kept = (outcomes["study"] >= studies.start) & (outcomes["study"] < studies.stop)
            outcomes = {name: of if is_per_world(declared, name) else of[kept] for name, of in outcomes.items()}
        estimates = estimate(self.measures, outcomes, declared)
        return {name: one for name, one in estimates.items() if isinstance(one, Estimate)}


class MergeAnswer(NamedTuple):
    """Result of a merge, and a line on missing campaigns, if there are any."""

    merged: Merged
    missing: str | None


def merge(
    out: Path,
    folders: Sequence[Path],
    *,
    labels: Labels,
    plugins: Sequence[str] = (),
    allow_version: bool = False,
    quiet: bool = False,
) -> MergeAnswer:
    """Merge folders into one, and write its store; see `simlab.engine.merging.merge`.

    Raises InputError, before anything is written, for a measure of a package that is not among `plugins`, too.
    """
    missing: list[str] = []

    def look(book: Ledger) -> None:
        refuse_strange_declaration(book)
        _measure_sections(book, plugins)

    def complete(book: Ledger) -> Sequence[str]:
        missing.extend(_describe_missing(book))
        if not book.n_blocks():
            return ()
        sections = {"measure": _measure_sections(book, plugins), "plugins": plugins}
        return materialise(book, bound_measures_of(sections), labels)

    merged = merge_ledgers(out, folders, allow_version=allow_version, quiet=quiet, look=look, finish=complete)
    return MergeAnswer(merged, missing[0] if missing else None)


def _measure_sections(book: Ledger, plugins: Sequence[str]) -> dict[str, dict[str, object]]:
    """Return the measures that a sweep declares; no file makes anybody import the package of a plug-in."""
    sections: dict[str, dict[str, object]] = (book.declaration() or {}).get("measure", {})
    for name, section in sections.items():
        package = str(section.get("_target_", "")).partition(".")[0]
        if not is_own(section) and package not in plugins:
            raise InputError(
                f"{book.folder}: its measure {show(name)} is one of the package {show(package)}; if you trust it, "
                f"add --plugins {package}"
            )
    return sections


def _describe_missing(book: Ledger) -> list[str]:
    """Return a line on the campaigns that a merged folder lacks of those asked of its parts; none where it is whole."""
    there, wanted = book.shortfall()
    if there >= wanted:
        return []
    shards = list_incomplete(book)
    of = f", all of {name_shards(shards)}" if shards else ""
    end = "run what is missing of these and merge them, too" if shards else "the command of the sweep computes the rest"
    return [f"missing: {wanted - there:,} of {pluralise(wanted, 'campaign')}{of}; {end}"]
