"""Collect comparisons in batches: an order of the items, a decision rule that is asked after each batch, a budget."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from simlab.design.following import Places, places_of
from simlab.design.protocol import gather, last_looks, looks, order_items
from simlab.rng import stream
from simlab.studies.clocked import Clock
from simlab.studies.money import bill
from simlab.studies.possible import NO_NUMBER, are_codes
from simlab.studies.preferences.evidence import Said, decided, decided_in_the_end, joined
from simlab.studies.preferences.preparing import Prepared
from simlab.studies.preferences.rule import Rule, heard
from simlab.studies.preferences.spending import accounts, most_annotations
from simlab.studies.preferences.timing import Order, account, timed
from simlab.types import (
    COMPARE,
    Array,
    Campaign,
    Collected,
    DesignFailure,
    Evidence,
    ImpossibleValue,
    Ints,
    Place,
    Seen,
    Streams,
    TestSet,
    Verdicts,
    World,
)
from simlab.world.laws.comparisons import GAP, comparisons_of, contest_of, rest_documents

LOSS = 2
"""The last of the outcomes of a comparison: >, =, <."""


class Backstage(NamedTuple):
    """Hold all that raters would have said, and the order in which they were to be asked."""

    test_set: TestSet
    order: Ints


def lay(prepared: Prepared, world: World, place: Place) -> TestSet | None:
    """Draw the test set that all studies of a world share; None where each has its own."""
    if not contest_of(world).fixed:
        return None
    # Of a further pool of raters the outputs are the same, whoever compares them.
    others = stream(prepared.seed, *place.of_world, "raters") if place.pool else None
    return _drawn(world, stream(prepared.seed, *place.of_documents, "test_set"), others)


def _drawn(world: World, rng: np.random.Generator, others: np.random.Generator | None) -> TestSet:
    return _compared(comparisons_of(world).draw(rng, world.metric, others))


def _compared(drawn: TestSet) -> TestSet:
    """Return what raters and metric say of a test set; raise ImpossibleValue where that is no comparison."""
    _refuse_other_codes("raters", drawn.human)
    if drawn.metric is not None:
        _refuse_other_codes("the metric", drawn.metric)
    return drawn


def _refuse_other_codes(who: str, said: Array) -> None:
    # Codes are counted one by one: any other would pass for a comparison that never came.
    if not are_codes(said, GAP, LOSS):
        raise ImpossibleValue(f"{who} compare outputs otherwise than >, = or <; {NO_NUMBER}")


def draw(prepared: Prepared, world: World, shared: TestSet | None, place: Place) -> TestSet:
    """Draw what raters and metric would say of the test set of a study."""
    if shared is not None:
        return shared
    others = stream(prepared.seed, *place.of_study, "raters") if place.pool else None
    return _drawn(world, stream(prepared.seed, *place.of_inputs, "test_set"), others)


def document_set(prepared: Prepared, world: World, study: int) -> int:
    """Return the index of a study's test set."""
    return 0 if contest_of(world).fixed else study


def collect(
    prepared: Prepared, world: World, shared: TestSet | None, noise: Iterator[TestSet], places: Sequence[Place]
) -> list[Campaign | DesignFailure]:
    """Follow the protocol in all studies together, since decisions are cheaper together; see `last_looks`.

    Source: Deriu et al. 2023, algorithm 2.
    """
    annotations = planned_looks(prepared, world.frame.document.size)
    backstage = [
        Backstage(test_set, _order(prepared, world, test_set, place))
        for test_set, place in zip(noise, places, strict=True)
    ]
    where = [_where(world, b.test_set) for b in backstage]
    evidence = joined([gather(b.test_set, b.order, annotations, at) for b, at in zip(backstage, where, strict=True)])
    verdicts = decided(prepared, evidence)
    if prepared.clock is not None:
        rule = Rule(prepared, evidence, verdicts, *backstage[0], where[0], in_step=_in_step(prepared))
        rules = [rule.of(k, len(places), *b, at) for k, (b, at) in enumerate(zip(backstage, where, strict=True))]
        return [
            _timed(prepared, prepared.clock, world, b, of, place)
            for b, of, place in zip(backstage, rules, places, strict=True)
        ]
    end = _play(prepared, world, places, verdicts, evidence).reshape(len(places), -1)
    said = decided_in_the_end(prepared, evidence, verdicts, end.ravel())
    stop = np.take_along_axis(verdicts.stop, end.reshape(-1, 1), axis=1).reshape(end.shape)
    paid = accounts(prepared, world.frame.n_systems, evidence, stop, end)
    return [
        Campaign(_paid(_collected(prepared, world, b, annotations, end[k], said.of(k, len(places)), place), paid[k]), b)
        for k, (b, place) in enumerate(zip(backstage, places, strict=True))
    ]


def _paid(collected: Collected, account: Mapping[str, float]) -> Collected:
    return replace(collected, paid={**collected.paid, **account}) if account else collected


def _where(world: World, test_set: TestSet) -> Places:
    """Say where the outputs of a test set belong."""
    gaps = test_set.human < 0
    n_outputs = 0 if test_set.metric is None else test_set.metric.shape[1]
    rest_document = rest_documents(world, n_outputs)
    return places_of(world.frame.document, ~gaps if gaps.any() else None, n_outputs, rest_document)


def planned_looks(prepared: Prepared, n_items: int) -> Ints:
    """List how many annotations a pair has at each look."""
    return looks(prepared.budget["annotations_per_pair"], prepared.budget["batch_size"], n_items)


def _order(prepared: Prepared, world: World, test_set: TestSet, place: Place) -> Ints:
    rng = stream(prepared.seed, *place.of_study, "order")
    # Studies that were written down before there was this key do not have it.
    whole = prepared.design.get("whole_documents", False)
    document = world.frame.document if whole else None
    return order_items(rng, test_set.human, shared=prepared.design["shared_order"], document=document)


def _play(prepared: Prepared, world: World, places: Sequence[Place], verdicts: Verdicts, evidence: Evidence) -> Ints:
    """Find the last look of each row under the budget."""
    n_pairs = len(evidence.human) // len(places)
    order = np.stack([_pair_order(prepared, place, n_pairs) for place in places])
    cost = np.diff(evidence.human.sum(-1), axis=1, prepend=0).reshape(len(places), n_pairs, -1)
    stop = verdicts.stop.reshape(cost.shape)
    return last_looks(stop, cost, most_annotations(prepared, world.frame.n_systems), order)


def _pair_order(prepared: Prepared, place: Place, n_pairs: int) -> Ints:
    """Say which pairs come first where a budget runs out."""
    order = np.arange(n_pairs)
    if prepared.design["pair_order"] == "random":
        stream(prepared.seed, *place.of_study, "pairs").shuffle(order)
    return order


def _in_step(prepared: Prepared) -> bool:
    return bool(prepared.design.get("wait", "round") == "round")


def _timed(
    prepared: Prepared, clock: Clock, world: World, backstage: Backstage, rule: Rule, place: Place
) -> Campaign | DesignFailure:
    try:
        return Campaign(_on_a_clock(prepared, clock, world, backstage, rule, place), backstage)
    except DesignFailure as failure:
        return failure


def _on_a_clock(
    prepared: Prepared, clock: Clock, world: World, backstage: Backstage, rule: Rule, place: Place
) -> Collected:
    """Reveal what came in time, of each pair up to the last look for which all of it came."""
    annotations = rule.evidence.annotations
    would = np.take_along_axis(backstage.test_set.human, backstage.order[:, : annotations[-1]], axis=1)
    order = Order(would, annotations, _pair_order(prepared, place, len(would)))
    came = timed(prepared, clock, order, rule.stops, place, world.frame.n_systems)
    said = rule.in_the_end(came.said, came.end)
    as_said = backstage._replace(test_set=heard(backstage.test_set, backstage.order, came.said))
    collected = _collected(prepared, world, as_said, annotations, came.end, said, place)
    seen = collected.seen
    where = seen.unit, seen.order
    person, can = came.person[where], int((would >= 0).sum())
    asked = prepared.budget["annotations"]
    planned = can if asked is None else min(asked, can)
    return replace(
        collected,
        seen=replace(seen, at=came.at[where]),
        known={**collected.known, "log": came.carried.log, "person": person},
        paid=account(came.carried, planned, len(person), said.stop, person),
    )


def _collected(
    prepared: Prepared, world: World, backstage: Backstage, annotations: Ints, end: Ints, said: Said, place: Place
) -> Collected:
    """Reveal the comparisons of each pair up to its last look."""
    seen = _seen(world, backstage, annotations[end])
    return Collected(
        frame=world.frame,
        documents=None,
        asked=None,
        seen=seen,
        metric=backstage.test_set.metric,
        known={"rounds": end, "said": said} | _told(_where(world, backstage.test_set)),
        paid={"ratings": len(seen.value), "cost": bill(prepared.prices, answers=len(seen.value))},
        streams=Streams(prepared.seed, place.of_study),
    )


def _told(places: Places) -> dict[str, Array]:
    """Say where outputs belong, as far as an analyst would not guess."""
    told = {} if places.can_be_rated is None else {"can_be_rated": places.can_be_rated}
    plain = (places.rest_document == np.arange(len(places.rest_document))).all()
    return told if plain else told | {"rest_document": places.rest_document}


def _seen(world: World, backstage: Backstage, asked: Ints) -> Seen:
    """List the comparisons of the first items of each pair's order that can be compared."""
    rank = np.broadcast_to(np.arange(backstage.order.shape[1]), backstage.order.shape)
    pair, at = np.nonzero(rank < asked[:, None])
    item = backstage.order[pair, at]
    answers = world.answers[COMPARE].answer(backstage.test_set, pair, item, np.zeros_like(item))
    _refuse_other_codes("raters", answers.value)
    came: Array = answers.value >= 0
    none = np.full(int(came.sum()), -1)
    return Seen(pair[came], item[came], none, answers.value[came], none, order=at[came])
