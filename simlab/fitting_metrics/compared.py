"""Group what humans and metrics say of two outputs: a comparison is two systems on one item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from simlab.tables.preferences import Preferences
from simlab.tables.winners import Comparisons
from simlab.types import Array, Floats, Ints

_COLUMNS = ("first", "second", "item", "outcome", "line")


@dataclass(frozen=True, slots=True)
class Compared:
    """Hold pairs of outputs that humans compared.

    `pair[comparison]` and `item[comparison]` are numbers, `unit[comparison]` that of the document where a table tells
    documents apart, else that of the item;  `human[comparison, outcome]` the shares of its ratings that
    say `>`, `=`, `<`; `metrics[name][comparison]` is 0, 1, 2 = `>`, `=`, `<`, -1 where the metric says nothing.
    `ratings[pair, outcome]` counts human ratings. `pair_names[pair]` are the two systems; pairs are (i, j), i < j.
    """

    pair: Ints
    item: Ints
    unit: Ints
    human: Floats
    ratings: Floats
    pair_names: tuple[tuple[str, str], ...]
    system_names: tuple[str, ...]
    n_items: int
    metrics: Mapping[str, Array]


def compared(held: Preferences) -> Compared:
    """Group comparisons by pair and item, in the order of the table; j compared with i is turned round.

    Where a table names no items, each of its comparisons is of one of its own.
    """
    low, high, item, outcome, source = _turned(held)
    item = item if held.item_known else np.arange(len(item))
    at, of = _numbered(low, high, item)
    human = np.zeros((len(at), 3))
    np.add.at(human, (of[source == 0], outcome[source == 0]), 1)
    pairs, pair = _numbered(low, high, ordered=True)
    ratings = np.zeros((len(pairs), 3))
    np.add.at(ratings, pair[at], human)
    total = human.sum(1, keepdims=True)
    names = held.system_names
    return Compared(
        pair[at],
        item[at],
        held.document[item[at]] if held.document_known else item[at],
        np.divide(human, total, out=np.zeros_like(human), where=total > 0),
        ratings,
        tuple((names[i], names[j]) for i, j in zip(low[pairs], high[pairs], strict=True)),
        names,
        len(held.item_names) if held.item_known else len(item),
        {name: _said(of, outcome, source == k, len(at)) for k, name in enumerate(held.metrics, start=1)},
    )


def _turned(held: Preferences) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """Return the two systems i < j, item, outcome, and source (0: humans) of all comparisons by line."""
    human = Comparisons(held.first, held.second, held.item, held.rater, held.outcome, held.line)
    sources: Sequence[Comparisons] = (human, *held.metrics.values())
    first, second, item, outcome, line = (
        np.concatenate([getattr(said, name) for said in sources]) for name in _COLUMNS
    )
    source = np.repeat(np.arange(len(sources)), [len(said.line) for said in sources])
    order = np.argsort(line, kind="stable")
    outcome = np.where(first > second, 2 - outcome, outcome)
    columns = np.minimum(first, second), np.maximum(first, second), item, outcome, source
    low, high, item, outcome, source = (column[order] for column in columns)
    return low, high, item, outcome, source


def _numbered(*columns: Ints, ordered: bool = False) -> tuple[Ints, Ints]:
    """Number different rows by where each is first (or in order of their values): first places, and number of each."""
    key = np.zeros(len(columns[0]), np.int64)
    at = np.zeros(0, np.int64)
    for column in columns:
        values, index = np.unique(column, return_inverse=True)
        _, at, key = np.unique(key * max(len(values), 1) + index, return_index=True, return_inverse=True)
    if ordered:
        return at, key
    order = np.argsort(at)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return at[order], rank[key]


def _said(of: Ints, outcome: Ints, mine: Array, n: int) -> Array:
    said = np.full(n, -1)
    said[of[mine]] = outcome[mine]
    return said
