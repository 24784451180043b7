"""Take a sweep of many cells from its words to a full ledger and back, and print what that took, as JSON.

`python -m tests.benchmarks.sized CELLS FOLDER`: a process of its own, whose peak of memory is that of these cells.
Blocks are carried out in it, by a stand-in, so that what is measured is what a driver does.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from simlab.config import Sweep, compose_sweep
from simlab.config.sweepfile import MULTIRUN
from simlab.engine import preparing, replays
from simlab.engine import run as engine
from simlab.engine.addresses import Finished
from simlab.engine.workers import BlockFunction, BlockLimits, BlockTask, work_together
from simlab.types import Array, Place

CAMPAIGNS = 100
AT_ONCE = 500
TINY = (
    *(
        "systems.n_systems=3",
        "systems.n_documents=15",
        "systems.n_segments=20",
        "analysis.test=permutation",
        "decision=significance",
        "analysis.test.permutations=200",
    ),
    *("worlds=1", f"studies={CAMPAIGNS}"),
)


class Block(NamedTuple):
    """Hold the outcomes of campaigns, of which none failed."""

    arrays: Mapping[str, Array]
    failures: list[tuple[int, str]]


def sized(cells: int) -> Sweep:
    """Compose a sweep of so many cells, a multiple of 100, with axes in three sections."""
    noise = ",".join(f"{0.1 + 0.05 * k:.2f}" for k in range(10))
    documents = ",".join(str(6 + k) for k in range(10))
    levels = ",".join(f"{0.05 + 1e-5 * k:.5f}" for k in range(cells // 100))
    axes = [f"raters.noise_share={noise}", f"design.documents={documents}", f"decision.level={levels}"]
    return compose_sweep(MULTIRUN, [*TINY, *axes])


def stand_in(config: Mapping[str, Any], places: Sequence[Place]) -> Block:
    """Return what campaigns of the first cell came to, whichever cell is asked for."""
    at, last = places[0], places[-1].study + 1
    arrays = {name: array if name.startswith("true_") else array[at.study : last] for name, array in _real().items()}
    return Block(arrays | {"world": np.full_like(arrays["world"], at.world)}, [])


@cache
def _real() -> Mapping[str, Array]:
    config = next(sized(100).cells()).config
    return engine.study_block()(config, [Place(0, 0, 0, study) for study in range(CAMPAIGNS)]).arrays


def inline(
    block: BlockFunction,
    tasks: Sequence[BlockTask],
    backend: Any,
    limits: BlockLimits,
    accept: Callable[[Sequence[Finished]], None],
) -> None:
    """Carry blocks out in this process, and hand them over some hundred at a time."""
    for start in range(0, len(tasks), AT_ONCE):
        accept(work_together(block, tasks[start : start + AT_ONCE]))


def measured(cells: int, folder: Path) -> dict[str, dict[str, float]]:
    """Return the seconds (wall and CPU) that each step took, and the MiB that the process had at its peak by then."""
    took: dict[str, dict[str, float]] = {}

    def step(name: str, call: Callable[[], Any]) -> Any:
        wall, cpu = time.monotonic(), time.process_time()
        done = call()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        took[name] = {"wall": time.monotonic() - wall, "cpu": time.process_time() - cpu, "peak": peak}
        return done

    def launch() -> Any:
        return engine.run(sweep, folder, 1, block=stand_in, quiet=True)

    engine.dispatch = replays.dispatch = inline  # type: ignore[attr-defined]
    # What is imported, compiled and composed once is no cell's.
    preparing.prepare(sized(100))
    stand_in({}, [Place(0)])
    sweep = step("compose", lambda: sized(cells))
    step("prepare", lambda: preparing.prepare(sweep))
    first = step("launch", launch)
    again = step("relaunch", launch)
    assert (first.blocks, first.campaigns, first.failures) == (2 * cells, CAMPAIGNS * cells, ())
    assert (again.cells, again.blocks, again.failures) == (cells, 0, ())
    return took


if __name__ == "__main__":
    print(json.dumps(measured(int(sys.argv[1]), Path(sys.argv[2]))))
