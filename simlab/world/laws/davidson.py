"""Draw comparisons of outputs by Davidson's law (a latent scale with ties), and integrate its probabilities.

Call `places` for the positions of outputs, in logits, and `choose` for the outcomes `[pair, item]` of comparing them;
`probabilities` returns how often each pair wins, draws and loses over all items, `[pair, outcome]`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from simlab.types import Array, Davidson, Documents, Floats, RaterPool

# Nodes cover normal deviates to 8 standard deviations; chances change over about a logit.
_REACH, _LOGITS_PER_NODE, _MOST_NODES = 8.0, 1.0, 1001
_MOST_DIFFERENCES = 65
"""Most differences of strengths that are integrated one by one; more are read from a spline through this many."""


class Spreads(NamedTuple):
    """Spreads of raters at large: see `RaterPool`; sharpness and ties by the sd of their logarithms."""

    sharpness_sd: float = 0.0
    tie_sd: float = 0.0
    taste_sd: float = 0.0


ALIKE = Spreads()
"""Raters who do not differ."""


def places(rng: np.random.Generator, law: Davidson, n_items: int, documents: Documents) -> Floats:
    """Draw the position of each output: `[system, item]`, in logits; see `Davidson` and `Documents`."""
    factor = np.exp(law.item_sd * deviates(rng, (n_items,), documents) - law.item_sd**2 / 2)
    own = deviates(rng, (len(law.strength), n_items), documents)
    return np.asarray(factor * (law.strength[:, None] + law.output_sd * own))


def choose(rng: np.random.Generator, place: Floats, ties: float, pool: RaterPool | None = None) -> Array:
    """Draw how outputs at `place[system, item]` (logits) compare: `[pair, item]` 0, 1, 2 = `>`, `=`, `<`.

    `ties` is the factor of draws (see `Davidson`). Raters are all alike (`pool=None`), or drawn from a pool.
    """
    first, second = np.triu_indices(len(place), 1)
    distance = place[first] - place[second]
    if pool is None:
        return draw_outcomes(rng, distance, ties)
    n_raters, n_items = len(pool.sharpness), place.shape[1]
    rater = rng.integers(n_raters, size=(1 if pool.whole_items else len(first), n_items))
    # In place: there may be millions of comparisons.
    distance += np.take(pool.taste[:, first] - pool.taste[:, second], _flat_index(rater, len(first)))
    distance *= pool.sharpness[rater]
    return draw_outcomes(rng, distance, ties * pool.ties[rater])


def _flat_index(rater: Array, n_pairs: int) -> Array:
    """Number the entries `[rater, pair]` that comparisons `[pair, item]` look up."""
    return np.asarray(rater * n_pairs + np.arange(n_pairs)[:, None])


def draw_outcomes(rng: np.random.Generator, distance: Floats, ties: Floats | float) -> Array:
    """Draw outcomes 0, 1, 2 = `>`, `=`, `<`, same shape, of two outputs at a `distance` (logits, first less second)."""
    half = np.exp(-np.abs(distance) / 2)  # all weights are scaled by the largest, so that nothing overflows
    draw, upset = ties * half, half**2
    u = rng.random(distance.shape) * (1 + draw + upset)
    draws = (u >= upset) & (u < upset + draw)
    won = (distance >= 0) != (u < upset)
    return np.where(draws, 1, np.where(won, 0, 2)).astype(np.int8)


def chances(distance: Floats, ties: Floats | float) -> tuple[Floats, Floats]:
    """Return the probabilities of win and loss of two outputs at a `distance` (logits, first less second)."""
    half = np.exp(-np.abs(distance) / 2)
    better = 1 / (1 + ties * half + half**2)
    worse = better * half**2
    return np.where(distance >= 0, better, worse), np.where(distance >= 0, worse, better)


def probabilities(law: Davidson, raters: Spreads = ALIKE) -> Floats:
    """Integrate over items and raters at large how often each pair wins, draws and loses: `p[pair, outcome]`."""
    first, second = np.triu_indices(len(law.strength), 1)
    difference = law.strength[first] - law.strength[second]
    if len(difference) <= _MOST_DIFFERENCES:
        win, loss = _integrate_outcomes(difference, law, raters)
    else:
        # It takes longer to import than all else that a study needs.
        from scipy.interpolate import CubicSpline

        # Equal systems have no range, and a spline needs one.
        furthest = max(float(np.abs(difference).max()), 1e-9)
        grid = np.linspace(-furthest, furthest, _MOST_DIFFERENCES)
        win, loss = (CubicSpline(grid, of)(difference) for of in _integrate_outcomes(grid, law, raters))
    # A spline may overshoot where chances come near to 0 or 1.
    win, loss = np.clip(win, 0, 1), np.clip(loss, 0, 1)
    # Rounding may leave less than nothing for draws where there are none.
    p = np.stack([win, np.maximum(1 - win - loss, 0.0), loss], axis=1)
    return np.asarray(p / p.sum(1, keepdims=True))


def _integrate_outcomes(difference: Floats, law: Davidson, raters: Spreads) -> tuple[Floats, Floats]:
    win, loss = np.zeros((2, len(difference)))
    for factor, of_item in _lognormal_nodes(law.item_sd):
        for sharpness, of_rater in _lognormal_nodes(raters.sharpness_sd):
            # A difference holds two outputs and two tastes.
            spread = sharpness * np.sqrt(2 * (factor**2 * law.output_sd**2 + raters.taste_sd**2))
            node, weight = _normal_nodes(float(spread))
            distance = sharpness * factor * difference[:, None] + spread * node
            for habit, of_ties in _lognormal_nodes(raters.tie_sd):
                both = chances(distance, law.ties * habit)
                win += of_item * of_rater * of_ties * (both[0] @ weight)
                loss += of_item * of_rater * of_ties * (both[1] @ weight)
    return win, loss


def _normal_nodes(spread: float) -> tuple[Floats, Floats]:
    """Give standard normal deviates and their weights for what changes over a logit, `spread` logits a deviate."""
    n = min(int(np.ceil(2 * _REACH * spread / _LOGITS_PER_NODE)) + 25, _MOST_NODES) if spread > 0 else 1
    # Equally spaced nodes converge exponentially for a smooth integrand under a normal density.
    node = np.linspace(-_REACH, _REACH, n) if n > 1 else np.zeros(1)
    weight = np.exp(-(node**2) / 2)
    return node, weight / weight.sum()


def _lognormal_nodes(sd: float) -> Iterator[tuple[float, float]]:
    """Give lognormal factors with mean 1 and their weights."""
    if sd == 0:
        yield 1.0, 1.0
        return
    node, weight = np.polynomial.hermite_e.hermegauss(8 + int(np.ceil(6 * sd)))
    yield from zip(np.exp(sd * node - sd**2 / 2), weight / weight.sum(), strict=True)


def deviates(rng: np.random.Generator, shape: tuple[int, ...], documents: Documents) -> Floats:
    """Draw standard normal deviates `[..., item]`, correlated by `documents.agreement` within a document.

    Each item's own is drawn first, and what a document has in common only where there is something: worlds of
    independent outputs keep their numbers.
    """
    own = rng.standard_normal(shape)
    if documents.agreement == 0 or documents.size == 1:
        return own
    n_items = shape[-1]
    common = rng.standard_normal((*shape[:-1], -(-n_items // documents.size)))
    shared, rest = np.sqrt(documents.agreement), np.sqrt(1 - documents.agreement)
    return np.asarray(shared * common[..., documents.document_indices(n_items)] + rest * own)


def shares(rng: np.random.Generator, shape: tuple[int, ...], documents: Documents) -> Floats:
    """Draw uniform numbers `[..., item]` whose normal deviates correlate by `documents.agreement` in a document."""
    if documents.agreement == 0 or documents.size == 1:
        return rng.random(shape)
    return np.asarray(ndtr(deviates(rng, shape, documents)))
