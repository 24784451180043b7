"""Cut a table of ratings: keep some ratings or documents, or hold out parts of the documents in turn.

All functions take and return `Ratings`; `folds` yields a `Fold` (a part to fit, a part held out) for each turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from simlab.tables.rating_table import Ratings
from simlab.types import Bools, Floats, Ints

MOST_FOLDS = 3
"""Parts that documents are held out in, at most."""


class Fold(NamedTuple):
    """Ratings that a law is fitted to, and those held out: other documents, by raters and systems that it knows.

    `held_out.document[item]` are numbered anew; `document[k]` is the document, in the whole table, of its rating k.
    """

    train: Ratings
    held_out: Ratings
    document: Ints


def keep_ratings(ratings: Ratings, rows: Bools) -> Ratings:
    """Keep the ratings that `rows[rating]` marks, and their items and documents; systems and raters keep indices."""
    items, item = np.unique(ratings.item[rows], return_inverse=True)
    documents, document = np.unique(ratings.document[items], return_inverse=True)
    return replace(
        ratings,
        system=ratings.system[rows],
        item=item,
        rater=ratings.rater[rows],
        score=ratings.score[rows],
        errors=ratings.errors[rows],
        seconds=ratings.seconds[rows],
        document=document,
        document_names=tuple(ratings.document_names[k] for k in documents),
        item_names=tuple(ratings.item_names[k] for k in items),
        criteria={name: values[rows] for name, values in ratings.criteria.items()},
    )


def keep_documents(ratings: Ratings, documents: Bools) -> Ratings:
    """Keep the ratings of some documents, `documents[document]`; raters who rated none of these are left out."""
    return drop_idle(keep_ratings(ratings, documents[ratings.document[ratings.item]]))


def drop_idle(ratings: Ratings) -> Ratings:
    """Leave out systems and raters without a rating: a law that has not seen them can only guess."""
    systems, system = np.unique(ratings.system, return_inverse=True)
    raters, rater = np.unique(ratings.rater, return_inverse=True)
    return replace(
        ratings,
        system=system,
        rater=rater,
        system_names=tuple(ratings.system_names[k] for k in systems),
        rater_names=tuple(ratings.rater_names[k] for k in raters),
    )


def replace_scores(ratings: Ratings, score: Floats) -> Ratings:
    """Return the table with other scores, `score[rating]`."""
    return replace(ratings, score=score)


def folds(rng: np.random.Generator, ratings: Ratings, most: int = MOST_FOLDS) -> Iterator[Fold]:
    """Hold out every document once, in `most` parts at most; leave out ratings of raters or systems new to the rest."""
    n = ratings.n_documents
    part = rng.permutation(n) % min(most, n)
    of_rating = ratings.document[ratings.item]
    for number in range(min(most, n)):
        out = part[of_rating] == number
        train = keep_ratings(ratings, ~out)
        known = np.isin(ratings.rater, train.rater) & np.isin(ratings.system, train.system)
        asked = out & known
        if not asked.any():
            continue
        yield Fold(drop_idle(train), _match_indices(keep_ratings(ratings, asked), train), of_rating[asked])


def _match_indices(held_out: Ratings, train: Ratings) -> Ratings:
    """Number systems and raters as in the part that is fitted, where idle ones are left out."""
    systems, raters = np.unique(train.system), np.unique(train.rater)
    return replace(
        held_out,
        system=np.searchsorted(systems, held_out.system),
        rater=np.searchsorted(raters, held_out.rater),
        system_names=tuple(train.system_names[k] for k in systems),
        rater_names=tuple(train.rater_names[k] for k in raters),
    )


def thin_documents(rng: np.random.Generator, ratings: Ratings, most: int) -> Ratings:
    """Keep documents at random until they hold `most` ratings; a smaller table is kept whole."""
    if len(ratings.score) <= most:
        return ratings
    sizes = np.bincount(ratings.document[ratings.item], minlength=ratings.n_documents)
    order = rng.permutation(ratings.n_documents)
    within = np.cumsum(sizes[order]) <= most
    # Two documents at least, even where one holds more ratings than that: a fold needs another one.
    within[:2] = True
    wanted = np.zeros(ratings.n_documents, bool)
    wanted[order[within]] = True
    return keep_documents(ratings, wanted)
