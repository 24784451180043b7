"""Move effects to and fro between terms of which one divides the other: no rating tells such a move."""

from __future__ import annotations

import numpy as np

from simlab.fitting.scales.chain import Model, State, prior_of_constant, radius


def draw_shifts(rng: np.random.Generator, model: Model, state: State) -> None:
    """Draw, for each term and each that divides it, what the parts of an effect lose and the effect gains.

    Without such moves the mean of parts and the effect of the whole follow each other slowly (Liu and Sabatti 2000).
    Where thresholds are sampled they take the part of the constant.
    """
    of_constant = np.full(state.tail.shape, prior_of_constant(model, state)[1])
    spread = np.concatenate([of_constant[None], radius(model, state)])
    rows, square = model.terms.rows, spread**2
    own = 1 / square
    for one in model.terms.divisions(model.sharpened):
        cut = one.whole == 0 and model.n_thresholds > 0
        whole, parts = state.unit[rows(one.whole)], state.unit[rows(one.part)]
        ours, theirs = spread[one.whole], spread[one.part]
        # Lowering all thresholds together has the slope of their log prior.
        push = -prior_of_constant(model, state)[0] / ours**2 if cut else whole / ours
        exact = own[one.whole] + one.n_parts / square[one.part]
        shift = ((one.sums @ parts) / theirs - push) / exact + rng.standard_normal(exact.shape) / np.sqrt(exact)
        part_shift = shift / theirs
        parts -= one.back @ part_shift if one.parent is None else np.take(part_shift, one.parent, axis=0)
        if cut:
            state.thresholds -= shift
            state.latent -= shift
        else:
            whole += shift / ours
