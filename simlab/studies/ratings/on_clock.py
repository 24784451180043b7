"""Collect ratings on a clock: lay out what is dealt as tasks, let people work, reveal what came.

A task is what the grouping puts together (all systems' outputs of a document, or one of them) for one of its raters; a
screen is one output, with all its segments. In which order somebody gets their tasks, and a task shows its outputs, is
the clock's chance, so that a deadline does not always cost the same systems.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from simlab.design.balance import Table
from simlab.rng import stream
from simlab.studies.clocked import Carried, Clock, carry_out, lapses
from simlab.studies.money import bill
from simlab.studies.ratings.assigning import Platform
from simlab.studies.ratings.cutting import metric_calls
from simlab.studies.ratings.newcomers import newcomers
from simlab.studies.ratings.preparing import Prepared
from simlab.types import (
    DEADLINE,
    MONEY,
    NOBODY,
    RATE,
    Array,
    Asked,
    Bools,
    Collected,
    DesignFailure,
    Frame,
    Ints,
    Place,
    Seen,
    Streams,
    Tasks,
    World,
)
from simlab.world.laws.fixed import UNMARKED


class Dealt(NamedTuple):
    """Hold the ratings that a design asks for as the tasks they make.

    `system`, `item`, `slot`, in the order of their arrays without a clock; `rating[answer]` is the number of the rating
    that each answer is, tasks one after the other.
    """

    tasks: Tasks
    system: Ints
    item: Ints
    slot: Ints
    rating: Ints


def collected_on_clock(
    prepared: Prepared,
    clock: Clock,
    world: World,
    table: Table,
    documents: Bools,
    asked: Asked,
    noise: Any,
    place: Place,
) -> Collected:
    """Let the raters whom a design asks rate, and reveal what came in time.

    Raises DesignFailure where a system has no document that was rated in whole.
    """
    frame = world.frame
    dealt = lay_out(stream(prepared.seed, *place.of_study, "clock", "order"), table, frame, asked)
    platform = Platform(prepared, world, table, dealt, noise, place)
    carried = carry_out(
        clock,
        place,
        platform.tasks,
        seats=frame.n_raters,
        n_systems=frame.n_systems,
        more=platform.more if platform.watches else None,
        choose=platform.choose if platform.watches else None,
        strangers=world.again is not None,
        speeds=world.speeds,
        beside=bill(prepared.prices, answers=0, metric_calls=metric_calls(world)),
    )
    dealt = platform.dealt
    names, seen = _revealed(prepared, clock, world, dealt, carried, noise, place)
    if len(seen.value) < len(dealt.rating):
        _refuse_unrated(frame, seen, carried)
    return Collected(
        frame=frame if len(names) == frame.n_raters else replace(frame, rater_names=names),
        documents=documents,
        asked=asked,
        seen=seen,
        metric=world.metric,
        known={"log": carried.log},
        paid=carried.settled,
        streams=Streams(prepared.seed, place.of_study),
    )


def lay_out(rng: np.random.Generator, table: Table, frame: Frame, asked: Asked) -> Dealt:
    """Make tasks of a deal: each unit once for each of its raters, in random order, its outputs in random order."""
    system, document, k = np.nonzero(asked.slot >= 0)
    unit, k_most = table.groups.unit[system, document], asked.slot.shape[2]
    # A task is a unit with one of its raters; tasks are numbered at random, and so are the screens of each.
    named, task = np.unique(unit * k_most + k, return_inverse=True)
    task = rng.permutation(len(named))[task]
    order = np.lexsort((rng.random(len(task)), task))
    task, system, document, k, unit = (array[order] for array in (task, system, document, k, unit))
    slot = asked.slot[system, document, k]
    segments = np.bincount(frame.document, minlength=frame.n_documents)
    starts, sizes = np.cumsum(segments) - segments, segments[document]
    first = np.flatnonzero(np.diff(task, prepend=-1))
    screen = np.repeat(np.arange(len(task)), sizes)
    tasks = Tasks(
        size=np.add.reduceat(sizes, first),
        seat=frame.rater[system[first], starts[document[first]], slot[first]],
        may=_may(table, unit[first]),
        apart=unit[first] if k_most > 1 else None,
        screen=screen,
    )
    by_item = asked.slot[:, frame.document, :]
    which = by_item >= 0
    items, segment = len(frame.document), starts[document] - (np.cumsum(sizes) - sizes)
    # The number that a rating has without a clock counts those before it, by system, item and rater.
    place = (system * items + segment)[screen] + np.arange(len(screen))
    number = (np.cumsum(which) - 1)[place * k_most + k[screen]]
    static = np.nonzero(which)
    return Dealt(tasks, static[0], static[1], by_item[static], number)


def _may(table: Table, unit: Ints) -> Bools:
    """Tell which raters of the pool may do a unit alone: `[unit, rater]`."""
    may = np.zeros((len(unit), table.n_raters + 1), bool)
    rows = np.arange(len(unit))
    raters, possible = table.raters[table.bucket[unit]], table.possible[unit]
    for choice in range(raters.shape[1]):
        for k in range(raters.shape[2]):
            may[rows, raters[:, choice, k]] |= possible[:, choice]
    return may[:, :-1]


def _revealed(
    prepared: Prepared, clock: Clock, world: World, dealt: Dealt, carried: Carried, noise: Any, place: Place
) -> tuple[tuple[str, ...], Seen]:
    """Reveal the ratings that came, in the order of their arrays without a clock; name all who work."""
    size = dealt.tasks.size
    rating = dealt.rating[(np.cumsum(size) - size)[carried.task] + carried.part]
    came = np.full(len(dealt.rating), -1)
    came[rating] = np.arange(len(rating))
    rating = np.flatnonzero(came >= 0)
    came = came[rating]
    system, item, person = dealt.system[rating], dealt.item[rating], carried.person[came]
    slot = _slots(world.frame, system, item, dealt.slot[rating], carried.seat[person])
    value, errors = _answers(prepared, world, noise, place, (system, item, slot), carried.turn[person])
    whose = lapses(clock, place, person, carried.lapsed[came])
    order = _order(system, came)
    return _names(world.frame, carried), Seen(
        system, item, person, value[whose], errors[whose], order, carried.at[came]
    )


def _names(frame: Frame, carried: Carried) -> tuple[str, ...]:
    """Name all who work; who comes in place of somebody has their name, and a number."""
    newcomers = zip(carried.seat[frame.n_raters :].tolist(), carried.turn[frame.n_raters :].tolist(), strict=True)
    return frame.rater_names + tuple(f"{frame.rater_names[seat]} ({turn + 1})" for seat, turn in newcomers)


def _slots(frame: Frame, system: Ints, item: Ints, slot: Ints, seat: Ints) -> Ints:
    """Find the slot in which who rated an output sits: that which it was dealt to, or another one."""
    others = np.flatnonzero(frame.rater[system, item, slot] != seat)
    slot = slot.copy()
    slot[others] = (frame.rater[system[others], item[others]] == seat[others, None]).argmax(1)
    return slot


def _answers(
    prepared: Prepared, world: World, noise: Any, place: Place, asked: tuple[Ints, Ints, Ints], turn: Ints
) -> tuple[Array, Ints]:
    """Let everybody answer: those who were there from the start, and those who came after them as a pool drawn anew."""
    value, errors = world.answers[RATE].answer(noise, *asked)
    errors = np.full(len(value), UNMARKED) if errors is None else errors
    for k in range(1, int(turn.max(initial=0)) + 1):
        theirs = turn == k
        law = newcomers(prepared.seed, world, place, k).answers[RATE]
        noise = law.draw(stream(prepared.seed, *place.of_study, "noise", "newcomers", k), None)
        value[theirs], marked = law.answer(noise, *(column[theirs] for column in asked))
        errors[theirs] = UNMARKED if marked is None else marked
    return value, errors


def _order(unit: Ints, came: Ints) -> Ints:
    """Count the answers about each unit as they came; `came[k]` counts all of them."""
    in_time = np.empty(int(came.max(initial=-1)) + 1, np.int16)
    in_time[came] = unit
    order = np.argsort(in_time, kind="stable")
    n = np.bincount(in_time)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order)) - np.repeat(np.cumsum(n) - n, n)
    return place[came]


def _refuse_unrated(frame: Frame, seen: Seen, carried: Carried) -> None:
    """Raise DesignFailure where a system has no document of which every segment was rated."""
    rated = np.zeros((frame.n_systems, len(frame.document)), bool)
    rated[seen.unit, seen.item] = True
    n = np.add.reduceat(rated, np.flatnonzero(np.diff(frame.document, prepend=-1)), axis=1)
    whole = (n == np.bincount(frame.document)).any(1)
    if not whole.all():
        name = frame.system_names[int(np.argmin(whole))]
        raise DesignFailure(
            f"{WORDS[carried.ended_by]} after {len(seen.value)} of {carried.planned} ratings, and of {name} no "
            "document was rated in whole"
        )


WORDS = {MONEY: "the money ran out", DEADLINE: "the deadline came", NOBODY: "nobody was left to work"}
"""What ended a campaign that was not finished."""


def as_dealt(campaign: Collected) -> bool:
    """Tell whether each rating that was dealt came, and from whom it was dealt to."""
    if campaign.asked is None or "log" not in campaign.known:
        return True
    frame, seen = campaign.frame, campaign.seen
    slot = campaign.asked.slot[:, frame.document, :]
    asked = np.nonzero(slot >= 0)
    if len(seen.rater) < len(asked[0]):
        return False
    return bool((frame.rater[asked[0], asked[1], slot[asked]] == seen.rater).all())
