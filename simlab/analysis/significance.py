"""Test all pairs of systems at once by permutations of whole documents.

`permutation` and `normal` take `total[document, system]`, each system's summed score per document (NaN: missing), and
return `p_value[pair]`, two-sided, pairs i < j in the order of `np.triu_indices`. A document counts for a pair if all
its segments are rated for both systems. The tests hold for these raters, not for others (see the package `raters`).
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from simlab.analysis import signs
from simlab.analysis.multiplicity import FlipFamily
from simlab.formulas import pairs
from simlab.types import Floats, Ints, ScoredRatings
from simlab.types.bounds import Count

CHUNK = 2**16
"""Differences held at a time: with many systems those of all pairs leave a processor's cache."""
RELATIVE_TOLERANCE = 1e-9
"""Sums of multiples of .1 differ in their last bits; statistics this close count as equal."""


def permutation(
    rng: np.random.Generator,
    total: Floats,
    *,
    permutations: Count,
    p_value: Literal["add_one", "published"],
) -> Floats:
    """Permute the two systems' labels, all segments of a document swapped together.

    Swapping a document flips the sign of its difference, so one matrix product of random signs with the
    systems' totals serves all pairs. All 2^documents sign patterns are enumerated when they are at most
    `permutations`; else `p = (1 + b) / (1 + B)` (`add_one`) or `b / B` (`published`).
    Source: Riley et al. 2024, section 5; Phipson and Smyth 2010 for adding one.
    """
    n_documents, n_systems = total.shape
    first, second = pairs(n_systems)
    exact = is_enumerable(n_documents, permutations)
    pattern = patterns(rng, n_documents, permutations)
    # Rounding goes with the scores that are summed up, not with their difference, which may be small.
    tolerance = RELATIVE_TOLERANCE * np.nansum(np.abs(total), axis=0).max(initial=0.0)
    if np.isnan(total).any():
        gap = np.nan_to_num(total[:, first] - total[:, second])
        bar = np.abs(gap.sum(0)) - tolerance
        extreme = _count_as_extreme(np.ascontiguousarray((pattern @ gap).T), bar)
    else:
        observed = total.sum(0)
        bar = np.abs(observed[first] - observed[second]) - tolerance
        # One row per pair keeps the two gathers and the comparison contiguous.
        columns = np.ascontiguousarray((pattern @ total).T)
        step = max(CHUNK // len(pattern), 1)
        parts = (slice(start, start + step) for start in range(0, len(bar), step))
        extreme = np.concatenate([_count_as_extreme(columns[first[at]] - columns[second[at]], bar[at]) for at in parts])
    if exact or p_value == "published":
        return np.asarray(extreme / len(pattern))
    return np.asarray((1 + extreme) / (1 + permutations))


def _count_as_extreme(difference: Floats, bar: Floats) -> Ints:
    """Count in how many patterns the difference `[pair, pattern]` of each pair reaches its bar."""
    np.abs(difference, out=difference)
    # Packed, eight comparisons are counted at once.
    reached = np.packbits(difference >= bar[:, None], axis=1)
    return np.asarray(np.bitwise_count(reached).sum(axis=1, dtype=np.int64))


def normal(rng: np.random.Generator, total: Floats) -> Floats:
    """Approximate the permutation distribution by the normal law with its mean 0 and its exact variance.

    The variance of a randomly signed sum of differences is the sum of their squares; `rng` is not used.
    """
    from scipy.special import erfc

    first, second = pairs(total.shape[1])
    difference = np.nan_to_num(total[:, first] - total[:, second])
    spread = np.sqrt(np.sum(difference**2, axis=0))
    z = np.divide(np.abs(difference.sum(0)), spread, out=np.zeros_like(spread), where=spread > 0)
    return np.asarray(erfc(z / np.sqrt(2.0)))


def compare_by_permutation(
    rng: np.random.Generator, rated: ScoredRatings, *, permutations: int, p_value: Literal["add_one", "published"]
) -> FlipFamily:
    """Return the statistic of each pair as it is, and under each pattern of swaps: `|sum d| / sqrt(sum d^2)`.

    Given the same generator these are the patterns of `permutation`. The denominator, the same for all patterns, makes
    pairs comparable.
    """
    total = rated.total
    first, second = pairs(total.shape[1])
    gap = np.nan_to_num(total[:, first] - total[:, second])
    gap[np.abs(gap) <= RELATIVE_TOLERANCE * np.nansum(np.abs(total), axis=0).max(initial=0.0)] = 0.0
    length = np.sqrt(np.einsum("dp,dp->p", gap, gap))
    each = np.divide(gap, length, out=np.zeros_like(gap), where=length > 0)
    null = np.abs(patterns(rng, len(each), permutations) @ each)
    every = is_enumerable(len(each), permutations)
    return FlipFamily(np.abs(each.sum(0)), null, every, RELATIVE_TOLERANCE, add_one=p_value == "add_one")


def is_enumerable(n_documents: int, permutations: int) -> bool:
    """True if all patterns of signs of documents are enumerated, being at most `permutations`."""
    return n_documents < 63 and 2**n_documents <= permutations


def patterns(rng: np.random.Generator, n_documents: int, permutations: int) -> Floats:
    """Return the patterns of signs of a test, `[pattern, document]`: all of them, or `permutations` that are drawn."""
    if is_enumerable(n_documents, permutations):
        return signs.list_sign_patterns(n_documents)
    return signs.draw_sign_patterns(rng, permutations, n_documents)
