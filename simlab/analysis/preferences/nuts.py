"""Sample the posterior of a pair as published: the NumPyro model of Deriu et al. 2023 with their settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from simlab.analysis.chains import make_chains
from simlab.types import Floats


class Reference(NamedTuple):
    """Hold what `Posterior` holds, with the diagnosis of the chains: largest R-hat of p, divergent transitions."""

    theta: Floats
    mean: Floats
    sd: Floats
    error: Floats
    ess: Floats
    r_hat: Floats
    divergences: Floats


def sample_posterior(
    human: Floats,
    confusion: Floats,
    metric: Floats,
    *,
    mu: Floats | None,
    seed: int,
    chains: int = 5,
    warmup: int = 2000,
    draws: int = 10000,
) -> Reference:
    """Sample each row's posterior by NUTS; `mu` None: unknown. Each row is compiled anew.

    `ess` is that of the indicator of p> > p<, `error` the standard error of theta that follows from it. Source: Deriu
    et al. 2023, section 3 and appendix B (5 chains, 2,000 warm-up, 10,000 draws).
    """
    from numpyro.diagnostics import effective_sample_size, gelman_rubin

    summaries = []
    for row in range(len(human)):
        counts = human[row], confusion[row], metric[row]
        p, divergences = sampler(*counts, None if mu is None else mu[row], chains, warmup, draws)(seed)
        above = (p[..., 0] > p[..., 2]).astype(float)
        theta = above.mean()
        ess = above.size if above.std() == 0 else min(float(effective_sample_size(above)), above.size)
        error = np.sqrt(max(theta * (1 - theta), 1 / ess) / ess)
        flat = p.reshape(-1, 3)
        summaries.append((theta, flat.mean(0), flat.std(0), error, ess, gelman_rubin(p).max(), divergences))
    return Reference(*(np.array(column) for column in zip(*summaries, strict=True)))


def sampler(
    human: Floats, confusion: Floats, metric: Floats, mu: Floats | None, chains: int, warmup: int, draws: int
) -> Callable[[int], tuple[Floats, int]]:
    """Return a function of a seed that samples p `[chain, draw, outcome]` of one pair and counts divergences.

    Its first call compiles.
    """
    import jax
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist

    def model() -> None:
        p = numpyro.sample("p", dist.Dirichlet(jnp.asarray(human + 1.0)))
        if mu is None:
            matrix = numpyro.sample("mu", dist.Dirichlet(jnp.asarray(confusion.T + 1.0)).to_event(1)).T
        else:
            matrix = jnp.asarray(mu)
        numpyro.sample("m", dist.Multinomial(int(metric.sum()), matrix @ p), obs=jnp.asarray(metric))

    mcmc = make_chains(model, chains=chains, warmup=warmup, draws=draws)

    def run(seed: int) -> tuple[Floats, int]:
        mcmc.run(jax.random.PRNGKey(seed))
        p = np.asarray(mcmc.get_samples(group_by_chain=True)["p"], float)
        return p, int(np.asarray(mcmc.get_extra_fields()["diverging"]).sum())

    return run
