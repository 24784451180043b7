"""Cut the documents of a table into a pilot and what is held out."""

from __future__ import annotations

from dataclasses import replace
from itertools import compress

import numpy as np

from simlab.design.documents import draw_documents
from simlab.fitting.backtest.designs import FEWEST_DOCUMENTS
from simlab.messages import several
from simlab.rng import stream
from simlab.tables.held import Ratings
from simlab.types import RATE, Bools, InputError, World
from simlab.world.laws.fixed import FixedRatings, fixed_ratings


def check(world: World, pilot_share: float) -> None:
    """Raise InputError where a table cannot be split, or no study can be carried out on its parts."""
    if not 0 < pilot_share < 1:
        raise InputError(f"--pilot-share {pilot_share} must lie between 0 and 1")
    n = world.frame.n_documents
    left = n - pilot_documents(n, pilot_share)
    if pilot_documents(n, pilot_share) < 2 or left < FEWEST_DOCUMENTS:
        raise InputError(
            f"--pilot-share {pilot_share} of {several(n, 'document')} leaves {left}; the pilot needs 2 at least, "
            f"and studies on the others {FEWEST_DOCUMENTS}"
        )


def pilot_documents(n_documents: int, share: float) -> int:
    """Return how many documents go to the pilot."""
    return round(n_documents * share)


def split_documents(world: World, share: float, split: int, seed: int) -> Bools:
    """Draw the documents of the pilot, spread over the buckets as evenly as possible."""
    n = world.frame.n_documents
    rng = stream(seed, "backtest", "split", split)
    return draw_documents(rng, world.frame.bucket, np.ones(n, bool), pilot_documents(n, share))


def part_of(world: World, documents: Bools) -> World:
    """Keep some documents of a recorded world; systems and raters keep their indices."""
    frame, ratings = world.frame, fixed_ratings(world)
    if ratings is None:
        raise ValueError("only fixed ratings can be cut")
    items = documents[frame.document]
    kept = replace(
        frame,
        document=np.unique(frame.document[items], return_inverse=True)[1],
        bucket=np.unique(frame.bucket[documents], return_inverse=True)[1],
        rater=frame.rater[:, items],
        document_names=tuple(name for name, wanted in zip(frame.document_names, documents, strict=True) if wanted),
        item_names=tuple(compress(frame.item_names, items)),
    )
    return World(kept, {RATE: FixedRatings(ratings.value[:, items], ratings.errors[:, items])}, world.truth)


def ratings_of(world: World, table: Ratings) -> Ratings:
    """Lay the ratings of a recorded world out flat, as the table has them; systems and raters keep their indices."""
    frame, ratings = world.frame, fixed_ratings(world)
    if ratings is None:
        raise ValueError("only fixed ratings can be laid out")
    system, item, slot = np.nonzero(frame.rater >= 0)
    return replace(
        table,
        system=system,
        item=item,
        rater=frame.rater[system, item, slot],
        score=ratings.value[system, item, slot],
        errors=ratings.errors[system, item, slot],
        seconds=np.full(len(system), np.nan),
        document=frame.document,
        document_names=frame.document_names,
        item_names=tuple(str(k + 1) for k in range(len(frame.document))),
        criteria={},
    )
