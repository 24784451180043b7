"""Take the steps of a Markov chain that draw each rater's sharpness and the thresholds of an ordinal scale.

Sharpness is the factor by which a rater spreads what all raters see of outputs; `state.sharp` is its logarithm. Both
steps change `state`, the chain's latest draw, in place. The last axis is the table: many are sampled side by side.
"""

from __future__ import annotations

import numpy as np
from scipy.special import log_ndtr

from simlab.fitting.scales.chain import ChainModel, ChainState, apply_effects, effects, group_radius, precision, refresh
from simlab.fitting.scales.spreads import LATTICE_WIDTH, find_rows, half_normal_spread, lattice_step
from simlab.fitting.scales.terms import SHARED
from simlab.types import Bools, Floats, Ints

AIM = 0.4
"""Share of moved thresholds that should be taken."""


def draw_sharpness(rng: np.random.Generator, model: ChainModel, state: ChainState) -> None:
    """Draw raters' sharpness and its spread given all effects; then a factor that sharpness gains and effects lose."""
    square, product = _sharpness_evidence(model, state)
    spread = state.sharp_sd

    def density(log: Floats) -> Floats:
        return np.asarray(_fit(log, square, product) - (log / spread) ** 2 / 2)

    state.sharp = lattice_step(rng, density, state.sharp, LATTICE_WIDTH / np.sqrt(square + 1 / spread**2))
    _draw_spread(rng, model, state, square, product)
    _draw_common(rng, model, state)
    refresh(model, state)


def _sharpness_evidence(model: ChainModel, state: ChainState) -> tuple[Floats, Floats]:
    """Return what the latent values say of each rater's sharpness: sums of squares and products, `[rater, table]`."""
    values, shared = effects(model, state), model.terms.shared[:, None]
    common = apply_effects(model, None, shared * values)
    own = state.latent - apply_effects(model, None, (1 - shared) * values)
    exact = precision(model, state)
    return model.by_rater @ (exact * common**2), model.by_rater @ (exact * common * own)


def _fit(log: Floats, square: Floats, product: Floats) -> Floats:
    # Points of a lattice may lie far out, where the exponential overflows.
    sharpness = np.exp(np.clip(log, -20, 20))
    return np.asarray(product * sharpness - square * sharpness**2 / 2)


def _draw_spread(
    rng: np.random.Generator, model: ChainModel, state: ChainState, square: Floats, product: Floats
) -> None:
    prior = model.priors.sharpness
    # n normal densities give the power -n, which `half_normal_spread` writes as -(power + 1).
    power = np.full(state.sharp_sd.shape, model.n_raters - 1.0)
    squares = (state.sharp**2).sum(0)
    state.sharp_sd = half_normal_spread(rng, state.sharp_sd, power, squares, np.full(power.shape, prior**-2))
    # It is divided by below, so it must not be 0.
    state.sharp_sd = np.maximum(state.sharp_sd, 1e-5 * prior)
    # Drawn once more with standardised sharpness kept: given sharpness itself a small spread hardly moves.
    unit = state.sharp / state.sharp_sd

    def density(spread: Floats) -> Floats:
        return np.asarray(_fit(spread[:, None] * unit, square, product).sum(1) - (spread / prior) ** 2 / 2)

    width = LATTICE_WIDTH / np.sqrt((unit**2 * square).sum(0) + prior**-2)
    signed = lattice_step(rng, density, state.sharp_sd, width)
    # A negative spread is the same law with its units turned: sharpness keeps the sign, the spread loses it.
    state.sharp, state.sharp_sd = signed * unit, np.maximum(np.abs(signed), 1e-5 * prior)


def _draw_common(rng: np.random.Generator, model: ChainModel, state: ChainState) -> None:
    """Draw a factor that all raters' sharpness gains and all that they share loses: no rating tells it."""
    rows = find_rows(model, SHARED)
    squares = (state.sd[rows] ** 2 / model.scale[rows] ** 2).sum(0)

    def density(log: Floats) -> Floats:
        sharp = (((state.sharp + log[:, None]) / state.sharp_sd) ** 2).sum(1)
        # The spreads are multiplied by exp(-log) each, so the Jacobian is exp(-log) to the number of them.
        return np.asarray(-len(rows) * log - np.exp(-2 * log) * squares / 2 - sharp / 2)

    width = LATTICE_WIDTH / np.sqrt(model.n_raters / state.sharp_sd**2 + 2 * len(rows))
    log = lattice_step(rng, density, np.zeros_like(squares), width)
    state.sharp = state.sharp + log
    state.sd[rows] *= np.exp(-log)


def draw_thresholds(rng: np.random.Generator, model: ChainModel, state: ChainState, category: Ints, tune: bool) -> None:
    """Move every second threshold, then the others, whatever the latent values (Cowles 1996).

    `category[rating, table]` are the answers. With `tune` the widths of moves are adapted.
    """
    noise = group_radius(model, state, -1)
    centre = (state.latent - state.error) / noise
    for odd in (0, 1):
        mine = np.arange(model.n_thresholds) % 2 == odd
        if mine.any():
            moved = _move(rng, model, state, (centre, noise, category), mine)
            if tune:
                state.steps[mine] *= np.exp(0.15 * (moved[mine] - AIM))


def _move(
    rng: np.random.Generator, model: ChainModel, state: ChainState, answers: tuple[Floats, Floats, Ints], mine: Bools
) -> Floats:
    centre, noise, category = answers
    shift = np.where(mine[:, None], state.steps * rng.standard_normal(state.steps.shape), 0.0)
    tried = state.thresholds + shift
    gain = _likelihood(tried / noise, centre, category) - _likelihood(state.thresholds / noise, centre, category)
    # A rating's category lies between two thresholds, of which one is moved.
    below = np.where(mine[np.maximum(category - 1, 0)] & (category > 0), category - 1, category)
    table = np.broadcast_to(np.arange(centre.shape[1]), category.shape)
    keep = below < model.n_thresholds
    place = below[keep] * centre.shape[1] + table[keep]
    seen = np.bincount(place, gain[keep], tried.size).reshape(tried.shape)
    total = seen + (state.thresholds**2 - tried**2) / (2 * model.priors.threshold_sd**2)
    padded = np.pad(state.thresholds, ((1, 1), (0, 0)), constant_values=((-np.inf, np.inf), (0, 0)))
    ordered = (tried > padded[:-2]) & (tried < padded[2:])
    taken = mine[:, None] & ordered & (np.log(rng.random(tried.shape)) < np.where(ordered, total, -np.inf))
    state.thresholds = np.where(taken, tried, state.thresholds)
    return np.asarray(taken.astype(float))


def _likelihood(thresholds: Floats, centre: Floats, category: Ints) -> Floats:
    """Return the log probability of each category, in units of the noise; disordered thresholds give -inf."""
    edge = np.full((1, thresholds.shape[1]), np.inf)
    cuts = np.concatenate([-edge, thresholds, edge])
    table = np.arange(thresholds.shape[1])
    low, high = cuts[category, table] - centre, cuts[category + 1, table] - centre
    # In the upper tail probabilities round to 1; mirrored into the lower tail they keep their digits.
    mirrored = low > 0
    low, high = np.where(mirrored, -high, low), np.where(mirrored, -low, high)
    top = log_ndtr(high)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(top + np.log(-np.expm1(np.minimum(log_ndtr(low) - top, 0.0))))
