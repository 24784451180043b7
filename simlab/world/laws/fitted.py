"""State the law of a fitted world: that of `systems.mqm` and `raters.mqm_raters`, for known systems and raters.

What a study brings anew (documents, segments, how a system does on a document, taste, noise) is drawn; what a pilot
told about its systems and raters is given. Real ratings ask for three additions, without which it is the law of those.
Strict raters find errors everywhere and tell systems less apart, in proportion, than lenient ones: a rater has a
`sharpness`, the power of a system's relative quality that the errors go with. Minor errors go with it less
(`minor_sharpness`). Where a table has punctuation errors, worth a tenth, they are drawn beside the others. Documents
and segments that invite many minor errors need not invite major ones (`kind_document_sd`, `kind_segment_sd`), and a
rater who objects to something in a segment objects to it in every system's version (`rater_segment_sd`). Systems
stumble over the same passages, so that errors of an output come with those of others (`segment_share`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from simlab.types import RATE, Anew, Floats, Frame, Ints, World
from simlab.world.laws.error_counts import ErrorCounts, own_shares, potential_ratings, shared_parts
from simlab.world.laws.fitted_factors import Effects as Effects
from simlab.world.laws.fitted_factors import Factors as Factors
from simlab.world.laws.fitted_factors import Passages, draw_leanings, draw_passages, taste_of_systems
from simlab.world.laws.fitted_factors import draw_factors as draw_factors

PUNCTUATION_WEIGHT = 0.1


def expected_errors(
    effects: Effects, factors: Factors, document: Ints, system: Ints, item: Ints, rater: Ints
) -> Floats:
    """Return the expected number of errors of each kind (minor, major, punctuation if any) of ratings.

    `system`, `item` and `rater` are indices that broadcast; the kinds come first in what is returned.
    """
    points = (1 - effects.major_share) * effects.minor_weight + effects.major_share * effects.major_weight
    major = expit(logit(effects.major_share) + np.log(effects.severity))[rater]
    centre = np.exp(np.log(effects.system_mean).mean())
    marked = centre / points * factors.by_item[item] * effects.leniency[rater]
    marked = marked * factors.taste[system, document[item], rater]
    relative = np.log(effects.system_mean / centre)[system]
    own = np.log(factors.by_both)[system, document[item]]
    kinds = []
    for kind, (share, power) in enumerate(((1 - major, effects.minor_sharpness), (major, 1.0))):
        sharpness = power * effects.sharpness[rater]
        # The mean over documents of a lognormal factor with mean 1, raised to a power, is taken out.
        level = effects.system_document_sd**2 * sharpness * (sharpness - 1) / 2
        kinds.append(marked * share * np.exp(sharpness * (relative + own) - level))
        if factors.by_kind is not None:
            kinds[kind] = kinds[kind] * factors.by_kind[kind, item]
        if factors.objections is not None:
            kinds[kind] = kinds[kind] * factors.objections[kind, item, rater]
    if effects.punctuation.any():
        kinds.append(np.broadcast_to(effects.punctuation[rater] * factors.by_segment[item], marked.shape))
    return np.stack(kinds)


def mean_scores(effects: Effects, of_systems: Floats | None = None) -> Floats:
    """Return each system's mean score over all inputs and, with equal weight, all raters.

    What these make of systems, `of_systems[system, 1, rater]`, is left out unless it is given.
    """
    n_systems, n_raters = len(effects.system_mean), len(effects.leniency)
    taste = np.ones((n_systems, 1, n_raters)) if of_systems is None else of_systems
    plain = Factors(np.ones(1), np.ones(1), np.ones((n_systems, 1)), None, taste, None)
    one = replace(effects, system_document_sd=0.0)
    system, item, rater = np.arange(n_systems)[:, None], np.zeros((1, 1), np.int64), np.arange(n_raters)
    expected = expected_errors(one, plain, np.zeros(1, np.int64), system, item, rater)
    return np.asarray(np.einsum("k,ksr->s", weights(effects), expected) / n_raters)


def weights(effects: Effects) -> Floats:
    """Return the points that an error of each kind costs."""
    extra = [PUNCTUATION_WEIGHT] if effects.punctuation.any() else []
    return np.array([effects.minor_weight, effects.major_weight, *extra])


def world_on(
    rng: np.random.Generator, effects: Effects, frame: Frame, *, potential: bool, others: Others | None = None
) -> World:
    """Draw a world for a given frame: who sits where is given, what they would say is drawn.

    A gap in the frame stays a gap. With `potential` every rating is fixed, as in a recorded table. Other raters and
    documents can be drawn for it where `others` says from where.
    """
    passages, of_systems = draw_passages(rng, effects, frame.document), taste_of_systems(rng, effects)
    factors = Factors(*passages, *draw_leanings(rng, effects, of_systems, frame.document))
    made = Made(effects, frame, passages, of_systems, _shared_part(rng, effects, frame))
    world = _made_into_world(made, factors, rng, mean_scores(effects), potential=potential)
    return world if others is None else _with_others(world, made, others, potential=potential)


class Made(NamedTuple):
    """Hold what a world is made of, so that raters, or documents, can be drawn anew and the others kept.

    `of_systems[system, 1, rater]` belongs to raters, `passages` and `shared[kind, system, item]` to documents.
    """

    effects: Effects
    frame: Frame
    passages: Passages
    of_systems: Floats
    shared: Floats


class Others(NamedTuple):
    """Say where other raters and documents come from: the effects with other raters, the frame of other documents."""

    raters: Callable[[np.random.Generator], Effects]
    documents: Callable[[np.random.Generator], Frame]


def _with_others(world: World, made: Made, others: Others, *, potential: bool) -> World:
    """Let a world draw other raters and documents; what its systems are truly worth stays what it is."""
    if world.truth is None:
        raise ValueError("a fitted world knows what its systems are worth")
    truth = world.truth

    def again(anew: Anew) -> World:
        new = made
        if anew.documents is not None:
            frame = others.documents(anew.documents)
            passages = draw_passages(anew.documents, made.effects, frame.document)
            new = new._replace(frame=frame, passages=passages, shared=_shared_part(anew.documents, made.effects, frame))
        if anew.raters is not None:
            effects = others.raters(anew.raters)
            new = new._replace(effects=effects, of_systems=taste_of_systems(anew.raters, effects))
        leanings = draw_leanings(anew.both, new.effects, new.of_systems, new.frame.document)
        drawn = _made_into_world(new, Factors(*new.passages, *leanings), anew.both, truth, potential=potential)
        return replace(drawn, again=again)

    return replace(world, again=again)


def _made_into_world(
    made: Made, factors: Factors, rng: np.random.Generator, truth: Floats, *, potential: bool
) -> World:
    """Let raters expect what the factors say; `rng` draws their ratings where these are fixed."""
    effects, frame = made.effects, made.frame
    system, item = np.arange(frame.n_systems)[:, None, None], np.arange(len(frame.document))[:, None]
    expected = expected_errors(effects, factors, frame.document, system, item, frame.rater)
    law = ErrorCounts(
        mean=expected,
        # Of other raters nobody may mark punctuation.
        shared=made.shared[: len(expected)],
        own_share=own_shares(effects.noise_share, effects.minor_noise)[: len(expected)],
        dispersion=effects.dispersion,
        weight=weights(effects),
    )
    if not potential:
        return World(frame, {RATE: law}, truth, of_pool=partial(mean_scores, effects, made.of_systems))
    ratings = potential_ratings(rng, law)
    gap = frame.rater < 0
    ratings.value[gap], ratings.errors[gap] = np.nan, 0
    return World(frame, {RATE: ratings}, truth, of_pool=partial(mean_scores, effects, made.of_systems))


def _shared_part(rng: np.random.Generator, effects: Effects, frame: Frame) -> Floats:
    shape = len(weights(effects)), frame.n_systems, len(frame.document)
    return shared_parts(rng, shape, effects.segment_share)
