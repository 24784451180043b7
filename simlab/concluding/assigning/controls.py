"""Put control items among the work of raters: those of the table of items, else outputs of their own once more.

Call `add_controls` with the screens of all raters, which returns the `ShownScreen` list with control items in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np

from simlab.concluding.assigning.blinding import ShownScreen
from simlab.concluding.assigning.dealing import Screen
from simlab.concluding.assigning.items import ControlItem
from simlab.types import Ints

APART = 2
"""Least number of tasks between an output and its repeat, where the rater has that many."""


class _Placed(NamedTuple):
    """A control item and the number of tasks before it."""

    before: int
    shown: ShownScreen


def add_controls(
    rng: np.random.Generator,
    screens: Sequence[Screen],
    sizes: Ints,
    controls: Sequence[ControlItem],
    share: float | None,
) -> list[ShownScreen]:
    """Return `screens`, the work of all raters, with control items in it, each a task of its own at a random place.

    `sizes[document]` is the number of segments. `share` is the number of control ratings per rating (None: every
    control item once, for every rater). Items of `controls` come in random order, and again once all were shown; where
    there are none, raters get outputs of their own once more, later than the first time.
    """
    work: list[ShownScreen] = []
    for _, rater_screens in groupby(screens, key=lambda one: one.rater):
        tasks = [list(task) for _, task in groupby(rater_screens, key=lambda one: one.task)]
        ratings = sum(int(sizes[screen.document]) for task in tasks for screen in task)
        wanted = None if share is None else round(share * ratings)
        own = (
            _place_table_controls(rng, tasks, controls, wanted)
            if controls
            else _place_repeats(rng, tasks, sizes, wanted or 0)
        )
        work += _merge_controls(tasks, own)
    return work


def _place_table_controls(
    rng: np.random.Generator, tasks: Sequence[Sequence[Screen]], controls: Sequence[ControlItem], wanted: int | None
) -> list[_Placed]:
    rater, placed, count = tasks[0][0].rater, list[_Placed](), 0
    wanted = sum(len(control.segments) for control in controls) if wanted is None else wanted
    while count < wanted:
        # Each round shows every item once, so that no rater meets one again while others are unseen.
        for k in rng.permutation(len(controls)).tolist():
            if count < wanted:
                before = int(rng.integers(len(tasks) + 1))
                placed.append(_Placed(before, ShownScreen(rater, 0, -1, -1, control=controls[k])))
                count += len(controls[k].segments)
    return placed


def _place_repeats(
    rng: np.random.Generator, tasks: Sequence[Sequence[Screen]], sizes: Ints, wanted: int
) -> list[_Placed]:
    own = [(k, screen) for k, task in enumerate(tasks) for screen in task]
    placed, count = list[_Placed](), 0
    for at in rng.permutation(len(own)).tolist():
        if count < wanted:
            task, screen = own[at]
            # Near the end fewer than APART tasks are left: the repeat then comes last, as far away as it can.
            before = int(rng.integers(min(task + 1 + APART, len(tasks)), len(tasks) + 1))
            placed.append(
                _Placed(before, ShownScreen(screen.rater, screen.task, screen.system, screen.document, again=True))
            )
            count += int(sizes[screen.document])
    return placed


def _merge_controls(tasks: Sequence[Sequence[Screen]], placed: Sequence[_Placed]) -> list[ShownScreen]:
    """Put control items before the tasks that they precede, and count tasks anew."""
    merged: list[list[ShownScreen]] = []
    for k in range(len(tasks) + 1):
        merged += [[item.shown] for item in placed if item.before == k]
        merged += [[ShownScreen(*screen) for screen in tasks[k]]] if k < len(tasks) else []
    return [screen._replace(task=number) for number, task in enumerate(merged) for screen in task]
