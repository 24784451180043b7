"""Even out where systems stand in the tasks of a rater, each task by itself being in an order as random as any."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np

from simlab.types import Ints


class Screen(NamedTuple):
    """Hold what a rater sees at once: a system's output of a document; a rater's tasks count from 0."""

    rater: int
    task: int
    system: int
    document: int


def evened(rng: np.random.Generator, screens: Sequence[Screen]) -> list[Screen]:
    """Put the outputs of tasks that show the same systems in orders that form Latin squares, rater by rater.

    Screens stand rater by rater and task by task. In as many tasks as there are systems each system stands once in
    every place; tasks of one output, and the order of tasks, stay as they are.
    """
    tasks = [list(held) for _, held in groupby(screens, key=lambda one: one[:2])]
    alike: dict[tuple[int, tuple[int, ...]], list[int]] = {}
    for k, held in enumerate(tasks):
        alike.setdefault((held[0].rater, tuple(sorted(one.system for one in held))), []).append(k)
    for (_, systems), same in alike.items():
        for k, order in zip(same, squares(rng, len(same), len(systems)).tolist(), strict=True):
            by_system = sorted(tasks[k])
            tasks[k] = [by_system[place] for place in order]
    return [one for held in tasks for one in held]


def squares(rng: np.random.Generator, n_tasks: int, n: int) -> Ints:
    """Draw orders of n things for each task, `[task, place]`: the rows of Latin squares.

    Rows, columns and names of each square are shuffled: so every row by itself is any order with the same chance, and
    no thing always follows the same other.
    """
    drawn = []
    for _ in range(-(-n_tasks // n)):
        rows, columns, names = rng.permutation(n), rng.permutation(n), rng.permutation(n)
        drawn.append(names[(rows[:, None] + columns) % n])
    return np.concatenate(drawn)[:n_tasks]
