"""Draw the spread of the noise, and move standard deviations along what the ratings do not tell."""

from __future__ import annotations

import numpy as np

from simlab.fitting.scales.chain import Model, State, columns, precision, radius_of, squared_errors
from simlab.fitting.scales.lattices import lattice_step
from simlab.types import Floats, Ints

WIDE = 8.0
"""Width of the intervals of lattices, in standard deviations of what is drawn."""


def draw_noise(rng: np.random.Generator, model: Model, state: State) -> None:
    """Draw the spread of the noise in points (a common factor of its parts), given all effects."""
    rows, now = model.noise_rows, radius_of(model, state, -1)
    prior = ((state.sd[rows] / model.scale[rows]) ** 2).sum(0) / now**2
    power = np.full(now.shape, float(len(state.error) - len(rows)))
    state.sd[rows] *= half_normal_spread(rng, now, power, squared_errors(state), prior) / now


def half_normal_spread(rng: np.random.Generator, now: Floats, power: Floats, squares: Floats, prior: Floats) -> Floats:
    """Draw x from the density x^-(power + 1) exp(-squares / (2 x^2) - prior x^2 / 2) in one step."""
    top = (np.sqrt(power**2 + 4 * squares * prior) - power) / (2 * prior)
    top = np.maximum(top, 1e-300)
    width = WIDE / np.sqrt(2 * squares / top + 2 * prior * top + 1e-12)

    def density(log: Floats) -> Floats:
        square = np.exp(2 * log)
        return np.asarray(-power * log - squares / (2 * square) - prior * square / 2)

    return np.exp(lattice_step(rng, density, np.log(now), np.minimum(width, 20.0)))


def draw_shares(rng: np.random.Generator, model: Model, state: State) -> None:
    """Draw how the spread of a term is shared out among its parts, of which only the priors speak."""
    for one, other in model.shared_rows:
        _turn(rng, model, state, one, other)


def _turn(rng: np.random.Generator, model: Model, state: State, one: int, other: int) -> None:
    squares = state.sd[one] ** 2 + state.sd[other] ** 2
    rates = squares[None] / model.scale[[one, other]] ** 2 / 2

    def density(angle: Floats) -> Floats:
        return np.asarray(-rates[0] * np.cos(angle) ** 2 - rates[1] * np.sin(angle) ** 2)

    now = np.arctan2(state.sd[other], state.sd[one])
    angle = lattice_step(rng, density, now, np.full(now.shape, np.pi))
    state.sd[one], state.sd[other] = (np.sqrt(squares) * np.abs(part(angle)) for part in (np.cos, np.sin))


def rescale(model: Model, state: State, grow: Floats) -> None:
    """Multiply everything on the latent scale, but the noise, by one factor per table."""
    state.sd[model.free_rows] *= grow
    state.thresholds = state.thresholds * grow
    state.latent *= grow
    state.unit[0] *= grow
    state.error *= grow


def log_prior_of_scale(model: Model, state: State, log_grow: Floats) -> Floats:
    """Return the log density of everything that `rescale` multiplies, with the volume it takes up, per table."""
    square = np.exp(2 * log_grow)
    rows = model.free_rows
    total = len(rows) * log_grow - square * (state.sd[rows] ** 2 / model.scale[rows] ** 2).sum(0) / 2
    if model.n_thresholds:
        total = total + model.n_thresholds * log_grow
        total = total - square * (state.thresholds**2).sum(0) / (2 * model.priors.threshold_sd**2)
        return np.asarray(total)
    return np.asarray(total + log_grow - square * state.unit[0] ** 2 / 2)


def draw_scale(rng: np.random.Generator, model: Model, state: State) -> None:
    """Draw a common factor of latent values, effects and thresholds of a latent law (Liu and Sabatti 2000)."""
    n = len(state.latent)
    squares = columns(precision(model, state) * state.error, state.error)

    def density(log: Floats) -> Floats:
        return np.asarray(n * log - np.exp(2 * log) * squares / 2 + log_prior_of_scale(model, state, log))

    width = np.full(squares.shape, WIDE / np.sqrt(2 * n))
    rescale(model, state, np.exp(lattice_step(rng, density, np.zeros_like(squares), width)))


def draw_noise_parts(rng: np.random.Generator, model: Model, state: State) -> None:
    """Draw what a latent law's noise holds beside the residual, of which only the priors speak.

    All that is measured in noise keeps its proportion to it.
    """
    for row in model.noise_rows[:-1]:
        before = np.sqrt((state.sd[model.noise_rows] ** 2).sum(0))
        rest = before**2 - state.sd[row] ** 2
        scale = float(model.scale[row, 0])

        def density(own: Floats, rest: Floats = rest, before: Floats = before, scale: float = scale) -> Floats:
            log = np.log((rest + own**2) / before**2) / 2
            return -((own / scale) ** 2) / 2 + log_prior_of_scale(model, state, log)

        state.sd[row] = np.abs(lattice_step(rng, density, state.sd[row], np.full(before.shape, 4 * scale)))
        rescale(model, state, np.sqrt(rest + state.sd[row] ** 2) / before)


def rows_of(model: Model, names: tuple[str, ...]) -> Ints:
    """Return where standard deviations of terms stand among all, by name."""
    return np.array([k for k in model.free_rows if model.terms.names[k] in names], int)
