"""List the study designs that a table of ratings allows, and deal studies of one: documents, raters, signs of tests.

Call `designs` on the table as a world for a list of `BacktestDesign`, then `deal_studies` for one: it returns
`DealtStudies`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

from simlab.analysis import normalization
from simlab.analysis.significance import patterns, permutation
from simlab.design import grouping
from simlab.design.balance import DealTable
from simlab.design.grouping import Groups
from simlab.rng import stream
from simlab.studies.money import Prices
from simlab.studies.ratings.collecting import chosen_documents, deal, lay
from simlab.studies.ratings.preparing import PreparedRatings, RatingsDesign
from simlab.types import Floats, Frame, Ints, Place, World
from simlab.world.laws.fixed import fixed_ratings

GROUPINGS: Mapping[str, Callable[[Frame], Groups]] = {
    "pseudo_side_by_side": grouping.pseudo_side_by_side,
    "system_balanced": grouping.system_balanced,
    "ungrouped": grouping.ungrouped,
}
"""Functions that group documents, by the name of a grouping."""
NORMALIZATIONS = ("none", "mean", "error", "zscore")
"""Names of normalisations of scores; `list_normalizations` says which of them a table allows."""
# As published (Riley et al. 2024).
LEVEL, PERMUTATIONS = 0.05, 500
# With five documents the least p of a permutation test is 2 / 2^5 = .0625: nothing could be significant.
FEWEST_DOCUMENTS = 6


@dataclass(frozen=True, slots=True)
class BacktestDesign:
    """Design of a backtest's studies: the grouping of outputs, the number of documents, the ratings of each output.

    A `repetition` asks other raters about the same documents; or, where nobody else rated them, about other documents
    of the table.
    """

    grouping: str
    documents: int
    ratings_per_item: int
    repetition: Literal["same documents", "other documents"] = "same documents"


@dataclass(frozen=True, slots=True)
class DealtStudies:
    """Studies dealt before anybody answers, `[study, ...]`.

    `document[study, k]` are their documents, `slot[study, system, k, rating]` the slots of the frame whose raters
    answer, `rater[...]` the indices of these raters, `patterns[study]` the signs `[pattern, document]` of its
    permutation test. Studies of one set ask about the same documents and stand together, `per_set` of them.
    """

    document: Ints
    slot: Ints
    rater: Ints
    patterns: tuple[Floats, ...]
    per_set: int


def list_normalizations(world: World) -> Sequence[str]:
    """List the normalisations that make sense: errors must be counted, and a factor needs a scale that begins at 0."""
    ratings = fixed_ratings(world)
    counted = ratings is not None and int(ratings.errors.min()) >= 0
    sensible = {"error": counted, "mean": world.frame.lower_is_better}
    return tuple(name for name in NORMALIZATIONS if sensible.get(name, True))


def designs(world: World, thirds: Sequence[int], ratings_per_item: Sequence[int]) -> list[BacktestDesign]:
    """List the designs that a table (`world`) allows: groupings, `thirds` (1 to 3) of its documents, ratings each."""
    n = world.frame.n_documents
    documents = sorted({max(FEWEST_DOCUMENTS, round(n * third / 3)) for third in thirds})
    every = [BacktestDesign(g, d, r) for g in GROUPINGS for d in documents for r in ratings_per_item if d <= n]
    candidates = (repeatable_design(world, design) for design in every)
    return [design for design in candidates if design is not None]


def repeatable_design(world: World, design: BacktestDesign) -> BacktestDesign | None:
    """Return a design with the kind of repetition that the table's ratings allow; None where they allow none."""
    seats = int((world.frame.rater >= 0).any(axis=0).sum(1).min())
    if design.ratings_per_item > seats:
        return None
    table = lay(prepare_studies(design), world, Place(0))
    n = int(table.rateable.sum())
    if n < design.documents:
        return None
    units = np.unique(table.groups.unit[:, table.rateable])
    if (table.possible[units].sum(1) > 1).any():
        return design
    return replace(design, repetition="other documents") if n > design.documents else None


def deal_studies(world: World, design: BacktestDesign, *, seed: int, sets: int, per_set: int) -> DealtStudies:
    """Deal `sets` sets of documents with `per_set` studies each, by the engine's addresses of random numbers."""
    per_set, sets = (per_set, sets) if design.repetition == "same documents" else (1, sets * per_set)
    asking = prepare_studies(design, seed, per_set)
    table = lay(asking, world, Place(0))
    studies = [_deal_study(asking, world, table, Place(0, study=study)) for study in range(sets * per_set)]
    document, slot = (np.array([one[k] for one in studies]) for k in (0, 1))
    rater = _raters_by_seat(world.frame)[document[:, None, :, None], slot]
    return DealtStudies(document, slot, rater, tuple(one[2] for one in studies), per_set)


def _deal_study(asking: PreparedRatings, world: World, table: DealTable, place: Place) -> tuple[Ints, Ints, Floats]:
    """Return the documents of a study, who sits where `[system, document, rating]`, and the signs of its test."""
    chosen = chosen_documents(asking, world, table, place)
    dealt = deal(stream(asking.seed, *place.of_study, "deal"), asking, table, chosen)
    signs = patterns(stream(asking.seed, *place.of_study, "test"), int(chosen.sum()), PERMUTATIONS)
    return np.flatnonzero(chosen), dealt.slot[:, chosen], signs


def _raters_by_seat(frame: Frame) -> Ints:
    """Return the rater in each seat of each document, `[document, slot]`."""
    seated = np.full((frame.n_documents, frame.rater.shape[2]), -1, np.int64)
    np.maximum.at(seated, frame.document, frame.rater.max(0))
    return seated


def prepare_studies(design: BacktestDesign, seed: int = 0, per_set: int = 1) -> PreparedRatings:
    """Return studies of a design as the engine runs them, with the permutation test and level of the paper."""
    return PreparedRatings(
        seed=seed,
        design=RatingsDesign(design.documents, design.ratings_per_item, studies_per_document_set=per_set),
        group=GROUPINGS[design.grouping],
        normalise=normalization.none,
        test=partial(permutation, permutations=PERMUTATIONS, p_value="add_one"),
        level=LEVEL,
        prices=Prices(0.0),
    )
