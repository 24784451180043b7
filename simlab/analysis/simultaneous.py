"""Compute confidence intervals of all pairs' differences that hold at once, in agreement with the pairs' tests.

`bar` takes contributions of raters or documents to the differences and returns the half width of the intervals in
standard errors; `reconcile_intervals` makes their ends agree with what the tests claim.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from simlab.analysis import signs
from simlab.analysis.raters.uncertainty import ONE, Part
from simlab.types import Array, Bools, Floats


def bar(rng: np.random.Generator, parts: Sequence[Part], keep: Bools, level: float, flips: int) -> float:
    """Return the standard errors by which some difference of the pairs `keep` is off with probability `level`.

    `parts` are contributions `[unit, pair]` of raters, documents, or both; `keep[pair]` marks the pairs that count;
    `flips` patterns of signs are drawn.

    Signs of centred contributions are flipped, unit by unit, and the largest |t| of all pairs is taken under each
    pattern, its variance estimated anew. Contributions must be centred: those to large differences would all go the
    same way under a pattern, and pairs would seem more alike than errors are. t is that of as many units as loads
    amount to. Infinite where units are too few.
    """
    total: Floats = np.zeros((flips, int(keep.sum())))
    variance = np.zeros_like(total)
    for part in parts:
        each, n = part.contribution[:, keep], np.maximum(part.n[keep], ONE)
        flipped = signs.draw_sign_patterns(rng, flips, len(each)) @ each
        left = np.maximum(np.einsum("up,up->p", each, each) - flipped**2 / n, 0.0)
        total += flipped
        variance += left * n / (n - 1)
    size = np.sqrt(total**2 + variance)
    share = np.divide(np.abs(total), size, out=np.zeros_like(size), where=size > 0).max(axis=1, initial=0.0)
    reached = float(np.sort(share)[min(math.ceil((1 - level) * (flips + 1)), flips) - 1])
    # The share is t / sqrt(1 + t^2), which is finite where no variance is left, and is turned back into t here.
    return math.inf if reached >= 1 - 1e-9 else reached / math.sqrt(1 - reached**2)


def reconcile_intervals(value: Floats, low: Floats, high: Floats, claimed: Array) -> tuple[Floats, Floats]:
    """Widen intervals to hold their value, and make them hold 0 where, and only where, nothing is `claimed[pair]`.

    All are `[pair]`: differences, their bounds, and True (or not 0) for a claim; returned are the new bounds. A claim
    of a later step has a lower bar than the first step's: its interval ends at 0.
    """
    low, high = np.fmin(low, value), np.fmax(high, value)
    low = np.where(claimed & (value > 0), np.maximum(low, 0.0), np.where(claimed, low, np.minimum(low, 0.0)))
    high = np.where(claimed & (value < 0), np.minimum(high, 0.0), np.where(claimed, high, np.maximum(high, 0.0)))
    return low, high
