"""Sample the posterior of alpha as published: the NumPyro model of von Däniken et al. 2022 with their settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from simlab.analysis.adequacy.posterior import Posterior
from simlab.analysis.chains import make_chains
from simlab.types import Floats, InputError


def sample_posterior(
    n_plus: Floats,
    n: Floats,
    m_plus: Floats,
    m: Floats,
    *,
    metric: Sequence[Floats],
    constrain: bool,
    level: float,
    seed: int,
    chains: int = 5,
    warmup: int = 2000,
    draws: int = 10000,
) -> Posterior:
    """Sample each row's posterior by NUTS; `metric` holds rho, eta or TP, P, TN, N. Each row is compiled anew.

    The mode is that of a histogram of 50 bins.

    Raises InputError with `constrain`, which the published model does not know.
    """
    if constrain:
        raise InputError("method=nuts samples the published model, which does not know that rho + eta > 1")
    summaries = []
    for row in zip(n_plus, n, m_plus, m, *metric, strict=True):
        alpha = sampler(*(float(x) for x in row), chains=chains, warmup=warmup, draws=draws)(seed)
        count, edge = np.histogram(alpha, 50)
        mode = (edge[count.argmax()] + edge[count.argmax() + 1]) / 2
        summaries.append((alpha.mean(), alpha.std(), mode, *np.quantile(alpha, [level / 2, 1 - level / 2])))
    return Posterior(*(np.array(column) for column in zip(*summaries, strict=True)))


def sampler(
    n_plus: float, n: float, m_plus: float, m: float, *metric: float, chains: int, warmup: int, draws: int
) -> Callable[[int], Floats]:
    """Return a function of a seed that samples alpha `[draw of all chains]`; its first call compiles."""
    import jax
    import numpyro
    import numpyro.distributions as dist

    def model() -> None:
        alpha = numpyro.sample("alpha", dist.Beta(n_plus + 1.0, n - n_plus + 1.0))
        if len(metric) == 2:
            rho, eta = metric
        else:
            tp, p, tn, negative = metric
            rho = numpyro.sample("rho", dist.Beta(tp + 1.0, p - tp + 1.0))
            eta = numpyro.sample("eta", dist.Beta(tn + 1.0, negative - tn + 1.0))
        q = alpha * rho + (1 - alpha) * (1 - eta)
        numpyro.sample("m_plus", dist.Binomial(int(m), q), obs=m_plus)

    mcmc = make_chains(model, chains=chains, warmup=warmup, draws=draws)

    def run(seed: int) -> Floats:
        mcmc.run(jax.random.PRNGKey(seed))
        return np.asarray(mcmc.get_samples()["alpha"], float)

    return run
