"""Move effects to and fro between terms of which one divides the other: no rating tells such a move."""

from __future__ import annotations

import numpy as np

from simlab.fitting.scales.chain import Model, State, prior_of_constant, spreads
from simlab.fitting.scales.terms import Division
from simlab.types import Floats


def draw_shifts(rng: np.random.Generator, model: Model, state: State) -> None:
    """Draw, for each term and each that divides it, what the parts of an effect lose and the effect gains.

    Without such moves the mean of parts and the effect of the whole follow each other slowly (Liu and Sabatti 2000).
    Where thresholds are sampled they take the part of the constant.
    """
    spread = spreads(model, state)
    for one in model.terms.divisions(model.sharpened):
        ours, theirs = model.terms.rows(one.whole), model.terms.rows(one.part)
        exact = 1 / spread[theirs] ** 2
        pull = one.sums @ (state.unit[theirs] / spread[theirs])
        own = 1 / spread[ours] ** 2
        push = _push_of_thresholds(model, state) if _cut(model, one) else state.unit[ours] / spread[ours]
        whole = own + one.sums @ exact
        shift = (pull - push) / whole + rng.standard_normal(whole.shape) / np.sqrt(whole)
        state.unit[theirs] -= (one.sums.T @ shift) / spread[theirs]
        if _cut(model, one):
            state.thresholds = state.thresholds - shift
            state.latent = state.latent - shift
        else:
            state.unit[ours] += shift / spread[ours]


def _cut(model: Model, one: Division) -> bool:
    return one.whole == 0 and model.n_thresholds > 0


def _push_of_thresholds(model: Model, state: State) -> Floats:
    """Return the slope of the thresholds' log prior when all are lowered together."""
    mean, spread = prior_of_constant(model, state)
    return np.asarray(-mean / spread**2)[None]
