"""Carry out one run, print what it took as JSON: `once.py blocks BACKEND JOBS KIND SECONDS BLOCKS`, `once.py cells N`.

A process of its own, so that CPU seconds and memory are those of the run and of nothing else.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

HERE = Path(__file__).parents[3]
sys.path[:0] = [str(HERE), str(HERE / "tests")]
os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE), str(HERE / "tests")])


class Clock:
    """Add up the CPU seconds of this process, and those of the wall, that calls take."""

    def __init__(self) -> None:
        self.cpu: dict[str, float] = {}
        self.wall: dict[str, float] = {}

    def __call__(self, name: str, call: Callable[..., Any], *given: Any, **more: Any) -> Any:
        cpu, wall = time.process_time(), time.perf_counter()
        try:
            return call(*given, **more)
        finally:
            self.cpu[name] = self.cpu.get(name, 0.0) + time.process_time() - cpu
            self.wall[name] = self.wall.get(name, 0.0) + time.perf_counter() - wall


def blocks(backend: str, jobs: int, kind: str, seconds: float, count: int) -> dict[str, Any]:
    """Carry out stand-in blocks; return wall and CPU of the driver while they ran, what of it was the ledger's."""
    import fake_studies

    from simlab.engine import run as engine
    from simlab.engine.ledger import Ledger
    from tests.benchmarks.scaling import standing_in

    clock = Clock()
    for owner, name in ((Ledger, "record"), (engine, "refused"), (engine, "carry_out")):
        setattr(owner, name, partial_of(clock, name, getattr(owner, name)))
    came: list[tuple[float, int]] = []
    keep = Ledger.record

    def recorded(book: Ledger, finished: Any) -> None:
        keep(book, finished)
        came.append((time.perf_counter(), len(finished)))

    Ledger.record = recorded  # type: ignore[method-assign]
    from simlab.engine import dispatch

    # Shorter bundles than simlab's own show what a bundle costs besides its blocks.
    longest = float(os.environ.get("SCALING_BUNDLE", dispatch.LONGEST_SECONDS))
    dispatch.LONGEST_SECONDS, dispatch.SHORTEST_SECONDS = longest, min(dispatch.SHORTEST_SECONDS, longest)
    address = os.environ.get("SCALING_SCHEDULER")
    limits = {"backend": backend, "scheduler": address, "scheduler_seconds": 60}
    sweep = fake_studies.sweep([10], worlds=count, studies=5, block=5, limits=limits)
    base = {**sweep.base, "spin": seconds}
    composed = {key: {**config, "spin": seconds} for key, config in sweep.composed.items()}
    sweep = fake_studies.replace(sweep, base=base, composed=composed)
    with tempfile.TemporaryDirectory() as folder:
        engine.run(
            sweep, Path(folder) / "s", jobs, block=getattr(standing_in, kind), check=fake_studies.check, quiet=True
        )
        size = sum(file.stat().st_size for file in (Path(folder) / "s").iterdir())
    return {
        "backend": "tcp" if address else backend, "jobs": jobs, "kind": kind, "seconds": seconds, "blocks": count,
        "wall": clock.wall["carry_out"], "driver": clock.cpu["carry_out"], "record": clock.cpu["record"],
        "record_wall": clock.wall["record"], "check": clock.cpu["refused"], "bytes": size / count,
        "bundle": longest, "transactions": len(came),
        # Between the first blocks that came and the last, so that starting workers does not count.
        "rate": sum(n for _, n in came[1:]) / max(came[-1][0] - came[0][0], 1e-9),
        "children": sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]),
    }  # fmt: skip


def partial_of(clock: Clock, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that does the same and is timed; of a class it is a method still."""

    def timed(*given: Any, **more: Any) -> Any:
        return clock(name, call, *given, **more)

    return timed


def cells(count: int) -> dict[str, Any]:
    """Launch that many tiny cells, relaunch, open and query; return the seconds and bytes of each stage."""
    from simlab.config import compose_sweep
    from simlab.config.sweepfile import MULTIRUN
    from simlab.engine import run as engine
    from simlab.measures.labels import LABELS
    from simlab.store import filling, opening
    from simlab.store.measures import bound_measures_of
    from simlab.store.query import records
    from tests.benchmarks.test_engine_costs import TINY, inline

    clock = Clock()
    prices, levels = min(count // 10, 100), max(count // 100, 10)
    axes = [
        f"budget.price_per_rating={','.join(str(1.0 + k) for k in range(prices))}",
        f"decision.level={','.join(f'{0.01 + 0.0001 * k:.4f}' for k in range(levels))}",
    ]
    sweep = clock("compose", compose_sweep, MULTIRUN, [*TINY["ratings"], *axes, "worlds=1", "studies=1"])
    engine.dispatch = inline
    engine.prepare = partial_of(clock, "prepare", engine.prepare)
    engine.carry_out = partial_of(clock, "carry_out", engine.carry_out)
    filling.materialise = partial_of(clock, "lay", filling.materialise)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "s"
        again = partial(filling.fill, sweep, folder, bound_measures_of(sweep.base), 1, labels=LABELS, quiet=True)
        clock("launch", again)
        first = (dict(clock.cpu), dict(clock.wall))
        clock("relaunch", again)
        dataset = clock("open", opening.open_results, folder)
        clock("query", records, dataset, opening.measures_of(dataset))
        ledger = sum(file.stat().st_size for file in folder.glob("ledger*"))
        store = sum(file.stat().st_size for file in folder.rglob("results.zarr/**/*") if file.is_file())
        chunks = sum(1 for file in folder.rglob("results.zarr/**/*") if file.is_file())
    stages = ("compose", "prepare", "carry_out", "lay", "launch")
    later = ("relaunch", "open", "query")
    return {
        "cells": sweep.n_cells,
        "cpu": {s: first[0][s] for s in stages} | {s: clock.cpu[s] for s in later},
        "wall": {s: first[1][s] for s in stages} | {s: clock.wall[s] for s in later},
        "ledger_bytes": ledger, "store_bytes": store, "store_files": chunks,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }  # fmt: skip


if __name__ == "__main__":
    what, *words = sys.argv[1:]
    if what == "cells":
        found = cells(int(words[0]))
    else:
        backend, jobs, kind, seconds, count = words
        found = blocks(backend, int(jobs), kind, float(seconds), int(count))
    print(json.dumps(found))
