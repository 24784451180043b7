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
from simlab.studies.ratings.preparing import Prepared
from simlab.types import (
    RATE,
    Anew,
    Array,
    Asked,
    Bools,
    Collected,
    DesignFailure,
    Floats,
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
    carried = carry_out(
        clock,
        place,
        dealt.tasks,
        seats=frame.n_raters,
        n_systems=frame.n_systems,
        strangers=world.again is not None,
    )
    names, seen = _revealed(prepared, clock, world, dealt, carried, noise, place)
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
    slot = asked.slot[system, document, k]
    unit = table.groups.unit[system, document]
    segments = np.bincount(frame.document, minlength=frame.n_documents)
    starts = np.cumsum(segments) - segments
    # A task is a unit with one of its raters; tasks are numbered at random, and so are the screens of each.
    number = unit * asked.slot.shape[2] + k
    named, task = np.unique(number, return_inverse=True)
    task = rng.permutation(len(named))[task]
    order = np.lexsort((rng.random(len(task)), task))
    task, system, document, k, slot = (array[order] for array in (task, system, document, k, slot))
    sizes = segments[document]
    screen = np.repeat(np.arange(len(task)), sizes)
    item = starts[document][screen] + np.arange(len(screen)) - (np.cumsum(sizes) - sizes)[screen]
    first = np.flatnonzero(np.diff(task, prepend=-1))
    tasks = Tasks(
        size=np.add.reduceat(sizes, first),
        seat=frame.rater[system[first], starts[document[first]], slot[first]],
        may=_may(table, table.groups.unit[system[first], document[first]]),
        apart=table.groups.unit[system[first], document[first]] if asked.slot.shape[2] > 1 else None,
        screen=screen,
    )
    system, slot, k = system[screen], slot[screen], k[screen]
    static = np.lexsort((k, item, system)) if asked.slot.shape[2] > 1 else np.lexsort((item, system))
    rating = np.empty(len(screen), np.int64)
    rating[static] = np.arange(len(screen))
    return Dealt(tasks, system[static], item[static], slot[static], rating)


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
    order = np.argsort(rating)
    rating, person, at = rating[order], carried.person[order], carried.at[order]
    system, item = dealt.system[rating], dealt.item[rating]
    seat, turn = carried.seat[person], carried.turn[person]
    slot = _slots(world.frame, item, seat)
    value, errors = _answers(prepared, world, noise, place, (system, item, slot), turn)
    whose = lapses(clock, place, person, carried.lapsed[order])
    frame = world.frame
    names = frame.rater_names + tuple(
        f"{frame.rater_names[seat]} ({turn + 1})"
        for seat, turn in zip(carried.seat[frame.n_raters :], carried.turn[frame.n_raters :], strict=True)
    )
    return names, Seen(system, item, person, value[whose], errors[whose], _order(system, at), at)


def _slots(frame: Frame, item: Ints, seat: Ints) -> Ints:
    """Find the slot in which a rater of the pool sits where an item belongs."""
    bucket = frame.bucket[frame.document]
    slot = np.zeros((len(frame.rater_names), int(frame.bucket.max()) + 1), np.int64)
    _, items, slots = np.nonzero(frame.rater >= 0)
    slot[frame.rater[frame.rater >= 0], bucket[items]] = slots
    return slot[seat, bucket[item]]


def _answers(
    prepared: Prepared, world: World, noise: Any, place: Place, asked: tuple[Ints, Ints, Ints], turn: Ints
) -> tuple[Array, Ints]:
    """Let everybody answer: those who were there from the start, and those who came after them as a pool drawn anew."""
    value, errors = world.answers[RATE].answer(noise, *asked)
    errors = np.full(len(value), UNMARKED) if errors is None else errors
    for k in range(1, int(turn.max(initial=0)) + 1):
        theirs = turn == k
        law = _newcomers(prepared.seed, world, place, k).answers[RATE]
        noise = law.draw(stream(prepared.seed, *place.of_study, "noise", "newcomers", k), None)
        value[theirs], marked = law.answer(noise, *(column[theirs] for column in asked))
        errors[theirs] = UNMARKED if marked is None else marked
    return value, errors


def _newcomers(seed: int, world: World, place: Place, turn: int) -> World:
    """Draw the people who come after others in the same seats: the same in all studies of a pool."""
    if world.again is None:
        raise ValueError("newcomers of a world that cannot be drawn anew, which a check refuses")
    return world.again(
        Anew(
            stream(seed, *place.of_pool, "raters", "newcomers", turn),
            None,
            stream(seed, *place.of_world, "both", "newcomers", turn),
        )
    )


def _order(unit: Ints, at: Floats) -> Ints:
    """Count the answers about each unit as they came."""
    order = np.lexsort((at, unit))
    place = np.empty(len(unit), np.int64)
    place[order] = np.arange(len(unit)) - np.searchsorted(unit[order], unit[order])
    return place


def refuse_nothing(collected: Collected, totals: Floats, ended_by: str) -> None:
    """Raise DesignFailure where a system has no document that was rated in whole."""
    missing = np.flatnonzero(np.isnan(totals).all(axis=0))
    if len(missing):
        name = collected.frame.system_names[missing[0]]
        raise DesignFailure(f"{ended_by} before a document of {name} was rated in whole")
