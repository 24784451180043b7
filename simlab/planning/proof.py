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

import numpy as np

from simlab.planning.stages import in_time
from simlab.planning.terms import Bench, Design, Looked, Wanted
from simlab.types import Estimate, Floats

FIRST, MOST = 32, 1500
"""Worlds of a first look, which tells how many more it takes, and the most that a round takes."""
PRECISION, COARSEST = 0.4, 0.02
"""Standard errors of targets are at most such a share of the margin (.008 of .02), and at most so large."""
TINY = 1e-12
"""What rounding leaves of a zero."""
HOPELESS = 2.5
"""Standard errors by which a first look may fall short of what would show the targets before a round is given up."""


def level(k: float, wanted: Wanted) -> float:
    """Return the level of the test in round k, counted from 1; m designs share round k as rounds k + log2(m)."""
    return float((1 - wanted.confidence) / 2**k)


def shown(fresh: Bench, design: Design, wanted: Wanted, k: float) -> bool | None:
    """Tell whether the fresh worlds of round k show all targets of a design; None: patience ends before they tell."""
    error = min(PRECISION * wanted.margin, COARSEST)
    worlds = FIRST
    if in_time(fresh, worlds) < worlds:
        return None
    looked = fresh.look({design: worlds})[design]
    # A design that stands on a page has met more of them.
    worlds = max([worlds, *(len(one.influence) for one in looked.values())])
    while True:
        if not _are_there(looked, wanted) or _is_hopeless(looked, wanted, k, error):
            return False
        if (needed := _needed(looked, wanted, worlds, error)) <= worlds or worlds >= MOST:
            return all(
                lower_bound(looked[one.measure], k, wanted) >= one.least - wanted.margin for one in wanted.targets
            )
        if in_time(fresh, needed - worlds) < needed - worlds:
            return None
        worlds = needed
        looked = fresh.look({design: worlds})[design]


def _are_there(looked: Looked, wanted: Wanted) -> bool:
    return all(one.measure in looked and looked[one.measure].n for one in wanted.targets)


def _needed(looked: Mapping[str, Estimate], wanted: Wanted, worlds: int, error: float) -> int:
    """Return how many worlds make all errors small enough; few worlds that all agree have one, too."""
    worst = max(_error(looked[one.measure]) for one in wanted.targets)
    return worlds if not worst > error else min(math.ceil(1.05 * worlds * (worst / error) ** 2), MOST)


def _error(found: Estimate) -> float:
    """Return the standard error of a share, at least that of half a world more in which nothing is found."""
    return max(found.mcse, math.sqrt(0.5) * found.value / max(len(found.influence), 1))


def _is_hopeless(looked: Looked, wanted: Wanted, k: float, error: float) -> bool:
    """Tell whether a target is so far away that a whole round would hardly show it."""
    ask = _quantile(k, wanted) * error - wanted.margin
    found = ((one.least + ask, looked[one.measure]) for one in wanted.targets)
    return any(value.value + HOPELESS * max(value.mcse, error) < least for least, value in found)


def lower_bound(found: Estimate, k: float, wanted: Wanted) -> float:
    """Return the lower confidence bound of a share in round k: the bound of Gaffke (2005) on the mean of its worlds.

    Worlds, and one more of the least value that there can be, are weighted at random (uniform Dirichlet weights); the
    bound is a quantile of the weighted mean. For worlds of 0 and 1 it is that of Clopper and Pearson (1934), so that
    worlds that all agree do not make a share certain; for many worlds it is that of a normal law.
    """
    from scipy.optimize import brentq

    worlds = _told(found)
    least = min(0.0, *worlds)
    values = np.array([least, *worlds])
    mean = float(values.mean())
    if mean - least < TINY or not math.isfinite(mean):
        return least if math.isfinite(mean) else -math.inf
    wanted_level = level(k, wanted)
    return float(brentq(lambda bound: _below(values - bound) - wanted_level, least + TINY * (mean - least), mean))


def _told(found: Estimate) -> list[float]:
    """Return what each world says of a measure, without those that can say nothing: these have no influence."""
    n, influence = len(found.influence), np.asarray(found.influence, float)
    telling = n if found.telling is None else min(found.telling, n)
    said = influence[np.argsort(-np.abs(influence), kind="stable")[:telling]]
    return [float(value) for value in found.value + said * telling / n]


def _below(gaps: Floats) -> float:
    """Return the probability that a sum of gaps, each times an exponential variable, is below 0.

    By the saddlepoint approximation of Lugannani and Rice (1980); .5 at the mean, where it has no value.
    """
    from scipy.optimize import brentq
    from scipy.special import ndtr

    if gaps.sum() <= TINY * np.abs(gaps).sum():
        return 0.5
    # All moments exist between the two poles; the saddle of a lower tail lies left of 0.
    pole = 1 / float(gaps.min())
    saddle = brentq(lambda at: float(np.sum(gaps / (1 - at * gaps))), pole * (1 - TINY), 0.0)
    steps = 1 - saddle * gaps
    signed = -math.sqrt(2 * float(np.sum(np.log(steps))))
    scaled = saddle * math.sqrt(float(np.sum((gaps / steps) ** 2)))
    density = math.exp(-(signed**2) / 2) / math.sqrt(2 * math.pi)
    return float(ndtr(signed) + density * (1 / signed - 1 / scaled))


def _quantile(k: float, wanted: Wanted) -> float:
    from scipy.special import ndtri

    return float(-ndtri(level(k, wanted)))
