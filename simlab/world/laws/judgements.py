"""Draw outputs, what raters judge of them, and what a metric says."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simlab.formulas import threshold_rates
from simlab.types import Floats, Ints, JudgementWorld, Judges, OutputMetric
from simlab.world.alphas import alphas_of, spread_of
from simlab.world.judges import deviations, human_scores, skewed
from simlab.world.laws.comparisons import latent_scores


class Drawn(NamedTuple):
    """Hold outputs `[system, output]`: the human score, whether it is adequate or not, and what the metric says.

    `score` is on the scale that the judges perceive: latent, or skewed. `said` is None without a metric.
    """

    score: Floats
    said: Floats | None

    def take(self, chosen: Ints) -> Drawn:
        """Take outputs `[system, k]`."""
        said = None if self.said is None else np.take_along_axis(self.said, chosen, axis=1)
        return Drawn(np.take_along_axis(self.score, chosen, axis=1), said)


def draw_outputs(rng: np.random.Generator, world: JudgementWorld, n: int, *, shared: bool) -> Drawn:
    """Draw n outputs of each system, of the same inputs (`shared`) or each system's of its own."""
    law, n_systems = world.latent, len(world.contest.system_names)
    if shared or (law.item_sd == 0 and law.shared_sd == 0):
        latent = latent_scores(rng, law, n)
    else:
        own = latent_scores(rng, law, n * n_systems).reshape(n_systems, n_systems, n)
        latent = own[np.arange(n_systems), np.arange(n_systems)]
    said = None if world.metric is None else _say(rng, world.metric, latent, world)
    return Drawn(human_scores(world.judges.scale, latent, law), said)


def judge(rng: np.random.Generator, judges: Judges, score: Floats, *, shared: bool) -> Floats:
    """Draw human judgements of outputs `[system, n]`, dealt to the raters evenly and at random.

    Where inputs are shared, the outputs of all systems for an input go to the same rater.
    """
    n_systems, n = score.shape
    deals = [rng.permutation(n) % len(judges.leniency) for _ in range(1 if shared else n_systems)]
    # Which raters get one more than others is random, too.
    rater = rng.permutation(len(judges.leniency))[np.stack(deals)]
    perceived = score + judges.leniency[rater]
    if judges.noise > 0:
        perceived = perceived + judges.noise * rng.standard_normal(score.shape)
    return np.asarray(perceived > 0, float) if judges.scale == "binary" else perceived


def _say(rng: np.random.Generator, metric: OutputMetric, latent: Floats, world: JudgementWorld) -> Floats:
    if metric.correlation is None:
        if metric.rho is None or metric.eta is None:
            raise ValueError("a metric needs rho and eta, or correlations")
        says = np.where(latent > 0, metric.rho[:, None], 1 - metric.eta[:, None])
        return np.asarray(rng.random(latent.shape) < says, float)
    followed = deviations(latent, world.latent)
    if world.judges.scale == "skewed_score":
        followed = skewed(followed)
    rho = metric.correlation[:, None]
    score = rho * followed + np.sqrt(1 - rho**2) * rng.standard_normal(latent.shape)
    return score if metric.threshold is None else np.asarray(score > metric.threshold, float)


class Quality(NamedTuple):
    """Hold what is true of judgements and metric `[system]`; NaN where nothing is known.

    `gamma`: noise of a judgement over spread of human scores, as variances; `correlation` of metric and human score;
    `slope` of judgements on what the metric says; `human_rho` and `human_eta` of the raters on the binary scale.
    """

    gamma: Floats
    correlation: Floats
    slope: Floats
    human_rho: Floats
    human_eta: Floats


def quality(world: JudgementWorld) -> Quality:
    """Work out how good judgements and metric are; gamma and correlation as in Chaganty et al. 2018."""
    none = np.full(len(world.contest.system_names), np.nan)
    judges, spread = world.judges, spread_of(world.latent)
    if judges.scale != "binary":
        gamma = (judges.noise**2 + float(np.var(judges.leniency))) / spread**2
        scores = world.metric is not None and world.metric.threshold is None
        follows = world.metric.correlation if scores and world.metric is not None else None
        follows = none if follows is None else follows
        return Quality(gamma, follows, follows * spread, none, none)
    alpha = alphas_of(world.latent)
    if judges.noise == 0 and not judges.leniency.any():
        phi, slope = _of_binary(world.metric, alpha) if world.metric is not None else (none, none)
        return Quality(0 * alpha, phi, slope, 0 * alpha + 1, 0 * alpha + 1)
    if world.latent.item_sd > 0:
        return Quality(none, none, none, none, none)
    # A rater says adequate where latent score + leniency + noise > 0: a score with a threshold, again.
    perceived = np.hypot(spread, judges.noise)[:, None]
    finite = np.where(np.isfinite(world.latent.quality), world.latent.quality, 0.0)[:, None]
    rates = threshold_rates(spread[:, None] / perceived, alpha[:, None], -(finite + judges.leniency) / perceived)
    return Quality(none, none, none, *(share.mean(1) for share in rates))


def _of_binary(metric: OutputMetric, alpha: Floats) -> tuple[Floats, Floats]:
    """Return the correlation of a binary metric with adequacy, and the slope of adequacy on what it says."""
    if metric.rho is None or metric.eta is None:
        return np.full(len(alpha), np.nan), np.full(len(alpha), np.nan)
    q = alpha * metric.rho + (1 - alpha) * (1 - metric.eta)
    covariance, variance = (metric.rho + metric.eta - 1) * alpha * (1 - alpha), q * (1 - q)
    unknown = np.full(len(alpha), np.nan)
    slope = np.divide(covariance, variance, out=unknown.copy(), where=variance > 0)
    spread = np.sqrt(alpha * (1 - alpha) * variance)
    return np.divide(covariance, spread, out=unknown, where=spread > 0), slope
