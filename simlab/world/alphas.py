"""Draw systems by their share of adequate outputs: an output is adequate if its latent score is positive.

`alpha_optimal`, an option of `systems`, takes the option's keys and returns a `Contest`: systems, numbers of items, and
the law by which outputs compare, or are judged. `share_of_adequate_outputs` returns alpha, `[system]`.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Le
from scipy.special import ndtr, ndtri

from simlab.messages import name_things
from simlab.types import Contest, Documents, Floats, InputError, Latent
from simlab.types.bounds import Count, Spread, Value
from simlab.world.preferences import item_factors, probabilities


def alpha_optimal(
    rng: np.random.Generator,
    *,
    n_systems: Annotated[int, Ge(2), Le(200)],
    n_items: Count,
    alphas: list[Value] | None,
    alpha: Annotated[float, Ge(0), Le(1)],
    spacing: Annotated[float, Ge(0), Le(1)],
    beta: list[Value] | None,
    item_agreement: Annotated[float, Ge(0), Le(1)],
    tie_margin: Spread,
    test_set: Literal["fresh", "fixed"],
    outputs_per_document: Annotated[int, Ge(1), Le(10**6)],
    document_agreement: Annotated[float, Ge(0), Le(1)],
) -> Contest:
    """Draw systems each of whose outputs is adequate with a probability of its own, alpha.

    `alphas` gives them; else `beta` = [a, b] draws them from Beta(a, b); else they lie `spacing` apart around `alpha`,
    the first system the best. Latent scores have standard deviation 1 within a system and mean `ndtri(alpha)`, so that
    alpha is the share of positive ones; `item_agreement` is the correlation of the scores of two systems' outputs for
    the same input, 0: adequate independently; `document_agreement` that of a system's outputs in a document, which has
    `outputs_per_document`. The same scores are compared, or judged, as raters do.
    Source: von Däniken et al. 2022, definition 1.

    Raises InputError where `alphas` is not one per system, or one is no probability.
    """
    if alphas is not None:
        given = np.asarray(alphas, float)
        if len(given) != n_systems:
            raise InputError(
                f"systems.alphas has {len(alphas)} numbers for systems.n_systems={n_systems}; give one each"
            )
    elif beta is not None:
        if len(beta) != 2 or min(beta) <= 0:
            raise InputError(f"systems.beta={beta} must be two numbers above 0, such as [1,1]")
        given = rng.beta(beta[0], beta[1], n_systems)
    else:
        given = alpha + spacing * (np.arange(n_systems)[::-1] - (n_systems - 1) / 2)
    # Spacings that add up to 0 or 1 miss it by rounding.
    wrong = ~((given >= -1e-12) & (given <= 1 + 1e-12))
    if wrong.any():
        raise InputError(
            f"systems: alpha={given[wrong][0]:g} is no probability; change systems.alphas, alpha or spacing"
        )
    quality = ndtri(np.clip(given, 0, 1))
    # The own and the shared part have variance 1 together, so that alpha is the share of positive scores.
    law = Latent(quality, float(np.sqrt(1 - item_agreement)), 0.0, tie_margin, float(np.sqrt(item_agreement)))
    # An infinite quality, or outputs of an item with nothing of their own, leaves no probabilities to integrate.
    comparable = np.isfinite(quality).all() and item_agreement < 1
    p = probabilities(law) if comparable else None
    documents = Documents(outputs_per_document, document_agreement)
    return Contest(
        name_things("system", n_systems), n_items, p, latent=law, fixed=test_set == "fixed", documents=documents
    )


def share_of_adequate_outputs(law: Latent) -> Floats:
    """Return each system's share of adequate outputs, over all items."""
    alphas = np.zeros(len(law.quality))
    for factor, weight in zip(*item_factors(law), strict=True):
        alphas += weight * ndtr(law.quality * factor / np.hypot(law.output_sd, law.shared_sd))
    return alphas


def spread_of(law: Latent) -> Floats:
    """Return the standard deviation of each system's latent scores; systems without any poor output have that of 1."""
    quality = np.where(np.isfinite(law.quality), law.quality, 0.0)
    # A lognormal factor with mean 1 has variance exp(sd^2) - 1.
    return np.asarray(np.sqrt(quality**2 * np.expm1(law.item_sd**2) + law.output_sd**2 + law.shared_sd**2))
