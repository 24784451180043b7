"""Draw systems whose outputs are compared pair by pair: by a latent quality, or by rates of win, draw and loss.

Each option of `systems` takes the option's keys and returns a `Contest`: systems, number of items, and probabilities
`p[pair, outcome]` of win, draw and loss.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Le, Lt
from scipy.special import ndtr

from simlab.messages import name_things
from simlab.types import Contest, Documents, Floats, InputError, Latent
from simlab.types.bounds import Concentration, Count, Spread, Value

# Nodes cover the item factor to 9 standard deviations; more are used where a pair turns from draw to win abruptly.
_REACH, _MAX_NODES = 9.0, 20_000


def latent(
    rng: np.random.Generator,
    *,
    n_systems: Annotated[int, Ge(2), Le(200)],
    n_items: Count,
    quality: list[Value] | None,
    system_sd: Spread,
    output_sd: Annotated[float, Ge(1e-9), Le(1e6)],
    item_sd: Annotated[float, Ge(0), Le(10)],
    tie_margin: Spread,
    test_set: Literal["fresh", "fixed"],
    outputs_per_document: Annotated[int, Ge(1), Le(10**6)],
    document_agreement: Annotated[float, Ge(0), Le(1)],
) -> Contest:
    """Draw systems with a latent quality; the output of the higher latent score wins, within a margin it is a draw.

    Qualities are drawn N(0, system_sd) unless given. All pairs follow from the same outputs, so they are consistent and
    correlated. `p` are the exact probabilities over all items. See `Latent` for the score of an output; the scores of
    a system's outputs in a document of `outputs_per_document` agree as `document_agreement` says (see `Documents`).

    Raises InputError where `quality` is not one number per system.
    """
    if quality is not None and len(quality) != n_systems:
        raise InputError(f"systems.quality has {len(quality)} numbers for systems.n_systems={n_systems}; give one each")
    drawn = system_sd * rng.standard_normal(n_systems)
    law = Latent(drawn if quality is None else np.asarray(quality, float), output_sd, item_sd, tie_margin)
    return Contest(
        name_things("system", n_systems),
        n_items,
        probabilities(law),
        latent=law,
        fixed=test_set == "fixed",
        documents=Documents(outputs_per_document, document_agreement),
    )


def free(
    rng: np.random.Generator,
    *,
    n_systems: Annotated[int, Ge(2), Le(200)],
    n_items: Count,
    mean: list[float],
    concentration: Concentration,
    difficulty: Annotated[float, Ge(0), Lt(1)],
    test_set: Literal["fresh", "fixed"],
    outputs_per_document: Annotated[int, Ge(1), Le(10**6)],
    document_agreement: Annotated[float, Ge(0), Le(1)],
) -> Contest:
    """Draw the probabilities of win, draw and loss of each pair on their own; there need be no order of systems.

    Each pair's are Dirichlet(concentration * mean). Draws correlate between the pairs of an item by `difficulty`;
    outcomes of a pair on a document of `outputs_per_document` agree as `document_agreement` says (see `Documents`).

    Raises InputError for a mean that is no three probabilities.
    """
    # A mean of 0 gives a parameter of 0, for which a Dirichlet law is not defined.
    p = rng.dirichlet(concentration * _probabilities(mean, "systems.mean") + 1e-12, n_systems * (n_systems - 1) // 2)
    return Contest(
        name_things("system", n_systems),
        n_items,
        p,
        difficulty=difficulty,
        fixed=test_set == "fixed",
        documents=Documents(outputs_per_document, document_agreement),
    )


def given(
    rng: np.random.Generator,
    *,
    n_systems: Annotated[int, Ge(2), Le(200)],
    n_items: Count,
    p: list[list[float]] | None,
    difference: Annotated[float, Ge(-1), Le(1)],
    draws: Annotated[float, Ge(0), Le(1)],
    difficulty: Annotated[float, Ge(0), Lt(1)],
    test_set: Literal["fresh", "fixed"],
    outputs_per_document: Annotated[int, Ge(1), Le(10**6)],
    document_agreement: Annotated[float, Ge(0), Le(1)],
) -> Contest:
    """Take the probabilities of win, draw and loss as given.

    `p` lists a triple for all pairs, or one per pair in the order (0, 1), (0, 2), ..., (1, 2), ...; without it every
    pair has `draws` and a `difference` of win and loss. `rng` is not used: nothing is drawn. Outcomes of a pair on a
    document of `outputs_per_document` agree as `document_agreement` says (see `Documents`).

    Raises InputError for triples that are no probabilities, or not as many as pairs.
    """
    n_pairs = n_systems * (n_systems - 1) // 2
    if p is None:
        p = [_split(difference, draws)]
    if len(p) not in (1, n_pairs):
        raise InputError(f"systems.p has {len(p)} triples; {n_systems} systems have {n_pairs} pairs: give one, or each")
    triples = np.stack([_probabilities(triple, "systems.p") for triple in p])
    every = np.repeat(triples, n_pairs // len(triples), axis=0)
    return Contest(
        name_things("system", n_systems),
        n_items,
        every,
        difficulty=difficulty,
        fixed=test_set == "fixed",
        documents=Documents(outputs_per_document, document_agreement),
    )


def probabilities(law: Latent) -> Floats:
    """Integrate over items how often each pair wins, draws and loses: `p[pair, outcome]`."""
    first, second = np.triu_indices(len(law.quality), 1)
    difference = law.quality[first] - law.quality[second]
    # What the outputs of an item share cancels in their difference.
    spread = np.sqrt(2) * law.output_sd
    win, loss = np.zeros((2, len(difference)))
    for factor, weight in zip(*item_factors(law), strict=True):
        win += weight * ndtr((difference * factor - law.tie_margin) / spread)
        loss += weight * ndtr((-difference * factor - law.tie_margin) / spread)
    # Rounding may leave less than nothing for draws where there are none.
    return np.stack([win, np.maximum(1 - win - loss, 0.0), loss], axis=1)


def item_factors(law: Latent) -> tuple[Floats, Floats]:
    """Return quadrature nodes and weights of the item factor, exact unless the tie margin exceeds 100 output_sd.

    Equally spaced nodes converge exponentially for a smooth integrand under a normal density. Gauss-Hermite nodes stand
    too far apart for outputs that hardly vary (output_sd far below tie_margin): they miss p by several hundredths.
    """
    if law.item_sd == 0:
        return np.ones(1), np.ones(1)
    steepness = law.item_sd * max(1.0, law.tie_margin / (np.sqrt(2) * law.output_sd))
    node = np.linspace(-_REACH, _REACH, 1 + int(min(_MAX_NODES, 2 * _REACH * (3 + 6 * steepness))))
    weight = np.exp(-(node**2) / 2)
    return np.exp(law.item_sd * node - law.item_sd**2 / 2), weight / weight.sum()


def _split(difference: float, draws: float) -> list[float]:
    """Split what is not a draw into win and loss."""
    # A difference that equals all that is not a draw must not depend on rounding.
    if abs(difference) > 1 - draws + 1e-9:
        raise InputError(
            f"systems.difference={difference:g} exceeds {1 - draws:g}, the share of outputs that are no draws "
            f"(systems.draws={draws:g}); lower one"
        )
    win = min(max((1 - draws + difference) / 2, 0.0), 1 - draws)
    return [win, draws, 1 - draws - win]


def _probabilities(triple: list[float], key: str) -> Floats:
    p = np.asarray(triple, float)
    if p.shape != (3,) or not np.isfinite(p).all() or p.min() < 0 or abs(p.sum() - 1) > 1e-6:
        raise InputError(f"{key}: {triple} are no probabilities of win, draw and loss; give three that sum to 1")
    return np.asarray(p / p.sum())
