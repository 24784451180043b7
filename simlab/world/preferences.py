"""Draw systems whose outputs are compared pair by pair."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Gt, Le, Lt
from scipy.special import ndtr

from simlab.types import Contest, Floats, InputError, Latent

_NODES = 64


def latent(
    rng: np.random.Generator,
    *,
    n_systems: Annotated[int, Ge(2), Le(200)],
    n_items: Annotated[int, Ge(1)],
    quality: list[float] | None,
    system_sd: Annotated[float, Ge(0)],
    output_sd: Annotated[float, Gt(0)],
    item_sd: Annotated[float, Ge(0)],
    tie_margin: Annotated[float, Ge(0)],
    test_set: Literal["fresh", "fixed"],
) -> Contest:
    """Draw systems with a latent quality; the output of the higher latent score wins, within a margin it is a draw.

    Qualities are drawn N(0, system_sd) unless given. All pairs follow from the same outputs, so they are consistent and
    correlated. `p` are the exact probabilities over all items. See `Latent` for the score of an output.

    Raises InputError where `quality` is not one number per system.
    """
    if quality is not None and len(quality) != n_systems:
        raise InputError(f"systems.quality has {len(quality)} numbers for systems.n_systems={n_systems}; give one each")
    drawn = system_sd * rng.standard_normal(n_systems)
    law = Latent(drawn if quality is None else np.asarray(quality, float), output_sd, item_sd, tie_margin)
    return Contest(_names(n_systems), n_items, _p_of(law), latent=law, fixed=test_set == "fixed")


def free(
    rng: np.random.Generator,
    *,
    n_systems: Annotated[int, Ge(2), Le(200)],
    n_items: Annotated[int, Ge(1)],
    mean: list[float],
    concentration: Annotated[float, Gt(0)],
    difficulty: Annotated[float, Ge(0), Lt(1)],
    test_set: Literal["fresh", "fixed"],
) -> Contest:
    """Draw the probabilities of win, draw and loss of each pair on their own; there need be no order of systems.

    Each pair's are Dirichlet(concentration * mean). Draws correlate between the pairs of an item by `difficulty`.
    """
    p = rng.dirichlet(concentration * _probabilities(mean, "systems.mean") + 1e-12, n_systems * (n_systems - 1) // 2)
    return Contest(_names(n_systems), n_items, p, difficulty=difficulty, fixed=test_set == "fixed")


def given(
    rng: np.random.Generator,
    *,
    n_systems: Annotated[int, Ge(2), Le(200)],
    n_items: Annotated[int, Ge(1)],
    p: list[list[float]] | None,
    difference: Annotated[float, Ge(-1), Le(1)],
    draws: Annotated[float, Ge(0), Le(1)],
    difficulty: Annotated[float, Ge(0), Lt(1)],
    test_set: Literal["fresh", "fixed"],
) -> Contest:
    """Take the probabilities of win, draw and loss as given.

    `p` lists a triple for all pairs, or one per pair in the order (0, 1), (0, 2), ..., (1, 2), ...; without it every
    pair has `draws` and a `difference` of win and loss. `rng` is not used: nothing is drawn.

    Raises InputError for triples that are no probabilities, or not as many as pairs.
    """
    n_pairs = n_systems * (n_systems - 1) // 2
    if p is None:
        if abs(difference) > 1 - draws:
            raise InputError(f"systems.difference={difference:g} does not fit systems.draws={draws:g}; lower one")
        p = [[(1 - draws + difference) / 2, draws, (1 - draws - difference) / 2]]
    if len(p) not in (1, n_pairs):
        raise InputError(f"systems.p has {len(p)} triples; {n_systems} systems have {n_pairs} pairs: give one, or each")
    triples = np.stack([_probabilities(triple, "systems.p") for triple in p])
    every = np.repeat(triples, n_pairs // len(triples), axis=0)
    return Contest(_names(n_systems), n_items, every, difficulty=difficulty, fixed=test_set == "fixed")


def _p_of(law: Latent) -> Floats:
    """Integrate over items how often each pair wins, draws and loses: normal for given difficulty."""
    first, second = np.triu_indices(len(law.quality), 1)
    difference = law.quality[first] - law.quality[second]
    node, weight = np.polynomial.hermite_e.hermegauss(_NODES if law.item_sd else 1)
    factor = np.exp(law.item_sd * node - law.item_sd**2 / 2)
    at = difference[:, None] * factor
    spread = np.sqrt(2) * law.output_sd
    win = ndtr((at - law.tie_margin) / spread) @ weight / weight.sum()
    loss = ndtr((-at - law.tie_margin) / spread) @ weight / weight.sum()
    return np.stack([win, 1 - win - loss, loss], axis=1)


def _probabilities(triple: list[float], key: str) -> Floats:
    p = np.asarray(triple, float)
    if p.shape != (3,) or not np.isfinite(p).all() or p.min() < 0 or abs(p.sum() - 1) > 1e-6:
        raise InputError(f"{key}: {triple} are no probabilities of win, draw and loss; give three that sum to 1")
    return np.asarray(p / p.sum())


def _names(n: int) -> tuple[str, ...]:
    return tuple(f"system{i + 1:0{len(str(n))}d}" for i in range(n))
