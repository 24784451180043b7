"""Lay the store of many cells whose campaigns are stand-ins, check it and read from it; print what that took, as JSON.

`python -m tests.benchmarks.stored CELLS FOLDER`: a process of its own, whose peak of memory is that of these cells.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from simlab.engine import ledger
from simlab.engine import run as engine
from simlab.measures.labels import LABELS
from simlab.store.opening import measures_of, open_results, outcomes_of_cell
from simlab.store.query import records
from simlab.store.verifying import verify
from simlab.store.writing import materialise
from tests.benchmarks.sized import inline, sized, stand_in

JOBS = int(os.environ.get("SIMLAB_JOBS", "1"))


def imported() -> None:
    """Import what is no cell's; xarray asks for Dask wherever that is installed."""
    for name in ("xarray", "zarr", "dask.array"):
        with suppress(ImportError):
            import_module(name)


def measured(cells: int, folder: Path) -> dict[str, dict[str, float]]:
    """Return the seconds (wall, and CPU with that of workers) of each step, and the MiB of its peak by then."""
    from simlab.store.measures import bound_measures_of as bound

    took: dict[str, dict[str, float]] = {}

    def cpu() -> float:
        return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))

    def step(name: str, call: Callable[[], Any]) -> Any:
        wall, before = time.monotonic(), cpu()
        done = call()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        took[name] = {"wall": time.monotonic() - wall, "cpu": cpu() - before, "peak": peak}
        return done

    def laid() -> list[str]:
        with ledger.open_to_write(folder) as book:
            return materialise(book, measures, LABELS, jobs=JOBS)

    imported()
    engine.dispatch = inline  # type: ignore[attr-defined]
    sweep = sized(cells)
    measures = bound(sweep.base)
    engine.run(sweep, folder, 1, block=stand_in, quiet=True)
    step("materialise", laid)
    step("relaunch", laid)
    assert step("verify", lambda: verify(folder, jobs=JOBS)).problems == ()
    dataset = step("open", lambda: open_results(folder))
    step("slice", lambda: dataset["srp"].isel(level=-1).values)
    step("cell", lambda: outcomes_of_cell(dataset, [size - 1 for size in dataset["srp"].shape]))
    step("query", lambda: records(dataset, measures_of(dataset)))
    return took


if __name__ == "__main__":
    print(json.dumps(measured(int(sys.argv[1]), Path(sys.argv[2]))))
