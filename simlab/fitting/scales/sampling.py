"""Sample the parameters of a law, for many tables of one design side by side (or several chains of one table).

A sweep draws in turn latent values, tails of the residual, all effects at once, and shifts between nested terms. Call
`begin` (warm-up), then `go_on` for `ScaleDraws`; the steps of a sweep change `state`, the latest draw, in place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from scipy.special import gammaln, ndtr, ndtri, stdtrit

from simlab.fitting.scales.chain import (
    ChainModel,
    ChainState,
    LatentBounds,
    apply_effects,
    column_products,
    effects,
    factor,
    gather_values,
    group_radius,
    precision,
    prior_of_constant,
    radius,
    refresh,
    seen_categories,
    spreads,
    start,
    sum_of_logs,
)
from simlab.fitting.scales.own_scales import draw_sharpness, draw_thresholds
from simlab.fitting.scales.spreads import draw_noise, draw_noise_parts, draw_scale, draw_shares, draw_terms
from simlab.fitting.scales.terms import SHARED, SINGLE
from simlab.types import Bools, Floats, Ints

JOINTLY = 10
"""In each so many-th sweep all effects are drawn at once, which unbalanced tables may need."""
FARTHEST = 37.0
"""Beyond so many standard deviations a normal probability is no longer a number."""
CLOSE, MOST = 1e-4, 300
"""Residual at which conjugate gradients end, relative to the right-hand side, and their steps at most."""
WORK = 1e6
"""Operations that may go into a block that speeds conjugate gradients up."""
Map: TypeAlias = Callable[[Floats], Floats]
"""Linear map of columns."""


@dataclass(frozen=True, slots=True)
class ScaleDraws:
    """Draws of a law, the draw first, the table last: standard deviations by name, single effects, the rest.

    `effect[name]` are `[draw, unit, table]`; where two effects are not told apart their sum has been shared out.
    Those of what is rated (documents, segments, outputs) are there where asked for, those in the noise by rating.
    """

    sd: dict[str, Floats]
    effect: dict[str, Floats]
    mean: Floats
    thresholds: Floats
    sharp: Floats
    sharp_sd: Floats
    tail: Ints


@dataclass
class ResumableChains:
    """Chains that can be run on: their model, the bounds of latent values, their state and their generator."""

    model: ChainModel
    seen: LatentBounds
    open: Bools
    state: ChainState
    rng: np.random.Generator
    count: int = 0


def begin(rng: np.random.Generator, model: ChainModel, seen: LatentBounds, warmup: int) -> ResumableChains:
    """Start a chain for each column of `seen`, the bounds of latent values, and run `warmup` sweeps."""
    chains = ResumableChains(model, seen, seen.open, start(rng, model, seen, seen.low.shape[1]), rng)
    for _ in range(warmup):
        sweep(chains, tune=True)
    return chains


def multiply_chains(chains: ResumableChains, per_start: int) -> ResumableChains:
    """Return `per_start` chains, neighbours of each other, for each chain: all go on from its state."""

    def repeat_arrays(record: Any) -> dict[str, Any]:
        arrays = {one.name: getattr(record, one.name) for one in fields(record)}
        return {
            name: value if value is None else np.repeat(value, per_start, axis=-1) for name, value in arrays.items()
        }

    seen = LatentBounds(**repeat_arrays(chains.seen))
    return replace(chains, seen=seen, open=seen.open, state=ChainState(**repeat_arrays(chains.state)))


def go_on(chains: ResumableChains, keep: int, every: int = 1, *, rated: bool = False) -> ScaleDraws:
    """Run chains on and keep `keep` draws, one every `every` sweeps; `rated` keeps documents and outputs, too."""
    kept = []
    for _ in range(keep):
        for _ in range(every):
            sweep(chains, tune=False)
        kept.append(_record(chains, rated))
    return _stack_draws(kept)


def join_draws(parts: list[ScaleDraws]) -> ScaleDraws:
    """Put draws of the same chains one after the other."""
    return _stack_draws(parts, np.concatenate)


def sweep(chains: ResumableChains, tune: bool) -> None:
    """Draw everything once, each given the rest."""
    rng, model, state, seen = chains.rng, chains.model, chains.state, chains.seen
    if model.n_thresholds:
        draw_thresholds(rng, model, state, seen.category, tune)
        seen = seen_categories(seen.category, state.thresholds)
    draw_latents(rng, model, state, seen, chains.open)
    if model.latent:
        draw_scale(rng, model, state)
        draw_noise_parts(rng, model, state)
    if chains.count % JOINTLY == 0:
        draw_effects(rng, model, state)
    chains.count += 1
    draw_terms(rng, model, state, tune)
    if len(model.priors.tails) > 1:
        draw_tails(rng, model, state)
    if not model.latent:
        draw_noise(rng, model, state)
    draw_shares(rng, model, state)
    draw_shifts(rng, model, state)
    if model.sharpened:
        draw_sharpness(rng, model, state)


def _record(chains: ResumableChains, rated: bool) -> ScaleDraws:
    model, state = chains.model, chains.state
    values = effects(model, state)
    return ScaleDraws(
        sd=dict(zip(model.terms.names, state.sd.copy(), strict=True)),
        effect=_joint_effects(chains, values, rated),
        # Where thresholds are sampled they stand for the constant.
        mean=np.asarray(values[0] if not model.n_thresholds else np.zeros_like(values[0])),
        thresholds=state.thresholds.copy(),
        sharp=state.sharp.copy(),
        sharp_sd=state.sharp_sd.copy(),
        tail=state.tail.copy(),
    )


def _joint_effects(chains: ResumableChains, values: Floats, rated: bool) -> dict[str, Floats]:
    """Share sums of effects that stand together out among their parts, at random as their spreads ask for."""
    terms, effects_by_name = chains.model.terms, dict[str, Floats]()
    wanted = {*SINGLE, *SHARED} if rated else {*SINGLE}
    for k, term in enumerate(terms.terms[1:], start=1):
        if wanted & {*term.names}:
            effects_by_name |= _share_out(chains, term.names, values[terms.rows(k)])
    if rated:
        weight = 1.0 if chains.state.weight is None else chains.state.weight
        effects_by_name |= _share_out(chains, (*terms.noise, "residual"), chains.state.error, weight)
    return {name: value for name, value in effects_by_name.items() if name in wanted}


def _share_out(
    chains: ResumableChains, names: Sequence[str], total: Floats, precise: Floats | float = 1.0
) -> dict[str, Floats]:
    """Share `total[unit, table]` out among its parts; `precise` divides the variance of all of them."""
    shares: dict[str, Floats] = {}
    square = dict(zip(chains.model.terms.names, chains.state.sd**2, strict=True))
    for k, name in enumerate(names[:-1]):
        rest = sum((square[other] for other in names[k + 1 :]), np.zeros(total.shape[1]))
        share = square[name] / (square[name] + rest)
        noise = chains.rng.standard_normal(total.shape) * np.sqrt(square[name] * (1 - share) / precise)
        shares[name] = share * total + noise
        total = total - shares[name]
    return {**shares, names[-1]: total}


def _stack_draws(parts: list[ScaleDraws], join: Callable[[list[Any]], Any] = np.stack) -> ScaleDraws:
    return ScaleDraws(
        sd={name: join([one.sd[name] for one in parts]) for name in parts[0].sd},
        effect={name: join([one.effect[name] for one in parts]) for name in parts[0].effect},
        mean=join([one.mean for one in parts]),
        thresholds=join([one.thresholds for one in parts]),
        sharp=join([one.sharp for one in parts]),
        sharp_sd=join([one.sharp_sd for one in parts]),
        tail=join([one.tail for one in parts]),
    )


def draw_truncated_normal(rng: np.random.Generator, low: Floats, high: Floats) -> Floats:
    """Draw standard normal numbers between bounds, element by element, far tails included."""
    # In the upper tail probabilities round to 1; mirrored into the lower tail they keep their digits.
    mirrored = low > 0
    left = np.clip(np.where(mirrored, -high, low), -FARTHEST, FARTHEST)
    right = np.clip(np.where(mirrored, -low, high), -FARTHEST, FARTHEST)
    below = ndtr(left)
    drawn = ndtri(below + rng.random(low.shape) * (ndtr(right) - below))
    # Far out both probabilities may round to one number, whose quantile is infinite.
    drawn = np.clip(np.where(np.isfinite(drawn), drawn, right), left, right)
    return np.asarray(np.where(mirrored, -drawn, drawn))


def draw_latents(
    rng: np.random.Generator, model: ChainModel, state: ChainState, seen: LatentBounds, where: Bools
) -> None:
    """Draw the latent values that are not known exactly; `where[rating, table]` tells which."""
    if not where.any():
        return
    # An ellipsis gives views: where all values are drawn nothing is copied.
    at = ... if where.all() else where
    spread = np.broadcast_to(1 / np.sqrt(precision(model, state)), where.shape)[at]
    centre = (state.latent - state.error)[at]
    noise = spread * draw_truncated_normal(rng, (seen.low[at] - centre) / spread, (seen.high[at] - centre) / spread)
    state.latent[at] = centre + noise
    state.error[at] = noise


def draw_tails(rng: np.random.Generator, model: ChainModel, state: ChainState) -> None:
    """Draw degrees of freedom whatever the weights of ratings, then the weights.

    The spread moves along, so that the middle half of the law stays where it is: else tails would hardly ever change.
    """
    tails = np.asarray(model.priors.tails)
    noise = group_radius(model, state, -1)
    stretch = np.asarray([_stretch(degrees) for degrees in model.priors.tails])
    grown = stretch[:, None] / stretch[state.tail]
    square = state.error**2
    log = np.stack([_density(square, degrees, noise * grown[k]) for k, degrees in enumerate(tails)])
    rows = model.noise_rows
    squares = (state.sd[rows] ** 2 / model.scale[rows] ** 2).sum(0)
    # One factor for all of these spreads: its Jacobian, and their half-normal priors.
    log += len(rows) * np.log(grown) - grown**2 * squares / 2
    log += np.log(np.where(np.arange(len(tails)) == 0, 0.5, 0.5 / max(len(tails) - 1, 1)))[:, None]
    # The largest of log weights plus Gumbel noise is a draw by the weights, which need no sum.
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


def _draw_weights(rng: np.random.Generator, model: ChainModel, state: ChainState, degrees: Floats) -> None:
    heavy = np.isfinite(degrees)
    if not heavy.any():
        state.weight = None
        return
    own, noise = degrees[heavy], group_radius(model, state, -1)[heavy]
    # The scale of Student's t is its standard deviation times sqrt((df - 2) / df).
    square = (state.error[:, heavy] / noise) ** 2 * own / (own - 2)
    # Student's t is a normal law whose precision is a Gamma variable, so that given errors it is one again.
    drawn = rng.standard_gamma(np.broadcast_to((own + 1) / 2, square.shape)) / ((own + square) / 2)
    state.weight = np.ones_like(state.error)
    state.weight[:, heavy] = drawn * own / (own - 2)


def draw_effects(rng: np.random.Generator, model: ChainModel, state: ChainState) -> None:
    """Draw all effects from their joint normal law.

    Perturbation optimisation (Papandreou and Yuille 2010): the solution of the normal equations with a right-hand side
    of the right randomness is a draw. Conjugate gradients solve them; effects are in standard deviations, so that what
    hardly spreads costs nothing. The constant is that of `prior_of_constant`; where thresholds are sampled it is taken
    off them.
    """
    by, spread, exact = factor(model, state), spreads(model, state), precision(model, state)
    mean = prior_of_constant(model, state)[0]
    observed = exact * (state.latent - mean) + np.sqrt(exact) * rng.standard_normal(state.latent.shape)
    right = spread * gather_values(model, by, observed) + rng.standard_normal(state.unit.shape)

    def normal_matrix(values: Floats) -> Floats:
        return values + spread * gather_values(model, by, exact * apply_effects(model, by, spread * values))

    state.unit = solve(normal_matrix, right, _approximate_inverse(model, by, exact, spread))
    constant = mean + spread[0] * state.unit[0]
    if model.n_thresholds:
        state.thresholds = state.thresholds - constant
        state.latent = state.latent - constant
        state.unit[0] = 0.0
    else:
        state.unit[0] = constant / spread[0]
    refresh(model, state)


def _approximate_inverse(model: ChainModel, by: Floats | None, exact: Floats, spread: Floats) -> Map:
    """Return a map near the inverse of the normal equations' matrix: its diagonal's, and that of a leading block.

    The block holds the terms of the fewest effects, where ratings overlap most; ratings count alike in it.
    """
    squares = np.broadcast_to(exact, (len(model.rater), exact.shape[1]))
    diagonal = 1 + spread**2 * gather_values(model, None if by is None else by**2, squares)
    # Inverting a block costs the cube of its size, once for each table.
    few = model.terms.few_effects(int((WORK / exact.shape[1]) ** (1 / 3)))
    crossed = model.terms.count_crossed(few)
    root = (spread[few] * np.sqrt(squares.mean(0))).T
    inverse = np.linalg.inv(np.eye(len(few)) + root[:, :, None] * crossed * root[:, None, :])

    def apply_inverse(values: Floats) -> Floats:
        solution = values / diagonal
        solution[few] = (inverse @ values[few].T[:, :, None])[:, :, 0].T
        return solution

    return apply_inverse


def solve(matrix: Map, right: Floats, near: Map) -> Floats:
    """Solve one positive definite system per column by conjugate gradients; `near` is close to the inverse."""
    solution, left = np.zeros_like(right), right.copy()
    scaled = near(left)
    step, size = scaled.copy(), column_products(left, scaled)
    enough = CLOSE**2 * size
    for _ in range(MOST):
        image = matrix(step)
        # A table that is solved has a step of 0.
        length = size / np.maximum(column_products(step, image), 1e-300)
        solution += length * step
        left -= length * image
        scaled = near(left)
        new = column_products(left, scaled)
        if (new <= enough).all():
            break
        step *= new / np.maximum(size, 1e-300)
        step += scaled
        size = new
    return solution


def draw_shifts(rng: np.random.Generator, model: ChainModel, state: ChainState) -> None:
    """Draw, for each term and each that divides it, what the parts of an effect lose and the effect gains.

    Without such moves the mean of parts and the effect of the whole follow each other slowly (Liu and Sabatti 2000).
    Where thresholds are sampled they take the part of the constant.
    """
    of_constant = np.full(state.tail.shape, prior_of_constant(model, state)[1])
    spread = np.concatenate([of_constant[None], radius(model, state)])
    rows, square = model.terms.rows, spread**2
    own = 1 / square
    for division in model.terms.divisions(model.sharpened):
        cut = division.whole == 0 and model.n_thresholds > 0
        whole, parts = state.unit[rows(division.whole)], state.unit[rows(division.part)]
        ours, theirs = spread[division.whole], spread[division.part]
        # Lowering all thresholds together has the slope of their log prior.
        push = -prior_of_constant(model, state)[0] / ours**2 if cut else whole / ours
        exact = own[division.whole] + division.n_parts / square[division.part]
        shift = ((division.sums @ parts) / theirs - push) / exact + rng.standard_normal(exact.shape) / np.sqrt(exact)
        part_shift = shift / theirs
        parts -= division.back @ part_shift if division.parent is None else np.take(part_shift, division.parent, axis=0)
        if cut:
            state.thresholds -= shift
            state.latent -= shift
        else:
            whole += shift / ours
