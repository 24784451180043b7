"""Measure what is promised of conclusions from votes: each function yields a row for each promise.

Votes come from worlds like real ones: voters with tastes and unequal loads, items whose outputs differ, ties, few
items, sparse arenas; each study is one unit. Who is taken as given has tastes that add up to nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
from promise_rows import Row, Side, numbers
from vote_worlds import World, draw, true_differences

from simlab.analysis import sign_test
from simlab.analysis.preferences.anytime_votes import anytime_bounds, highest_evidence, is_fresh
from simlab.analysis.preferences.families import holm_of_e_values
from simlab.analysis.preferences.net_wins import weigh_votes
from simlab.analysis.preferences.scales import quantile, scale
from simlab.analysis.preferences.strengths import distances, fit
from simlab.analysis.preferences.votes import FEWEST, Votes, choose_way, way_of_all
from simlab.concluding.preferences.repetitions import is_claimed_at_a_look
from simlab.types import Bools, Floats

LEVEL = 0.05
EQUAL = (0.0,) * 6
APART = (0.8, 0.0, 0.0, 0.0, -0.8, -0.8)

WORLDS = {
    "40 raters, unequal loads": World(EQUAL, 1500, 40, 300, 0.6, 0.4, 0.6, 1.0),
    "12 raters, 60 items": World(EQUAL, 1500, 12, 60, 0.6, 0.6, 0.6, 0.8),
    "20 raters, skewed tastes": World(EQUAL, 1500, 20, 40, 0.8, 0.8, 0.6, 1.0, True),
    "8 raters, 10 items": World(EQUAL, 1200, 8, 10, 0.5, 0.5, 0.6, 0.5),
    "4 given raters, 40 items": World(EQUAL, 1500, 4, 40, 0.6, 0.6, 0.6, 0.0, False, True),
    "everybody votes once": World(EQUAL, 600, 600, 600, 0.6, 0.6),
    "no ties": World(EQUAL, 1000, 25, 100, 0.6, 0.6, 0.0, 0.8),
    "half ties": World(EQUAL, 1000, 25, 100, 0.6, 0.6, 3.0, 0.8),
    "sparse arena of 20": World((0.0,) * 20, 4000, 600, 3000, 0.6, 0.4, 0.6, 1.3, pair_sd=1.0),
    "some equal": World(APART, 1500, 40, 300, 0.6, 0.4, 0.6, 0.8),
}
SIX = (0.8, 0.4, 0.2, 0.0, -0.4, -1.0)
SCALES = {
    "30 raters, 100 items": World(SIX, 1500, 30, 100, load_sd=0.7),
    "8 equal systems, 20 raters": World((0.0,) * 8, 1500, 20, 60, load_sd=0.7),
    "sparse arena of 20, unlike": World(
        tuple(np.linspace(1, -1, 20).tolist()), 800, 150, 2000, load_sd=1.0, pair_sd=1.0
    ),
}
QUICK = ("12 raters, 60 items", "4 given raters, 40 items", "everybody votes once")


class Measured(NamedTuple):
    """Hold, of each study, whether something wrong was claimed, whether bounds hold all truths, and shares found."""

    fixed: Bools
    anytime: Bools
    covered: Bools
    always_covered: Bools
    uncorrected: Bools
    watched: Bools
    found: Floats
    found_anytime: Floats


@functools.cache
def measured(world: World, n: int) -> Measured:
    """Conclude from n studies of a world."""
    truth = np.sign(true := true_differences(world))
    return Measured(*map(np.array, zip(*(_study(world, true, truth, k) for k in numbers(n)), strict=True)))


def _study(world: World, true: Floats, truth: Floats, seed: int) -> tuple[bool | float, ...]:
    rng = np.random.default_rng([7, seed])
    votes = draw(rng, world)
    every = np.ones(votes.n_pairs, bool)
    found = weigh_votes(rng, votes, choose_way(votes), every, LEVEL, 499)
    there = found.n > 0
    wrong = found.claimed & (np.sign(found.difference) != truth)
    kept = votes.select_votes(is_fresh(votes, len(np.unique(votes.rater)) >= FEWEST))
    log_e, ahead = highest_evidence(kept, True)
    claimed = holm_of_e_values(log_e, LEVEL)
    low, high = _always(kept)
    nulls = truth == 0
    p_value = sign_test.asymptotic(votes.counts())
    return (
        bool(wrong.any()),
        bool((claimed & (ahead != truth)).any()),
        bool(((found.low <= true + 1e-3) & (true - 1e-3 <= found.high))[there].all()),
        bool(((low <= true) & (true <= high)).all()),
        bool((p_value <= LEVEL)[nulls].any()),
        is_claimed_at_a_look(votes, nulls, LEVEL),
        float(found.claimed[~nulls].mean()) if (~nulls).any() else 0.0,
        float(claimed[~nulls].mean()) if (~nulls).any() else 0.0,
    )


def _always(votes: Votes) -> tuple[Floats, Floats]:
    counts = votes.counts()
    there = counts.sum(1) > 0
    low, high = -np.ones(len(counts)), np.ones(len(counts))
    low[there], high[there] = anytime_bounds(counts[there], float(np.log(there.sum() / LEVEL)))
    return low, high


def errors(n: int, names: Sequence[str] = tuple(WORLDS)) -> Iterator[Row]:
    """Count studies in which something wrong is claimed, at the end and at any of all looks; and what is found."""
    for name in names:
        of = measured(WORLDS[name], n)
        yield row_of("some wrong claim, fixed", name, 0.05, of.fixed)
        yield row_of("some wrong claim at any look, anytime", name, 0.05, of.anytime)
        yield row_of("all differences in their intervals", name, 0.95, of.covered, "at least")
        yield row_of("all differences in bounds that always hold", name, 0.95, of.always_covered, "at least")


def controls(n: int, names: Sequence[str] = tuple(WORLDS)) -> Iterator[Row]:
    """Count studies in which what is commonly done claims that equal systems differ."""
    for name in names:
        of = measured(WORLDS[name], n)
        yield row_of("some wrong claim, sign tests, uncorrected", name, 0.05, of.uncorrected, "control above")
        yield row_of("some wrong claim, sign tests at 300 looks", name, 0.05, of.watched, "control above")


def power(n: int) -> Iterator[Row]:
    """Count the differences that are found where there are some."""
    of = measured(World(APART, 3000, 60, 400, 0.3, 0.3), n)
    yield row_of("differences found, fixed", "60 raters, 400 items", 0.5, of.found, "at least")
    yield row_of("differences found, anytime", "60 raters, 400 items", 0.08, of.found_anytime, "at least")


def scales(n: int, names: Sequence[str] = tuple(SCALES)) -> Iterator[Row]:
    """Count strengths in their intervals, differences in all of theirs together, and wrong ranks.

    Outputs and raters are alike, so that strengths of the world are those that votes estimate; votes cluster as if they
    were not.
    """
    for name in names:
        # Where votes tell no strengths of all systems a study is left out, and another one comes in its place.
        told = islice(_scales(SCALES[name], 2 * n), n)
        covered, together, wrong, found = (np.array(x, float) for x in zip(*told, strict=True))
        yield row_of("strengths in their intervals", name, 0.95, covered, "at least")
        yield row_of("all differences of strengths in theirs", name, 0.95, together, "at least")
        yield row_of("some wrong rank by strengths", name, 0.05, wrong)
        if np.ptp(SCALES[name].strength):
            yield row_of("differences found by strengths", name, 0.1, found, "at least")


def _scales(world: World, n: int) -> Iterator[tuple[float, bool, bool, float]]:
    truth = np.array(world.strength) - np.mean(world.strength)
    apart = distances(truth)
    for seed in numbers(n):
        rng = np.random.default_rng([8, seed])
        held = draw(rng, world)
        found = fit(held.counts(), held.n_systems)
        if found.separated or found.part.any():
            continue
        said = scale(rng, held, way_of_all(held), found, LEVEL)
        near = np.abs(found.value - truth) <= quantile(said.freedom, LEVEL) * said.sd
        inside = ((said.low <= apart) & (apart <= said.high)).all()
        wrong = (said.verdict != 0) & (said.verdict != np.sign(apart))
        found = (said.verdict != 0) & ~wrong & (apart != 0)
        yield float(near.mean()), bool(inside), bool(wrong.any()), float(found.sum() / max((apart != 0).sum(), 1))


def row_of(name: str, setting: str, bound: float, values: Bools | Floats, side: Side = "at most") -> Row:
    """Return the row of a share over studies, with its error."""
    n, share = len(values), float(np.mean(values))
    # Where none, or all, are counted, the error is that of one more.
    held = min(max(share, 1 / (n + 2)), 1 - 1 / (n + 2))
    shares = set(values.astype(float).tolist()) - {0.0, 1.0}
    spread = float(np.std(values.astype(float), ddof=1)) if shares else float(np.sqrt(held * (1 - held)))
    return Row(name, setting, bound, share, spread / n**0.5, n, side)
