"""Sample posteriors of NumPyro models by NUTS, a Markov chain method; one compiled model serves many data sets.

`make_sampler` takes a model (a function of its data) and the name of the parameter to draw, and returns a function that
draws it from data. Chains run side by side, which is fastest on two cores.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from simlab.effort import ChainEffort
from simlab.types import Array, Floats

AGREE = 1.05
"""R-hat above which chains do not have the same law (1.1 in Gelman et al. 2013, 1.01 in Vehtari et al. 2021)."""
PUBLISHED = ChainEffort(5, 2000, 10_000)
"""Chains, warm-up steps and kept draws of each, of von Däniken et al. 2022 and Deriu et al. 2023 (appendix B)."""
SHORT = ChainEffort(4, 500, 1000)
"""Chains for one of many posteriors: theta within .009 where it is .5, .003 where it is .975."""


def make_chains(model: Callable[..., None], *, chains: int, warmup: int, draws: int) -> Any:
    """Return NumPyro's MCMC object of a model, by NUTS: `draws` of each of `chains` chains after `warmup` steps."""
    from numpyro.infer import MCMC, NUTS

    return MCMC(
        NUTS(model),
        num_warmup=warmup,
        num_samples=draws,
        num_chains=chains,
        chain_method="vectorized",
        progress_bar=False,
    )


@cache
def make_sampler(model: Callable[..., None], site: str, size: ChainEffort) -> Callable[..., tuple[Floats, int]]:
    """Return a function of a seed and of the model's arrays that draws the parameter `site`.

    It returns the draws `[chain, draw, ...]` and the number of divergent transitions. It is compiled once for each
    shape of the arrays, not once for each posterior.
    """
    import jax

    def sample(key: Any, *data: Any) -> Any:
        chains = make_chains(model, chains=size.chains, warmup=size.warmup, draws=size.kept)
        chains.run(key, *data, extra_fields=("diverging",))
        return chains.get_samples(group_by_chain=True)[site], chains.get_extra_fields()["diverging"].sum()

    compiled = jax.jit(sample)

    def draw(seed: int, *data: Array) -> tuple[Floats, int]:
        drawn, divergences = compiled(jax.random.PRNGKey(seed), *(np.asarray(one, np.float32) for one in data))
        return np.asarray(drawn, float), int(divergences)

    return draw
