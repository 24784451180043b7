"""Time studies in a process of their own, which can be ended: a forecast must not take as long as what it forecasts."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from simlab.effort import current_effort
from simlab.engine.addresses import Finished
from simlab.engine.backends.children import call_in_child, fresh_start_token
from simlab.engine.workers import BlockFunction, Task, work
from simlab.messages import duration

LONGEST_SECONDS = 8.0
"""After so long whatever is being timed is cut off."""
SHORT_SECONDS = 0.1
SOME = 10
"""Of studies shorter than that so many are timed together: alone one costs as much as several in a block."""
_START_SECONDS = 30.0
LOOKING_SECONDS = 1.5


class Timed(NamedTuple):
    """Hold seconds of all that is to be run, whether that is a lower bound only, and what it was worked out from.

    `studies` are those that were timed or looked at.
    """

    seconds: float
    at_least: bool
    how: str
    studies: tuple[Finished, ...] = ()


class _Times(NamedTuple):
    """Hold the studies that were timed with the seconds of a campaign of their cells, in a block.

    `warm` is what a process takes before it computes at its pace; `cut` is after how long a study was cut off,
    `looked` are studies of other cells.
    """

    timed: list[tuple[Finished, float]]
    warm: float
    cut: float = 0.0
    looked: tuple[Finished, ...] = ()


def seconds_of(block: BlockFunction, tasks: Sequence[Task], jobs: int, others: Sequence[Task] = ()) -> Timed:
    """Time a few studies in as many cells as patience allows, and scale up; cells not timed count as the mean.

    The first run of a study also imports, compiles and draws the world: each process pays for that once, at the same
    time as the others. Short studies are timed as blocks of several, which share what they can. Of `others`, of cells
    that need not be missing, the first studies are carried out for a little longer, to be looked at.
    """
    todo: dict[str, int] = {}
    for task in tasks:
        todo[task.address.cell] = todo.get(task.address.cell, 0) + task.address.count
    firsts = {task.address.cell: task for task in reversed(tasks)}
    timed, warm, cut, looked = _times(block, list(firsts.values()), others)
    if not todo:
        return Timed(0.0, False, "nothing is missing", looked)
    took = {one.address.cell: seconds for one, seconds in timed}
    processes = min(jobs, len(tasks))
    if not took:
        worlds = len({task.address.world for task in tasks})
        return Timed(cut * worlds / min(jobs, worlds), True, f"one study was cut off here after {cut:.0f} s")
    mean = sum(took.values()) / len(took)
    seconds = warm + sum(n * took.get(cell, mean) for cell, n in todo.items()) / processes
    how = f"{duration(warm)} to start; from one study timed here in each of {len(took)} of {len(firsts)} cells"
    studies = (*(one for one, _ in timed), *looked)
    return Timed(seconds, cut > 0, how + (", the next was cut off" if cut else ""), studies)


def _times(block: BlockFunction, tasks: Sequence[Task], others: Sequence[Task]) -> _Times:
    """Carry out a study of each cell, and where it is short a block of some."""
    took: list[tuple[Finished, float]] = []
    # Starting a process takes a second, which is no study's.
    start, started = fresh_start_token(), time.monotonic()
    call_in_child(start, os.getpid, seconds=_START_SECONDS)
    warm, began, since = time.monotonic() - started, time.monotonic(), 0.0
    for task in tasks:
        try:
            run = partial(_seconds, start, block, task, began + LONGEST_SECONDS)
            (_, first), (one, again) = run(1), run(1)
            some = min(task.address.count, SOME) if again < SHORT_SECONDS else 1
            took.append((one, again if some == 1 else run(some)[1] / some))
        except Exception:
            # Too slow, or the end of its process: no more can be said, and the run itself will say why.
            return _Times(took, warm, time.monotonic() - began)
        # What later cells import is little, and cannot be told from the worlds that they draw.
        warm += max(0.0, first - again) if not since else 0.0
        since = since or time.monotonic()
        if time.monotonic() - since > current_effort().timing_seconds:
            break
    known = {one.address.cell for one, _ in took}
    left = [task for task in others if task.address.cell not in known]
    return _Times(took, warm, looked=_looked_at(start, block, left))


def _looked_at(start: bytes, block: BlockFunction, tasks: Sequence[Task]) -> tuple[Finished, ...]:
    """Carry out the first study of as many cells as patience allows."""
    looked: list[Finished] = []
    until = time.monotonic() + min(LOOKING_SECONDS, current_effort().timing_seconds)
    with suppress(Exception):
        for task in tasks:
            looked.append(_seconds(start, block, task, until, 1)[0])
    return tuple(looked)


def _seconds(start: bytes, block: BlockFunction, task: Task, until: float, count: int) -> tuple[Finished, float]:
    """Carry out so many studies of a block; return them, and the seconds."""
    address, began = replace(task.address, count=count), time.monotonic()
    finished: Finished = call_in_child(start, work, block, task.config, address, seconds=max(0.01, until - began))
    return finished, time.monotonic() - began
