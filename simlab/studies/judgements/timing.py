"""Collect judgements on a clock: who judges what when, and what came before time or money ran out.

Outputs are judged one after the other, those of all systems in turn, by whoever is free; calibration comes first, since
the metric is to be known. A rule that ends the judging of a system looks once its batch has come, and frees its raters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from simlab.design.waiting import Rounds
from simlab.rng import stream
from simlab.studies.asking import Asking
from simlab.studies.clocked import Carried, Clock, carry_out, load_entropy
from simlab.studies.hearing import Hearing
from simlab.studies.judgements.preparing import Prepared
from simlab.studies.judgements.spending import Beside
from simlab.studies.judgements.stopping import stopped
from simlab.studies.money import bill, limit, settled
from simlab.types import ALL_CAME, DECIDED, Bools, Collected, DesignFailure, Floats, Ints, Place, Seen

LEAST = 3
"""Judgements of a system, from documents of their own, of which an interval can be told: those of a baseline, too."""


def timed(
    prepared: Prepared, clock: Clock, whole: Collected, beside: Beside, place: Place
) -> Collected | DesignFailure:
    """Reveal of a `whole` campaign what came in time; fail where that is too little to be analysed."""
    n_systems = whole.frame.n_systems
    would = whole.seen.value.reshape(n_systems, -1)
    try:
        carried, heard, asking = _carried(prepared, clock, whole, would, beside, place)
    except DesignFailure as failure:
        return failure
    own = asking.unit[carried.task] >= 0
    person, at = np.full(would.shape, -1), np.full(would.shape, np.nan)
    where = asking.unit[carried.task[own]], asking.at[carried.task[own]]
    person[where], at[where] = carried.person[own], carried.at[own]
    if (short := _too_little(prepared, whole, person >= 0, int((~own).sum()), beside)) is not None:
        return short
    came = _seen(whole, heard.said(carried.task, carried.person), person >= 0, at)
    known = {**whole.known, "outputs": would.shape[1], "log": carried.log, "person": person[came.unit, came.item]}
    held = replace(whole, seen=came, known=known)
    narrow = np.zeros(n_systems, bool)
    if prepared.stops is not None:
        ended = stopped(prepared, held)
        narrow = ended.narrow
        held = replace(held, known={**known, "ended": ended})
    return replace(held, paid=_paid(prepared, carried, held, beside, would.size, narrow=narrow))


def _carried(
    prepared: Prepared, clock: Clock, whole: Collected, would: Floats, beside: Beside, place: Place
) -> tuple[Carried, Hearing, Asking]:
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
    money = limit(clock.budget, n_systems)
    if money is not None:
        # What the metric says is paid first.
        calls = n_systems * beside.metric * prepared.prices.metric_call
        clock = clock._replace(budget={"total": money - calls})
    carried = carry_out(
        clock,
        place,
        asking.begin(),
        seats=None,
        n_systems=n_systems,
        more=asking.more,
        hears=hearing.hear,
        calibration=beside.calibration,
    )
    return carried, hearing, asking


def _stops(
    prepared: Prepared, whole: Collected, would: Floats, looks: Ints, said: Callable[[], Floats]
) -> Callable[[Ints], Bools]:
    """Say which systems a rule ends after so many looks, given what was said, which may not be what was expected."""
    if prepared.stops is None:
        return lambda end: np.zeros(len(would), bool)
    expected = stopped(prepared, whole)
    known: dict[tuple[int, int], bool] = {}

    def ends(system: int, look: int) -> bool:
        n = looks[look]
        read = np.arange(would.shape[1]) < n
        if np.array_equal(said()[system, :n], would[system, :n]):
            return bool(expected.narrow[system] and expected.n[system] <= n)
        came = (np.arange(len(would)) == system)[:, None] & read
        one = replace(whole, seen=_seen(whole, said(), came, None))
        return bool(stopped(prepared, one, np.array([system])).narrow[0])

    def stops(end: Ints) -> Bools:
        for system, look in enumerate(end.tolist()):
            if (system, look) not in known:
                known[system, look] = look > 0 and ends(system, look)
        return np.array([known[system, look] for system, look in enumerate(end.tolist())])

    return stops


def _seen(whole: Collected, said: Floats, came: Bools, at: Floats | None) -> Seen:
    seen, kept = whole.seen, came.ravel()
    return Seen(
        seen.unit[kept],
        seen.item[kept],
        seen.rater[kept],
        said.ravel()[kept],
        seen.errors[kept],
        at=None if at is None else at.ravel()[kept],
    )


def _too_little(
    prepared: Prepared, whole: Collected, came: Bools, calibrated: int, beside: Beside
) -> DesignFailure | None:
    """Say why what came cannot be analysed; None where it can."""
    if calibrated < beside.calibration:
        return DesignFailure(
            f"the campaign ended after {calibrated} of {beside.calibration} calibration ratings, and the metric is not "
            "known"
        )
    n = (
        int(came.all(0).sum())
        if prepared.design["shared_inputs"] and prepared.stops is None
        else int(came.sum(1).min())
    )
    least = min((LEAST - 1) * int(whole.known["outputs_per_document"]) + 1, came.shape[1])
    if n < least:
        return DesignFailure(f"the campaign ended with {n} judgements of some system, and {least} are needed")
    return None


def _paid(
    prepared: Prepared, carried: Carried, held: Collected, beside: Beside, asked: int, *, narrow: Bools
) -> dict[str, float]:
    """Account for a campaign: what was planned, used, lost and left open, and what it cost."""
    calls = beside.systems * beside.metric
    planned, used = asked + beside.calibration, len(held.seen.value) + beside.calibration
    ended_by = carried.ended_by
    if narrow.all() or ended_by == ALL_CAME:
        ended_by = DECIDED if used < planned else ALL_CAME
    price, own = prepared.prices, len(held.seen.value)
    # What is paid beside the answers that count is shared with calibration, by the number of ratings.
    rest = carried.paid - bill(price, answers=own, calibration=beside.calibration)
    return {
        "ratings": used,
        "metric": calls,
        "cost": carried.paid + calls * price.metric_call,
        "human_cost": bill(price, answers=own) + rest * own / max(used, 1),
        "load_entropy": load_entropy(carried, held.known["person"]),
        **settled(
            planned=planned,
            used=used,
            lost=carried.lost,
            ended_by=ended_by,
            hours=carried.hours,
            days=carried.end / 24,
        ),
    }
