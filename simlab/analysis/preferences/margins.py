"""Weigh whether a difference exceeds a margin, or stays within it, however often one looks."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp, ndtri

from simlab.analysis.preferences.betting import MOST, STAKES
from simlab.types import Array, Bools, Floats

_VARIANCE = 0.8
"""Of a preference (+1, 0, -1) with some draws: it tunes stakes, and no promise hangs on it."""


def log_bets(counts: Array, planned: int, bound: float) -> Floats:
    """Return the log e-value of `counts[..., outcome]` against a p> - p< of at most `bound`.

    With y = +1, 0, -1 for `>`, `=`, `<`, `prod (1 + l (y - bound))` is a test supermartingale if p> - p< <= bound, for
    every stake l > 0, and so is a mixture of stakes. Stakes are fixed, so that counts are all that is needed.
    Source: Waudby-Smith and Ramdas 2024.

    >>> float(log_bets(np.array([0, 0, 0]), 100, 0.1).round(12)) + 0.0
    0.0
    """
    logs = []
    for stake, share in STAKES.items():
        bet = min(stake / np.sqrt(max(planned, 1) * _VARIANCE), MOST / (1 + bound))
        factor = np.log1p(bet * (np.array([1.0, 0.0, -1.0]) - bound))
        logs.append(np.log(share) + counts @ factor)
    return np.asarray(logsumexp(np.stack(logs), axis=0))


def beyond(counts: Array, planned: int, bound: float, level: float, *, plan: bool) -> Bools:
    """Say at which looks of `counts[row, look, outcome]` p> - p< has been shown to exceed a bound.

    If it does not, that happens, at whatever look, with probability at most `level`; with `plan`, at whatever look up
    to the planned number of ratings, by `crossed_late`, which finds more.
    """
    shown = crossed_late(counts, planned, bound, level) if plan else log_bets(counts, planned, bound) >= -np.log(level)
    return np.asarray(np.logical_or.accumulate(shown, axis=1))


def within(counts: Array, planned: int, margin: float, level: float, *, plan: bool) -> Bools:
    """Say at which looks the difference has been shown to be less than a margin either way: two one-sided tests.

    If it is the margin or more, that happens with probability at most `level`: both tests must reject, and one of their
    nulls holds. Source: Schuirmann 1987.
    """
    either = (counts, counts[..., ::-1])
    return np.asarray(np.logical_and(*(beyond(side, planned, -margin, level, plan=plan) for side in either)))


def crossed_late(counts: Array, planned: int, bound: float, level: float) -> Bools:
    """Hold the sum of y - bound against a level line that a random walk reaches by the planned end with `level`.

    By the reflection principle a walk with standard deviation s per step exceeds `z(1 - level / 2) s sqrt(planned)` at
    any of the planned steps with probability `level` (normal approximation): hard early, and no number of looks need be
    planned. s comes from the share of ratings that are no draws, which the null bounds from below.
    """
    wins, losses, n = counts[..., 0], counts[..., 2], counts.sum(-1)
    decided = np.maximum((wins + losses + 1) / (n + 1), abs(bound))
    line = ndtri(1 - level / 2) * np.sqrt((decided - bound**2) * max(planned, 1))
    return np.asarray(wins - losses - bound * n >= line)
