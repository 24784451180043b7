"""Collect judgements of single outputs, and what a metric says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from simlab.rng import remembered, stream
from simlab.studies.judgements.preparing import Prepared
from simlab.studies.judgements.spending import Beside, account_of, paid_human
from simlab.studies.judgements.stopping import stopped
from simlab.studies.judgements.timing import timed
from simlab.studies.judgements.told import scale_of, stopping_facts
from simlab.studies.money import bill
from simlab.types import (
    JUDGE,
    Campaign,
    Collected,
    DesignFailure,
    Floats,
    InputError,
    Ints,
    Place,
    Seen,
    Streams,
    World,
)
from simlab.world.laws.judgements import Needs, Potential, Quality, Sample, judgements_of


class Laid(NamedTuple):
    """Hold what all studies of a world share: how much is judged, and how good judges and metric truly are."""

    needs: Needs
    quality: Quality


def lay(prepared: Prepared, world: World, place: Place) -> Laid:
    """Work out the numbers of ratings, and draw the test set if it is finite.

    Raises InputError where the budget pays none, or outputs lack.
    """
    law = judgements_of(world)
    needs = plan(prepared, world)
    if law.contest.fixed:
        rng = stream(prepared.seed, *place.of_documents, "test_set")
        needs = needs._replace(test_set=law.outputs(rng, law.contest.n_items, world.metric, shared=needs.shared))
    return Laid(needs, law.quality(world.metric))


def plan(prepared: Prepared, world: World) -> Needs:
    """Read the numbers of ratings from the budget; raise InputError where it pays none, or outputs lack."""
    budget, design, contest = prepared.budget, prepared.design, judgements_of(world).contest
    # What an estimator does not look at is not paid.
    metric = world.metric is not None and not prepared.human_only
    calibration = budget["calibration_ratings"] if metric and prepared.calibrates else 0
    payers = world.frame.n_systems if design["calibration"] == "shared" else 1
    rest = budget["metric_ratings"]
    if contest.fixed != (rest is None) and metric:
        raise InputError(
            "budget.metric_ratings: with systems.test_set=fixed the metric rates all outputs; set it to null"
            if contest.fixed
            else "budget.metric_ratings=null needs systems.test_set=fixed; give a number of outputs"
        )
    rated = (contest.n_items if rest is None else rest) if metric else 0
    human = paid_human(prepared, Beside(world.frame.n_systems, rated, world.frame.n_systems // payers * calibration))
    if contest.fixed and not design["replacement"] and human > contest.n_items:
        raise InputError(
            f"budget.human_ratings={human} exceeds the {contest.n_items} outputs of the test set; lower it, "
            "raise systems.n_items or set design.replacement=true"
        )
    return Needs(
        human, rated, calibration, payers, design["shared_inputs"], design["replacement"], None, world.metric,
        prepared.each,
    )  # fmt: skip


def draw(prepared: Prepared, world: World, laid: Laid, place: Place) -> Potential:
    """Draw as many outputs as the budget asks, their judgements, and what the metric says."""
    others = remembered(prepared.seed, *place.of_study, "raters") if place.pool else None
    return judgements_of(world).draw(remembered(prepared.seed, *place.of_inputs, "outputs"), laid.needs, others)


def document_set(prepared: Prepared, world: World, study: int) -> int:
    """Return the index of a study's test set."""
    return 0 if judgements_of(world).contest.fixed else study


def collect(
    prepared: Prepared, world: World, laid: Laid, noise: Iterator[Potential], places: Sequence[Place]
) -> list[Campaign | DesignFailure]:
    """Reveal judgements, what the metric says, and what an analyst is told beforehand."""
    common = _common(prepared, world, laid)
    each = (
        _collected(prepared, world, laid, common, potential, place)
        for potential, place in zip(noise, places, strict=True)
    )
    return [one if isinstance(one, DesignFailure) else Campaign(one, None) for one in each]


class _Common(NamedTuple):
    """Hold what all studies of a world share beside what is laid out: where judgements stand, what one is told."""

    unit: Ints
    item: Ints
    slot: Ints
    none: Ints
    scale: tuple[Floats, Floats] | None
    known: dict[str, Any]
    paid: dict[str, float]


def _common(prepared: Prepared, world: World, laid: Laid) -> _Common:
    n_systems = world.frame.n_systems
    unit, item = (index.ravel() for index in np.indices((n_systems, laid.needs.human)))
    scale = _scale(laid.needs.test_set)
    slope = laid.quality.slope if scale is None else laid.quality.slope * scale[1]
    return _Common(
        unit,
        item,
        np.zeros_like(item),
        np.full(len(unit), -1),
        scale,
        _told(prepared, world, laid) | {"slope": slope},
        _prices(prepared, laid.needs, n_systems * laid.needs.human, n_systems),
    )


def _collected(
    prepared: Prepared, world: World, laid: Laid, common: _Common, potential: Potential, place: Place
) -> Collected | DesignFailure:
    g = potential.said
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
        known=common.known | _of_study(potential),
        paid=common.paid,
        streams=Streams(prepared.seed, place.of_study),
    )
    if prepared.clock is not None:
        facts = {} if prepared.stops is None else stopping_facts(laid.needs, potential, g, scale_of(world))
        whole = replace(collected, known={**collected.known, **facts})
        return timed(prepared, prepared.clock, whole, beside(laid.needs, world.frame.n_systems), place)
    return collected if prepared.stops is None else _stopped(prepared, world, laid, potential, collected)


def _stopped(prepared: Prepared, world: World, laid: Laid, potential: Potential, whole: Collected) -> Collected:
    """Reveal the judgements of each system up to where its rule ends them; those after that are not paid."""
    known = dict(whole.known) | stopping_facts(laid.needs, potential, whole.metric, scale_of(world))
    ended = stopped(prepared, replace(whole, known=known))
    seen = whole.seen
    came = seen.item < ended.n[seen.unit]
    kept = Seen(seen.unit[came], seen.item[came], seen.rater[came], seen.value[came], seen.errors[came])
    paid = _prices(prepared, laid.needs, int(came.sum()), world.frame.n_systems, open_=not ended.narrow.all())
    return replace(whole, seen=kept, known=known | {"ended": ended}, paid=paid)


def _scale(test_set: Sample | None) -> tuple[Floats, Floats] | None:
    """Return mean and spread of what the metric says of a test set: it is standardised over all that it has rated."""
    if test_set is None or test_set.said is None:
        return None
    return test_set.said.mean(1), test_set.said.std(1)


def _told(prepared: Prepared, world: World, laid: Laid) -> dict[str, Any]:
    """Say what an analyst is told of a world beside the judgements; see `Judged`."""
    law = judgements_of(world)
    finite = laid.needs.test_set is not None and not prepared.design["replacement"]
    return {
        "binary": law.judges.scale == "binary",
        "outputs_per_document": law.contest.documents.size,
        "nominal": world.metric.nominal if world.metric is not None else None,
        "annotator_variance": law.annotator_variance(),
        "test_set": law.contest.n_items if finite else None,
    }


def _of_study(potential: Potential) -> dict[str, Any]:
    """Say what an analyst is told of a study: what the metric says of other outputs, and which came together."""
    return {
        "rest": potential.rest,
        "calibration": potential.calibration,
        "document": potential.document,
        "parts": potential.parts,
        "calibration_parts": potential.calibration_parts,
    }


def beside(needs: Needs, n_systems: int) -> Beside:
    """Say what is paid beside judgements."""
    return Beside(n_systems, needs.metric, n_systems // needs.payers * needs.calibration)


def _prices(prepared: Prepared, needs: Needs, human: int, n_systems: int, *, open_: bool = True) -> dict[str, float]:
    """Pay for so many judgements of all systems; `open_`: there is one that no rule had ended."""
    others, price = beside(needs, n_systems), prepared.prices
    calls = n_systems * needs.metric
    return {
        "ratings": human + others.calibration,
        "metric": calls,
        "cost": bill(price, answers=human, metric_calls=calls, calibration=others.calibration),
        "human_cost": bill(price, answers=human),
    } | account_of(prepared, others, needs.human, human, open_=open_)
