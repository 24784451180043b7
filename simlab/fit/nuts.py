"""Fit the law to a pilot by NUTS: its exact likelihood, with every factor a variable, and chains that are diagnosed.

Given the normal part that all raters of an output share, a count has the probability that the own part falls between
two quantiles of the negative binomial law: the copula of `raters.rate`, read backwards. Priors are those of the fast
method (`synthetic.PRIOR_SCALE`); spreads of systems and raters are half-normal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from simlab.fit import fast, moments, synthetic
from simlab.fit.fast import Fit, Population
from simlab.fit.pilot import Pilot
from simlab.types import Array, Floats, InputError
from simlab.world.fitted_law import Effects

CHAINS, WARMUP, SAMPLES = 2, 400, 400
MAX_TREE_DEPTH = 7
R_HAT_BAD, R_HAT_DOUBTFUL, ESS_DOUBTFUL, DIVERGENT_SHARE_BAD = 1.2, 1.05, 50, 0.1
STEPS = (0, 1, 3, 7, 15, 31, 63)
"""Counts are summed up to the next of these, so that the many small ones cost little."""

POPULATION_SCALE = {"system_sd": 0.7, "leniency_sd": 1.0, "severity_sd": 1.0, "sharpness_sd": 0.4}


def fit(pilot: Pilot, seed: int = 0, draws: int = fast.DRAWS, *, warmup: int = WARMUP, samples: int = SAMPLES) -> Fit:
    """Sample the posterior; raise InputError where chains disagree so much that their draws mean nothing.

    `diagnosis` of the fit holds the largest R-hat and the least effective sample of the named parameters, the number
    of divergent transitions and the share of trajectories that were cut at the largest tree.
    """
    counts = np.minimum(pilot.counts[:2], STEPS[-1])
    with _doubles():
        model = _model(pilot, counts[:1] if not pilot.counts[1].any() else counts)
        found, extra = _sampled(model, _start(pilot), seed, warmup, samples)
    diagnosis = diagnose(found, extra)
    if diagnosis["r_hat"] > R_HAT_BAD or diagnosis["divergent_share"] > DIVERGENT_SHARE_BAD:
        raise InputError(
            f"--method nuts: chains did not agree (R-hat {diagnosis['r_hat']:.2f}, "
            f"{diagnosis['divergent_share']:.0%} divergent); this pilot asks for --method fast"
        )
    return _fit_of(pilot, found, diagnosis, draws)


def _doubles() -> Any:
    """Let JAX use double precision for a while: differences of probabilities need it."""
    import importlib

    # Its place moved with JAX 0.8.
    place = "jax" if hasattr(importlib.import_module("jax"), "enable_x64") else "jax.experimental"
    return importlib.import_module(place).enable_x64(True)


def doubts(diagnosis: Mapping[str, float]) -> list[str]:
    """Say in sentences what is doubtful about chains."""
    said = []
    if diagnosis.get("r_hat", 1.0) > R_HAT_DOUBTFUL:
        said.append(f"R-hat is {diagnosis['r_hat']:.2f}, which should be below {R_HAT_DOUBTFUL}: chains have not mixed")
    if diagnosis.get("ess", np.inf) < ESS_DOUBTFUL:
        said.append(f"the least effective sample is {diagnosis['ess']:.0f}; below {ESS_DOUBTFUL} intervals are rough")
    if diagnosis.get("divergent_share", 0.0) > 0:
        said.append(f"{diagnosis['divergent_share']:.1%} of transitions diverged: tails may be missing")
    return said


def _sampled(
    model: Callable[[], None], start: Mapping[str, Array], seed: int, warmup: int, samples: int
) -> tuple[dict[str, Array], dict[str, Array]]:
    import jax
    from numpyro.infer import MCMC, NUTS, init_to_value

    kernel = NUTS(
        model, init_strategy=init_to_value(values=dict(start)), max_tree_depth=MAX_TREE_DEPTH, target_accept_prob=0.8
    )
    mcmc = MCMC(
        kernel, num_warmup=warmup, num_samples=samples, num_chains=CHAINS, chain_method="vectorized", progress_bar=False
    )
    mcmc.run(jax.random.PRNGKey(seed), extra_fields=("diverging", "num_steps"))
    found = {name: np.asarray(values) for name, values in mcmc.get_samples(group_by_chain=True).items()}
    extra = {name: np.asarray(values) for name, values in mcmc.get_extra_fields(group_by_chain=True).items()}
    return found, extra


def diagnose(found: Mapping[str, Array], extra: Mapping[str, Array]) -> dict[str, float]:
    """Return the worst R-hat and effective sample of single numbers, systems and raters, and how sampling went."""
    from numpyro.diagnostics import effective_sample_size, split_gelman_rubin

    named = [found[name].reshape(*found[name].shape[:2], -1) for name in (*SCALARS, "system", "leniency", "severity")]
    flat = np.concatenate([values for values in named if values.std() > 0], axis=2)
    return {
        "r_hat": float(np.nanmax(split_gelman_rubin(flat))),
        "ess": float(np.nanmin(effective_sample_size(flat))),
        "divergences": float(extra["diverging"].sum()),
        "divergent_share": float(extra["diverging"].mean()),
        "longest_trees_share": float((extra["num_steps"] >= 2**MAX_TREE_DEPTH - 1).mean()),
    }


SCALARS = (*synthetic.NAMES, "log_mean_score", "system_sd", "leniency_sd", "severity_sd", "major_logit")


def _start(pilot: Pilot) -> dict[str, Array]:
    """Begin at the margins, with middling spreads: warm-up need not find the level of scores."""
    found = moments.margins(pilot)
    effects = fast.effects_of(pilot, found, fast.START)
    values = dict(zip(synthetic.NAMES, fast.START, strict=True))
    return values | {
        "log_mean_score": np.log(effects.system_mean).mean(),
        "system": np.log(effects.system_mean),
        "leniency": np.log(effects.leniency),
        "severity": np.log(effects.severity),
        "major_logit": np.log(effects.major_share / (1 - effects.major_share)),
        "document": np.zeros(pilot.n_documents),
        "segment": np.zeros(len(pilot.document)),
    }


def _model(pilot: Pilot, counts: Array) -> Callable[[], None]:
    """Return the NumPyro model of a pilot's counts, `counts[kind, rating]`."""
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist

    n_systems, n_raters, n_documents, n_items = pilot.n_systems, pilot.n_raters, pilot.n_documents, len(pilot.document)
    document = pilot.document[pilot.item]
    cells = {
        "system_document": pilot.system * n_documents + document,
        "rater_system": pilot.rater * n_systems + pilot.system,
        "rater_document": pilot.rater * n_documents + document,
        "rater_output": (pilot.rater * n_documents + document) * n_systems + pilot.system,
    }
    compact = {name: np.unique(cell, return_inverse=True)[1] for name, cell in cells.items()}
    output = np.unique(pilot.system * n_items + pilot.item, return_inverse=True)[1]
    likelihood = copula_likelihood(counts)

    def half(name: str, scale: float) -> Any:
        return numpyro.sample(name, dist.HalfNormal(scale))

    def centred(name: str, sd: Any, n: int, mean: Any = 0.0) -> Any:
        return numpyro.sample(name, dist.Normal(mean - sd**2 / 2, sd).expand([n]))

    def scaled(name: str, sd: Any) -> Any:
        index = compact[name]
        z = numpyro.sample(name, dist.Normal().expand([int(index.max()) + 1]))
        return (sd * z - sd**2 / 2)[index]

    def model() -> None:
        sd = {name: half(name, scale) for name, scale in zip(synthetic.NAMES[:7], synthetic.PRIOR_SCALE, strict=False)}
        sd |= {name: half(name, scale) for name, scale in POPULATION_SCALE.items()}
        share = numpyro.sample("noise_share", dist.Uniform(0.0, 1.0))
        level = numpyro.sample("log_mean_score", dist.Normal(jnp.log(jnp.asarray(pilot.score.mean())), 2.0))
        odds = numpyro.sample("major_logit", dist.Normal(-1.0, 2.0))
        system = centred("system", sd["system_sd"], n_systems, level)
        leniency = centred("leniency", sd["leniency_sd"], n_raters)
        severity = centred("severity", sd["severity_sd"], n_raters)
        sharpness = jnp.exp(sd["sharpness_sd"] * numpyro.sample("sharpness", dist.Normal().expand([n_raters])))
        minor = numpyro.sample("minor_sharpness", dist.TruncatedNormal(1.0, 0.5, low=0.0))
        place = centred("document", sd["document_sd"], n_documents)[document]
        place += centred("segment", sd["segment_sd"], n_items)[pilot.item]
        own = scaled("system_document", sd["system_document_sd"])
        taste = sum(scaled(name, sd[f"{name}_sd"]) for name in ("rater_system", "rater_document", "rater_output"))
        major = 1 / (1 + jnp.exp(-odds)), 1 / (1 + jnp.exp(-odds - severity[pilot.rater]))
        points = pilot.minor_weight + (pilot.major_weight - pilot.minor_weight) * major[0]
        marked = jnp.log(1 / points) + system.mean() + place + leniency[pilot.rater] + taste
        relative = (system - system.mean())[pilot.system]
        shares = (1 - major[1], major[1]) if len(counts) == 2 else (jnp.ones_like(major[1]),)
        z = numpyro.sample("shared", dist.Normal().expand([len(counts), int(output.max()) + 1]))
        for kind, (part, power) in enumerate(zip(shares, (minor, 1.0), strict=False)):
            sharp = power * sharpness[pilot.rater]
            shift = sd["system_document_sd"] ** 2 * sharp * (sharp - 1) / 2
            mean = jnp.exp(marked + jnp.log(part) + sharp * (relative + own) - shift)
            numpyro.factor(f"counts{kind}", likelihood(kind, mean, sd["dispersion"], share, z[kind][output]))

    return model


def copula_likelihood(counts: Array) -> Callable[[int, Any, Any, Any, Any], Any]:
    """Return the log probability of the counts of a kind, given their means and the shared normal parts.

    The function takes kind, mean[rating], dispersion, share of noise that is own, shared[rating].
    """
    import jax.numpy as jnp
    from jax.scipy.special import ndtr, ndtri

    steps = [np.searchsorted(STEPS, row) for row in counts]

    def cumulated(mean: Any, dispersion: Any, count: Array, top: int) -> tuple[Any, Any]:
        """Return the distribution function just below and at the counts, none of them above `top`."""
        d = dispersion + 1e-6
        pmf = jnp.exp(-jnp.log1p(d * mean) / d)
        ratio = mean / (1 + d * mean)
        below, at = jnp.zeros_like(mean), pmf
        for k in range(top):
            pmf = pmf * ratio * (1 + d * k) / (k + 1)
            below = jnp.where(count > k, at, below)
            at = jnp.where(count > k, at + pmf, at)
        return below, at

    def likelihood(kind: int, mean: Any, dispersion: Any, share: Any, shared: Any) -> Any:
        total: Any = 0.0
        own, common = jnp.sqrt(share + 1e-6), jnp.sqrt(1 - share + 1e-6)
        for step, top in enumerate(STEPS):
            here = np.flatnonzero(steps[kind] == step)
            if not len(here):
                continue
            count = counts[kind][here]
            below, at = cumulated(mean[here], dispersion, count, top)
            high = (ndtri(jnp.clip(at, 1e-12, 1 - 1e-9)) - common * shared[here]) / own
            low = (ndtri(jnp.clip(below, 1e-12, 1 - 1e-9)) - common * shared[here]) / own
            low = jnp.where(count > 0, low, -40.0)
            # In the upper tail differences of probabilities near 1 are lost: there the mirror image is taken.
            flip = low > 0
            upper, lower = jnp.where(flip, -low, high), jnp.where(flip, -high, low)
            total += jnp.log(jnp.maximum(ndtr(upper) - ndtr(lower), 1e-30)).sum()
        return total

    return likelihood


def _fit_of(pilot: Pilot, found: Mapping[str, Array], diagnosis: Mapping[str, float], draws: int) -> Fit:
    flat = {name: values.reshape(-1, *values.shape[2:]) for name, values in found.items()}
    pick = np.linspace(0, len(flat["noise_share"]) - 1, draws).round().astype(int)
    punctuation = np.exp(moments.margins(pilot).punctuation)
    theta = np.stack([flat[name][pick] for name in synthetic.NAMES], axis=1)
    effects = tuple(_effects(pilot, {name: v[k] for name, v in flat.items()}, punctuation) for k in pick)
    population = tuple(
        Population(*(float(v) for v in (np.exp(flat["log_mean_score"][k]), *(flat[n][k] for n in _SPREADS))))
        for k in pick
    )
    return Fit(pilot, effects, population, theta, "nuts", diagnosis)


_SPREADS = ("system_sd", "leniency_sd", "severity_sd")


def _effects(pilot: Pilot, draw: Mapping[str, Array], punctuation: Floats) -> Effects:
    counted = bool(pilot.counts[1].any())
    return Effects(
        system_mean=np.exp(draw["system"]),
        leniency=np.exp(draw["leniency"]),
        severity=np.exp(draw["severity"]) if counted else np.ones(pilot.n_raters),
        sharpness=np.clip(np.exp(draw["sharpness_sd"] * draw["sharpness"]), *fast.SHARPNESS),
        punctuation=punctuation,
        rater_system=None,
        **{name: float(draw[name]) for name in synthetic.NAMES},
        major_share=float(np.clip(1 / (1 + np.exp(-draw["major_logit"])), 0.001, 0.99)) if counted else 0.01,
        minor_sharpness=min(float(draw["minor_sharpness"]), 2.0),
        minor_weight=pilot.minor_weight,
        major_weight=pilot.major_weight,
    )
