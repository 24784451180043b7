"""Closed forms and checks of numbers that several packages need: entropies of loads, pairs of systems, binary metrics.

scipy is imported where it is used: laying out a store needs a count, not special functions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from simlab.types import Array, Bools, Floats, InputError, Ints

ENUMERABLE = 2**18

SLACK = 1e-12
"""What rounding leaves: probabilities and differences this close count as equal."""


def normalized_entropy(load: Floats | Ints) -> float:
    """Give the normalised entropy of a load over all raters of the pool, idle ones included.

    `-sum p log p / log R`; 1 when all R raters carry the same, 0 when one carries everything (or R = 1).
    Source: Riley et al. 2024, section 6.1.2.

    >>> normalized_entropy(np.array([5, 5, 0, 0]))
    0.5
    """
    share = np.asarray(load, float)
    share = share[share > 0] / share.sum()
    # With one rater the entropy is 0, and a logarithm of 1 below it would make that NaN.
    return float(-np.sum(share * np.log(share)) / np.log(max(len(load), 2)))


def least_entropy(choices: Sequence[Ints], size: Floats | Ints, n_raters: int) -> float:
    """Bound from below the entropy of raters' loads that an assignment of `size[b]` ratings of each bucket b can reach.

    A bucket is a group of documents with the same candidates as raters.

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
    # All loads add up to the same, so that the largest sum of n log n has the least entropy.
    return normalized_entropy(loads[np.sum(loads * np.log(np.maximum(loads, 1e-300)), axis=1).argmax()])


def _majorising_load(choices: Sequence[Ints], size: Floats, n_raters: int) -> Floats:
    capacity = np.zeros(n_raters)
    for choice, ratings in zip(choices, size, strict=True):
        capacity[np.unique(choice)] += ratings
    total = size.sum() * choices[0].shape[1]
    return np.diff(np.minimum(np.cumsum(np.sort(capacity)[::-1]), total), prepend=0.0)


def systems_of_pairs(n_pairs: int) -> int:
    """Return the number of systems that have `n_pairs` pairs, i < j; one system has none.

    >>> [systems_of_pairs(n) for n in (0, 1, 3, 6)]
    [1, 2, 3, 4]
    """
    # Twice the pairs are n (n - 1), which lies from (n - 1)^2 to below n^2.
    return math.isqrt(2 * n_pairs) + 1


def read_stochastic(given: ArrayLike, name: str, *, single: bool = False) -> Floats:
    """Return matrices `(..., 3, 3)` whose columns sum to one, exactly so; `single`: one matrix only.

    Rows are the answers of a rater or metric, columns those of the oracle, in the order `>`, `=`, `<`. Raises
    InputError, naming the key or argument (`name`), for matrices that are not so.
    """
    try:
        matrix = np.asarray(given, float)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be 3 x 3: three rows of three probabilities") from error
    if matrix.shape[-2:] != (3, 3) or (single and matrix.ndim != 2):
        raise InputError(
            f"{name} has shape {matrix.shape}; it must be 3 x 3, three rows of three probabilities, "
            "outcomes in the order >, =, <"
        )
    wrong = ~(np.isfinite(matrix) & (matrix >= 0))
    if wrong.any():
        raise InputError(f"{name} holds {matrix[wrong][0]:g}, which is no probability; entries lie in [0, 1]")
    sums = matrix.sum(-2)
    off = np.abs(sums - 1)
    # Probabilities that were written down to six decimals are taken, and made to add up exactly.
    if off.max() > 1e-6:
        worst = np.unravel_index(off.argmax(), sums.shape)
        raise InputError(
            f"{name}: column {worst[-1] + 1} (what is said when the oracle says {'>=<'[worst[-1]]}) sums to "
            f"{sums[worst]:g}, not 1; give rows of what is said, columns of what the oracle says"
        )
    return np.asarray(matrix / sums[..., None, :])


def compute_normal_orthant(h: Floats | float, k: Floats | float, correlation: Floats | float) -> Floats:
    """Return P(X <= h, Y <= k) of standard normal X, Y with a correlation; all broadcast.

    Source: Owen 1956, by his function T.

    >>> float(compute_normal_orthant(0.0, 0.0, 0.5).round(12)) == round(1 / 3, 12)
    True
    """
    from scipy.special import ndtr, owens_t

    # Infinite and zero bounds are met by large and tiny ones, where T has the right limits.
    h, k = (np.clip(np.asarray(x, float), -40, 40) for x in (h, k))
    h, k = (np.where(x == 0, 1e-200, x) for x in (h, k))
    rho = np.clip(np.asarray(correlation, float), -1 + 1e-14, 1 - 1e-14)
    across = np.sqrt(1 - rho**2)
    apart = np.where(h * np.sign(k) > 0, 0.0, 0.5)
    below = (ndtr(h) + ndtr(k)) / 2 - apart
    below = below - owens_t(h, (k - rho * h) / (h * across)) - owens_t(k, (h - rho * k) / (k * across))
    below = np.where(np.asarray(correlation) == 1, ndtr(np.minimum(h, k)), below)
    opposed = np.maximum(ndtr(h) - ndtr(-k), 0.0)
    return np.asarray(np.where(np.asarray(correlation) == -1, opposed, np.clip(below, 0.0, 1.0)))


def threshold_rates(
    correlation: Floats | float, alpha: Floats | float, threshold: Floats | float
) -> tuple[Floats, Floats]:
    """Return rho and eta of a score that says adequate above a threshold; all broadcast.

    rho and eta are the probabilities that adequate outputs are called adequate, and others inadequate.
    The score is standard normal, and so is the latent quality that it has a `correlation` with, of which the best
    `alpha` are adequate. Where there are no adequate (or inadequate) outputs the limit is returned.

    >>> [float(share.round(3)) for share in threshold_rates(0.5, 0.5, 0.0)]
    [0.667, 0.667]
    """
    from scipy.special import ndtr, ndtri

    alpha = np.clip(np.asarray(alpha, float), 1e-9, 1 - 1e-9)
    poor = ndtri(1 - alpha)
    eta = compute_normal_orthant(poor, threshold, correlation) / (1 - alpha)
    rho = 1 - (ndtr(threshold) - eta * (1 - alpha)) / alpha
    return np.clip(rho, 0, 1), np.clip(eta, 0, 1)


def best_threshold(correlation: Floats | float, alpha: Floats | float) -> Floats:
    """Return the threshold that makes rho + eta largest (least, for a negative correlation).

    There the score says of an output what is true of all: P(adequate | score) = alpha. A score of correlation 0 has no
    best threshold; 0 is returned.

    >>> float(best_threshold(0.5, 0.5))
    0.0
    """
    from scipy.special import ndtri

    rho, quality = np.asarray(correlation, float), ndtri(np.clip(np.asarray(alpha, float), 1e-9, 1 - 1e-9))
    gain = np.divide(np.sqrt(1 - rho**2) - 1, rho, out=np.zeros(np.broadcast(rho, quality).shape), where=rho != 0)
    # Adding 0 turns -0 into 0.
    return np.asarray(quality * gain + 0.0)


def passes(p_value: Array, level: float) -> Bools:
    """True where a p-value is at most the level, rounding aside.

    >>> passes(np.array([0.05, 0.051]), 0.05).tolist()
    [True, False]
    """
    return np.asarray(p_value <= level + SLACK)


def grade_preferences(outcome: Array, bins: int) -> Floats:
    """Return how far a metric prefers the first of two outputs: +1 (outcome 0) to -1 (outcome 2 * bins).

    `bins` is the number of sizes of a difference. A negative outcome is a missing answer, and counts 0.

    >>> grade_preferences(np.array([0, 1, 2, 3, 4, -1]), 2).tolist()
    [1.0, 0.5, 0.0, -0.5, -1.0, 0.0]
    """
    return np.where(outcome < 0, 0.0, 1 - np.asarray(outcome) / bins)


def sign(difference: Array) -> Array:
    """Return the sign of differences (int8), 0 where only rounding makes one.

    >>> sign(np.array([0.1 + 0.2 - 0.3, -1.0])).tolist()
    [0, -1]
    """
    return np.sign(np.where(np.abs(difference) < SLACK, 0.0, difference)).astype(np.int8)


def differences(value: Array) -> Array:
    """Subtract systems pair by pair, i < j: `[..., system]` becomes `[..., pair]`.

    >>> differences(np.array([3.0, 1.0, 2.0])).tolist()
    [2.0, 1.0, -1.0]
    """
    first, second = pairs(value.shape[-1])
    return np.asarray(value[..., first] - value[..., second])


@lru_cache(maxsize=16)
def pairs(n_systems: int) -> tuple[Ints, Ints]:
    """Return the first and the second system of each pair, in the order of `np.triu_indices`; not to be written to.

    >>> pairs(3)
    (array([0, 0, 1]), array([1, 2, 2]))
    """
    first, second = np.triu_indices(n_systems, 1)
    first.setflags(write=False)
    second.setflags(write=False)
    return first, second
