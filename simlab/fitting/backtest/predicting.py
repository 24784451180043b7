"""Draw the worlds that a pilot lets one expect, and carry out studies in all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from simlab.answers.backtest import Measure
from simlab.fitting.backtest.campaigns import campaigns
from simlab.fitting.backtest.designs import Design, dealt, designs, normalizations
from simlab.fitting.backtest.measuring import Measured, measured
from simlab.fitting.backtest.planning import Size
from simlab.fitting.backtest.sums import sums
from simlab.fitting.laws import Law, world_on
from simlab.tables.held import Ratings
from simlab.types import RATE, Frame, World
from simlab.world.laws.fixed import FixedRatings

Found = Mapping[tuple[Design, str, Measure], Measured]
"""A measure of every world, by design, normalisation and measure."""


def observed(world: World, size: Size, seed: int) -> Found:
    """Carry out studies on real ratings."""
    return studied([world], size, seed, size.observed_sets, size.observed_per_set)


def predicted(worlds: Sequence[World], target: World, size: Size, seed: int) -> Found:
    """Carry out the studies that the target allows in worlds of its frame."""
    return studied(worlds, size, seed, size.sets, size.per_set, allowed=target)


def studied(
    worlds: Sequence[World], size: Size, seed: int, sets: int, per_set: int, allowed: World | None = None
) -> Found:
    """Carry out all studies of a size, and measure them; `allowed` says what can be asked, without it the first world.

    All worlds are asked alike: the same documents, raters and signs of the tests.
    """
    real = worlds[0] if allowed is None else allowed
    return studied_as(worlds, real, designs(real, size.thirds, size.ratings_per_item), seed, sets, per_set)


def studied_as(
    worlds: Sequence[World], real: World, asked_as: Sequence[Design], seed: int, sets: int, per_set: int
) -> Found:
    """Carry out studies of the designs that are asked for, and measure them; `real` says who can be asked what."""
    held, names = sums(worlds), normalizations(real)
    found: dict[tuple[Design, str, Measure], Measured] = {}
    for design in asked_as:
        asked = dealt(real, design, seed=seed, sets=sets, per_set=per_set)
        for name, said in campaigns(held, asked, names).items():
            found |= {(design, name, measure): value for measure, value in measured(said).items()}
    return found


def fitted_worlds(rng: np.random.Generator, law: Law, effects: Sequence[Any], frame: Frame, n: int) -> Iterator[World]:
    """Draw worlds for the frame of the target: who rates what is known, the ratings are not."""
    for k in range(n):
        yield world_on(law, rng, effects[k % len(effects)], frame)


def naive_worlds(rng: np.random.Generator, pilot: Ratings, frame: Frame, n: int) -> Iterator[World]:
    """Draw ratings around the systems' means with one Gaussian noise, as if raters and documents were all alike."""
    number = np.bincount(pilot.system, minlength=pilot.n_systems)
    mean = np.bincount(pilot.system, weights=pilot.score, minlength=pilot.n_systems) / number
    sd = float((pilot.score - mean[pilot.system]).std())
    for _ in range(n):
        drawn = mean + sd / np.sqrt(number) * rng.standard_normal(len(mean))
        value = drawn[:, None, None] + sd * rng.standard_normal(frame.rater.shape)
        value[frame.rater < 0] = np.nan
        yield World(frame, {RATE: FixedRatings(value, np.ones(frame.rater.shape, np.int64))}, drawn)
