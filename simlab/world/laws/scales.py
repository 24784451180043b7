"""State the laws of ratings on a scale: a latent sum of effects that is answered on a bounded, stepped or cut scale.

What a rater thinks of an output is `mean + system + document + segment + system x document + output + leniency +
rater x system + rater x document + residual`, all effects independent and normal. `gaussian`: it is the score, censored
at the floor and the ceiling of the scale and rounded to its steps; the residual may have Student tails. `ordinal`: the
score is the category between whose thresholds it falls, each rater using the scale in their own way. `binary`: the
answer is whether it is above 0. Ordinal and binary latents have a residual of standard deviation 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from simlab.types import RATE, Anew, Answers, Floats, Frame, Ints, World
from simlab.world.laws.fixed import UNMARKED, FixedRatings
from simlab.world.laws.scale_effects import Scale as Scale
from simlab.world.laws.scale_effects import ScaleEffects as ScaleEffects
from simlab.world.laws.scale_effects import answer_again as answer_again
from simlab.world.laws.scale_effects import answer_flat as answer_flat
from simlab.world.laws.scale_effects import latent_draw as latent_draw
from simlab.world.laws.scale_effects import residuals, thought
from simlab.world.laws.scale_effects import score_range as score_range
from simlab.world.laws.scale_effects import to_scores as to_scores
from simlab.world.laws.scale_effects import with_raters as with_raters
from simlab.world.laws.scale_means import expected_scores, truth_of_pool
from simlab.world.laws.scale_means import truth as truth


@dataclass(frozen=True, slots=True)
class ScaledRatings:
    """Say how a potential rating comes about, so that a study can draw its own (`noise=fresh`).

    `latent[system, item, slot]` is what the rater in the slot thinks of an output, `residual_sd` the spread of what is
    each rating's own.
    """

    latent: Floats
    residual_sd: float
    scale: Scale

    def draw(self, rng: np.random.Generator, needs: None = None) -> Floats:
        """Draw the residual of every potential rating, asked for or not: `[system, item, slot]`."""
        return residuals(rng, self.scale.tail, self.latent.shape)

    def answer(self, noise: Floats, unit: Ints, item: Ints, slot: Ints) -> Answers:
        """Let the raters in the given slots rate the given outputs; nobody counts errors."""
        _, n_items, n_slots = self.latent.shape
        # Flat indices gather several times faster than three index arrays.
        rating = (unit * n_items + item) * n_slots + slot
        own = self.residual_sd * noise.reshape(-1).take(rating)
        return Answers(to_scores(self.scale, self.latent.reshape(-1).take(rating) + own), None)

    def expected(self) -> Floats:
        """Return the score that each rater is expected to give: `[system, item, slot]`."""
        return expected_scores(self.scale, self.latent, self.residual_sd)


class Others(NamedTuple):
    """Say where others come from: effects with other raters, the frame of other documents and what these bring."""

    raters: Callable[[np.random.Generator], ScaleEffects]
    documents: Callable[[np.random.Generator], tuple[Frame, Floats]]


def world_on(
    rng: np.random.Generator,
    effects: ScaleEffects,
    frame: Frame,
    *,
    potential: bool,
    others: Others | None = None,
    seen: Floats | None = None,
) -> World:
    """Draw a world for a given frame: who sits where is given, what they would say is drawn.

    A gap in the frame stays a gap. With `potential` every rating is fixed, as in a recorded table. Other raters and
    documents can be drawn for it where `others` says from where. `seen[system, item]` is what documents bring, where
    that is drawn already (`latent_draw`).
    """
    if seen is None:
        seen = latent_draw(rng, effects, frame.document)
    worth = truth(effects)
    world = _rated(rng, Made(effects, frame, seen), worth, potential=potential)
    return world if others is None else _with_others(world, Made(effects, frame, seen), others, worth, potential)


class Made(NamedTuple):
    """Hold what a world is made of: `effects` belong to raters, `frame` and `seen[system, item]` to documents."""

    effects: ScaleEffects
    frame: Frame
    seen: Floats


def _with_others(world: World, made: Made, others: Others, worth: Floats, potential: bool) -> World:
    """Let a world draw other raters and documents; what its systems are truly worth stays what it is."""

    def again(anew: Anew) -> World:
        new = made
        if anew.documents is not None:
            frame, seen = others.documents(anew.documents)
            new = new._replace(frame=frame, seen=seen)
        if anew.raters is not None:
            new = new._replace(effects=others.raters(anew.raters))
        return replace(_rated(anew.both, new, worth, potential=potential), again=again)

    return replace(world, again=again)


def _rated(rng: np.random.Generator, made: Made, worth: Floats, *, potential: bool) -> World:
    """Let raters think of the outputs; `rng` draws what they make of documents, and ratings that are fixed."""
    effects, frame = made.effects, made.frame
    on_document = effects.rater_document_sd * rng.standard_normal((frame.n_documents, frame.n_raters))
    system = np.arange(frame.n_systems)[:, None, None]
    latent = thought(effects, system, frame.rater, made.seen[:, :, None])
    latent += on_document[frame.document[:, None], frame.rater]
    law, of_pool = ScaledRatings(latent, effects.residual_sd, effects.scale), partial(truth_of_pool, effects)
    if not potential:
        return World(frame, {RATE: law}, worth, of_pool=of_pool)
    value = to_scores(effects.scale, latent + effects.residual_sd * law.draw(rng))
    value[frame.rater < 0] = np.nan
    fixed = FixedRatings(value, np.full(value.shape, UNMARKED))
    return World(frame, {RATE: fixed}, worth, of_pool=of_pool)
