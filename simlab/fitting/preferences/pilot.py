"""Turn a table of comparisons into a pilot: the comparisons, pairs ordered, that the law of preferences is fitted to.

Call `build_pilot` on a table; it returns a `PreferencePilot`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from simlab.messages import pluralise
from simlab.types import Bools, Floats, InputError, Ints

FEWEST = 2
"""Systems, and comparisons, that a fit needs."""

MOST = 4_000
"""Comparisons that a fit takes on: a chain's step costs in proportion, and 100,000 would take many minutes."""


class ComparisonTable(Protocol):
    """Table of preferences as a pilot needs it; see `simlab.tables.preferences.Preferences`."""

    @property
    def first(self) -> Ints:
        """Return the system of each comparison that outcome 0 prefers."""

    @property
    def second(self) -> Ints:
        """Return the other system of each comparison."""

    @property
    def item(self) -> Ints:
        """Return the input of each comparison, -1 where none is named."""

    @property
    def rater(self) -> Ints:
        """Return who compared, -1 where nobody is named."""

    @property
    def outcome(self) -> Ints:
        """Return 0, 1, 2: the first is better, a tie, the second is better."""

    @property
    def system_names(self) -> tuple[str, ...]:
        """Return the names of the systems."""

    @property
    def rater_names(self) -> tuple[str, ...]:
        """Return the names of the raters."""


@dataclass(frozen=True, slots=True)
class PreferencePilot:
    """Comparisons, one entry each, pairs turned so that `first < second`; `outcome` 0, 1, 2 = `>`, `=`, `<`.

    `item[k]` is numbered without gaps; items that the table does not name are one to a comparison. `rater[k]` is -1
    where nobody is named.
    """

    first: Ints
    second: Ints
    item: Ints
    rater: Ints
    outcome: Ints
    system_names: tuple[str, ...]
    rater_names: tuple[str, ...]
    n_items: int
    item_known: bool

    @property
    def n_systems(self) -> int:
        """Count the systems."""
        return len(self.system_names)

    @property
    def n_raters(self) -> int:
        """Count the raters that are named."""
        return len(self.rater_names)

    @property
    def pair(self) -> Ints:
        """Number the pairs of comparisons in the order (0, 1), (0, 2), ..., (1, 2), ..."""
        n = self.n_systems
        return np.asarray(self.first * (2 * n - self.first - 1) // 2 + self.second - self.first - 1)

    def select_comparisons(self, kept: Bools) -> PreferencePilot:
        """Keep some of the comparisons; systems and raters keep their numbers, items are numbered anew."""
        names, item = np.unique(self.item[kept], return_inverse=True)
        chosen = {name: getattr(self, name)[kept] for name in ("first", "second", "rater", "outcome")}
        return replace(self, **chosen, item=item, n_items=len(names))


@dataclass(frozen=True, slots=True)
class Cells:
    """Counts of outcomes of the same two outputs by the same rater: `counts[cell, outcome]`."""

    first: Ints
    second: Ints
    item: Ints
    rater: Ints
    counts: Floats


def build_pilot(table: ComparisonTable) -> PreferencePilot:
    """Return the comparisons of a table with each pair in the order of systems, unnamed items numbered one by one.

    Raises InputError where there is nothing to fit: fewer than two systems or comparisons, or groups of systems that
    were never compared with each other, so that no scale holds them both.
    """
    turned = table.first > table.second
    named = table.item >= 0
    own = np.where(named, table.item, table.item.max(initial=-1) + 1 + np.arange(len(named)))
    item = np.unique(own, return_inverse=True)[1]
    pilot = PreferencePilot(
        first=np.minimum(table.first, table.second),
        second=np.maximum(table.first, table.second),
        item=item,
        rater=np.asarray(table.rater),
        outcome=np.where(turned, 2 - table.outcome, table.outcome).astype(np.int64),
        system_names=tuple(table.system_names),
        rater_names=tuple(table.rater_names),
        n_items=int(item.max(initial=-1)) + 1,
        item_known=bool(named.any()),
    )
    _refuse(pilot)
    return pilot


def thin_items(rng: np.random.Generator, pilot: PreferencePilot) -> tuple[PreferencePilot, list[str]]:
    """Keep whole items, drawn at random, of at most `MOST` comparisons; return also sentences on those left out.

    Where no item was compared twice comparisons are only counted, however many there are, and all are kept.
    """
    size = len(pilot.item)
    if size <= MOST or size == pilot.n_items:
        return pilot, []
    order = rng.permutation(pilot.n_items)
    sizes = np.bincount(pilot.item, minlength=pilot.n_items)
    chosen = order[: max(int(np.searchsorted(np.cumsum(sizes[order]), MOST, "right")), 2)]
    part = pilot.select_comparisons(np.isin(pilot.item, chosen))
    return part, [
        f"{size:,} comparisons: the law is fitted to the {len(part.item):,} of {len(chosen):,} items drawn at random; "
        "intervals are as wide as these allow."
    ]


def _refuse(pilot: PreferencePilot) -> None:
    if pilot.n_systems < FEWEST or len(pilot.outcome) < FEWEST:
        raise InputError(
            f"{pluralise(len(pilot.outcome), 'comparison')} of {pluralise(pilot.n_systems, 'system')}: "
            "a fit needs at least two of each"
        )
    parts = find_groups(pilot)
    if len(parts) > 1:
        names = "; ".join(_list_names([pilot.system_names[k] for k in part]) for part in parts[:2])
        raise InputError(
            f"the systems fall into {len(parts)} groups that were never compared with each other ({names}): no scale "
            "holds them all; fit each group alone, or compare a system of one with a system of the other"
        )


def _list_names(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")


def find_groups(pilot: PreferencePilot) -> list[list[int]]:
    """List the systems that hang together by comparisons, the largest group first."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    n = pilot.n_systems
    graph = coo_matrix((np.ones(len(pilot.first)), (pilot.first, pilot.second)), shape=(n, n))
    count, label = connected_components(graph, directed=False)
    found = [np.flatnonzero(label == k).tolist() for k in range(count)]
    return sorted(found, key=len, reverse=True)


def build_cells(pilot: PreferencePilot, items: bool) -> Cells:
    """Count outcomes by pair, rater and (where `items` tell anything) item."""
    item = pilot.item if items else np.zeros_like(pilot.item)
    keys = np.stack([pilot.first, pilot.second, item, pilot.rater])
    (first, second, of, rater), cell = np.unique(keys, axis=1, return_inverse=True)
    counts = np.zeros((len(first), 3))
    np.add.at(counts, (cell.ravel(), pilot.outcome), 1)
    return Cells(first, second, of, rater, counts)
