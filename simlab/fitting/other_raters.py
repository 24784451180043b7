"""Draw other raters of a law, as strict and as choosy as raters at large are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from simlab.types import Floats
from simlab.world.laws.fitted import Effects
from simlab.world.laws.scales import ScaleEffects


def other_raters(rng: np.random.Generator, effects: Any, spread: Mapping[str, float], n: int) -> Any | None:
    """Put n raters at large in the place of the pilot's, None where the law does not say how these are.

    What is drawn has exactly the spread that it should have, so that it adds no noise of its own to a component.
    """
    if isinstance(effects, ScaleEffects):
        return _on_a_scale(rng, effects, n)
    if isinstance(effects, Effects) and "leniency_sd" in spread:
        return _counting(rng, effects, spread, n)
    return None


def _on_a_scale(rng: np.random.Generator, effects: ScaleEffects, n: int) -> ScaleEffects:
    taste = rng.standard_normal((len(effects.system), n))
    taste = taste - taste.mean(0) - taste.mean(1, keepdims=True) + taste.mean()
    free = (n - 1) * (len(effects.system) - 1)
    scale = np.sqrt(free / (taste**2).sum()) if free else 0.0
    return replace(
        effects,
        leniency=effects.leniency_sd * _standard(rng, n),
        sharpness=np.exp(effects.sharpness_sd * _standard(rng, n)),
        taste=effects.rater_system_sd * scale * taste,
    )


def _counting(rng: np.random.Generator, effects: Effects, spread: Mapping[str, float], n: int) -> Effects:
    like = rng.integers(len(effects.leniency), size=n)
    leniency, severity = spread["leniency_sd"], spread.get("severity_sd", 0.0)
    return replace(
        effects,
        leniency=np.exp(leniency * _standard(rng, n) - leniency**2 / 2),
        severity=np.exp(severity * _standard(rng, n) - severity**2 / 2),
        sharpness=effects.sharpness[like],
        punctuation=effects.punctuation[like],
    )


def _standard(rng: np.random.Generator, n: int) -> Floats:
    """Draw numbers of mean 0 and, as a sample, of standard deviation 1."""
    drawn = rng.standard_normal(n)
    return np.asarray((drawn - drawn.mean()) / drawn.std(ddof=1))
