"""Reject hypotheses about all pairs of a campaign together, so that a level holds for all of them (multiple testing).

`holm` takes p-values, the others log e-values, `[..., pair]`; `was_ever_rejected` and `was_ever_crossed` apply them
look by look. A row is a pair in a campaign; rows of a campaign stand together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

import numpy as np

from simlab.formulas import SLACK
from simlab.types import Bools, Floats, Ints

OfPValues: TypeAlias = Literal["none", "holm"]
OfEValues: TypeAlias = Literal["none", "holm", "closed", "e_bh"]

LARGEST = 600.0
"""Logarithm at which e-values are cut off, so that sums over pairs stay finite."""


def holm(p_value: Floats, level: float) -> Bools:
    """Mark which hypotheses `p_value[..., pair]` Holm's step-down rejects: any dependence. Source: Holm 1979.

    >>> holm(np.array([0.01, 0.04, 0.02]), 0.05).tolist()
    [True, True, True]
    >>> holm(np.array([0.01, 0.04, 0.03]), 0.05).tolist()
    [True, False, False]
    """
    n = p_value.shape[-1]
    order = np.argsort(p_value, axis=-1)
    ranked = np.take_along_axis(p_value, order, axis=-1)
    passed = np.logical_and.accumulate(ranked * np.arange(n, 0, -1) <= level + SLACK, axis=-1)
    return _restore_order(passed, order)


def holm_of_e_values(log_e: Floats, level: float) -> Bools:
    """Reject by Holm's step-down on 1 / E, whatever the filtration of each e-value.

    >>> holm_of_e_values(np.log([50.0, 39.0, 10.0]), 0.05).tolist()
    [False, False, False]
    >>> holm_of_e_values(np.log([70.0, 41.0, 10.0]), 0.05).tolist()
    [True, True, False]
    """
    return holm(np.exp(-np.clip(log_e, 0.0, LARGEST)), level)


def reject_closed(log_e: Floats, level: float) -> Bools:
    """Reject pair k if for every m the mean of E_k and the m smallest others is at least 1 / level: closed testing.

    Every set of hypotheses is tested by the mean of its e-values, which is an e-value however they depend on each
    other; processes must be e-processes in one filtration. The m smallest others need only be looked for among those
    smaller than E_k: adding a larger one to a mean that passes leaves one that passes. Source: Vovk and Wang 2021.

    >>> reject_closed(np.log([70.0, 41.0, 1.0]), 0.05).tolist()
    [True, True, False]
    >>> reject_closed(np.log([70.0, 38.0, 1.0]), 0.05).tolist()
    [True, False, False]
    """
    order = np.argsort(log_e, axis=-1)
    e = np.exp(np.minimum(np.take_along_axis(log_e, order, axis=-1), LARGEST))
    n = e.shape[-1]
    smallest = np.concatenate([np.zeros((*e.shape[:-1], 1)), np.cumsum(e, axis=-1)[..., :-1]], axis=-1)
    # How much the m smallest lack of what m others must bring: the worst m up to each rank decides.
    lacking = np.maximum.accumulate((np.arange(n) + 1) / level - smallest, axis=-1)
    return _restore_order(e >= lacking * (1 - SLACK), order)


def e_bh(log_e: Floats, level: float) -> Bools:
    """Reject the k pairs with the largest e-values, k the largest with K / (k level) at most the k-th: any dependence.

    The false discovery rate is at most the level. Source: Wang and Ramdas 2022.

    >>> e_bh(np.log([31.0, 30.0, 1.0]), 0.05).tolist()
    [True, True, False]
    """
    n = log_e.shape[-1]
    order = np.argsort(-log_e, axis=-1)
    e = np.exp(np.minimum(np.take_along_axis(log_e, order, axis=-1), LARGEST))
    enough = e * np.arange(1, n + 1) >= n / level * (1 - SLACK)
    # The largest k that passes counts, also where smaller ones fail: hence from the end.
    passed = np.logical_or.accumulate(enough[..., ::-1], axis=-1)[..., ::-1]
    return _restore_order(passed, order)


_RULES: dict[str, Callable[[Floats, float], Bools]] = {"holm": holm_of_e_values, "closed": reject_closed, "e_bh": e_bh}


def was_ever_rejected(log_e: Floats, campaigns: int, level: float, multiplicity: OfEValues) -> Bools:
    """Mark which rows of `log_e[row, look]` have been rejected at a look or before, pairs of a campaign together.

    The e-value of a pair that is rejected stays where it was, since nobody reads on; a set of means that exceeds
    1 / level once has done so at a stopping time, so that what is rejected stays rejected. `holm` takes the largest
    e-value so far, which is a p-value turned upside down (Ville) and no e-value.
    """
    highest = np.maximum.accumulate(log_e, axis=1)
    if multiplicity == "none":
        return np.asarray(highest >= -np.log(level))
    followed = (highest if multiplicity == "holm" else log_e).reshape(campaigns, -1, log_e.shape[1])
    rejected = np.zeros(followed.shape, bool)
    now = followed[:, :, 0]
    for look in range(1, followed.shape[2]):
        now = np.where(rejected[:, :, look - 1], now, followed[:, :, look])
        rejected[:, :, look] = rejected[:, :, look - 1] | _RULES[multiplicity](now, level)
    return rejected.reshape(log_e.shape)


def was_ever_crossed(crossed: Callable[[float], Bools], campaigns: int, level: float) -> Bools:
    """Test the pairs of a campaign by Holm's step-down, `crossed(level)[row, look]` being a test of one at a level.

    With r of K pairs rejected, the others are tested at level / (K - r), looks before this one included; a pair that
    crosses at a level must cross at all larger ones, too, which boundaries need not do by themselves. Source: Maurer
    and Bretz 2013 (group sequential designs).
    """
    at_level = [crossed(level)]
    n_pairs = len(at_level[0]) // campaigns
    at_level += [crossed(level / n) for n in range(2, n_pairs + 1)]
    nested = np.logical_and.accumulate(np.stack(at_level)).reshape(n_pairs, campaigns, n_pairs, -1)
    rejected = np.zeros(nested.shape[1:], bool)
    for look in range(1, nested.shape[3]):
        rejected[:, :, look] = rejected[:, :, look - 1]
        # Each rejection raises the level of the others at the same look, so that one may bring about the next.
        for _ in range(n_pairs):
            left = n_pairs - rejected[:, :, look].sum(1)
            rejected[:, :, look] |= nested[np.maximum(left, 1) - 1, np.arange(campaigns), :, look]
    return rejected.reshape(at_level[0].shape)


def _restore_order(ranked: Bools, order: Ints) -> Bools:
    """Return `ranked[..., rank]` in the order before sorting; `order` are the pairs by rank."""
    unranked = np.empty_like(ranked)
    np.put_along_axis(unranked, order, ranked, axis=-1)
    return unranked
