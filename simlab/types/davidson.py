"""Parameters of a latent scale with ties: `Davidson`, the strengths of systems, and `RaterPool`, the raters."""

from __future__ import annotations

from dataclasses import dataclass

from simlab.types.arrays import Floats


@dataclass(frozen=True, slots=True)
class Davidson:
    """Davidson's law of comparisons: of two outputs d apart, `>`, `=`, `<` are as likely as e^(d/2) : ties : e^(-d/2).

    An output lies at `f[item] * (strength[system] + output_sd * z)`, z standard normal, in logits; `f` is a lognormal
    factor with mean 1 and logarithm's standard deviation `item_sd` (easy items tell outputs apart, hard ones do not).
    Outputs that are equal are a draw with probability ties / (ties + 2). Source: Davidson 1970 (JASA 65, 317-328).
    """

    strength: Floats
    output_sd: float
    item_sd: float
    ties: float


@dataclass(frozen=True, slots=True)
class RaterPool:
    """Differences between raters who choose by a latent scale.

    `sharpness[rater]` is the factor by which a rater sees outputs further apart, `ties[rater]` that by which draws are
    likelier, `taste[rater, system]` what a rater adds to the strength of a system (logits). `whole_items`: all
    comparisons of an item come from one rater, drawn at random; otherwise each from one drawn for it.
    """

    sharpness: Floats
    ties: Floats
    taste: Floats
    whole_items: bool
