"""Sample pairs whose matrices resemble each other, all together, for `pooled_posteriors.json`: NUTS runs.

The model is the whole hierarchy: spread and mean columns have priors, matrices of all pairs are sampled with them, and
metric ratings of outputs that no human rated teach about them, too (`preferences.pooling` leaves that out, and sums the
other pairs' columns up by mean and variance). Run as `python tests/oracles/make_pooled_posteriors.py`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

FILE = Path(__file__).with_name("pooled_posteriors.json")
IDEAL = np.array([[0.80, 0.25, 0.10], [0.10, 0.50, 0.10], [0.10, 0.25, 0.80]])
CASES = (
    {"name": "alike", "pairs": 6, "human": 20, "metric": 1000, "concentration": None},
    {"name": "apart", "pairs": 6, "human": 40, "metric": 300, "concentration": 10.0},
)


def counts(case: dict[str, Any], seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw confusion counts and metric ratings of pairs that are nearly equal."""
    rng = np.random.default_rng(seed)
    k, kappa = case["pairs"], case["concentration"]
    mu = np.broadcast_to(IDEAL, (k, 3, 3))
    if kappa:
        mu = np.stack([[rng.dirichlet(kappa * IDEAL[:, c]) for c in range(3)] for _ in range(k)]).swapaxes(1, 2)
    p = rng.dirichlet([16, 8, 16], k)
    confusion = np.stack([rng.multinomial(case["human"], (mu[j] * p[j]).ravel()).reshape(3, 3) for j in range(k)])
    return confusion, np.stack([rng.multinomial(case["metric"], mu[j] @ p[j]) for j in range(k)])


def sampled(confusion: np.ndarray, metric: np.ndarray) -> dict[str, Any]:
    """Sample all pairs by NUTS; return theta and its error for each, R-hat of p and divergences."""
    import jax
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist
    from numpyro.diagnostics import effective_sample_size, gelman_rubin
    from numpyro.infer import MCMC, NUTS

    k = len(confusion)
    n, joint, m = jnp.asarray(confusion.sum(1), float), jnp.asarray(confusion, float), jnp.asarray(metric, float)

    def model() -> None:
        spread = numpyro.sample("spread", dist.Uniform(0.0, 1.0))
        decided = numpyro.sample("decided", dist.Dirichlet(jnp.ones(3)))
        half = numpyro.sample("drawn", dist.Dirichlet(jnp.ones(3)))
        drawn = (half + half[::-1]) / 2
        kappa = 1 / spread**2 - 1
        means = jnp.stack([decided, drawn, decided[::-1]])
        columns = numpyro.sample("mu", dist.Dirichlet(jnp.broadcast_to(kappa * means, (k, 3, 3))).to_event(2))
        p = numpyro.sample("p", dist.Dirichlet(jnp.ones((k, 3))).to_event(1))
        mu = columns.swapaxes(1, 2)
        said = (mu * p[:, None]).sum(2)
        log_l = (n * jnp.log(p)).sum() + (joint * jnp.log(jnp.maximum(mu, 1e-300))).sum() + (m * jnp.log(said)).sum()
        numpyro.factor("counts", log_l)

    mcmc = MCMC(NUTS(model, target_accept_prob=0.95), num_warmup=600, num_samples=2000, num_chains=2,
                chain_method="vectorized", progress_bar=False)  # fmt: skip
    mcmc.run(jax.random.PRNGKey(1))
    p = np.asarray(mcmc.get_samples(group_by_chain=True)["p"])
    above = (p[..., 0] > p[..., 2]).astype(float)
    theta = above.mean((0, 1))
    ess = np.array([effective_sample_size(above[:, :, j]) if above[:, :, j].std() > 0 else 300.0 for j in range(k)])
    error = np.sqrt(np.maximum(theta * (1 - theta), 1 / ess) / ess)
    return {
        "theta": theta.tolist(),
        "error": error.tolist(),
        "mean": p.mean((0, 1)).tolist(),
        "r_hat": float(gelman_rubin(p).max()),
        "divergences": int(np.asarray(mcmc.get_extra_fields()["diverging"]).sum()),
        "spread": float(np.asarray(mcmc.get_samples()["spread"]).mean()),
    }


def main() -> None:
    """Compute what is missing."""
    import numpyro

    numpyro.enable_x64()
    done = json.loads(FILE.read_text()) if FILE.exists() else []
    for at, case in enumerate(CASES):
        if at < len(done):
            continue
        confusion, metric = counts(case, 300 + at)
        found = {"confusion": confusion.tolist(), "metric": metric.tolist(), "reference": sampled(confusion, metric)}
        done.append(case | found)
        FILE.write_text(json.dumps(done).replace("}}, ", "}},\n") + "\n")
        print(case["name"], {name: found["reference"][name] for name in ("r_hat", "divergences", "spread")}, flush=True)


if __name__ == "__main__":
    main()
