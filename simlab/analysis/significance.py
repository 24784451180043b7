"""Test all pairs of systems at once, documents being the unit that is permuted.

Both tests take `total[document, system]`, each system's summed score per document (NaN: missing), and return
`p_value[pair]`, two-sided, pairs i < j in the order of `np.triu_indices`. A document counts for a pair if both systems
came.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from simlab.types import Floats
from simlab.types.bounds import Count

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
    first, second = np.triu_indices(n_systems, 1)
    exact = n_documents < 63 and 2**n_documents <= permutations
    signs = _all_signs(n_documents) if exact else _random_signs(rng, permutations, n_documents)
    tolerance = RELATIVE_TOLERANCE * np.nansum(np.abs(total), axis=0).max(initial=0.0)
    if np.isnan(total).any():
        gap = np.nan_to_num(total[:, first] - total[:, second])
        observed, difference = np.abs(gap.sum(0)), np.ascontiguousarray((signs @ gap).T)
    else:
        observed = np.abs(total.sum(0)[first] - total.sum(0)[second])
        # One row per pair keeps the two gathers and the comparison contiguous.
        columns = np.ascontiguousarray((signs @ total).T)
        difference = columns[first]
        difference -= columns[second]
    np.abs(difference, out=difference)
    extreme = np.count_nonzero(difference >= (observed - tolerance)[:, None], axis=1)
    if exact or p_value == "published":
        return np.asarray(extreme / len(signs))
    return np.asarray((1 + extreme) / (1 + permutations))


def normal(rng: np.random.Generator, total: Floats) -> Floats:
    """Approximate the permutation distribution by the normal law with its mean 0 and its exact variance.

    The variance of a randomly signed sum of differences is the sum of their squares; `rng` is not used.
    """
    from scipy.special import erfc

    first, second = np.triu_indices(total.shape[1], 1)
    difference = np.nan_to_num(total[:, first] - total[:, second])
    spread = np.sqrt(np.sum(difference**2, axis=0))
    z = np.divide(np.abs(difference.sum(0)), spread, out=np.zeros_like(spread), where=spread > 0)
    return np.asarray(erfc(z / np.sqrt(2.0)))


def _all_signs(n_documents: int) -> Floats:
    patterns = np.arange(2**n_documents)[:, None] >> np.arange(n_documents)
    return np.asarray(1.0 - 2.0 * (patterns & 1), float)


def _random_signs(rng: np.random.Generator, n: int, n_documents: int) -> Floats:
    bits = np.unpackbits(np.frombuffer(rng.bytes((n * n_documents + 7) // 8), np.uint8), count=n * n_documents)
    return np.asarray(1.0 - 2.0 * bits.reshape(n, n_documents), float)
