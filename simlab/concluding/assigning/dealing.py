"""Deal real items to real raters by the very code that deals simulated ones, and put each rater's work in order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from simlab.concluding.assigning.ordering import Screen, evened
from simlab.rng import stream
from simlab.studies.ratings.collecting import collect, lay
from simlab.studies.ratings.on_clock import lay_out
from simlab.studies.ratings.preparing import Prepared, prepare
from simlab.types import RATE, Answers, Asked, Collected, DesignFailure, Frame, InputError, Ints, Place, World

PLACE = Place(0)
"""Where among the campaigns of a plan the real one stands: its deal is that of the first one simulated."""


class Dealt(NamedTuple):
    """Hold a deal: the campaign as it will be once all ratings came (now they are 0), and the work of each rater."""

    collected: Collected
    screens: tuple[Screen, ...]


class _Silent(NamedTuple):
    """Stand for the answers that nobody has given yet."""

    def draw(self, rng: np.random.Generator, needs: Any = None) -> None:
        """Draw nothing."""

    def answer(self, noise: Any, unit: Ints, item: Ints, slot: Ints) -> Answers:
        """Answer 0, with no errors marked."""
        return Answers(np.zeros(len(unit)), None)


def deal(config: Mapping[str, Any], frame: Frame, seed: int) -> Dealt:
    """Deal the documents of a frame as a study says; `seed` is that of the deal.

    The analysis keeps the random numbers of the study's own seed. Raises InputError where the design cannot be carried
    out, as with a load that no deal reaches.
    """
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
    return Dealt(came, tuple(evened(rng, _screens(prepared, table, frame, came.asked))))


def _screens(prepared: Prepared, table: Any, frame: Frame, asked: Asked) -> list[Screen]:
    """Order the work as the clock does: tasks of a rater in random order, the outputs of a task in random order."""
    dealt = lay_out(stream(prepared.seed, *PLACE.of_study, "clock", "order"), table, frame, asked)
    size = dealt.tasks.size
    task = np.repeat(np.arange(len(size)), size)
    if dealt.tasks.screen is None:
        raise ValueError("tasks of ratings say which screens they have")
    shown = np.flatnonzero(np.diff(dealt.tasks.screen, prepend=-1))
    rating = dealt.rating[shown]
    system, document, task = dealt.system[rating], frame.document[dealt.item[rating]], task[shown]
    rater = dealt.tasks.seat[task]
    own = _counted(rater, task)
    flat = zip(rater.tolist(), own.tolist(), system.tolist(), document.tolist(), strict=True)
    screens = [Screen(*one) for one in flat]
    return sorted(screens, key=lambda one: (one.rater, one.task))


def _counted(rater: Ints, task: Ints) -> Ints:
    """Number the tasks of each rater from 0, in their order."""
    pairs, which = np.unique(np.stack([rater, task], 1), axis=0, return_inverse=True)
    start = np.searchsorted(pairs[:, 0], pairs[:, 0])
    return (np.arange(len(pairs)) - start)[which.ravel()]
