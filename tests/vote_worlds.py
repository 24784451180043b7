"""Make votes whose truth is known: voters with tastes and unequal loads, items whose outputs differ, ties."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simlab.analysis.multiplicity import FlipFamily
from simlab.analysis.preferences.cluster_flips import Pooling, flip_leads, measure_lead, studentise_lead, sum_clusters
from simlab.analysis.preferences.strengths import probabilities
from simlab.analysis.preferences.votes import Votes
from simlab.types import Floats, Ints


@dataclass(frozen=True)
class World:
    """Say how votes come about: each of a random rater (by load) on a random item, of a random pair.

    As many raters as votes: each has one, on an item of its own.
    """

    strength: tuple[float, ...]
    n_votes: int
    n_raters: int
    n_items: int
    taste_sd: float = 0.0
    output_sd: float = 0.0
    tie_odds: float = 0.5
    load_sd: float = 0.0
    skew: bool = False
    given_raters: bool = False
    pair_sd: float = 0.0


def draw(rng: np.random.Generator, world: World) -> Votes:
    """Draw the votes of a study, in the order in which they come."""
    strength = np.array(world.strength)
    n = len(strength)
    first, second = np.triu_indices(n, 1)
    often = np.exp(world.pair_sd * rng.standard_normal(len(first)))
    pair = rng.choice(len(first), world.n_votes, p=often / often.sum())
    load = np.exp(world.load_sd * rng.standard_normal(world.n_raters))
    rater = rng.choice(world.n_raters, world.n_votes, p=load / load.sum())
    item = rng.integers(world.n_items, size=world.n_votes)
    if world.n_raters == world.n_votes:
        rater, item = np.arange(world.n_votes), rng.permutation(world.n_votes)
    taste = _effects(rng, (world.n_raters, n), world.taste_sd, world.skew)
    if world.given_raters:
        taste -= taste.mean(0)
    output = _effects(rng, (world.n_items, n), world.output_sd, world.skew)
    i, j = first[pair], second[pair]
    d = strength[i] - strength[j] + taste[rater, i] - taste[rater, j] + output[item, i] - output[item, j]
    chance = probabilities(d, float(np.log(world.tie_odds)) if world.tie_odds else -20.0)
    u = rng.random(world.n_votes)
    outcome = (u > chance[:, 0]).astype(np.int64) + (u > chance[:, 0] + chance[:, 1])
    return Votes(pair, 1 - outcome, rater, item, n)


def true_differences(world: World, n: int = 400_000) -> Floats:
    """Return p> - p< of each pair over raters and items at large, by simulation; equal systems are exactly so."""
    rng = np.random.default_rng(0)
    strength = np.array(world.strength)
    first, second = np.triu_indices(len(strength), 1)
    shift = np.zeros(n)
    for sd in (world.taste_sd * np.sqrt(1 - world.given_raters / world.n_raters), world.output_sd):
        effect = _effects(rng, (n, 2), sd, world.skew)
        shift += effect[:, 0] - effect[:, 1]
    log_ties = np.log(world.tie_odds) if world.tie_odds else -20.0
    found = []
    for d in strength[first] - strength[second]:
        chance = probabilities(d + shift, float(log_ties))
        found.append(float((chance[:, 0] - chance[:, 2]).mean()) if d else 0.0)
    return np.array(found)


def _effects(rng: np.random.Generator, shape: tuple[int, ...], sd: float, skew: bool) -> Floats:
    if not sd:
        return np.zeros(shape)
    if skew:
        return sd * (rng.exponential(size=shape) - 1)
    return sd * rng.standard_normal(shape)


def flips_of_studies(lead: Ints, votes: int, patterns: int = 1999, at_once: int = 50) -> Floats:
    """Return the p-values of studies of two systems by flips of voters with so many votes each, `lead[study, voter]`.

    As `conclude` has them, many studies at a time: each is alone, so that no other lends its error anything.
    """
    from scipy.sparse import csr_matrix

    found = []
    for start in range(0, len(lead), at_once):
        some = lead[start : start + at_once].T.astype(float)
        sums = [sum_clusters(csr_matrix(some), csr_matrix(np.full(some.shape, float(votes))))]
        n = some.shape[1]
        alone = Pooling(sums[0].squares.clip(1.0), np.ones(n), np.zeros(n, bool), 0.0)
        null, every = flip_leads(np.random.default_rng([start, len(some)]), sums, patterns)
        observed, flipped = (
            np.abs(studentise_lead(one, alone, sums[0].n).statistic) for one in (measure_lead(sums), null)
        )
        found.append(FlipFamily(observed, flipped, every, 1e-6).p_values())
    return np.concatenate(found)
