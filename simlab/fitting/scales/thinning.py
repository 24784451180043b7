"""Leave documents out of a table that is too large to sample from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from simlab.tables.held import Ratings

MOST_RATINGS = 30_000


def thinned(rng: np.random.Generator, ratings: Ratings) -> tuple[Ratings, list[str]]:
    """Keep whole documents, drawn at random, of at most `MOST_RATINGS` ratings together; say so if any are left out."""
    where = ratings.document[ratings.item]
    sizes = np.bincount(where, minlength=ratings.n_documents)
    if len(where) <= MOST_RATINGS:
        return ratings, []
    order = rng.permutation(ratings.n_documents)
    chosen = order[: max(int(np.searchsorted(np.cumsum(sizes[order]), MOST_RATINGS, "right")), 2)]
    kept = np.flatnonzero(np.isin(where, chosen))
    note = (
        f"{len(where):,} ratings: the law is fitted to the {len(kept):,} of {len(chosen)} documents drawn at random; "
        "intervals are as wide as these allow"
    )
    fields = ("system", "item", "rater", "score", "errors", "seconds")
    parts = {name: getattr(ratings, name)[kept] for name in fields}
    criteria = {name: values[kept] for name, values in ratings.criteria.items()}
    return replace(ratings, **parts, criteria=criteria), [note]
