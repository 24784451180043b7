"""Hold the parameters of the law of a fitted world, and draw what a study brings anew: documents, segments, taste."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from simlab.types import Floats, Ints
from simlab.world.systems import lognormal, skewed


@dataclass(frozen=True, slots=True)
class Effects:
    """Hold one set of parameters: `system_mean[system]` in points per segment, the others per rater or single numbers.

    `leniency`, `severity` and the `*_sd` mean what they mean in `mqm_raters` and `mqm`; `sharpness[rater]` is the power
    of a system's quality, relative to the geometric mean of all systems, that the rater's errors go with (times
    `minor_sharpness` for minor errors); `punctuation[rater]` is the expected number of punctuation errors in an
    average segment. `kind_document_sd` and `kind_segment_sd` are spreads of factors that minor and major errors have
    each of their own, `rater_segment_sd` that of such factors of raters on segments; 0: no such factors. Factors of
    segments are lognormal where `segment_skew` is 0, gamma where it is their spread; see `skewed`. `minor_noise`
    is the share of what raters of an output share elsewhere that they do not share of minor errors, `segment_share`
    that of what they share which the outputs of all systems for a segment have in common. `rater_weight[rater]` makes
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
    """Hold what a world draws.

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


class Passages(NamedTuple):
    """Hold what belongs to documents whoever rates them: `Factors` without taste and objections."""

    by_item: Floats
    by_segment: Floats
    by_both: Floats
    by_kind: Floats | None


class Leanings(NamedTuple):
    """Hold what belongs to raters on documents: `Factors` less those of the documents."""

    taste: Floats
    objections: Floats | None


def draw_factors(rng: np.random.Generator, effects: Effects, document: Ints) -> Factors:
    """Draw documents, segments and taste; `document[item]` says which segments belong together."""
    passages = draw_passages(rng, effects, document)
    return Factors(*passages, *draw_leanings(rng, effects, taste_of_systems(rng, effects), document))


def draw_passages(rng: np.random.Generator, effects: Effects, document: Ints) -> Passages:
    """Draw documents and segments."""
    n_systems, n_documents = len(effects.system_mean), int(document.max()) + 1
    by_document = lognormal(rng, effects.document_sd, n_documents)
    by_segment = skewed(rng, effects.segment_sd, effects.segment_skew, len(document))
    by_both = lognormal(rng, effects.system_document_sd, (n_systems, n_documents))
    return Passages(by_document[document] * by_segment, by_segment, by_both, draw_kinds(rng, effects, document))


def draw_kinds(rng: np.random.Generator, effects: Effects, document: Ints) -> Floats | None:
    """Draw how many minor, and major, errors documents and segments invite beyond what they share."""
    if effects.kind_document_sd == effects.kind_segment_sd == 0:
        return None
    by_document = lognormal(rng, effects.kind_document_sd, (2, int(document.max()) + 1))
    by_segment = skewed(rng, effects.kind_segment_sd, effects.segment_skew, (2, len(document)))
    return np.asarray(by_document[:, document] * by_segment)


def taste_of_systems(rng: np.random.Generator, effects: Effects) -> Floats:
    """Draw how raters differ on systems, whatever the document: `[system, 1, rater]`."""
    taste = lognormal(rng, effects.rater_system_sd, (len(effects.system_mean), 1, len(effects.leniency)))
    if effects.rater_weight is None:
        return taste
    return np.asarray(taste * effects.rater_weight.sum() / (taste @ effects.rater_weight)[..., None])


def draw_leanings(rng: np.random.Generator, effects: Effects, of_systems: Floats, document: Ints) -> Leanings:
    """Draw how raters differ on documents, outputs and segments; `taste` is times that on systems."""
    n_systems, n_raters, n_documents = len(effects.system_mean), len(effects.leniency), int(document.max()) + 1
    taste = (
        of_systems
        * lognormal(rng, effects.rater_document_sd, (1, n_documents, n_raters))
        * lognormal(rng, effects.rater_output_sd, (n_systems, n_documents, n_raters))
    )
    if effects.rater_segment_sd == 0:
        return Leanings(np.asarray(taste), None)
    shape = 2, len(document), n_raters
    return Leanings(np.asarray(taste), skewed(rng, effects.rater_segment_sd, effects.segment_skew, shape))
