"""State the laws of ratings on a scale: a latent sum of effects that is answered on a bounded, stepped or cut scale.

What a rater thinks of an output is `mean + system + document + segment + system x document + output + leniency +
rater x system + rater x document + residual`, all effects independent and normal. `gaussian`: it is the score, censored
at the floor and the ceiling of the scale and rounded to its steps; the residual may have Student tails. `ordinal`: the
score is the category between whose thresholds it falls, each rater using the scale in their own way. `binary`: the
answer is whether it is above 0. Ordinal and binary latents have a residual of standard deviation 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from simlab.types import Floats


@dataclass(frozen=True, slots=True)
class Scale:
    """Say how a latent value becomes a score.

    `low` and `high` are floor and ceiling of a gaussian score (-inf, inf: none), `step` what scores are multiples of,
    counted from `low` or 0 (0: any number), `tail` the degrees of freedom of a Student residual (inf: normal).
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

    `system[system]` is the mean of each system's latent over documents and raters at large, `leniency[rater]` what a
    rater adds, `sharpness[rater]` the factor by which a rater spreads the latent about `mean` before leniency is added
    (1: as it is; rater r of an ordinal scale has thresholds of their own by both), `taste[system, rater]` what a rater
    adds for a system. The `*_sd` are standard deviations of what is drawn anew with documents: of documents, segments
    in them, systems on documents, outputs (systems on segments, the same for all raters), raters on documents, and the
    residual. `system_sd`, `leniency_sd`, `sharpness_sd` (of the logarithm) and `rater_system_sd` are those of systems
    and raters at large, `mean` is the mean latent.
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
