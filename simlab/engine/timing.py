"""Time studies in a process of their own, which can be ended: a forecast must not take as long as what it forecasts."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

from simlab.engine.addresses import Finished
from simlab.engine.limits import Limits
from simlab.engine.workers import BlockFunction, Task, guard, work

PATIENCE_SECONDS = 2.0
"""Further cells are timed for so long."""
LONGEST_SECONDS = 8.0
"""Then whatever is being timed is cut off."""
_START_SECONDS = 30.0


class Timed(NamedTuple):
    """Hold seconds of all that is to be run, whether that is a lower bound only, and what it was worked out from.

    `studies` are those that were timed.
    """

    seconds: float
    at_least: bool
    how: str
    studies: tuple[Finished, ...] = ()


def seconds_of(block: BlockFunction, tasks: Sequence[Task], jobs: int) -> Timed:
    """Time one study in as many cells as patience allows, and scale up; cells not timed count as the mean.

    The second of two runs of a study counts: the first also draws the world, which a block shares.
    """
    todo: dict[str, int] = {}
    for task in tasks:
        todo[task.address.cell] = todo.get(task.address.cell, 0) + task.address.count
    if not todo:
        return Timed(0.0, False, "nothing is missing")
    firsts = {task.address.cell: task for task in reversed(tasks)}
    timed, cut = _times(block, list(firsts.values()))
    took = {one.address.cell: seconds for one, seconds in timed}
    processes = min(jobs, len(tasks))
    if not took:
        worlds = len({task.address.world for task in tasks})
        return Timed(cut * worlds / min(jobs, worlds), True, f"one study was cut off here after {cut:.0f} s")
    mean = sum(took.values()) / len(took)
    seconds = sum(n * took.get(cell, mean) for cell, n in todo.items()) / processes
    how = f"from one study timed here in each of {len(took)} of {len(firsts)} cells"
    studies = tuple(one for one, _ in timed)
    return Timed(seconds, cut > 0, how + (", the next was cut off" if cut else ""), studies)


def _times(block: BlockFunction, tasks: Sequence[Task]) -> tuple[list[tuple[Finished, float]], float]:
    """Carry out a study of each cell; return its seconds, and after how many one was cut off (0: none was)."""
    from joblib.externals.loky import ProcessPoolExecutor

    took: list[tuple[Finished, float]] = []
    executor: Any = ProcessPoolExecutor(max_workers=1, initializer=guard, initargs=(os.getpid(), Limits(), None))
    try:
        # Starting a process takes a second, which is no study's.
        executor.submit(os.getpid).result(timeout=_START_SECONDS)
        began, since = time.monotonic(), 0.0
        for task in tasks:
            try:
                took.append(_timed(executor, block, task, began + LONGEST_SECONDS))
            except Exception:
                # Too slow, or the end of its process: no more can be said, and the run itself will say why.
                return took, time.monotonic() - began
            # What the first study imports and compiles is not counted.
            since = since or time.monotonic()
            if time.monotonic() - since > PATIENCE_SECONDS:
                break
        return took, 0.0
    finally:
        with suppress(Exception):
            executor.shutdown(wait=True, kill_workers=True)


def _timed(executor: Any, block: BlockFunction, task: Task, until: float) -> tuple[Finished, float]:
    address = replace(task.address, count=1)

    def carried_out() -> Finished:
        finished: Finished = executor.submit(work, block, task.config, address).result(
            timeout=max(0.01, until - time.monotonic())
        )
        return finished

    carried_out()
    began = time.monotonic()
    return carried_out(), time.monotonic() - began
