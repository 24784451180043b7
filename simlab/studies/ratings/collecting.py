"""Collect ratings: draw the documents, deal them to raters, reveal the ratings of these.

Call `lay` once per world, `draw` once per study, then `collect`, which returns a `Campaign` for each place (a study).
`prepared` is the bound study, `table` (from `lay`) says which raters can be asked about which outputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from simlab.design.balance import DealTable, deal_evenly, deal_to_entropy, lay_table
from simlab.design.documents import draw_documents
from simlab.rng import stream
from simlab.studies.money import bill, find_limit, settle_account
from simlab.studies.ratings.budget_cuts import allowance, choose_paid_documents, count_ratings_per_item, metric_calls
from simlab.studies.ratings.clock_collection import add_overlap, collect_on_clock
from simlab.studies.ratings.preparing import PreparedRatings
from simlab.types import RATE, Bools, Campaign, Collected, DesignFailure, Place, Seen, SlotAssignment, Streams, World
from simlab.types.collection import ALL_CAME, MONEY
from simlab.world.laws.fixed import UNMARKED


class RatingBackstage(NamedTuple):
    """Generator of the deal as the deal left it: a repetition with other raters goes on from there."""

    deal: np.random.Generator


def lay(prepared: PreparedRatings, world: World, place: Place) -> DealTable:
    """Return the table from which a world's documents are dealt: which raters can be asked about which outputs."""
    groups, wanted = prepared.group(world.frame), prepared.design.ratings_per_item
    table = lay_table(world.frame, groups, wanted)
    paid = count_ratings_per_item(prepared, world, table)
    return table if paid == wanted else lay_table(world.frame, groups, paid)


def draw(prepared: PreparedRatings, world: World, table: DealTable, place: Place) -> Any:
    """Draw the noise of every potential rating of a study, in the form that the world's law of ratings takes."""
    return world.answers[RATE].draw(stream(prepared.seed, *place.of_study, "noise"), None)


def document_set(prepared: PreparedRatings, world: World, study: int) -> int:
    """Return the index of the draw of documents that a study has."""
    return int(study // prepared.design.studies_per_document_set)


def collect(
    prepared: PreparedRatings, world: World, table: DealTable, noise: Iterator[Any], places: Sequence[Place]
) -> list[Campaign | DesignFailure]:
    """Return for each place (a study) its campaign, or why it failed; `noise` yields for each the result of `draw`."""
    return [_campaign(prepared, world, table, own, place) for own, place in zip(noise, places, strict=True)]


def _campaign(
    prepared: PreparedRatings, world: World, table: DealTable, noise: Any, place: Place
) -> Campaign | DesignFailure:
    documents = chosen_documents(prepared, world, table, place)
    rng = stream(prepared.seed, *place.of_study, "deal")
    try:
        assignment = add_overlap(prepared, table, documents, deal(rng, prepared, table, documents), place)
        if prepared.clock is not None:
            came = collect_on_clock(prepared, prepared.clock, world, table, documents, assignment, noise, place)
            return Campaign(came, RatingBackstage(rng))
    except DesignFailure as failure:
        return failure
    collected = reveal_ratings(prepared, world, documents, assignment, noise, place)
    if not prepared.cuts:
        return Campaign(collected, RatingBackstage(rng))
    result = _account(prepared, world, table, collected, place)
    return result if isinstance(result, DesignFailure) else Campaign(result, RatingBackstage(rng))


def _account(
    prepared: PreparedRatings, world: World, table: DealTable, collected: Collected, place: Place
) -> Collected | DesignFailure:
    """Return a campaign with its account; fail where money does not pay the fewest documents.

    Planned are the ratings that the design asked for before it was cut.
    """
    used = len(collected.seen.value)
    if used > allowance(prepared, world):
        money = find_limit(prepared.limits, world.frame.n_systems)
        return DesignFailure(
            f"{money.setting if money else ''} does not pay the fewest documents of this world; raise it"
        )
    of_document = np.bincount(world.frame.document, minlength=world.frame.n_documents)
    segments = int(of_document[_draw_documents(prepared, world, table, place, prepared.design.documents)].sum())
    planned = segments * world.frame.n_systems * prepared.design.ratings_per_item
    account = settle_account(planned=planned, used=used, lost=0, ended_by=MONEY if used < planned else ALL_CAME)
    return replace(collected, paid={**collected.paid, **account})


def chosen_documents(prepared: PreparedRatings, world: World, table: DealTable, place: Place) -> Bools:
    """Draw the documents of a study, a mask `[document]`; studies of a document set have the same."""
    if not prepared.cuts:
        return _draw_documents(prepared, world, table, place, prepared.design.documents)
    return choose_paid_documents(prepared, world, table, partial(_draw_documents, prepared, world, table, place))


def _draw_documents(prepared: PreparedRatings, world: World, table: DealTable, place: Place, n_documents: int) -> Bools:
    rng = stream(prepared.seed, *place.of_documents, "documents", document_set(prepared, world, place.study))
    return draw_documents(rng, world.frame.bucket, table.rateable, n_documents)


def deal(rng: np.random.Generator, prepared: PreparedRatings, table: DealTable, documents: Bools) -> SlotAssignment:
    """Deal the documents to raters: with equal loads, or to a wanted entropy of the loads."""
    design = prepared.design
    if design.load_entropy is None:
        return deal_evenly(rng, table, documents)
    return deal_to_entropy(
        rng,
        table,
        documents,
        target=design.load_entropy,
        tolerance=design.load_tolerance,
        tries=design.load_tries,
    )


def reveal_ratings(
    prepared: PreparedRatings, world: World, documents: Bools, assignment: SlotAssignment, noise: Any, place: Place
) -> Collected:
    """Return the campaign without a clock: all ratings that a design asks for, and their cost.

    `documents` marks those of the study, `noise` is what the world's law of ratings drew for it.
    """
    seen, each = reveal(world, assignment, noise), assignment.slot.shape[2]
    cost = bill(prepared.prices, answers=len(seen.value), raters=world.frame.n_raters, metric_calls=metric_calls(world))
    return Collected(
        frame=world.frame,
        documents=documents,
        asked=assignment,
        seen=seen,
        metric=world.metric,
        known={} if each == prepared.design.ratings_per_item else {"ratings_per_item": each},
        paid={"ratings": len(seen.value), "cost": cost},
        streams=Streams(prepared.seed, place.of_study),
    )


def reveal(world: World, assignment: SlotAssignment, noise: Any = None) -> Seen:
    """Return the ratings of the raters whom a design asks; `noise` is what the world's law drew for the study."""
    by_item = assignment.slot[:, world.frame.document, :]
    system, item, k = np.nonzero(by_item >= 0)
    slot = by_item[system, item, k]
    value, errors = world.answers[RATE].answer(noise, system, item, slot)
    marked = np.full(len(value), UNMARKED) if errors is None else errors
    return Seen(system, item, world.frame.rater[system, item, slot], value, marked)
