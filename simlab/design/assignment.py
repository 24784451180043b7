"""Choose the open task that whoever is free takes next: options of `design.assignment`.

A rule takes the `Queue` of open tasks and returns the index of one of them. Without a rule (`as_dealt`) tasks are dealt
to raters beforehand.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from annotated_types import Ge, Gt, Le

from simlab.types import Floats, Queue


def one_stream(rng: np.random.Generator, queue: Queue) -> int:
    """Take the next task of one stream that all raters share, first come, first served. `rng` is not used."""
    return 0


def dynamic(
    rng: np.random.Generator,
    queue: Queue,
    *,
    decay: Annotated[float, Gt(0), Le(1)],
    warm_up: Annotated[int, Ge(1), Le(10**6)],
) -> int:
    """Draw the system whose output is rated next by its current rank: the better it stands, the more often.

    The n-th of the ranking by mean scores so far has the weight `decay ** (n - 1)`. As long as a system has fewer than
    `warm_up` outputs rated, those that have the fewest come first. Of the system that is drawn the next document is
    taken, all systems in the same order, so that they share as many as can be.
    """
    there = np.unique(queue.system)
    few = there[queue.count[there] < warm_up]
    if len(few):
        few = few[queue.count[few] == queue.count[few].min()]
        system = int(few[int(rng.integers(len(few)))])
    else:
        weight = decay ** _ranks(queue)[there]
        system = int(there[np.searchsorted(np.cumsum(weight), rng.random() * weight.sum(), side="right")])
    return int(np.flatnonzero(queue.system == system)[0])


def _ranks(queue: Queue) -> Floats:
    """Rank systems, 0 for the best; those that nobody has rated come first."""
    score = queue.mean if queue.lower_is_better else -queue.mean
    order = np.argsort(np.where(np.isnan(score), -np.inf, score), kind="stable")
    rank = np.empty(len(order))
    rank[order] = np.arange(len(order))
    return rank
