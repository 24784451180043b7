"""Carry out studies on worlds that are handed over, many normalisations of the same ratings at once.

They are studies of ratings like others, collected and concluded by the same functions and with the same addresses of
random numbers: on a recorded world they are the same bits as a sweep's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from simlab.analysis import normalization
from simlab.analysis.significance import permutation
from simlab.design import grouping
from simlab.design.balance import Table
from simlab.design.grouping import Groups
from simlab.measures.stability import srp
from simlab.studies.ratings.collecting import collect, lay
from simlab.studies.ratings.concluding import conclude
from simlab.studies.ratings.preparing import Prepared
from simlab.types import OK, RATE, Array, Bools, Campaign, Collected, Frame, Place, Seen, World
from simlab.world.laws.fixed import FixedRatings, fixed_ratings

GROUPINGS: Mapping[str, Callable[[Frame], Groups]] = {
    "pseudo_side_by_side": grouping.pseudo_side_by_side,
    "system_balanced": grouping.system_balanced,
    "ungrouped": grouping.ungrouped,
}
NORMALIZERS: Mapping[str, Callable[[Seen], Seen]] = {
    "none": normalization.none,
    "mean": normalization.mean,
    "error": partial(normalization.error, errors="total"),
    "zscore": partial(normalization.zscore, ddof=1),
}
NORMALIZATIONS = tuple(NORMALIZERS)
LEVEL, PERMUTATIONS = 0.05, 500


@dataclass(frozen=True, slots=True)
class Design:
    """Name one way of asking: who gets what, how many documents, how many ratings of each output."""

    grouping: str
    documents: int
    ratings_per_item: int


def stable_shares(
    world: World, design: Design, normalizations: Sequence[str], *, seed: int, sets: int, per_set: int
) -> dict[str, tuple[float, float]]:
    """Return SRP with its Monte-Carlo error by normalisation: `sets` draws of documents, `per_set` studies each."""
    prepared = _prepared(design, seed, per_set)
    table = lay(prepared, world, Place(0))
    collected = [_collected(prepared, world, table, study) for study in range(sets * per_set)]
    where = _identity(sets, per_set)
    shares = {}
    for name in normalizations:
        outcomes = conclude(prepared._replace(normalise=NORMALIZERS[name]), collected)
        share = srp(outcomes | where)
        shares[name] = (float(share.value), float(share.mcse))
    return shares


def possible(world: World, design: Design) -> bool:
    """Tell whether enough documents can be asked about under a design."""
    seats = int((world.frame.rater >= 0).any(axis=0).sum(1).min())
    if design.ratings_per_item > seats:
        return False
    table = lay(_prepared(design, 0, 1), world, Place(0))
    return int(table.rateable.sum()) >= design.documents


def _prepared(design: Design, seed: int, per_set: int) -> Prepared:
    return Prepared(
        seed=seed,
        design={
            "documents": design.documents,
            "ratings_per_item": design.ratings_per_item,
            "load_entropy": None,
            "studies_per_document_set": per_set,
        },
        group=GROUPINGS[design.grouping],
        normalise=normalization.none,
        test=partial(permutation, permutations=PERMUTATIONS, p_value="add_one"),
        level=LEVEL,
        price_per_rating=0.0,
    )


def _collected(prepared: Prepared, world: World, table: Table, study: int) -> Collected:
    (campaign,) = collect(prepared, world, table, iter([None]), [Place(0, study=study)])
    if not isinstance(campaign, Campaign):
        raise campaign
    return campaign.collected


def _identity(sets: int, per_set: int) -> dict[str, Array]:
    study = np.arange(sets * per_set)
    zero = np.zeros(len(study), np.int32)
    return {"world": zero, "study": study, "document_set": study // per_set, "status": zero + OK}


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
    )
    return World(kept, {RATE: FixedRatings(ratings.value[:, items], ratings.errors[:, items])}, world.truth)
