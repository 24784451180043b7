"""Find objections to calling a design the best: a promise that it breaks, emptiness, campaigns that failed.

A promise is the level of a design's test (false positives among equal pairs) or of its intervals (coverage). Emptiness:
its findings repeat since it finds hardly any. `find_doubts` takes a store and returns all of them, cell by cell.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from simlab.measures.errors import false_positive, power, significant_share
from simlab.measures.labels import EMPTINESS
from simlab.measures.preferences import coverage
from simlab.store.intervals import campaigns, sureness
from simlab.store.opening import measures_of
from simlab.store.query import add_measures, setting
from simlab.types import Array, Estimate, Floats, InputError, Ints, Outcomes

if TYPE_CHECKING:
    import xarray as xr

ERRORS = 3
"""Standard errors from the promised value beyond which a promise is broken, if the interval excludes it, too."""
NEARLY_ALL, HARDLY_ANY = 0.9, 0.1
"""Emptiness: a measure such as SRP is at least the first, and the share of pairs found at most the second."""

CLAIMS = ("significant", "direction", "verdict")
"""Outcomes that hold the claims of campaigns about pairs."""

EQUAL_PAIRS, COVERAGE = "false_positive", "coverage"


Measure = Callable[[Outcomes], Estimate]


@dataclass(frozen=True, slots=True)
class Doubts:
    """Objections to designs over the cells that are compared, and how many campaigns failed and ran.

    All are arrays over the cells, designs on the last axis; `marks` holds a tuple of phrases for each (empty: none).
    """

    marks: Array
    failed: Ints
    ran: Ints


def find_doubts(dataset: xr.Dataset, measure: str, axes: Sequence[str]) -> Doubts:
    """Return the objections to each cell, over `axes` in this order; none where a store lacks the records.

    `measure` is the one by which designs are compared: of some, such as SRP, a study that finds nothing has the best
    value. A promise that a design breaks with some systems counts as broken with all.
    """
    failed, ok = campaigns(dataset, axes)
    marks = _make_empty_marks(failed)
    if {"sweep", "config"} <= dataset.attrs.keys() and "n_systems" in dataset:
        broken = _add_marks(_false_positives(dataset, axes), _intervals(dataset, axes))
        marks = _add_marks(_spread_marks(dataset, axes, broken), _emptiness(dataset, measure, axes))
    return Doubts(marks, failed, failed + ok)


def _false_positives(dataset: xr.Dataset, axes: Sequence[str]) -> Array:
    """Mark the cells that declare more of the equal pairs different than their level allows."""
    level = _numbers(setting(dataset, "decision.level", axes))
    measured = _add_measure(dataset, EQUAL_PAIRS, false_positive, (*CLAIMS, "true_direction"))
    words = "declares {} of equal pairs different at level {}"
    return (
        _make_empty_marks(level)
        if measured is None
        else _mark_broken(measured, EQUAL_PAIRS, axes, level, words, above=True)
    )


def _intervals(dataset: xr.Dataset, axes: Sequence[str]) -> Array:
    """Mark the cells whose estimator's intervals hold the truth less often than they say."""
    level = _numbers(setting(dataset, "analysis.estimator.level", axes))
    if not np.isfinite(level).any():
        return _make_empty_marks(level)
    measured = _add_measure(dataset, COVERAGE, coverage, ("low", "high", "true_value"))
    words = "interval coverage {} where {} is promised"
    return (
        _make_empty_marks(level)
        if measured is None
        else _mark_broken(measured, COVERAGE, axes, 1 - level, words, above=False)
    )


def _mark_broken(
    measured: xr.Dataset, name: str, axes: Sequence[str], promised: Floats, words: str, *, above: bool
) -> Array:
    """Mark the cells whose value of a measure breaks the promise: `words` with the value and the promise filled in.

    `promised[cell]` is the greatest value that is allowed with `above`, else the least.
    """
    marks = _make_empty_marks(promised)
    value, error = (measured[f"{name}{end}"].transpose(*axes).values for end in ("", "_mcse"))
    sure = sureness(measured, name, axes)
    beyond = value - promised if above else promised - value
    outside = promised < sure.low if above else promised > sure.high
    # Both: an error of 0 at an end of the range says nothing by itself, and an interval alone errs in 1 of 20 cells.
    for index in map(tuple, np.argwhere((beyond > ERRORS * error) & outside)):
        _mark(marks, index, words.format(_format_value(value[index]), _format_value(promised[index])))
    return marks


def _emptiness(dataset: xr.Dataset, measure: str, axes: Sequence[str]) -> Array:
    """Mark the cells that are confirmed nearly always and find hardly anything."""
    value = dataset[measure].transpose(*axes).values
    marks = _make_empty_marks(value)
    if measure not in EMPTINESS:
        return marks
    measured = _add_measure(dataset, "power", power, (*CLAIMS, "true_direction"))
    if measured is None or not np.isfinite(measured["power"].values).any():
        measured, name = _add_measure(dataset, "significant_share", significant_share, CLAIMS), "significant_share"
    else:
        name = "power"
    if measured is None:
        return marks
    shares = measured[name].transpose(*axes).values
    for index in map(tuple, np.argwhere((value >= NEARLY_ALL) & (shares <= HARDLY_ANY))):
        _mark(marks, index, f"finds {_format_value(shares[index])} of pairs: confirmed by emptiness")
    return marks


def _add_measure(dataset: xr.Dataset, name: str, measure: Measure, needs: Sequence[str]) -> xr.Dataset | None:
    """Return the store with a measure, computed from the outcomes in `needs` if missing; None if that is impossible."""
    if name in measures_of(dataset):
        return dataset
    read = [*needs, "estimate", "status", "document_set", "n_systems"]
    try:
        return add_measures(dataset[[variable for variable in read if variable in dataset]].load(), {name: measure})
    except InputError:
        return None


def _spread_marks(dataset: xr.Dataset, axes: Sequence[str], marks: Array) -> Array:
    """Let a mark count along all axes that change the systems, which is nothing that a design could choose."""
    for k, axis in enumerate(axes):
        if str(dataset[axis].attrs.get("key", "")).partition(".")[0] != "systems":
            continue
        moved = np.moveaxis(marks, k, 0)
        for index in np.ndindex(moved.shape[1:]):
            first_mark = next((mark for mark in moved[(slice(None), *index)] if mark), ())
            for place in range(len(moved)):
                moved[(place, *index)] = moved[(place, *index)] or first_mark
    return marks


def _make_empty_marks(like: Array) -> Array:
    """Return no mark for each cell."""
    # One by one: numpy takes a tuple that is assigned to an array without axes apart.
    marks = np.empty(np.size(like), object)
    for k in range(marks.size):
        marks[k] = ()
    return marks.reshape(np.shape(like))


def _mark(marks: Array, index: tuple[int, ...], text: str) -> None:
    flat = marks.reshape(-1)
    flat[int(np.ravel_multi_index(index, marks.shape)) if index else 0] = (text,)


def _add_marks(first: Array, second: Array) -> Array:
    both = np.empty(first.size, object)
    for k, (left, right) in enumerate(zip(first.ravel(), second.ravel(), strict=True)):
        both[k] = (*left, *right)
    return both.reshape(first.shape)


def _format_value(value: float) -> str:
    return f"{value:.2f}".replace("0.", ".", 1) if value < 1 else f"{value:.2f}"


def _numbers(values: Array) -> Floats:
    return np.array([np.nan if value is None else float(value) for value in values.ravel()]).reshape(values.shape)


def bound_by_failures(
    value: float, failed: int, ran: int, bounds: Sequence[float] | None, order: int, *, less: bool
) -> tuple[float, float]:
    """Return the value of a measure had all failed campaigns the worst, and the best, outcome: (worst, best).

    `failed` of `ran` campaigns failed, `bounds` are the least and the greatest value of the measure (None: both ends
    are NaN), and `order` campaigns are compared at a time; `less`: less is better.
    """
    if not failed:
        return value, value
    if bounds is None:
        return float("nan"), float("nan")
    # A measure of `order` campaigns at a time has a value only where none of these failed.
    weight = (1 - failed / ran) ** order
    low, high = (value * weight + (1 - weight) * bound for bound in bounds)
    return (high, low) if less else (low, high)
