"""A law of ratings of one's own: raters whose scores from 0 to 100 are Beta, each as sharp as they are."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist

NEAREST = 0.5
"""Scores this near to an end of the scale count as that far from it: a Beta density has none at the ends."""


def beta_raters(
    n_systems: int, n_documents: int, n_raters: int, system: Any, document: Any, rater: Any, score: Any = None
) -> None:
    """Draw what systems are worth, how easy documents and how lenient and sharp raters are, then the scores."""
    level = numpyro.sample("level", dist.Normal(0.0, 1.5))
    system_sd = numpyro.sample("system_sd", dist.HalfNormal(1.0))
    document_sd = numpyro.sample("document_sd", dist.HalfNormal(1.0))
    rater_sd = numpyro.sample("rater_sd", dist.HalfNormal(0.5))
    with numpyro.plate("systems", n_systems):
        quality = numpyro.sample("quality", dist.Normal(level, system_sd))
    with numpyro.plate("documents", n_documents):
        ease = numpyro.sample("ease", dist.Normal(0.0, document_sd))
    with numpyro.plate("raters", n_raters):
        leniency = numpyro.sample("leniency", dist.Normal(0.0, 1.0))
        sharpness = numpyro.sample("sharpness", dist.LogNormal(2.5, 0.7))
    mean = 1 / (1 + jnp.exp(-(quality[system] + ease[document] + rater_sd * leniency[rater])))
    beta = dist.Beta(mean * sharpness[rater], (1 - mean) * sharpness[rater])
    points = dist.TransformedDistribution(beta, dist.transforms.AffineTransform(0.0, 100.0))
    with numpyro.plate("ratings", len(system)):
        numpyro.sample("score", points, obs=None if score is None else jnp.clip(score, NEAREST, 100 - NEAREST))
