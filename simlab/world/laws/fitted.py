"""Draw worlds of MQM ratings (errors marked in segments) whose systems and raters were fitted to a pilot, a real table.

Call `draw_world` with one draw of the fitted parameters (`Effects`) and a frame, which returns a `World`. Documents,
segments, systems on documents, taste and noise are drawn. The law is that of `mqm` and `mqm_raters`, with additions.
Strict raters find errors everywhere and tell systems less apart, in proportion, than lenient ones: a rater has a
`sharpness`, the power of a system's relative quality that the errors go with. Minor errors go with it less
(`minor_sharpness`). Where a table has punctuation errors, worth a tenth, they are drawn beside the others. Documents
and segments that invite many minor errors need not invite major ones (`kind_document_sd`, `kind_segment_sd`), and a
rater who objects to something in a segment objects to it in every system's version (`rater_segment_sd`). Systems
stumble over the same passages, so that errors of an output come with those of others (`segment_share`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from simlab.types import RATE, Anew, Floats, Frame, Ints, World
from simlab.world.laws.error_counts import ErrorCounts, own_shares, potential_ratings, shared_parts
from simlab.world.systems import draw_lognormal, draw_skewed

PUNCTUATION_WEIGHT = 0.1


def expected_errors(
    effects: Effects, factors: Factors, document: Ints, system: Ints, item: Ints, rater: Ints
) -> Floats:
    """Return the expected number of errors of each kind (minor, major, punctuation if any) of ratings.

    `system`, `item` and `rater` are indices that broadcast; the kinds come first in what is returned.
    """
    points = (1 - effects.major_share) * effects.minor_weight + effects.major_share * effects.major_weight
    major = expit(logit(effects.major_share) + np.log(effects.severity))[rater]
    # Qualities are relative to the geometric mean of systems, which no power moves.
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

    Raters' factors on systems, `of_systems[system, 1, rater]`, are left out unless they are given.
    """
    n_systems, n_raters = len(effects.system_mean), len(effects.leniency)
    taste = np.ones((n_systems, 1, n_raters)) if of_systems is None else of_systems
    plain = Factors(np.ones(1), np.ones(1), np.ones((n_systems, 1)), None, taste, None)
    # Factors of documents have mean 1 whatever the sharpness (see `level` above), so they are left out.
    without_documents = replace(effects, system_document_sd=0.0)
    system, item, rater = np.arange(n_systems)[:, None], np.zeros((1, 1), np.int64), np.arange(n_raters)
    expected = expected_errors(without_documents, plain, np.zeros(1, np.int64), system, item, rater)
    return np.asarray(np.einsum("k,ksr->s", weights(effects), expected) / n_raters)


def weights(effects: Effects) -> Floats:
    """Return the points that an error of each kind costs."""
    extra = [PUNCTUATION_WEIGHT] if effects.punctuation.any() else []
    return np.array([effects.minor_weight, effects.major_weight, *extra])


def draw_world(
    rng: np.random.Generator, effects: Effects, frame: Frame, *, potential: bool, others: FittedSources | None = None
) -> World:
    """Draw a world for a frame, which seats the raters: factors and noise of the ratings are drawn.

    A gap in the frame stays a gap. With `potential` every rating is fixed, as in a recorded table. Raters and documents
    can be drawn anew if `others` has their sources (None: they cannot).
    """
    passages, of_systems = draw_passages(rng, effects, frame.document), taste_of_systems(rng, effects)
    factors = Factors(*passages, *draw_leanings(rng, effects, of_systems, frame.document))
    made = FittedParts(effects, frame, passages, of_systems, _shared_part(rng, effects, frame))
    world = _make_world(made, factors, rng, mean_scores(effects), potential=potential)
    return world if others is None else _add_others(world, made, others, potential=potential)


class FittedParts(NamedTuple):
    """Parts of a world, such that raters, or documents, can be drawn anew and the others kept.

    `of_systems[system, 1, rater]` belongs to raters, `passages` and `shared[kind, system, item]` to documents.
    """

    effects: Effects
    frame: Frame
    passages: FittedPassages
    of_systems: Floats
    shared: Floats


class FittedSources(NamedTuple):
    """Sources of other raters and documents: the effects with other raters, the frame of other documents."""

    raters: Callable[[np.random.Generator], Effects]
    documents: Callable[[np.random.Generator], Frame]


def _add_others(world: World, made: FittedParts, others: FittedSources, *, potential: bool) -> World:
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
        drawn = _make_world(new, Factors(*new.passages, *leanings), anew.both, truth, potential=potential)
        return replace(drawn, again=again)

    return replace(world, again=again)


def _make_world(
    made: FittedParts, factors: Factors, rng: np.random.Generator, truth: Floats, *, potential: bool
) -> World:
    """Make the world of the law with these factors; `rng` draws its ratings where these are fixed."""
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


@dataclass(frozen=True, slots=True)
class Effects:
    """One draw of parameters: `system_mean[system]` in points per segment, the others per rater or single numbers.

    `leniency`, `severity` and the `*_sd` mean what they mean in `mqm_raters` and `mqm`; `sharpness[rater]` is the power
    of a system's quality, relative to the geometric mean of all systems, that the rater's errors go with (times
    `minor_sharpness` for minor errors); `punctuation[rater]` is the expected number of punctuation errors in an
    average segment. `kind_document_sd` and `kind_segment_sd` are spreads of factors that minor and major errors have
    each of their own, `rater_segment_sd` that of such factors of raters on segments; 0: no such factors. Factors of
    segments are lognormal where `segment_skew` is 0, gamma where it is their spread; see `draw_skewed`. `minor_noise`
    is the share of the noise common to an output's raters that is not common for minor errors, `segment_share` the
    share of that common noise that a segment's outputs of all systems have in common. `rater_weight[rater]` makes
    the mean taste of these raters for each system 1, each counted with its weight (None: tastes are as they come).
    """

    system_mean: Floats
    leniency: Floats
    severity: Floats
    sharpness: Floats
    punctuation: Floats
    document_sd: float
    segment_sd: float
    system_document_sd: float
    rater_system_sd: float
    rater_document_sd: float
    rater_output_sd: float
    dispersion: float
    noise_share: float
    major_share: float
    minor_sharpness: float
    minor_weight: float
    major_weight: float
    kind_document_sd: float = 0.0
    kind_segment_sd: float = 0.0
    rater_segment_sd: float = 0.0
    segment_skew: float = 0.0
    minor_noise: float = 0.0
    segment_share: float = 0.0
    rater_weight: Floats | None = None


@dataclass(frozen=True, slots=True)
class Factors:
    """Factors that a world draws, by item, document, rater and kind of error.

    `by_item[item]` and `by_segment[item]` are the factors of an item (its document's and its own) and its own alone,
    `by_both[system, document]` those of systems on documents, `taste[system, document, rater]` those of raters.
    `by_kind[kind, item]` and `objections[kind, item, rater]` are factors of minor and of major errors; None: all 1.
    """

    by_item: Floats
    by_segment: Floats
    by_both: Floats
    by_kind: Floats | None
    taste: Floats
    objections: Floats | None


class FittedPassages(NamedTuple):
    """Effects of documents whoever rates them: `Factors` without taste and objections."""

    by_item: Floats
    by_segment: Floats
    by_both: Floats
    by_kind: Floats | None


class FittedLeanings(NamedTuple):
    """Effects of raters on documents: `Factors` less those of the documents."""

    taste: Floats
    objections: Floats | None


def draw_factors(rng: np.random.Generator, effects: Effects, document: Ints) -> Factors:
    """Draw documents, segments and taste; `document[item]` says which segments belong together."""
    passages = draw_passages(rng, effects, document)
    return Factors(*passages, *draw_leanings(rng, effects, taste_of_systems(rng, effects), document))


def draw_passages(rng: np.random.Generator, effects: Effects, document: Ints) -> FittedPassages:
    """Draw documents and segments."""
    n_systems, n_documents = len(effects.system_mean), int(document.max()) + 1
    by_document = draw_lognormal(rng, effects.document_sd, n_documents)
    by_segment = draw_skewed(rng, effects.segment_sd, effects.segment_skew, len(document))
    by_both = draw_lognormal(rng, effects.system_document_sd, (n_systems, n_documents))
    return FittedPassages(by_document[document] * by_segment, by_segment, by_both, draw_kinds(rng, effects, document))


def draw_kinds(rng: np.random.Generator, effects: Effects, document: Ints) -> Floats | None:
    """Draw factors of minor and of major errors by document and segment, `[kind, item]`; None: all are 1."""
    if effects.kind_document_sd == effects.kind_segment_sd == 0:
        return None
    by_document = draw_lognormal(rng, effects.kind_document_sd, (2, int(document.max()) + 1))
    by_segment = draw_skewed(rng, effects.kind_segment_sd, effects.segment_skew, (2, len(document)))
    return np.asarray(by_document[:, document] * by_segment)


def taste_of_systems(rng: np.random.Generator, effects: Effects) -> Floats:
    """Draw how raters differ on systems, whatever the document: `[system, 1, rater]`."""
    taste = draw_lognormal(rng, effects.rater_system_sd, (len(effects.system_mean), 1, len(effects.leniency)))
    if effects.rater_weight is None:
        return taste
    return np.asarray(taste * effects.rater_weight.sum() / (taste @ effects.rater_weight)[..., None])


def draw_leanings(rng: np.random.Generator, effects: Effects, of_systems: Floats, document: Ints) -> FittedLeanings:
    """Draw how raters differ on documents, outputs and segments; `taste` is times that on systems."""
    n_systems, n_raters, n_documents = len(effects.system_mean), len(effects.leniency), int(document.max()) + 1
    taste = (
        of_systems
        * draw_lognormal(rng, effects.rater_document_sd, (1, n_documents, n_raters))
        * draw_lognormal(rng, effects.rater_output_sd, (n_systems, n_documents, n_raters))
    )
    if effects.rater_segment_sd == 0:
        return FittedLeanings(np.asarray(taste), None)
    shape = 2, len(document), n_raters
    return FittedLeanings(np.asarray(taste), draw_skewed(rng, effects.rater_segment_sd, effects.segment_skew, shape))
