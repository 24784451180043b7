"""Collect the comparisons of a campaign on a clock: who compares what when, and how far each pair gets."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from simlab.design.waiting import Rounds
from simlab.rng import stream
from simlab.studies.asking import Asking, whole_looks
from simlab.studies.clocked import Carried, Clock, carry_out, load_entropy
from simlab.studies.hearing import Hearing
from simlab.studies.money import settled
from simlab.studies.preferences.preparing import Prepared
from simlab.studies.preferences.spending import asked_for
from simlab.types import ALL_CAME, DECIDED, Array, Bools, Floats, Ints, Place

Stops = Callable[[Array, Ints], Bools]
"""Say which pairs `[pair]` the rule ends, given what was said of each, `[pair, k]`, and their looks, `[pair]`."""


class Order(NamedTuple):
    """Hold what is asked for: outcomes `would[pair, k]` in the order in which outputs are asked about.

    They are negative where outputs cannot be compared; `looks[look]` are asked about until a look, and pairs are served
    in the order of `pairs`.
    """

    would: Array
    looks: Ints
    pairs: Ints


class Timed(NamedTuple):
    """Hold a campaign that was carried out: what was said, `[pair, k]`, and the last look of each pair.

    By whom, and at which hour: -1 and NaN where nothing came in time. `planned` is what the protocol may ask for, and
    `last` its last look.
    """

    said: Array
    person: Ints
    at: Floats
    end: Ints
    carried: Carried
    planned: int
    last: int


def timed(prepared: Prepared, clock: Clock, order: Order, stops: Stops, place: Place, n_systems: int) -> Timed:
    """Follow the protocol as comparisons come, one task each, done by whoever is free.

    Who is asked about a batch is not asked anew about what was looked at: comparisons that turn out to be void later
    are made again, and count at the end. A batch that is not complete when the campaign ends was paid, and nobody
    looks at it.
    """
    can = order.would >= 0
    cost = np.add.reduceat(can, order.looks[:-1], axis=1, dtype=np.int64)
    cost = np.concatenate([np.zeros((len(can), 1), np.int64), cost], axis=1)
    wait, heard = prepared.design.get("wait", "round"), order.would
    rounds = Rounds(cost, order.pairs, prepared.budget["annotations"], wait, lambda end: stops(hearing.value, end))
    asking = Asking(can, order.looks, rounds)
    # Who clicks without looking does not know which of the two systems stands on which side.
    chance = stream(prepared.seed, *place.of_study, "clock", "lapses")
    hearing = Hearing(heard, asking, chance, lambda outcome: 2 - outcome)
    carried = carry_out(
        clock, place, asking.begin(), seats=None, n_systems=n_systems, more=asking.more, hears=hearing.hear
    )
    person, at = np.full(can.shape, -1), np.full(can.shape, np.nan)
    where = asking.unit[carried.task], asking.at[carried.task]
    person[where], at[where] = carried.person, carried.at
    end = whole_looks(person >= 0, can, order.looks, rounds.end)
    said = hearing.said(carried.task, carried.person)
    planned = carried.planned
    if not rounds.ran_out:
        # Rules may leave batches that others could not have been asked for.
        planned = max(planned, int(asked_for(cost[None], prepared.budget["annotations"], order.pairs[None])[0]))
    return Timed(said, person, at, end, carried, planned, cost.shape[1] - 1)


def account(came: Timed, stop: Bools, person: Ints) -> dict[str, float]:
    """Say what was planned, used, lost and left open, and what ended the campaign; see `Collected.paid`.

    What came of a batch that was not completed is lost, for nobody looks at it. A campaign is decided where its rule
    ended every pair (`stop[pair]`) that lacks something; `person` gave each answer that was used.
    """
    carried, planned, used = came.carried, came.planned, len(person)
    unread, ended_by = len(carried.task) - used, carried.ended_by
    if (stop | (came.end == came.last)).all() or ended_by == ALL_CAME:
        ended_by = DECIDED
    if used == planned:
        ended_by = ALL_CAME
    ledger = settled(
        planned=planned,
        used=used,
        lost=carried.lost + unread,
        ended_by=ended_by,
        hours=carried.hours,
        days=carried.end / 24,
    )
    return {"ratings": used, "cost": carried.paid, "load_entropy": load_entropy(carried, person), **ledger}
