"""Collect comparisons in batches; a decision rule, asked after each batch, or the budget ends the pairs of systems.

Call `lay` once per world, `draw` once per study, then `collect`, which returns a `Campaign` for each place (a study).
`prepared` is the bound study, `shared` the test set of all studies of a world (None: each draws its own). A look is one
question to the rule: without a clock it is asked about all looks at once, on a clock as batches come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from simlab.design.protocol import (
    Places,
    find_last_looks,
    gather,
    list_looks,
    make_places,
    order_items,
    truncate_evidence,
)
from simlab.design.waiting import Rounds
from simlab.rng import stream
from simlab.studies.batch_tasks import Asking, Hearing, find_complete_looks
from simlab.studies.campaign_clock import Clock, ClockedAnswers, carry_out, load_entropy
from simlab.studies.money import bill, settle_account
from simlab.studies.outcomes import NO_NUMBER, are_codes
from simlab.studies.preferences.evidence import RuleOutcome, decide, decide_in_the_end, join_evidence
from simlab.studies.preferences.preparing import PreparedPreferences
from simlab.studies.preferences.spending import accounts, count_requests, most_annotations
from simlab.types import (
    ALL_CAME,
    COMPARE,
    DECIDED,
    Array,
    Bools,
    Campaign,
    Collected,
    DesignFailure,
    Evidence,
    Floats,
    ImpossibleValue,
    Ints,
    Place,
    Seen,
    Streams,
    TestSet,
    Verdicts,
    World,
)
from simlab.world.laws.comparisons import GAP, require_comparisons, require_contest, rest_documents

LOSS = 2
"""The last of the outcomes of a comparison: >, =, <."""
Stops = Callable[[Array, Ints], Bools]
"""Callback `stops(answers, end)`: marks the pairs that a rule ends, given `answers[pair, k]` and looks `end[pair]`."""


class PreferenceBackstage(NamedTuple):
    """Answers that all raters would have given, and the order in which they were to be asked."""

    test_set: TestSet
    order: Ints


def lay(prepared: PreparedPreferences, world: World, place: Place) -> TestSet | None:
    """Draw the test set that all studies of a world share; None where each has its own."""
    if not require_contest(world).fixed:
        return None
    # Of a further pool of raters the outputs are the same, whoever compares them.
    others = stream(prepared.seed, *place.of_world, "raters") if place.pool else None
    return _draw_test_set(prepared, world, stream(prepared.seed, *place.of_documents, "test_set"), others)


def _draw_test_set(
    prepared: PreparedPreferences, world: World, rng: np.random.Generator, others: np.random.Generator | None
) -> TestSet:
    return _check_test_set(require_comparisons(world).draw(rng, world.metric, others), prepared.bins)


def _check_test_set(drawn: TestSet, bins: int) -> TestSet:
    """Return a test set as it is; raise ImpossibleValue for codes of raters or metric that are no outcomes."""
    _refuse_other_codes("raters", drawn.human)
    if drawn.metric is not None:
        _refuse_other_codes("the metric", drawn.metric, 2 * bins)
    return drawn


def _refuse_other_codes(who: str, verdicts: Array, last: int = LOSS) -> None:
    # Codes are counted one by one: any other would pass for a comparison that never came.
    if not are_codes(verdicts, GAP, last):
        raise ImpossibleValue(f"{who} compare outputs otherwise than >, = or <; {NO_NUMBER}")


def draw(prepared: PreparedPreferences, world: World, shared: TestSet | None, place: Place) -> TestSet:
    """Draw the answers that raters and metric would give about the test set of a study."""
    if shared is not None:
        return shared
    others = stream(prepared.seed, *place.of_study, "raters") if place.pool else None
    return _draw_test_set(prepared, world, stream(prepared.seed, *place.of_inputs, "test_set"), others)


def document_set(prepared: PreparedPreferences, world: World, study: int) -> int:
    """Return the index of a study's test set."""
    return 0 if require_contest(world).fixed else study


def collect(
    prepared: PreparedPreferences,
    world: World,
    shared: TestSet | None,
    noise: Iterator[TestSet],
    places: Sequence[Place],
) -> list[Campaign | DesignFailure]:
    """Return for each place (a study) its campaign, or why it failed; `noise` yields for each its test set, see `draw`.

    The protocol is followed in all studies together, since decisions are cheaper together; see `find_last_looks`.
    Source: Deriu et al. 2023, algorithm 2.
    """
    annotations = list_planned_looks(prepared, world.frame.document.size)
    backstage = [
        PreferenceBackstage(test_set, _order(prepared, world, test_set, place))
        for test_set, place in zip(noise, places, strict=True)
    ]
    where = [_find_places(world, b.test_set) for b in backstage]
    evidence = join_evidence(
        [gather(b.test_set, b.order, annotations, at, prepared.bins) for b, at in zip(backstage, where, strict=True)]
    )
    verdicts = decide(prepared, evidence)
    if prepared.clock is not None:
        rule = FollowedRule(prepared, evidence, verdicts, *backstage[0], where[0], in_step=_is_in_step(prepared))
        rules = [
            rule.take_campaign(k, len(places), *b, at) for k, (b, at) in enumerate(zip(backstage, where, strict=True))
        ]
        return [
            _try_on_clock(prepared, prepared.clock, world, b, of, place)
            for b, of, place in zip(backstage, rules, places, strict=True)
        ]
    stop, cost, order = _protocol(prepared, places, verdicts, evidence)
    end = find_last_looks(stop, cost, most_annotations(prepared, world.frame.n_systems), order)
    decisions = decide_in_the_end(prepared, evidence, verdicts, end.ravel())
    paid = accounts(prepared, stop, cost, order, end)
    return [
        Campaign(
            _add_account(
                _reveal(prepared, world, b, annotations, end[k], decisions.take_campaign(k, len(places)), place),
                paid[k],
            ),
            b,
        )
        for k, (b, place) in enumerate(zip(backstage, places, strict=True))
    ]


def _add_account(collected: Collected, account: Mapping[str, float]) -> Collected:
    return replace(collected, paid={**collected.paid, **account}) if account else collected


def _find_places(world: World, test_set: TestSet) -> Places:
    """Return where the outputs of a test set belong."""
    gaps = test_set.human < 0
    n_outputs = 0 if test_set.metric is None else test_set.metric.shape[1]
    rest_document = rest_documents(world, n_outputs)
    return make_places(world.frame.document, ~gaps if gaps.any() else None, n_outputs, rest_document)


def list_planned_looks(prepared: PreparedPreferences, n_items: int) -> Ints:
    """List how many annotations a pair has at each look."""
    return list_looks(prepared.budget.annotations_per_pair, prepared.budget.batch_size, n_items)


def _order(prepared: PreparedPreferences, world: World, test_set: TestSet, place: Place) -> Ints:
    rng = stream(prepared.seed, *place.of_study, "order")
    document = world.frame.document if prepared.design.whole_documents else None
    return order_items(rng, test_set.human, shared=prepared.design.shared_order, document=document)


def _protocol(
    prepared: PreparedPreferences, places: Sequence[Place], verdicts: Verdicts, evidence: Evidence
) -> tuple[Bools, Ints, Ints]:
    """Return `stop`, `cost` and `order` as `find_last_looks` takes them."""
    n_pairs = len(evidence.human) // len(places)
    order = np.stack([_pair_order(prepared, place, n_pairs) for place in places])
    cost = np.diff(evidence.human.sum(-1), axis=1, prepend=0).reshape(len(places), n_pairs, -1)
    return verdicts.stop.reshape(cost.shape), cost, order


def _pair_order(prepared: PreparedPreferences, place: Place, n_pairs: int) -> Ints:
    """Return which pairs come first where a budget runs out."""
    order = np.arange(n_pairs)
    if prepared.design.pair_order == "random":
        stream(prepared.seed, *place.of_study, "pairs").shuffle(order)
    return order


def _is_in_step(prepared: PreparedPreferences) -> bool:
    return prepared.design.wait == "round"


def _try_on_clock(
    prepared: PreparedPreferences,
    clock: Clock,
    world: World,
    backstage: PreferenceBackstage,
    rule: FollowedRule,
    place: Place,
) -> Campaign | DesignFailure:
    try:
        return Campaign(_collect_on_clock(prepared, clock, world, backstage, rule, place), backstage)
    except DesignFailure as failure:
        return failure


def _collect_on_clock(
    prepared: PreparedPreferences,
    clock: Clock,
    world: World,
    backstage: PreferenceBackstage,
    rule: FollowedRule,
    place: Place,
) -> Collected:
    """Reveal what came in time, of each pair up to the last look for which all of it came."""
    annotations = rule.evidence.annotations
    would = np.take_along_axis(backstage.test_set.human, backstage.order[:, : annotations[-1]], axis=1)
    order = AskingOrder(would, annotations, _pair_order(prepared, place, len(would)))
    came = follow_on_clock(prepared, clock, order, rule.stops, place, world.frame.n_systems)
    decisions = rule.conclude(came.answers, came.end)
    as_said = backstage._replace(test_set=replace_answers(backstage.test_set, backstage.order, came.answers))
    collected = _reveal(prepared, world, as_said, annotations, came.end, decisions, place)
    seen = collected.seen
    where = seen.unit, seen.order
    person = came.person[where]
    return replace(
        collected,
        seen=replace(seen, at=came.at[where]),
        known={**collected.known, "log": came.carried.log, "person": person},
        paid=account(came, decisions.stop, person),
    )


def _reveal(
    prepared: PreparedPreferences,
    world: World,
    backstage: PreferenceBackstage,
    annotations: Ints,
    end: Ints,
    outcome: RuleOutcome,
    place: Place,
) -> Collected:
    """Reveal the comparisons of each pair up to its last look."""
    seen = _list_comparisons(world, backstage, annotations[end])
    return Collected(
        frame=world.frame,
        documents=None,
        asked=None,
        seen=seen,
        metric=backstage.test_set.metric,
        known={"rounds": end, "said": outcome} | _describe_places(_find_places(world, backstage.test_set)),
        paid={"ratings": len(seen.value), "cost": bill(prepared.prices, answers=len(seen.value))},
        streams=Streams(prepared.seed, place.of_study),
    )


def _describe_places(places: Places) -> dict[str, Array]:
    """Return where outputs belong, as far as an analyst would not guess."""
    known = {} if places.can_be_rated is None else {"can_be_rated": places.can_be_rated}
    plain = (places.rest_document == np.arange(len(places.rest_document))).all()
    return known if plain else known | {"rest_document": places.rest_document}


def _list_comparisons(world: World, backstage: PreferenceBackstage, requested: Ints) -> Seen:
    """List the comparisons of the first items of each pair's order that can be compared."""
    rank = np.broadcast_to(np.arange(backstage.order.shape[1]), backstage.order.shape)
    pair, at = np.nonzero(rank < requested[:, None])
    item = backstage.order[pair, at]
    answers = world.answers[COMPARE].answer(backstage.test_set, pair, item, np.zeros_like(item))
    _refuse_other_codes("raters", answers.value)
    came: Array = answers.value >= 0
    none = np.full(int(came.sum()), -1)
    return Seen(pair[came], item[came], none, answers.value[came], none, order=at[came])


@dataclass(frozen=True, slots=True)
class FollowedRule:
    """Decision rule of a campaign on a clock, and its `verdicts[pair, look]` if nobody lapses; `evidence` they rest on.

    `test_set`, `order` and `places` are those of the campaign. The verdict on a pair whose answers were all as expected
    need not be asked for again, unless pairs are judged together and have got differently far (`in_step`: they have
    not).
    """

    prepared: PreparedPreferences
    evidence: Evidence
    verdicts: Verdicts
    test_set: TestSet
    order: Ints
    places: Places
    in_step: bool

    def take_campaign(self, k: int, n: int, test_set: TestSet, order: Ints, places: Places) -> FollowedRule:
        """Take the k-th of n campaigns."""
        size = len(self.verdicts.stop) // n
        rows = slice(k * size, (k + 1) * size)
        fields = {name: getattr(self.verdicts, name)[rows] for name in ("verdict", "stop", "theta")}
        return replace(self, verdicts=replace(self.verdicts, **fields), test_set=test_set, order=order, places=places)

    def stops(self, verdicts: Array, end: Ints) -> Bools:
        """Mark the pairs that the rule ends at looks `end[pair]`, given the answers `verdicts[pair, k]` about each."""
        changed = self._mark_changed(verdicts, end)
        if self.verdicts.joint and (changed.any() or not self.in_step):
            return decide(self.prepared, truncate_evidence(self.gather_evidence(verdicts), end)).stop[:, -1]
        return self._row_by_row(verdicts, end, changed).stop

    def conclude(self, verdicts: Array, end: Ints) -> RuleOutcome:
        """Return the rule's outcome where collecting ended: after look `end[pair]`, given `verdicts[pair, k]`."""
        if self.verdicts.joint:
            return RuleOutcome.take_at(
                decide(self.prepared, truncate_evidence(self.gather_evidence(verdicts), end)), end
            )
        return self._row_by_row(verdicts, end, self._mark_changed(verdicts, end))

    def gather_evidence(self, verdicts: Array, rows: Ints | None = None) -> Evidence:
        """Count the answers `verdicts[pair, k]` about some pairs (None: all); those yet to come are as expected."""
        test_set = replace_answers(self.test_set, self.order, verdicts)
        every = np.arange(len(verdicts)) if rows is None else rows
        metric, can = test_set.metric, self.places.can_be_rated
        part = TestSet(test_set.human[every], None if metric is None else metric[every])
        places = self.places._replace(can_be_rated=None if can is None else can[every])
        return gather(part, self.order[every], self.evidence.annotations, places, self.prepared.bins)

    def _mark_changed(self, verdicts: Array, end: Ints) -> Bools:
        n = verdicts.shape[1]
        would = np.take_along_axis(self.test_set.human, self.order[:, :n], axis=1)
        read = np.arange(n) < self.evidence.annotations[end][:, None]
        return np.asarray(((verdicts != would) & read).any(1))

    def _row_by_row(self, verdicts: Array, end: Ints, changed: Bools) -> RuleOutcome:
        rows = np.arange(len(end))
        verdict, stop, theta = (getattr(self.verdicts, name)[rows, end] for name in ("verdict", "stop", "theta"))
        which = np.flatnonzero(changed)
        if len(which):
            anew = RuleOutcome.take_at(decide(self.prepared, self.gather_evidence(verdicts, which)), end[which])
            verdict[which], stop[which], theta[which] = anew.verdict, anew.stop, anew.theta
        return RuleOutcome(verdict, stop, theta, self.verdicts.summarise)


def replace_answers(test_set: TestSet, order: Ints, verdicts: Array) -> TestSet:
    """Return a test set as it was answered: `verdicts[pair, k]` of the k-th output that a pair was asked about."""
    human = test_set.human.copy()
    np.put_along_axis(human, order[:, : verdicts.shape[1]], verdicts.astype(human.dtype), axis=1)
    return replace(test_set, human=human)


class AskingOrder(NamedTuple):
    """Order in which outputs are asked about, and their outcomes `would[pair, k]` in it.

    They are negative where outputs cannot be compared; `looks[look]` are asked about until a look, and pairs are served
    in the order of `pairs`.
    """

    would: Array
    looks: Ints
    pairs: Ints


class ClockedPreferences(NamedTuple):
    """Answers of a campaign on a clock, `answers[pair, k]`, and the last look of each pair, `end[pair]`.

    `person[pair, k]` gave an answer, at hour `at[pair, k]`: -1 and NaN where none came in time. `planned` counts the
    answers that the protocol may ask for, and `last` is its last look.
    """

    answers: Array
    person: Ints
    at: Floats
    end: Ints
    carried: ClockedAnswers
    planned: int
    last: int


def follow_on_clock(
    prepared: PreparedPreferences, clock: Clock, order: AskingOrder, stops: Stops, place: Place, n_systems: int
) -> ClockedPreferences:
    """Follow the protocol as comparisons come, one task each, done by whoever is free; return the answers in time.

    Comparisons that turn out to be void after their look are made again, count at the end, and lead to no new look. A
    batch that is incomplete when the campaign ends was paid, but is not used.
    """
    can = order.would >= 0
    cost = np.add.reduceat(can, order.looks[:-1], axis=1, dtype=np.int64)
    cost = np.concatenate([np.zeros((len(can), 1), np.int64), cost], axis=1)
    wait, heard = prepared.design.wait, order.would
    rounds = Rounds(cost, order.pairs, prepared.budget.annotations, wait, lambda end: stops(hearing.value, end))
    asking = Asking(can, order.looks, rounds)
    # Who clicks without looking does not know which of the two systems stands on which side.
    chance = stream(prepared.seed, *place.of_study, "clock", "lapses")
    hearing = Hearing(heard, asking, chance, lambda outcome: 2 - outcome)
    carried = carry_out(
        clock,
        place,
        asking.begin(),
        seats=None,
        n_systems=n_systems,
        more=asking.find_next_tasks,
        hears=hearing.record_answer,
    )
    person, at = np.full(can.shape, -1), np.full(can.shape, np.nan)
    where = asking.unit[carried.task], asking.at[carried.task]
    person[where], at[where] = carried.person, carried.at
    end = find_complete_looks(person >= 0, can, order.looks, rounds.end)
    values = hearing.select_values(carried.task, carried.person)
    planned = carried.planned
    if not rounds.ran_out:
        # Rules may leave batches that others could not have been asked for.
        planned = max(planned, int(count_requests(cost[None], prepared.budget.annotations, order.pairs[None])[0]))
    return ClockedPreferences(values, person, at, end, carried, planned, cost.shape[1] - 1)


def account(came: ClockedPreferences, stop: Bools, person: Ints) -> dict[str, float]:
    """Return `Collected.paid` of a campaign on a clock: comparisons planned, used, lost, left open, and its end.

    Answers of a batch that was not completed are lost. The end is `DECIDED` where the rule ended every pair
    (`stop[pair]`) that lacks answers; `person[k]` gave the k-th answer that was used.
    """
    carried, planned, used = came.carried, came.planned, len(person)
    unread, ended_by = len(carried.task) - used, carried.ended_by
    if (stop | (came.end == came.last)).all() or ended_by == ALL_CAME:
        ended_by = DECIDED
    if used == planned:
        ended_by = ALL_CAME
    ledger = settle_account(
        planned=planned,
        used=used,
        lost=carried.lost + unread,
        ended_by=ended_by,
        hours=carried.hours,
        days=carried.end / 24,
    )
    return {"ratings": used, "cost": carried.paid, "load_entropy": load_entropy(carried, person), **ledger}
