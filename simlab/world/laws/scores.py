"""Turn latent scores into what is judged on a scale."""

from __future__ import annotations

import numpy as np
from scipy.special import log_ndtr

from simlab.types import Floats, Latent
from simlab.world.alphas import spread_of


def human_scores(scale: str, latent: Floats, law: Latent) -> Floats:
    """Turn latent scores `[system, item]` into what is judged on a scale, before leniency and noise."""
    if scale != "skewed_score":
        return latent
    return law.quality[:, None] + spread_of(law)[:, None] * skewed(deviations(latent, law))


def deviations(latent: Floats, law: Latent) -> Floats:
    """Standardise latent scores within each system; nothing deviates where all are adequate, or none."""
    quality = np.where(np.isfinite(law.quality), law.quality, 0.0)[:, None]
    finite = np.where(np.isfinite(latent), latent, 0.0)
    return np.asarray((finite - quality) / spread_of(law)[:, None])


def skewed(normal: Floats) -> Floats:
    """Turn standard normal deviations into exponential ones of mean 0 and standard deviation 1, in the same order."""
    return np.asarray(-log_ndtr(-normal) - 1)
