"""Draw what raters thought, given what they answered."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri

from simlab.fitting.scales.chain import Model, State, precision
from simlab.fitting.scales.observing import Seen
from simlab.types import Bools, Floats

FARTHEST = 37.0
"""Beyond so many standard deviations a normal probability is no longer a number."""


def truncated_normal(rng: np.random.Generator, low: Floats, high: Floats) -> Floats:
    """Draw standard normal numbers between bounds, element by element, far tails included."""
    mirrored = low > 0
    left = np.clip(np.where(mirrored, -high, low), -FARTHEST, FARTHEST)
    right = np.clip(np.where(mirrored, -low, high), -FARTHEST, FARTHEST)
    below = ndtr(left)
    drawn = ndtri(below + rng.random(low.shape) * (ndtr(right) - below))
    drawn = np.clip(np.where(np.isfinite(drawn), drawn, right), left, right)
    return np.asarray(np.where(mirrored, -drawn, drawn))


def draw_latents(rng: np.random.Generator, model: Model, state: State, seen: Seen, where: Bools) -> None:
    """Draw the latent values that are not known exactly; `where[rating, table]` tells which."""
    if not where.any():
        return
    at = ... if where.all() else where
    spread = np.broadcast_to(1 / np.sqrt(precision(model, state)), where.shape)[at]
    centre = (state.latent - state.error)[at]
    noise = spread * truncated_normal(rng, (seen.low[at] - centre) / spread, (seen.high[at] - centre) / spread)
    state.latent[at] = centre + noise
    state.error[at] = noise
