"""Sample the posterior of a pair of systems by NUTS, in the NumPyro model of Deriu et al. 2023.

Call `sample_posterior`. p are the probabilities that one system wins, draws and loses, mu those of the metric's outcome
given the human one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from simlab.analysis.chains import PUBLISHED, make_sampler
from simlab.effort import ChainEffort
from simlab.types import Floats, Ints

MASS = 0.95


class ReferencePosterior(NamedTuple):
    """Posterior as in `OutcomePosterior`, with 95 % intervals of p, its largest R-hat, and divergent transitions."""

    theta: Floats
    mean: Floats
    sd: Floats
    error: Floats
    ess: Floats
    low: Floats
    high: Floats
    r_hat: Floats
    divergences: Floats


def sample_posterior(
    human: Floats | Ints,
    confusion: Floats | Ints,
    metric: Floats | Ints,
    *,
    mu: Floats | None = None,
    two_outcomes: bool = False,
    seed: int = 0,
    size: ChainEffort = PUBLISHED,
) -> ReferencePosterior:
    """Sample by NUTS the posterior of p, the shares in which one system wins, draws and loses against another.

    Each row is a pair of systems: `human[row, outcome]` and `metric[row, outcome]` count wins, draws and losses, and
    `confusion[row, metric outcome, human outcome]` counts outputs that both judged. `mu`, of the same shape, is the
    probability of the metric's outcome given the human one; None: it is learned from `confusion`. `two_outcomes`: the
    metric cannot draw. `theta` is the probability that wins outnumber losses.

    `ess` is that of the indicator of p> > p<, `error` the standard error of theta that follows from it. Every row has
    the same seed, so that its draws do not depend on its company. Source: Deriu et al. 2023, section 3 and appendix B.
    """
    from numpyro.diagnostics import effective_sample_size, gelman_rubin

    draw = make_sampler(_make_model(mu is not None, two_outcomes), "p", size)
    summaries = []
    for row in range(len(human)):
        learned_from = confusion[row] if mu is None else mu[row]
        p, divergences = draw(seed, human[row], learned_from, metric[row])
        above = (p[..., 0] > p[..., 2]).astype(float)
        theta = above.mean()
        # An indicator that never varies has no autocorrelation, and no sample is worth more than its draws here.
        ess = above.size if above.std() == 0 else min(float(effective_sample_size(above)), above.size)
        # Draws that are all on one side do not say that theta is 0 or 1 without an error.
        error = np.sqrt(max(theta * (1 - theta), 1 / ess) / ess)
        flat = p.reshape(-1, 3)
        low, high = np.quantile(flat, [(1 - MASS) / 2, (1 + MASS) / 2], axis=0)
        r_hat = gelman_rubin(p).max()
        summaries.append((theta, flat.mean(0), flat.std(0), error, ess, low, high, r_hat, divergences))
    if not summaries:
        none, three = np.empty(0), np.empty((0, 3))
        return ReferencePosterior(none, three, three, none, none, three, three, none, none)
    return ReferencePosterior(*(np.array(column) for column in zip(*summaries, strict=True)))


@cache
def _make_model(mu_known: bool, two_outcomes: bool) -> Callable[..., None]:
    """Return the published model as a function of the counts, `[outcome]` and `[metric outcome, human outcome]`."""
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist

    outcomes = np.array([0, 2] if two_outcomes and not mu_known else [0, 1, 2])

    def model(human: Floats, learned_from: Floats, metric: Floats) -> None:
        p = numpyro.sample("p", dist.Dirichlet(human + 1.0))
        mu = (
            learned_from
            if mu_known
            else numpyro.sample("mu", dist.Dirichlet(learned_from[outcomes].T + 1.0).to_event(1)).T
        )
        chance = (mu * p).sum(1)
        # That of a multinomial but for a constant; what is never said, and is not possible, adds nothing.
        numpyro.factor("m", jnp.where(metric[outcomes] > 0, metric[outcomes] * jnp.log(chance), 0.0).sum())

    return model
