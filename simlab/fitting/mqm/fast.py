"""Fit a law to a pilot in seconds: moments, a synthetic likelihood, and shrunken margins.

What is said of single systems and raters is empirical Bayes: their margins are shrunk towards their mean by the error
that margins of simulated tables have, so that draws of systems spread as far as systems do, not as far as estimates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit, logit
from threadpoolctl import threadpool_limits

from simlab.fitting.mqm import moments, synthetic
from simlab.fitting.mqm.moments import Margins
from simlab.fitting.mqm.pilot import Pilot
from simlab.fitting.mqm.simulating import simulate
from simlab.fitting.mqm.units import Units, draw, weighed
from simlab.rng import stream
from simlab.types import Bools, Floats
from simlab.world.laws.fitted import Effects

START = np.array([0.4, 0.5, 0.3, 0.1, 0.3, 0.2, 0.4, 0.5, 0.2, 0.4, 0.3, 0.5, 0.3])
ROUNDS = (80, 100, 220)
"""Tables that are simulated: a first, wide look, then around its answer."""

UNITS = ("system", "rater", "severity", "sharpness", "minor_sharpness")
"""Margins that speak of single systems and raters."""

SHARPNESS = (0.05, 4.0)
SPREAD = {"system": 0.5, "rater": 1.0, "severity": 1.0, "sharpness": 0.3, "minor_sharpness": 0.3}
"""Scales of the half-normal priors of how far systems, or raters, spread."""

DRAWS = 100


@dataclass(frozen=True, slots=True)
class Population:
    """Say how systems and raters at large spread, for systems and raters that no pilot has seen."""

    mean_score: float
    system_sd: float
    leniency_sd: float
    severity_sd: float


@dataclass(frozen=True, slots=True)
class Fit:
    """Hold draws of all parameters of a law, and the pilot that they come from.

    `theta[draw, parameter]` are those of `synthetic.NAMES`; `diagnosis` says how sampling went, where it can go wrong.
    """

    pilot: Pilot
    effects: tuple[Effects, ...]
    population: tuple[Population, ...]
    theta: Floats
    method: str
    diagnosis: Mapping[str, Any]


def fit(pilot: Pilot, seed: int = 0, draws: int = DRAWS, rounds: tuple[int, ...] | None = None) -> Fit:
    """Fit the law to a pilot; the same seed gives the same draws."""
    # Arrays are small: threads that share them cost more than they do.
    with threadpool_limits(1):
        return _fit(pilot, seed, draws, rounds or ROUNDS)


def _fit(pilot: Pilot, seed: int, draws: int, rounds: tuple[int, ...]) -> Fit:
    observed = moments.margins(pilot)
    used = np.isfinite(observed.pairs)
    centre, theta = observed, np.tile(START, (60, 1))
    for number, n in enumerate(rounds):
        rng = stream(seed, "fit", number)
        tried = _proposals(rng, theta, n)
        simulated = [_simulated(rng, pilot, centre, row) for row in tried]
        used &= np.mean([np.isfinite(one.pairs) for one in simulated], axis=0) > 0.9
        theta = _posterior(rng, tried, simulated, observed, used)
        units = [estimate(field, observed, centre, simulated) for field in UNITS]
        centre = centre._replace(**dict(zip(UNITS, (unit.shrunk for unit in units), strict=True)))
    return _assemble(stream(seed, "fit", "draws"), pilot, observed, units, theta, draws)


def _proposals(rng: np.random.Generator, theta: Floats, n: int) -> Floats:
    """Scatter parameters around draws, wider than these, so that the surface is learnt beyond them."""
    centre, spread = theta.mean(0), np.maximum(1.5 * theta.std(0), 0.25 * theta.mean(0) + 0.05)
    tried: Floats = np.abs(centre + spread * rng.standard_normal((n, len(centre))))
    tried[:, synthetic.SPREADS] = np.minimum(tried[:, synthetic.SPREADS], 1.5)
    tried[:, 11] = np.minimum(tried[:, 11], 2.5)
    share = tried[:, synthetic.SHARES]
    tried[:, synthetic.SHARES] = np.clip(np.where(share > 1, 2 - share, share), 0.01, 0.99)
    return tried


def _posterior(
    rng: np.random.Generator, tried: Floats, tables: list[Margins], observed: Margins, used: Bools
) -> Floats:
    if not used.any():
        return _prior(rng, 60 * 40)
    simulated = np.array([one.pairs[used] for one in tables])
    whole = np.isfinite(simulated).all(1)
    surface = synthetic.regress(tried[whole], simulated[whole])
    return synthetic.sample(rng, surface, observed.pairs[used], tried.mean(0))


def _prior(rng: np.random.Generator, n: int) -> Floats:
    theta = np.abs(rng.standard_normal((n, len(START)))) * np.where(
        np.isfinite(synthetic.PRIOR_SCALE), synthetic.PRIOR_SCALE, 0.0
    )
    theta[:, synthetic.SHARES] = rng.random((n, len(synthetic.SHARES)))
    return theta


def effects_of(pilot: Pilot, margins: Margins, theta: Floats) -> Effects:
    """Put margins and spreads together to a law.

    Margins of raters are those of scores; how many errors they mark follows from these and from how many are major.
    """
    odds = margins.severity - margins.severity.mean()
    major_share = float(np.clip(expit(margins.severity.mean()), 0.01, 0.99)) if pilot.counts[1].any() else 0.01
    # Margins are those of all points; punctuation is drawn beside the law's minor and major errors.
    reduced = 1 - float(0.1 * pilot.counts[2].sum() / pilot.score.sum())
    return Effects(
        system_mean=np.exp(margins.system) * reduced,
        leniency=np.exp(margins.rater) * points(pilot, logit(major_share)) / points(pilot, logit(major_share) + odds),
        severity=np.exp(odds),
        sharpness=np.clip(margins.sharpness, *SHARPNESS),
        punctuation=np.exp(margins.punctuation),
        **dict(zip(synthetic.NAMES, theta.tolist(), strict=True)),
        major_share=major_share,
        minor_sharpness=float(np.clip(margins.minor_sharpness[0], 0, 2)),
        minor_weight=pilot.minor_weight,
        major_weight=pilot.major_weight,
    )


def points(pilot: Pilot, log_odds: Floats) -> Floats:
    """Return the points that an error costs on average, where it is major with such log odds."""
    return np.asarray(pilot.minor_weight + (pilot.major_weight - pilot.minor_weight) * expit(log_odds))


def _simulated(rng: np.random.Generator, pilot: Pilot, centre: Margins, theta: Floats) -> Margins:
    return moments.margins(simulate(rng, effects_of(pilot, centre, theta), pilot))


def estimate(field: str, observed: Margins, centre: Margins, tables: list[Margins]) -> Units:
    """Correct and weigh one kind of margins by what became of it in tables whose truth was `centre`."""
    simulated = np.array([np.atleast_1d(getattr(one, field)) for one in tables])
    error = simulated - simulated.mean(0)
    corrected = np.atleast_1d(getattr(observed, field)) + np.atleast_1d(getattr(centre, field)) - simulated.mean(0)
    return weighed(corrected, error, SPREAD[field])


def leniencies(pilot: Pilot, rater: Units, severity: Units) -> Units:
    """Tell how many errors raters mark from what scores they give and how many of their errors are major."""
    if not pilot.counts[1].any():
        return rater
    corrected = rater.corrected - np.log(points(pilot, severity.corrected))
    simulated = rater.corrected + rater.error - np.log(points(pilot, severity.corrected + severity.error))
    return weighed(corrected, simulated - simulated.mean(0), SPREAD["rater"])


def _assemble(
    rng: np.random.Generator, pilot: Pilot, observed: Margins, units: list[Units], theta: Floats, draws: int
) -> Fit:
    """Draw systems and raters beside the spreads, each draw a possible law."""
    rows = theta[rng.choice(len(theta), draws, replace=len(theta) < draws)]
    pick = rng.integers(len(units[0].error), size=draws)
    named = dict(zip(UNITS, units, strict=True))
    drawn = {field: draw(rng, unit, pick) for field, unit in named.items()}
    _, leniency_sd = draw(rng, leniencies(pilot, named["rater"], named["severity"]), pick)
    effects, at_large_too = [], []
    for k in range(draws):
        margin = observed._replace(**{field: values[k] for field, (values, _) in drawn.items()})
        severity_sd = float(drawn["severity"][1][k]) if pilot.counts[1].any() else 0.0
        known = effects_of(pilot, margin, rows[k])
        system_sd = float(drawn["system"][1][k]) * average_sharpness(known)
        one = at_large(rng, known, float(leniency_sd[k]), severity_sd)
        effects.append(one)
        at_large_too.append(population(rng, one, system_sd, float(leniency_sd[k]), severity_sd))
    return Fit(pilot, tuple(effects), tuple(at_large_too), rows, "fast", {})


def at_large(rng: np.random.Generator, effects: Effects, leniency_sd: float, severity_sd: float) -> Effects:
    """Say the same of known raters in terms of raters at large, whose leniency and severity have mean 1.

    Known raters are a sample, so how far their average is from that of raters at large is drawn. What they are expected
    to answer does not change: what is taken from the raters is put on the systems and on the share of major errors.
    Likewise systems are as far apart as a rater of average (geometric mean) sharpness sees them.
    """
    n = len(effects.leniency)
    sharpness, logs = average_sharpness(effects), np.log(effects.system_mean)
    effects = replace(
        effects,
        sharpness=effects.sharpness / sharpness,
        system_mean=np.exp(logs.mean() + sharpness * (logs - logs.mean())),
        system_document_sd=sharpness * effects.system_document_sd,
    )
    if severity_sd > 0:
        shift = severity_sd * rng.standard_normal() / np.sqrt(n) - severity_sd**2 / 2
        log_odds = logit(effects.major_share) - shift + np.log(effects.severity).mean()
        severity = effects.severity * np.exp(shift - np.log(effects.severity).mean())
        share = float(np.clip(expit(log_odds), 0.001, 0.99))
        ratio = _points(effects, share) / _points(effects, effects.major_share)
        effects = replace(effects, severity=severity, major_share=share, leniency=effects.leniency * ratio)
    wanted = leniency_sd * rng.standard_normal() / np.sqrt(n) - leniency_sd**2 / 2
    factor = np.exp(wanted - np.log(effects.leniency).mean())
    return replace(effects, leniency=effects.leniency * factor, system_mean=effects.system_mean / factor)


def average_sharpness(effects: Effects) -> float:
    """Return the geometric mean of the raters' sharpness."""
    return float(np.exp(np.log(effects.sharpness).mean()))


def _points(effects: Effects, share: float) -> float:
    return (1 - share) * effects.minor_weight + share * effects.major_weight


def population(
    rng: np.random.Generator, effects: Effects, system_sd: float, leniency_sd: float, severity_sd: float
) -> Population:
    """Say how systems and raters at large are, from those that are known."""
    logs = np.log(effects.system_mean)
    mean = logs.mean() + system_sd / np.sqrt(len(logs)) * rng.standard_normal() + system_sd**2 / 2
    return Population(float(np.exp(mean)), system_sd, leniency_sd, severity_sd)
