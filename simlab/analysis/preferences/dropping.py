"""Count how few votes would have to go for another system to be on top.

What a vote does to the distance of two strengths is its influence, minus the contrast times the inverse information
times its score. Votes go in the order of their influence, and the fit is made anew to see whether the top has changed.
Sources: Broderick, Giordano and Meager 2020; Huang, Shen, Wei and Broderick 2025 (dropping a handful of preferences).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simlab.analysis.preferences.strengths import Strengths, distances, fit, probabilities
from simlab.types import Array, Floats, Ints

SHARE = 0.2
"""Votes that are dropped at most; a top that stands this much is called robust."""

_RIVALS, _REFITS = 5, 40

_TIED = 1e-6
"""Logits below which two systems are on top together: fits end within a thousandth of that."""


class Dropped(NamedTuple):
    """Hold how many votes have to go (infinite: more than `limit`) for `rival` to be above `top`; indices."""

    top: int
    rival: int
    n: float
    limit: int


def drop(counts: Array, fitted: Strengths) -> Dropped | None:
    """Find the fewest votes without which another system of the largest part is on top; None where none is alone there.

    An upper bound: fewer that are chosen otherwise may do, too.
    """
    largest = np.bincount(fitted.part).argmax()
    inside = np.flatnonzero(fitted.part == largest)
    limit = int(SHARE * counts.sum())
    if len(inside) < 2 or not limit:
        return None
    order = inside[np.argsort(-fitted.value[inside], kind="stable")]
    top, rivals = int(order[0]), order[1 : 1 + _RIVALS]
    if fitted.value[top] - fitted.value[rivals[0]] < _TIED:
        return None
    best = Dropped(top, int(rivals[0]), np.inf, limit)
    for rival in rivals.tolist():
        n = _fewest(counts, fitted, top, rival, int(min(best.n - 1, limit)))
        if n is not None:
            best = Dropped(top, rival, n, limit)
    return best


def _fewest(counts: Array, fitted: Strengths, top: int, rival: int, most: int) -> float | None:
    """Return how many votes have to go for a rival, if at most so many; halving between what does not do and does."""
    if most < 1 or not _passed(_without(counts, fitted, top, rival, most), fitted.n_systems, top, rival):
        return None
    fails, does = 0, most
    guess = _expected(counts, fitted, top, rival, most)
    for _ in range(_REFITS):
        if does - fails <= 1:
            break
        middle = guess if fails < guess < does else (fails + does) // 2
        guess = -1
        if _passed(_without(counts, fitted, top, rival, middle), fitted.n_systems, top, rival):
            does = middle
        else:
            fails = middle
    return float(does)


def _passed(counts: Array, n_systems: int, top: int, rival: int) -> bool:
    if not (counts[:, 0] + counts[:, 2]).any():
        return False  # ties alone have no strengths, and put nobody on top
    value = fit(counts, n_systems).value
    return bool(value[rival] >= value[top])


def _expected(counts: Array, fitted: Strengths, top: int, rival: int, most: int) -> int:
    """Return the number of votes that influence alone says are enough."""
    influence, order = _ordered(fitted, top, rival)
    gone = _taken(counts, order, most)
    gain = np.cumsum(np.repeat(influence.ravel()[order], gone))
    enough = np.flatnonzero(gain >= fitted.value[top] - fitted.value[rival])
    return int(enough[0]) + 1 if len(enough) else most


def _without(counts: Array, fitted: Strengths, top: int, rival: int, n: int) -> Array:
    """Leave out the n votes that hold the top up most."""
    _, order = _ordered(fitted, top, rival)
    left = counts.ravel().astype(np.int64)
    left[order] -= _taken(counts, order, n)
    return left.reshape(counts.shape)


def _taken(counts: Array, order: Ints, n: int) -> Ints:
    there = counts.ravel()[order].astype(np.int64)
    before = np.cumsum(there) - there
    return np.asarray(np.clip(n - before, 0, there))


def _ordered(fitted: Strengths, top: int, rival: int) -> tuple[Floats, Ints]:
    """Return how much nearer the rival comes without a vote `[pair, outcome]`, and votes by that, the largest first."""
    first, second = np.triu_indices(fitted.n_systems, 1)
    contrast = fitted.bread[top] - fitted.bread[rival]
    chance = probabilities(distances(fitted.value), fitted.log_ties)
    net, tie = chance[:, 0] - chance[:, 2], chance[:, 1]
    of_d = np.array([0.5, 0.0, -0.5]) - net[:, None] / 2
    of_ties = np.array([0.0, 1.0, 0.0]) - tie[:, None]
    influence = of_d * (contrast[first] - contrast[second])[:, None] + of_ties * contrast[-1]
    return influence, np.argsort(-influence.ravel(), kind="stable")
