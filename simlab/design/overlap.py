"""Ask a second rater about some documents, to see how raters agree."""

from __future__ import annotations

import numpy as np

from simlab.design.balance import Table
from simlab.types import Asked, Bools, Ints


def overlap(rng: np.random.Generator, table: Table, documents: Bools, asked: Asked, share: float) -> Asked:
    """Deal a share of the documents, rounded, once more, each unit to another rater of its bucket.

    Units are dealt in random order, each to whoever has the fewest second ratings so far. Where nobody else has rated
    a unit (a gap) it keeps its one rater. For designs with one rating of an output.
    """
    chosen = np.flatnonzero(documents)
    chosen = rng.permutation(chosen)[: round(share * len(chosen))]
    second = np.full(len(table.groups.pile), -1, np.int64)
    first = np.full(len(table.groups.pile), -1, np.int64)
    first[table.groups.unit] = asked.slot[:, :, 0]
    loads = np.zeros(table.n_raters)
    for unit in rng.permutation(np.unique(table.groups.unit[:, chosen])).tolist():
        others = _others(table, unit, int(first[unit]))
        if len(others):
            raters = table.raters[table.bucket[unit], others, 0]
            taken = int(np.lexsort((rng.random(len(others)), loads[raters]))[0])
            second[unit] = table.slots[table.bucket[unit], others[taken], 0]
            loads[raters[taken]] += table.weight[unit]
    return Asked(np.concatenate([asked.slot, second[table.groups.unit][:, :, None]], axis=2))


def _others(table: Table, unit: int, slot: int) -> Ints:
    """List the choices of a unit that are not the slot which has it."""
    return np.flatnonzero(table.possible[unit] & (table.slots[table.bucket[unit], :, 0] != slot))
