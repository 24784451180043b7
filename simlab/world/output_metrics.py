"""Give a world of judgements a metric that scores single outputs, or calls them adequate or not.

Each option of `metric` takes a world and the option's keys, and returns the world with an `OutputMetric`. rho and eta
are the true positive and the true negative rate.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Le
from scipy.special import expit, logit

from simlab.formulas import best_threshold, threshold_rates
from simlab.types import Floats, InputError, JudgedWorld, KnownCorrelation, KnownRates, OutputMetric
from simlab.types.bounds import Concentration, Spread, Value
from simlab.world.alphas import share_of_adequate_outputs
from simlab.world.judged_scores import add_perfect_metric
from simlab.world.laws.judgements import require_judgements
from simlab.world.laws.recorded_judgements import RecordedJudgements

Share = Annotated[float, Ge(0), Le(1)]


def rho_eta(
    rng: np.random.Generator,
    world: JudgedWorld,
    *,
    rho: Share | list[Share],
    eta: Share | list[Share],
    concentration: Concentration | None,
    system_concentration: Concentration | None,
    system_sd: Spread,
) -> JudgedWorld:
    """Add a metric that says adequate of adequate outputs with probability rho, inadequate of others with eta.

    With a `concentration` c a world's rho is drawn Beta(c rho, c (1 - rho)), eta alike (rho = .5, c = 2 is the uniform
    prior); with a `system_concentration` each system's are drawn around the world's in the same way, and an analyst
    who takes them for known knows the world's. A list gives each system its own; what is known is then their mean.
    With `system_sd` the logits of each system's rho and eta have normal noise added, as
    `analysis.estimator.sharing=partial` assumes. Source: von Däniken et al. 2022, definition 2.

    Raises InputError for a list that does not have one number per system, or that is to be drawn, too.
    """
    n = world.frame.n_systems
    known, own = [], []
    for name, share in (("rho", rho), ("eta", eta)):
        if isinstance(share, list):
            if len(share) != n or concentration is not None or system_concentration is not None:
                raise InputError(
                    f"metric.{name} lists {len(share)} numbers; give one for each of {n} systems and set "
                    "metric.concentration and metric.system_concentration to null"
                )
            own.append(np.asarray(share, float))
            known.append(float(own[-1].mean()))
        else:
            known.append(float(draw_shares(rng, share, concentration, None)))
    for k, share in enumerate((rho, eta)):
        if not isinstance(share, list):
            own.insert(k, draw_shares(rng, known[k], system_concentration, n))
    if system_sd > 0:
        own = [expit(logit(share) + system_sd * rng.standard_normal(n)) for share in own]
    return replace(world, metric=OutputMetric(KnownRates(*known), rho=own[0], eta=own[1]))


def correlated(
    rng: np.random.Generator,
    world: JudgedWorld,
    *,
    correlation: Annotated[float, Ge(-1), Le(1)],
    correlation_sd: Spread,
) -> JudgedWorld:
    """Add a metric that scores outputs: `correlation * f + sqrt(1 - correlation^2) * noise`.

    f is the human score of an output before leniency and noise, standardised within its system. With `correlation_sd`
    each system has its own correlation, clipped to [-1, 1]. Source: Chaganty et al. 2018, section 4.
    """
    n = world.frame.n_systems
    own = np.clip(correlation + correlation_sd * rng.standard_normal(n), -1, 1)
    return replace(world, metric=OutputMetric(KnownCorrelation(correlation), correlation=own))


def perfect(
    rng: np.random.Generator, world: JudgedWorld, *, form: Literal["all", "leave_one_out"] | None
) -> JudgedWorld:
    """Add a metric that says the human score f of every output, or whether it is adequate; of a table humans' mean.

    `all`, as published, holds the very judgement that it corrects: its data efficiency exceeds `(1 + gamma) / gamma` by
    K / (K - 1) with K judgements of an output. `leave_one_out` is the mean of the others. Source: Chaganty et al. 2018,
    section 5.

    Raises InputError for a form of drawn outputs, and none of recorded ones.
    """
    law = require_judgements(world)
    if isinstance(law, RecordedJudgements):
        if form is None:
            raise InputError("metric.form: of recorded judgements all, as published, or leave_one_out; give one")
        return add_perfect_metric(world, form)
    if form is not None:
        raise InputError(
            f"metric.form={form} is of systems=recorded; of drawn outputs the human score is known: set it to null"
        )
    if law.judges.scale == "binary":
        right = np.ones(world.frame.n_systems)
        return replace(world, metric=OutputMetric(KnownRates(1.0, 1.0), rho=right, eta=right))
    return correlated(rng, world, correlation=1.0, correlation_sd=0.0)


def thresholded(
    rng: np.random.Generator,
    world: JudgedWorld,
    *,
    correlation: Annotated[float, Ge(-1), Le(1)],
    correlation_sd: Spread,
    threshold: Value | None,
) -> JudgedWorld:
    """Add a binary metric made from a score (see `correlated`): it says adequate above a threshold.

    `threshold` is in standard deviations of the score around its mean; null: the best one for the systems' mean alpha,
    which makes rho + eta largest. What an analyst takes for known are rho and eta at that mean; the systems' own differ
    from it with their alphas. Their values are stored with the outcomes.

    Raises InputError where latent scores are not normal within a system.
    """
    latent = require_judgements(world).latent
    if latent.item_sd > 0:
        raise InputError("metric=thresholded needs latent scores that are normal: systems.item_sd=0")
    scored = correlated(rng, world, correlation=correlation, correlation_sd=correlation_sd).metric
    if scored is None or scored.correlation is None:
        raise ValueError("a correlated metric has correlations")
    alpha = share_of_adequate_outputs(latent)
    mean = float(np.mean(alpha))
    at = float(best_threshold(correlation, mean)) if threshold is None else threshold
    nominal = KnownRates(*(float(share) for share in threshold_rates(correlation, mean, at)))
    rho, eta = threshold_rates(scored.correlation, alpha, np.full(len(alpha), at))
    return replace(world, metric=replace(scored, nominal=nominal, threshold=at, rho=rho, eta=eta))


def draw_shares(rng: np.random.Generator, mean: float, concentration: float | None, n: int | None) -> Floats:
    """Draw n shares (one number if n is None) from Beta(concentration * mean, concentration * (1 - mean)).

    A mean of 0 or 1, or no concentration, gives the mean itself.
    """
    if concentration is None or mean in (0.0, 1.0):
        return np.full(n or (), mean)
    return np.asarray(rng.beta(concentration * mean, concentration * (1 - mean), n))
