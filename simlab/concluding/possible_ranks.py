"""Bound the ranks of systems by verdicts on pairs, and list groups of systems that no claim separates.

`bound_ranks` takes the verdicts and returns the best and worst rank of each system; `list_groups` returns the groups.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simlab.answers.standings import WithinMargin
from simlab.types import Array, Ints


def bound_ranks(verdict: Array, n_systems: int) -> tuple[Ints, Ints]:
    """Return the best and the worst rank that each system may have, 1 being the best.

    `verdict[pair]` is +1 where the first of a pair was claimed to be better, -1 where the second was, else 0; pairs
    i < j in the order of `np.triu_indices`. A system stands behind all that are claimed better and before all that are
    claimed worse; if no claim is wrong, neither is a set of ranks. Source: Mogstad et al. 2024, section 3.

    >>> low, high = bound_ranks(np.array([1, 1, 0]), 3)
    >>> low.tolist(), high.tolist()
    ([1, 2, 2], [1, 3, 3])
    """
    above = lay_out_claims(verdict, n_systems)
    return 1 + np.count_nonzero(above, axis=0), n_systems - np.count_nonzero(above, axis=1)


def lay_out_claims(verdict: Array, n_systems: int) -> Array:
    """Return verdicts (as in `bound_ranks`) as a matrix: `[i, j]` is True if i was claimed to be better than j."""
    first, second = np.triu_indices(n_systems, 1)
    better = np.zeros((n_systems, n_systems), bool)
    better[first, second] = np.asarray(verdict) > 0
    better[second, first] = np.asarray(verdict) < 0
    return better


def list_groups(verdict: Array, order: Sequence[int]) -> list[list[int]]:
    """List the longest runs of an order of systems in which no two were claimed to differ, of two or more.

    `verdict` is as in `bound_ranks`, `order` are numbers of systems, best first.
    Runs may overlap: that nothing separates A from B, nor B from C, does not say that A and C are alike.

    >>> list_groups(np.array([0, 1, 0]), [0, 1, 2])
    [[0, 1], [1, 2]]
    """
    better = lay_out_claims(verdict, len(order))
    apart = (better | better.T)[np.ix_(order, order)]
    runs: list[list[int]] = []
    end = 0
    for start in range(len(order)):
        reached = next((j for j in range(start + 1, len(order)) if apart[start:j, j].any()), len(order))
        # A run that ends where an earlier one did lies within it, and is not among the longest.
        if reached > end and reached - start > 1:
            runs.append([order[k] for k in range(start, reached)])
        end = max(end, reached)
    return runs


def compare_with_margin(low: float, high: float, margin: float, *, lower: bool = False) -> WithinMargin:
    """Compare the interval `low` to `high` of a difference, first less second, with a margin around 0.

    `better`: the first is better by more than the margin; `lower`: lower scores are better.

    >>> compare_with_margin(-1, 1, 2), compare_with_margin(2.5, 4, 2, lower=True), compare_with_margin(-1, 3, 2)
    ('equivalent', 'worse', 'not_inferior')
    """
    if lower:
        low, high = -high, -low
    if low > margin:
        return "better"
    if high < -margin:
        return "worse"
    if low > -margin:
        return "equivalent" if high < margin else "not_inferior"
    return "not_superior" if high < margin else "open"
