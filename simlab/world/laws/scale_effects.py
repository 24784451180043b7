"""Name what ratings on a scale are drawn from, draw it, and turn what raters think into scores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from simlab.types import Floats, Ints


@dataclass(frozen=True, slots=True)
class Scale:
    """Say how a latent value becomes a score.

    `low` and `high` are floor and ceiling of a gaussian score (-inf, inf: none), `step` what scores are multiples of,
    counted from `low` or 0 (0: any number), `tail` the degrees of freedom of a Student residual, above 2 (inf: normal).
    `thresholds[k]` cuts an ordinal latent into categories worth `values[k]`, one more than cuts; binary: one cut at 0.
    """

    law: Literal["gaussian", "ordinal", "binary"]
    low: float
    high: float
    step: float
    tail: float
    thresholds: Floats
    values: Floats


@dataclass(frozen=True, slots=True)
class ScaleEffects:
    """Hold one set of parameters, on the latent scale.

    `system[system]` is the mean of each system's latent over documents and raters at large who are neither sharp nor
    blunt, `leniency[rater]` what a rater adds, `sharpness[rater]` the factor by which a rater spreads what all raters
    see of outputs about `mean` before anything of the rater's own is added (1: as it is; rater r of an ordinal scale
    has thresholds of their own by both), `taste[system, rater]` what a rater adds for a system. The `*_sd` are standard
    deviations of what is drawn anew with documents: of documents, segments in them, systems on documents, outputs
    (systems on segments, the same for all raters), raters on documents, and the residual (with Student tails, too).
    `system_sd`, `leniency_sd`, `sharpness_sd` (of the logarithm, whose mean is 0) and `rater_system_sd` are those of
    systems and raters at large, `mean` is the mean latent.
    """

    mean: float
    system: Floats
    leniency: Floats
    sharpness: Floats
    taste: Floats
    document_sd: float
    segment_sd: float
    system_document_sd: float
    output_sd: float
    rater_document_sd: float
    residual_sd: float
    system_sd: float
    leniency_sd: float
    sharpness_sd: float
    rater_system_sd: float
    scale: Scale


def to_scores(scale: Scale, latent: Floats) -> Floats:
    """Turn what raters think into what they write down, same shape."""
    if scale.law != "gaussian":
        return np.asarray(scale.values[np.searchsorted(scale.thresholds, latent)])
    if scale.step > 0:
        origin = first_step(scale)
        latent = np.rint((latent - origin) / scale.step) * scale.step + origin
    return np.clip(latent, scale.low, scale.high)


def score_range(scale: Scale) -> tuple[float, float]:
    """Return the least and the largest score that a scale has; infinite where it has no end."""
    if scale.law == "gaussian":
        return scale.low, scale.high
    return float(scale.values[0]), float(scale.values[-1])


def first_step(scale: Scale) -> float:
    """Return the score that steps are counted from."""
    return scale.low if np.isfinite(scale.low) else 0.0


def latent_draw(rng: np.random.Generator, effects: ScaleEffects, document: Ints) -> Floats:
    """Draw what documents bring, whoever rates them: `[system, item]`, the systems' means left out.

    `document[item]` says which items belong together. It is the sum of the effects of document, segment, system on
    document, and output.
    """
    n_systems, n_documents = len(effects.system), int(document.max()) + 1
    by_item = effects.document_sd * rng.standard_normal(n_documents)[document]
    by_item = by_item + effects.segment_sd * rng.standard_normal(len(document))
    by_both = effects.system_document_sd * rng.standard_normal((n_systems, n_documents))
    by_output = effects.output_sd * rng.standard_normal((n_systems, len(document)))
    return np.asarray(by_item + by_both[:, document] + by_output)


def with_raters(rng: np.random.Generator, effects: ScaleEffects, n_raters: int) -> ScaleEffects:
    """Draw so many raters, for the same systems, from raters at large."""
    leniency = effects.leniency_sd * rng.standard_normal(n_raters)
    sharpness = np.exp(effects.sharpness_sd * rng.standard_normal(n_raters))
    taste = effects.rater_system_sd * rng.standard_normal((len(effects.system), n_raters))
    return replace(effects, leniency=leniency, sharpness=sharpness, taste=taste)


def residuals(rng: np.random.Generator, tail: float, shape: int | tuple[int, ...]) -> Floats:
    """Draw residuals of standard deviation 1, with Student tails where `tail` is finite."""
    if np.isinf(tail):
        return np.asarray(rng.standard_normal(shape))
    return np.asarray(rng.standard_t(tail, shape) * np.sqrt((tail - 2) / tail))


def answer_flat(
    rng: np.random.Generator, effects: ScaleEffects, system: Ints, item: Ints, rater: Ints, document: Ints
) -> Floats:
    """Draw other documents and other answers of a flat design: the score of each rating.

    `system[k]`, `item[k]` and `rater[k]` are indices, `document[item]` says which items belong together. Systems and
    raters are those of `effects`; an output that is rated several times is the same output. Nothing is as large as all
    systems by items by raters.
    """
    where = document[item]
    seen = effects.document_sd * np.take(rng.standard_normal(int(document.max()) + 1), where)
    seen += effects.segment_sd * np.take(rng.standard_normal(len(document)), item)
    seen += effects.system_document_sd * _of_pairs(rng, system, where)
    seen += effects.output_sd * _of_pairs(rng, system, item)
    return _answered(rng, effects, system, rater, where, seen)


def answer_again(
    rng: np.random.Generator,
    effects: ScaleEffects,
    seen: Floats,
    system: Ints,
    item: Ints,
    rater: Ints,
    document: Ints,
) -> Floats:
    """Draw other answers of a flat design about the same outputs, `seen[system, item]` being what documents bring.

    What raters make of documents is drawn anew with the residual; indices are those of `answer_flat`.
    """
    return _answered(rng, effects, system, rater, document[item], _at(seen, system, item))


def _answered(
    rng: np.random.Generator, effects: ScaleEffects, system: Ints, rater: Ints, document: Ints, seen: Floats
) -> Floats:
    own = effects.rater_document_sd * _of_pairs(rng, rater, document)
    own += effects.residual_sd * residuals(rng, effects.scale.tail, len(system))
    return to_scores(effects.scale, thought(effects, system, rater, seen) + own)


def thought(effects: ScaleEffects, system: Ints, rater: Ints, seen: Floats) -> Floats:
    """Return what raters think on average of outputs that differ by `seen` from their system's mean.

    Indices and `seen` broadcast; what raters make of documents, and the residual, are left out.
    """
    spread = np.take(effects.sharpness, rater) * (np.take(effects.system, system) - effects.mean + seen)
    return np.asarray(effects.mean + spread + np.take(effects.leniency, rater) + _at(effects.taste, system, rater))


def _at(table: Floats, row: Ints, column: Ints) -> Floats:
    """Return `table[row, column]`, faster."""
    return np.take(table, np.multiply(row, table.shape[1], dtype=np.int64) + column)


_DENSE = 1_000_000
"""As many pairs are drawn at once rather than sorted out."""


def _of_pairs(rng: np.random.Generator, first: Ints, second: Ints) -> Floats:
    """Draw a standard normal number for each pair of indices, the same wherever the pair comes again."""
    width = int(second.max()) + 1
    n_pairs = (int(first.max()) + 1) * width
    code = np.multiply(first, width, dtype=np.int64) + second
    if n_pairs <= max(_DENSE, len(code)):
        return np.take(rng.standard_normal(n_pairs), code)
    pairs, place = np.unique(code, return_inverse=True)
    return np.asarray(rng.standard_normal(len(pairs))[place])
