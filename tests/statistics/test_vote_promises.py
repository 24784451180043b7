"""Claims from votes keep their promise on worlds like real ones, and what is commonly done does not."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from vote_worlds import World, draw, true_differences

from simlab.analysis import sign_test
from simlab.analysis.preferences.families import holm_of_e_values
from simlab.analysis.preferences.fresh import always, fresh, highest_evidence
from simlab.analysis.preferences.net_wins import weighed
from simlab.analysis.preferences.votes import FEWEST, Votes, way_of
from simlab.concluding.preferences.again import watched
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


def measured(world: World, n: int) -> Measured:
    """Conclude from n studies of a world."""
    truth = np.sign(true := true_differences(world))
    return Measured(*map(np.array, zip(*(_study(world, true, truth, k) for k in range(n)), strict=True)))


def _study(world: World, true: Floats, truth: Floats, seed: int) -> tuple[bool | float, ...]:
    rng = np.random.default_rng([7, seed])
    votes = draw(rng, world)
    every = np.ones(votes.n_pairs, bool)
    found = weighed(rng, votes, way_of(votes), every, LEVEL, 499)
    there = found.n > 0
    wrong = found.claimed & (np.sign(found.difference) != truth)
    kept = votes.where(fresh(votes, len(np.unique(votes.rater)) >= FEWEST))
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
        watched(votes, nulls, LEVEL),
        float(found.claimed[~nulls].mean()) if (~nulls).any() else 0.0,
        float(claimed[~nulls].mean()) if (~nulls).any() else 0.0,
    )


def _always(votes: Votes) -> tuple[Floats, Floats]:
    counts = votes.counts()
    there = counts.sum(1) > 0
    low, high = -np.ones(len(counts)), np.ones(len(counts))
    low[there], high[there] = always(counts[there], float(np.log(there.sum() / LEVEL)))
    return low, high


def _error(share: float, n: int) -> float:
    return float(np.sqrt(max(share * (1 - share), 0.05 * 0.95) / n))


@pytest.mark.parametrize("name", QUICK)
def test_promises_hold_and_what_is_commonly_done_does_not(name: str) -> None:
    _hold(measured(WORLDS[name], 60), 60)


@pytest.mark.long
@pytest.mark.parametrize("name", WORLDS)
def test_promises_hold_on_many_studies(name: str) -> None:
    _hold(measured(WORLDS[name], 1000), 1000)


def _hold(of: Measured, n: int) -> None:
    slack = 3 * _error(LEVEL, n)
    assert of.fixed.mean() <= LEVEL + slack
    assert of.anytime.mean() <= LEVEL + slack
    assert of.covered.mean() >= 1 - LEVEL - slack
    assert of.always_covered.mean() >= 1 - LEVEL - slack
    assert of.uncorrected.mean() > LEVEL + 3 * slack
    assert of.watched.mean() > 0.8


def test_what_is_apart_is_found() -> None:
    of = measured(World(APART, 3000, 60, 400, 0.3, 0.3), 20)
    assert of.found.mean() > 0.5
    assert of.found_anytime.mean() > 0.08
    assert of.found.mean() > of.found_anytime.mean()


def test_a_dashboard_watched_through_300_screens_is_wrong_nearly_always() -> None:
    world = World(EQUAL, 1500, 1500, 1500)
    wrong = [watched(draw(np.random.default_rng([3, k]), world), np.ones(15, bool), LEVEL) for k in range(100)]
    assert 0.87 <= np.mean(wrong) <= 1.0
    one_pair = World((0.0, 0.0), 1500, 1500, 1500)
    wrong = [watched(draw(np.random.default_rng([4, k]), one_pair), np.ones(1, bool), LEVEL) for k in range(100)]
    assert 0.3 <= np.mean(wrong) <= 0.7
