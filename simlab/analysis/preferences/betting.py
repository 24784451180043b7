"""Test pairs of systems at any look by bets on the next output (e-processes), exact with a metric, too.

`exact_bets` takes the answers output by output; `is_beyond` and `is_within` take counts of outcomes and test p> - p<
against a bound or a margin. A row is a pair in a campaign, a look a planned number of annotations.

A step is an output, or a document where outputs come in documents. With y the raters' answer about it (+1, 0, -1: first
better, tie, second better; of a document the sum), g the metric's, and the coefficient a and the stake l chosen from
earlier steps alone,

    X_t = (y_t - mu_t) - a_t (g_t - h_t),    E_t = mean over stakes of prod_s (1 + l_s X_s).

*Population*: mu_t = 0, and h_t is the mean over further outputs that the metric alone has seen, fresh ones at each
step; a mean over all of them would be known in advance, and X_t would not have mean 0 given the past. *Test set*:
outputs are drawn without replacement, mu_t is what the mean of those left must be if that of all is 0, and h_t the
metric's mean over those left. Either way X_t has mean 0 given the past, exactly, if neither system is better, so that
E is a test martingale; if the first is worse, bets that it is better lose on average. Sources: Ville 1939; Waudby-Smith
and Ramdas 2020 (sampling without replacement), 2024 (betting).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from scipy.special import logsumexp, ndtri

from simlab.types import Array, Bools, Evidence, Floats, InputError, Ints, Trail

STAKES = {1.5: 0.2, 2.7: 0.4, 4.5: 0.3, 9.0: 0.1}
"""Stakes in units of 1 / sqrt(planned steps x variance of X), and how much of the wealth is bet with each: 2.7 finds
most by the planned end, larger ones end early where systems differ much. The plan tunes them; the promise holds beyond
it, too."""
MOST = 0.9
"""The share of its wealth that a bet may lose at one step."""
_VARIANCE, _STEPS = 0.4, 5.0
"""Prior variance of X and of g - h, and the number of steps that it counts for."""
_VARIANCE_OF_PREFERENCE = 0.8
"""Of a preference (+1, 0, -1) with some draws: it tunes stakes, and no promise hangs on it."""
Unit: TypeAlias = Literal["output", "document"]
Estimand: TypeAlias = Literal["population", "test_set"]
PREFERENCE = np.array([1.0, 0.0, -1.0, 0.0])
"""Contribution of an outcome (0, 1, 2 = `>`, `=`, `<`) to wins less losses; 0 for an outcome of -1 (not rated)."""
NEVER = np.iinfo(np.int64).max
"""The number of outputs after which a step is complete that never is."""


def exact_bets(evidence: Evidence, *, estimand: Estimand, use_metric: bool, unit: Unit) -> tuple[Floats, Floats]:
    """Return log e-values `[row, look]` of bets that the first system is better, and of bets that it is worse.

    `estimand`: they are about all outputs that these were drawn from, or about the test set.

    Raises InputError where outputs are not known one by one, or the metric has not seen those that it takes.
    """
    trail = require_trail(evidence)
    steps = list_steps(trail, int(evidence.annotations[-1]), unit)
    done = (steps.read[:, :, None] <= evidence.annotations).sum(1)
    # A mean beyond 1 cannot be made up for: there `_is_certain` decides, and bets only must stay defined.
    centre = np.clip(_mean_of_rest(steps), -1, 1) if estimand == "test_set" else np.zeros_like(steps.y)
    u = steps.g - expected_preferences(steps, trail, estimand, unit) if use_metric else np.zeros_like(steps.y)
    # What is left to expect of a step that nobody takes has no bounds.
    y, u = (np.where(steps.size > 0, values, 0.0) for values in (steps.y - centre, u))
    better, worse = _log_wealth(y, u, 1 + np.abs(centre), steps.planned, done)
    if estimand == "test_set":
        better = np.where(_is_certain(steps.y, steps, done), np.inf, better)
        worse = np.where(_is_certain(-steps.y, steps, done), np.inf, worse)
    return better, worse


def both_ways(better: Floats, worse: Floats) -> tuple[Floats, Array]:
    """Average bets either way to one log e-value, and return which of them is ahead: +1, 0, -1."""
    return np.asarray(np.logaddexp(better, worse) - np.log(2)), np.asarray(
        (better > worse) * 1 - (better < worse), np.int8
    )


def _mean_of_rest(steps: Steps) -> Floats:
    """Return the mean of the steps not taken yet if that of all is 0."""
    left = steps.available[:, None] - np.arange(steps.y.shape[1])
    return np.asarray(-sum_before(steps.y) / np.maximum(left, 1))


def _log_wealth(y: Floats, u: Floats, reach: Floats, planned: Ints, done: Ints) -> tuple[Floats, Floats]:
    """Return the logarithm of the wealth of bets on either side by each look: `[row, look]`.

    `done[row, look]` is the number of steps complete at a look. `y` lies within `reach`, and `u`, the metric's answer
    less its expectation, within 2. A coefficient that
    leaves no room for the stake is cut: with few steps the stake matters more than what the metric explains.
    """
    best = sum_before(y * u) / (sum_before(u**2) + _VARIANCE * _STEPS)
    variance = (_VARIANCE * _STEPS + sum_before((y - best * u) ** 2)) / (_STEPS + np.arange(y.shape[1]))
    better: list[Floats] = []
    worse: list[Floats] = []
    for stake, share in STAKES.items():
        wanted = stake / np.sqrt(planned[:, None] * variance)
        # u lies within 2, so that a coefficient a adds up to 2 |a| to what a step may lose.
        room = np.maximum(MOST / wanted - reach, 0) / 2
        a = np.clip(best, -room, room)
        bet = np.minimum(wanted, MOST / (reach + 2 * np.abs(a)))
        for side, logs in ((1, better), (-1, worse)):
            log = np.pad(np.cumsum(np.log1p(side * bet * (y - a * u)), axis=1), ((0, 0), (1, 0)))
            logs.append(np.log(share) + np.take_along_axis(log, done, axis=1))
    return np.asarray(logsumexp(np.stack(better), axis=0)), np.asarray(logsumexp(np.stack(worse), axis=0))


def _is_certain(y: Floats, steps: Steps, done: Ints) -> Bools:
    """Mark at which looks the steps not taken yet cannot make up for the lead any more."""
    lead = np.take_along_axis(np.pad(np.cumsum(y, axis=1), ((0, 0), (1, 0))), done, axis=1)
    # The tolerance keeps a lead that the rest can just make up for from passing by rounding.
    return np.asarray(lead > steps.available[:, None] - done + 1e-9)


def log_bets(counts: Array, planned: int, bound: float) -> Floats:
    """Return the log e-value of `counts[..., outcome]` against a p> - p< of at most `bound`.

    `planned`, the number of ratings planned, tunes the stakes; the e-value holds at any number.

    With y = +1, 0, -1 for `>`, `=`, `<`, `prod (1 + l (y - bound))` is a test supermartingale if p> - p< <= bound, for
    every stake l > 0, and so is a mixture of stakes. Stakes are fixed, so that counts are all that is needed.
    Source: Waudby-Smith and Ramdas 2024.

    >>> float(log_bets(np.array([0, 0, 0]), 100, 0.1).round(12)) + 0.0
    0.0
    """
    logs = []
    for stake, share in STAKES.items():
        # y - bound is at least -(1 + bound), which the stake must survive.
        bet = min(stake / np.sqrt(max(planned, 1) * _VARIANCE_OF_PREFERENCE), MOST / (1 + bound))
        factor = np.log1p(bet * (np.array([1.0, 0.0, -1.0]) - bound))
        logs.append(np.log(share) + counts @ factor)
    return np.asarray(logsumexp(np.stack(logs), axis=0))


def is_beyond(counts: Array, planned: int, bound: float, level: float, *, plan: bool) -> Bools:
    """Mark at which looks of `counts[row, look, outcome]` p> - p< has been shown to exceed a bound.

    If it does not, that happens, at whatever look, with probability at most `level`; with `plan`, at whatever look up
    to the planned number of ratings, by `has_crossed_late`, which finds more.
    """
    shown = (
        has_crossed_late(counts, planned, bound, level) if plan else log_bets(counts, planned, bound) >= -np.log(level)
    )
    return np.asarray(np.logical_or.accumulate(shown, axis=1))


def is_within(counts: Array, planned: int, margin: float, level: float, *, plan: bool) -> Bools:
    """Mark at which looks the difference has been shown to be less than a margin either way: two one-sided tests.

    If it is the margin or more, that happens with probability at most `level`: both tests must reject, and one of their
    nulls holds. Source: Schuirmann 1987.
    """
    either = (counts, counts[..., ::-1])
    return np.asarray(np.logical_and(*(is_beyond(side, planned, -margin, level, plan=plan) for side in either)))


def has_crossed_late(counts: Array, planned: int, bound: float, level: float) -> Bools:
    """True if the sum of y - bound crossed a level line that a random walk reaches by the planned end with `level`.

    By the reflection principle a walk with standard deviation s per step exceeds `z(1 - level / 2) s sqrt(planned)` at
    any of the planned steps with probability `level` (normal approximation): hard early, and no number of looks need be
    planned. s comes from the share of ratings that are no draws, which the null bounds from below.
    """
    wins, losses, n = counts[..., 0], counts[..., 2], counts.sum(-1)
    decided = np.maximum((wins + losses + 1) / (n + 1), abs(bound))
    # A preference whose mean is the bound has the variance of the share that decides less the bound squared.
    line = ndtri(1 - level / 2) * np.sqrt((decided - bound**2) * max(planned, 1))
    return np.asarray(wins - losses - bound * n >= line)


@dataclass(frozen=True, slots=True)
class Steps:
    """Answers of raters and metric, step by step `[row, step]`, in units of the largest document (1 of outputs).

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


def require_trail(evidence: Evidence) -> Trail:
    """Return the answers output by output; raise InputError where only counts at looks are known."""
    if evidence.trail is None:
        raise InputError("this decision rule needs what came output by output, and only counts at looks are known")
    return evidence.trail


def list_steps(trail: Trail, planned: int, unit: Unit) -> Steps:
    """List the steps that were taken of `planned` outputs; a document counts once all of its outputs have come."""
    came, y, g = trail.document >= 0, PREFERENCE[trail.human], trail.metric
    g = np.zeros(y.shape) if g is None else g
    if unit == "output":
        read = np.where(came, np.arange(1, y.shape[1] + 1), NEVER)
        return Steps(y, g, came.astype(float), read, trail.n_outputs, np.full(len(y), max(planned, 1)))
    row, k = np.nonzero(came)
    at = (row, _document_number(trail.document)[row, k])
    shape = (len(y), int(at[1].max(initial=-1)) + 1)
    total, metric_sum, count = np.zeros(shape), np.zeros(shape), np.zeros(shape, np.int64)
    size, read = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    size[at] = trail.document_size[row, k]
    for into, values in ((total, y), (metric_sum, g), (count, came)):
        np.add.at(into, at, values[row, k])
    np.maximum.at(read, at, k + 1)
    whole, largest = (count == size) & (count > 0), np.maximum(trail.largest_document, 1)[:, None]
    y, g, share = (np.where(whole, values, 0) / largest for values in (total, metric_sum, size))
    steps = -(-planned * trail.n_documents // np.maximum(trail.n_outputs, 1))
    return Steps(y, g, share, np.where(whole, read, NEVER), trail.n_documents, np.maximum(steps, 1))


def expected_preferences(steps: Steps, trail: Trail, estimand: Estimand, unit: Unit) -> Floats:
    """Return the expected answer of the metric at each step, given earlier steps: `h[row, step]`.

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
        return np.asarray(((trail.metric_total / largest)[:, None] - sum_before(steps.g)) / left)
    rest = trail.rest if unit == "output" else _document_means(trail)
    return _share_out_rest(rest, steps)


def _share_out_rest(rest: Floats, steps: Steps) -> Floats:
    """Deal the metric's answers about further outputs to the planned steps; return their mean at each `[row, step]`."""
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
    """Average the metric's answers about each further document: `[row, document]`."""
    if trail.rest is None or not trail.rest.shape[1]:
        return np.zeros((len(trail.human), 0))
    start = np.flatnonzero(np.diff(trail.rest_document, prepend=-1))
    size = np.diff(np.append(start, len(trail.rest_document)))
    return np.asarray(np.add.reduceat(trail.rest, start, axis=1) / size)


def _document_number(document: Ints) -> Ints:
    """Number the documents of each row as they come, an unbroken run of outputs each."""
    first = np.diff(document, axis=1, prepend=-1) != 0
    return np.asarray(np.cumsum(first, axis=1) - 1)


def sum_before(values: Floats) -> Floats:
    """Sum up the values of all earlier steps: `[row, step]`, 0 in the first.

    >>> sum_before(np.array([[1.0, 2.0, 3.0]])).tolist()
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
