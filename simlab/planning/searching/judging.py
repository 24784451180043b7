"""Judge which design to choose from resamples of the worlds, how likely that is right, and what speaks against it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from simlab.planning.searching.families import Family
from simlab.planning.searching.paths import Chance
from simlab.planning.terms import Design, Wanted
from simlab.types import Bools, Floats, Ints

SLACK = 1.05
"""A design that costs up to so many times the cheapest is as good."""
ROUNDING = 1e-9
TIE, SAME_COST = 0.05, 1.01
"""Designs whose probabilities of being right differ by so little, and whose costs do, are alike."""
EVEN = 0.5
PLAIN = {"design.grouping": "pseudo_side_by_side", "analysis.normalization": "none"}
"""What is simplest to carry out and to explain: ties go to it."""

At = tuple[int, int]
"""A family and the place of a design in it."""


class Judged(NamedTuple):
    """Hold a choice (None: no design is chosen), the probability that it is right, and what speaks against it.

    `cheapest` is the probability that no design which reaches the targets is cheaper by more than 5 %.

    `doubts` say of designs how often they are what makes the choice wrong: the choice itself, where it does not reach
    its targets, and of each family the design that most often reaches them for too much less.
    """

    choice: At | None
    probability: float
    doubts: dict[At, float]
    cheapest: float = math.nan


class _All(NamedTuple):
    """Hold all designs within the limits: where each stands, its cost and by how much it exceeds its targets.

    `cost`, `excess` and `beyond`, by how much it exceeds them more than the margin, are `[resample, design]`.
    """

    family: Ints
    k: Ints
    plain: Ints
    cost: Floats
    excess: Floats
    beyond: Floats

    def at(self, d: int) -> At:
        return int(self.family[d]), int(self.k[d])


def judge(held: Sequence[Family], wanted: Wanted, chance: Chance) -> Judged:
    """Choose the design that is right most often, the cheapest of those that are as often."""
    every = _all(held, wanted, chance)
    if not len(every.k):
        return Judged(None, 1.0, {})
    good = every.beyond >= 0
    least = np.where(good, every.cost, np.inf).min(1)
    right = (every.excess >= -wanted.margin) & (every.cost <= SLACK * least[:, None] * (1 + ROUNDING))
    share, none = right.mean(0), float(np.isinf(least).mean())
    best = _firmer(
        _plainer(int(np.lexsort((every.cost.mean(0), -share))[0]), every, share, wanted), every, share, wanted
    )
    # Within the margin both may be right: then a design helps more than none.
    if none > share[best] and share[best] < wanted.confidence:
        return Judged(None, none, _undercutting(every, good))
    doubts = _undercutting(every, good & (every.cost * SLACK * (1 + ROUNDING) < every.cost[:, [best]]))
    doubts = {at: often for at, often in doubts.items() if at != every.at(best)}
    doubts[every.at(best)] = float((every.excess[:, best] < -wanted.margin).mean())
    cheapest = (every.cost[:, best] <= SLACK * least * (1 + ROUNDING)).mean()
    return Judged(every.at(best), float(share[best]), doubts, float(cheapest))


def _plainer(best: int, every: _All, share: Floats, wanted: Wanted) -> int:
    """Among designs that are right about as often and cost the same, take what is simplest to carry out and explain."""
    cost = every.cost.mean(0)
    alike = (share >= share[best] - TIE) & (cost <= SAME_COST * cost[best])
    alike &= _as_sure(best, share, wanted)
    at = np.flatnonzero(alike)
    return int(at[np.lexsort((cost[at], -share[at], every.plain[at]))[0]])


def _firmer(best: int, every: _All, share: Floats, wanted: Wanted) -> int:
    """Take the first size, from a design's own on, that more likely than not reaches its targets in full.

    A design that reaches them within the margin only is right, but fresh worlds would hardly show it.
    """
    same = (every.family == every.family[best]) & (every.k >= every.k[best])
    full = same & ((every.excess >= 0).mean(0) >= EVEN) & _as_sure(best, share, wanted)
    at = np.flatnonzero(full)
    return int(at[np.argmin(every.k[at])]) if len(at) else best


def _as_sure(best: int, share: Floats, wanted: Wanted) -> Bools:
    """Mark designs that may take a choice's place: where that is as sure as was wanted, they are to be as well."""
    return np.asarray(share >= (wanted.confidence if share[best] >= wanted.confidence else 0.0))


def _all(held: Sequence[Family], wanted: Wanted, chance: Chance) -> _All:
    masks = [one.open(wanted) for one in held]
    used = [(one, mask) for one, mask in zip(held, masks, strict=True) if mask.any()]
    n = len(chance.worlds)
    where = [(f, int(k)) for f, mask in enumerate(masks) for k in np.flatnonzero(mask)]
    cost = [one.costs(wanted, chance)[:, mask] for one, mask in used]
    excess = [one.reaches(wanted.targets, chance)[:, mask] for one, mask in used]
    beyond = [one.reaches(wanted.targets, chance, wanted.margin)[:, mask] for one, mask in used]
    numbers = np.array(where, int).reshape(-1, 2)
    nothing = np.zeros((n, 0))
    plain = np.array([oddities(held[f].designs[k]) for f, k in where], int)
    stacked = (np.hstack([nothing, *one]) for one in (cost, excess, beyond))
    return _All(numbers[:, 0], numbers[:, 1], plain, *stacked)


def oddities(design: Design) -> int:
    """Count in how much a design differs from plain scores by raters who see all outputs of a document."""
    return sum(PLAIN.get(key, value) != value for key, value in design)


def simpler(design: Design) -> list[Design]:
    """List the designs of the same size that are simpler to carry out and explain, the simplest first."""
    odd = [key for key, value in design if PLAIN.get(key, value) != value]
    sets = [odd, *([[key] for key in odd] if len(odd) > 1 else [])] if odd else []
    return [tuple((key, PLAIN[key] if key in keys else value) for key, value in design) for keys in sets]


def _undercutting(every: _All, against: Bools) -> dict[At, float]:
    """Say of each family's design that most often speaks against a choice how often it does."""
    often = against.mean(0)
    worst = {int(every.family[d]): int(d) for d in np.argsort(often, kind="stable")}
    return {every.at(d): float(often[d]) for d in worst.values() if often[d] > 0}
