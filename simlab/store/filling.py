"""Run sweeps into stores."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from simlab.config.sweep import Sweep
from simlab.engine import run as engine
from simlab.engine.checking import CheckFunction
from simlab.engine.workers import BlockFunction
from simlab.store.measures import Labels, Measures
from simlab.store.writing import materialise


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
    """Carry out what is missing of a sweep and lay its store: `engine.run`, then the measures of every cell."""
    finish = partial(materialise, measures=measures, labels=labels or {}, command=sweep.command)
    return engine.run(
        sweep, folder, jobs, block=block, check=check, quiet=quiet, allow_version=allow_version, finish=finish
    )
