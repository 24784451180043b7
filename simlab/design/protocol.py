"""Collect annotations in batches for the pairs of systems that are still undecided.

Source: Deriu et al. 2023, algorithm 2. What a rule would say at each look is worked out before, so that the protocol
only has to say how far each pair gets.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from simlab.design.following import GAP, Places, follow, said_of
from simlab.types import Array, Bools, Evidence, Ints, TestSet


def looks(annotations_per_pair: int, batch_size: int, n_items: int) -> Ints:
    """List how many annotations a pair has at each look; the last batch may be smaller.

    >>> looks(25, 10, 200)
    array([ 0, 10, 20, 25])
    """
    most = min(annotations_per_pair, n_items)
    return np.append(np.arange(0, most, batch_size), most)


def order_items(rng: np.random.Generator, human: Array, *, shared: bool, document: Ints | None = None) -> Ints:
    """Put the items of each pair in a random order, `[pair, item]`; items that humans cannot rate come last.

    `human[pair, item]` is negative where nobody can rate the pair's outputs. `shared`: all pairs have one order.
    `document[item]`: documents are put in order, and the items of each come one after the other.
    """
    n_pairs, n_items = human.shape
    if document is not None:
        order = _whole_documents(rng, document, 1 if shared else n_pairs)
        order = np.broadcast_to(order, human.shape)
    elif shared:
        order = np.broadcast_to(rng.permutation(n_items), human.shape)
    else:
        order = rng.permuted(np.tile(np.arange(n_items), (n_pairs, 1)), axis=1)
    gap = np.take_along_axis(human, order, axis=1) < 0
    if not gap.any():
        return np.ascontiguousarray(order)
    return np.asarray(np.take_along_axis(order, np.argsort(gap, axis=1, kind="stable"), axis=1))


def _whole_documents(rng: np.random.Generator, document: Ints, n_orders: int) -> Ints:
    """Draw orders `[order, item]` of documents, and of the items within each."""
    place = rng.permuted(np.tile(np.arange(int(document.max()) + 1), (n_orders, 1)), axis=1)
    within = rng.permuted(np.tile(np.arange(len(document)), (n_orders, 1)), axis=1)
    return np.argsort(place[:, document] * len(document) + within, axis=1)


def gather(test_set: TestSet, order: Ints, annotations: Ints, places: Places | None = None) -> Evidence:
    """Count what would be known of each pair at each look; with `places`, keep it output by output. Rows are pairs.

    Metric ratings of outputs that have a human rating count as confusions, never as metric ratings.
    Source: Deriu et al. 2023, appendix A.
    """
    items = order[:, : annotations[-1]]
    human = np.take_along_axis(test_set.human, items, axis=1)
    item = np.where(human >= 0, items, GAP)
    counts = count_looks(human, said_of(test_set.metric, item), test_set.metric, annotations)
    return counts if places is None else replace(counts, trail=follow(human, item, test_set.metric, places))


def count_looks(human: Array, metric: Array | None, said: Array | None, annotations: Ints) -> Evidence:
    """Count outcomes of the first annotations of each pair at each look.

    `human[pair, k]` and `metric[pair, k]` are the outcomes of the k-th item items about (negative: none), and
    `said[pair, item]` is what the metric says of all items; the last two are None without a metric.
    """
    counts = _cumulated(human, 3, annotations)
    if metric is None or said is None:
        return Evidence(annotations, counts, np.zeros((*counts.shape, 3), np.int64), np.zeros_like(counts))
    both = (human >= 0) & (metric >= 0)
    confusion = _cumulated(np.where(both, 3 * metric + human, -1), 9, annotations)
    confusion = confusion.reshape(*confusion.shape[:-1], 3, 3)
    total = np.stack([(said == outcome).sum(1) for outcome in range(3)], axis=1)
    return Evidence(annotations, counts, confusion, total[:, None] - confusion.sum(-1))


def _cumulated(outcome: Array, n_outcomes: int, annotations: Ints) -> Ints:
    """Count outcomes (negative: none) among the first `annotations[look]`: `[pair, look, outcome]`."""
    one_hot = outcome[:, :, None] == np.arange(n_outcomes)
    sums = np.add.reduceat(one_hot, annotations[:-1], axis=1, dtype=np.int64)
    start = np.zeros((len(outcome), 1, n_outcomes), np.int64)
    return np.concatenate([start, np.cumsum(sums, axis=1)], axis=1)


def last_looks(stop: Bools, cost: Ints, budget: int | None, order: Ints) -> Ints:
    """Say at which look collecting ends for each pair: `[campaign, pair]`.

    `stop[campaign, pair, look]` says where the decision rule ends it, `cost[campaign, pair, look]` how many annotations
    a look takes beyond the one before. In each round the open pairs are served in the `order[campaign, pair]` as long
    as the budget of the campaign pays for whole batches; with the first batch that it cannot pay, collecting ends.
    """
    end = np.zeros(stop.shape[:2], np.int64)
    open_ = ~stop[:, :, 0]
    left = np.full(len(stop), np.iinfo(np.int64).max if budget is None else budget)
    for look in range(1, stop.shape[2]):
        batch = np.where(open_, cost[:, :, look], 0)
        spent = np.take_along_axis(np.cumsum(np.take_along_axis(batch, order, 1), axis=1), np.argsort(order, axis=1), 1)
        paid = open_ & (spent <= left[:, None])
        end[paid] = look
        left = left - np.where(paid, batch, 0).sum(1)
        ended = np.any(open_ & ~paid, axis=1, keepdims=True)
        open_ = paid & ~stop[:, :, look] & ~ended
    return end
