"""Draw what raters thought, given what they answered."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri

from simlab.fitting.scales.chain import Model, State, precision
from simlab.fitting.scales.observing import Seen
from simlab.types import Bools, Floats

FARTHEST = 37.0
"""Beyond so many standard deviations a normal probability is no longer a number."""

CLOSE = 1.0
"""Bounds are close where the logarithm of the density falls by less between them."""


def truncated_normal(rng: np.random.Generator, low: Floats, high: Floats) -> Floats:
    """Draw standard normal numbers between bounds, element by element, far tails included.

    Between bounds so close that the density hardly falls, evenly spread numbers are drawn until one is kept.
    """
    width = high - low
    close = width * np.maximum(-low, high) < CLOSE
    if not close.any():
        return _inverted(rng, low, high)
    rest = np.flatnonzero(~close)
    drawn = _kept(rng, np.where(close, low, 0.0), np.where(close, width, 0.0))
    drawn.reshape(-1)[rest] = _inverted(rng, low.reshape(-1)[rest], high.reshape(-1)[rest])
    return drawn


def _kept(rng: np.random.Generator, low: Floats, width: Floats) -> Floats:
    """Draw by rejection: the chance to be kept is the density's share of its peak between the bounds."""
    peak = np.clip(0.0, low, low + width) ** 2
    drawn = low + width * rng.random(low.shape)
    again = np.flatnonzero(rng.standard_exponential(low.shape) < (drawn**2 - peak) / 2)
    flat, low, width, peak = drawn.reshape(-1), low.reshape(-1), width.reshape(-1), peak.reshape(-1)
    while len(again):
        new = low[again] + width[again] * rng.random(len(again))
        flat[again] = new
        again = again[rng.standard_exponential(len(again)) < (new**2 - peak[again]) / 2]
    return drawn


def _inverted(rng: np.random.Generator, low: Floats, high: Floats) -> Floats:
    """Draw by inverting the distribution function, on the side where it is small."""
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
