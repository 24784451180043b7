"""Find what a world costs beside a study of it, in worker processes; coarse enough to come out alike again."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

import numpy as np

from simlab.engine.addresses import Address, Finished, unpack
from simlab.engine.backends import Backend
from simlab.engine.dispatch import dispatch
from simlab.engine.ledger import Entry
from simlab.engine.limits import Limits
from simlab.engine.workers import BlockFunction, BlockLike, Config, Task
from simlab.studies.worlds import address
from simlab.types import Array, Place

MOST_CELLS = 6
BLOCK_SECONDS = 0.004
"""What a block costs beside its studies: to be handed over, packed, committed, read again."""
BASE = 4.0
"""Costs are told apart by powers of that: the number of studies depends on the root, and loses an eighth at most."""


@dataclass(frozen=True, slots=True)
class _Seconds:
    arrays: Mapping[str, Array]
    failures: list[tuple[int, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Stopwatch:
    """Take the CPU seconds of a study in a new world, and of the same study once more."""

    block: BlockFunction

    def __call__(self, config: Config, places: Sequence[Place]) -> BlockLike:
        """Carry out studies for their time only."""
        # The first imports and compiles.
        self.block(config, places)
        again = [place._replace(world=place.world + 1) for place in places]
        took = []
        for _ in range(2):
            began = time.process_time()
            self.block(config, again)
            took.append(time.process_time() - began)
        return _Seconds({"took": np.array(took)})


def world_in_studies(block: BlockFunction, entries: Sequence[Entry], backend: Backend, limits: Limits) -> float:
    """Return how many studies of a cell a world, shared by the cells that meet it, costs as much as.

    A power of 4, so that it hardly depends on the machine. 1 where no study could be carried out.
    """
    sharing = Counter(address(entry.config) for entry in entries)
    chosen = entries[:: max(1, -(-len(entries) // MOST_CELLS))]
    tasks = [Task(Address(entry.cell, 0, 0, 1), entry.config) for entry in chosen]
    shared = {entry.cell: sharing[address(entry.config)] for entry in chosen}
    ratios: list[float] = []

    def note(finished: Sequence[Finished]) -> None:
        for one in finished:
            if not one.failed:
                whole, study = unpack(one.payload)["took"]
                world = max(whole - study, 0.0) / shared[one.address.cell]
                ratios.append((world + BLOCK_SECONDS) / max(study, 1e-4))

    dispatch(Stopwatch(block), tasks, backend, limits, note)
    return coarse(median(ratios)) if ratios else 1.0


def coarse(ratio: float) -> float:
    """Round to a power of 4 between 1/16 and 256.

    >>> coarse(3.0), coarse(1e9)
    (4.0, 256.0)
    """
    return BASE ** min(max(round(math.log(ratio, BASE)), -2), 4)
