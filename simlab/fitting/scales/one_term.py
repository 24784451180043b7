"""Draw the spread of one term whatever its effects, then these effects, given all others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simlab.fitting.scales.chain import NARROWEST, Model, State, columns, factor, precision, radius, squared_errors
from simlab.fitting.scales.slices import slice_step
from simlab.fitting.scales.terms import SHARED
from simlab.types import Floats

TUNED = 0.05
"""Share by which a width follows the last move while it is tuned."""


@dataclass(frozen=True, slots=True)
class Told:
    """Hold what ratings tell of a term's effects, `[effect, table]`: precisions, and precisions times what is seen."""

    exact: Floats
    seen: Floats


def draw_terms(rng: np.random.Generator, model: Model, state: State, tune: bool) -> None:
    """Draw spread and effects of one term after the other; in points, some of the noise with each."""
    by = factor(model, state)
    for k in range(1, len(model.terms.terms)):
        own = by if model.terms.terms[k].names[0] in SHARED else None
        _take_out(model, state, k, own)
        told = _told(model, state, k, own)
        _draw_spread(rng, model, state, k, told, tune)
        if not model.latent:
            told = _trade_with_noise(rng, model, state, k, told)
        _draw_effects(rng, model, state, k, told)
        _take_out(model, state, k, own, sign=-1)


def _rows(model: Model, k: int) -> slice:
    return slice(int(model.terms.starts[k]), int(model.terms.starts[k + 1]))


def _take_out(model: Model, state: State, k: int, by: Floats | None, sign: int = 1) -> None:
    values = (sign * state.unit[_rows(model, k)] * radius(model, state)[k - 1])[model.terms.terms[k].level]
    state.error += values if by is None else by * values


def _told(model: Model, state: State, k: int, by: Floats | None) -> Told:
    sums, exact = model.terms.sums(k), precision(model, state)
    seen = exact * state.error
    square = np.broadcast_to(exact, state.error.shape)
    if by is not None:
        seen, square = by * seen, by**2 * square
    return Told(np.asarray(sums @ square), np.asarray(sums @ seen))


def _log_evidence(told: Told, square: Floats) -> Floats:
    """Return the log density of ratings where a term's effects have variance `square[table]`, but for a constant."""
    whole = 1 + square * told.exact
    fit = columns(told.seen, told.seen / whole)
    return np.asarray((square * fit - np.ones(len(whole)) @ np.log(whole)) / 2)


def _draw_spread(rng: np.random.Generator, model: Model, state: State, k: int, told: Told, tune: bool) -> None:
    rows, parts = model.group == k, len(model.terms.terms[k].names)
    now = radius(model, state)[k - 1]
    rate = ((state.sd[rows] / model.scale[rows]) ** 2).sum(0) / now**2

    def density(spread: Floats) -> Floats:
        positive = np.maximum(spread, 1e-300)
        log = (parts - 1) * np.log(positive) - rate * spread**2 / 2 + _log_evidence(told, spread**2)
        return np.where(spread > 0, log, -np.inf)

    new = slice_step(rng, density, now, state.widths[k - 1])
    if tune:
        state.widths[k - 1] += TUNED * (15 * np.abs(new - now) - state.widths[k - 1])
        state.widths[k - 1] = np.maximum(state.widths[k - 1], 0.01 * model.scale[rows].min())
    state.sd[rows] = np.maximum(state.sd[rows] * new / now, NARROWEST * model.scale[rows])


def _trade_with_noise(rng: np.random.Generator, model: Model, state: State, k: int, told: Told) -> Told:
    """Move variance between a term and the noise, the sum of both as it is: often that is all that ratings tell."""
    rows, noise = model.group == k, model.noise_rows
    parts = np.array([len(model.terms.terms[k].names), len(noise)])
    spread, wide = radius(model, state)[[k - 1, -1]]
    rates = (
        np.stack([((state.sd[one] / model.scale[one]) ** 2).sum(0) for one in (rows, noise)])
        / np.stack([spread, wide]) ** 2
    )
    total = spread**2 + wide**2
    squares, n = squared_errors(state), len(state.error)

    def density(angle: Floats) -> Floats:
        inside = (angle > 0) & (angle < np.pi / 2)
        sine, cosine = np.sin(angle), np.maximum(np.cos(angle), 1e-12)
        less = wide**2 / (total * cosine**2)
        log = _log_evidence(Told(told.exact * less, told.seen * less), total * sine**2)
        log = log - squares / (2 * total * cosine**2) - n * np.log(cosine)
        log = log + (parts[0] - 1) * np.log(np.maximum(sine, 1e-300)) + (parts[1] - 1) * np.log(cosine)
        log = log - total * (rates[0] * sine**2 + rates[1] * cosine**2) / 2
        return np.where(inside, log, -np.inf)

    angle = slice_step(rng, density, np.arctan2(spread, wide), np.full(wide.shape, np.pi / 2))
    less = wide**2 / (total * np.cos(angle) ** 2)
    state.sd[rows] = np.maximum(state.sd[rows] * np.sqrt(total) * np.sin(angle) / spread, NARROWEST * model.scale[rows])
    state.sd[noise] *= np.sqrt(total) * np.cos(angle) / wide
    return Told(told.exact * less, told.seen * less)


def _draw_effects(rng: np.random.Generator, model: Model, state: State, k: int, told: Told) -> None:
    """Draw effects, in units of their spread, each from its normal law."""
    spread = radius(model, state)[k - 1]
    whole = 1 + spread**2 * told.exact
    drawn = rng.standard_normal(whole.shape)
    state.unit[_rows(model, k)] = spread * told.seen / whole + drawn / np.sqrt(whole)
