"""Closed forms that several rooms need."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simlab.types import Floats, Ints

ENUMERABLE = 2**18


def normalized_entropy(load: Floats | Ints) -> float:
    """Give the normalised entropy of a load over all raters of the pool, idle ones included.

    `-sum p log p / log R`; 1 when all R raters carry the same, 0 when one carries everything (or R = 1).
    Source: Riley et al. 2024, section 6.1.2.

    >>> normalized_entropy(np.array([5, 5, 0, 0]))
    0.5
    """
    share = np.asarray(load, float)
    share = share[share > 0] / share.sum()
    return float(-np.sum(share * np.log(share)) / np.log(max(len(load), 2)))


def least_entropy(choices: Sequence[Ints], size: Floats | Ints, n_raters: int) -> float:
    """Bound from below the load entropy that a deal can reach when bucket b holds `size[b]` ratings to give.

    `choices[b][choice, k]` lists the sets of k raters who can be asked together. Entropy is concave in the loads,
    so its least value lies where each bucket goes to one of its choices. These assignments are enumerated up to
    2^18; beyond, loads filled up rater by rater, each to all that its buckets hold, majorise every reachable load.

    >>> round(least_entropy([np.array([[0], [1], [2]]), np.array([[3], [4], [5]])], np.ones(2), 6), 3)
    0.387
    """
    size = np.asarray(size, float)
    if np.prod([float(len(choice)) for choice in choices]) > ENUMERABLE:
        return normalized_entropy(_majorising_load(choices, np.asarray(size, float), n_raters))
    loads = np.zeros((1, n_raters))
    for choice, ratings in zip(choices, size, strict=True):
        added = np.zeros((len(choice), n_raters))
        np.put_along_axis(added, choice, ratings, axis=1)
        loads = (loads[:, None, :] + added).reshape(-1, n_raters)
    return normalized_entropy(loads[np.sum(loads * np.log(np.maximum(loads, 1e-300)), axis=1).argmax()])


def _majorising_load(choices: Sequence[Ints], size: Floats, n_raters: int) -> Floats:
    capacity = np.zeros(n_raters)
    for choice, ratings in zip(choices, size, strict=True):
        capacity[np.unique(choice)] += ratings
    total = size.sum() * choices[0].shape[1]
    return np.diff(np.minimum(np.cumsum(np.sort(capacity)[::-1]), total), prepend=0.0)
