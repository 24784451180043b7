"""Define the model of ratings on a scale that chains sample, the state of a chain, and the priors.

`fitting.prepare` makes a `ChainModel` and `LatentBounds` of a table: each score bounds a latent value (exact, censored
at a floor or ceiling, rounded, or in a category). `start` returns a `ChainState`. Many tables of one design are sampled
side by side, on the last axis.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal

import numpy as np
from scipy import sparse
from scipy.special import ndtri

from simlab.fitting.scales.terms import EFFECTS, Terms
from simlab.tables.rating_table import Ratings
from simlab.types import Array, Bools, Floats, Ints
from simlab.world.laws.scales import Scale

NARROWEST = 1e-7
"""A standard deviation is kept above this share of its prior scale, where it makes no difference any more."""
SHARES = {
    "system": 1.0,
    "document": 1.0,
    "segment": 0.7,
    "system_document": 0.5,
    "output": 0.5,
    "leniency": 0.7,
    "rater_system": 0.3,
    "rater_document": 0.5,
    "residual": 1.0,
}
"""Scales of the half-normal priors of standard deviations, as shares of the spread of the pilot's scores."""
PILED = 0.03
"""Share of ratings at the least, or largest, score from which it is taken for a floor, or ceiling."""
COARSE = 0.1
"""Steps from this share of the scores' spread count as rounding that has to be undone."""
MOST_CATEGORIES = 20
"""Most categories of an ordinal scale."""


@dataclass(frozen=True)
class ChainModel:
    """Model that chains sample: a law, the terms of a design, priors, and who rated.

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
        """True if the residual is the unit of measurement."""
        return self.law != "gaussian"

    @property
    def sharpened(self) -> bool:
        """True if raters differ in sharpness; a single rater is taken to be as sharp as raters are."""
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
class ChainState:
    """State of chains: one draw of everything, for each table; the last axis counts tables.

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


def radius(model: ChainModel, state: ChainState) -> Floats:
    """Return standard deviations, of each term after the constant and, last, of the noise: `[term, table]`."""
    return np.sqrt(model.parts @ state.sd**2)


def group_radius(model: ChainModel, state: ChainState, group: int) -> Floats:
    """Return one row of `radius`: -1 for the noise."""
    square = state.sd[model.rows[group]] ** 2
    return np.asarray(np.sqrt(square[0] if len(square) == 1 else square.sum(0)))


def effects(model: ChainModel, state: ChainState) -> Floats:
    """Return all effects on the latent scale, the constant first: `[effect, table]`."""
    return state.unit * spreads(model, state)


def spreads(model: ChainModel, state: ChainState) -> Floats:
    """Return the prior standard deviation of each effect: `[effect, table]`."""
    constant = np.full((1, state.sd.shape[1]), prior_of_constant(model, state)[1])
    return np.concatenate([constant, radius(model, state)[:-1]])[model.terms.term_of]


def prior_of_constant(model: ChainModel, state: ChainState) -> tuple[Array, float]:
    """Return mean and standard deviation of the prior of the constant.

    Where thresholds are sampled a constant would be no more than a shift of all of them, and has their prior.
    """
    if model.n_thresholds:
        return state.thresholds.mean(0), model.priors.threshold_sd / np.sqrt(model.n_thresholds)
    return np.zeros(state.sd.shape[1]), model.priors.mean_sd


def factor(model: ChainModel, state: ChainState) -> Floats | None:
    """Return the sharpness of whoever gave each rating, `[rating, table]`; None: all are 1."""
    return np.exp(state.sharp)[model.rater] if model.sharpened else None


def apply_effects(model: ChainModel, by: Floats | None, values: Floats) -> Floats:
    """Sum the effects that each rating gets: `[rating, table]`."""
    matrix = model.terms.matrix
    if by is None:
        return np.asarray(matrix @ values)
    shared = model.terms.shared[:, None]
    return np.asarray(by * (matrix @ (shared * values)) + matrix @ ((1 - shared) * values))


def gather_values(model: ChainModel, by: Floats | None, values: Floats) -> Floats:
    """Sum values of ratings over the effects that they get, `[effect, table]`: the transpose of `apply_effects`."""
    matrix = model.terms.transposed
    if by is None:
        return np.asarray(matrix @ values)
    shared = model.terms.shared[:, None]
    return np.asarray(shared * (matrix @ (by * values)) + (1 - shared) * (matrix @ values))


def column_products(first: Floats, second: Floats) -> Floats:
    """Return the inner products of the columns of two arrays."""
    # A sum along the long axis of a narrow array is several times slower.
    return np.asarray(np.einsum("ij,ij->j", first, second))


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


def squared_errors(state: ChainState) -> Floats:
    """Return the sum of squared errors, each with the weight of its rating: `[table]`."""
    weighed = state.error if state.weight is None else state.weight * state.error
    return column_products(weighed, state.error)


def precision(model: ChainModel, state: ChainState) -> Floats:
    """Return the precision of the noise of each rating, `[rating or 1, table]`."""
    own = 1 / group_radius(model, state, -1)[None] ** 2
    return own if state.weight is None else state.weight * own


def refresh(model: ChainModel, state: ChainState) -> None:
    """Compute anew `state.error`: the latent values less the effects."""
    state.error = state.latent - apply_effects(model, factor(model, state), effects(model, state))


def start(rng: np.random.Generator, model: ChainModel, seen: LatentBounds, tables: int) -> ChainState:
    """Return a random start of `tables` chains under the priors, side by side; `seen` has bounds of latent values."""
    n = len(model.rater)
    sd = np.abs(rng.standard_normal((len(model.terms.names), tables))) * np.where(model.latent, 0.5, 1.0)
    sd *= np.where(np.isfinite(model.scale), model.scale, 0.0)
    sd[-1] = 1.0 if model.latent else np.maximum(sd[-1], 0.3 * model.scale[-1])
    cuts = np.sort(rng.standard_normal((model.n_thresholds, tables)), axis=0)
    state = ChainState(
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


@dataclass(frozen=True, slots=True)
class Priors:
    """Priors of a law: standard deviations are half-normal of scale `spread[name]`, in points or on the latent scale.

    The mean is normal of standard deviation `mean_sd` around `mean`; thresholds are ordered, each normal of standard
    deviation `threshold_sd`; the logarithms of sharpness have a spread that is half-normal of scale `sharpness`
    (0: all raters are 1). `tails` are the degrees of freedom that a residual may have, the first with probability 1/2.
    """

    mean: float
    mean_sd: float
    spread: Mapping[str, float]
    threshold_sd: float = 2.0
    sharpness: float = 0.0
    tails: tuple[float, ...] = (np.inf,)


def priors_for_points(score: Floats) -> Priors:
    """Scale priors to the spread of a pilot's scores."""
    # Equal scores have no spread, and a prior of scale 0 has no density.
    spread = max(float(np.std(score)), 1e-6)
    tails = (np.inf, 3.0, 4.0, 6.0, 10.0, 20.0)
    return Priors(
        float(np.mean(score)), 3 * spread, {name: share * spread for name, share in SHARES.items()}, 1, 0, tails
    )


def priors_for_normal_scores() -> Priors:
    """Return the priors of normal scores, whose mean is 0 and whose spread is 1."""
    return Priors(0.0, 0.5, SHARES)


def priors_for_latents(sharpness: float) -> Priors:
    """Return the priors of laws whose residual has standard deviation 1."""
    return Priors(0.0, 1.5, {name: SHARES[name] for name in EFFECTS}, sharpness=sharpness)


@dataclass(frozen=True, slots=True)
class LatentBounds:
    """Bounds of latent values, `[rating, table]`: between `low` and `high`, exactly `low` where equal.

    `category[rating, table]` is the category of an ordinal score (0 where there is no such thing).
    """

    low: Floats
    high: Floats
    category: Ints

    @property
    def open(self) -> Bools:
        """Mark where a latent value is not known exactly."""
        return np.asarray(self.low < self.high)


def gaussian_scale(ratings: Ratings) -> Scale:
    """Find floor, ceiling and step of scores: as declared, else where they pile up."""
    score = ratings.score
    low, high = _ends(score) if ratings.scale is None else ratings.scale
    return Scale("gaussian", low, high, _step(score, low), np.inf, np.zeros(0), np.zeros(0))


def _ends(score: Floats) -> tuple[float, float]:
    values, counts = np.unique(score, return_counts=True)
    least = max(3, PILED * len(score))
    # Scores that thin out towards an end have no floor there: the end must hold more than its neighbour.
    low = float(values[0]) if counts[0] >= least and counts[0] > counts[1] else -np.inf
    high = float(values[-1]) if counts[-1] >= least and counts[-1] > counts[-2] else np.inf
    return low, high


def _step(score: Floats, low: float) -> float:
    """Return the largest usual step that all scores are multiples of, from the floor or 0; 0: none."""
    start = low if np.isfinite(low) else 0.0
    for step in (25, 20, 10, 5, 2, 1, 0.5, 0.25, 0.1):
        turns = (score - start) / step
        # Tenths are not exact in binary.
        if np.abs(turns - np.rint(turns)).max() < 1e-6:
            return float(step)
    return 0.0


def seen_points(score: Floats, scale: Scale) -> LatentBounds:
    """Return bounds of latent values for `score[rating, table]` in points; fine steps are taken as exact."""
    half = scale.step / 2
    rounded = half if scale.step >= COARSE * np.std(score) else 0.0
    low, high = score - rounded, score + rounded
    if np.isfinite(scale.low):
        low = np.where(score <= scale.low, -np.inf, low)
        high = np.where(score <= scale.low, scale.low + half, high)
    if np.isfinite(scale.high):
        high = np.where(score >= scale.high, np.inf, high)
        low = np.where(score >= scale.high, scale.high - half, low)
    return LatentBounds(low, high, np.zeros(score.shape, int))


def ranked_scale(ratings: Ratings) -> Scale:
    """Cut a normal latent where the pilot's scores have as large a share below: normal scores (van der Waerden)."""
    values, counts = np.unique(ratings.score, return_counts=True)
    cuts = ndtri(np.cumsum(counts)[:-1] / counts.sum())
    return Scale("ordinal", -np.inf, np.inf, 0.0, np.inf, cuts, values)


def seen_ranks(category: Ints, cuts: Floats) -> LatentBounds:
    """Return bounds for categories, `[rating, table]`, of one scale that all raters use alike."""
    edges = np.concatenate([[-np.inf], cuts, [np.inf]])
    return LatentBounds(edges[category], edges[category + 1], np.zeros_like(category))


def categories(ratings: Ratings) -> Floats:
    """Return the values that an ordinal score can have: those seen, or every whole number of a declared scale."""
    values = np.unique(ratings.score)
    if ratings.scale is None or not np.array_equal(values, np.rint(values)):
        return values
    whole = np.arange(np.ceil(ratings.scale[0]), np.floor(ratings.scale[1]) + 1)
    return whole if len(whole) <= MOST_CATEGORIES and np.isin(values, whole).all() else values


def seen_categories(category: Ints, thresholds: Floats) -> LatentBounds:
    """Return bounds for categories, `[rating, table]`, given `thresholds[cut, table]`."""
    edge = np.full((1, thresholds.shape[1]), np.inf)
    cuts = np.concatenate([-edge, thresholds, edge])
    table = np.arange(thresholds.shape[1])
    return LatentBounds(cuts[category, table], cuts[category + 1, table], category)
