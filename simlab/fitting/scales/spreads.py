"""Draw standard deviations: of the noise, and of each term (effects of one kind) with its effects integrated out.

Functions `draw_...` are steps of a Markov chain that change `state`, the chain's latest draw, in place and return
nothing; the last axis is the table, or chain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from simlab.fitting.scales.chain import (
    NARROWEST,
    ChainModel,
    ChainState,
    column_products,
    factor,
    group_radius,
    precision,
    radius,
    squared_errors,
    sum_of_logs,
)
from simlab.fitting.scales.terms import SHARED, EffectTerm, add_up
from simlab.types import Array, Floats, Ints

LATTICE_WIDTH = 8.0
"""Width of the intervals of lattices, in standard deviations of what is drawn."""
TUNED, HELD_MOVES = 0.05, 9.0
"""Share by which a width follows the last move while it is tuned; how many such moves it holds."""
NEAR = 0.1
"""Below this share of its prior scale a spread is moved evenly, above it by factors."""
FEW = 5
"""Effects of so few ratings each are hard to tell from the noise."""
# A square of 0 has no logarithm: squares are raised to this.
TINY = 1e-24
POINTS = 16
"""Numbers to pick from: a density is worked out at all of them in one go, which costs less than several goes."""


def draw_noise(rng: np.random.Generator, model: ChainModel, state: ChainState) -> None:
    """Draw the spread of the noise in points (a common factor of its parts), given all effects."""
    rows, now = model.noise_rows, group_radius(model, state, -1)
    prior = ((state.sd[rows] / model.scale[rows]) ** 2).sum(0) / now**2
    power = np.full(now.shape, float(len(state.error) - len(rows)))
    state.sd[rows] *= half_normal_spread(rng, now, power, squared_errors(state), prior) / now


def half_normal_spread(rng: np.random.Generator, now: Floats, power: Floats, squares: Floats, prior: Floats) -> Floats:
    """Draw x from the density x^-(power + 1) exp(-squares / (2 x^2) - prior x^2 / 2) in one step."""
    # The mode in log x solves prior x^4 + power x^2 = squares; the curvature there sets the width.
    top = (np.sqrt(power**2 + 4 * squares * prior) - power) / (2 * prior)
    top = np.maximum(top, 1e-300)
    width = LATTICE_WIDTH / np.sqrt(2 * squares / top + 2 * prior * top + 1e-12)

    def density(log: Floats) -> Floats:
        square = np.exp(2 * log)
        return np.asarray(-power * log - squares / (2 * square) - prior * square / 2)

    return np.exp(lattice_step(rng, density, np.log(now), np.minimum(width, 20.0)))


def draw_shares(rng: np.random.Generator, model: ChainModel, state: ChainState) -> None:
    """Draw how the spread of a term is shared out among its parts, of which only the priors speak."""
    for first, second in model.shared_rows:
        _turn(rng, model, state, first, second)


def _turn(rng: np.random.Generator, model: ChainModel, state: ChainState, first: int, second: int) -> None:
    squares = state.sd[first] ** 2 + state.sd[second] ** 2
    rates = squares[None] / model.scale[[first, second]] ** 2 / 2

    def density(angle: Floats) -> Floats:
        return np.asarray(-rates[0] * np.cos(angle) ** 2 - rates[1] * np.sin(angle) ** 2)

    now = np.arctan2(state.sd[second], state.sd[first])
    # The signs of sine and cosine mean nothing, so the angle may run through all quarters.
    angle = lattice_step(rng, density, now, np.full(now.shape, np.pi))
    state.sd[first], state.sd[second] = (np.sqrt(squares) * np.abs(part(angle)) for part in (np.cos, np.sin))


def rescale(model: ChainModel, state: ChainState, grow: Floats) -> None:
    """Multiply everything on the latent scale, but the noise, by one factor per table."""
    state.sd[model.free_rows] *= grow
    state.thresholds = state.thresholds * grow
    state.latent *= grow
    state.unit[0] *= grow
    state.error *= grow


def log_prior_of_scale(model: ChainModel, state: ChainState, log_grow: Floats) -> Floats:
    """Return the log density of everything that `rescale` multiplies, with the volume it takes up, per table."""
    square = np.exp(2 * log_grow)
    rows = model.free_rows
    total = len(rows) * log_grow - square * (state.sd[rows] ** 2 / model.scale[rows] ** 2).sum(0) / 2
    if model.n_thresholds:
        total = total + model.n_thresholds * log_grow
        total = total - square * (state.thresholds**2).sum(0) / (2 * model.priors.threshold_sd**2)
        return np.asarray(total)
    return np.asarray(total + log_grow - square * state.unit[0] ** 2 / 2)


def draw_scale(rng: np.random.Generator, model: ChainModel, state: ChainState) -> None:
    """Draw a common factor of latent values, effects and thresholds of a latent law (Liu and Sabatti 2000)."""
    n = len(state.latent)
    squares = column_products(precision(model, state) * state.error, state.error)

    def density(log: Floats) -> Floats:
        return np.asarray(n * log - np.exp(2 * log) * squares / 2 + log_prior_of_scale(model, state, log))

    # But for the priors the log density has curvature 2 n at its mode.
    width = np.full(squares.shape, LATTICE_WIDTH / np.sqrt(2 * n))
    rescale(model, state, np.exp(lattice_step(rng, density, np.zeros_like(squares), width)))


def draw_noise_parts(rng: np.random.Generator, model: ChainModel, state: ChainState) -> None:
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


def find_rows(model: ChainModel, names: tuple[str, ...]) -> Ints:
    """Return where standard deviations of terms stand among all, by name."""
    return np.array([k for k in model.free_rows if model.terms.names[k] in names], int)


@dataclass(frozen=True, slots=True)
class EffectPrecision:
    """Evidence of the ratings on a term's effects, `[effect, table]`.

    `exact` are precisions, `seen` precisions times the estimates of the effects, `left` the same of what the current
    effects leave.
    """

    exact: Floats
    seen: Floats
    left: Floats


class SpreadEvidence(NamedTuple):
    """Evidence on the spread of a term: how many effects are told as precisely, and what is seen of them.

    `exact[group, table]` is their precision, `number[group, 1, 1]` counts them, `squares[group, table]` adds up the
    squares of what is seen.
    """

    exact: Floats
    number: Floats
    squares: Floats


def draw_terms(rng: np.random.Generator, model: ChainModel, state: ChainState, tune: bool) -> None:
    """Draw spread and effects of one term after the other; in points, some of the noise with those of few ratings."""
    by = factor(model, state)
    spreads = radius(model, state)
    for k, term in enumerate(model.terms.terms[1:], start=1):
        own = by if term.names[0] in SHARED else None
        unit = state.unit[model.terms.rows(k)]
        was = unit * spreads[k - 1]
        precision = _effect_precision(model, state, k, was, own)
        alike = _group_evidence(model, state, k, precision, own)
        _draw_spread(rng, model, state, k, spreads[k - 1], alike, tune)
        less: Array | float = 1.0
        if not model.latent and len(state.error) <= FEW * term.n:
            # The effects are put back into sums over ratings, not into each rating.
            squares = squared_errors(state) + group_radius(model, state, -1) ** 2 * column_products(
                was, precision.left + precision.seen
            )
            less = _trade_with_noise(rng, model, state, k, alike, squares, tune)
        spread = group_radius(model, state, k - 1)
        whole = 1 + spread**2 * less * precision.exact
        unit[:] = spread * less * precision.seen / whole + rng.standard_normal(whole.shape) / np.sqrt(whole)
        state.error -= _effect_by_rating(term, unit * spread - was, own)


def _effect_by_rating(term: EffectTerm, values: Floats, by: Floats | None) -> Floats:
    """Return which of a term's effects each rating gets."""
    effects = np.take(values, term.level, axis=0)
    return effects if by is None else by * effects


def _effect_precision(model: ChainModel, state: ChainState, k: int, was: Floats, by: Floats | None) -> EffectPrecision:
    """Return what ratings tell of the effects of a term that are `was[effect, table]` now, and in no error."""
    terms, exact = model.terms, precision(model, state)
    if by is None and len(exact) == 1:
        square, left = terms.n_ratings(k) * exact, exact * terms.add_up(k, state.error)
    elif by is None:
        square, left = terms.add_up(k, exact), terms.add_up(k, exact * state.error)
    else:
        square, left = terms.add_up(k, by**2 * exact), terms.add_up(k, by * exact * state.error)
    return EffectPrecision(square, left + square * was, left)


def _group_evidence(
    model: ChainModel, state: ChainState, k: int, precision: EffectPrecision, by: Floats | None
) -> SpreadEvidence:
    """Put effects of as many ratings together, where all ratings are as precise; else each stands alone."""
    if by is not None or state.weight is not None:
        return SpreadEvidence(precision.exact, np.ones((1, 1, 1)), precision.seen**2)
    first, number, group = model.terms.group_effects(k)
    return SpreadEvidence(precision.exact[first], number, add_up(group, len(first), precision.seen**2))


def _evidence(alike: SpreadEvidence, square: Floats) -> tuple[Floats, Floats]:
    """Return what ratings say of a term whose effects have variance `square[point, table]`.

    Their log density is `(square * first - second) / 2`, but for a constant.
    """
    whole = alike.exact[:, None] * square
    whole += 1
    alone = alike.number.size == 1
    volume = alike.number[0] * sum_of_logs(whole) if alone else (alike.number * np.log(whole)).sum(0)
    return np.divide(alike.squares[:, None], whole, out=whole).sum(0), volume


def _draw_spread(
    rng: np.random.Generator,
    model: ChainModel,
    state: ChainState,
    k: int,
    now: Floats,
    alike: SpreadEvidence,
    tune: bool,
) -> None:
    rows = model.rows[k - 1]
    scale, rate = model.scale[rows], _rate(model, state, k - 1)
    near = NEAR * scale.min()

    def density(folded: Floats) -> Floats:
        square = np.maximum((near * np.sinh(folded)) ** 2, TINY)
        fit, volume = _evidence(alike, square)
        # A radius of several parts has volume r^(parts - 1).
        log = (len(scale) - 1) * np.log(square) - rate * square + square * fit - volume
        # cosh is the Jacobian of the folded scale.
        return np.asarray(log / 2 + np.log(np.cosh(folded)))

    # The sign of a spread means nothing, so that it is moved through 0.
    was = np.arcsinh(now / near)
    new = np.abs(lattice_step(rng, density, was, state.widths[k - 1]))
    if tune:
        _tune(state.widths[k - 1], new - was)
    state.sd[rows] = np.maximum(state.sd[rows] * (near * np.sinh(new) / now), NARROWEST * scale)


def _rate(model: ChainModel, state: ChainState, group: int) -> Array:
    """Return by how much the log prior of a term's, or the noise's, spread falls with half its square."""
    rows = model.rows[group]
    square = state.sd[rows] ** 2
    return np.asarray((square / model.scale[rows] ** 2).sum(0) / square.sum(0))


def _tune(width: Floats, moved: Floats) -> None:
    """Let the width of lattices follow how far they are moved on."""
    width += TUNED * (HELD_MOVES * np.abs(moved) - width)
    np.maximum(width, 0.001, out=width)


def _trade_with_noise(
    rng: np.random.Generator,
    model: ChainModel,
    state: ChainState,
    k: int,
    alike: SpreadEvidence,
    squares: Floats,
    tune: bool,
) -> Array:
    """Move variance between a term and the noise, the sum of both as it is: often that is all that ratings tell.

    `squares[table]` adds up what the other effects leave of the ratings, squared, by the weights of these. Returns the
    factor of all precisions.
    """
    rows, noise = model.rows[k - 1], model.rows[-1]
    spread, wide = group_radius(model, state, k - 1), group_radius(model, state, -1)
    rate, rate_of_noise = _rate(model, state, k - 1), _rate(model, state, -1)
    total = spread**2 + wide**2
    squares = squares / total
    powers = len(state.sd[rows]) - 1, len(state.sd[noise]) - 1 - len(state.error)

    def density(angle: Floats) -> Floats:
        sine, cosine = np.maximum(np.sin(angle) ** 2, TINY), np.maximum(np.cos(angle) ** 2, TINY)
        less = wide**2 / (total * cosine)
        fit, volume = _evidence(alike, total * sine * less)
        log = total * sine * less**2 * fit - volume - squares / cosine
        log += powers[0] * np.log(sine) + powers[1] * np.log(cosine) - total * (rate * sine + rate_of_noise * cosine)
        return np.asarray(log / 2)

    was = np.arctan2(spread, wide)
    new = lattice_step(rng, density, was, state.turns[k - 1])
    sine, cosine = np.abs(np.sin(new)), np.abs(np.cos(new))
    if tune:
        _tune(state.turns[k - 1], np.arctan2(sine, cosine) - was)
    state.sd[rows] = np.maximum(state.sd[rows] * (np.sqrt(total) * sine / spread), NARROWEST * model.scale[rows])
    state.sd[noise] *= np.sqrt(total) * cosine / wide
    return np.asarray(wide**2 / (total * cosine**2))


def lattice_step(rng: np.random.Generator, density: Callable[[Floats], Floats], at: Floats, width: Floats) -> Floats:
    """Move every number of an array by one step that leaves its density as it is; `density` gives logarithms.

    `at` lies at a random place of a lattice about as long as `width`, which must not depend on it, and one of the
    lattice's points is drawn by their densities: from each point the lattice would have been the same, with the same
    chance, so that the step is a Gibbs step. The lattice's points are the first axis of what `density` is asked about;
    their distance is random, too, since else a number would never leave its lattice.
    """
    apart = width / POINTS * rng.uniform(0.6, 1.4, at.shape)
    first = rng.integers(POINTS, size=at.shape)
    log = density(at + (np.arange(POINTS).reshape(-1, *[1] * at.ndim) - first) * apart)
    picked = np.argmax(log + rng.gumbel(size=log.shape), axis=0)
    return np.asarray(at + (picked - first) * apart)
