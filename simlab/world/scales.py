"""Draw systems whose outputs are rated on a scale: from 0 to 100, in a few categories, or yes and no.

Each option of `systems` takes the option's keys and returns `Outputs`: latent quality `[system, item]`, and the scale
by which raters turn it into a score.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Le, MaxLen, MinLen

from simlab.types import Floats, InputError, Outputs
from simlab.types.bounds import Count, Spread, Value
from simlab.world.laws.scales import Scale, ScaleEffects, latent_draw
from simlab.world.systems import spread_segments

Systems = Annotated[int, Ge(2), Le(10**9)]
Values = Annotated[list[Value], MaxLen(1000)]
MOST_STEPS = 10**6
"""Most steps between floor and ceiling.
"""
NONE = np.empty(0)
YES_OR_NO = Scale("binary", -np.inf, np.inf, 0.0, np.inf, np.zeros(1), np.array([0.0, 1.0]))
"""The scale of yes and no."""


def gaussian(
    rng: np.random.Generator,
    *,
    n_systems: Systems,
    n_documents: Count,
    n_segments: Count,
    max_segments: Count,
    mean: Value,
    system_sd: Spread,
    document_sd: Spread,
    segment_sd: Spread,
    system_document_sd: Spread,
    output_sd: Spread,
    floor: Value | None,
    ceiling: Value | None,
    step: Annotated[float, Ge(0), Le(1e6)],
    better: Literal["higher", "lower"],
) -> Outputs:
    """Draw systems and what their outputs are worth to an average rater, in points, before floor and ceiling.

    The effects of system, document, segment, system on document, and output are normal and add up. What raters think
    is then rounded to multiples of `step` and held between floor and ceiling (null: there is none), so that the true
    mean scores of systems are closer together there.

    Raises InputError for segments that do not fill the documents, and for a scale that is none.
    """
    scale = _points(floor, ceiling, step)
    effects = _effects(mean, system_sd, document_sd, segment_sd, system_document_sd, output_sd, scale)
    return _draw_systems(rng, effects, (n_systems, n_documents, n_segments, max_segments), better)


def ordinal(
    rng: np.random.Generator,
    *,
    n_systems: Systems,
    n_documents: Count,
    n_segments: Count,
    max_segments: Count,
    mean: Value,
    system_sd: Spread,
    document_sd: Spread,
    segment_sd: Spread,
    system_document_sd: Spread,
    output_sd: Spread,
    thresholds: Annotated[list[Value], MinLen(1), MaxLen(1000)],
    values: Values | None,
    better: Literal["higher", "lower"],
) -> Outputs:
    """Draw systems and what their outputs are worth to an average rater on a latent scale that is cut into categories.

    The unit is the standard deviation of a rating's own noise. Effects add up as in `gaussian`; what a rater thinks
    falls between two thresholds, and the score is the value of that category (null: 1, 2, 3, ...).

    Raises InputError for segments that do not fill the documents, and for thresholds or values that do not rise.
    """
    scale = _categories(thresholds, values)
    effects = _effects(mean, system_sd, document_sd, segment_sd, system_document_sd, output_sd, scale)
    return _draw_systems(rng, effects, (n_systems, n_documents, n_segments, max_segments), better)


def binary(
    rng: np.random.Generator,
    *,
    n_systems: Systems,
    n_documents: Count,
    n_segments: Count,
    max_segments: Count,
    mean: Value,
    system_sd: Spread,
    document_sd: Spread,
    segment_sd: Spread,
    system_document_sd: Spread,
    output_sd: Spread,
    better: Literal["higher", "lower"],
) -> Outputs:
    """Draw systems and what their outputs are worth to an average rater, who says yes (1) above 0 and else no (0).

    The unit is the standard deviation of a rating's own noise; effects add up as in `gaussian`.

    Raises InputError for segments that do not fill the documents.
    """
    effects = _effects(mean, system_sd, document_sd, segment_sd, system_document_sd, output_sd, YES_OR_NO)
    return _draw_systems(rng, effects, (n_systems, n_documents, n_segments, max_segments), better)


def _points(floor: float | None, ceiling: float | None, step: float) -> Scale:
    low, high = -np.inf if floor is None else floor, np.inf if ceiling is None else ceiling
    if low >= high:
        raise InputError(f"systems.floor={low:g} is not below systems.ceiling={high:g}; lower it, or set it to null")
    if step > high - low:
        raise InputError(f"systems.step={step:g} is wider than the scale from {low:g} to {high:g}; lower it")
    if step and np.isfinite(high - low) and (high - low) / step > MOST_STEPS:
        raise InputError(f"systems.step={step:g} makes more than {MOST_STEPS:,} steps; 0 stands for any number")
    return Scale("gaussian", low, high, step, np.inf, NONE, NONE)


def _categories(thresholds: list[float], values: list[float] | None) -> Scale:
    worth = [float(k + 1) for k in range(len(thresholds) + 1)] if values is None else values
    if len(worth) != len(thresholds) + 1:
        raise InputError(
            f"systems.values has {len(worth)} numbers for {len(thresholds)} thresholds, which cut a scale into "
            f"{len(thresholds) + 1} categories; give one each, or null"
        )
    for key, numbers in ("thresholds", thresholds), ("values", worth):
        if (np.diff(numbers) <= 0).any():
            raise InputError(f"systems.{key}={numbers} must rise from each number to the next")
    return Scale("ordinal", -np.inf, np.inf, 0.0, np.inf, np.array(thresholds, float), np.array(worth, float))


def _effects(
    mean: float, system: float, document: float, segment: float, both: float, output: float, scale: Scale
) -> ScaleEffects:
    """Return the effects that systems are drawn with; those of raters are empty or 0."""
    return ScaleEffects(
        mean=mean,
        system=NONE,
        leniency=NONE,
        sharpness=NONE,
        taste=np.empty((0, 0)),
        document_sd=document,
        segment_sd=segment,
        system_document_sd=both,
        output_sd=output,
        rater_document_sd=0.0,
        residual_sd=0.0,
        system_sd=system,
        leniency_sd=0.0,
        sharpness_sd=0.0,
        rater_system_sd=0.0,
        scale=scale,
    )


def _draw_systems(
    rng: np.random.Generator,
    effects: ScaleEffects,
    sizes: tuple[int, int, int, int],
    better: Literal["higher", "lower"],
) -> Outputs:
    """Draw systems, and what they do on documents."""
    n_systems, n_documents, n_segments, max_segments = sizes
    document = spread_segments(rng, n_documents, n_segments, max_segments)
    system = effects.mean + effects.system_sd * rng.standard_normal(n_systems)
    known = replace(effects, system=system)

    def draw_outputs(document: np.ndarray, rng: np.random.Generator) -> Outputs:
        quality: Floats = system[:, None] + latent_draw(rng, known, document)
        return Outputs(quality, document, system, lower_is_better=better == "lower", scale=known)

    def again(rng: np.random.Generator) -> Outputs:
        return draw_outputs(spread_segments(rng, n_documents, n_segments, max_segments), rng)

    return replace(draw_outputs(document, rng), again=again)
