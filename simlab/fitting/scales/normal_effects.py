"""Draw all effects at once, given latent values and standard deviations."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from simlab.fitting.scales.chain import (
    Model,
    State,
    applied,
    columns,
    factor,
    gathered,
    precision,
    prior_of_constant,
    refresh,
    spreads,
)
from simlab.types import Floats

CLOSE, MOST = 1e-4, 300
WORK = 1e6
"""Operations that may go into a block that speeds conjugate gradients up."""

Map: TypeAlias = Callable[[Floats], Floats]


def draw_effects(rng: np.random.Generator, model: Model, state: State) -> None:
    """Draw all effects from their joint normal law.

    Perturbation optimisation (Papandreou and Yuille 2010): the solution of the normal equations with a right-hand side
    of the right randomness is a draw. Conjugate gradients solve them; effects are in standard deviations, so that what
    hardly spreads costs nothing. The constant is that of `prior_of_constant`; where thresholds are sampled it is taken
    off them.
    """
    by, spread, exact = factor(model, state), spreads(model, state), precision(model, state)
    mean = prior_of_constant(model, state)[0]
    told = exact * (state.latent - mean) + np.sqrt(exact) * rng.standard_normal(state.latent.shape)
    right = spread * gathered(model, by, told) + rng.standard_normal(state.unit.shape)

    def normal_matrix(values: Floats) -> Floats:
        return values + spread * gathered(model, by, exact * applied(model, by, spread * values))

    state.unit = solve(normal_matrix, right, _roughly_inverted(model, by, exact, spread))
    constant = mean + spread[0] * state.unit[0]
    if model.n_thresholds:
        state.thresholds = state.thresholds - constant
        state.latent = state.latent - constant
        state.unit[0] = 0.0
    else:
        state.unit[0] = constant / spread[0]
    refresh(model, state)


def _roughly_inverted(model: Model, by: Floats | None, exact: Floats, spread: Floats) -> Map:
    """Return a map near the inverse of the normal equations' matrix: its diagonal's, and that of a leading block.

    The block holds the terms of the fewest effects, where ratings overlap most; ratings count alike in it.
    """
    squares = np.broadcast_to(exact, (len(model.rater), exact.shape[1]))
    diagonal = 1 + spread**2 * gathered(model, None if by is None else by**2, squares)
    few = model.terms.few(int((WORK / exact.shape[1]) ** (1 / 3)))
    crossed = model.terms.crossed(few)
    root = (spread[few] * np.sqrt(squares.mean(0))).T
    inverse = np.linalg.inv(np.eye(len(few)) + root[:, :, None] * crossed * root[:, None, :])

    def near(values: Floats) -> Floats:
        found = values / diagonal
        found[few] = (inverse @ values[few].T[:, :, None])[:, :, 0].T
        return found

    return near


def solve(matrix: Map, right: Floats, near: Map) -> Floats:
    """Solve one positive definite system per column by conjugate gradients; `near` is close to the inverse."""
    found, left = np.zeros_like(right), right.copy()
    scaled = near(left)
    step, size = scaled.copy(), columns(left, scaled)
    enough = CLOSE**2 * size
    for _ in range(MOST):
        image = matrix(step)
        length = size / np.maximum(columns(step, image), 1e-300)
        found += length * step
        left -= length * image
        scaled = near(left)
        new = columns(left, scaled)
        if (new <= enough).all():
            break
        step *= new / np.maximum(size, 1e-300)
        step += scaled
        size = new
    return found
