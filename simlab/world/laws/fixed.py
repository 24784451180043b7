"""Law of fixed ratings: recorded in a table, or drawn once for a world, so that all its studies reveal the same ones.

`FixedRatings.answer` looks up ratings; `fixed_ratings` returns the fixed ratings of a world, if it has them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simlab.types import RATE, Answers, Floats, Ints, World

UNMARKED = -1
"""Number of errors where raters mark none."""


@dataclass(frozen=True, slots=True)
class FixedRatings:
    """Fixed ratings: scores `value[system, item, slot]` (NaN = gap), numbers of `errors` (-1: none are counted).

    Studies re-reveal these ratings: they have no noise of their own.
    """

    value: Floats
    errors: Ints

    def draw(self, rng: np.random.Generator, needs: None = None) -> None:
        """Draw nothing."""

    def answer(self, noise: None, unit: Ints, item: Ints, slot: Ints) -> Answers:
        """Look up the ratings; there is no `noise`."""
        return Answers(self.value[unit, item, slot], self.errors[unit, item, slot])

    def expected_ratings(self) -> Floats:
        """Return every rater's score: `[system, item, slot]`, NaN in gaps."""
        return self.value


def fixed_ratings(world: World) -> FixedRatings | None:
    """Return the ratings of a world if they are fixed, else None."""
    law = world.answers.get(RATE)
    return law if isinstance(law, FixedRatings) else None
