"""Draw the tables of the suite by a law of its own, and say what is true of their systems.

A latent score is the mean of the system, the rater's leniency, what the rater thinks of the system, the document, what
the output is like, and noise. Points are that score; other scales are steps of it. Where spreads or tastes differ, the
mean of a system's latent score is moved until its expected score is that of a plain system at the planted mean, so that
systems at one planted mean have the same expected score on every scale.
"""

from __future__ import annotations

from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from simlab.types import Bools, Floats, Ints
from tests.statistics.suite.suite_rows import Row

SEED = 20261126
LENIENCY, DOCUMENT, OUTPUT, NOISE, POOL = 1.0, 1.0, 0.5, 1.0, 1.0
"""Standard deviations of latent scores; pools of raters differ by the last, which no table shows.

They do on points only: on a scale of steps a pool that is more lenient also sees systems of unequal spreads apart, and
one pool says nothing of others.
"""

UNEQUAL = 0.6
"""Logarithm of the largest spread of a system over that of a plain one."""

ODD = {"skewed": 1.5, "divisive": 2.0, "bloc": 2.0}
"""Tastes that the first system alone has: how many times as much they vary as those of others."""

BLOC = 0.2
"""Share of people who hate the first system, where there is a bloc of them."""

NODES = 200
"""Quantiles of tastes over which expected scores are averaged: to less than a thousandth of a hundred points."""

PENALTIES = (25.0, 20.0, 15.0, 11.0, 10.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 0.0)
WORSE = (0.01, 0.02, 0.04, 0.05, 0.10, 0.13, 0.21, 0.23, 0.27, 0.33, 0.45)
"""Sums of penalties for errors, and the share of a plain system's outputs with so many or more: 55 % have none."""


class Table(NamedTuple):
    """Ratings, an entry each: `system`, `document` and `rater` are numbered from 0."""

    system: Ints
    document: Ints
    rater: Ints
    score: Floats


class Meeting(NamedTuple):
    """Who rated which system on which document, an entry a rating, and the pool of each rater and system."""

    system: Ints
    document: Ints
    rater: Ints
    pool_of_rater: Ints
    pool_of_system: Ints


class Steps(NamedTuple):
    """A scale: the least score, and by how much each threshold of the latent score adds to it."""

    least: float
    threshold: Floats
    rise: Floats


class Law(NamedTuple):
    """The law of a row's tables.

    `location`, `spread` and `taste`, `[system]`, are the mean of latent scores, the factor of what varies within a
    system, and the standard deviation of tastes; `expected[system]` is the expected score over raters and documents at
    large. `steps` is None for points.
    """

    row: Row
    meeting: Meeting
    location: Floats
    spread: Floats
    taste: Floats
    expected: Floats
    steps: Steps | None


def table(row: Row, seed: int) -> Table:
    """Draw a table of a row."""
    law = law_of(row)
    meeting = law.meeting
    score = draw_scores(law, np.random.default_rng([SEED, row.number, seed]), 1)[0]
    return Table(meeting.system, meeting.document, meeting.rater, score)


def truth(row: Row) -> Floats:
    """Return the true difference of each pair, first less second, for raters and documents at large; equal: 0."""
    first, second = np.triu_indices(row.systems, 1)
    expected = law_of(row).expected
    return np.asarray(expected[first] - expected[second])


def comparable(row: Row) -> Bools:
    """Return which pairs a table can tell apart: systems whose raters come from one pool."""
    first, second = np.triu_indices(row.systems, 1)
    pool = meeting_of(row).pool_of_system
    return np.asarray(pool[first] == pool[second])


@lru_cache(maxsize=8)
def law_of(row: Row) -> Law:
    """Return the law of a row, of which `planted` is the unit of means."""
    meeting = meeting_of(row)
    mean = row.planted * pattern_of(row)
    spread = _spread(row, mean)
    plain = _plain_taste(row, meeting)
    taste = plain * spread
    taste[0] *= ODD.get(row.tastes, 1.0)
    steps = _steps(row.scale, np.sqrt(_within(1.0) + plain**2))
    if steps is None:
        return Law(row, meeting, mean, spread, taste, mean, None)
    common = row.tastes if row.tastes == "t3" else "normal"
    expected = _expected(steps, mean, common, plain, 1.0)
    location = np.empty(row.systems)
    for k in range(row.systems):
        kind = common if k else row.tastes
        exact = kind == common and spread[k] == 1
        location[k] = mean[k] if exact else _solve(steps, expected[k], kind, taste[k], spread[k])
    return Law(row, meeting, location, spread, taste, expected, steps)


def pattern_of(row: Row) -> Floats:
    """Return the means of systems in units of what is planted."""
    k = np.arange(row.systems)
    if row.effect == "null":
        return np.zeros(row.systems)
    if row.effect == "partial":
        return (k % (2 if row.systems < 9 else 3)).astype(float)
    if row.effect == "one_pair":
        return np.where(k < 2, 0.0, (k // 2) * np.where(k % 2 == 0, 1.0, -1.0))
    if row.effect == "tiny":
        return (k % 2).astype(float)
    scores = [NormalDist().inv_cdf((one + 0.5) / row.systems) for one in _shuffled(row.systems, 5)]
    return np.asarray(np.array(scores) / np.std(scores))


def _shuffled(n: int, root: int) -> Ints:
    """Return an order of n numbers that goes with no other root's: ranks of the fractions of a root's multiples."""
    return np.asarray(np.argsort(np.argsort(np.arange(1, n + 1) * np.sqrt(root) % 1)))


def _spread(row: Row, mean: Floats) -> Floats:
    if row.spread == "unequal":
        return np.asarray(np.exp(np.linspace(-UNEQUAL, UNEQUAL, row.systems))[_shuffled(row.systems, 2)])
    if row.spread == "tied" and np.ptp(mean) > 0:
        return np.asarray(np.exp(UNEQUAL * (1 - 2 * (mean - mean.min()) / np.ptp(mean))))
    return np.ones(row.systems)


def _within(spread: float) -> float:
    """Return the variance of a latent score less that of tastes."""
    return LENIENCY**2 + DOCUMENT**2 + (OUTPUT**2 + NOISE**2) * spread**2


def _plain_taste(row: Row, meeting: Meeting) -> float:
    """Return the standard deviation of tastes that have the row's share in the variance of a difference of means."""
    n_raters = len(meeting.pool_of_rater)
    load = np.bincount(meeting.system * n_raters + meeting.rater, minlength=row.systems * n_raters)
    weight = load.reshape(row.systems, n_raters) / (row.documents * row.per_output)
    others = (OUTPUT**2 + NOISE**2 / row.per_output) / row.documents
    return float(np.sqrt(row.share / (1 - row.share) * others / (weight**2).sum(1).mean()))


def _steps(scale: str, sd: float) -> Steps | None:
    if scale == "points":
        return None
    if scale == "mqm":
        levels = -np.array(PENALTIES)
        at = np.array([NormalDist().inv_cdf(worse) for worse in WORSE])
    elif scale == "one_to_five":
        levels, at = np.arange(1.0, 6), np.array([NormalDist().inv_cdf(below) for below in (0.05, 0.15, 0.40, 0.75)])
    elif scale == "ceiling":
        # Of a plain system's scores 40 % are 100; a standard deviation is 20 points.
        levels = np.arange(0.0, 101, 5)
        at = 0.25 - 0.25 * np.arange(19, -1, -1)
    else:
        levels, at = np.array([0.0, 1.0]), np.array([-0.524])
    return Steps(float(levels[0]), sd * at, np.diff(levels))


def _standard_tastes(kind: str) -> tuple[Floats, Floats]:
    """Return quantiles of standardised tastes and their weights."""
    from scipy.special import stdtrit

    # Nodes crowd at both ends, where quantiles of long tails are far apart.
    even = (np.arange(NODES) + 0.5) / NODES
    at, weight = even**2 * (3 - 2 * even), 6 * even * (1 - even) / NODES
    if kind == "t3":
        value = np.asarray(stdtrit(3, at)) / np.sqrt(3)
    elif kind == "skewed":
        value = 1 + np.log(at)
    elif kind == "divisive":
        return np.array([-1.0, 1.0]), np.array([0.5, 0.5])
    else:
        return np.array([-np.sqrt((1 - BLOC) / BLOC), np.sqrt(BLOC / (1 - BLOC))]), np.array([BLOC, 1 - BLOC])
    return value, weight / weight.sum()


def _expected(steps: Steps, location: Floats, kind: str, taste: float, spread: float) -> Floats:
    """Return expected scores, `[system]`, of latent means `location[system]`."""
    from scipy.special import ndtr

    variance = _within(spread)
    if kind == "normal":
        value, weight, variance = np.zeros(1), np.ones(1), variance + taste**2
    else:
        value, weight = _standard_tastes(kind)
    above = ndtr((location[:, None, None] + taste * value[:, None] - steps.threshold) / np.sqrt(variance))
    return np.asarray(steps.least + weight @ (above @ steps.rise).T)


def _solve(steps: Steps, expected: float, kind: str, taste: float, spread: float) -> float:
    """Return the latent mean at which a system has an expected score."""
    low, high = -50.0 * (1 + taste), 50.0 * (1 + taste)
    for _ in range(48):
        middle = (low + high) / 2
        if _expected(steps, np.array([middle]), kind, taste, spread)[0] < expected:
            low = middle
        else:
            high = middle
    return (low + high) / 2


@lru_cache(maxsize=8)
def meeting_of(row: Row) -> Meeting:
    """Deal outputs to raters; a row has one deal, so that its tables differ in their scores alone."""
    rng = np.random.default_rng([SEED, row.number])
    system, document = (of.ravel() for of in np.meshgrid(np.arange(row.systems), np.arange(row.documents)))
    pool = np.zeros(row.systems, int)
    n_pools = 1
    if row.meeting == "nested":
        pool, n_pools = np.arange(row.systems), row.systems
    elif row.meeting == "two_pools":
        pool, n_pools = (np.arange(row.systems) >= (row.systems + 1) // 2).astype(int), 2
    rater = np.empty((len(system), row.per_output), int)
    for one in range(n_pools):
        here = pool[system] == one
        if row.design == "ungrouped":
            given = _deal_outputs(rng, row, system[here])[:, None]
        else:
            given = _deal_documents(rng, row)[document[here]]
        rater[here] = given + one * row.raters
    # Raters of nested designs come from one crowd: how lenient they are is all by which they differ.
    of_rater = np.repeat(np.arange(n_pools), row.raters) if n_pools == 2 else np.zeros(n_pools * row.raters, int)
    of_system = pool if n_pools == 2 else np.zeros(row.systems, int)
    k = row.per_output
    return Meeting(np.repeat(system, k), np.repeat(document, k), rater.ravel(), of_rater, of_system)


def _loads(row: Row, n: int) -> Ints:
    """Share n ratings out; each rater has one at least."""
    share = np.full(row.raters, 1 / row.raters)
    if row.loads == "one_70":
        share = np.r_[0.7, np.full(row.raters - 1, 0.3 / (row.raters - 1))]
    elif row.loads == "one_over_k":
        share = 1 / np.arange(1, row.raters + 1)
        share /= share.sum()
    load: Ints = np.maximum(1, np.floor(share * n).astype(int))
    # What is left goes to those who are furthest below their share, what is too much comes from those above.
    while load.sum() != n:
        step = 1 if load.sum() < n else -1
        short = np.where((load > 1) | (step > 0), step * (share * n - load), -np.inf)
        load[int(np.argmax(short))] += step
    return load


def _deal_documents(rng: np.random.Generator, row: Row) -> Ints:
    """Return the raters of each document, `[document, rating]`, who rate all systems on it."""
    load = _loads(row, row.documents * row.per_output)
    # No rater has more ratings than there are documents: those who are that far apart on the list differ.
    order = rng.permutation(row.raters)
    listed = np.repeat(order, load[order]).reshape(row.per_output, row.documents).T
    return np.asarray(listed[rng.permutation(row.documents)])


def _deal_outputs(rng: np.random.Generator, row: Row, system: Ints) -> Ints:
    """Return the rater of each output; each system meets three raters at least."""
    listed = np.repeat(np.arange(row.raters), _loads(row, len(system)))
    for _ in range(1000):
        rng.shuffle(listed)
        met = np.unique(system * row.raters + listed) // row.raters
        if np.bincount(met)[np.unique(system)].min() >= 3:
            return listed
    raise ValueError(f"{row.name}: no deal lets each system meet three raters")


def draw_scores(law: Law, rng: np.random.Generator, n: int) -> Floats:
    """Draw the scores of n tables, `[table, rating]`."""
    row, (system, document, rater, pool, _) = law.row, law.meeting
    k, raters = row.systems, len(pool)
    leniency = LENIENCY * rng.standard_normal((n, raters))
    if pool.any() and law.steps is None:
        leniency += POOL * rng.standard_normal((n, 2))[:, pool]
    taste = law.taste * _draw_tastes(rng, row.tastes, (n, raters, k))
    of_document = DOCUMENT * rng.standard_normal((n, row.documents))
    output = OUTPUT * law.spread * rng.standard_normal((n, row.documents, k))
    latent = law.location[system] + NOISE * law.spread[system] * rng.standard_normal((n, len(system)))
    latent += leniency[:, rater] + of_document[:, document]
    latent += taste.reshape(n, -1)[:, rater * k + system] + output.reshape(n, -1)[:, document * k + system]
    if law.steps is None:
        return latent
    level = law.steps.least + np.r_[0.0, np.cumsum(law.steps.rise)]
    return np.asarray(level[np.searchsorted(law.steps.threshold, latent, side="right")])


def _draw_tastes(rng: np.random.Generator, kind: str, shape: tuple[int, int, int]) -> Floats:
    """Draw standardised tastes, `[table, rater, system]`; odd ones are those of the first system."""
    if kind == "t3":
        return np.asarray(rng.standard_t(3, shape) / np.sqrt(3))
    taste = rng.standard_normal(shape)
    if kind == "skewed":
        taste[:, :, 0] = 1 - rng.exponential(size=shape[:2])
    elif kind == "divisive":
        taste[:, :, 0] = np.where(rng.random(shape[:2]) < 0.5, -1.0, 1.0)
    elif kind == "bloc":
        values, weights = _standard_tastes(kind)
        taste[:, :, 0] = np.where(rng.random(shape[:2]) < weights[0], values[0], values[1])
    return taste
