"""Turn verdicts about pairs of systems (+1: the first is better, 0, -1) into a partial order of the systems.

Call `partial_order`; `is_on_cycle` marks systems whose verdicts contradict each other, for many campaigns at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simlab.formulas import systems_of_pairs
from simlab.types import Array, Bools, Ints


@dataclass(frozen=True, slots=True)
class PartialOrder:
    """An order as a directed acyclic graph.

    `ranks[k]` are the systems that only systems of earlier ranks beat; systems on a cycle (each beats the next, all
    the way round) share a rank and are listed together in `cycles`. `beats` are the pairs (better, worse) that remain
    after those are left out that follow from others.
    """

    ranks: tuple[tuple[str, ...], ...]
    beats: tuple[tuple[str, str], ...]
    cycles: tuple[tuple[str, ...], ...]


def partial_order(verdict: Sequence[int] | Array, names: Sequence[str]) -> PartialOrder:
    """Order systems by verdicts (+1, 0, -1 per pair, pairs ordered i < j) that need not be transitive.

    Source: Deriu et al. 2023, algorithm 2 (ComputePartialOrder); cycles are condensed and reported.

    >>> partial_order([1, 1, 0], ["a", "b", "c"]).ranks
    (('a',), ('b', 'c'))
    """
    beats = matrix(np.asarray(verdict)[None])[0]
    label = _components(beats)
    n = int(label.max()) + 1
    condensed = np.zeros((n, n), bool)
    for better, worse in np.argwhere(beats):
        condensed[label[better], label[worse]] |= label[better] != label[worse]
    reachable = closure(condensed)
    # An edge follows from others where another group that is beaten leads to its end, too.
    direct = condensed & ~((condensed.astype(int) @ reachable.astype(int)) > 0)
    groups = [tuple(name for name, own in zip(names, label, strict=True) if own == k) for k in range(n)]
    depth = _depths(condensed)
    ranks = tuple(
        tuple(name for k in np.flatnonzero(depth == d) for name in groups[k]) for d in range(int(depth.max()) + 1)
    )
    edges = tuple((a, b) for i, j in np.argwhere(direct) for a in groups[i] for b in groups[j])
    return PartialOrder(ranks, edges, tuple(group for group in groups if len(group) > 1))


def matrix(verdict: Array) -> Bools:
    """Mark who beats whom: `[campaign, system, system]` from `verdict[campaign, pair]`."""
    n_systems = systems_of_pairs(verdict.shape[1])
    first, second = np.triu_indices(n_systems, 1)
    beats = np.zeros((len(verdict), n_systems, n_systems), bool)
    beats[:, first, second] = verdict > 0
    beats[:, second, first] = verdict < 0
    return beats


def is_on_cycle(verdict: Array) -> Bools:
    """Mark the systems that lie on a cycle: `[campaign, system]` from `verdict[campaign, pair]`."""
    return np.asarray(np.diagonal(closure(matrix(verdict)), axis1=-2, axis2=-1))


def closure(beats: Bools) -> Bools:
    """Mark which systems are beaten directly or through others, `[..., system, system]` as `beats`."""
    reached = beats.astype(np.float32)
    # Each squaring doubles the length of the paths that are followed.
    for _ in range(max(1, int(np.ceil(np.log2(max(2, beats.shape[-1])))))):
        reached = np.minimum(1, reached + reached @ reached)
    return np.asarray(reached > 0)


def _components(beats: Bools) -> Ints:
    """Number the systems, those on a common cycle alike, in the order of the systems."""
    reached = closure(beats)
    together = (reached & reached.T) | np.eye(len(beats), dtype=bool)
    return np.unique(together.argmax(1), return_inverse=True)[1].ravel()


def _depths(beats: Bools) -> Ints:
    """Return the length of the longest chain of groups, each beaten by the one before, that ends at each group."""
    depth = np.zeros(len(beats), np.int64)
    for _ in range(len(beats)):
        depth = np.max(np.where(beats, depth[:, None] + 1, 0), axis=0, initial=0)
    return depth
