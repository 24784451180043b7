"""Say what a backtest has to fit, observe and predict, and how much of it is simulated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from simlab.answers.backtest import Method, Target
from simlab.fitting.backtest.designs import designs
from simlab.fitting.backtest.splitting import check
from simlab.types import InputError, World


@dataclass(frozen=True, slots=True)
class Size:
    """Say how much is simulated: worlds per prediction, and sets of documents and studies per set in each.

    `own`: fit to the documents held out, too, to tell what is lost because they were not seen.
    """

    worlds: int
    sets: int
    per_set: int
    observed_sets: int
    observed_per_set: int
    thirds: tuple[int, ...]
    ratings_per_item: tuple[int, ...]
    own: bool


FULL = Size(30, 6, 8, 8, 40, (1, 2, 3), (1, 2), own=True)
QUICK = Size(30, 4, 8, 6, 20, (3,), (1,), own=False)
SOME = (1, 2)
"""Thirds of the documents, for tables of which studies of all documents cannot be repeated."""

A_FIT = 6
"""How many thousands of studies take about as long as a fit: progress is told in such steps."""


class Source(NamedTuple):
    """Name what a prediction comes from: a fit to the pilot or to the documents held out, or no law at all."""

    split: int
    method: Method


class Task(NamedTuple):
    """Ask for the predictions of one split, method and target."""

    source: Source
    target: Target


def tasks(world: World, pilot_share: float, splits: int, size: Size) -> list[Task]:
    """List what has to be predicted; every task can be carried out by itself.

    Raises InputError for a table that cannot be split, or that allows no study.
    """
    check(world, pilot_share)
    if not designs(world, size.thirds, size.ratings_per_item):
        raise InputError("the table allows no study: no rater rated all outputs of enough documents")
    methods: Mapping[Target, Sequence[Method]] = {"all": ("fit", "naive"), "held_out": ("fit", "own", "naive")}
    return [
        Task(Source(split, method), target)
        for split in range(splits)
        for target, every in methods.items()
        for method in every
        if size.own or method != "own"
    ]


def sources(wanted: list[Task]) -> list[Source]:
    """List what is fitted, once for all targets."""
    return list(dict.fromkeys(task.source for task in wanted if task.source.method != "naive"))


def steps(size: Size, what: str) -> int:
    """Say about how many thousands of studies take as long as a fit, as what is observed, or as a prediction."""
    shapes = len(size.thirds) * len(size.ratings_per_item)
    studies = {
        "observed": size.observed_sets * size.observed_per_set * shapes,
        "predicted": size.worlds * size.sets * size.per_set * shapes,
    }
    return A_FIT if what == "fitted" else max(round(studies[what] / 1000), 1)
