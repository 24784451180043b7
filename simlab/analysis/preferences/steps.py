"""Go through what came about a pair step by step: a step is an output, or a document with all its outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from simlab.types import Array, Bools, Evidence, Floats, InputError, Ints, Trail

Unit: TypeAlias = Literal["output", "document"]
Estimand: TypeAlias = Literal["population", "test_set"]

PREFERENCE = np.array([1.0, 0.0, -1.0, 0.0])
"""What an outcome `>`, `=`, `<` adds to wins less losses; nothing where it is -1."""

NEVER = np.iinfo(np.int64).max
"""The number of outputs after which a step is complete that never is."""


@dataclass(frozen=True, slots=True)
class Steps:
    """Hold what raters and metric say, step by step `[row, step]`, in units of the largest step.

    `y` are wins less losses by the raters, `g` by the metric; 0 where no step was taken. `size` is the share of the
    largest step that a step has, `read` the number of outputs asked about once it is complete. `available[row]` counts
    the steps of the whole test set, `planned[row]` those that are meant to be taken.
    """

    y: Floats
    g: Floats
    size: Floats
    read: Ints
    available: Ints
    planned: Ints


def trail_of(evidence: Evidence) -> Trail:
    """Return what came output by output; raise InputError where only counts at looks are known."""
    if evidence.trail is None:
        raise InputError("this decision rule needs what came output by output, and only counts at looks are known")
    return evidence.trail


def steps_of(trail: Trail, planned: int, unit: Unit) -> Steps:
    """List the steps that were taken of `planned` outputs; a document counts once all that can come of it has come."""
    came, y, g = trail.document >= 0, PREFERENCE[trail.human], said_by(trail.metric, trail.human)
    if unit == "output":
        read = np.where(came, np.arange(1, y.shape[1] + 1), NEVER)
        return Steps(y, g, came.astype(float), read, trail.n_outputs, np.full(len(y), max(planned, 1)))
    row, k = np.nonzero(came)
    at = (row, _document_number(trail.document)[row, k])
    shape = (len(y), int(at[1].max(initial=-1)) + 1)
    total, said, count = np.zeros(shape), np.zeros(shape), np.zeros(shape, np.int64)
    size, read = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    size[at] = trail.document_size[row, k]
    for into, values in ((total, y), (said, g), (count, came)):
        np.add.at(into, at, values[row, k])
    np.maximum.at(read, at, k + 1)
    whole, largest = (count == size) & (count > 0), np.maximum(trail.largest_document, 1)[:, None]
    y, g, share = (np.where(whole, values, 0) / largest for values in (total, said, size))
    steps = -(-planned * trail.n_documents // np.maximum(trail.n_outputs, 1))
    return Steps(y, g, share, np.where(whole, read, NEVER), trail.n_documents, np.maximum(steps, 1))


def said_by(metric: Array | None, like: Array) -> Floats:
    """Return the metric's preferences, 0 where it has none."""
    return np.zeros(like.shape) if metric is None else PREFERENCE[metric]


def expected(steps: Steps, trail: Trail, estimand: Estimand, unit: Unit) -> Floats:
    """Return what the metric is to say at each step on average, given what was seen: `h[row, step]`.

    Raises InputError where the metric has not seen the outputs that this takes.
    """
    if trail.metric is None or trail.rest is None:
        raise InputError("decision.use_metric=true needs a metric, and metric=none has none; set it to false")
    if estimand == "test_set":
        if np.isnan(trail.metric_total).any():
            raise InputError(
                "decision.estimand=test_set: the metric must rate every output that humans can; raise n_outputs"
            )
        largest = trail.largest_document if unit == "document" else 1
        left = np.maximum(steps.available[:, None] - np.arange(steps.y.shape[1]), 1)
        return np.asarray(((trail.metric_total / largest)[:, None] - before(steps.g)) / left)
    rest = PREFERENCE[trail.rest] if unit == "output" else _document_means(trail)
    return _fresh(rest, steps)


def _fresh(rest: Floats, steps: Steps) -> Floats:
    """Share further outputs out among the planned steps; each step has its own."""
    each = rest.shape[1] // int(steps.planned.max(initial=1))
    if not each:
        raise InputError(
            "decision.estimand=population needs fresh outputs that the metric alone rates, at least one a step, and of "
            f"{int(steps.planned.max())} planned steps only {rest.shape[1]} have one; raise metric.n_outputs above "
            "systems.n_items by that, or set decision.use_metric=false"
        )
    n_steps = min(steps.y.shape[1], rest.shape[1] // each)
    mean = rest[:, : n_steps * each].reshape(len(rest), n_steps, each).mean(2)
    return np.asarray(steps.size * np.pad(mean, ((0, 0), (0, steps.y.shape[1] - n_steps))))


def _document_means(trail: Trail) -> Floats:
    """Average what the metric says of each further document: `[row, document]`."""
    if trail.rest is None or not trail.rest.shape[1]:
        return np.zeros((len(trail.human), 0))
    start = np.flatnonzero(np.diff(trail.rest_document, prepend=-1))
    size = np.diff(np.append(start, len(trail.rest_document)))
    return np.asarray(np.add.reduceat(PREFERENCE[trail.rest], start, axis=1) / size)


def _document_number(document: Ints) -> Ints:
    """Number the documents of each row as they come, an unbroken run of outputs each."""
    first = np.diff(document, axis=1, prepend=-1) != 0
    return np.asarray(np.cumsum(first, axis=1) - 1)


def before(values: Floats) -> Floats:
    """Sum up the values of all earlier steps: `[row, step]`, 0 in the first.

    >>> before(np.array([[1.0, 2.0, 3.0]])).tolist()
    [[0.0, 1.0, 3.0]]
    """
    return np.asarray(np.cumsum(values, axis=1) - values)


def document_totals(trail: Trail, annotations: Ints, *, whole: bool) -> Ints:
    """Sum up wins less losses of each document at each look: `[row, look, document]`, in any order of outputs.

    `whole`: a document that a look splits counts from the look at which all its outputs have come; of a pair that got
    as far as was planned, after which nothing can come, what there is counts in the end.
    """
    row, k = np.nonzero(trail.document >= 0)
    look = np.searchsorted(annotations, k, side="right")
    at = (row, look, trail.document[row, k])
    shape = (len(trail.document), len(annotations), int(trail.document.max(initial=-1)) + 1)
    total, count, size = np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    np.add.at(total, at, PREFERENCE[trail.human[row, k]].astype(np.int64))
    total = np.cumsum(total, axis=1)
    if not whole:
        return total
    np.add.at(count, at, 1)
    size[row, :, at[2]] = trail.document_size[row, k][:, None]
    complete: Bools = np.cumsum(count, axis=1) >= size
    complete[(trail.document >= 0).sum(1) >= annotations[-1], -1] = True
    return np.where(complete, total, 0)
