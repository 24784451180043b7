"""Votes on pairs of systems, and which of them may be taken as independent of each other.

Votes of one voter on a pair share the voter's taste, votes on the same outputs share their quality. Raters (or items)
that are drawn from more like them count as one contribution each; those taken as given do not vary. `choose_way` picks
the independent unit, `clusters` numbers the clusters that it makes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from simlab.types import Bools, Floats, Ints

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Way: TypeAlias = Literal["vote", "rater", "item", "both"]
"""The independent unit: each vote, a rater's votes on a pair, all votes on an item, or raters and items crossed."""

FEWEST = 6
"""Clusters of a pair below which no flips of them can reach .05: the least p-value is 2^(1 - n)."""


@dataclass(frozen=True, slots=True)
class Votes:
    """Votes, flat, in the order in which they came.

    `pair[k]` of the pairs i < j of `n_systems`, in the usual order; `value[k]` is +1 where the first is better, 0 for a
    tie, -1 where the second is. `rater[k]` and `item[k]` are numbered from 0, -1 where none is named. `place[k]` is +1
    where the first of the pair stood first, -1 where the second did, 0 where that is not known or both were tried;
    None: it is known of no vote. `documents`: items are whole documents, never taken as given where raters are not
    drawn.
    """

    pair: Ints
    value: Ints
    rater: Ints
    item: Ints
    n_systems: int
    place: Ints | None = None
    documents: bool = False

    @property
    def n_pairs(self) -> int:
        """Count the pairs, never compared ones included."""
        return self.n_systems * (self.n_systems - 1) // 2

    def counts(self) -> Ints:
        """Count wins of the first, ties and wins of the second: `[pair, 3]`."""
        flat = np.bincount(self.pair * 3 + 1 - self.value, minlength=3 * self.n_pairs)
        return np.asarray(flat.reshape(-1, 3), np.int64)

    def select_votes(self, kept: Bools) -> Votes:
        """Keep some of the votes; nothing is numbered anew."""
        names = ("pair", "value", "rater", "item", "place")
        columns = {name: column[kept] for name in names if (column := getattr(self, name)) is not None}
        return replace(self, **columns)


def own_number(of: Ints) -> Ints:
    """Give each unnamed rater or item (-1) a number of its own, after all those that are named.

    >>> own_number(np.array([0, -1, 1, -1])).tolist()
    [0, 2, 1, 3]
    """
    nameless = of < 0
    numbered = of.copy()
    numbered[nameless] = of.max(initial=-1) + 1 + np.arange(int(nameless.sum()))
    return numbered


def choose_way(votes: Votes) -> Way:
    """Choose the independent unit of votes on a pair: raters as drawn where pairs have enough of them, items likewise.

    Raters that a typical pair has too few of are taken as given. Where all that a rater says comes from items of their
    own, raters alone are enough, and the other way round. Who met which pair and item decides, never how they voted:
    an analysis that winners choose has no level.
    """
    raters, items = _clusters(votes, votes.rater), _clusters(votes, votes.item)
    both = _count_distinct(votes.pair, own_number(votes.rater), own_number(votes.item))
    by_rater = raters < len(votes.pair) and _has_enough(votes, votes.rater)
    # Votes of nobody in particular are as many raters as votes; outputs of one document are no independent ones.
    many = counts_as_drawn(votes, votes.rater) and not (votes.documents and raters == len(votes.pair))
    by_item = items < len(votes.pair) and (_has_enough(votes, votes.item) or not many)
    if by_rater and by_item:
        return "rater" if both == items else "item" if both == raters else "both"
    return "rater" if by_rater else "item" if by_item else "vote"


def way_of_all(votes: Votes) -> Way:
    """Choose the independent unit for all pairs together, which share raters and items, as `choose_way` for each."""
    return choose_way(replace(votes, pair=np.zeros_like(votes.pair), n_systems=2))


def counts_as_drawn(votes: Votes, of: Ints) -> bool:
    """True if raters (or items) count as drawn from more like them: none comes twice for a pair, or enough do."""
    return _clusters(votes, of) == len(votes.pair) or _has_enough(votes, of)


def clusters(votes: Votes, way: Way) -> list[Ints]:
    """Return the number of the cluster of each vote, `[vote]`, once for each way in which votes cluster."""
    rater, item = own_number(votes.rater), own_number(votes.item)
    each = {"vote": [np.arange(len(votes.pair))], "rater": [rater], "item": [item], "both": [rater, item]}[way]
    return [np.unique(label, return_inverse=True)[1] for label in each]


def cells(votes: Votes) -> Ints:
    """Number pairs of rater and item, `[vote]`: votes of a rater on an item have the same number."""
    rater, item = own_number(votes.rater), own_number(votes.item)
    return np.asarray(np.unique(rater * (int(item.max(initial=0)) + 1) + item, return_inverse=True)[1])


def sum_votes(cluster: Ints, pair: Ints, values: Floats | Ints, n_pairs: int) -> csr_matrix[Any]:
    """Add up values of votes: `[cluster, pair]`, sparse, since most clusters know few pairs."""
    from scipy.sparse import csr_matrix

    shape = (int(cluster.max(initial=-1)) + 1, n_pairs)
    return csr_matrix((np.asarray(values, float), (cluster, pair)), shape=shape)


def count_per_pair(votes: Votes, of: Ints) -> Ints:
    """Count the distinct raters (or items) of each pair: `[pair]`."""
    met = sum_votes(own_number(of), votes.pair, np.ones(len(votes.pair)), votes.n_pairs)
    return np.bincount(met.indices, minlength=votes.n_pairs)


def _clusters(votes: Votes, of: Ints) -> int:
    return _count_distinct(votes.pair, own_number(of))


def _count_distinct(*columns: Ints) -> int:
    key = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        # Numbered anew after each column, keys stay small enough for 64 bits.
        _, key = np.unique(key * (int(column.max(initial=0)) + 1) + column, return_inverse=True)
    return int(key.max(initial=-1)) + 1


def _has_enough(votes: Votes, of: Ints) -> bool:
    """True if a typical pair, of those with votes enough, has enough raters (items) to take them as drawn."""
    if len(np.unique(own_number(of))) < FEWEST:
        return False
    there = np.bincount(votes.pair, minlength=votes.n_pairs) >= FEWEST
    # Pairs with too few votes for that many clusters do not say what the design is like.
    return not there.any() or bool(np.median(count_per_pair(votes, of)[there]) >= FEWEST)
