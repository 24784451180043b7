"""Collect ratings on a clock: lay out the ratings of a design as tasks, let people work, reveal the ratings that came.

Call `collect_on_clock` with the bound study, a world and an assignment of documents to raters, which returns
`Collected`. A task is a unit of the grouping (all systems' outputs of a document, or one of them) for one rater; a
screen is one output, with all its segments. The orders of a rater's tasks, and of outputs in a task, are random, so
that a deadline does not always cost the same systems.

While people work, a `Platform` knows the scores of tasks that were handed in, as the seat's first person would give
them without lapses: that somebody lapsed, or has come in their place, shows only afterwards.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from simlab.design.balance import DealTable, overlap
from simlab.rng import stream
from simlab.studies.campaign_clock import Clock, ClockedAnswers, carry_out, lapses
from simlab.studies.money import bill
from simlab.studies.ratings.budget_cuts import metric_calls
from simlab.studies.ratings.preparing import PreparedRatings
from simlab.types import (
    DEADLINE,
    MONEY,
    NOBODY,
    RATE,
    Anew,
    Array,
    Bools,
    Collected,
    DesignFailure,
    Floats,
    Frame,
    Ints,
    Place,
    Queue,
    Seen,
    SlotAssignment,
    Streams,
    Tasks,
    World,
)
from simlab.world.laws.fixed import UNMARKED

WORDS = {MONEY: "the money ran out", DEADLINE: "the deadline came", NOBODY: "nobody was left to work"}
"""Reasons in messages, by the code of what ended an unfinished campaign."""
KEPT = 4
"""Most worlds of newcomers in the cache of a process."""
_drawn: OrderedDict[tuple[int, int, tuple[int, ...], int], tuple[World, World]] = OrderedDict()


class RatingTasks(NamedTuple):
    """Ratings that a design asks for, as tasks of a clock.

    `system[j]`, `item[j]` and `slot[j]` are of the j-th rating, in the order that ratings have without a clock.
    `rating[answer]` is the j of each answer; answers are counted one task after the other.
    """

    tasks: Tasks
    system: Ints
    item: Ints
    slot: Ints
    rating: Ints


def collect_on_clock(
    prepared: PreparedRatings,
    clock: Clock,
    world: World,
    table: DealTable,
    documents: Bools,
    assignment: SlotAssignment,
    noise: Any,
    place: Place,
) -> Collected:
    """Simulate one campaign over time: raters work on the tasks of a design; return the ratings that came in time.

    `documents` marks those asked about, `assignment` says whom the design asks about each, and `table` who could be
    asked. `noise` is what the world's law of ratings drew for this study; `place` says which study it is.

    Raises DesignFailure where a system has no document that was rated in whole.
    """
    frame = world.frame
    dealt = lay_out(stream(prepared.seed, *place.of_study, "clock", "order"), table, frame, assignment)
    platform = Platform(prepared, world, table, dealt, noise, place)
    carried = carry_out(
        clock,
        place,
        platform.tasks,
        seats=frame.n_raters,
        n_systems=frame.n_systems,
        more=platform.find_next_tasks if platform.watches else None,
        choose=platform.choose if platform.watches else None,
        strangers=world.again is not None,
        speeds=world.speeds,
        beside=bill(prepared.prices, answers=0, metric_calls=metric_calls(world)),
    )
    dealt = platform.dealt
    names, seen = _reveal(prepared, clock, world, dealt, carried, noise, place)
    if len(seen.value) < len(dealt.rating):
        _refuse_unrated(frame, seen, carried)
    return Collected(
        frame=frame if len(names) == frame.n_raters else replace(frame, rater_names=names),
        documents=documents,
        asked=assignment,
        seen=seen,
        metric=world.metric,
        known={"log": carried.log},
        paid=carried.settled,
        streams=Streams(prepared.seed, place.of_study),
    )


def lay_out(rng: np.random.Generator, table: DealTable, frame: Frame, assignment: SlotAssignment) -> RatingTasks:
    """Make tasks of a deal: each unit once for each of its raters, in random order, its outputs in random order."""
    system, document, k = np.nonzero(assignment.slot >= 0)
    unit, k_most = table.groups.unit[system, document], assignment.slot.shape[2]
    # A task is a unit with one of its raters; tasks are numbered at random, and so are the screens of each.
    named, task = np.unique(unit * k_most + k, return_inverse=True)
    task = rng.permutation(len(named))[task]
    order = np.lexsort((rng.random(len(task)), task))
    task, system, document, k, unit = (array[order] for array in (task, system, document, k, unit))
    slot = assignment.slot[system, document, k]
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
    by_item = assignment.slot[:, frame.document, :]
    which = by_item >= 0
    items, segment = len(frame.document), starts[document] - (np.cumsum(sizes) - sizes)
    # The number that a rating has without a clock counts those before it, by system, item and rater.
    place = (system * items + segment)[screen] + np.arange(len(screen))
    number = (np.cumsum(which) - 1)[place * k_most + k[screen]]
    static = np.nonzero(which)
    return RatingTasks(tasks, static[0], static[1], by_item[static], number)


def _may(table: DealTable, unit: Ints) -> Bools:
    """Mark which raters of the pool may do a unit alone: `[unit, rater]`."""
    may = np.zeros((len(unit), table.n_raters + 1), bool)
    rows = np.arange(len(unit))
    raters, possible = table.raters[table.bucket[unit]], table.possible[unit]
    for choice in range(raters.shape[1]):
        for k in range(raters.shape[2]):
            may[rows, raters[:, choice, k]] |= possible[:, choice]
    return may[:, :-1]


def _reveal(
    prepared: PreparedRatings,
    clock: Clock,
    world: World,
    dealt: RatingTasks,
    carried: ClockedAnswers,
    noise: Any,
    place: Place,
) -> tuple[tuple[str, ...], Seen]:
    """Return the names of all who work, and the ratings that came, in the order that ratings have without a clock."""
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


def _names(frame: Frame, carried: ClockedAnswers) -> tuple[str, ...]:
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
    prepared: PreparedRatings, world: World, noise: Any, place: Place, ratings: tuple[Ints, Ints, Ints], turn: Ints
) -> tuple[Array, Ints]:
    """Let everybody answer: those who were there from the start, and those who came after them as a pool drawn anew."""
    value, errors = world.answers[RATE].answer(noise, *ratings)
    errors = np.full(len(value), UNMARKED) if errors is None else errors
    for k in range(1, int(turn.max(initial=0)) + 1):
        theirs = turn == k
        law = newcomers(prepared.seed, world, place, k).answers[RATE]
        noise = law.draw(stream(prepared.seed, *place.of_study, "noise", "newcomers", k), None)
        value[theirs], marked = law.answer(noise, *(column[theirs] for column in ratings))
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


def _refuse_unrated(frame: Frame, seen: Seen, carried: ClockedAnswers) -> None:
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


def is_as_dealt(campaign: Collected) -> bool:
    """True if each rating that was dealt came, and from whom it was dealt to."""
    if campaign.asked is None or "log" not in campaign.known:
        return True
    frame, seen = campaign.frame, campaign.seen
    slot = campaign.asked.slot[:, frame.document, :]
    indices = np.nonzero(slot >= 0)
    if len(seen.rater) < len(indices[0]):
        return False
    return bool((frame.rater[indices[0], indices[1], slot[indices]] == seen.rater).all())


def newcomers(seed: int, world: World, place: Place, turn: int) -> World:
    """Return the world whose raters are the people who sit down after `turn` others; the last worlds are kept.

    They are the same people in all studies of a pool of raters.
    """
    key = (id(world), seed, place[:3], turn)
    # An id is that of another world once the first is gone, so the world is held with it.
    if key not in _drawn or _drawn[key][0] is not world:
        _drawn[key] = world, _draw_newcomers(seed, world, place, turn)
        if len(_drawn) > KEPT:
            _drawn.popitem(last=False)
    return _drawn[key][1]


def _draw_newcomers(seed: int, world: World, place: Place, turn: int) -> World:
    if world.again is None:
        raise ValueError("newcomers of a world that cannot be drawn anew, which a check refuses")
    return world.again(
        Anew(
            stream(seed, *place.of_pool, "raters", "newcomers", turn),
            None,
            stream(seed, *place.of_world, "both", "newcomers", turn),
        )
    )


def add_overlap(
    prepared: PreparedRatings, table: DealTable, documents: Bools, assignment: SlotAssignment, place: Place
) -> SlotAssignment:
    """Return an assignment with second raters for the share `design.overlap` of the documents."""
    share = prepared.design.further.overlap
    if share == 0:
        return assignment
    # Second raters have a stream of their own: the deal is what it would be without them.
    return overlap(stream(prepared.seed, *place.of_study, "overlap"), table, documents, assignment, share)


class Platform:
    """Serve the tasks of a campaign as a platform does: `tasks` are those at the start.

    It `watches` the tasks that are handed in where it has to: to choose who takes which of the tasks dealt to nobody
    (`choose`), or to ask one more rater where two disagree (`find_next_tasks`). `dealt` are all ratings asked for.
    """

    def __init__(
        self, prepared: PreparedRatings, world: World, table: DealTable, dealt: RatingTasks, noise: Any, place: Place
    ) -> None:
        self._prepared, self._dealt = prepared, dealt
        self.tasks = dealt.tasks
        if prepared.assign is not None:
            self.tasks = replace(dealt.tasks, seat=np.full(len(dealt.tasks.size), -1))
        self._margin = prepared.design.further.boost_margin
        self.watches = not prepared.in_order or self._margin is not None
        if self.watches:
            self._open(world, table, noise, stream(prepared.seed, *place.of_study, "clock", "assignment"))

    def _open(self, world: World, table: DealTable, noise: Any, rng: np.random.Generator) -> None:
        frame, dealt = world.frame, self._dealt
        self._rng, self._frame, self._groups = rng, frame, table.groups
        self._said, self._slot = _average_outputs(world, noise), find_slots(frame)
        self._begin = np.cumsum(dealt.tasks.size) - dealt.tasks.size
        first = dealt.rating[self._begin]
        document = frame.document[dealt.item[first]]
        unit = table.groups.unit[dealt.system[first], document]
        several = np.bincount(table.groups.unit.ravel(), minlength=len(table.groups.pile)) > 1
        # Of each task; those that are added are appended.
        self._unit, self._seat = unit, dealt.tasks.seat.copy()
        self._rank = rng.permutation(frame.n_documents)[document]
        self._system = np.where(several[unit], -1, dealt.system[first])
        self._added: list[int] = []
        self._told: set[int] = set()
        self._scores: dict[int, list[Floats]] = {}
        self._taken, self._rated = np.zeros((2, frame.n_systems), np.int64)
        self._total = np.zeros(frame.n_systems)

    def choose(self, seat: int, tasks: Ints, hour: float) -> int:
        """Return the place in `tasks` (numbers of open ones) of the task that the person in a seat takes next."""
        place = 0
        if self._prepared.assign is not None:
            order = np.argsort(self._rank[tasks], kind="stable")
            place = int(order[self._prepared.assign(self._rng, self._queue(tasks[order]))])
        task = int(tasks[place])
        self._seat[task] = seat
        self._taken[self._outputs(task)[:, 0]] += 1
        return place

    def find_next_tasks(self, handed_in: Ints, hour: float) -> Tasks | None:
        """Take in the tasks that were handed in; return those for one more rater where two are too far apart."""
        added = [task for task in handed_in.tolist() if self._take_in(task)]
        return self._repeat_tasks(added) if added else None

    def _queue(self, tasks: Ints) -> Queue:
        mean = np.divide(self._total, self._rated, out=np.full(len(self._total), np.nan), where=self._rated > 0)
        return Queue(self._system[tasks], self._taken.copy(), mean, self._frame.lower_is_better)

    def _outputs(self, task: int) -> Ints:
        """List the outputs of a task, system and document."""
        return np.argwhere(self._groups.unit == self._unit[task])

    def _take_in(self, task: int) -> bool:
        """Add up the scores of a task; tell whether its raters are so far apart that one more is to be asked.

        A task that is handed in once more, since what its rater had said turned out to be void, counts as it did.
        """
        if task in self._told:
            return False
        self._told.add(task)
        system, document = self._outputs(task).T
        slot = self._slot[self._seat[task], self._frame.bucket[document[0]]]
        scores = self._said[system, document, slot]
        self._total[system] += scores
        self._rated[system] += 1
        others = self._scores.setdefault(int(self._unit[task]), [])
        # Of several raters the first two decide, once.
        others.append(scores)
        apart = len(others) == 2 and self._margin is not None
        return apart and bool(np.max(np.abs(others[0] - others[1])) > self._margin)

    def _repeat_tasks(self, tasks: list[int]) -> Tasks:
        """Add a task to be done by somebody else for each of these."""
        base = self._dealt.tasks
        of = [int(np.flatnonzero(self._unit == self._unit[task])[0]) for task in tasks]
        self._unit, self._rank, self._system = (np.append(x, x[of]) for x in (self._unit, self._rank, self._system))
        self._seat = np.append(self._seat, np.full(len(of), -1))
        self._added += of
        if base.may is None or base.screen is None:
            raise ValueError("tasks of ratings say who may do them, and their screens")
        answers = [slice(self._begin[task], self._begin[task] + base.size[task]) for task in of]
        # Screens of several tasks are numbered apart.
        screens = [k * len(base.screen) + base.screen[part] for k, part in enumerate(answers)]
        return Tasks(
            size=base.size[of],
            seat=np.full(len(of), -1),
            may=base.may[of],
            apart=self._unit[of],
            screen=np.unique(np.concatenate(screens), return_inverse=True)[1],
        )

    @property
    def dealt(self) -> RatingTasks:
        """Return all ratings that were asked for: those that were added follow the others."""
        if not self.watches or not self._added:
            return self._dealt
        dealt, base = self._dealt, self._dealt.tasks
        answers = [np.arange(self._begin[task], self._begin[task] + base.size[task]) for task in self._added]
        rating = dealt.rating[np.concatenate(answers)]
        return dealt._replace(
            tasks=replace(base, size=np.concatenate([base.size, base.size[self._added]])),
            system=np.concatenate([dealt.system, dealt.system[rating]]),
            item=np.concatenate([dealt.item, dealt.item[rating]]),
            slot=np.concatenate([dealt.slot, np.full(len(rating), -1)]),
            rating=np.concatenate([dealt.rating, len(dealt.system) + np.arange(len(rating))]),
        )


def find_slots(frame: Frame) -> Ints:
    """Find the slot in which each rater sits, `[rater, bucket]`; 0 where they sit in none."""
    slot = np.zeros((frame.n_raters, int(frame.bucket.max()) + 1), np.int64)
    _, item, slots = np.nonzero(frame.rater >= 0)
    slot[frame.rater[frame.rater >= 0], frame.bucket[frame.document][item]] = slots
    return slot


def _average_outputs(world: World, noise: Any) -> Floats:
    """Return everybody's mean score of each output over its segments: `[system, document, slot]`."""
    frame = world.frame
    system, item, slot = np.nonzero(frame.rater >= 0)
    value, _ = world.answers[RATE].answer(noise, system, item, slot)
    shape = (frame.n_systems, frame.n_documents, frame.rater.shape[2])
    cell = np.ravel_multi_index((system, frame.document[item], slot), shape)
    count = np.bincount(cell, minlength=int(np.prod(shape)))
    total = np.bincount(cell, weights=value, minlength=len(count))
    mean = np.divide(total, count, out=np.full(len(count), np.nan), where=count > 0)
    return np.asarray(mean.reshape(shape))
