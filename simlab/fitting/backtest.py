"""Hold predictions from a pilot against studies on real ratings that the pilot did not see."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from simlab.design.documents import draw_documents
from simlab.fitting.mqm.fast import fit
from simlab.fitting.mqm.pilot import Pilot, of_world
from simlab.fitting.predictions import prediction_interval
from simlab.fitting.studies import GROUPINGS, NORMALIZATIONS, Design, part_of, possible, stable_shares
from simlab.rng import stream
from simlab.types import RATE, Bools, Frame, InputError, World
from simlab.world.laws.fitted import world_on
from simlab.world.laws.fixed import FixedRatings, fixed_ratings

FEWEST_DOCUMENTS = 6


class Record(NamedTuple):
    """Compare one prediction of SRP with what studies on the real ratings gave.

    `target` is `held_out` (the documents that the pilot did not see) or `all`; `method` is `fit`, `own` (a world
    fitted to the held-out documents themselves: what a perfect pilot would reach) or `naive`.

    `low` and `high` bound SRP itself, the noise of simulated studies taken out; `judged_low` and `judged_high` bound
    what so many real studies show of it, whose noise is `observed_mcse`.
    """

    split: int
    target: str
    method: str
    grouping: str
    normalization: str
    documents: int
    ratings_per_item: int
    predicted: float
    low: float
    high: float
    observed: float
    observed_mcse: float
    judged_low: float
    judged_high: float


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


FULL = Size(30, 2, 15, 5, 50, (1, 2, 3), (1, 2), own=True)
QUICK = Size(10, 1, 15, 1, 40, (3,), (1,), own=False)


class Task(NamedTuple):
    """Ask for the predictions of one split, target and method."""

    world: World
    split: int
    target: str
    method: str
    pilot_share: float
    size: Size
    seed: int


def tasks(world: World, pilot_share: float, splits: int, size: Size, seed: int) -> list[Task]:
    """List what has to be predicted; every task can be carried out by itself."""
    check(world, pilot_share)
    if not designs(world, size):
        raise InputError("the table allows no study: no rater rated all outputs of enough documents")
    kinds = (("all", "fit"), ("all", "naive"), ("held_out", "fit"), ("held_out", "own"), ("held_out", "naive"))
    wanted = [kind for kind in kinds if size.own or kind[1] != "own"]
    return [Task(world, split, *kind, pilot_share, size, seed) for split in range(splits) for kind in wanted]


def check(world: World, pilot_share: float) -> None:
    """Raise InputError where a table cannot be split, or no study can be carried out on its parts."""
    if not 0 < pilot_share < 1:
        raise InputError(f"--pilot-share {pilot_share} must lie between 0 and 1")
    n = world.frame.n_documents
    left = n - pilot_documents(n, pilot_share)
    if pilot_documents(n, pilot_share) < 2 or left < FEWEST_DOCUMENTS:
        raise InputError(
            f"--pilot-share {pilot_share} of {n} documents leaves {left}; the pilot needs 2 at least, "
            f"and studies on the others {FEWEST_DOCUMENTS}"
        )


def pilot_documents(n_documents: int, share: float) -> int:
    """Return how many documents go to the pilot."""
    return round(n_documents * share)


def split_documents(world: World, share: float, split: int, seed: int) -> Bools:
    """Draw the documents of the pilot, spread over the buckets as evenly as possible."""
    n = world.frame.n_documents
    rng = stream(seed, "backtest", "split", split)
    return draw_documents(rng, world.frame.bucket, np.ones(n, bool), pilot_documents(n, share))


def designs(world: World, size: Size) -> list[Design]:
    """List the designs whose SRP is predicted: groupings, thirds of the documents, ratings per item."""
    n = world.frame.n_documents
    documents = sorted({max(FEWEST_DOCUMENTS, round(n * third / 3)) for third in size.thirds})
    every = [Design(g, d, r) for g in GROUPINGS for d in documents for r in size.ratings_per_item if d <= n]
    return [design for design in every if possible(world, design)]


def observe(world: World, size: Size, seed: int) -> dict[Design, dict[str, tuple[float, float]]]:
    """Carry out the studies on the real ratings."""
    many: dict[str, int] = {"sets": size.observed_sets, "per_set": size.observed_per_set}
    return {
        design: stable_shares(world, design, normalizations(world), seed=seed, **many)
        for design in designs(world, size)
    }


def normalizations(world: World) -> Sequence[str]:
    """List the normalisations that a table allows: one of them needs the number of errors."""
    ratings = fixed_ratings(world)
    counted = ratings is not None and int(ratings.errors.min()) >= 0
    return NORMALIZATIONS if counted else tuple(name for name in NORMALIZATIONS if name != "error")


def carry_out(task: Task) -> list[Record]:
    """Fit, predict and observe for one task."""
    in_pilot = split_documents(task.world, task.pilot_share, task.split, task.seed)
    target = task.world if task.target == "all" else part_of(task.world, ~in_pilot)
    source = ~in_pilot if task.method == "own" else in_pilot
    worlds = list(predicted_worlds(task, of_world(task.world, source), target))
    observed = observe(target, task.size, task.seed + 1)
    return list(_records(task, observed, worlds))


def predicted_worlds(task: Task, pilot: Pilot, target: World) -> Iterator[World]:
    """Draw worlds for the frame of the target: who rates what is known, the ratings are not."""
    rng = stream(task.seed, "backtest", "worlds", task.split, task.target, task.method)
    if task.method == "naive":
        for _ in range(task.size.worlds):
            yield naive_world(rng, pilot, target.frame)
        return
    fitted = fit(pilot, seed=task.seed + 1000 * task.split, draws=task.size.worlds)
    for effects in fitted.effects:
        yield world_on(rng, effects, target.frame, potential=True)


def naive_world(rng: np.random.Generator, pilot: Pilot, frame: Frame) -> World:
    """Draw ratings around the systems' means with one Gaussian noise, as if raters and documents were all alike."""
    number = np.bincount(pilot.system, minlength=pilot.n_systems)
    mean = np.bincount(pilot.system, weights=pilot.score, minlength=pilot.n_systems) / number
    sd = float((pilot.score - mean[pilot.system]).std())
    drawn = mean + sd / np.sqrt(number) * rng.standard_normal(len(mean))
    value = drawn[:, None, None] + sd * rng.standard_normal(frame.rater.shape)
    value[frame.rater < 0] = np.nan
    return World(frame, {RATE: FixedRatings(value, np.ones(frame.rater.shape, np.int64))}, drawn)


def _records(
    task: Task, observed: dict[Design, dict[str, tuple[float, float]]], worlds: Sequence[World]
) -> Iterator[Record]:
    size = task.size
    for design, shares in observed.items():
        found = [
            stable_shares(world, design, tuple(shares), seed=task.seed + 2 + k, sets=size.sets, per_set=size.per_set)
            for k, world in enumerate(worlds)
        ]
        for name, (real, mcse) in shares.items():
            predicted, errors = np.array([one[name] for one in found]).T
            own = prediction_interval(predicted, errors)
            judged = prediction_interval(predicted, errors, np.nan_to_num(mcse) ** 2)
            place = task.split, task.target, task.method, design.grouping, name, design.documents
            yield Record(*place, design.ratings_per_item, float(predicted.mean()), *own, real, mcse, *judged)


def summary(records: Sequence[Record]) -> list[dict[str, Any]]:
    """Summarise by target, ratings per item and method: mean absolute error, bias, share of intervals that hold.

    Double ratings are told apart: SRP is near 1 there, and easily predicted.
    """
    kinds = dict.fromkeys((record.target, record.ratings_per_item, record.method) for record in records)
    rows = []
    for target, ratings, method in sorted(kinds):
        own = [one for one in records if (one.target, one.ratings_per_item, one.method) == (target, ratings, method)]
        error = np.array([record.predicted - record.observed for record in own])
        held = [record.judged_low <= record.observed <= record.judged_high for record in own]
        width = np.mean([record.high - record.low for record in own])
        place = {"target": target, "ratings_per_item": ratings, "method": method, "n": len(own)}
        found = {"mae": np.abs(error).mean(), "bias": error.mean(), "coverage": np.mean(held), "width": width}
        rows.append(place | {name: float(value) for name, value in found.items()})
    return rows


def averages(records: Sequence[Record]) -> list[Record]:
    """Average the records of each target, method and design over splits, in the order of designs; `split` is -1."""

    def cell(record: Record) -> tuple[Any, ...]:
        where = record.target, record.method, record.grouping, record.normalization
        return *where, record.ratings_per_item, record.documents

    groups = [list(group) for _, group in groupby(sorted(records, key=cell), cell)]
    numbers = ("predicted", "low", "high", "observed", "observed_mcse", "judged_low", "judged_high")
    means = ({name: float(np.mean([getattr(one, name) for one in group])) for name in numbers} for group in groups)
    return [Record(**group[0]._asdict() | mean | {"split": -1}) for group, mean in zip(groups, means, strict=True)]
