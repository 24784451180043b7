"""Give a world of preferences its metric: one that confuses the oracle's outcomes, or one that scores outputs.

Each option of `metric` takes a world and the option's keys, and returns the world with a `MetricLaw`. The oracle
compares outputs without errors of raters; outcomes are `>`, `=`, `<`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import numpy as np
from annotated_types import Ge, Le

from simlab.formulas import read_stochastic
from simlab.types import ComparedWorld, Floats, InputError, MetricLaw
from simlab.types.bounds import Concentration, Count, Spread
from simlab.world.laws.comparisons import require_contest

IDEAL = ((0.80, 0.25, 0.10), (0.10, 0.50, 0.10), (0.10, 0.25, 0.80))
"""The mixture matrix of the ideal metric (Deriu et al. 2023, appendix E)."""


def mu_matrix(
    rng: np.random.Generator,
    world: ComparedWorld,
    *,
    mu: list[list[float]],
    sharpness: Annotated[float, Ge(0), Le(1)],
    concentration: Concentration | None,
    n_outputs: Count,
) -> ComparedWorld:
    """Add a metric whose preferences are the oracle's, confused by a mixture matrix.

    `mu` lists the rows `mu[metric outcome][oracle outcome]`, outcomes in the order `>`, `=`, `<`; columns sum to one.
    `sharpness` blends it with its mean column: 1 takes it as given, 0 makes a metric that knows nothing. With a
    `concentration` each pair of systems has a matrix of its own, columns drawn Dirichlet(concentration * column).
    Source: Deriu et al. 2023, definition 3; appendix E is the matrix of `metric=ideal`.

    Raises InputError unless mu is column-stochastic.
    """
    given = read_stochastic(mu, "metric.mu", single=True)
    mean = sharpness * given + (1 - sharpness) * given.mean(axis=1, keepdims=True)
    n_pairs = world.frame.n_systems * (world.frame.n_systems - 1) // 2
    drawn = np.repeat(mean[None], n_pairs, axis=0)
    if concentration is not None:
        drawn = dirichlet_columns(rng, concentration * drawn)
    return replace(world, metric=MetricLaw(n_outputs, mu=drawn))


def scalar(
    rng: np.random.Generator,
    world: ComparedWorld,
    *,
    correlation: Annotated[float, Ge(-1), Le(1)],
    correlation_sd: Spread,
    margin: Spread,
    n_outputs: Count,
) -> ComparedWorld:
    """Add a metric that scores outputs and prefers the higher score.

    The score of an output is `correlation * s + sqrt(1 - correlation^2) * noise`, where s is its latent score,
    standardised by the mean and standard deviation over all outputs of all systems. So the correlation is over all
    outputs, and a poor metric sees the differences between systems scaled down, too. With `correlation_sd` each system
    has its own correlation, clipped to [-1, 1]: a metric takes for average what it follows less, so that a good system
    loses and a poor one gains. Differences up to `margin` (in standard deviations) are draws.

    Raises InputError for systems without a latent quality.
    """
    if require_contest(world).latent is None:
        raise InputError(
            "metric=scalar scores outputs by their latent quality, which only systems=preference has; "
            "choose it, or another metric"
        )
    own = np.clip(correlation + correlation_sd * rng.standard_normal(world.frame.n_systems), -1, 1)
    return replace(world, metric=MetricLaw(n_outputs, correlation=own, margin=margin))


def dirichlet_columns(rng: np.random.Generator, weight: Floats) -> Floats:
    """Draw columns of probabilities from Dirichlet(weight), same shape, outcomes on the last axis but one.

    An outcome with weight 0 has probability 0.
    """
    drawn = rng.standard_gamma(weight)
    total = drawn.sum(-2, keepdims=True)
    mean = weight / weight.sum(-2, keepdims=True)
    # Of tiny weights all draws may be 0; such columns keep their mean.
    return np.asarray(np.where(total > 0, drawn / np.where(total > 0, total, 1.0), mean))
