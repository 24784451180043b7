"""State the law of a fitted world: that of `systems.mqm` and `raters.mqm_raters`, for known systems and raters.

What a study brings anew (documents, segments, how a system does on a document, taste, noise) is drawn; what a pilot
told about its systems and raters is given. One kind of error is added where a table has it: punctuation, worth a tenth.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from simlab.types import Floats, Frame, Ints, RatingLaw, World
from simlab.world.raters import potential_ratings
from simlab.world.systems import lognormal

PUNCTUATION_WEIGHT = 0.1


@dataclass(frozen=True, slots=True)
class Effects:
    """Hold one set of parameters: `system_mean[system]` in points per segment, the others per rater or single numbers.

    `leniency`, `severity` and the `*_sd` mean what they mean in `mqm_raters` and `mqm`; `punctuation[rater]` is the
    expected number of punctuation errors in an average segment; `rater_system[system, rater]` are factors of taste for
    systems that are known (all 1: not known, then drawn with `rater_system_sd`).
    """

    system_mean: Floats
    leniency: Floats
    severity: Floats
    punctuation: Floats
    rater_system: Floats | None
    document_sd: float
    segment_sd: float
    system_document_sd: float
    rater_system_sd: float
    rater_document_sd: float
    rater_output_sd: float
    dispersion: float
    noise_share: float
    major_share: float
    minor_weight: float
    major_weight: float


@dataclass(frozen=True, slots=True)
class Factors:
    """Hold what a world draws: `quality[system, item]`, `by_segment[item]` and `taste[system, document, rater]`."""

    quality: Floats
    by_segment: Floats
    taste: Floats


def draw_factors(rng: np.random.Generator, effects: Effects, document: Ints) -> Factors:
    """Draw documents, segments and taste; `document[item]` says which segments belong together."""
    n_systems, n_raters, n_documents = len(effects.system_mean), len(effects.leniency), int(document.max()) + 1
    by_document = lognormal(rng, effects.document_sd, n_documents)
    by_segment = lognormal(rng, effects.segment_sd, len(document))
    by_both = lognormal(rng, effects.system_document_sd, (n_systems, n_documents))
    own = lognormal(rng, effects.rater_system_sd, (n_systems, n_raters))
    taste = (
        (own if effects.rater_system is None else effects.rater_system)[:, None, :]
        * lognormal(rng, effects.rater_document_sd, (1, n_documents, n_raters))
        * lognormal(rng, effects.rater_output_sd, (n_systems, n_documents, n_raters))
    )
    quality = effects.system_mean[:, None] * (by_document * by_both)[:, document] * by_segment
    return Factors(quality, by_segment, taste)


def expected_errors(
    effects: Effects, factors: Factors, document: Ints, system: Ints, item: Ints, rater: Ints
) -> Floats:
    """Return the expected number of errors of each kind (minor, major, punctuation if any) of ratings.

    `system`, `item` and `rater` are indices that broadcast; the kinds come first in what is returned.
    """
    points = (1 - effects.major_share) * effects.minor_weight + effects.major_share * effects.major_weight
    major = expit(logit(effects.major_share) + np.log(effects.severity))[rater]
    marked = factors.quality[system, item] / points * effects.leniency[rater]
    marked = marked * factors.taste[system, document[item], rater]
    kinds = [marked * (1 - major), marked * major]
    if effects.punctuation.any():
        kinds.append(np.broadcast_to(effects.punctuation[rater] * factors.by_segment[item], marked.shape))
    return np.stack(kinds)


def weights(effects: Effects) -> Floats:
    """Return the points that an error of each kind costs."""
    extra = [PUNCTUATION_WEIGHT] if effects.punctuation.any() else []
    return np.array([effects.minor_weight, effects.major_weight, *extra])


def world_on(rng: np.random.Generator, effects: Effects, frame: Frame, *, potential: bool) -> World:
    """Draw a world for a given frame: who sits where is given, what they would say is drawn.

    A gap in the frame stays a gap. With `potential` every rating is fixed, as in a recorded table.
    """
    factors = draw_factors(rng, effects, frame.document)
    system, item = np.arange(frame.n_systems)[:, None, None], np.arange(len(frame.document))[:, None]
    expected = expected_errors(effects, factors, frame.document, system, item, frame.rater)
    law = RatingLaw(
        expected=expected,
        shared=rng.standard_normal((len(expected), *factors.quality.shape)),
        own_share=effects.noise_share,
        dispersion=effects.dispersion,
        weight=weights(effects),
    )
    if not potential:
        return World(frame, effects.system_mean, None, law)
    ratings = potential_ratings(rng, law)
    gap = frame.rater < 0
    ratings.value[gap], ratings.errors[gap] = np.nan, 0
    return World(frame, effects.system_mean, ratings, None)
