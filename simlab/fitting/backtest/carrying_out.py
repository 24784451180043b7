"""Carry out a backtest: fit to pilots, observe real studies, predict them, and hold the one against the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simlab.answers.backtest import NOTHING_CLAIMED, Prediction, Target
from simlab.fitting.backtest.measuring import Measured
from simlab.fitting.backtest.planning import Size, Source, Task
from simlab.fitting.backtest.predicting import Found, fitted_worlds, naive_worlds, observed, predicted
from simlab.fitting.backtest.splitting import part_of, ratings_of, split_documents
from simlab.fitting.laws import Law
from simlab.fitting.predictions import prediction_interval
from simlab.rng import stream
from simlab.tables.held import Ratings
from simlab.types import World

BOUNDS: Mapping[str, tuple[float, float]] = {"kendall": (-1.0, 1.0)}
"""What a measure lies between, if not 0 and 1."""

NO_TRUTH = "which systems truly differ is not known of a real table"


@dataclass(frozen=True, slots=True)
class Plan:
    """Hold what all parts of a backtest share: the table, also as a world, the law, and how much is done."""

    world: World
    law: Law
    ratings: Ratings
    pilot_share: float
    size: Size
    seed: int


def fitted(plan: Plan, source: Source) -> Sequence[Any]:
    """Fit the law to what a source has seen; return draws of its effects."""
    in_pilot = split_documents(plan.world, plan.pilot_share, source.split, plan.seed)
    seen = in_pilot if source.method == "fit" else ~in_pilot
    seed = plan.seed + 1000 * source.split
    return plan.law.fit(ratings_of(part_of(plan.world, seen), plan.ratings), seed=seed, draws=plan.size.worlds).effects


def target_of(plan: Plan, split: int, target: Target) -> World:
    """Return the real ratings that studies are carried out on; those of all documents are the same in every split."""
    if target == "all":
        return plan.world
    return part_of(plan.world, ~split_documents(plan.world, plan.pilot_share, split, plan.seed))


def observe(plan: Plan, split: int, target: Target) -> Found:
    """Carry out real studies."""
    return observed(target_of(plan, split, target), plan.size, plan.seed + 1)


def predict(plan: Plan, task: Task, effects: Sequence[Any]) -> Found:
    """Carry out studies in worlds that a source lets one expect."""
    (split, method), target = task.source, target_of(plan, task.source.split, task.target)
    rng, n = stream(plan.seed, "backtest", "worlds", split, task.target, method), plan.size.worlds
    if method == "naive":
        worlds = naive_worlds(rng, pilot(plan, split), target.frame, n)
    else:
        worlds = fitted_worlds(rng, plan.law, effects, target.frame, n)
    return predicted(list(worlds), target, plan.size, plan.seed + 2)


def pilot(plan: Plan, split: int) -> Ratings:
    """Return the ratings of a split's pilot."""
    in_pilot = split_documents(plan.world, plan.pilot_share, split, plan.seed)
    return ratings_of(part_of(plan.world, in_pilot), plan.ratings)


def compare(plan: Plan, task: Task, expected: Found, real: Found) -> Iterator[Prediction]:
    """Compare predictions with what was observed."""
    law = "" if task.source.method == "naive" else plan.law.name
    for (design, name, measure), values in expected.items():
        one = real[design, name, measure]
        seen, error = float(one.value[0]), float(one.error[0])
        low, high = interval(measure, values)
        judged_low, judged_high = interval(measure, values, float(np.nan_to_num(error)) ** 2)
        yield Prediction(
            split=task.source.split,
            target=task.target,
            method=task.source.method,
            law=law,
            grouping=design.grouping,
            normalization=name,
            documents=design.documents,
            ratings_per_item=design.ratings_per_item,
            repetition=design.repetition,
            measure=measure,
            predicted=_mean(values),
            low=low,
            high=high,
            observed=seen,
            observed_mcse=error,
            judged_low=judged_low,
            judged_high=judged_high,
            unknown=_unknown(measure, seen),
        )


def interval(measure: str, values: Measured, noise: float = 0.0) -> tuple[float, float]:
    """Return the 90 % interval of a measure, the noise of simulated studies taken out, within what is possible.

    Worlds in which it is not defined are left out; NaN where fewer than two are left.
    """
    known = np.isfinite(values.value)
    if known.sum() < 2:
        return float("nan"), float("nan")
    low, high = prediction_interval(values.value[known], values.error[known], noise)
    least, most = BOUNDS.get(measure, (0.0, 1.0))
    return max(low, least), min(high, most)


def _mean(values: Measured) -> float:
    known = values.value[np.isfinite(values.value)]
    return float(known.mean()) if len(known) else float("nan")


def _unknown(measure: str, seen: float) -> str:
    if np.isfinite(seen):
        return ""
    return NO_TRUTH if measure == "power" else NOTHING_CLAIMED
