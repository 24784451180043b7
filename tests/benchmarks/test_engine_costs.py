"""What a launch costs besides its campaigns: CPU of the driver per cell, against the plain path, in one run.

The plain path is what a launch did before anything was remembered: every cell checked, every block read by numpy, every
block a commit of its own, every store laid anew. `SIMLAB_CELLS=2000` takes more cells than the quick run does.
"""

from __future__ import annotations

import io
import itertools
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simlab.config import Sweep, compose_sweep
from simlab.config.sweepfile import MULTIRUN
from simlab.engine import addresses, ledger, preparing
from simlab.engine import run as engine
from simlab.engine.addresses import Address, Finished
from simlab.engine.ledger import Known, Ledger
from simlab.engine.workers import BlockFunction, BlockLimits, BlockTask, work_together
from simlab.measures import jackknife, stability
from simlab.measures.labels import LABELS
from simlab.store import filling, layout
from simlab.store.measures import bound_measures_of
from simlab.types import Array

CELLS = int(os.environ.get("SIMLAB_CELLS", "200"))
TINY = {
    "ratings": [
        *("systems.n_systems=3", "systems.n_documents=14", "systems.n_segments=20"),
        *("design.documents=8", "analysis.test=permutation", "decision=significance", "analysis.test.permutations=200"),
    ],
    "judgements": [
        *("question=judge", "systems.n_systems=2", "systems.n_items=20"),
        *("budget.human_ratings=4", "analysis.estimator=sample_mean"),
    ],
}
"""Studies whose one campaign takes about a millisecond."""


def tiny(kind: str, cells: int = CELLS) -> Sweep:
    prices = ",".join(str(1.0 + k) for k in range(10))
    levels = ",".join(f"{0.01 + 0.002 * k:.3f}" for k in range(cells // 10))
    axes = [f"decision.level={levels}", f"budget.price_per_rating={prices}", "worlds=1", "studies=1"]
    return compose_sweep(MULTIRUN, [*TINY[kind], *axes])


def inline(
    block: BlockFunction,
    tasks: Sequence[BlockTask],
    jobs: int,
    limits: BlockLimits,
    accept: Callable[[Sequence[Finished]], None],
) -> None:
    """Carry blocks out in this process, where their CPU is counted, and hand them over fifty at a time."""
    for start in range(0, len(tasks), 50):
        accept(work_together(block, tasks[start : start + 50]))


def one_by_one(
    block: BlockFunction,
    tasks: Sequence[BlockTask],
    jobs: int,
    limits: BlockLimits,
    accept: Callable[[Sequence[Finished]], None],
) -> None:
    for task in tasks:
        accept(work_together(block, [task]))


def by_numpy(payload: bytes) -> dict[str, Array]:
    with np.load(io.BytesIO(payload), allow_pickle=False) as file:
        return dict(file)


def to_numpy(arrays: Mapping[str, Array]) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, allow_pickle=False, **arrays)
    return file.getvalue()


def plain(patch: pytest.MonkeyPatch) -> None:
    """Remember nothing, share nothing."""
    from simlab.engine import block_checks, workers

    patch.setattr(engine, "dispatch", one_by_one)
    patch.setattr(engine, "read_known", lambda folder: Known())
    patch.setattr(Ledger, "is_seen", lambda book, by: False)
    patch.setattr(Ledger, "read_origin", lambda book: None)
    for module in (addresses, block_checks, layout):
        patch.setattr(module, "unpack", by_numpy)
    patch.setattr(workers, "pack", to_numpy)
    alone = {name: getattr(jackknife, name).__wrapped__ for name in ("clusters", "comparable", "_world_of")}
    for module in (jackknife, stability):
        for name in alone.keys() & vars(module):
            patch.setattr(module, name, alone[name])


def cpu(call: Callable[[], object]) -> float:
    began = time.process_time()
    call()
    return time.process_time() - began


def launched(sweep: Sweep, folder: Path) -> None:
    filling.fill(sweep, folder, bound_measures_of(sweep.base), 1, labels=LABELS, quiet=True)


@pytest.mark.benchmark(group="engine")
@pytest.mark.parametrize(("kind", "launch", "relaunch"), [("ratings", 0.75, 0.2), ("judgements", 0.75, 0.2)])
def test_a_cell_costs_little_besides_its_campaigns(
    kind: str, launch: float, relaunch: float, benchmark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Launch to store, and relaunch with nothing missing, both against the plain path on the same sweep."""
    monkeypatch.setattr(engine, "dispatch", inline)
    sweep, folders = tiny(kind), (tmp_path / str(k) for k in itertools.count())
    launched(tiny(kind, 20), next(folders))
    took: dict[str, list[float]] = {"launch": [], "relaunch": [], "plain launch": [], "plain relaunch": []}

    def both() -> None:
        with pytest.MonkeyPatch.context() as patch:
            plain(patch)
            folder = next(folders)
            took["plain launch"].append(cpu(lambda: launched(sweep, folder)))
            took["plain relaunch"].append(cpu(lambda: launched(sweep, folder)))
        folder = next(folders)
        took["launch"].append(cpu(lambda: launched(sweep, folder)))
        took["relaunch"].append(cpu(lambda: launched(sweep, folder)))

    benchmark.pedantic(both, rounds=2)
    least = {what: min(seconds) for what, seconds in took.items()}
    benchmark.extra_info |= {f"{what}_ms_per_cell": 1000 * seconds / sweep.n_cells for what, seconds in least.items()}
    ratios = {what: least[what] / least[f"plain {what}"] for what in ("launch", "relaunch")}
    benchmark.extra_info |= {"cells": sweep.n_cells, **{f"{what}_ratio": ratio for what, ratio in ratios.items()}}
    assert ratios["launch"] < launch
    assert ratios["relaunch"] < relaunch


@pytest.mark.benchmark(group="engine")
def test_blocks_that_come_together_wait_for_the_disk_once(benchmark: Any, tmp_path: Path) -> None:
    """Five hundred small blocks: one transaction for each, and one for each fifty."""
    blocks = [Finished(Address("c", world, 0, 1), b"x" * 3000) for world in range(500)]
    folders = (tmp_path / str(k) for k in itertools.count())

    def kept(at_once: int) -> float:
        with ledger.open_to_write(next(folders)) as book:
            began = time.perf_counter()
            for start in range(0, len(blocks), at_once):
                book.record(blocks[start : start + at_once])
            return time.perf_counter() - began

    alone: list[float] = []
    together: list[float] = []
    benchmark.pedantic(lambda: (alone.append(kept(1)), together.append(kept(50))), rounds=3)
    ratio = min(together) / min(alone)
    benchmark.extra_info |= {"ms_alone": 2 * min(alone), "ms_together": 2 * min(together), "ratio": ratio}
    assert ratio < 0.2


@pytest.mark.benchmark(group="engine")
def test_cells_that_are_known_are_not_checked_again(benchmark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """`prepare` alone: cells that this simlab has checked, against the check of each."""
    sweep = tiny("ratings")
    job = preparing.prepare(sweep)
    checked: list[float] = []
    remembered: list[float] = []

    def both() -> None:
        checked.append(cpu(lambda: preparing.prepare(sweep)))
        remembered.append(cpu(lambda: preparing.prepare(sweep, known=job.known)))

    benchmark.pedantic(both, rounds=3)
    ratio = min(remembered) / min(checked)
    benchmark.extra_info |= {"ms_per_cell": 1000 * min(remembered) / sweep.n_cells, "ratio": ratio}
    assert ratio < 0.5
