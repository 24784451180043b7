"""Choose the documents of a study at random, spread evenly over buckets (documents that the same raters can rate).

Call `draw_documents` with the bucket of each document, which returns a mask `[document]`.
"""

from __future__ import annotations

import numpy as np

from simlab.types import Bools, Ints


def spread_over_buckets(sizes: Ints, n_documents: int, order: Ints) -> Ints:
    """Spread documents over buckets as evenly as possible; return the number per bucket.

    `sizes[bucket]` counts the documents of each bucket; `order` ranks the buckets that give one more where the number
    does not divide, or fill in for an exhausted bucket.

    >>> spread_over_buckets(np.array([2, 9, 9]), 12, np.array([2, 0, 1]))
    array([2, 5, 5])
    """
    quota = np.zeros_like(sizes)
    while (missing := n_documents - quota.sum()) > 0:
        open_buckets = order[quota[order] < sizes[order]]
        if len(open_buckets) == 0:
            raise ValueError(f"{n_documents} documents asked of {sizes.sum()}")
        share = missing // len(open_buckets)
        if share == 0:
            quota[open_buckets[:missing]] += 1
        else:
            quota[open_buckets] = np.minimum(quota[open_buckets] + share, sizes[open_buckets])
    return quota


def draw_documents(rng: np.random.Generator, bucket: Ints, rateable: Bools, n_documents: int) -> Bools:
    """Draw the documents of a study, as equally from each bucket as possible; return a mask over documents.

    `bucket[document]` is the bucket of a document; only `rateable[document]` are drawn.
    The ranks are drawn before the number of documents is looked at, so a smaller document set at the same
    address is contained in a larger one. Source: Riley et al. 2024, section 6.1.4 and appendix 10.3.
    """
    n_buckets = int(bucket.max()) + 1
    order = rng.permutation(n_buckets)
    # Documents that nobody rated in whole stand behind all that can be drawn.
    keys = np.where(rateable, rng.random(len(bucket)), np.inf)
    sizes = np.bincount(bucket[rateable], minlength=n_buckets)
    quota = spread_over_buckets(sizes, n_documents, order)
    by_bucket = np.lexsort((keys, bucket))
    start = np.searchsorted(bucket[by_bucket], np.arange(n_buckets))
    rank = np.empty(len(bucket), np.int64)
    rank[by_bucket] = np.arange(len(bucket)) - start[bucket[by_bucket]]
    return rank < quota[bucket]
