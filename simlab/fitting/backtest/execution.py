"""Carry out a backtest: fit to pilots, observe real studies, predict them, compare the two, and sum up the errors.

For the tasks of `planning.tasks` call `fit_effects` (once a source), `observe` (once a target), `predict` and `compare`
in this order, and `build_backtest` on all predictions, which returns a `Backtest`. Studies are carried out on a target:
`all` documents, or those `held_out` of the pilot.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from simlab.answers.backtest import NOTHING_CLAIMED, Backtest, Measure, Prediction, PredictionErrors, Target
from simlab.answers.records import read_record
from simlab.answers.tables import ReadTable
from simlab.fitting.backtest.campaigns import MeasuredWorlds, campaigns, measure_worlds, sums
from simlab.fitting.backtest.designs import BacktestDesign, deal_studies, designs, list_normalizations
from simlab.fitting.backtest.planning import (
    PredictionSource,
    PredictionTask,
    SimulationSize,
    flatten_ratings,
    select_documents,
    split_documents,
)
from simlab.fitting.laws import FittableLaw, draw_fixed_world
from simlab.fitting.predictions import prediction_interval
from simlab.rng import stream
from simlab.tables.rating_table import Ratings
from simlab.types import RATE, Frame, World
from simlab.world.laws.fixed import FixedRatings

BOUNDS: Mapping[str, tuple[float, float]] = {"kendall": (-1.0, 1.0)}
"""What a measure lies between, if not 0 and 1."""
NO_TRUTH = "which systems truly differ is not known of a real table"
"""Reason why a measure that needs the truth is not observed."""
StudyMeasures = Mapping[tuple[BacktestDesign, str, Measure], MeasuredWorlds]
"""A measure of every world, by design, normalisation and measure."""
Key = tuple[Any, ...]
"""Values by which predictions are grouped."""
NUMBERS = ("predicted", "low", "high", "observed", "observed_mcse", "judged_low", "judged_high")
"""Fields of a `Prediction` that are averaged over splits."""


@dataclass(frozen=True, slots=True)
class BacktestRun:
    """Data shared by all parts of a backtest: the table, its ratings as a world, the law, how much is simulated."""

    world: World
    law: FittableLaw
    ratings: Ratings
    pilot_share: float
    size: SimulationSize
    seed: int


def fit_effects(plan: BacktestRun, source: PredictionSource) -> Sequence[Any]:
    """Fit the law to the pilot (method `fit`), or to the documents held out (`own`); return draws of its effects."""
    in_pilot = split_documents(plan.world, plan.pilot_share, source.split, plan.seed)
    seen = in_pilot if source.method == "fit" else ~in_pilot
    seed = plan.seed + 1000 * source.split
    return plan.law.fit(
        flatten_ratings(select_documents(plan.world, seen), plan.ratings), seed=seed, draws=plan.size.worlds
    ).effects


def target_world(plan: BacktestRun, split: int, target: Target) -> World:
    """Return the real ratings that studies are carried out on; those of all documents are the same in every split."""
    if target == "all":
        return plan.world
    return select_documents(plan.world, ~split_documents(plan.world, plan.pilot_share, split, plan.seed))


def observe(plan: BacktestRun, split: int, target: Target) -> StudyMeasures:
    """Carry out studies on the real ratings of a target; return their measures as those of one world."""
    return observe_world(target_world(plan, split, target), plan.size, plan.seed + 1)


def predict(plan: BacktestRun, task: PredictionTask, effects: Sequence[Any]) -> StudyMeasures:
    """Carry out a task's studies in worlds of the fitted `effects` (draws), or, if `naive`, of the pilot's means."""
    (split, method), target = task.source, target_world(plan, task.source.split, task.target)
    rng, n = stream(plan.seed, "backtest", "worlds", split, task.target, method), plan.size.worlds
    if method == "naive":
        worlds = naive_worlds(rng, pilot(plan, split), target.frame, n)
    else:
        worlds = fitted_worlds(rng, plan.law, effects, target.frame, n)
    return predict_from_worlds(list(worlds), target, plan.size, plan.seed + 2)


def pilot(plan: BacktestRun, split: int) -> Ratings:
    """Return the ratings of a split's pilot."""
    in_pilot = split_documents(plan.world, plan.pilot_share, split, plan.seed)
    return flatten_ratings(select_documents(plan.world, in_pilot), plan.ratings)


def compare(
    plan: BacktestRun, task: PredictionTask, expected: StudyMeasures, real: StudyMeasures
) -> Iterator[Prediction]:
    """Yield a `Prediction` for each design, normalisation and measure: `expected` values beside the `real` one."""
    law = "" if task.source.method == "naive" else plan.law.name
    for (design, name, measure), values in expected.items():
        outcome = real[design, name, measure]
        seen, error = float(outcome.value[0]), float(outcome.error[0])
        low, high = interval(measure, values)
        # What is observed has an error of its own, so it is judged by a wider interval.
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
            unknown=_explain_unknown(measure, seen),
        )


def interval(measure: str, values: MeasuredWorlds, noise: float = 0.0) -> tuple[float, float]:
    """Return the 90 % interval (low, high) of a measure over worlds, without simulation noise, within its range.

    `noise` is the variance of the observed value's own error. Worlds in which the measure is undefined are left out;
    NaN where fewer than two are left.
    """
    known = np.isfinite(values.value)
    if known.sum() < 2:
        return float("nan"), float("nan")
    low, high = prediction_interval(values.value[known], values.error[known], noise)
    least, most = BOUNDS.get(measure, (0.0, 1.0))
    return max(low, least), min(high, most)


def _mean(values: MeasuredWorlds) -> float:
    known = values.value[np.isfinite(values.value)]
    return float(known.mean()) if len(known) else float("nan")


def _explain_unknown(measure: str, seen: float) -> str:
    if np.isfinite(seen):
        return ""
    return NO_TRUTH if measure == "power" else NOTHING_CLAIMED


def observe_world(world: World, size: SimulationSize, seed: int) -> StudyMeasures:
    """Carry out studies on the real ratings of `world`; return their measures."""
    return run_studies([world], size, seed, size.observed_sets, size.observed_per_set)


def predict_from_worlds(worlds: Sequence[World], target: World, size: SimulationSize, seed: int) -> StudyMeasures:
    """Carry out, in drawn `worlds`, the studies that the `target` allows; all have its frame. Return their measures."""
    return run_studies(worlds, size, seed, size.sets, size.per_set, allowed=target)


def run_studies(
    worlds: Sequence[World], size: SimulationSize, seed: int, sets: int, per_set: int, allowed: World | None = None
) -> StudyMeasures:
    """Carry out all studies of a size in `worlds` and measure them: `sets` sets of documents, `per_set` studies each.

    `allowed` is the world whose ratings limit the designs (None: the first one). All worlds are asked alike: the same
    documents, raters and signs of the tests.
    """
    real = worlds[0] if allowed is None else allowed
    return run_designs(worlds, real, designs(real, size.thirds, size.ratings_per_item), seed, sets, per_set)


def run_designs(
    worlds: Sequence[World], real: World, chosen_designs: Sequence[BacktestDesign], seed: int, sets: int, per_set: int
) -> StudyMeasures:
    """Carry out studies of the chosen designs in all worlds; return measures. `real` limits who rates which output."""
    totals, names = sums(worlds), list_normalizations(real)
    measures: dict[tuple[BacktestDesign, str, Measure], MeasuredWorlds] = {}
    for design in chosen_designs:
        studies = deal_studies(real, design, seed=seed, sets=sets, per_set=per_set)
        for name, concluded in campaigns(totals, studies, names).items():
            measures |= {(design, name, measure): value for measure, value in measure_worlds(concluded).items()}
    return measures


def fitted_worlds(
    rng: np.random.Generator, law: FittableLaw, effects: Sequence[Any], frame: Frame, n: int
) -> Iterator[World]:
    """Draw n worlds from draws of a fitted law (`effects`) for the frame of the target: its raters, new ratings."""
    for k in range(n):
        yield draw_fixed_world(law, rng, effects[k % len(effects)], frame)


def naive_worlds(rng: np.random.Generator, pilot: Ratings, frame: Frame, n: int) -> Iterator[World]:
    """Draw ratings around the systems' means with one Gaussian noise, as if raters and documents were all alike."""
    number = np.bincount(pilot.system, minlength=pilot.n_systems)
    mean = np.bincount(pilot.system, weights=pilot.score, minlength=pilot.n_systems) / number
    sd = float((pilot.score - mean[pilot.system]).std())
    for _ in range(n):
        # Means of the pilot are known up to sd / sqrt(n) only, so worlds draw them, too.
        drawn = mean + sd / np.sqrt(number) * rng.standard_normal(len(mean))
        value = drawn[:, None, None] + sd * rng.standard_normal(frame.rater.shape)
        value[frame.rater < 0] = np.nan
        yield World(frame, {RATE: FixedRatings(value, np.ones(frame.rater.shape, np.int64))}, drawn)


def build_backtest(read: Mapping[str, Any], law: str, splits: int, predictions: Sequence[Prediction]) -> Backtest:
    """Return the answer of a backtest; `read` is the record of how the table was read, `splits` their number."""
    return Backtest(
        read=read_record(ReadTable, read, "read"),
        law=law,
        splits=splits,
        summary=summarize_errors(predictions),
        averages=average_over_splits(predictions),
        records=tuple(predictions),
    )


def summarize_errors(predictions: Sequence[Prediction]) -> tuple[PredictionErrors, ...]:
    """Return the errors of predictions by measure, target, ratings per item and method.

    Double ratings are told apart: SRP is near 1 there, and easily predicted. What could not be observed is left out.
    """
    order = list(dict.fromkeys(one.measure for one in predictions))

    def kind(prediction: Prediction) -> Key:
        return order.index(prediction.measure), prediction.target, prediction.ratings_per_item, prediction.method

    judged = sorted((one for one in predictions if one.judged), key=kind)
    return tuple(_errors(list(group)) for _, group in groupby(judged, kind))


def _errors(group: Sequence[Prediction]) -> PredictionErrors:
    first, error = group[0], np.array([prediction.predicted - prediction.observed for prediction in group])
    return PredictionErrors(
        measure=first.measure,
        target=first.target,
        ratings_per_item=first.ratings_per_item,
        method=first.method,
        n=len(group),
        mae=float(np.abs(error).mean()),
        bias=float(error.mean()),
        coverage=float(np.mean([prediction.held for prediction in group])),
        width=float(np.mean([prediction.high - prediction.low for prediction in group])),
    )


def average_over_splits(predictions: Sequence[Prediction]) -> tuple[Prediction, ...]:
    """Return the mean of each target, method, measure and design over splits, in the order of designs.

    Splits in which a measure is not known are left out.
    """

    def cell(prediction: Prediction) -> Key:
        where = (
            prediction.target,
            prediction.method,
            prediction.measure,
            prediction.repetition,
            prediction.grouping,
            prediction.normalization,
        )
        return *where, prediction.ratings_per_item, prediction.documents

    return tuple(_average(list(group)) for _, group in groupby(sorted(predictions, key=cell), cell))


def _average(group: Sequence[Prediction]) -> Prediction:
    means: dict[str, Any] = {"split": -1}
    for name in NUMBERS:
        known = [value for prediction in group if np.isfinite(value := getattr(prediction, name))]
        means[name] = float(np.mean(known)) if known else float("nan")
    return group[0].model_copy(update=means)
