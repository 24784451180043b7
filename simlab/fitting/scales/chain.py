"""Hold what a chain of draws is about, and where it stands; many tables of one design are sampled side by side."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal

import numpy as np
from scipy import sparse

from simlab.fitting.scales.observing import Seen
from simlab.fitting.scales.priors import Priors
from simlab.fitting.scales.terms import Terms
from simlab.types import Array, Floats, Ints

NARROWEST = 1e-7
"""A standard deviation is kept above this share of its prior scale, where it makes no difference any more."""


@dataclass(frozen=True)
class Model:
    """Say what is sampled: a law, the terms of a design, priors, and who rated.

    `rater[rating]` is who rated, of `n_raters`; `n_thresholds` counts the cuts between categories that are sampled.
    """

    law: Literal["gaussian", "ordinal", "binary"]
    terms: Terms
    priors: Priors
    rater: Ints
    n_raters: int
    n_thresholds: int = 0

    @property
    def latent(self) -> bool:
        """Tell whether the residual is the unit of measurement."""
        return self.law != "gaussian"

    @property
    def sharpened(self) -> bool:
        """Tell whether raters differ in sharpness; a single rater is taken to be as sharp as raters are."""
        return self.priors.sharpness > 0 and self.n_raters > 1

    @cached_property
    def scale(self) -> Floats:
        """Return the scales of the priors of standard deviations, `[name, 1]`; a latent law's residual has none."""
        known = dict(self.priors.spread)
        return np.array([known.get(name, np.inf) for name in self.terms.names])[:, None]

    @cached_property
    def group(self) -> Ints:
        """Return the term of each standard deviation, in the order of the names; the noise comes last."""
        sizes = [len(term.names) for term in self.terms.terms[1:]]
        return np.repeat(np.arange(1, len(sizes) + 2), [*sizes, len(self.terms.noise) + 1])

    @cached_property
    def parts(self) -> Floats:
        """Return 1 where a standard deviation is part of a term, or of the noise: `[term, name]`."""
        return np.asarray((np.arange(1, len(self.terms.terms) + 1)[:, None] == self.group) * 1.0)

    @cached_property
    def by_rater(self) -> sparse.csr_matrix:
        """Return the matrix that sums values of ratings by rater: `[rater, rating]`."""
        n = len(self.rater)
        return sparse.csr_matrix((np.ones(n), (self.rater, np.arange(n))), shape=(self.n_raters, n))

    @cached_property
    def rows(self) -> list[slice]:
        """Return which standard deviations are parts of each term; the noise comes last."""
        ends = np.cumsum(np.bincount(self.group)[1:]).tolist()
        return [slice(start, end) for start, end in zip([0, *ends], ends, strict=False)]

    @cached_property
    def shared_rows(self) -> list[tuple[int, int]]:
        """Return neighbours among standard deviations that are parts of one term, or of the noise in points."""
        groups = self.rows[:-1] if self.latent else self.rows
        return [pair for rows in groups for pair in pairwise(range(rows.start, rows.stop))]

    @cached_property
    def noise_rows(self) -> Ints:
        """Return which standard deviations are parts of the noise."""
        return np.flatnonzero(self.group == len(self.terms.terms))

    @cached_property
    def free_rows(self) -> Ints:
        """Return which standard deviations belong to terms."""
        return np.flatnonzero(self.group < len(self.terms.terms))


@dataclass
class State:
    """Hold one draw of everything, for each table: the last axis counts tables.

    `latent[rating]` is what the rater thought, `unit[effect]` the effects in standard deviations of their terms,
    `sd[name]` the standard deviations, `weight[rating]` the factor of a rating's precision by a heavy tail (None: all
    are 1), `tail` which of the prior's tails holds, `sharp[rater]` the logarithm of sharpness, `sharp_sd` its spread.
    `error` is what the effects leave of the latent values; `steps`, `widths` and `turns` say how far thresholds,
    spreads of terms, and shares of a term and the noise, are moved.
    """

    latent: Floats
    unit: Floats
    sd: Floats
    weight: Floats | None
    tail: Ints
    sharp: Floats
    sharp_sd: Floats
    thresholds: Floats
    error: Floats
    steps: Floats
    widths: Floats
    turns: Floats


def radius(model: Model, state: State) -> Floats:
    """Return the standard deviation of each term after the constant, and that of the noise: `[term, table]`."""
    return np.sqrt(model.parts @ state.sd**2)


def radius_of(model: Model, state: State, group: int) -> Floats:
    """Return one row of `radius`: -1 for the noise."""
    square = state.sd[model.rows[group]] ** 2
    return np.asarray(np.sqrt(square[0] if len(square) == 1 else square.sum(0)))


def effects(model: Model, state: State) -> Floats:
    """Return all effects on the latent scale, the constant first: `[effect, table]`."""
    return state.unit * spreads(model, state)


def spreads(model: Model, state: State) -> Floats:
    """Return the prior standard deviation of each effect: `[effect, table]`."""
    constant = np.full((1, state.sd.shape[1]), prior_of_constant(model, state)[1])
    return np.concatenate([constant, radius(model, state)[:-1]])[model.terms.term_of]


def prior_of_constant(model: Model, state: State) -> tuple[Array, float]:
    """Return mean and standard deviation of the prior of the constant.

    Where thresholds are sampled a constant would be no more than a shift of all of them, and has their prior.
    """
    if model.n_thresholds:
        return state.thresholds.mean(0), model.priors.threshold_sd / np.sqrt(model.n_thresholds)
    return np.zeros(state.sd.shape[1]), model.priors.mean_sd


def factor(model: Model, state: State) -> Floats | None:
    """Return the sharpness of whoever gave each rating, `[rating, table]`; None: all are 1."""
    return np.exp(state.sharp)[model.rater] if model.sharpened else None


def applied(model: Model, by: Floats | None, values: Floats) -> Floats:
    """Sum the effects that each rating gets: `[rating, table]`."""
    matrix = model.terms.matrix
    if by is None:
        return np.asarray(matrix @ values)
    shared = model.terms.shared[:, None]
    return np.asarray(by * (matrix @ (shared * values)) + matrix @ ((1 - shared) * values))


def gathered(model: Model, by: Floats | None, values: Floats) -> Floats:
    """Sum values of ratings over the effects that they get, `[effect, table]`: the transpose of `applied`."""
    matrix = model.terms.transposed
    if by is None:
        return np.asarray(matrix @ values)
    shared = model.terms.shared[:, None]
    return np.asarray(shared * (matrix @ (by * values)) + (1 - shared) * (matrix @ values))


def columns(one: Floats, other: Floats) -> Floats:
    """Return the inner products of the columns of two arrays."""
    # A sum along the long axis of a narrow array is several times slower.
    return np.asarray(np.einsum("ij,ij->j", one, other))


def sum_of_logs(values: Floats) -> Floats:
    """Return the sum of logarithms of numbers from 1 on along the first axis."""
    # A logarithm costs as much as ten products; no eight numbers here overflow.
    product, whole = values, len(values)
    rest = np.zeros(values.shape[1:])
    for _ in range(3):
        half = whole // 2
        rest = rest + np.log(product[2 * half :]).sum(0)
        product, whole = product[:half] * product[half : 2 * half], half
    return np.asarray(np.log(product).sum(0) + rest)


def squared_errors(state: State) -> Floats:
    """Return the sum of squared errors, each with the weight of its rating: `[table]`."""
    weighed = state.error if state.weight is None else state.weight * state.error
    return columns(weighed, state.error)


def precision(model: Model, state: State) -> Floats:
    """Return the precision of the noise of each rating, `[rating or 1, table]`."""
    own = 1 / radius_of(model, state, -1)[None] ** 2
    return own if state.weight is None else state.weight * own


def refresh(model: Model, state: State) -> None:
    """Work out anew what the effects leave of the latent values."""
    state.error = state.latent - applied(model, factor(model, state), effects(model, state))


def start(rng: np.random.Generator, model: Model, seen: Seen, tables: int) -> State:
    """Start somewhere under the priors."""
    n = len(model.rater)
    sd = np.abs(rng.standard_normal((len(model.terms.names), tables))) * np.where(model.latent, 0.5, 1.0)
    sd *= np.where(np.isfinite(model.scale), model.scale, 0.0)
    sd[-1] = 1.0 if model.latent else np.maximum(sd[-1], 0.3 * model.scale[-1])
    cuts = np.sort(rng.standard_normal((model.n_thresholds, tables)), axis=0)
    state = State(
        latent=np.zeros((n, tables)),
        unit=np.zeros((int(model.terms.starts[-1]), tables)),
        sd=sd + 1e-3 * np.where(np.isfinite(model.scale), model.scale, 0.0),
        weight=None,
        tail=np.zeros(tables, int),
        sharp=np.zeros((model.n_raters, tables)),
        sharp_sd=np.full(tables, max(model.priors.sharpness, 1e-3)) * rng.uniform(0.2, 1.0, tables),
        thresholds=cuts,
        error=np.zeros((n, tables)),
        steps=np.full(cuts.shape, 0.2),
        widths=np.ones((len(model.terms.terms) - 1, tables)),
        turns=np.full((len(model.terms.terms) - 1, tables), np.pi / 2),
    )
    state.latent = np.where(seen.open, 0.0, np.where(np.isfinite(seen.low), seen.low, 0.0))
    refresh(model, state)
    return state
