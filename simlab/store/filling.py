"""Run sweeps into stores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

from simlab.config.sweep import Sweep
from simlab.engine import precise
from simlab.engine import run as engine
from simlab.engine.checking import CheckFunction
from simlab.engine.ledger import Entry, Ledger
from simlab.engine.preparing import jobs_of
from simlab.engine.workers import BlockFunction
from simlab.store.layout import gather, grid, per_world
from simlab.store.measures import Labels, Measures, estimate
from simlab.store.writing import materialise
from simlab.types import Estimate


def fill(
    sweep: Sweep,
    folder: Path,
    measures: Measures,
    jobs: int | None = None,
    *,
    labels: Labels | None = None,
    block: BlockFunction | None = None,
    check: CheckFunction | None = None,
    quiet: bool = False,
    allow_version: bool = False,
) -> engine.Summary:
    """Carry out what is missing of a sweep and lay its store: `engine.run`, then the measures of every cell.

    A sweep that has a target is run by `engine.precise`.
    """
    finish = partial(
        materialise, measures=measures, labels=labels or {}, command=sweep.command, jobs=jobs_of(sweep, jobs)
    )
    run: Callable[..., engine.Summary] = engine.run
    if sweep.until is not None:
        run = partial(precise.run, look=Looking({name: measures[name] for name in sweep.until.measures}))
    return run(
        sweep, folder, jobs=jobs, block=block, check=check, quiet=quiet, allow_version=allow_version, finish=finish
    )


class Looking(NamedTuple):
    """Measure cells from what a ledger holds of them."""

    measures: Measures

    def __call__(self, book: Ledger, entry: Entry, studies: range | None = None) -> Mapping[str, Estimate]:
        """Return the measures that have a value; of the studies in a range only, where one is given."""
        declared = grid(book).outcomes
        outcomes = gather(book.blocks(entry.cell), entry.config, declared)
        if studies is not None:
            kept = (outcomes["study"] >= studies.start) & (outcomes["study"] < studies.stop)
            outcomes = {name: of if per_world(declared, name) else of[kept] for name, of in outcomes.items()}
        found = estimate(self.measures, outcomes, declared)
        return {name: one for name, one in found.items() if isinstance(one, Estimate)}
