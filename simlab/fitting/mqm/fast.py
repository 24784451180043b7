"""Fit the law of MQM error counts to a pilot in seconds: moments, a synthetic likelihood, and shrunken margins.

Call `fit` on a pilot; it returns a `FastFit`, draws of all parameters.

Estimates of single systems and raters are empirical Bayes: their margins are shrunk towards their mean by the error
that margins of simulated tables have, so that draws of systems spread as far as systems do, not as far as estimates. A
margin is a unit's truth, normal around a common level, plus an error whose variance simulated tables show, as a
function of the law's parameters. The spread is sampled from its marginal posterior on a grid, so that few units give
many spreads, some near 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from scipy.special import expit, logit, logsumexp, ndtr
from threadpoolctl import threadpool_limits

from simlab.effort import current_effort
from simlab.fitting.mqm import moments, synthetic
from simlab.fitting.mqm.moments import Margins, contrasts
from simlab.fitting.mqm.pilot import MqmPilot, replace_scores
from simlab.rng import stream
from simlab.types import Bools, Floats, Ints
from simlab.world.laws.error_counts import count_quantile, own_shares, shared_parts
from simlab.world.laws.fitted import Effects, draw_factors, expected_errors, weights

UNITS = ("system", "rater", "severity", "sharpness", "minor_sharpness")
"""Margins that speak of single systems and raters."""
SHARPNESS, MOST_MINOR = (0.25, 3.0), 2.0
"""Bounds of a rater's sharpness; the largest slope of minor errors."""
OF_KINDS = ("kind_document_sd", "kind_segment_sd", "minor_noise")
"""Parameters that a table informs only where minor and major errors are told apart."""
SPREAD = {"system": 0.5, "rater": 1.0, "severity": 1.0, "sharpness": 0.3, "minor_sharpness": 0.35}
"""Scales of the half-normal priors of how far systems, or raters, spread; of minor errors see `MINOR_SLOPE`."""
MINOR_SLOPE = 0.7
"""Mean of the normal prior of the slope of minor errors on scores; its standard deviation stands in `SPREAD`. A few
alike systems say nothing of it; in releases of MQM ratings it is .4 to .6."""
DRAWS = 100
"""Draws of the parameters that a fit returns."""
GRID = np.concatenate([[0.0], np.geomspace(0.002, 6.0, 160)])
"""Spreads (standard deviations) that are tried; between them the density hardly changes."""
STEPS, CLOSE = 40, 1e-6
"""Newton steps at most, and the move below which they end."""
MOST = 8.0
"""Logarithms of qualities lie no further than that from the average."""


@dataclass(frozen=True, slots=True)
class PopulationSpread:
    """Spread of systems and raters at large, for systems and raters that no pilot has seen."""

    mean_score: float
    system_sd: float
    leniency_sd: float
    severity_sd: float


@dataclass(frozen=True, slots=True)
class FastFit:
    """Draws of all parameters of a law, and the pilot that they come from.

    `theta[draw, parameter]` are those of `synthetic.NAMES`; `diagnosis` says how sampling went, where it can go wrong.
    """

    pilot: MqmPilot
    effects: tuple[Effects, ...]
    population: tuple[PopulationSpread, ...]
    theta: Floats
    method: str
    diagnosis: Mapping[str, Any]


def fit(pilot: MqmPilot, seed: int = 0, draws: int = DRAWS, rounds: tuple[int, ...] | None = None) -> FastFit:
    """Fit the law to a pilot; the same seed gives the same draws. `rounds`: tables simulated in each (None: usual)."""
    # Arrays are small: threads that share them cost more than they do.
    with threadpool_limits(1):
        return _fit(pilot, seed, draws, rounds or current_effort().mqm_tables)


def _fit(pilot: MqmPilot, seed: int, draws: int, rounds: tuple[int, ...]) -> FastFit:
    observed = moments.margins(pilot)
    used = np.isfinite(observed.pairs)
    units, theta = dict[str, Units](), np.empty(0)
    simulations: tuple[Floats, list[Margins]] = np.empty((0, len(synthetic.NAMES))), []
    for number, n in enumerate(rounds):
        rng = stream(seed, "fit", number)
        tried = _proposals(rng, theta, n) if number else _prior(rng, n)
        # Each table has margins of its own, so that what is not known of them is in what is said of the spreads.
        truths = _margins(rng, observed, units, tried)
        simulated = [_simulate_margins(rng, pilot, truth, row) for truth, row in zip(truths, tried, strict=True)]
        # A kind of pairs that simulated tables often lack cannot be regressed on the parameters.
        used &= np.mean([np.isfinite(one.pairs) for one in simulated], axis=0) > 0.9
        # Tables of the first, wide looks are left behind: surfaces bend.
        late = number > max(1, len(rounds) - 2)
        simulations = (
            (np.concatenate([simulations[0], tried]), simulations[1] + simulated) if late else (tried, simulated)
        )
        theta = _posterior(rng, simulations[0], simulations[1], observed, used)
        units = {field: estimate(field, observed, truths, simulated, tried) for field in UNITS}
    return _assemble(stream(seed, "fit", "draws"), pilot, observed, units, theta, draws)


def _margins(rng: np.random.Generator, observed: Margins, units: Mapping[str, Units], theta: Floats) -> list[Margins]:
    """Draw possible true margins for each row of `theta`; before `units` are estimated, they are those observed."""
    sizes = synthetic.sizes(theta)
    drawn = {
        name: draw(rng, one, sizes, rng.integers(len(one.error), size=len(theta)))[0] for name, one in units.items()
    }
    return [observed._replace(**{name: values[k] for name, values in drawn.items()}) for k in range(len(theta))]


def _proposals(rng: np.random.Generator, theta: Floats, n: int) -> Floats:
    """Scatter parameters `[n, parameter]` around draws `theta`, wider than these: surfaces are learnt beyond them."""
    centre, spread = theta.mean(0), np.maximum(1.5 * theta.std(0), 0.25 * theta.mean(0) + 0.05)
    tried: Floats = np.abs(centre + spread * rng.standard_normal((n, len(centre))))
    tried[:, synthetic.SPREADS] = np.minimum(tried[:, synthetic.SPREADS], 1.5)
    tried[:, 11] = np.minimum(tried[:, 11], 2.5)
    share = tried[:, synthetic.SHARES]
    # Shares above 1 are reflected, so that proposals do not pile up at the end.
    tried[:, synthetic.SHARES] = np.clip(np.where(share > 1, 2 - share, share), 0.01, 0.99)
    return tried


def _posterior(
    rng: np.random.Generator, tried: Floats, tables: list[Margins], observed: Margins, used: Bools
) -> Floats:
    if not used.any():
        return _prior(rng, 60 * 40)
    simulated = np.array([one.pairs[used] for one in tables])
    whole = np.isfinite(simulated).all(1)
    beyond = contrasts(used)
    surface = synthetic.regress(tried[whole], simulated[whole] @ beyond.T)
    return synthetic.sample(rng, surface, beyond @ observed.pairs[used], tried.mean(0))


def _prior(rng: np.random.Generator, n: int) -> Floats:
    theta = np.abs(rng.standard_normal((n, len(synthetic.NAMES)))) * np.where(
        np.isfinite(synthetic.PRIOR_SCALE), synthetic.PRIOR_SCALE, 0.0
    )
    theta[:, synthetic.SHARES] = rng.random((n, len(synthetic.SHARES)))
    theta[:, synthetic.SPREADS] = np.minimum(theta[:, synthetic.SPREADS], 1.5)
    return theta


def build_effects(pilot: MqmPilot, margins: Margins, theta: Floats) -> Effects:
    """Return a draw of the law from margins of systems and raters and one row of parameters, `theta[parameter]`.

    Margins of raters are those of scores; how many errors they mark follows from these and from the share of major
    errors.
    """
    odds = margins.severity - margins.severity.mean()
    # The log odds of shares of 0 and 1 are infinite.
    major_share = float(np.clip(expit(margins.severity.mean()), 0.01, 0.99)) if pilot.counts[1].any() else 0.01
    # Margins are those of all points; punctuation is drawn beside the law's minor and major errors.
    reduced = 1 - float(0.1 * pilot.counts[2].sum() / pilot.score.sum())
    sharpness = np.clip(1 + margins.sharpness - margins.sharpness.mean(), *SHARPNESS)
    # How far systems are apart is said as a rater of average sharpness sees it.
    sharpness = sharpness / np.exp(np.log(sharpness).mean())
    share = pilot.minor_weight * (1 - expit(logit(major_share) + odds)) / points(pilot, logit(major_share) + odds)
    mass = np.exp(margins.rater)
    minor = min(minor_power(float(margins.minor_sharpness[0]), float((mass * share).sum() / mass.sum())), MOST_MINOR)
    quality = qualities(margins.system, sharpness, minor, np.stack([mass * share, mass * (1 - share)]))
    return Effects(
        system_mean=np.exp(quality) * reduced,
        leniency=mass * points(pilot, logit(major_share)) / points(pilot, logit(major_share) + odds),
        severity=np.exp(odds),
        sharpness=sharpness,
        punctuation=np.exp(margins.punctuation),
        **cast(Any, _clear_unknown_kinds(pilot, dict(zip(synthetic.NAMES, theta.tolist(), strict=True)))),
        major_share=major_share,
        minor_sharpness=minor,
        minor_weight=pilot.minor_weight,
        major_weight=pilot.major_weight,
    )


def _clear_unknown_kinds(pilot: MqmPilot, theta: dict[str, float]) -> dict[str, float]:
    """Let kinds of errors be alike where a table does not tell them apart."""
    return theta if pilot.counts[1].any() else theta | dict.fromkeys(OF_KINDS, 0.0)


def points(pilot: MqmPilot, log_odds: Floats) -> Floats:
    """Return the mean points of an error `[...]`, given the log odds that it is major, in the pilot's weights."""
    return np.asarray(pilot.minor_weight + (pilot.major_weight - pilot.minor_weight) * expit(log_odds))


def _simulate_margins(rng: np.random.Generator, pilot: MqmPilot, centre: Margins, theta: Floats) -> Margins:
    return moments.margins(simulate(rng, build_effects(pilot, centre, theta), pilot))


def estimate(
    field: str, observed: Margins, truths: Sequence[Margins], tables: Sequence[Margins], theta: Floats
) -> Units:
    """Correct one field of `Margins` by its errors in simulated `tables`, and estimate how these errors vary.

    `truths[k]` and `theta[k]` are the margins and parameters that `tables[k]` was simulated with.
    """
    simulated, true = (np.array([np.atleast_1d(getattr(one, field)) for one in those]) for those in (tables, truths))
    error = simulated - true
    known = MINOR_SLOPE if field == "minor_sharpness" else None
    corrected = np.atleast_1d(getattr(observed, field)) - error.mean(0)
    return build_units(corrected, error - error.mean(0), synthetic.sizes(theta), SPREAD[field], known)


def leniencies(pilot: MqmPilot, rater: Units, severity: Units) -> Units:
    """Estimate how many errors raters mark (leniency), from margins of their scores and of their severity."""
    if not pilot.counts[1].any():
        return rater
    corrected = rater.corrected - np.log(points(pilot, severity.corrected))
    simulated = rater.corrected + rater.error - np.log(points(pilot, severity.corrected + severity.error))
    return build_units(corrected, simulated - simulated.mean(0), rater.features, SPREAD["rater"])


def _assemble(
    rng: np.random.Generator, pilot: MqmPilot, observed: Margins, named: Mapping[str, Units], theta: Floats, draws: int
) -> FastFit:
    """Draw systems and raters beside the spreads, each draw a possible law."""
    rows = theta[rng.choice(len(theta), draws, replace=len(theta) < draws)]
    # One simulated table gives the errors of all margins of a draw, so that they stay correlated.
    pick = rng.integers(len(named["system"].error), size=draws)
    sizes = synthetic.sizes(rows)
    drawn = {field: draw(rng, unit, sizes, pick) for field, unit in named.items()}
    _, leniency_sd = draw(rng, leniencies(pilot, named["rater"], named["severity"]), sizes, pick)
    effects, at_large_too = [], []
    for k in range(draws):
        margin = observed._replace(**{field: values[k] for field, (values, _) in drawn.items()})
        severity_sd = float(drawn["severity"][1][k]) if pilot.counts[1].any() else 0.0
        known = build_effects(pilot, margin, rows[k])
        system_sd = float(drawn["system"][1][k]) * _stretch(margin.system, known)
        law = rescale_to_population(rng, known, float(leniency_sd[k]), severity_sd)
        effects.append(law)
        at_large_too.append(population(rng, law, system_sd, float(leniency_sd[k]), severity_sd))
    return FastFit(pilot, tuple(effects), tuple(at_large_too), rows, "fast", {})


def rescale_to_population(
    rng: np.random.Generator, effects: Effects, leniency_sd: float, severity_sd: float
) -> Effects:
    """Rescale known raters to raters at large, whose leniency and severity have mean 1.

    Known raters are a sample, so how far their average is from that of raters at large is drawn. What they are expected
    to answer does not change: what is taken from the raters is put on the systems and on the share of major errors.
    """
    n = len(effects.leniency)
    if severity_sd > 0:
        # The mean of n log factors is normal about -sd^2 / 2, where factors have mean 1, with sd / sqrt(n).
        shift = severity_sd * rng.standard_normal() / np.sqrt(n) - severity_sd**2 / 2
        log_odds = logit(effects.major_share) - shift + np.log(effects.severity).mean()
        severity = effects.severity * np.exp(shift - np.log(effects.severity).mean())
        share = float(np.clip(expit(log_odds), 0.001, 0.99))
        ratio = _points(effects, share) / _points(effects, effects.major_share)
        effects = replace(effects, severity=severity, major_share=share, leniency=effects.leniency * ratio)
    wanted = leniency_sd * rng.standard_normal() / np.sqrt(n) - leniency_sd**2 / 2
    factor = np.exp(wanted - np.log(effects.leniency).mean())
    return replace(effects, leniency=effects.leniency * factor, system_mean=effects.system_mean / factor)


def _stretch(scores: Floats, known: Effects) -> float:
    """Return by how much qualities, as an average rater sees them, are further apart than scores."""
    apart = float(np.log(known.system_mean).std())
    within = float(scores.std())
    return apart / within if within > 0 else 1.0


def _points(effects: Effects, share: float) -> float:
    return (1 - share) * effects.minor_weight + share * effects.major_weight


def population(
    rng: np.random.Generator, effects: Effects, system_sd: float, leniency_sd: float, severity_sd: float
) -> PopulationSpread:
    """Return the mean score and the spreads of systems and raters at large, given those that are known."""
    logs = np.log(effects.system_mean)
    mean = logs.mean() + system_sd / np.sqrt(len(logs)) * rng.standard_normal() + system_sd**2 / 2
    return PopulationSpread(float(np.exp(mean)), system_sd, leniency_sd, severity_sd)


@dataclass(frozen=True, slots=True)
class Units:
    """Margins of single systems or raters, and the errors of these.

    `corrected[unit]` are margins less their bias, `error[table, unit]` errors of simulated ones around it,
    `noise[unit]` the variance that an error's deviation from the mean error has on average, and `own` and `common` how
    the variances of deviations and of the mean error go with `features[table]` of parameters. `prior` is the scale of
    the half-normal prior of the spread; a single unit, which has none, may have a normal prior of that scale around
    `known`.
    """

    corrected: Floats
    error: Floats
    noise: Floats
    features: Floats
    own: Floats
    common: Floats
    prior: float
    known: float | None = None


def build_units(corrected: Floats, error: Floats, features: Floats, prior: float, known: float | None = None) -> Units:
    """Return margins with the errors of simulated ones; their variances are fitted to `features[table, feature]`."""
    n = len(corrected)
    mean = error.mean(1, keepdims=True)
    own = error - mean
    # Deviations from the mean of n units fall short of their variance by the factor 1 - 1 / n.
    noise = np.maximum((own**2).mean(0) * n / max(n - 1, 1), 1e-9)
    of_own, of_common = (_surface(features, square) for square in ((own**2).mean(1), mean[:, 0] ** 2))
    return Units(corrected, error, noise, features, of_own, of_common, prior, known)


def _surface(features: Floats, square: Floats) -> Floats:
    """Return coefficients, none negative, of what squares of errors are on average: variances add up.

    Squares scatter as they are large, so large ones count less in a second step.
    """
    # It takes longer to import than a law on a scale, which has no need of it, takes to fit a small table.
    from scipy.optimize import nnls

    scale = max(float(square.mean()), 1e-12)
    weight = np.ones(len(square))
    for _ in range(2):
        coefficient, _ = nnls(features * weight[:, None], square / scale * weight)
        weight = 1 / np.maximum(features @ coefficient, 0.1)
    return np.asarray(coefficient * scale)


def _variance(features: Floats, coefficient: Floats) -> Floats:
    """Return the variance of errors, at least a tenth of what it is on average."""
    variance = features @ coefficient
    return np.asarray(np.maximum(variance, 0.1 * variance.mean() + 1e-12))


def log_posterior(corrected: Floats, noise: Floats, prior: float) -> Floats:
    """Return the log probability of each spread of GRID, given units whose level is not known: `[..., spread]`.

    `noise[..., unit]` are variances of errors.

    `p(tau | y) ~ prior(tau) x prod (tau^2 + v_u)^-1/2 x (sum w_u)^-1/2 x exp(-1/2 sum w_u (y_u - level)^2)` with
    `w_u = 1 / (tau^2 + v_u)`. Source: Gelman et al., Bayesian Data Analysis, 3rd ed., 5.21.
    """
    level, weight = _level(corrected, noise, GRID)
    squares = (weight * (corrected - level[..., None]) ** 2).sum(-1)
    log = 0.5 * np.log(weight).sum(-1) - 0.5 * np.log(weight.sum(-1)) - 0.5 * squares - 0.5 * (GRID / prior) ** 2
    # The grid is uneven, so that each point counts as much as its cell is wide.
    log = log + np.log(_widths())
    return np.asarray(log - logsumexp(log, axis=-1, keepdims=True))


def draw(rng: np.random.Generator, units: Units, features: Floats, pick: Ints) -> tuple[Floats, Floats]:
    """Draw units `[draw, unit]`, and the spread of units at large `[draw]`.

    `features[draw]` are those of a draw's parameters, `pick[draw]` is the simulated table whose error it gets, scaled
    to these. A single unit does not inform the spread, which then comes from its prior.
    """
    common = units.error[pick].mean(1, keepdims=True)
    own = units.error[pick] - common
    common = common * _scales(units.common, features, units.features, pick)[:, None]
    if len(units.corrected) == 1:
        spread = np.abs(units.prior * rng.standard_normal(len(pick)))
        if units.known is None:
            return units.corrected - common, spread
        share = units.prior**2 / (units.prior**2 + _variance(features, units.common)[:, None])
        return units.known + share * (units.corrected - units.known) - np.sqrt(share) * common, spread
    own = own * _scales(units.own, features, units.features, pick)[:, None]
    average = _variance(units.features, units.own).mean()
    # To the nearest percent, so that draws of like noise share a grid.
    percent = np.rint(100 * np.log(np.maximum(features @ units.own, 0.1 * average + 1e-12) / average)) / 100
    noise = units.noise * np.exp(percent)[:, None]
    spread = np.empty(len(pick))
    _, first, group = np.unique(percent, return_index=True, return_inverse=True)
    for k, log in enumerate(log_posterior(units.corrected, noise[first], units.prior)):
        spread[group == k] = draw_spreads(rng, log, int((group == k).sum()))
    weight = 1 / (spread[:, None] ** 2 + noise)
    # How uncertain the level is stands in the mean error already.
    level = ((weight * units.corrected).sum(1) / weight.sum(1))[:, None]
    # Given its spread a unit has variance share x noise about its shrunken margin, so the error enters by the root.
    share = spread[:, None] ** 2 * weight
    return level + share * (units.corrected - level) - common - np.sqrt(share) * own, spread


def _scales(coefficient: Floats, wanted: Floats, tables: Floats, pick: Ints) -> Floats:
    """Return by what the error of a table is multiplied to be as large as parameters want it."""
    variance = _variance(tables, coefficient)
    return np.asarray(np.sqrt(np.maximum(wanted @ coefficient, 0.1 * variance.mean()) / variance[pick]))


def draw_spreads(rng: np.random.Generator, log: Floats, n: int) -> Floats:
    """Draw spreads from the log probabilities of GRID, each anywhere within the cell of its point."""
    at = rng.choice(len(GRID), n, p=np.exp(log))
    return np.asarray(_edges()[at] + _widths()[at] * rng.random(n))


def _level(corrected: Floats, noise: Floats, spread: Floats) -> tuple[Floats, Floats]:
    """Return the best level of the units for each spread, and their weights `[..., spread, unit]`."""
    weight = 1 / (spread[:, None] ** 2 + noise[..., None, :])
    return (weight * corrected).sum(-1) / weight.sum(-1), weight


def _edges() -> Floats:
    return np.concatenate([[0.0], (GRID[1:] + GRID[:-1]) / 2])


def _widths() -> Floats:
    return np.diff(np.append(_edges(), GRID[-1]))


def qualities(score: Floats, sharpness: Floats, minor_sharpness: float, points: Floats) -> Floats:
    """Return `log(system_mean)[system]` whose mean scores over raters are `exp(score)`, by Newton's method.

    `points[kind, rater]` are the points that minor and major errors of an average system add up to. Scores of 0 points
    of any kind are the average quality's; the level of what is returned is that of the scores.
    """
    power = np.stack([minor_sharpness * sharpness, sharpness]).ravel()
    share = (points / points.sum()).ravel()
    level = score.mean()
    x = score - level
    for _ in range(STEPS):
        terms = share * np.exp(np.multiply.outer(x, power))
        total = terms.sum(1)
        # On a flat slope Newton's method would leap away: slope and step are bounded.
        slope = np.maximum((terms * power).sum(1) / total, 0.05)
        step = np.clip((score - level - np.log(total)) / slope, -1, 1)
        # An average quality of 0 is what the law means by a system's relative quality.
        level, x = level + (x + step).mean() * float(slope.mean()), x + step
        x = np.clip(x - x.mean(), -MOST, MOST)
        if np.abs(step).max() < CLOSE:
            break
    return np.asarray(level + x)


def minor_power(slope: float, minor_points: float) -> float:
    """Return the power of quality that minor errors go with, from their slope on scores.

    With a share `a` of points in minor errors scores go with the power `a m + 1 - a` of quality, so that the slope of
    minor errors on scores is `m / (a m + 1 - a)`.

    >>> minor_power(1.0, 0.4), round(minor_power(0.5, 0.5), 3)
    (1.0, 0.333)
    """
    # A slope near 1 / a asks for a power without bound.
    return float(np.clip(slope, 0, None) * (1 - minor_points) / max(1 - minor_points * slope, 0.05))


def simulate(rng: np.random.Generator, effects: Effects, pilot: MqmPilot) -> MqmPilot:
    """Draw a world for the pilot's outputs and raters; return its ratings as a pilot of the same design.

    The law is that of `fitted_law.draw_world`, drawn only for ratings that the pilot has, to save memory.
    """
    factors = draw_factors(rng, effects, pilot.document)
    expected = expected_errors(effects, factors, pilot.document, pilot.system, pilot.item, pilot.rater)
    shape = len(expected), pilot.n_systems, len(pilot.document)
    shared = shared_parts(rng, shape, effects.segment_share).reshape(len(expected), -1)
    normal = rng.standard_normal(expected.shape)
    share = own_shares(effects.noise_share, effects.minor_noise)[: len(expected)]
    normal *= np.sqrt(share)
    normal += np.sqrt(1 - share) * shared.take(pilot.layout.output, axis=1)
    count = count_quantile(ndtr(normal, out=normal), expected, effects.dispersion)
    return replace_scores(pilot, _three_kinds(count), weights(effects) @ count)


def _three_kinds(count: Ints) -> Ints:
    return count if len(count) == 3 else np.concatenate([count, np.zeros_like(count[:1])])
