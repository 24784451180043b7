"""Collect annotations in batches for the pairs of systems that are still undecided.

Source: Deriu et al. 2023, algorithm 2. A look is the end of a batch, when the decision rule is asked about a pair; its
verdicts at all looks are worked out before, so that the protocol only has to say how far each pair gets. `list_looks`
and `order_items` lay a campaign out, `gather` counts the evidence for the rule, `find_last_looks` ends the pairs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from simlab.formulas import grade_preferences
from simlab.types import Array, Bools, Evidence, Floats, Ints, TestSet, Trail

GAP = -1
"""Code of a missing answer."""


def list_looks(annotations_per_pair: int, batch_size: int, n_items: int) -> Ints:
    """List how many annotations a pair has at each look; the last batch may be smaller.

    >>> list_looks(25, 10, 200)
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


def gather(test_set: TestSet, order: Ints, annotations: Ints, places: Places | None = None, bins: int = 1) -> Evidence:
    """Count the evidence on each pair at each look if nothing ended it; rows are pairs.

    With `places` the answers are kept output by output, too (`Trail`).

    `order[pair, k]` is the k-th item of a pair, `annotations[look]` how many of them are asked about until a look.
    `bins` is how many sizes of its differences the metric tells apart.
    Metric ratings of outputs that have a human rating count as confusions, never as metric ratings.
    Source: Deriu et al. 2023, appendix A.
    """
    items = order[:, : annotations[-1]]
    human = np.take_along_axis(test_set.human, items, axis=1)
    item = np.where(human >= 0, items, GAP)
    counts = count_looks(human, look_up_preferences(test_set.metric, item), test_set.metric, annotations, bins)
    return counts if places is None else replace(counts, trail=follow(human, item, test_set.metric, places, bins))


def count_looks(
    human: Array, metric: Array | None, verdicts: Array | None, annotations: Ints, bins: int = 1
) -> Evidence:
    """Count outcomes of the first annotations of each pair at each look.

    `human[pair, k]` and `metric[pair, k]` are the outcomes of the k-th item asked about (negative: none), and
    `verdicts[pair, item]` the metric's outcomes of all items; the last two are None without a metric. With `bins`
    sizes it has 2 * bins + 1 outcomes.
    """
    n = 2 * bins + 1
    counts = _count_cumulatively(human, 3, annotations)
    if metric is None or verdicts is None:
        looks = counts.shape[:2]
        return Evidence(annotations, counts, np.zeros((*looks, n, 3), np.int64), np.zeros((*looks, n), np.int64))
    both = (human >= 0) & (metric >= 0)
    # Both outcomes make one number, so that they are counted like one.
    confusion = _count_cumulatively(np.where(both, 3 * metric + human, -1), 3 * n, annotations)
    confusion = confusion.reshape(*confusion.shape[:-1], n, 3)
    total = np.stack([(verdicts == outcome).sum(1) for outcome in range(n)], axis=1)
    return Evidence(annotations, counts, confusion, total[:, None] - confusion.sum(-1))


def _count_cumulatively(outcome: Array, n_outcomes: int, annotations: Ints) -> Ints:
    """Count outcomes (negative: none) among the first `annotations[look]`: `[pair, look, outcome]`."""
    one_hot = outcome[:, :, None] == np.arange(n_outcomes)
    sums = np.add.reduceat(one_hot, annotations[:-1], axis=1, dtype=np.int64)
    start = np.zeros((len(outcome), 1, n_outcomes), np.int64)
    return np.concatenate([start, np.cumsum(sums, axis=1)], axis=1)


def find_last_looks(stop: Bools, cost: Ints, budget: int | None, order: Ints) -> Ints:
    """Return at which look collecting ends for each pair: `[campaign, pair]`.

    `stop[campaign, pair, look]` says where the decision rule ends it, `cost[campaign, pair, look]` how many annotations
    a look takes beyond the one before. In each round the open pairs are served in the `order[campaign, pair]` as long
    as the budget of the campaign pays for whole batches; with the first batch that it cannot pay, collecting ends.
    """
    end = np.zeros(stop.shape[:2], np.int64)
    open_ = ~stop[:, :, 0]
    left = np.full(len(stop), np.iinfo(np.int64).max if budget is None else budget)
    for look in range(1, stop.shape[2]):
        batch = np.where(open_, cost[:, :, look], 0)
        # The argsort of an order is its inverse, which puts sums back in the order of pairs.
        spent = np.take_along_axis(np.cumsum(np.take_along_axis(batch, order, 1), axis=1), np.argsort(order, axis=1), 1)
        paid = open_ & (spent <= left[:, None])
        end[paid] = look
        left = left - np.where(paid, batch, 0).sum(1)
        ended = np.any(open_ & ~paid, axis=1, keepdims=True)
        open_ = paid & ~stop[:, :, look] & ~ended
    return end


class Places(NamedTuple):
    """Documents of outputs: `document[item]` of those that humans can be asked about, where `can_be_rated`.

    `can_be_rated[pair, item]`; None: all of them. `rest_document[j]` is the document of the j-th further output.
    """

    document: Ints
    can_be_rated: Bools | None
    rest_document: Ints


def make_places(
    document: Ints, can_be_rated: Bools | None, n_outputs: int, rest_document: Ints | None = None
) -> Places:
    """Return the documents of the outputs that humans, or the metric (`n_outputs`), can rate.

    Those that only the metric rates are documents of their own, unless `rest_document[j]` says otherwise.
    """
    n_rest = max(n_outputs - len(document), 0)
    return Places(document, can_be_rated, np.arange(n_rest) if rest_document is None else rest_document)


def follow(human: Array, item: Ints, verdicts: Array | None, places: Places, bins: int = 1) -> Trail:
    """Follow each pair through the outputs it was asked about; rows are pairs.

    `human[pair, k]` is the outcome of the k-th output asked about, `item[pair, k]` its index (-1: none came);
    `verdicts[pair, output]` are the metric's outcomes of all outputs (None without one), those that humans can be
    asked about first; `bins` is how many sizes of its differences it tells apart.
    """
    preferences = look_up_preferences(verdicts, item)
    came, document = item >= 0, places.document
    n_pairs, n_items = len(human), len(document)
    size = _document_sizes(places, n_pairs)
    at = np.where(came, document[item], -1)
    return Trail(
        human=np.where(came, human, -1),
        metric=None if preferences is None else grade_preferences(preferences, bins),
        document=at,
        document_size=np.where(came, np.take_along_axis(size, at, axis=1), 0),
        n_outputs=size.sum(1),
        n_documents=(size > 0).sum(1),
        largest_document=size.max(1),
        metric_total=_metric_total(verdicts, places, n_pairs, bins),
        rest=None if verdicts is None else grade_preferences(verdicts[:, n_items:], bins),
        rest_document=places.rest_document,
    )


def look_up_preferences(preferences: Array | None, item: Ints) -> Array | None:
    """Look up the metric's outcomes, `preferences[pair, output]`, of items `item[pair, k]`; -1 stands for none."""
    if preferences is None:
        return None
    rated = (item >= 0) & (item < preferences.shape[1])
    return np.where(rated, np.take_along_axis(preferences, np.where(rated, item, 0), axis=1), GAP)


def _document_sizes(places: Places, n_pairs: int) -> Ints:
    """Count the outputs of each document that can be rated: `[pair, document]`."""
    n_documents = int(places.document.max()) + 1
    if places.can_be_rated is None:
        return np.broadcast_to(np.bincount(places.document), (n_pairs, n_documents))
    return np.stack([np.bincount(places.document[row], minlength=n_documents) for row in places.can_be_rated])


def _metric_total(preferences: Array | None, places: Places, n_pairs: int, bins: int) -> Floats:
    """Sum up the metric's preferences over the outputs that can be rated; NaN where it has not seen all."""
    if preferences is None or preferences.shape[1] < len(places.document):
        return np.full(n_pairs, np.nan)
    on_set = preferences[:, : len(places.document)]
    can = np.True_ if places.can_be_rated is None else places.can_be_rated
    unknown = ((on_set < 0) & can).any(1)
    return np.where(unknown, np.nan, (grade_preferences(on_set, bins) * can).sum(1))


def truncate_evidence(evidence: Evidence, end: Ints) -> Evidence:
    """Return evidence in which the counts of each row stay as they are at look `end[row]`, where collecting ended."""
    look = np.minimum(np.arange(len(evidence.annotations)), end[:, None])
    rows = np.arange(len(end))[:, None]
    human, confusion, metric = (counts[rows, look] for counts in (evidence.human, evidence.confusion, evidence.metric))
    trail = evidence.trail
    if trail is not None:
        read = np.arange(trail.human.shape[1]) < evidence.annotations[end][:, None]
        trail = replace(
            trail,
            human=np.where(read, trail.human, -1),
            metric=None if trail.metric is None else np.where(read, trail.metric, 0.0),
            document=np.where(read, trail.document, -1),
            document_size=np.where(read, trail.document_size, 0),
        )
    return replace(evidence, human=human, confusion=confusion, metric=metric, trail=trail)
