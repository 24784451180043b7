"""Turn tests of all pairs into intervals of all differences at once."""

from __future__ import annotations

import numpy as np

from simlab.analysis.multiplicity import Family
from simlab.types import Array, Floats


def largest(family: Family, level: float) -> float:
    """Return what the largest statistic of a family exceeds with a probability of at most `level`; inf: nothing does.

    A pair whose statistic exceeds it is found by the first step of `max_t`, and the other way round.
    """
    n = len(family.null)
    exact = family.every or not family.add_one
    may = int(np.floor(level * n + 1e-9)) if exact else int(np.floor(level * (n + 1) + 1e-9)) - 1
    if may < 0:
        return np.inf
    top = -np.sort(-family.null.max(axis=1))
    return float(top[may]) if may < n else 0.0


def of_root(critical: float, n: Floats) -> Floats:
    """Turn a bound of `|sum u| / sqrt(sum u^2)`, of n contributions u, into one of Student's t.

    At a bound of the root of n or more nothing is known of the difference.

    >>> of_root(2.0, np.array([4.0, 16.0])).round(3).tolist()
    [inf, 2.236]
    """
    left = n - critical**2
    known = left > 1e-9 * n
    return np.where(known, critical * np.sqrt(np.maximum(n - 1, 0) / np.where(known, left, 1.0)), np.inf)


def of_share(critical: float) -> float:
    """Turn a bound of `|t| / sqrt(1 + t^2)` into one of t.

    >>> of_share(0.6)
    0.75
    """
    return np.inf if critical >= 1 - 1e-9 else float(critical / np.sqrt(1 - critical**2))


def consistent(value: Floats, low: Floats, high: Floats, claimed: Array) -> tuple[Floats, Floats]:
    """Let intervals hold their value, and hold 0 where and only where nothing is claimed.

    What is claimed in later steps is so at a lower bound than the first step's: its interval ends at 0.
    """
    low, high = np.fmin(low, value), np.fmax(high, value)
    low = np.where(claimed & (value > 0), np.maximum(low, 0.0), np.where(claimed, low, np.minimum(low, 0.0)))
    high = np.where(claimed & (value < 0), np.minimum(high, 0.0), np.where(claimed, high, np.maximum(high, 0.0)))
    return low, high
