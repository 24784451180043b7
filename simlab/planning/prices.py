"""Say at which price an advice changes: costs are proportional to it, and what designs find does not depend on it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simlab.planning.crossings import Scale
from simlab.planning.figures import ENDED, reaches
from simlab.planning.terms import Assumption, Design, Flip, Found, Ground, Looked, Wanted
from simlab.rng import stream
from simlab.types import Floats

PRICE = "budget.price_per_rating"
OTHERS = ("budget.price_per_hour", "budget.price_per_rater")
RESAMPLED = 400
TAIL = 0.05


class _Factor(NamedTuple):
    """Hold by how much the price may be multiplied for a design to stay within the money, and by worlds drawn again."""

    at: float
    again: Floats


def is_all(assumption: Assumption, ground: Ground) -> bool:
    """Tell whether an assumption is the price of a rating, and money buys nothing else."""
    said = {key: value for key, _, value in (word.partition("=") for word in ground.words)}
    return assumption.key == PRICE and all(said.get(key, "0") in ("0", "0.0") for key in OTHERS)


def flip(assumption: Assumption, found: Found, wanted: Wanted) -> Flip | None:
    """Return the nearest price at which the advice changes, without simulating anything; None where none is.

    All designs become dearer alike, so that the order of their costs stays: the advice goes where the money no longer
    pays it, and where there is none one comes where the money pays the first design that reaches the targets.
    """
    money = wanted.limits.money
    if money is None:
        return None
    if found.advice is not None:
        factor = _factor(found.tried[found.advice], money, wanted)
        return None if factor is None else _flip(assumption, factor, None, "the money ends it")
    able = {
        one: held
        for one, look in found.tried.items()
        if reaches(look, wanted) and (held := _factor(look, money, wanted))
    }
    if not able:
        return None
    then = max(able, key=lambda one: able[one].at)
    return _flip(assumption, able[then], then, "the money pays for it")


def _factor(look: Looked, money: float, wanted: Wanted) -> _Factor | None:
    """Return how much dearer answers may become: the mean cost is paid, and the cost in nine campaigns of ten."""
    if "money" not in look or not look["money"].value > 0:
        return None
    cost = look["money"].value + np.asarray(look["money"].influence)
    n = len(cost)
    drawn = cost[stream(wanted.seed, "plan", "price").integers(n, size=(RESAMPLED, n))]
    most = np.maximum(drawn.mean(axis=1), np.quantile(drawn, ENDED, axis=1))
    return _Factor(money / max(float(cost.mean()), float(np.quantile(cost, ENDED))), money / most)


def _flip(assumption: Assumption, factor: _Factor, then: Design | None, why: str) -> Flip | None:
    at = assumption.value * factor.at
    if not assumption.least <= at <= assumption.most:
        return None
    low, high = (float(np.clip(one, assumption.least, assumption.most)) for one in _span(assumption, factor))
    distance = abs(Scale(assumption).at(at))
    return Flip(assumption, at, low, high, distance, then, why)


def _span(assumption: Assumption, factor: _Factor) -> tuple[float, float]:
    low, high = np.quantile(factor.again, [TAIL, 1 - TAIL])
    return assumption.value * float(low), assumption.value * float(high)
