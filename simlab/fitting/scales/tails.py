"""Draw how heavy the tails of the residual are, and which ratings lie in them."""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.special import gammaln, ndtri, stdtrit

from simlab.fitting.scales.chain import Model, State, radius_of, sum_of_logs
from simlab.types import Floats


def draw_tails(rng: np.random.Generator, model: Model, state: State) -> None:
    """Draw degrees of freedom whatever the weights of ratings, then the weights.

    The spread moves along, so that the middle half of the law stays where it is: else tails would hardly ever change.
    """
    tails = np.asarray(model.priors.tails)
    noise = radius_of(model, state, -1)
    stretch = np.asarray([_stretch(degrees) for degrees in model.priors.tails])
    grown = stretch[:, None] / stretch[state.tail]
    square = state.error**2
    log = np.stack([_density(square, degrees, noise * grown[k]) for k, degrees in enumerate(tails)])
    rows = model.noise_rows
    squares = (state.sd[rows] ** 2 / model.scale[rows] ** 2).sum(0)
    log += len(rows) * np.log(grown) - grown**2 * squares / 2
    log += np.log(np.where(np.arange(len(tails)) == 0, 0.5, 0.5 / max(len(tails) - 1, 1)))[:, None]
    log += rng.gumbel(size=log.shape)
    state.tail = np.argmax(log, axis=0)
    state.sd[rows] *= grown[state.tail, np.arange(len(state.tail))]
    _draw_weights(rng, model, state, tails[state.tail])


@cache
def _stretch(degrees: float) -> float:
    """Return the standard deviation of the Student law whose quartiles are those of the standard normal law."""
    if not np.isfinite(degrees):
        return 1.0
    return float(np.sqrt(degrees / (degrees - 2)) * ndtri(0.75) / stdtrit(degrees, 0.75))


def _density(square: Floats, degrees: float, spread: Floats) -> Floats:
    """Return the log density of errors of a standard deviation, given their squares, summed: `[table]`."""
    n = len(square)
    if not np.isfinite(degrees):
        return np.asarray(-square.sum(0) / (2 * spread**2) - n * np.log(spread * np.sqrt(2 * np.pi)))
    scale = spread * np.sqrt((degrees - 2) / degrees)
    constant = _constant(degrees)
    ratio = square * (1 / (scale**2 * degrees))
    ratio += 1
    return np.asarray(-(degrees + 1) / 2 * sum_of_logs(ratio) + n * (constant - np.log(scale)))


@cache
def _constant(degrees: float) -> float:
    return float(gammaln((degrees + 1) / 2) - gammaln(degrees / 2) - np.log(degrees * np.pi) / 2)


def _draw_weights(rng: np.random.Generator, model: Model, state: State, degrees: Floats) -> None:
    heavy = np.isfinite(degrees)
    if not heavy.any():
        state.weight = None
        return
    own, noise = degrees[heavy], radius_of(model, state, -1)[heavy]
    square = (state.error[:, heavy] / noise) ** 2 * own / (own - 2)
    drawn = rng.standard_gamma(np.broadcast_to((own + 1) / 2, square.shape)) / ((own + square) / 2)
    state.weight = np.ones_like(state.error)
    state.weight[:, heavy] = drawn * own / (own - 2)
