"""Fit the law to a pilot by NUTS: its exact likelihood, with every factor a variable, and chains that are diagnosed.

Given the normal part that all raters of an output share, a count has the probability that the own part falls between
two quantiles of the negative binomial law: the copula of `raters.rate`, read backwards. Priors are those of the fast
method (`synthetic.PRIOR_SCALE`); spreads of systems and raters are half-normal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from simlab.fitting import fast, moments, synthetic
from simlab.fitting.fast import Fit
from simlab.fitting.pilot import Pilot
from simlab.rng import stream
from simlab.types import Array, Floats, InputError, Ints
from simlab.world.laws.fitted import Effects

CHAINS, WARMUP, SAMPLES = 2, 300, 300
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
    counts = np.minimum(pilot.counts[: 2 if pilot.counts[1].any() else 1], STEPS[-1])
    with _doubles():
        model = _model(pilot, counts)
        posterior, extra = _sampled(model, _start(pilot, len(counts)), seed, warmup, samples)
    diagnosis = diagnose(posterior, extra)
    if diagnosis["r_hat"] > R_HAT_BAD or diagnosis["divergent_share"] > DIVERGENT_SHARE_BAD:
        raise InputError(
            f"--method nuts: chains did not agree (R-hat {diagnosis['r_hat']:.2f}, "
            f"{diagnosis['divergent_share']:.0%} divergent); this pilot asks for --method fast"
        )
    return _fit_of(pilot, posterior, diagnosis, draws, seed)


def _doubles() -> Any:
    """Let JAX use double precision for a while: differences of probabilities need it."""
    import importlib

    # It moved with JAX 0.8.
    module = "jax" if hasattr(importlib.import_module("jax"), "enable_x64") else "jax.experimental"
    return importlib.import_module(module).enable_x64(True)


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

    begin = init_to_value(values=dict(start))
    kernel = NUTS(model, init_strategy=begin, max_tree_depth=MAX_TREE_DEPTH, target_accept_prob=0.8)
    mcmc = MCMC(
        kernel, num_warmup=warmup, num_samples=samples, num_chains=CHAINS, chain_method="vectorized", progress_bar=False
    )
    mcmc.run(jax.random.PRNGKey(seed), extra_fields=("diverging", "num_steps"))
    posterior = {name: np.asarray(values) for name, values in mcmc.get_samples(group_by_chain=True).items()}
    extra = {name: np.asarray(values) for name, values in mcmc.get_extra_fields(group_by_chain=True).items()}
    return posterior, extra


def diagnose(posterior: Mapping[str, Array], extra: Mapping[str, Array]) -> dict[str, float]:
    """Return the worst R-hat and effective sample of single numbers, systems and raters, and how sampling went."""
    from numpyro.diagnostics import effective_sample_size, split_gelman_rubin

    named = [
        posterior[name].reshape(*posterior[name].shape[:2], -1)
        for name in (*SCALARS, "system", "leniency", "severity")
        if name in posterior
    ]
    flat = np.concatenate([values for values in named if values.std() > 0], axis=2)
    return {
        "r_hat": float(np.nanmax(split_gelman_rubin(flat))),
        "ess": float(np.nanmin(effective_sample_size(flat))),
        "divergences": float(extra["diverging"].sum()),
        "divergent_share": float(extra["diverging"].mean()),
        "longest_trees_share": float((extra["num_steps"] >= 2**MAX_TREE_DEPTH - 1).mean()),
    }


SCALARS = (*synthetic.NAMES, "level", "system_sd", "leniency_sd", "severity_sd", "major_logit")


def _start(pilot: Pilot, n_kinds: int) -> dict[str, Array]:
    """Begin at the margins, with middling spreads and all other factors 1: warm-up need not find these."""
    effects = fast.effects_of(pilot, moments.margins(pilot), fast.START)
    level = float(np.log(effects.system_mean / _points(pilot, effects.major_share)).mean())
    logs = {"system": effects.system_mean, "leniency": effects.leniency, "severity": effects.severity}
    start = dict(zip(synthetic.NAMES, fast.START, strict=True)) | dict.fromkeys(POPULATION_SCALE, 0.4)
    start |= {name: np.log(values) - np.log(values).mean() for name, values in logs.items() if len(values) > 1}
    places = _places(pilot)
    start |= {name: np.zeros(int(index.max()) + 1) for name, index in places.items() if name != "output"}
    return start | {
        "level": level,
        "place": np.full(len(pilot.document), level),
        "document": np.zeros(pilot.n_documents),
        "major_logit": np.log(effects.major_share / (1 - effects.major_share)),
        "sharpness": np.zeros(pilot.n_raters),
        "minor_sharpness": 0.8,
        "shared": np.zeros(n_kinds * (int(places["output"].max()) + 1)),
    }


def _places(pilot: Pilot) -> dict[str, Ints]:
    """Number, for each rating, the combinations that have factors of their own; only those that occur."""
    n_systems, n_documents, document = pilot.n_systems, pilot.n_documents, pilot.document[pilot.item]
    cells = {
        "system_document": pilot.system * n_documents + document,
        "rater_system": pilot.rater * n_systems + pilot.system,
        "rater_document": pilot.rater * n_documents + document,
        "rater_output": (pilot.rater * n_documents + document) * n_systems + pilot.system,
        "output": pilot.system * len(pilot.document) + pilot.item,
    }
    return {name: np.unique(cell, return_inverse=True)[1] for name, cell in cells.items()}


def _points(pilot: Pilot, share: Any) -> Any:
    return pilot.minor_weight + (pilot.major_weight - pilot.minor_weight) * share


def _model(pilot: Pilot, counts: Array) -> Callable[[], None]:
    """Return the NumPyro model of a pilot's counts, `counts[kind, rating]`.

    Levels of which only the sum is known would make long ridges. So systems and raters deviate from their own mean
    (what raters at large are like is drawn afterwards, as in the fast method), and segments carry the documents' level.
    """
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist

    n_systems, n_raters, n_documents = pilot.n_systems, pilot.n_raters, pilot.n_documents
    compact = _places(pilot)
    output = compact["output"]
    n_outputs = int(output.max()) + 1
    outputs = np.concatenate([severity * n_outputs + output for severity in range(len(counts))])
    likelihood = copula_likelihood(counts.ravel())

    def deviations(name: str, sd: Any, n: int) -> Any:
        return numpyro.sample(name, dist.ZeroSumNormal(sd, (n,))) if n > 1 else jnp.zeros(n)

    def scaled(name: str, sd: Any) -> Any:
        index = compact[name]
        z = numpyro.sample(name, dist.Normal().expand([int(index.max()) + 1]))
        return (sd * z - sd**2 / 2)[index]

    def centred(name: str, sd: Any) -> Any:
        index = compact[name]
        return numpyro.sample(name, dist.Normal(-(sd**2) / 2, sd).expand([int(index.max()) + 1]))[index]

    def model() -> None:
        sd = dict(zip(synthetic.NAMES[:7], synthetic.PRIOR_SCALE.tolist(), strict=False)) | POPULATION_SCALE
        sd = {name: numpyro.sample(name, dist.HalfNormal(scale)) for name, scale in sd.items()}
        share = numpyro.sample("noise_share", dist.Uniform(0.0, 1.0))
        overall = numpyro.sample("level", dist.Normal(0.0, 5.0))
        odds = numpyro.sample("major_logit", dist.Normal(-1.0, 2.0))
        system = deviations("system", sd["system_sd"], n_systems)[pilot.system]
        rater = deviations("leniency", sd["leniency_sd"], n_raters)[pilot.rater]
        odds = odds + deviations("severity", sd["severity_sd"], n_raters)[pilot.rater]
        sharpness = jnp.exp(sd["sharpness_sd"] * numpyro.sample("sharpness", dist.Normal().expand([n_raters])))
        minor = numpyro.sample("minor_sharpness", dist.TruncatedNormal(1.0, 0.5, low=0.0))
        by_document = overall + sd["document_sd"] * numpyro.sample("document", dist.Normal().expand([n_documents]))
        by_segment = numpyro.sample("place", dist.Normal(by_document[pilot.document], sd["segment_sd"]))[pilot.item]
        # What many ratings tell is better drawn itself, what few ratings tell in units of its spread.
        own = centred("system_document", sd["system_document_sd"])
        taste = centred("rater_document", sd["rater_document_sd"])
        taste += scaled("rater_system", sd["rater_system_sd"]) + scaled("rater_output", sd["rater_output_sd"])
        logs = []
        for sign, power in ((1, minor), (-1, 1.0))[: len(counts)]:
            sharp = power * sharpness[pilot.rater]
            shift = sd["system_document_sd"] ** 2 * sharp * (sharp - 1) / 2
            part = -jnp.logaddexp(0.0, sign * odds) if len(counts) == 2 else 0.0
            logs.append(by_segment + rater + taste + part + sharp * (system + own) - shift)
        z = numpyro.sample("shared", dist.Normal().expand([len(counts) * n_outputs]))
        mean = jnp.exp(jnp.concatenate(logs))
        numpyro.factor("counts", likelihood(mean, sd["dispersion"], share, z[outputs]))

    return model


def copula_likelihood(counts: Array) -> Callable[[Any, Any, Any, Any], Any]:
    """Return a function that gives the log probability of counts, given their means and the shared normal parts.

    The function takes mean[count], dispersion, share of noise that is each rating's own, shared[count].
    """
    import jax.numpy as jnp
    from jax import lax
    from jax.scipy.special import ndtr, ndtri

    groups = [np.flatnonzero(np.searchsorted(STEPS, counts) == step) for step in range(len(STEPS))]

    def cumulated(mean: Any, dispersion: Any, count: Array, top: int) -> tuple[Any, Any]:
        """Return the distribution function just below and at the counts, none of them above `top`."""
        d = dispersion + 1e-6
        pmf = jnp.exp(-jnp.log1p(d * mean) / d)
        ratio = mean / (1 + d * mean)

        def step(held: Any, k: Any) -> tuple[Any, None]:
            pmf, below, at = held
            pmf = pmf * ratio * (1 + d * k) / (k + 1)
            return (pmf, jnp.where(count > k, at, below), jnp.where(count > k, at + pmf, at)), None

        # A loop rather than its unrolled steps: these take minutes and gigabytes to compile.
        (_, below, at), _ = lax.scan(step, (pmf, jnp.zeros_like(mean), pmf), jnp.arange(top, dtype=mean.dtype))
        return below, at

    def likelihood(mean: Any, dispersion: Any, share: Any, shared: Any) -> Any:
        own, common = jnp.sqrt(share + 1e-6), jnp.sqrt(1 - share + 1e-6)
        total: Any = 0.0
        for here, top in zip(groups, STEPS, strict=True):
            if not len(here):
                continue
            count = counts[here]
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


def _fit_of(pilot: Pilot, posterior: Mapping[str, Array], diagnosis: Mapping[str, float], draws: int, seed: int) -> Fit:
    flat = {name: values.reshape(-1, *values.shape[2:]) for name, values in posterior.items()}
    pick = np.linspace(0, len(flat["noise_share"]) - 1, draws).round().astype(int)
    rng = stream(seed, "fit", "nuts", "raters at large")
    punctuation = np.exp(moments.margins(pilot).punctuation)
    effects, at_large = [], []
    for k in pick:
        draw = {name: values[k] for name, values in flat.items()}
        spreads = [float(draw[name]) for name in ("system_sd", "leniency_sd", "severity_sd")]
        known = _effects(pilot, draw, punctuation)
        spreads[0] *= fast.average_sharpness(known)
        effects.append(fast.at_large(rng, known, *spreads[1:]))
        at_large.append(fast.population(rng, effects[-1], *spreads))
    theta = np.stack([flat[name][pick] for name in synthetic.NAMES], axis=1)
    return Fit(pilot, tuple(effects), tuple(at_large), theta, "nuts", diagnosis)


def _effects(pilot: Pilot, draw: Mapping[str, Array], punctuation: Floats) -> Effects:
    counted, n = bool(pilot.counts[1].any()), pilot.n_raters
    share = float(np.clip(1 / (1 + np.exp(-draw["major_logit"])), 0.001, 0.99)) if counted else 0.01
    overall = draw["level"] + (draw["document_sd"] ** 2 + draw["segment_sd"] ** 2) / 2
    return Effects(
        system_mean=np.exp(overall + draw.get("system", np.zeros(1))) * _points(pilot, share),
        leniency=np.exp(draw.get("leniency", np.zeros(n))),
        severity=np.exp(draw.get("severity", np.zeros(n))) if counted else np.ones(n),
        sharpness=np.clip(np.exp(draw["sharpness_sd"] * draw["sharpness"]), *fast.SHARPNESS),
        punctuation=punctuation,
        **{name: float(draw[name]) for name in synthetic.NAMES},
        major_share=share,
        minor_sharpness=min(float(draw["minor_sharpness"]), 2.0),
        minor_weight=pilot.minor_weight,
        major_weight=pilot.major_weight,
    )
