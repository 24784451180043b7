"""Deal real items to real raters by the code that deals simulated ones, and put each rater's work in order.

`seat` returns raters in the seats of a simulated world (`Seated`), `seat_by_capacity` moves them to seats whose work
they can do, and `deal` returns the screens of each rater, in order (`DealtCampaign`). A bucket is a set of documents
with the seats of the few raters who may rate them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from simlab.concluding.assigning.items import Items, RaterCapacity
from simlab.design.balance import find_seated_raters
from simlab.messages import clip, pluralise
from simlab.rng import stream
from simlab.studies.ratings.clock_collection import lay_out
from simlab.studies.ratings.collecting import collect, lay
from simlab.studies.ratings.preparing import PreparedRatings, prepare
from simlab.types import (
    RATE,
    Answers,
    Collected,
    DesignFailure,
    Floats,
    Frame,
    InputError,
    Ints,
    Place,
    SlotAssignment,
    World,
)

HOUR = 3600.0
MOST_NAMED = 3

PLACE = Place(0)
"""Where among the campaigns of a plan the real one stands: its deal is that of the first one simulated."""


def find_seconds(config: Mapping[str, Any], world: World) -> float | None:
    """Return the seconds that a rating takes on average by the clock of a study; None where it has no clock."""
    seconds = config["design"].get("collection", {}).get("seconds_per_answer")
    if seconds is None and world.speeds is not None:
        return world.speeds.seconds_per_answer
    return None if seconds is None else float(seconds)


def seat_by_capacity(seated: Seated, loads: Ints, seconds: float | None) -> Seated:
    """Return raters in seats whose loads fit their hours and caps; all stay in their seats if these fit already.

    `loads[seat]` counts ratings, `seconds` is the time of a rating (None: hours limit nothing). Raters who were matched
    by name keep their seats. Raises InputError, with the excess, where no seating fits.
    """
    able = _calculate_capacity(seated.people, seconds)
    # Seats are kept where they fit: the deal then stays the one that was simulated.
    if bool(np.all(loads <= able)):
        return seated
    everybody = (*seated.people, *seated.spare)
    # A fitted rater has the traits of one real person, so that people matched by name must not change seats.
    if seated.by_name:
        _refuse(seated.people, loads, able)
    able = _calculate_capacity(everybody, seconds)
    # Who can do most takes the seat with the most work: if that does not fit, nothing does.
    # A stable sort keeps the order of the table among raters who can do equally much.
    best = np.argsort(-able, kind="stable")[: len(loads)]
    chosen = np.empty(len(loads), np.int64)
    chosen[np.argsort(-loads, kind="stable")] = best
    if not np.all(loads <= able[chosen]):
        _refuse([everybody[k] for k in chosen], loads, able[chosen])
    people = tuple(everybody[k] for k in chosen)
    spare = tuple(name for name in everybody if name not in people)
    frame = replace(seated.frame, rater_names=tuple(person.name for person in people))
    return seated._replace(frame=frame, people=people, spare=spare)


def _calculate_capacity(people: Sequence[RaterCapacity], seconds: float | None) -> Floats:
    hours = [math.inf if seconds is None else person.hours * HOUR / seconds for person in people]
    return np.floor(np.minimum([person.cap for person in people], hours))


def _refuse(people: Sequence[RaterCapacity], loads: Ints, able: Floats) -> None:
    over = np.maximum(loads - able, 0).astype(int)
    worst = np.argsort(-over, kind="stable")[:MOST_NAMED]
    named = [f"{clip(people[k].name, 30)} {loads[k]:,} for at most {able[k]:,.0f}" for k in worst.tolist() if over[k]]
    more = f" and {int((over > 0).sum()) - len(named)} more" if int((over > 0).sum()) > len(named) else ""
    raise InputError(
        f"{pluralise(int(over.sum()), 'rating')} over what raters can do, whoever sits where: "
        f"{', '.join(named)}{more}; raise cap or hours, find more raters and plan for them, or plan for fewer documents"
    )


class Screen(NamedTuple):
    """Screen that a rater sees at once: a system's output of a document; a rater's tasks count from 0."""

    rater: int
    task: int
    system: int
    document: int


def balance_orders(rng: np.random.Generator, screens: Sequence[Screen]) -> list[Screen]:
    """Put the outputs of tasks that show the same systems in orders that form Latin squares, rater by rater.

    Screens stand rater by rater and task by task. In as many tasks as there are systems each system stands once in
    every place; tasks of one output, and the order of tasks, stay as they are.
    """
    tasks = [list(group) for _, group in groupby(screens, key=lambda one: one[:2])]
    alike: dict[tuple[int, tuple[int, ...]], list[int]] = {}
    for k, task in enumerate(tasks):
        alike.setdefault((task[0].rater, tuple(sorted(screen.system for screen in task))), []).append(k)
    for (_, systems), same in alike.items():
        for k, order in zip(same, squares(rng, len(same), len(systems)).tolist(), strict=True):
            by_system = sorted(tasks[k])
            tasks[k] = [by_system[place] for place in order]
    return [screen for task in tasks for screen in task]


def squares(rng: np.random.Generator, n_tasks: int, n: int) -> Ints:
    """Draw an order of the numbers below n for each task, `[task, place]`: the rows of Latin squares.

    Rows, columns and names of each square are shuffled: so every row by itself is any order with the same chance, and
    no thing always follows the same other.
    """
    drawn = []
    for _ in range(-(-n_tasks // n)):
        rows, columns, names = rng.permutation(n), rng.permutation(n), rng.permutation(n)
        # Sums modulo n form a cyclic Latin square; the three permutations make it a random one.
        drawn.append(names[(rows[:, None] + columns) % n])
    return np.concatenate(drawn)[:n_tasks]


class Seated(NamedTuple):
    """Frame of a real study, whose raters are in the order of the simulated ones; notes on how names were matched.

    `people` are those in seats, `spare` the others. `system[k]` is the number in the table of items of the frame's k-th
    system. `by_name`: raters are those of the study, by their names.
    """

    frame: Frame
    people: tuple[RaterCapacity, ...]
    spare: tuple[RaterCapacity, ...]
    system: Ints
    notes: tuple[str, ...]
    by_name: bool


def seat(frame: Frame, config: Mapping[str, Any], items: Items, people: Sequence[RaterCapacity]) -> Seated:
    """Return raters seated in the buckets of the documents as in a simulated world, whose frame is `frame`.

    Raises InputError, with both numbers, for other numbers of systems than the study has, for fewer documents than it
    asks about, and for raters who are too few for its buckets.
    """
    _check_numbers(frame, config["design"], items, people)
    order, systems = _match_names(frame.system_names, items.systems, "systems")
    who = [person.name for person in people]
    seats_of, raters = _match_names(frame.rater_names, who, "raters")
    own = tuple(people[k] for k in seats_of[: frame.n_raters])
    spare = tuple(name for name in people if name not in own)
    document = np.repeat(np.arange(len(items.documents)), [len(segment) for segment in items.segments])
    bucket, seats = _assign_buckets(frame, config, len(items.documents))
    names = tuple(items.systems[k] for k in order)
    laid = Frame(
        document=document,
        bucket=bucket,
        rater=np.broadcast_to(seats[bucket[document]], (len(names), len(document), seats.shape[1])),
        system_names=names,
        document_names=items.documents,
        rater_names=tuple(person.name for person in own),
        lower_is_better=frame.lower_is_better,
    )
    notes = tuple(note for note in (systems, raters) if note)
    return Seated(laid, own, spare, np.array(order), notes, set(frame.rater_names) <= set(who))


def _check_numbers(frame: Frame, design: Mapping[str, Any], items: Items, people: Sequence[RaterCapacity]) -> None:
    if len(items.systems) != frame.n_systems:
        raise InputError(
            f"{items.where}: has {pluralise(len(items.systems), 'system')} and the study {frame.n_systems}; give "
            "outputs of as many, or plan for these"
        )
    if len(items.documents) < design["documents"]:
        raise InputError(
            f"{items.where}: has {pluralise(len(items.documents), 'document')} and the study asks about "
            f"{design['documents']} (design.documents); add documents, or plan for as many"
        )
    if len(people) < frame.n_raters:
        raise InputError(
            f"{pluralise(len(people), 'rater')} are too few: the buckets of this study seat {frame.n_raters}; find "
            f"{frame.n_raters - len(people)} more, or plan for as many"
        )


def _match_names(simulated: Sequence[str], real: Sequence[str], what: str) -> tuple[list[int], str]:
    """Return real names in the order of the simulated ones, and how they were matched: by name, else in their order."""
    if set(simulated) <= set(real):
        first = [real.index(name) for name in simulated]
        return first + [k for k in range(len(real)) if k not in first], ""
    if agree := [name for name in real if name in simulated]:
        known = clip(", ".join(agree), 60)
        return list(range(len(real))), f"{what} take places in their order, though the study, too, knows {known}"
    return list(range(len(real))), ""


def _assign_buckets(frame: Frame, config: Mapping[str, Any], n_documents: int) -> tuple[Ints, Ints]:
    """Return the bucket of each document, and who sits in each bucket, as worlds of another size have them."""
    seats = find_seated_raters(frame)
    if n_documents == frame.n_documents:
        return frame.bucket, seats
    size = config.get("raters", {}).get("documents_per_bucket")
    places = np.arange(n_documents)
    # Without a size, sorting the remainders makes blocks of documents whose sizes differ by one at most.
    bucket = places // size if size else np.sort(places % min(len(seats), n_documents))
    return bucket, seats[np.arange(int(bucket.max()) + 1) % len(seats)]


class DealtCampaign(NamedTuple):
    """A deal: the campaign as it will be once all ratings came (now they are 0), and all screens, rater by rater."""

    collected: Collected
    screens: tuple[Screen, ...]


class _Silent(NamedTuple):
    """Stand for the answers that nobody has given yet."""

    def draw(self, rng: np.random.Generator, needs: Any = None) -> None:
        """Draw nothing."""

    def answer(self, noise: Any, unit: Ints, item: Ints, slot: Ints) -> Answers:
        """Answer 0, with no errors marked."""
        return Answers(np.zeros(len(unit)), None)


def deal(config: Mapping[str, Any], frame: Frame, seed: int) -> DealtCampaign:
    """Deal the documents of a frame by the design of a study; `seed` is the seed of the deal.

    The analysis keeps the random numbers of the study's own seed. Raises InputError where the design cannot be carried
    out, as with a load that no deal reaches.
    """
    # Clock and rules of assignment act while answers come in, and a sheet is written before the first one.
    prepared = prepare({**config, "seed": seed})._replace(clock=None, assign=None)
    world = World(frame, {RATE: _Silent()})
    table = lay(prepared, world, PLACE)
    (campaign,) = collect(prepared, world, table, iter([None]), [PLACE])
    if isinstance(campaign, DesignFailure):
        raise InputError(f"this design cannot be dealt: {campaign}; take another --seed, or plan again")
    came: Collected = campaign.collected
    if came.asked is None:
        raise ValueError("a deal says whom it asked")
    rng = stream(prepared.seed, *PLACE.of_study, "assign", "order")
    return DealtCampaign(came, tuple(balance_orders(rng, _screens(prepared, table, frame, came.asked))))


def _screens(prepared: PreparedRatings, table: Any, frame: Frame, assignment: SlotAssignment) -> list[Screen]:
    """Order the work as the clock does: tasks of a rater in random order, the outputs of a task in random order."""
    dealt = lay_out(stream(prepared.seed, *PLACE.of_study, "clock", "order"), table, frame, assignment)
    size = dealt.tasks.size
    task = np.repeat(np.arange(len(size)), size)
    if dealt.tasks.screen is None:
        raise ValueError("tasks of ratings say which screens they have")
    # A screen spans several segments, so only its first rating, where the number changes, is kept.
    shown = np.flatnonzero(np.diff(dealt.tasks.screen, prepend=-1))
    rating = dealt.rating[shown]
    system, document, task = dealt.system[rating], frame.document[dealt.item[rating]], task[shown]
    rater = dealt.tasks.seat[task]
    own = _number_tasks(rater, task)
    flat = zip(rater.tolist(), own.tolist(), system.tolist(), document.tolist(), strict=True)
    screens = [Screen(*screen) for screen in flat]
    return sorted(screens, key=lambda one: (one.rater, one.task))


def _number_tasks(rater: Ints, task: Ints) -> Ints:
    """Number the tasks of each rater from 0, in their order."""
    pairs, which = np.unique(np.stack([rater, task], 1), axis=0, return_inverse=True)
    start = np.searchsorted(pairs[:, 0], pairs[:, 0])
    return (np.arange(len(pairs)) - start)[which.ravel()]
