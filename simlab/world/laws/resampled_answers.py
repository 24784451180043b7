"""Draw worlds of ratings by resampling documents, raters and answers that a user's own law gave once.

Call `draw_world` with an `AnswerPopulation`, which returns a `World`. The kept documents and raters at large are the
whole population, so that the true mean of a system is known without error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from simlab.types import RATE, Anew, Answers, Array, Floats, Frame, Ints, World
from simlab.world.laws.fixed import UNMARKED, FixedRatings


@dataclass(frozen=True, slots=True)
class KeptAnswers:
    """Law of resampled ratings: each is one of those that are kept of a rater and an output.

    `value[system, segment, person, answer]` are the kept scores; `segment[item]` is the kept segment that an item is,
    `person[system, item, slot]` the person of the kept ones who sits in a slot (-1: nobody).
    """

    value: Floats
    segment: Ints
    person: Ints

    def draw(self, rng: np.random.Generator, needs: None = None) -> Array:
        """Draw the index of the answer of every potential rating, asked for or not: `[system, item, slot]`."""
        # A file keeps at most 1,000 answers of each, so two bytes hold their number.
        return rng.integers(self.value.shape[-1], size=self.person.shape, dtype=np.int16)

    def answer(self, noise: Array, unit: Ints, item: Ints, slot: Ints) -> Answers:
        """Look up what the raters in the given slots answer about the given outputs; nobody counts errors."""
        person = self.person[unit, item, slot]
        return Answers(self.value[unit, self.segment[item], person, noise[unit, item, slot]], None)

    def expected_ratings(self) -> Floats:
        """Return the score that each rater is expected to give: `[system, item, slot]`."""
        system = np.arange(len(self.value))[:, None, None]
        return np.asarray(self.value.mean(-1)[system, self.segment[:, None], self.person])


class DrawnDocuments(NamedTuple):
    """Documents that were drawn: their frame, and which kept segment each item is."""

    frame: Frame
    segment: Ints


class AnswerPopulation(NamedTuple):
    """Population of answers that worlds are drawn from.

    `value[system, segment, person, answer]`: the first `pilot` people are the pilot's, others are those at large;
    `raters(rng)` draws the raters of a pool, `[rater]` indices of people at large; `documents(rng)` what they rate.
    """

    value: Floats
    pilot: int
    raters: Callable[[np.random.Generator], Ints]
    documents: Callable[[np.random.Generator], DrawnDocuments]

    @property
    def truth(self) -> Floats:
        """Return each system's mean score by raters at large over all kept documents: `[system]`."""
        return np.asarray(self.value[:, :, self.pilot :].mean((1, 2, 3)))


def draw_world(rng: np.random.Generator, population: AnswerPopulation, people: Ints, *, potential: bool) -> World:
    """Draw a world of raters `people[rater]`, indices of kept ones; with `potential` every rating is drawn once.

    Other raters and documents can be drawn for it.
    """
    return _world(rng, population, people, population.documents(rng), potential)


def _world(
    rng: np.random.Generator, population: AnswerPopulation, people: Ints, documents: DrawnDocuments, potential: bool
) -> World:
    frame, value = documents.frame, population.value

    def again(anew: Anew) -> World:
        drawn = documents if anew.documents is None else population.documents(anew.documents)
        whom = people if anew.raters is None else population.raters(anew.raters)
        return _world(anew.both, population, whom, drawn, potential)

    def average_pool() -> Floats:
        return np.asarray(value.mean((1, 3))[:, people].mean(1))

    person = np.where(frame.rater < 0, -1, people[frame.rater])
    law = KeptAnswers(value, documents.segment, person)
    world = World(frame, {RATE: law}, population.truth, again=again, of_pool=average_pool)
    if not potential:
        return world
    system = np.arange(len(value))[:, None, None]
    fixed = value[system, documents.segment[:, None], person, law.draw(rng)]
    fixed[person < 0] = np.nan
    return replace(world, answers={RATE: FixedRatings(fixed, np.full(fixed.shape, UNMARKED))})
