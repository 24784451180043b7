"""What is measured inside a process of its own, by functions that every commit since the baseline has.

`python tasks.py NAME ARGUMENT...` prints one line of JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

LEVEL = 0.05
MU = np.array([[0.65, 0.40, 0.25], [0.10, 0.20, 0.10], [0.25, 0.40, 0.65]])
"""P(metric says | human says) of a metric of middling worth."""
RATER = np.array([[0.85, 0.15, 0.05], [0.10, 0.70, 0.10], [0.05, 0.15, 0.85]])
"""P(human says | it is so) of raters who err."""
REGIMES = {"few ratings": (10, 60), "middling": (60, 200), "many": (200, 500)}
"""Least and most human ratings of a pair."""


def states(n: int, least: int, most: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw what the protocol knows of pairs: human ratings, all with a metric rating, and 1,000 of the metric alone."""
    rng = np.random.default_rng(seed)
    confusion, metric = np.zeros((n, 3, 3), int), np.zeros((n, 3), int)
    for k in range(n):
        p = rng.dirichlet([8, 4, 8])
        confusion[k] = rng.multinomial(rng.integers(least, most + 1), (MU * p).ravel()).reshape(3, 3)
        metric[k] = rng.multinomial(1000, MU @ p)
    return confusion.sum(1), confusion, metric


def first_posterior() -> dict[str, Any]:
    """Summarise pairs in a process that has done nothing else."""
    from simlab.analysis.preference import win_posterior

    return {"theta": win_posterior(*states(64, 10, 200, seed=1)).theta.tolist()}


def decisions(regime: str, batch: str) -> dict[str, Any]:
    """Decide pairs of a regime in a warm process; give CPU seconds of a decision."""
    from simlab.analysis.preference import win_decisions

    counts = states(int(batch), *REGIMES[regime], seed=2)
    return {"seconds": _warm(lambda: win_decisions(*counts, level=LEVEL)) / int(batch)}


def decisions_of_raters(batch: str) -> dict[str, Any]:
    """Decide pairs that raters judged who err; give CPU seconds of a decision."""
    from simlab.analysis.preference import win_decisions

    counts = states(int(batch), 60, 200, seed=3)
    return {"seconds": _warm(lambda: win_decisions(*counts, level=LEVEL, rater=RATER)) / int(batch)}


def sampled(regime: str, pairs: str) -> dict[str, Any]:
    """Decide pairs with the published sampler and settings, compiled; give CPU seconds, and how far theta lies off."""
    from simlab.analysis.preference import win_decisions
    from simlab.analysis.preferences.nuts import sample_posterior

    counts = states(int(pairs), *REGIMES[regime], seed=2)
    theta, took = [], []
    for k in range(int(pairs)):
        one = [array[k : k + 1].astype(float) for array in counts]
        sample_posterior(*one)
        began = time.process_time()
        theta.append(float(sample_posterior(*one, seed=1).theta[0]))
        took.append(time.process_time() - began)
    found = win_decisions(*counts, level=LEVEL)[0]
    return {"seconds": float(np.mean(took)), "off": float(np.max(np.abs(found - theta)))}


def _warm(call: Callable[[], object], least: float = 1.0) -> float:
    """Return CPU seconds of a call, once what it compiles is compiled: the least of several, for a second at least."""
    call()
    found: list[float] = []
    while sum(found) < least:
        began = time.process_time()
        call()
        found.append(time.process_time() - began)
    return min(found)


TASKS: dict[str, Callable[..., dict[str, Any]]] = {
    task.__name__: task for task in (first_posterior, decisions, decisions_of_raters, sampled)
}

if __name__ == "__main__":
    print(json.dumps(TASKS[sys.argv[1]](*sys.argv[2:])))
