"""Make votes of raters who prefer a place in the row, with outputs that resemble each other within documents."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simlab.analysis.preferences.strengths import probabilities
from simlab.analysis.preferences.votes import Votes


@dataclass(frozen=True)
class PlacedWorld:
    """Say how votes come about, in logits: `first` is what the first place is worth, `strength` a step between systems.

    `toward` is the chance that the first system of a pair stands first; `twice`: everything is asked in both orders.
    No raters: nobody is named. No items: one for each vote, `documents` hold items by the number.
    """

    n_votes: int
    n_systems: int = 2
    n_raters: int = 0
    n_items: int = 0
    documents: int = 0
    toward: float = 0.5
    first: float = 1.5
    taste_sd: float = 0.0
    output_sd: float = 0.0
    strength: float = 0.0
    twice: bool = False


def draw_placed(rng: np.random.Generator, world: PlacedWorld) -> Votes:
    """Draw the votes of a study; outputs of one document are worth the same."""
    n, pairs = world.n_votes, world.n_systems * (world.n_systems - 1) // 2
    pair = rng.integers(pairs, size=n)
    item = rng.integers(world.n_items, size=n) if world.n_items else np.arange(n)
    rater = rng.integers(world.n_raters, size=n) if world.n_raters else np.full(n, -1)
    place = np.where(rng.random(n) < world.toward, 1, -1)
    if world.twice:
        pair, item, rater = (np.concatenate([one, one]) for one in (pair, item, rater))
        place = np.concatenate([place, -place])
    i, j = (one[pair] for one in np.triu_indices(world.n_systems, 1))
    strength = -world.strength * np.arange(world.n_systems)
    document = item % world.documents if world.documents else item
    output = world.output_sd * rng.standard_normal((int(document.max()) + 1, world.n_systems))
    taste = world.taste_sd * rng.standard_normal((max(world.n_raters, 1), world.n_systems))
    d = strength[i] - strength[j] + world.first * place
    d += output[document, i] - output[document, j] + taste[rater, i] - taste[rater, j]
    chance = probabilities(d, -20.0)
    return Votes(pair, np.where(rng.random(len(d)) < chance[:, 0], 1, -1), rater, item, world.n_systems, place)
