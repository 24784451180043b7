"""Compute reference posteriors for `win_posteriors.json` by long, diagnosed NUTS runs and by brute-force grids.

Nothing here is shared with the method under test: NUTS works on the density of (p, mu) itself, the grid sums it up.
Run as `python tests/oracles/make_win_posteriors.py` (about half an hour); finished cases are kept.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

FILE = Path(__file__).with_name("win_posteriors.json")
MU = {
    "poor": [[0.60, 0.495, 0.38], [0.02, 0.01, 0.02], [0.38, 0.495, 0.60]],
    "ideal": [[0.80, 0.25, 0.10], [0.10, 0.50, 0.10], [0.10, 0.25, 0.80]],
    "fair": [[0.65, 0.40, 0.25], [0.10, 0.20, 0.10], [0.25, 0.40, 0.65]],
    "singular": [[0.42, 0.40, 0.38], [0.18, 0.20, 0.20], [0.40, 0.40, 0.42]],
    "free": [[0.62, 0.50, 0.36], [0.0, 0.0, 0.0], [0.38, 0.50, 0.64]],
    "biased": [[0.70, 0.60, 0.50], [0.05, 0.10, 0.05], [0.25, 0.30, 0.45]],
}
NOISE = [[0.85, 0.10, 0.05], [0.10, 0.80, 0.10], [0.05, 0.10, 0.85]]


def declared() -> list[dict[str, Any]]:  # noqa: C901
    """List the cases: a regime, how many ratings of each kind, the truth behind them."""
    cases: list[dict[str, Any]] = []

    def add(regime: str, n: int, m: int, mu: str, p: list[float], **more: Any) -> None:
        cases.append({"regime": regime, "n": n, "m": m, "mu": mu, "p": p, "extra": 0, **more})

    even, lead, strong = [0.4, 0.2, 0.4], [0.46, 0.2, 0.34], [0.55, 0.2, 0.25]
    for n, m, mu, p in (
        (5, 100, "fair", lead), (10, 1000, "ideal", even), (20, 1000, "fair", lead), (20, 100, "poor", lead),
        (50, 1000, "fair", lead), (50, 1000, "poor", strong), (100, 1000, "ideal", lead), (200, 1000, "fair", lead),
        (200, 11000, "poor", even), (30, 1000, "biased", strong),
    ):  # fmt: skip
        add("paired", n, m, mu, p)
    for n, mu, p in ((10, "fair", lead), (10, "ideal", strong), (15, "biased", even), (8, "poor", strong)):
        add("thin ridge", n, 11000, mu, p)
    for n, m, p in ((20, 1000, lead), (50, 1000, strong), (100, 11000, lead), (10, 11000, even), (200, 1000, even)):
        add("nearly singular", n, m, "singular", p)
    for n, m, p in ((10, 11000, lead), (20, 1000, strong), (50, 11000, lead), (100, 1000, even), (200, 11000, lead)):
        add("draw-free", n, m, "free", p)
    for n, m, p in ((10, 1000, lead), (50, 11000, strong), (100, 1000, even)):
        add("two outcomes", n, m, "free", p, two_outcomes=True)
    for n, extra, m, mu, p in (
        (20, 200, 1000, "fair", lead), (50, 200, 11000, "poor", even), (20, 1000, 1000, "ideal", even),
        (50, 1000, 1000, "fair", lead), (20, 5000, 1000, "fair", even),
    ):  # fmt: skip
        add("extra human", n, m, mu, p, extra=extra)
    for n, calibration, m, mu, p in (
        (0, 60, 1000, "ideal", lead), (0, 300, 11000, "fair", strong), (20, 100, 1000, "fair", lead),
        (20, 300, 1000, "ideal", even), (200, 300, 5000, "fair", lead), (20, 200, 11000, "free", lead),
        (200, 600, 1000, "poor", even),
    ):  # fmt: skip
        add("elsewhere", n, m, mu, p, calibration=calibration)
    for n, m, mu, p in (
        (0, 1000, "ideal", lead),
        (20, 1000, "fair", lead),
        (50, 11000, "singular", lead),
        (10, 500, "ideal", even),
    ):
        add("known mu", n, m, mu, p)
    for n, m, mu, p in (
        (50, 1000, "fair", strong),
        (100, 0, "fair", lead),
        (150, 1000, "ideal", lead),
        (30, 5000, "poor", strong),
    ):
        add("rater noise", n, m, mu, p, rater=NOISE)
    return cases


def counts(case: dict[str, Any], seed: int) -> dict[str, Any]:
    """Simulate the counts of a case."""
    rng = np.random.default_rng(seed)
    p, mu = np.array(case["p"]), np.array(MU[case["mu"]])
    rater = np.array(case.get("rater", np.eye(3)))
    joint = (mu * p) @ rater.T  # [metric, human]
    both = rng.multinomial(case["n"], joint.ravel()).reshape(3, 3)
    human = both.sum(0) + rng.multinomial(case["extra"], rater @ p)
    confusion = both
    if "calibration" in case:
        confusion = rng.multinomial(case["calibration"], (mu / 3).ravel()).reshape(3, 3)
    metric = rng.multinomial(case["m"], mu @ p)
    return {"human": human.tolist(), "confusion": confusion.tolist(), "metric": metric.tolist()}


def log_density(case: dict[str, Any], data: dict[str, Any]) -> Any:
    """Return the log likelihood of (p, mu), flat priors left out."""
    import jax.numpy as jnp

    human, both, m = (jnp.array(data[name], float) for name in ("human", "confusion", "metric"))
    rater = jnp.array(case.get("rater", np.eye(3)), float)
    rows = jnp.array([0, 2]) if case.get("two_outcomes") else jnp.arange(3)

    def term(k: Any, x: Any) -> Any:
        return jnp.where(k > 0, k * jnp.log(jnp.maximum(x, 1e-300)), 0.0).sum()

    def log_l(p: Any, mu: Any) -> Any:
        value = term(m[rows], mu @ p)
        if "calibration" in case:
            return value + term(both[rows], mu) + term(human, p)
        return value + term(both[rows], (mu * p) @ rater.T) + term(human - both.sum(0), rater @ p)

    return log_l, 2 if case.get("two_outcomes") else 3


def by_nuts(case: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
    """Run NUTS until the standard error of theta is small enough."""
    import jax
    import numpyro
    import numpyro.distributions as dist
    from numpyro.diagnostics import effective_sample_size, gelman_rubin
    from numpyro.infer import MCMC, NUTS

    log_l, rows = log_density(case, data)

    def model() -> None:
        p = numpyro.sample("p", dist.Dirichlet(jax.numpy.ones(3)))
        mu = numpyro.sample("mu", dist.Dirichlet(jax.numpy.ones((3, rows))).to_event(1)).T
        numpyro.factor("counts", log_l(p, mu))

    mcmc = MCMC(NUTS(model, target_accept_prob=0.9), num_warmup=3000, num_samples=15000, num_chains=8,
                chain_method="vectorized", progress_bar=False)  # fmt: skip
    above, draws, diverging = [], [], 0
    for seed in range(12):
        mcmc.run(jax.random.PRNGKey(seed))
        p = np.asarray(mcmc.get_samples(group_by_chain=True)["p"])
        draws.append(p)
        above.append((p[..., 0] > p[..., 2]).astype(float))
        diverging += int(np.asarray(mcmc.get_extra_fields()["diverging"]).sum())
        theta = float(np.mean(above))
        ess = sum(float(effective_sample_size(one)) if one.std() > 0 else one.size / 50 for one in above)
        error = float(np.sqrt(max(theta * (1 - theta), 1 / ess) / ess))
        near = min(abs(theta - 0.025), abs(theta - 0.975)) < 0.025
        if error <= (0.00045 if near else 0.0018):
            break
    chains = np.concatenate(draws, axis=0)
    return {
        "theta": theta, "error": error, "ess": ess, "r_hat": float(gelman_rubin(chains).max()),
        "divergences": diverging, "mean": chains.reshape(-1, 3).mean(0).tolist(), "how": "NUTS",
    }  # fmt: skip


def by_grid(case: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
    """Sum the density of p over a fine grid: mu (or the raters' confusion, without a metric) is known."""
    mu, rater = np.array(MU[case["mu"]]), np.array(case.get("rater", np.eye(3)))
    n, m = np.array(data["human"]), np.array(data["metric"])

    def grid(box: tuple[float, float, float, float], size: int) -> tuple[np.ndarray, ...]:
        d = np.linspace(box[0], box[1], size + 1)
        s = np.linspace(box[2], box[3], size + 1)
        d, s = np.meshgrid((d[1:] + d[:-1]) / 2, (s[1:] + s[:-1]) / 2, indexing="ij")
        p = np.stack([(1 - s + d) / 2, s, (1 - s - d) / 2], axis=-1)
        inside = (p > 0).all(-1)
        p = np.maximum(p, 1e-300)
        log_l = (n * np.log(np.maximum(p @ rater.T, 1e-300))).sum(-1) + (m * np.log(p @ mu.T)).sum(-1)
        return d, s, np.where(inside, log_l, -np.inf)

    d, s, log_l = grid((-1, 1, 0, 1), 1200)
    kept = log_l > log_l.max() - 35
    step = (2 / 1200, 1 / 1200)
    box = (d[kept].min() - step[0], d[kept].max() + step[0], max(0.0, s[kept].min() - step[1]), s[kept].max() + step[1])
    found = []
    for size in (2400, 3600):
        d, s, log_l = grid(box, size)
        w = np.exp(log_l - log_l.max())
        # A cell that the line d = 0 cuts counts by the part above it.
        width = (box[1] - box[0]) / size
        found.append(float((w * np.clip(d / width + 0.5, 0, 1)).sum() / w.sum()))
    return {"theta": found[1], "error": max(abs(found[1] - found[0]), 1e-7), "how": "grid"}


def main() -> None:
    """Compute what is missing."""
    import numpyro

    numpyro.enable_x64()
    done = json.loads(FILE.read_text()) if FILE.exists() else []
    for k, case in enumerate(declared()):
        if k < len(done):
            continue
        data = counts(case, 100 + k)
        grid = case["regime"] == "known mu" or case["m"] == 0
        found = by_grid(case, data) if grid else by_nuts(case, data)
        known = {"mu_known": MU[case["mu"]]} if case["regime"] == "known mu" else {}
        done.append(case | data | known | {"reference": found})
        FILE.write_text(json.dumps(done, indent=None).replace("}}, ", "}},\n") + "\n")
        print(
            k,
            case["regime"],
            case["n"],
            case["m"],
            {x: round(y, 5) if isinstance(y, float) else y for x, y in found.items()},
            flush=True,
        )


if __name__ == "__main__":
    main()
