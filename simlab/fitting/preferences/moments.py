"""Fit a world to votes by moments, fast: strengths, ties, spreads of raters' tastes and of outputs.

Call `fit_world` on votes and their fitted strengths; the `VoteWorld` that it returns draws other votes.

A vote is a comparison: +1, 0 (a tie) or -1. Votes of one rater on the same systems resemble each other by the rater's
taste, votes on the same outputs by the outputs' worth: products of residuals from the strengths give both variances. A
chain (`fitting.fit_pilot`) is more exact, and takes seconds to minutes; this serves to carry a design out again.
Source: Davidson 1970; products of residuals as in Cameron, Gelbach and Miller 2011.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from simlab.analysis.preferences.places import known_orders
from simlab.analysis.preferences.strengths import Strengths, distances, probabilities
from simlab.analysis.preferences.votes import Votes, cells, own_number
from simlab.types import Floats, Ints

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

ATTENUATION = 0.346
"""A logistic curve averaged over a normal shift of variance t is one that is flatter by 1 / sqrt(1 + .346 t)."""

# Forty halvings narrow 16 logits to 1e-11.
_NODES, _HALVINGS = 15, 40

_FARTHEST = 8.0
"""Logits that a place is worth at most."""


@dataclass(frozen=True, slots=True)
class VoteWorld:
    """World of votes in logits: `strength[system]`, `log_ties`, spreads of raters' tastes and of outputs.

    `taste[rater, system]` are the tastes of the table's own raters, `output[item, system]` the worth of its own outputs
    beyond their systems; None where they are drawn anew. `first` is the advantage of the place shown first.
    """

    strength: Floats
    log_ties: float
    taste_sd: float
    output_sd: float
    taste: Floats | None = None
    output: Floats | None = None
    first: float = 0.0

    def equal_systems(self) -> VoteWorld:
        """Return the same world with systems that are equal."""
        return replace(self, strength=np.zeros_like(self.strength))

    def vote(self, rng: np.random.Generator, votes: Votes) -> Ints:
        """Draw votes in the same places, `[vote]`: +1, 0, -1. Raters and outputs are new where the world holds none."""
        first, second = (one[votes.pair] for one in np.triu_indices(votes.n_systems, 1))
        d = self.strength[first] - self.strength[second]
        d = d if votes.place is None else d + self.first * votes.place
        for of, own, sd in (
            (own_number(votes.rater), self.taste, self.taste_sd),
            (own_number(votes.item), self.output, self.output_sd),
        ):
            if own is None and not sd:
                continue
            shift = sd * rng.standard_normal((int(of.max()) + 1, votes.n_systems)) if own is None else own
            d = d + shift[of, first] - shift[of, second]
        chance = probabilities(d, self.log_ties)
        u = rng.random(len(d))
        return np.asarray(1 - (u > chance[:, 0]).astype(np.int64) - (u > chance[:, 0] + chance[:, 1]))


def fit_world(votes: Votes, fitted: Strengths) -> VoteWorld:
    """Fit a world to votes whose strengths are known.

    Strengths are those of raters and outputs at large: they are drawn apart by as much as averaging over both flattens.
    """
    taste, output = _spreads(votes, fitted)
    # A difference holds two tastes and two outputs, so their variances count twice.
    shift = 2 * (taste**2 + output**2)
    strength = fitted.value * np.sqrt(1 + ATTENUATION * shift)
    world = VoteWorld(strength, _ties(votes, strength, fitted.log_ties, shift), taste, output)
    return replace(world, first=_first_place(votes, fitted))


def _first_place(votes: Votes, fitted: Strengths) -> float:
    """Find what the first place is worth in logits, given strengths: wins of the first place are as many as expected.

    Nothing where pairs are in one order alone, where it is not told from the strengths.
    """
    if votes.place is None or known_orders(votes).one_way[votes.pair].all():
        return 0.0
    d = distances(fitted.value)[votes.pair]
    won = float((votes.place * votes.value).sum())
    low, high = -_FARTHEST, _FARTHEST
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        chance = probabilities(d + middle * votes.place, fitted.log_ties)
        expected = float((votes.place * (chance[:, 0] - chance[:, 2])).sum())
        low, high = (middle, high) if expected < won else (low, middle)
    return (low + high) / 2 if votes.place.any() else 0.0


def own_effects(rng: np.random.Generator, votes: Votes, of: Ints, sd: float, fitted: Strengths) -> Floats:
    """Draw the tastes of the table's own raters, or the worth of its outputs, given votes: `[of, system]`.

    `of[vote]` numbers raters, or items; `sd` is the spread of their effects. They are normal around one Newton
    step from strengths alone.
    """
    n = votes.n_systems
    chance = probabilities(distances(fitted.value), fitted.log_ties)
    net = chance[:, 0] - chance[:, 2]
    # Davidson's law has half the distance in its exponents, so its score is half of the vote less what is expected.
    score = (votes.value - net[votes.pair]) / 2
    information = ((chance[:, 0] + chance[:, 2] - net**2) / 4)[votes.pair]
    first, second = (one[votes.pair] for one in np.triu_indices(n, 1))
    slope = np.zeros((int(of.max()) + 1, n))
    np.add.at(slope, (of, first), score)
    np.add.at(slope, (of, second), -score)
    curve = np.zeros((len(slope), n, n))
    for i, j, sign in ((first, first, 1), (second, second, 1), (first, second, -1), (second, first, -1)):
        np.add.at(curve, (of, i, j), sign * information)
    # The prior's precision makes the matrix invertible where a rater met few systems.
    curve += np.eye(n) / sd**2
    covariance = np.linalg.inv(curve)
    mean = np.einsum("rij,rj->ri", covariance, slope)
    noise = rng.standard_normal(slope.shape)
    return np.asarray(mean + np.einsum("rij,rj->ri", np.linalg.cholesky(covariance), noise))


def _spreads(votes: Votes, fitted: Strengths) -> tuple[float, float]:
    """Return the spreads of tastes and of outputs, in logits; 0 where votes do not repeat a rater, or an item."""
    chance = probabilities(distances(fitted.value), fitted.log_ties)
    net = chance[:, 0] - chance[:, 2]
    slope = ((chance[:, 0] + chance[:, 2] - net**2) / 2)[votes.pair]
    residual = votes.value - net[votes.pair]
    both = _products(votes, cells(votes), residual, slope)
    spreads = []
    for of in (votes.rater, votes.item):
        named = own_number(of)
        above, below = (x - y for x, y in zip(_products(votes, named, residual, slope), both, strict=True))
        spreads.append(float(np.sqrt(max(above / below, 0.0))) if below > 1e-9 else 0.0)
    return spreads[0], spreads[1]


def _products(votes: Votes, cluster: Ints, residual: Floats, slope: Floats) -> tuple[float, float]:
    """Add up products of residuals within clusters, weighted by what effects of systems let expect of them.

    Residuals of two votes share `s^2 b b' a'a`, b the slopes and a = e_first - e_second; also return the sum of squares
    of these factors.
    """
    n = votes.n_systems
    first, second = (one[votes.pair] for one in np.triu_indices(n, 1))
    by_system = _sum(cluster, first, residual * slope, n) - _sum(cluster, second, residual * slope, n)
    # Products of a vote with itself hold its noise and are taken out; a'a is 2 there, and 4 when squared.
    above = float(by_system.multiply(by_system).sum()) - 2 * float((residual**2 * slope**2).sum())
    square = slope**2
    diagonal = _sum(cluster, first, square, n) + _sum(cluster, second, square, n)
    off = _sum(cluster, votes.pair, square, votes.n_pairs)
    below = float(diagonal.multiply(diagonal).sum()) + 2 * float(off.multiply(off).sum())
    return above, below - 4 * float((slope**4).sum())


def _sum(cluster: Ints, column: Ints, values: Floats, n_columns: int) -> csr_matrix[Any]:
    from scipy.sparse import csr_matrix

    return csr_matrix((values, (cluster, column)), shape=(int(cluster.max(initial=-1)) + 1, n_columns))


def _ties(votes: Votes, strength: Floats, log_ties: float, shift: float) -> float:
    """Find the logarithm of ties at which as many votes are ties as in the table, shifts averaged over."""
    wanted = float((votes.value == 0).mean())
    if not wanted or not shift:
        return log_ties
    node, weight = np.polynomial.hermite_e.hermegauss(_NODES)
    share = np.bincount(votes.pair, minlength=votes.n_pairs) / len(votes.pair)
    d = distances(strength)[:, None] + np.sqrt(shift) * node
    low, high = log_ties - 3.0, log_ties + 3.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        tie = share @ (probabilities(d, middle)[..., 1] @ weight) / weight.sum()
        low, high = (middle, high) if tie < wanted else (low, middle)
    return (low + high) / 2
