"""Carry out studies on worlds that are handed over, many normalisations of the same ratings at once.

The addresses of random numbers are those of `simlab.studies.blocks.run_block`, so that studies on a recorded world are
the same bits as there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from simlab.analysis import normalization
from simlab.analysis.significance import RELATIVE_TOLERANCE, permutation
from simlab.design import grouping
from simlab.design.balance import Table, deal_evenly, lay_table
from simlab.design.documents import draw_documents
from simlab.measures.stability import srp
from simlab.rng import stream
from simlab.studies.ratings.campaigns import reveal
from simlab.types import OK, Array, Bools, Floats, Ratings, Seen, World

GROUPINGS: Mapping[str, Any] = {
    "pseudo_side_by_side": grouping.pseudo_side_by_side,
    "system_balanced": grouping.system_balanced,
    "ungrouped": grouping.ungrouped,
}
NORMALIZATIONS = ("none", "mean", "error", "zscore")
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
    table = lay_table(world.frame, GROUPINGS[design.grouping](world.frame), design.ratings_per_item)
    studies = [_study(world, table, design, normalizations, seed, per_set, k) for k in range(sets * per_set)]
    shares = {}
    for name in normalizations:
        outcomes = {key: np.stack([one[name][key] for one in studies]) for key in studies[0][name]}
        found = srp(outcomes | _places(sets, per_set))
        shares[name] = (float(found.value), float(found.mcse))
    return shares


def possible(world: World, design: Design) -> bool:
    """Tell whether enough documents can be asked about under a design."""
    seats = int((world.frame.rater >= 0).any(axis=0).sum(1).min())
    if design.ratings_per_item > seats:
        return False
    table = lay_table(world.frame, GROUPINGS[design.grouping](world.frame), design.ratings_per_item)
    return int(table.rateable.sum()) >= design.documents


def _places(sets: int, per_set: int) -> dict[str, Array]:
    study = np.arange(sets * per_set)
    zero = np.zeros(len(study), np.int32)
    return {"world": zero, "study": study, "document_set": study // per_set, "status": zero + OK}


def _study(
    world: World, table: Table, design: Design, normalizations: Sequence[str], seed: int, per_set: int, study: int
) -> dict[str, dict[str, Array]]:
    at = stream(seed, "world", 0, "documents", study // per_set)
    documents = draw_documents(at, world.frame.bucket, table.rateable, design.documents)
    asked = deal_evenly(stream(seed, "world", 0, "study", study, "deal"), table, documents)
    seen = reveal(world, asked)
    return {name: _concluded(world, seen, documents, design, name, seed, study) for name in normalizations}


def _concluded(
    world: World, seen: Seen, documents: Bools, design: Design, name: str, seed: int, study: int
) -> dict[str, Array]:
    normalised = _normalised(seen, name)
    frame = world.frame
    cell = frame.document[normalised.item] * frame.n_systems + normalised.system
    sums = np.bincount(cell, weights=normalised.value, minlength=frame.n_documents * frame.n_systems)
    total: Floats = sums.reshape(-1, frame.n_systems)[documents] / design.ratings_per_item
    rng = stream(seed, "world", 0, "study", study, "test")
    p_value = permutation(rng, total, permutations=PERMUTATIONS, p_value="add_one")
    direction = _direction(total, frame.lower_is_better)
    return {"direction": direction, "significant": (p_value <= LEVEL + 1e-12) & (direction != 0)}


def _normalised(seen: Seen, name: str) -> Seen:
    if name == "error":
        return normalization.error(seen, errors="total")
    if name == "zscore":
        return normalization.zscore(seen, ddof=1)
    return normalization.mean(seen) if name == "mean" else seen


def _direction(total: Floats, lower_is_better: bool) -> Array:
    first, second = np.triu_indices(total.shape[1], 1)
    score = total.sum(0)
    difference = score[first] - score[second]
    difference[np.abs(difference) <= RELATIVE_TOLERANCE * np.abs(total).sum(0).max(initial=0.0)] = 0.0
    return np.asarray(np.sign(-difference if lower_is_better else difference), np.int8)


def part_of(world: World, documents: Bools) -> World:
    """Keep some documents of a recorded world; systems and raters keep their indices."""
    frame, ratings = world.frame, world.ratings
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
    return World(kept, world.truth, Ratings(ratings.value[:, items], ratings.errors[:, items]), None)
