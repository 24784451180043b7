"""Collect human judgements, and a metric's scores, of single outputs.

Call `lay` once per world, `draw` once per study, then `collect`, which returns a `Campaign` for each place (a study).
`prepared` is the bound study. On a clock the outputs of all systems are judged in turn, by whoever is free, calibration
first; a rule that ends the judging of a system is asked after each batch, and frees its raters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from simlab.design.waiting import Rounds
from simlab.rng import recall, stream
from simlab.studies.batch_tasks import Asking, Hearing
from simlab.studies.campaign_clock import Clock, ClockedAnswers, carry_out, load_entropy
from simlab.studies.judgements.preparing import PreparedJudgements
from simlab.studies.judgements.spending import Beside, account_of, count_paid
from simlab.studies.judgements.stopping import apply_stopping_rule
from simlab.studies.money import MoneyLimits, bill, limit, settle_account
from simlab.types import (
    ALL_CAME,
    DECIDED,
    JUDGE,
    Bools,
    Campaign,
    Collected,
    DesignFailure,
    Floats,
    InputError,
    Ints,
    KnownRates,
    Place,
    Seen,
    Streams,
    World,
)
from simlab.world.laws.judgements import Needs, OutputSample, Potential, Quality, require_judgements

LEAST = 3
"""Fewest judgements of a system, from documents of their own, that give an interval; also of a baseline."""
_REACH = 3.0
"""Standard deviations beyond which a metric's scores are cut off, so that no single bet of a rule ruins it."""


class JudgingBasis(NamedTuple):
    """Data shared by all studies of a world: numbers of outputs (`needs`), true quality of judges and metric."""

    needs: Needs
    quality: Quality


def lay(prepared: PreparedJudgements, world: World, place: Place) -> JudgingBasis:
    """Work out the numbers of ratings, and draw the test set if it is finite.

    Raises InputError where the budget pays none, or the world has too few outputs.
    """
    law = require_judgements(world)
    needs = plan(prepared, world)
    if law.contest.fixed:
        rng = stream(prepared.seed, *place.of_documents, "test_set")
        needs = needs._replace(test_set=law.outputs(rng, law.contest.n_items, world.metric, shared=needs.shared))
    return JudgingBasis(needs, law.quality(world.metric))


def plan(prepared: PreparedJudgements, world: World) -> Needs:
    """Read the numbers of ratings from the budget; raise InputError where it pays none, or outputs are too few."""
    budget, design, contest = prepared.budget, prepared.design, require_judgements(world).contest
    # What an estimator does not look at is not paid.
    metric = world.metric is not None and not prepared.human_only
    calibration = budget.calibration_ratings if metric and prepared.calibrates else 0
    payers = world.frame.n_systems if design.calibration == "shared" else 1
    rest = budget.metric_ratings
    if contest.fixed != (rest is None) and metric:
        raise InputError(
            "budget.metric_ratings: with systems.test_set=fixed the metric rates all outputs; set it to null"
            if contest.fixed
            else "budget.metric_ratings=null needs systems.test_set=fixed; give a number of outputs"
        )
    rated = (contest.n_items if rest is None else rest) if metric else 0
    human = count_paid(prepared, Beside(world.frame.n_systems, rated, world.frame.n_systems // payers * calibration))
    if contest.fixed and not design.replacement and human > contest.n_items:
        raise InputError(
            f"budget.human_ratings={human} exceeds the {contest.n_items} outputs of the test set; lower it, "
            "raise systems.n_items or set design.replacement=true"
        )
    return Needs(
        human, rated, calibration, payers, design.shared_inputs, design.replacement, None, world.metric,
        prepared.each,
    )  # fmt: skip


def draw(prepared: PreparedJudgements, world: World, laid: JudgingBasis, place: Place) -> Potential:
    """Draw as many outputs as the budget asks, their judgements, and the metric's scores."""
    others = recall(prepared.seed, *place.of_study, "raters") if place.pool else None
    # Many cells draw these numbers alike, so that they are held (see `rng.Remembered`).
    return require_judgements(world).draw(recall(prepared.seed, *place.of_inputs, "outputs"), laid.needs, others)


def document_set(prepared: PreparedJudgements, world: World, study: int) -> int:
    """Return the index of a study's test set."""
    return 0 if require_judgements(world).contest.fixed else study


def collect(
    prepared: PreparedJudgements, world: World, laid: JudgingBasis, noise: Iterator[Potential], places: Sequence[Place]
) -> list[Campaign | DesignFailure]:
    """Return for each place (a study) its campaign: judgements, metric scores, known facts; or why it failed.

    `noise` yields for each place the result of `draw`.
    """
    common = _make_common(prepared, world, laid)
    each = (
        _collect(prepared, world, laid, common, potential, place)
        for potential, place in zip(noise, places, strict=True)
    )
    return [collected if isinstance(collected, DesignFailure) else Campaign(collected, None) for collected in each]


class _Common(NamedTuple):
    """Layout shared by all studies of a world: `unit[k]` (the system), `item[k]` and `slot[k]` of each judgement.

    `none[k]` is -1; `scale` are mean and standard deviation of the metric's scores of a finite test set, `[system]`;
    `known` and `paid` are those of `Collected` where neither a clock nor a rule ends judging.
    """

    unit: Ints
    item: Ints
    slot: Ints
    none: Ints
    scale: tuple[Floats, Floats] | None
    known: dict[str, Any]
    paid: dict[str, float]


def _make_common(prepared: PreparedJudgements, world: World, laid: JudgingBasis) -> _Common:
    n_systems = world.frame.n_systems
    unit, item = (index.ravel() for index in np.indices((n_systems, laid.needs.human)))
    scale = _scale(laid.needs.test_set)
    # What the metric says is divided by its spread, so that the slope on it grows by as much.
    slope = laid.quality.slope if scale is None else laid.quality.slope * scale[1]
    return _Common(
        unit,
        item,
        np.zeros_like(item),
        np.full(len(unit), -1),
        scale,
        _describe_world(prepared, world, laid) | {"slope": slope},
        _prices(prepared, laid.needs, n_systems * laid.needs.human, n_systems),
    )


def _collect(
    prepared: PreparedJudgements, world: World, laid: JudgingBasis, common: _Common, potential: Potential, place: Place
) -> Collected | DesignFailure:
    g = potential.metric_score
    if g is not None and common.scale is not None:
        mean, spread = common.scale
        g = (g - mean[:, None]) / np.where(spread > 0, spread, 1.0)[:, None]
    answers = world.answers[JUDGE].answer(potential, common.unit, common.item, common.slot)
    collected = Collected(
        frame=world.frame,
        documents=None,
        asked=None,
        seen=Seen(common.unit, common.item, common.none, answers.value, common.none),
        metric=g,
        known=common.known | _describe_study(potential),
        paid=common.paid,
        streams=Streams(prepared.seed, place.of_study),
    )
    if prepared.clock is not None:
        facts = {} if prepared.stops is None else stopping_facts(laid.needs, potential, g, scale_of(world))
        whole = replace(collected, known={**collected.known, **facts})
        return reveal_in_time(prepared, prepared.clock, whole, count_extras(laid.needs, world.frame.n_systems), place)
    return collected if prepared.stops is None else _stop_early(prepared, world, laid, potential, collected)


def _stop_early(
    prepared: PreparedJudgements, world: World, laid: JudgingBasis, potential: Potential, whole: Collected
) -> Collected:
    """Reveal the judgements of each system up to where its rule ends them; those after that are not paid."""
    known = dict(whole.known) | stopping_facts(laid.needs, potential, whole.metric, scale_of(world))
    ended = apply_stopping_rule(prepared, replace(whole, known=known))
    seen = whole.seen
    came = seen.item < ended.n[seen.unit]
    kept = Seen(seen.unit[came], seen.item[came], seen.rater[came], seen.value[came], seen.errors[came])
    paid = _prices(prepared, laid.needs, int(came.sum()), world.frame.n_systems, open_=not ended.narrow.all())
    return replace(whole, seen=kept, known=known | {"ended": ended}, paid=paid)


def _scale(test_set: OutputSample | None) -> tuple[Floats, Floats] | None:
    """Return mean and spread of what the metric says of a test set: it is standardised over all that it has rated."""
    if test_set is None or test_set.metric_score is None:
        return None
    return test_set.metric_score.mean(1), test_set.metric_score.std(1)


def _describe_world(prepared: PreparedJudgements, world: World, laid: JudgingBasis) -> dict[str, Any]:
    """Return what an analyst is told of a world beside the judgements; see `Judged`."""
    law = require_judgements(world)
    finite = laid.needs.test_set is not None and not prepared.design.replacement
    return {
        "binary": law.judges.scale == "binary",
        "outputs_per_document": law.contest.documents.size,
        "nominal": world.metric.nominal if world.metric is not None else None,
        "annotator_variance": law.annotator_variance(),
        "test_set": law.contest.n_items if finite else None,
    }


def _describe_study(potential: Potential) -> dict[str, Any]:
    """Return what an analyst is told of a study: what the metric says of other outputs, and which came together."""
    return {
        "rest": potential.rest,
        "calibration": potential.calibration,
        "document": potential.document,
        "parts": potential.parts,
        "calibration_parts": potential.calibration_parts,
    }


def count_extras(needs: Needs, n_systems: int) -> Beside:
    """Return the numbers of metric calls and calibration ratings that are paid beside judgements."""
    return Beside(n_systems, needs.metric, n_systems // needs.payers * needs.calibration)


def _prices(
    prepared: PreparedJudgements, needs: Needs, human: int, n_systems: int, *, open_: bool = True
) -> dict[str, float]:
    """Pay for so many judgements of all systems; `open_`: there is one that no rule had ended."""
    others, price = count_extras(needs, n_systems), prepared.prices
    calls = n_systems * needs.metric
    return {
        "ratings": human + others.calibration,
        "metric": calls,
        "cost": bill(price, answers=human, metric_calls=calls, calibration=others.calibration),
        "human_cost": bill(price, answers=human),
    } | account_of(prepared, others, needs.human, human, open_=open_)


def reveal_in_time(
    prepared: PreparedJudgements, clock: Clock, whole: Collected, beside: Beside, place: Place
) -> Collected | DesignFailure:
    """Return the part of a `whole` campaign (without a clock) that came in time; fail where it is too little.

    `beside` counts metric calls and calibration ratings, which are paid beside judgements.
    """
    n_systems = whole.frame.n_systems
    would = whole.seen.value.reshape(n_systems, -1)
    try:
        carried, heard, asking = _carry_out(prepared, clock, whole, would, beside, place)
    except DesignFailure as failure:
        return failure
    own = asking.unit[carried.task] >= 0
    person, at = np.full(would.shape, -1), np.full(would.shape, np.nan)
    where = asking.unit[carried.task[own]], asking.at[carried.task[own]]
    person[where], at[where] = carried.person[own], carried.at[own]
    if (short := _explain_shortage(prepared, whole, person >= 0, int((~own).sum()), beside)) is not None:
        return short
    came = _select_seen(whole, heard.select_values(carried.task, carried.person), person >= 0, at)
    known = {**whole.known, "outputs": would.shape[1], "log": carried.log, "person": person[came.unit, came.item]}
    collected = replace(whole, seen=came, known=known)
    narrow = np.zeros(n_systems, bool)
    if prepared.stops is not None:
        ended = apply_stopping_rule(prepared, collected)
        narrow = ended.narrow
        collected = replace(collected, known={**known, "ended": ended})
    return replace(collected, paid=_account(prepared, carried, collected, beside, would.size, narrow=narrow))


def _carry_out(
    prepared: PreparedJudgements, clock: Clock, whole: Collected, would: Floats, beside: Beside, place: Place
) -> tuple[ClockedAnswers, Hearing, Asking]:
    n_systems, n = would.shape
    looks = np.append(np.arange(0, n, prepared.batch or n), n)
    cost = np.broadcast_to(np.diff(looks, prepend=0), (n_systems, len(looks)))
    stops = _stops(prepared, whole, would, looks, lambda: hearing.value)
    asking = Asking(
        np.ones(would.shape, bool),
        looks,
        Rounds(cost, np.arange(n_systems), None, "pair", stops),
        before=beside.calibration,
        by_output=True,
    )
    hearing = Hearing(would, asking, stream(prepared.seed, *place.of_study, "clock", "lapses"))
    money = limit(clock.limits, n_systems)
    if money is not None:
        # What the metric says is paid first.
        calls = n_systems * beside.metric * prepared.prices.metric_call
        clock = clock._replace(limits=MoneyLimits(total=money - calls))
    carried = carry_out(
        clock,
        place,
        asking.begin(),
        seats=None,
        n_systems=n_systems,
        more=asking.find_next_tasks,
        hears=hearing.record_answer,
        calibration=beside.calibration,
    )
    return carried, hearing, asking


def _stops(
    prepared: PreparedJudgements, whole: Collected, would: Floats, looks: Ints, read_values: Callable[[], Floats]
) -> Callable[[Ints], Bools]:
    """Return a callable `stops(end)` that marks the systems which the rule ends at looks `end[system]`.

    `would[system, n]` are the judgements if nobody lapses, `read_values()` the latest ones, which may differ.
    """
    if prepared.stops is None:
        return lambda end: np.zeros(len(would), bool)
    expected = apply_stopping_rule(prepared, whole)
    known: dict[tuple[int, int], bool] = {}

    def ends(system: int, look: int) -> bool:
        n = looks[look]
        read = np.arange(would.shape[1]) < n
        # All was said as expected, so that what the rule says of it is known.
        if np.array_equal(read_values()[system, :n], would[system, :n]):
            return bool(expected.narrow[system] and expected.n[system] <= n)
        came = (np.arange(len(would)) == system)[:, None] & read
        part = replace(whole, seen=_select_seen(whole, read_values(), came, None))
        return bool(apply_stopping_rule(prepared, part, np.array([system])).narrow[0])

    def stops(end: Ints) -> Bools:
        for system, look in enumerate(end.tolist()):
            if (system, look) not in known:
                known[system, look] = look > 0 and ends(system, look)
        return np.array([known[system, look] for system, look in enumerate(end.tolist())])

    return stops


def _select_seen(whole: Collected, values: Floats, came: Bools, at: Floats | None) -> Seen:
    seen, kept = whole.seen, came.ravel()
    return Seen(
        seen.unit[kept],
        seen.item[kept],
        seen.rater[kept],
        values.ravel()[kept],
        seen.errors[kept],
        at=None if at is None else at.ravel()[kept],
    )


def _explain_shortage(
    prepared: PreparedJudgements, whole: Collected, came: Bools, calibrated: int, beside: Beside
) -> DesignFailure | None:
    """Explain why what came cannot be analysed; None where it can."""
    if calibrated < beside.calibration:
        return DesignFailure(
            f"the campaign ended after {calibrated} of {beside.calibration} calibration ratings, and the metric is not "
            "known"
        )
    n = int(came.all(0).sum()) if prepared.design.shared_inputs and prepared.stops is None else int(came.sum(1).min())
    # However they fall into documents, so many judgements are from LEAST of them.
    least = min((LEAST - 1) * int(whole.known["outputs_per_document"]) + 1, came.shape[1])
    if n < least:
        return DesignFailure(f"the campaign ended with {n} judgements of some system, and {least} are needed")
    return None


def _account(
    prepared: PreparedJudgements,
    carried: ClockedAnswers,
    collected: Collected,
    beside: Beside,
    requested: int,
    *,
    narrow: Bools,
) -> dict[str, float]:
    """Return `Collected.paid` of a campaign on a clock: ratings planned, used, lost and left open, and costs.

    `requested` judgements were asked for of all systems, and `narrow` marks the systems that a rule ended.
    """
    calls = beside.systems * beside.metric
    planned, used = requested + beside.calibration, len(collected.seen.value) + beside.calibration
    ended_by = carried.ended_by
    complete = np.bincount(collected.seen.unit, minlength=beside.systems) * beside.systems == requested
    if (narrow | complete).all() or ended_by == ALL_CAME:
        ended_by = DECIDED if used < planned else ALL_CAME
    price, own = prepared.prices, len(collected.seen.value)
    # What is paid beside the answers that count is shared with calibration, by the number of ratings.
    rest = carried.paid - bill(price, answers=own, calibration=beside.calibration)
    return {
        "ratings": used,
        "metric": calls,
        "cost": carried.paid + calls * price.metric_call,
        "human_cost": bill(price, answers=own) + rest * own / max(used, 1),
        "load_entropy": load_entropy(carried, collected.known["person"]),
        **settle_account(
            planned=planned,
            used=used,
            lost=carried.lost,
            ended_by=ended_by,
            hours=carried.hours,
            days=carried.end / 24,
        ),
    }


def stopping_facts(
    needs: Needs, potential: Potential, g: Floats | None, scale: tuple[float, float] | None
) -> dict[str, Any]:
    """Return the facts that a stopping rule may use before any judgement, by field of `JudgementSequence`.

    `g[system, n]` are the metric's scores of the judged outputs (None: no metric), `scale` the ends of the judgements'.
    """
    n_systems, planned = potential.y.shape
    facts: dict[str, Any] = {"planned": planned, "scale": scale, "other": None, "fresh": 0, "metric_scale": None}
    if g is None:
        return facts
    if needs.test_set is not None and needs.test_set.metric_score is not None:
        # g is standardised over the test set.
        scores = needs.test_set.metric_score
        spread = scores.std(1)
        ends = (np.stack([scores.min(1), scores.max(1)]) - scores.mean(1)) / np.where(spread > 0, spread, 1.0)
        return facts | {"other": np.zeros((n_systems, planned)), "metric_scale": ends}
    # Each step takes scores that no other has used: with averages known beforehand bets would not have mean 0.
    fresh = 0 if potential.others is None else potential.others.shape[1] // planned
    if potential.others is None or not fresh:
        return facts
    law = needs.law_of_metric
    binary = law is not None and (isinstance(law.nominal, KnownRates) or law.threshold is not None)
    low, high = (0.0, 1.0) if binary else (-_REACH, _REACH)
    steps = np.clip(potential.others[:, : fresh * planned], low, high).reshape(n_systems, planned, fresh)
    bounds = np.repeat([[low], [high]], n_systems, axis=1)
    return facts | {"other": steps.mean(2), "fresh": fresh, "metric_scale": bounds}


def scale_of(world: World) -> tuple[float, float] | None:
    """Return the least and the largest judgement of the scale; None where it has no ends, or they are not known."""
    law = require_judgements(world)
    return law.ends() if law.judges.scale == "binary" else None
