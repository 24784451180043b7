"""Hold what came of predictions, and sum it up."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np


class Record(NamedTuple):
    """Compare one prediction of a measure with what studies on the real ratings gave.

    `target` is `held_out` (the documents that the pilot did not see) or `all`; `method` is `fit`, `own` (a world
    fitted to the held-out documents themselves: what a perfect pilot would reach) or `naive`. `law` is what was fitted.
    `repetition` says which documents the studies that are compared ask about.

    `low` and `high` bound the measure itself, the noise of simulated studies taken out; `judged_low` and `judged_high`
    bound what so many real studies show of it, whose noise is `observed_mcse`. NaN is what is not known; `unknown` says
    why nothing was observed, else it is empty.
    """

    split: int
    target: str
    method: str
    law: str
    grouping: str
    normalization: str
    documents: int
    ratings_per_item: int
    repetition: str
    measure: str
    predicted: float
    low: float
    high: float
    observed: float
    observed_mcse: float
    judged_low: float
    judged_high: float
    unknown: str

    @property
    def judged(self) -> bool:
        """Tell whether there is something to hold the prediction against."""
        return bool(np.isfinite(self.observed) and np.isfinite(self.predicted))

    @property
    def held(self) -> bool:
        """Tell whether the interval holds what was observed."""
        return bool(self.judged_low <= self.observed <= self.judged_high)


Key = tuple[Any, ...]
NUMBERS = ("predicted", "low", "high", "observed", "observed_mcse", "judged_low", "judged_high")


def summary(records: Sequence[Record]) -> list[dict[str, Any]]:
    """Sum up by measure, target, ratings per item and method: mean absolute error, bias, share of intervals that hold.

    Double ratings are told apart: SRP is near 1 there, and easily predicted. What could not be observed is left out.
    """

    def kind(record: Record) -> Key:
        return record.measure, record.target, record.ratings_per_item, record.method

    order = dict.fromkeys(record.measure for record in records)
    judged = sorted((record for record in records if record.judged), key=lambda one: kind(one)[1:])
    names = "measure", "target", "ratings_per_item", "method"
    return [
        dict(zip(names, key, strict=True)) | found(list(own))
        for measure in order
        for key, own in groupby((one for one in judged if one.measure == measure), kind)
    ]


def found(records: Sequence[Record]) -> dict[str, float | int]:
    """Return the number of predictions, their mean absolute error and bias, their coverage and their mean width."""
    error = np.array([record.predicted - record.observed for record in records])
    width = np.array([record.high - record.low for record in records])
    held = np.array([record.held for record in records])
    numbers = {"mae": np.abs(error).mean(), "bias": error.mean(), "coverage": held.mean(), "width": width.mean()}
    return {"n": len(records)} | {name: float(value) for name, value in numbers.items()}


def averages(records: Sequence[Record]) -> list[Record]:
    """Average the records of each target, method, measure and design over splits, in the order of designs.

    `split` is -1; splits in which a measure is not known are left out.
    """

    def cell(record: Record) -> Key:
        where = record.target, record.method, record.measure, record.repetition, record.grouping, record.normalization
        return *where, record.ratings_per_item, record.documents

    return [_average(list(group)) for _, group in groupby(sorted(records, key=cell), cell)]


def _average(group: Sequence[Record]) -> Record:
    means: dict[str, Any] = {}
    for name in NUMBERS:
        known = [value for one in group if np.isfinite(value := getattr(one, name))]
        means[name] = float(np.mean(known)) if known else float("nan")
    return group[0]._replace(split=-1, **means)
