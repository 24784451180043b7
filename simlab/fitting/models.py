"""State laws as NumPyro models where simlab has a sampler of its own: tests compare the samplers with these.

`points` is the model of the law `gaussian`; it takes indices and scores of ratings and returns nothing.
"""

from __future__ import annotations

from typing import Any

from simlab.fitting.scales.chain import Priors

EFFECT = {"system": "system_effect"}
"""What effects are called in a posterior, where not by their own name."""


def points(priors: Priors, system: Any, document: Any, rater: Any, score: Any) -> None:
    """State the law `gaussian` where scores have no ends and no steps, and a document is one segment.

    `system`, `document` and `rater` are indices `[rating]`, `score` the scores.
    Effects are standard normal times their spreads. The residual is normal, or Student of one of some degrees of
    freedom for all ratings alike, over which is summed.
    """
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist
    from jax.scipy.special import logsumexp

    levels = {
        "system": (system,),
        "document": (document,),
        "system_document": (system, document),
        "leniency": (rater,),
        "rater_system": (rater, system),
        "rater_document": (rater, document),
    }
    expected = numpyro.sample("mean", dist.Normal(priors.mean, priors.mean_sd))
    for name, index in levels.items():
        shape = tuple(int(level.max()) + 1 for level in index)
        sd = numpyro.sample(f"{name}_sd", dist.HalfNormal(priors.spread[name]))
        unit = numpyro.sample(f"{name}_unit", dist.Normal(0.0, 1.0).expand(shape).to_event(len(shape)))
        effect = numpyro.deterministic(EFFECT.get(name, name), sd * unit)
        expected = expected + effect[index]
    residual_sd = numpyro.sample("residual_sd", dist.HalfNormal(priors.spread["residual"]))
    _, *tails = priors.tails
    laws = [dist.Normal(expected, residual_sd)]
    # Student's t has variance tail / (tail - 2): scaled by its root, `residual_sd` means the same in all laws.
    laws += [dist.StudentT(tail, expected, residual_sd * ((tail - 2) / tail) ** 0.5) for tail in tails]
    weights = jnp.log(jnp.array([0.5, *(0.5 / len(tails) for _ in tails)]))
    numpyro.factor("score", logsumexp(weights + jnp.stack([law.log_prob(score).sum() for law in laws])))
