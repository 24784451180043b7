"""Show in fresh worlds that a design reaches its targets: what a plan calls "Buy" is shown here, and nowhere else.

The design that a search names is the best of many noisy figures, and looks better than it is. So a look at worlds that
no choice has seen decides. It is one test a round, of whether each target's measure exceeds the target less the margin,
at a level of (1 - confidence) / 2^k in round k: over all rounds a design that falls short by more than the margin is
advised with a probability of at most 1 - confidence. Each round has worlds of its own. It may end early for a design
that is far from its targets, which advises nothing; it ends in favour of one only with all of its worlds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from simlab.planning.stages import in_time
from simlab.planning.terms import Bench, Design, Looked, Wanted
from simlab.types import Estimate

FIRST, MOST = 32, 1500
"""Worlds of a first look, which tells how many more it takes, and the most that a round takes."""
PRECISION, COARSEST = 0.4, 0.02
"""Standard errors of targets are at most such a share of the margin (.008 of .02), and at most so large."""
HOPELESS = 2.5
"""Standard errors by which a first look may fall short of what would show the targets before a round is given up."""


def level(k: int, wanted: Wanted) -> float:
    """Return the level of the test in round k, counted from 1."""
    return float((1 - wanted.confidence) / 2**k)


def shown(fresh: Bench, design: Design, wanted: Wanted, k: int) -> bool | None:
    """Tell whether the fresh worlds of round k show all targets of a design; None: patience ends before they tell."""
    error = min(PRECISION * wanted.margin, COARSEST)
    worlds = FIRST
    if in_time(fresh, worlds) < worlds:
        return None
    looked = fresh.look({design: worlds})[design]
    while True:
        if not _are_there(looked, wanted) or _is_hopeless(looked, wanted, k, error):
            return False
        if (needed := _needed(looked, wanted, worlds, error)) <= worlds or worlds >= MOST:
            return all(_lower(looked[one.measure], k, wanted) >= one.least - wanted.margin for one in wanted.targets)
        if in_time(fresh, needed - worlds) < needed - worlds:
            return None
        worlds = needed
        looked = fresh.look({design: worlds})[design]


def _are_there(looked: Looked, wanted: Wanted) -> bool:
    return all(one.measure in looked and looked[one.measure].n for one in wanted.targets)


def _needed(looked: Mapping[str, Estimate], wanted: Wanted, worlds: int, error: float) -> int:
    """Return how many worlds make all errors small enough."""
    worst = max(looked[one.measure].mcse for one in wanted.targets)
    return worlds if not worst > error else min(math.ceil(1.05 * worlds * (worst / error) ** 2), MOST)


def _is_hopeless(looked: Looked, wanted: Wanted, k: int, error: float) -> bool:
    """Tell whether a target is so far away that a whole round would hardly show it."""
    ask = _quantile(k, wanted) * error - wanted.margin
    found = ((one.least + ask, looked[one.measure]) for one in wanted.targets)
    return any(value.value + HOPELESS * max(value.mcse, error) < least for least, value in found)


def _lower(found: Estimate, k: int, wanted: Wanted) -> float:
    """Return the lower confidence bound of a share in round k.

    Half a world of 0 and half of 1 are added, so that worlds that all agree do not make a share certain.
    """
    n = len(found.influence)
    value = (n * found.value + 0.5) / (n + 1)
    error = max(found.mcse if n > 1 else math.inf, math.sqrt(value * (1 - value) / (n + 1)) if found.mcse == 0 else 0.0)
    return value - _quantile(k, wanted) * error


def _quantile(k: int, wanted: Wanted) -> float:
    from scipy.special import ndtri

    return float(-ndtri(level(k, wanted)))
