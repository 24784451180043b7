"""List the steps of a backtest (fits, observations, predictions), and split the documents of its table.

Call `tasks`, which returns predictions to make; `sources` lists the fits that these need. `split_documents` marks the
pilot of a split, `select_documents` and `flatten_ratings` return its ratings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import NamedTuple

import numpy as np

from simlab.answers.backtest import Method, Target
from simlab.design.documents import draw_documents
from simlab.fitting.backtest.designs import FEWEST_DOCUMENTS, designs
from simlab.messages import pluralise
from simlab.rng import stream
from simlab.tables.rating_table import Ratings
from simlab.types import RATE, Bools, InputError, World
from simlab.world.laws.fixed import FixedRatings, fixed_ratings

SOME = (1, 2)
"""Thirds of the documents, for tables of which studies of all documents cannot be repeated."""
A_FIT = 6
"""How many thousands of studies take about as long as a fit: progress is told in such steps."""


@dataclass(frozen=True, slots=True)
class SimulationSize:
    """Amount of simulation: `worlds` per prediction; in each, `sets` of documents with `per_set` studies each.

    `observed_sets` and `observed_per_set` are those of real ratings; `thirds` of the documents and `ratings_per_item`
    make up the designs. `own`: fit to the documents held out, too, to measure how much is lost because they were not
    seen.
    """

    worlds: int
    sets: int
    per_set: int
    observed_sets: int
    observed_per_set: int
    thirds: tuple[int, ...]
    ratings_per_item: tuple[int, ...]
    own: bool


FULL = SimulationSize(30, 6, 8, 8, 40, (1, 2, 3), (1, 2), own=True)
"""Amount of simulation of a backtest."""


QUICK = SimulationSize(30, 4, 8, 6, 20, (3,), (1,), own=False)
"""The same for a quick look."""


class PredictionSource(NamedTuple):
    """Source of a prediction: a fit to the pilot (`fit`) or to the documents held out (`own`), or no law (`naive`)."""

    split: int
    method: Method


class PredictionTask(NamedTuple):
    """Task of predicting a target in one split by one method."""

    source: PredictionSource
    target: Target


def tasks(world: World, pilot_share: float, splits: int, size: SimulationSize) -> list[PredictionTask]:
    """List the predictions to make, for `splits` splits; each can be carried out by itself.

    `pilot_share` is the share of documents that go to the pilot. Raises InputError for a table that cannot be split, or
    that allows no study.
    """
    check(world, pilot_share)
    if not designs(world, size.thirds, size.ratings_per_item):
        raise InputError("the table allows no study: no rater rated all outputs of enough documents")
    methods: Mapping[Target, Sequence[Method]] = {"all": ("fit", "naive"), "held_out": ("fit", "own", "naive")}
    return [
        PredictionTask(PredictionSource(split, method), target)
        for split in range(splits)
        for target, every in methods.items()
        for method in every
        if size.own or method != "own"
    ]


def sources(wanted: list[PredictionTask]) -> list[PredictionSource]:
    """List the fits that tasks need, each once: `naive` predictions need none."""
    return list(dict.fromkeys(task.source for task in wanted if task.source.method != "naive"))


def steps(size: SimulationSize, what: str) -> int:
    """Return the number of progress steps, a thousand studies each; `what`: `fitted`, `observed` or `predicted`."""
    shapes = len(size.thirds) * len(size.ratings_per_item)
    studies = {
        "observed": size.observed_sets * size.observed_per_set * shapes,
        "predicted": size.worlds * size.sets * size.per_set * shapes,
    }
    return A_FIT if what == "fitted" else max(round(studies[what] / 1000), 1)


def check(world: World, pilot_share: float) -> None:
    """Raise InputError where a table cannot be split, or no study can be carried out on its parts."""
    if not 0 < pilot_share < 1:
        raise InputError(f"--pilot-share {pilot_share} must lie between 0 and 1")
    n = world.frame.n_documents
    left = n - pilot_documents(n, pilot_share)
    if pilot_documents(n, pilot_share) < 2 or left < FEWEST_DOCUMENTS:
        raise InputError(
            f"--pilot-share {pilot_share} of {pluralise(n, 'document')} leaves {left}; the pilot needs 2 at least, "
            f"and studies on the others {FEWEST_DOCUMENTS}"
        )


def pilot_documents(n_documents: int, share: float) -> int:
    """Return how many documents go to the pilot."""
    return round(n_documents * share)


def split_documents(world: World, share: float, split: int, seed: int) -> Bools:
    """Draw the documents of a split's pilot: `[document]`, True for the pilot, spread over the buckets evenly."""
    n = world.frame.n_documents
    rng = stream(seed, "backtest", "split", split)
    return draw_documents(rng, world.frame.bucket, np.ones(n, bool), pilot_documents(n, share))


def select_documents(world: World, documents: Bools) -> World:
    """Keep the documents of a recorded world that `documents[document]` marks; indices of systems, raters stay."""
    frame, ratings = world.frame, fixed_ratings(world)
    if ratings is None:
        raise ValueError("only fixed ratings can be cut")
    items = documents[frame.document]
    kept = replace(
        frame,
        document=np.unique(frame.document[items], return_inverse=True)[1],
        bucket=np.unique(frame.bucket[documents], return_inverse=True)[1],
        rater=frame.rater[:, items],
        document_names=tuple(name for name, wanted in zip(frame.document_names, documents, strict=True) if wanted),
        item_names=tuple(compress(frame.item_names, items)),
    )
    return World(kept, {RATE: FixedRatings(ratings.value[:, items], ratings.errors[:, items])}, world.truth)


def flatten_ratings(world: World, table: Ratings) -> Ratings:
    """Return the ratings of a recorded world as flat arrays, named as in `table`; indices stay the same."""
    frame, ratings = world.frame, fixed_ratings(world)
    if ratings is None:
        raise ValueError("only fixed ratings can be laid out")
    system, item, slot = np.nonzero(frame.rater >= 0)
    return replace(
        table,
        system=system,
        item=item,
        rater=frame.rater[system, item, slot],
        score=ratings.value[system, item, slot],
        errors=ratings.errors[system, item, slot],
        seconds=np.full(len(system), np.nan),
        document=frame.document,
        document_names=frame.document_names,
        item_names=tuple(str(k + 1) for k in range(len(frame.document))),
        criteria={},
    )
