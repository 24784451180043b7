"""Say what metrics beside votes are used for: for nothing that is claimed, and how often they agree with humans."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from simlab.concluding.preferences.held import pair_of
from simlab.messages import legible
from simlab.tables.preferences import Preferences
from simlab.tables.winners import Comparisons
from simlab.types import Array, Ints


def agreement(table: Preferences) -> Iterator[str]:
    """Go through the metrics that were read."""
    for name, of in table.metrics.items():
        same, both = _counted(table, of)
        yield (
            f"{legible(name, 40)} is not used for claims, which are of humans alone; it names their winner "
            f"in {same:,} of {both:,} comparisons that neither calls a tie"
        )


def _counted(table: Preferences, of: Comparisons) -> tuple[int, int]:
    """Count comparisons that a metric and humans both decide, and those that they decide alike."""
    n, size = table.n_systems, max(len(table.item_names), 1)
    said = dict(zip(*_decided(of.first, of.second, of.item, of.outcome, n, size), strict=True))
    output, way = _decided(table.first, table.second, table.item, table.outcome, n, size)
    pairs = [(said[key], one) for key, one in zip(output, way, strict=True) if key in said]
    return sum(first == second for first, second in pairs), len(pairs)


def _decided(
    first: Ints, second: Ints, item: Ints, outcome: Array, n_systems: int, n_items: int
) -> tuple[list[int], list[int]]:
    """Return outputs by number, and who is better, where the item is known and the answer no tie."""
    kept = (item >= 0) & (outcome != 1)
    way = np.where(first > second, outcome - 1, 1 - outcome)
    output = pair_of(first, second, n_systems) * n_items + item
    return output[kept].tolist(), way[kept].tolist()
