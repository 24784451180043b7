"""Draw worlds of ratings on a scale: a latent sum of effects becomes a score on a bounded, stepped or cut scale.

Call `draw_world` with `ScaleEffects` and a frame, which returns a `World`; `truth` returns the systems' true means. The
latent of a rating is `mean + system + document + segment + system x document + output + leniency + rater x system +
rater x document + residual`, all effects independent and normal. `gaussian`: it is the score, censored
at the floor and the ceiling of the scale and rounded to its steps; the residual may have Student tails. `ordinal`: the
score is the category between whose thresholds it falls, each rater using the scale in their own way. `binary`: the
answer is whether it is above 0. Ordinal and binary latents have a residual of standard deviation 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import ndtr

from simlab.types import RATE, Anew, Answers, Floats, Frame, Ints, World
from simlab.world.laws.fixed import UNMARKED, FixedRatings

_DENSE = 1_000_000
"""As many pairs are drawn at once rather than sorted out."""
_SHARPNESS_NODES, _TAIL_NODES, _TABLE, _REACH = 16, 64, 4001, 12.0
_MOST_LEVELS = 4096
"""Steps that are so fine beside the spread are no steps: the mean differs by less than 1e-4 of a step."""


@dataclass(frozen=True, slots=True)
class ScaledRatings:
    """Law of potential ratings on a scale, from which a study can draw its own (`noise=fresh`).

    `latent[system, item, slot]` is the latent of the rater in the slot for an output, `residual_sd` the standard
    deviation of each rating's own part.
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
        return Answers(convert_to_scores(self.scale, self.latent.reshape(-1).take(rating) + own), None)

    def expected_ratings(self) -> Floats:
        """Return the score that each rater is expected to give: `[system, item, slot]`."""
        return expected_scores(self.scale, self.latent, self.residual_sd)


class ScaleSources(NamedTuple):
    """Sources of other raters and documents: callables that draw effects with other raters, and a frame of documents.

    `documents` also returns `seen[system, item]`, each output's deviation from its system's mean (`latent_draw`).
    """

    raters: Callable[[np.random.Generator], ScaleEffects]
    documents: Callable[[np.random.Generator], tuple[Frame, Floats]]


def draw_world(
    rng: np.random.Generator,
    effects: ScaleEffects,
    frame: Frame,
    *,
    potential: bool,
    others: ScaleSources | None = None,
    seen: Floats | None = None,
) -> World:
    """Draw a world for a frame, which seats the raters: effects of documents and noise of the ratings are drawn.

    A gap in the frame stays a gap. With `potential` every rating is fixed, as in a recorded table. Raters and documents
    can be drawn anew if `others` has their sources (None: they cannot). `seen[system, item]` is the deviation of each
    output from its system's mean (None: drawn by `latent_draw`).
    """
    if seen is None:
        seen = latent_draw(rng, effects, frame.document)
    worth = truth(effects)
    world = _draw_ratings(rng, ScaleParts(effects, frame, seen), worth, potential=potential)
    return world if others is None else _add_others(world, ScaleParts(effects, frame, seen), others, worth, potential)


class ScaleParts(NamedTuple):
    """Parts of a world: `effects` belong to raters, `frame` and `seen[system, item]` to documents."""

    effects: ScaleEffects
    frame: Frame
    seen: Floats


def _add_others(world: World, made: ScaleParts, others: ScaleSources, worth: Floats, potential: bool) -> World:
    """Let a world draw other raters and documents; what its systems are truly worth stays what it is."""

    def again(anew: Anew) -> World:
        new = made
        if anew.documents is not None:
            frame, seen = others.documents(anew.documents)
            new = new._replace(frame=frame, seen=seen)
        if anew.raters is not None:
            new = new._replace(effects=others.raters(anew.raters))
        return replace(_draw_ratings(anew.both, new, worth, potential=potential), again=again)

    return replace(world, again=again)


def _draw_ratings(rng: np.random.Generator, made: ScaleParts, worth: Floats, *, potential: bool) -> World:
    """Make a world of given parts; `rng` draws the effects of raters on documents, and ratings that are fixed."""
    effects, frame = made.effects, made.frame
    on_document = effects.rater_document_sd * rng.standard_normal((frame.n_documents, frame.n_raters))
    system = np.arange(frame.n_systems)[:, None, None]
    latent = average_opinions(effects, system, frame.rater, made.seen[:, :, None])
    latent += on_document[frame.document[:, None], frame.rater]
    law, of_pool = ScaledRatings(latent, effects.residual_sd, effects.scale), partial(truth_of_pool, effects)
    if not potential:
        return World(frame, {RATE: law}, worth, of_pool=of_pool)
    value = convert_to_scores(effects.scale, latent + effects.residual_sd * law.draw(rng))
    value[frame.rater < 0] = np.nan
    fixed = FixedRatings(value, np.full(value.shape, UNMARKED))
    return World(frame, {RATE: fixed}, worth, of_pool=of_pool)


@dataclass(frozen=True, slots=True)
class Scale:
    """Scale of scores: the map from a latent value to a score.

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
    """One draw of effects, on the latent scale.

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


def convert_to_scores(scale: Scale, latent: Floats) -> Floats:
    """Turn latent values into scores on a scale, same shape."""
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
    """Draw the latent deviation of each output from its system's mean that all raters share: `[system, item]`.

    `document[item]` says which items belong together. It is the sum of the effects of document, segment, system on
    document, and output.
    """
    n_systems, n_documents = len(effects.system), int(document.max()) + 1
    by_item = effects.document_sd * rng.standard_normal(n_documents)[document]
    by_item = by_item + effects.segment_sd * rng.standard_normal(len(document))
    by_both = effects.system_document_sd * rng.standard_normal((n_systems, n_documents))
    by_output = effects.output_sd * rng.standard_normal((n_systems, len(document)))
    return np.asarray(by_item + by_both[:, document] + by_output)


def draw_raters(rng: np.random.Generator, effects: ScaleEffects, n_raters: int) -> ScaleEffects:
    """Return effects with `n_raters` raters drawn from raters at large, for the same systems."""
    leniency = effects.leniency_sd * rng.standard_normal(n_raters)
    sharpness = np.exp(effects.sharpness_sd * rng.standard_normal(n_raters))
    taste = effects.rater_system_sd * rng.standard_normal((len(effects.system), n_raters))
    return replace(effects, leniency=leniency, sharpness=sharpness, taste=taste)


def residuals(rng: np.random.Generator, tail: float, shape: int | tuple[int, ...]) -> Floats:
    """Draw residuals of standard deviation 1, with Student tails where `tail` is finite."""
    if np.isinf(tail):
        return np.asarray(rng.standard_normal(shape))
    # Student's t has variance tail / (tail - 2).
    return np.asarray(rng.standard_t(tail, shape) * np.sqrt((tail - 2) / tail))


def draw_flat_answers(
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
    seen += effects.system_document_sd * _draw_by_pairs(rng, system, where)
    seen += effects.output_sd * _draw_by_pairs(rng, system, item)
    return _score_answers(rng, effects, system, rater, where, seen)


def draw_repeated_answers(
    rng: np.random.Generator,
    effects: ScaleEffects,
    seen: Floats,
    system: Ints,
    item: Ints,
    rater: Ints,
    document: Ints,
) -> Floats:
    """Draw other answers of a flat design about the same outputs: the score of each rating.

    `seen[system, item]` is each output's deviation from its system's mean, see `latent_draw`. Raters' effects on
    documents are drawn anew with the residual; indices are those of `draw_flat_answers`.
    """
    return _score_answers(rng, effects, system, rater, document[item], _look_up(seen, system, item))


def _score_answers(
    rng: np.random.Generator, effects: ScaleEffects, system: Ints, rater: Ints, document: Ints, seen: Floats
) -> Floats:
    own = effects.rater_document_sd * _draw_by_pairs(rng, rater, document)
    own += effects.residual_sd * residuals(rng, effects.scale.tail, len(system))
    return convert_to_scores(effects.scale, average_opinions(effects, system, rater, seen) + own)


def average_opinions(effects: ScaleEffects, system: Ints, rater: Ints, seen: Floats) -> Floats:
    """Return the mean latent of ratings of outputs that differ by `seen` from their system's mean.

    Indices and `seen` broadcast; raters' effects on documents, and the residual, are left out.
    """
    spread = np.take(effects.sharpness, rater) * (np.take(effects.system, system) - effects.mean + seen)
    return np.asarray(effects.mean + spread + np.take(effects.leniency, rater) + _look_up(effects.taste, system, rater))


def _look_up(table: Floats, row: Ints, column: Ints) -> Floats:
    """Return `table[row, column]`, faster."""
    return np.take(table, np.multiply(row, table.shape[1], dtype=np.int64) + column)


def _draw_by_pairs(rng: np.random.Generator, first: Ints, second: Ints) -> Floats:
    """Draw a standard normal number for each pair of indices, the same wherever the pair comes again."""
    width = int(second.max()) + 1
    n_pairs = (int(first.max()) + 1) * width
    code = np.multiply(first, width, dtype=np.int64) + second
    if n_pairs <= max(_DENSE, len(code)):
        return np.take(rng.standard_normal(n_pairs), code)
    pairs, place = np.unique(code, return_inverse=True)
    return np.asarray(rng.standard_normal(len(pairs))[place])


def truth(effects: ScaleEffects) -> Floats:
    """Return each system's mean score over documents and raters at large: `[system]`, in scores.

    All effects but two are normal, so that the mean of a censored, rounded or cut score has a closed form; over how
    sharp raters are, and over Student tails, it is averaged by quadrature.
    """
    own = (effects.leniency_sd, effects.rater_system_sd, effects.rater_document_sd)
    seen = (effects.document_sd, effects.segment_sd, effects.system_document_sd, effects.output_sd)
    of_rater, of_output = (float(np.square(spreads).sum()) for spreads in (own, seen))
    total = np.zeros(len(effects.system))
    for sharpness, weight in _sharpness_nodes(effects.sharpness_sd):
        mean = effects.mean + sharpness * (effects.system - effects.mean)
        # Sharpness spreads what outputs are worth, and nothing that is a rater's own.
        normal_sd = np.sqrt(of_rater + sharpness**2 * of_output)
        total += weight * mean_scores(effects.scale, mean, float(normal_sd), effects.residual_sd)
    return total


def truth_of_pool(effects: ScaleEffects, weight: Floats | None = None) -> Floats:
    """Return each system's mean score over documents and these raters: `[system]`, in scores.

    Raters count by `weight[rater]` (None: all alike). A rater's effects on documents are averaged; leniency, sharpness
    and taste are the raters' own.
    """
    own = effects.mean + effects.sharpness * (effects.system[:, None] - effects.mean)
    latent = own + effects.leniency + effects.taste
    seen = (effects.document_sd, effects.segment_sd, effects.system_document_sd, effects.output_sd)
    spread = np.sqrt(effects.rater_document_sd**2 + effects.sharpness**2 * np.square(seen).sum())
    if weight is not None and np.ptp(spread) == 0:
        return np.asarray(mean_scores(effects.scale, latent, float(spread[0]), effects.residual_sd) @ weight)
    by_rater = [
        mean_scores(effects.scale, latent[:, r], float(spread[r]), effects.residual_sd) for r in range(len(spread))
    ]
    return np.asarray(np.average(by_rater, axis=0, weights=weight))


def expected_scores(scale: Scale, latent: Floats, residual_sd: float) -> Floats:
    """Return the mean score of each latent value over the residual; same shape.

    Many values are looked up in a table of the function, which is smooth wherever there is a residual.
    """
    if latent.size <= _TABLE or residual_sd == 0:
        return mean_scores(scale, latent, 0.0, residual_sd)
    table = np.linspace(latent.min(), latent.max(), _TABLE)
    return np.asarray(np.interp(latent, table, mean_scores(scale, table, 0.0, residual_sd)))


def mean_scores(scale: Scale, mean: Floats, normal_sd: float, residual_sd: float) -> Floats:
    """Return the mean score of a latent that is `mean` plus a normal part plus the residual; same shape as `mean`."""
    total = np.zeros(mean.shape)
    for factor, weight in _tail_nodes(scale.tail if residual_sd > 0 else np.inf):
        total += weight * _mean_score_of_normal(scale, mean, float(np.hypot(normal_sd, residual_sd * factor)))
    return total


def _mean_score_of_normal(scale: Scale, mean: Floats, sd: float) -> Floats:
    """Return the mean score of a normal latent."""
    if sd == 0:
        return convert_to_scores(scale, mean)
    cuts, values = _levels(scale, mean, sd)
    if values is None:
        return _censored_mean(scale, mean, sd)
    above = ndtr((mean[..., None] - cuts) / sd)
    # The mean is the least score, plus each step by how likely its cut is passed.
    return np.asarray(values[0] + above @ np.diff(values))


def _levels(scale: Scale, mean: Floats, sd: float) -> tuple[Floats, Floats | None]:
    """Return cuts and the scores between them; None where any number can be a score."""
    if scale.law != "gaussian":
        return scale.thresholds, scale.values
    # Further out than _REACH standard deviations a normal value has no probability left.
    low = max(scale.low, float(mean.min()) - _REACH * sd)
    high = min(scale.high, float(mean.max()) + _REACH * sd)
    if scale.step == 0 or (high - low) / scale.step > _MOST_LEVELS:
        return np.empty(0), None
    origin = first_step(scale)
    first, last = np.rint((low - origin) / scale.step), np.ceil((high - origin) / scale.step)
    grid = origin + scale.step * np.arange(first, max(first, last) + 1)
    # Scores are rounded to the nearest step, so that cuts lie halfway between two.
    return grid[:-1] + scale.step / 2, np.clip(grid, scale.low, scale.high)


def _censored_mean(scale: Scale, mean: Floats, sd: float) -> Floats:
    """Return the mean of a normal variable that is held between floor and ceiling."""
    kept = mean.astype(float)
    if np.isfinite(scale.low):
        kept = kept + sd * _shortfall((scale.low - mean) / sd)
    if np.isfinite(scale.high):
        kept = kept - sd * _shortfall((mean - scale.high) / sd)
    return kept


def _shortfall(z: Floats) -> Floats:
    """Return the mean of what a standard normal variable falls short of z by."""
    return np.asarray(z * ndtr(z) + np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi))


def _sharpness_nodes(sd: float) -> Iterator[tuple[float, float]]:
    """List factors with weights that stand for a lognormal factor of median 1 (Gauss-Hermite)."""
    if sd == 0:
        yield 1.0, 1.0
        return
    z, weight = np.polynomial.hermite_e.hermegauss(_SHARPNESS_NODES)
    factor = np.exp(sd * z)
    yield from zip(factor.tolist(), (weight / weight.sum()).tolist(), strict=True)


def _tail_nodes(tail: float) -> Iterator[tuple[float, float]]:
    """List standard deviations with weights whose mixture of normals is a Student law of standard deviation 1.

    The precision is a gamma variable with mean 1; the density of its logarithm u falls off like exp(tail (u - e^u) / 2)
    on both sides, so that the trapezoidal rule converges fast.
    """
    if np.isinf(tail):
        yield 1.0, 1.0
        return
    # At either end the weight is about exp(-35), which is rounding beside the largest.
    right = np.sqrt(140 / tail)
    u = np.linspace(-right - 70 / tail, right, _TAIL_NODES)
    weight = np.exp(tail / 2 * (u - np.exp(u) + 1))
    factor = np.sqrt((tail - 2) / tail) * np.exp(-u / 2)
    yield from zip(factor.tolist(), (weight / weight.sum()).tolist(), strict=True)
