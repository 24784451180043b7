"""Draw the spread of one term whatever its effects, then these effects, given all others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from simlab.fitting.scales.chain import (
    NARROWEST,
    Model,
    State,
    columns,
    factor,
    precision,
    radius,
    radius_of,
    squared_errors,
    sum_of_logs,
)
from simlab.fitting.scales.lattices import lattice_step
from simlab.fitting.scales.terms import SHARED, Term, add_up
from simlab.types import Array, Floats

TUNED, WIDE = 0.05, 9.0
"""Share by which a width follows the last move while it is tuned; how many such moves it holds."""

NEAR = 0.1
"""Below this share of its prior scale a spread is moved evenly, above it by factors."""

FEW = 5
"""Effects of so few ratings each are hard to tell from the noise."""

TINY = 1e-24


@dataclass(frozen=True, slots=True)
class Told:
    """Hold what ratings tell of a term's effects, `[effect, table]`: precisions, and precisions times what is seen.

    `left` is what they tell beside the effects as they are.
    """

    exact: Floats
    seen: Floats
    left: Floats


class Alike(NamedTuple):
    """Hold what the spread of a term hangs on: how many effects are told as precisely, and what is seen of them.

    `exact[group, table]` is their precision, `number[group, 1, 1]` counts them, `squares[group, table]` adds up the
    squares of what is seen.
    """

    exact: Floats
    number: Floats
    squares: Floats


def draw_terms(rng: np.random.Generator, model: Model, state: State, tune: bool) -> None:
    """Draw spread and effects of one term after the other; in points, some of the noise with those of few ratings."""
    by = factor(model, state)
    spreads = radius(model, state)
    for k, term in enumerate(model.terms.terms[1:], start=1):
        own = by if term.names[0] in SHARED else None
        unit = state.unit[model.terms.rows(k)]
        was = unit * spreads[k - 1]
        told = _told(model, state, k, was, own)
        alike = _alike(model, state, k, told, own)
        _draw_spread(rng, model, state, k, spreads[k - 1], alike, tune)
        less: Array | float = 1.0
        if not model.latent and len(state.error) <= FEW * term.n:
            # The effects are put back into sums over ratings, not into each rating.
            squares = squared_errors(state) + radius_of(model, state, -1) ** 2 * columns(was, told.left + told.seen)
            less = _trade_with_noise(rng, model, state, k, alike, squares, tune)
        spread = radius_of(model, state, k - 1)
        whole = 1 + spread**2 * less * told.exact
        unit[:] = spread * less * told.seen / whole + rng.standard_normal(whole.shape) / np.sqrt(whole)
        state.error -= _given(term, unit * spread - was, own)


def _given(term: Term, values: Floats, by: Floats | None) -> Floats:
    """Return which of a term's effects each rating gets."""
    found = np.take(values, term.level, axis=0)
    return found if by is None else by * found


def _told(model: Model, state: State, k: int, was: Floats, by: Floats | None) -> Told:
    """Return what ratings tell of the effects of a term that are `was[effect, table]` now, and in no error."""
    terms, exact = model.terms, precision(model, state)
    if by is None and len(exact) == 1:
        square, left = terms.n_ratings(k) * exact, exact * terms.add_up(k, state.error)
    elif by is None:
        square, left = terms.add_up(k, exact), terms.add_up(k, exact * state.error)
    else:
        square, left = terms.add_up(k, by**2 * exact), terms.add_up(k, by * exact * state.error)
    return Told(square, left + square * was, left)


def _alike(model: Model, state: State, k: int, told: Told, by: Floats | None) -> Alike:
    """Put effects of as many ratings together, where all ratings are as precise; else each stands alone."""
    if by is not None or state.weight is not None:
        return Alike(told.exact, np.ones((1, 1, 1)), told.seen**2)
    first, number, group = model.terms.alike(k)
    return Alike(told.exact[first], number, add_up(group, len(first), told.seen**2))


def _evidence(alike: Alike, square: Floats) -> tuple[Floats, Floats]:
    """Return what ratings say of a term whose effects have variance `square[point, table]`.

    Their log density is `(square * first - second) / 2`, but for a constant.
    """
    whole = alike.exact[:, None] * square
    whole += 1
    alone = alike.number.size == 1
    volume = alike.number[0] * sum_of_logs(whole) if alone else (alike.number * np.log(whole)).sum(0)
    return np.divide(alike.squares[:, None], whole, out=whole).sum(0), volume


def _draw_spread(
    rng: np.random.Generator, model: Model, state: State, k: int, now: Floats, alike: Alike, tune: bool
) -> None:
    rows = model.rows[k - 1]
    scale, rate = model.scale[rows], _rate(model, state, k - 1)
    near = NEAR * scale.min()

    def density(folded: Floats) -> Floats:
        square = np.maximum((near * np.sinh(folded)) ** 2, TINY)
        fit, volume = _evidence(alike, square)
        log = (len(scale) - 1) * np.log(square) - rate * square + square * fit - volume
        return np.asarray(log / 2 + np.log(np.cosh(folded)))

    # The sign of a spread means nothing, so that it is moved through 0.
    was = np.arcsinh(now / near)
    new = np.abs(lattice_step(rng, density, was, state.widths[k - 1]))
    if tune:
        _tune(state.widths[k - 1], new - was)
    state.sd[rows] = np.maximum(state.sd[rows] * (near * np.sinh(new) / now), NARROWEST * scale)


def _rate(model: Model, state: State, group: int) -> Array:
    """Return by how much the log prior of a term's, or the noise's, spread falls with half its square."""
    rows = model.rows[group]
    square = state.sd[rows] ** 2
    return np.asarray((square / model.scale[rows] ** 2).sum(0) / square.sum(0))


def _tune(width: Floats, moved: Floats) -> None:
    """Let the width of lattices follow how far they are moved on."""
    width += TUNED * (WIDE * np.abs(moved) - width)
    np.maximum(width, 0.001, out=width)


def _trade_with_noise(
    rng: np.random.Generator, model: Model, state: State, k: int, alike: Alike, squares: Floats, tune: bool
) -> Array:
    """Move variance between a term and the noise, the sum of both as it is: often that is all that ratings tell.

    `squares[table]` adds up what the other effects leave of the ratings, squared, by the weights of these. Returns the
    factor of all precisions.
    """
    rows, noise = model.rows[k - 1], model.rows[-1]
    spread, wide = radius_of(model, state, k - 1), radius_of(model, state, -1)
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
