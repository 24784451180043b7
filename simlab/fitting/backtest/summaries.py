"""Sum up predictions: how far they were off, and what they are on average over splits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from simlab.answers.backtest import Backtest, Prediction, PredictionErrors
from simlab.answers.records import read_record
from simlab.answers.tables import ReadTable

Key = tuple[Any, ...]
NUMBERS = ("predicted", "low", "high", "observed", "observed_mcse", "judged_low", "judged_high")


def backtest_of(read: Mapping[str, Any], law: str, splits: int, predictions: Sequence[Prediction]) -> Backtest:
    """Return the answer that predictions of so many splits give; `read` says what was read of the table."""
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

    def kind(one: Prediction) -> Key:
        return order.index(one.measure), one.target, one.ratings_per_item, one.method

    judged = sorted((one for one in predictions if one.judged), key=kind)
    return tuple(_errors(list(group)) for _, group in groupby(judged, kind))


def _errors(group: Sequence[Prediction]) -> PredictionErrors:
    first, error = group[0], np.array([one.predicted - one.observed for one in group])
    return PredictionErrors(
        measure=first.measure,
        target=first.target,
        ratings_per_item=first.ratings_per_item,
        method=first.method,
        n=len(group),
        mae=float(np.abs(error).mean()),
        bias=float(error.mean()),
        coverage=float(np.mean([one.held for one in group])),
        width=float(np.mean([one.high - one.low for one in group])),
    )


def average_over_splits(predictions: Sequence[Prediction]) -> tuple[Prediction, ...]:
    """Return the mean of each target, method, measure and design over splits, in the order of designs.

    Splits in which a measure is not known are left out.
    """

    def cell(one: Prediction) -> Key:
        where = one.target, one.method, one.measure, one.repetition, one.grouping, one.normalization
        return *where, one.ratings_per_item, one.documents

    return tuple(_average(list(group)) for _, group in groupby(sorted(predictions, key=cell), cell))


def _average(group: Sequence[Prediction]) -> Prediction:
    means: dict[str, Any] = {"split": -1}
    for name in NUMBERS:
        known = [value for one in group if np.isfinite(value := getattr(one, name))]
        means[name] = float(np.mean(known)) if known else float("nan")
    return group[0].model_copy(update=means)
