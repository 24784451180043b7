"""Sample the posterior of a pair as published: the NumPyro model of Deriu et al. 2023 with their settings."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

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


def nuts(
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
    """Sample each row's posterior by NUTS; `mu` None: unknown. One kernel serves all rows.

    `ess` is that of the indicator of p> > p<, `error` the standard error of theta that follows from it. Source: Deriu
    et al. 2023, section 3 and appendix B (5 chains, 2,000 warm-up, 10,000 draws).
    """
    from numpyro.diagnostics import effective_sample_size, gelman_rubin

    sampler = _sampler(mu is not None, chains, warmup, draws)
    found = []
    for row in range(len(human)):
        p, divergences = sampler(human[row], confusion[row], metric[row], None if mu is None else mu[row], seed)
        above = (p[..., 0] > p[..., 2]).astype(float)
        theta = above.mean()
        constant = above.std() == 0
        ess = above.size if constant else min(float(effective_sample_size(above)), above.size)
        flat = p.reshape(-1, 3)
        error = np.sqrt(max(theta * (1 - theta), 1 / ess) / ess)
        found.append((theta, flat.mean(0), flat.std(0), error, ess, gelman_rubin(p).max(), divergences))
    return Reference(*(np.array(column) for column in zip(*found, strict=True)))


def _sampler(known: bool, chains: int, warmup: int, draws: int) -> Any:
    import jax
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import MCMC, NUTS

    def model(human: Any, confusion: Any, metric: Any, mu: Any) -> None:
        p = numpyro.sample("p", dist.Dirichlet(human + 1.0))
        if not known:
            mu = numpyro.sample("mu", dist.Dirichlet(confusion.T + 1.0).to_event(1)).T
        numpyro.sample("m", dist.Multinomial(metric.sum().astype(int), mu @ p), obs=metric)

    mcmc = MCMC(
        NUTS(model),
        num_warmup=warmup,
        num_samples=draws,
        num_chains=chains,
        chain_method="vectorized",
        progress_bar=False,
    )

    def run(human: Floats, confusion: Floats, metric: Floats, mu: Floats | None, seed: int) -> tuple[Floats, int]:
        counts = [jax.numpy.asarray(one) for one in (human, confusion, metric)]
        mcmc.run(jax.random.PRNGKey(seed), *counts, None if mu is None else jax.numpy.asarray(mu))
        p = np.asarray(mcmc.get_samples(group_by_chain=True)["p"], float)
        return p, int(np.asarray(mcmc.get_extra_fields()["diverging"]).sum())

    return run
