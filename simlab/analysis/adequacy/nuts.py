"""Sample the posterior of alpha, the share of adequate outputs, by the NumPyro model of von Däniken et al. 2022.

`n_plus` of `n` human ratings and `m_plus` of `m` metric ratings say adequate. The metric calls adequate outputs
adequate with the probability rho, others inadequate with eta. Both are known, or estimated from a calibration: of P
adequate outputs the metric called TP adequate, of N others TN inadequate. Call `sample_posterior`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from simlab.analysis.adequacy.posterior import AlphaPosterior
from simlab.analysis.chains import AGREE, PUBLISHED, make_sampler
from simlab.effort import ChainEffort
from simlab.types import Floats, InputError


class Sampled(NamedTuple):
    """Posteriors of rows sampled by NUTS, `[row]`, the R-hat of alpha and its effective draws."""

    posterior: AlphaPosterior
    r_hat: Floats
    ess: Floats


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
    size: ChainEffort = PUBLISHED,
) -> Sampled:
    """Sample each row's posterior by NUTS; counts are `[row]`, and `metric` holds rho, eta or TP, P, TN, N, `[row]`.

    The mode is that of a histogram of 50 bins. Each row has the same seed: its draws do not depend on its company.

    Raises InputError with `constrain`, which the published model does not know, and where the chains disagree.
    """
    if constrain:
        raise InputError("posterior=nuts samples the published model, which does not know that rho + eta > 1")
    from numpyro.diagnostics import effective_sample_size, gelman_rubin

    summaries = []
    for row in zip(n_plus, n, m_plus, m, *metric, strict=True):
        alpha = draw_alpha(*(float(x) for x in row), size=size)(seed)
        if (r_hat := float(gelman_rubin(alpha))) > AGREE:
            raise InputError(
                f"posterior=nuts: the chains disagree about n_human={row[1]:g}, n_metric={row[3]:g} (R-hat "
                f"{r_hat:.2f}, above {AGREE}); take posterior=quadrature"
            )
        count, edge = np.histogram(alpha, 50)
        mode = (edge[count.argmax()] + edge[count.argmax() + 1]) / 2
        ess = float(effective_sample_size(alpha))
        summaries.append((alpha.mean(), alpha.std(), mode, *np.quantile(alpha, [level / 2, 1 - level / 2]), r_hat, ess))
    *of_alpha, r_hats, sizes = (np.array(column) for column in zip(*summaries, strict=True))
    return Sampled(AlphaPosterior(*of_alpha), r_hats, sizes)


def draw_alpha(
    n_plus: float, n: float, m_plus: float, m: float, *metric: float, size: ChainEffort
) -> Callable[[int], Floats]:
    """Return a function of a seed that samples alpha `[chain, draw]`; the first of each model is compiled."""
    draw = make_sampler(_make_model(len(metric) == 4), "alpha", size)
    return lambda seed: draw(seed, np.array([n_plus, n, m_plus, m]), np.array(metric))[0]


@cache
def _make_model(estimated: bool) -> Callable[..., None]:
    """Return the published model as a function of counts n+, n, m+, m, and of rho, eta or TP, P, TN, N."""
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist

    def model(counts: Floats, quality: Floats) -> None:
        n_plus, n, m_plus, m = counts
        alpha = numpyro.sample("alpha", dist.Beta(n_plus + 1.0, n - n_plus + 1.0))
        if estimated:
            tp, p, tn, negative = quality
            rho = numpyro.sample("rho", dist.Beta(tp + 1.0, p - tp + 1.0))
            eta = numpyro.sample("eta", dist.Beta(tn + 1.0, negative - tn + 1.0))
        else:
            rho, eta = quality
        q = alpha * rho + (1 - alpha) * (1 - eta)
        # A count of 0 says nothing even where its probability is 0; 0 times minus infinity would be NaN.
        yes, no = (jnp.where(x > 0, x * jnp.log(y), 0.0) for x, y in ((m_plus, q), (m - m_plus, 1 - q)))
        numpyro.factor("m_plus", yes + no)

    return model
