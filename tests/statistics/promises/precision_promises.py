"""Measure what a run to a precision promises: how far off values are where it stops, and what their intervals hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from promise_rows import Row, stream

from simlab.config.precision_targets import PrecisionTarget
from simlab.engine.allocation import Goal, enlarge_goal, questions
from simlab.engine.ledger import LedgerEntry
from simlab.measures.labels import measure_range
from simlab.measures.precision import LEAST_CLUSTERS, interval
from simlab.types import Estimate, Floats

LEAST_COVERAGE, MOST_BIAS = 0.93, 0.1
STUDIES = 4
SHARE, WIDTH = "srp", "difference_width"
"""A measure that is a share of events, and one that is not."""

Draw = Callable[[np.random.Generator, int], Floats]


class Law(NamedTuple):
    """Hold a law of what a world adds to a measure, `[world]`, its mean, and the error that is wanted."""

    draw: Draw
    mean: float
    target: float
    measure: str


def skewed_worlds(rng: np.random.Generator, n: int) -> Floats:
    """Draw shares that are mostly near 1, with a few far below: skewness -2.6."""
    return rng.beta(9, 0.4, n)


def pairs_of_studies(rng: np.random.Generator, n: int) -> Floats:
    """Draw how many of the pairs of a world's studies agree, where each is stable with a probability of its world."""
    stable = rng.binomial(STUDIES, np.sqrt(skewed_worlds(rng, n)))
    return np.asarray(stable * (stable - 1) / (STUDIES * (STUDIES - 1)))


LAWS = {
    "shares near 1 (beta 9, .4)": Law(skewed_worlds, 9 / 9.4, 0.01, SHARE),
    "shares near 1, wanted to .005": Law(skewed_worlds, 9 / 9.4, 0.005, SHARE),
    "normal": Law(lambda rng, n: rng.standard_normal(n), 0.0, 0.1, WIDTH),
}
FAR = {
    "pairs of 4 studies a world": Law(pairs_of_studies, 9 / 9.4, 0.01, SHARE),
    "an event in .03 of worlds": Law(lambda rng, n: (rng.random(n) < 0.03) * 1.0, 0.03, 0.01, SHARE),
    "lognormal, skewness 1.75": Law(lambda rng, n: rng.lognormal(0, 0.5, n), float(np.exp(0.125)), 0.04, WIDTH),
    "exponential, skewness 2": Law(lambda rng, n: rng.exponential(1, n), 1.0, 0.1, WIDTH),
    "lognormal, skewness 6.2": Law(lambda rng, n: rng.lognormal(0, 1, n), float(np.exp(0.5)), 0.1, WIDTH),
}
"""Laws of rare and far worlds, where the value is off by more: said in docs/laboratory.md, not promised."""


class Stopped(NamedTuple):
    """Hold a value where a run stopped, its error, whether its interval holds the mean, and the worlds."""

    value: float
    error: float
    holds: bool
    worlds: int


def where_it_stops(worlds: int) -> Iterator[Row]:
    """Measure bias, in errors, and coverage where a run to a precision stops; and where one looks from 5 worlds on."""
    for name, law in LAWS.items():
        yield from _rows(name, law, [_stopped(law, rng) for rng in _streams(name, worlds)])
    for name, law in list(LAWS.items())[:1]:
        peeked = [_peeked(law, rng) for rng in _streams(f"{name}, peeked", worlds)]
        bias, coverage = _rows(f"{name}, stopped from 5 worlds on", law, peeked)
        yield bias._replace(side="control above")
        yield coverage._replace(side="control below")


def far_from_normal(worlds: int) -> Iterator[Row]:
    """Measure the same where it is not promised."""
    for name, law in FAR.items():
        yield from _rows(name, law, [_stopped(law, rng) for rng in _streams(name, worlds)])


def _streams(name: str, worlds: int) -> Iterator[np.random.Generator]:
    return (stream(1, "precision_promises", name, k) for k in range(worlds))


def _rows(name: str, law: Law, ends: list[Stopped]) -> tuple[Row, Row]:
    off = np.array([end.value for end in ends]) - law.mean
    error = float(np.mean([end.error for end in ends]))
    n, held = len(ends), float(np.mean([end.holds for end in ends]))
    middle = f"{name}: {np.median([end.worlds for end in ends]):.0f} worlds"
    bias, spread = abs(float(off.mean())) / error, float(off.std(ddof=1)) / error / np.sqrt(n)
    return (
        Row("bias where a run to a precision stops, in errors", middle, MOST_BIAS, bias, spread, n),
        Row(
            "coverage where a run to a precision stops",
            middle,
            LEAST_COVERAGE,
            held,
            float(np.sqrt(held * (1 - held) / n)),
            n,
            "at least",
        ),
    )


def _stopped(law: Law, rng: np.random.Generator) -> Stopped:
    """Go from round to round as the engine does, in a sweep of one cell."""
    goal = Goal({"cell": LEAST_CLUSTERS}, STUDIES, chosen=True)
    asked = questions([PrecisionTarget(law.measure, law.target)], [LedgerEntry((), "cell", {}, ())])
    worlds = law.draw(rng, LEAST_CLUSTERS)
    while True:
        following = enlarge_goal(goal, asked, {"cell": {law.measure: _estimate(worlds)}})
        if following is None:
            return _ended(law, worlds)
        goal = following
        worlds = np.concatenate([worlds, law.draw(rng, goal.along["cell"] - len(worlds))])


def _peeked(law: Law, rng: np.random.Generator) -> Stopped:
    """Stop at the first world, from the fifth on, after which the error looks as small as it is wanted."""
    worlds = law.draw(rng, 5)
    while _estimate(worlds).mcse > law.target:
        worlds = np.concatenate([worlds, law.draw(rng, 1)])
    value = _estimate(worlds)
    reach = 1.96 * value.mcse
    return Stopped(value.value, value.mcse, abs(value.value - law.mean) <= reach, len(worlds))


def _ended(law: Law, worlds: Floats) -> Stopped:
    value = _estimate(worlds)
    low, high = interval(np.array([value.value]), value.influence[None], measure_range(law.measure))
    return Stopped(value.value, value.mcse, bool(low[0] <= law.mean <= high[0]), len(worlds))


def _estimate(worlds: Floats) -> Estimate:
    return Estimate(float(worlds.mean()), worlds - worlds.mean(), "world", len(worlds))
