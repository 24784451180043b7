"""Keep what came about each pair output by output, and forget what came after collecting ended."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from simlab.types import Array, Bools, Evidence, Floats, Ints, Trail

GAP = -1
"""Stands where nothing was said."""


class Places(NamedTuple):
    """Say where outputs belong: `document[item]` of those that humans can be asked about, where `can_be_rated`.

    `can_be_rated[pair, item]`; None: all of them. `rest_document[j]` is the document of the j-th further output.
    """

    document: Ints
    can_be_rated: Bools | None
    rest_document: Ints


def places_of(document: Ints, can_be_rated: Bools | None, n_outputs: int, rest_document: Ints | None = None) -> Places:
    """Say where n outputs belong; further ones are documents of their own unless one is told."""
    n_rest = max(n_outputs - len(document), 0)
    return Places(document, can_be_rated, np.arange(n_rest) if rest_document is None else rest_document)


def follow(human: Array, item: Ints, said: Array | None, places: Places) -> Trail:
    """Follow each pair through the outputs it was asked about; rows are pairs.

    `human[pair, k]` is what was said of the k-th output asked about, `item[pair, k]` which one it is (-1: none came);
    `said[pair, output]` what the metric says of all outputs (None without one), those that humans can be asked about
    first.
    """
    came, document = item >= 0, places.document
    n_pairs, n_items = len(human), len(document)
    size = _document_sizes(places, n_pairs)
    at = np.where(came, document[item], -1)
    return Trail(
        human=np.where(came, human, -1),
        metric=said_of(said, item),
        document=at,
        document_size=np.where(came, np.take_along_axis(size, at, axis=1), 0),
        n_outputs=size.sum(1),
        n_documents=(size > 0).sum(1),
        largest_document=size.max(1),
        metric_total=_metric_total(said, places, n_pairs),
        rest=None if said is None else said[:, n_items:],
        rest_document=places.rest_document,
    )


def said_of(said: Array | None, item: Ints) -> Array | None:
    """Look up what the metric says of outputs `item[pair, k]` (-1: none); -1 where it says nothing."""
    if said is None:
        return None
    rated = (item >= 0) & (item < said.shape[1])
    return np.where(rated, np.take_along_axis(said, np.where(rated, item, 0), axis=1), GAP)


def _document_sizes(places: Places, n_pairs: int) -> Ints:
    """Count the outputs of each document that can be rated: `[pair, document]`."""
    n_documents = int(places.document.max()) + 1
    if places.can_be_rated is None:
        return np.broadcast_to(np.bincount(places.document), (n_pairs, n_documents))
    return np.stack([np.bincount(places.document[row], minlength=n_documents) for row in places.can_be_rated])


def _metric_total(said: Array | None, places: Places, n_pairs: int) -> Floats:
    """Sum up the metric's preferences over the outputs that can be rated; NaN where it has not seen all."""
    if said is None or said.shape[1] < len(places.document):
        return np.full(n_pairs, np.nan)
    on_set = said[:, : len(places.document)]
    can = np.True_ if places.can_be_rated is None else places.can_be_rated
    unknown = ((on_set < 0) & can).any(1)
    return np.where(unknown, np.nan, ((on_set == 0) & can).sum(1) - ((on_set == 2) & can).sum(1))


def until(evidence: Evidence, end: Ints) -> Evidence:
    """Forget what would have come of each row after the look at which collecting ended: counts stay as they were."""
    look = np.minimum(np.arange(len(evidence.annotations)), end[:, None])
    rows = np.arange(len(end))[:, None]
    human, confusion, metric = (counts[rows, look] for counts in (evidence.human, evidence.confusion, evidence.metric))
    trail = evidence.trail
    if trail is not None:
        read = np.arange(trail.human.shape[1]) < evidence.annotations[end][:, None]
        trail = replace(
            trail,
            human=np.where(read, trail.human, -1),
            metric=None if trail.metric is None else np.where(read, trail.metric, -1),
            document=np.where(read, trail.document, -1),
            document_size=np.where(read, trail.document_size, 0),
        )
    return replace(evidence, human=human, confusion=confusion, metric=metric, trail=trail)
