"""Fit a law of ratings on a scale to a table: chains that run until they agree, and what they say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

import numpy as np

from simlab.effort import current_effort
from simlab.fitting.laws import Fitted
from simlab.fitting.scales import diagnosing, telling
from simlab.fitting.scales.chain import Model
from simlab.fitting.scales.observing import Seen, categories, gaussian_scale, ranked_scale, seen_points, seen_ranks
from simlab.fitting.scales.priors import Priors, for_latents, for_normal_scores, for_points
from simlab.fitting.scales.sampling import Chains, Draws, begin, go_on, joined
from simlab.fitting.scales.terms import EFFECTS, SINGLE, terms_of
from simlab.fitting.scales.thinning import thinned
from simlab.rng import stream
from simlab.tables.held import Ratings
from simlab.types import Floats, Ints
from simlab.world.laws.scales import Scale, ScaleEffects

LawName = Literal["gaussian", "normal_scores", "ordinal", "binary"]

CLOSE_ENOUGH = 1.01
"""Chains run on until every R-hat is below, or as often as they may."""

DRAWS = 200
SHARPNESS = 0.3
"""Scale of the half-normal prior of how far raters of an ordinal scale differ in sharpness (logarithm)."""


def fit(
    law: LawName, ratings: Ratings, *, seed: int = 0, draws: int = DRAWS, rounds: int | None = None, rough: bool = False
) -> Fitted:
    """Fit a law to a table; the same seed gives the same draws. Chains run on for at most so many rounds.

    `rough` runs few chains for a short time: enough to compare laws.
    """
    chains = current_effort().rough_scales if rough else current_effort().scales
    used, note = thinned(stream(seed, "fit", law, "documents"), ratings)
    scale = scale_of(law, used)
    model, seen = prepare(law, used, scale, priors_of(law, used), chains.chains)
    rng = stream(seed, "fit", law)
    running = begin(rng, model, seen, chains.warmup)
    held, diagnosis = (go_on(running, chains.kept), {}) if rough else settled(running, rounds)
    effects = assembled(stream(seed, "fit", law, "others"), model, held, scale, draws, ratings.n_systems)
    names = [f"{name}_sd" for name in (*EFFECTS, "residual") if name in model.terms.names]
    sharpened = law == "ordinal"
    return Fitted(
        law=law,
        ratings=ratings,
        effects=effects,
        components={name: np.array([getattr(one, name) for one in effects]) for name in names},
        not_identified=[*note, *telling.not_identified(used, model.terms, sharpened)],
        unknown=telling.unknown(used, model.terms, sharpened),
        diagnosis=diagnosis,
    )


def scale_of(law: LawName, ratings: Ratings) -> Scale:
    """Say how a law turns latent values into the scores of a table; thresholds are those of a first look."""
    if law == "gaussian":
        return gaussian_scale(ratings)
    if law == "normal_scores":
        return ranked_scale(ratings)
    values = categories(ratings) if law == "ordinal" else np.unique(ratings.score)
    return Scale(law, -np.inf, np.inf, 0.0, np.inf, np.zeros(len(values) - 1), values)


def priors_of(law: LawName, ratings: Ratings) -> Priors:
    """Return the priors that a table is fitted with."""
    if law == "normal_scores":
        return for_normal_scores()
    return for_points(ratings.score) if law == "gaussian" else for_latents(SHARPNESS if law == "ordinal" else 0.0)


def prepare(law: LawName, ratings: Ratings, scale: Scale, priors: Priors, tables: int) -> tuple[Model, Seen]:
    """Set up what is sampled, for so many chains of one table."""
    model = model_of(law, ratings, priors, len(scale.values))
    score = np.repeat(ratings.score[:, None], tables, axis=1)
    return model, seen_scores(score, scale, priors)


def model_of(law: LawName, ratings: Ratings, priors: Priors, n_values: int) -> Model:
    """Set up what is sampled for a design."""
    n_thresholds = n_values - 1 if law == "ordinal" else 0
    law = "gaussian" if law == "normal_scores" else law
    return Model(law, terms_of(ratings, priors.sharpness > 0), priors, ratings.rater, ratings.n_raters, n_thresholds)


def seen_scores(score: Floats, scale: Scale, priors: Priors) -> Seen:
    """Return what scores `[rating, table]` say of latent values, the prior mean taken off."""
    if scale.law == "gaussian":
        seen = seen_points(score, scale)
        return Seen(seen.low - priors.mean, seen.high - priors.mean, seen.category)
    category = np.searchsorted(scale.values, score)
    # Thresholds that are sampled are 0 before.
    if scale.thresholds.any():
        return seen_ranks(category, scale.thresholds)
    if scale.law == "binary":
        return Seen(np.where(category > 0, 0.0, -np.inf), np.where(category > 0, np.inf, 0.0), np.zeros_like(category))
    return Seen(np.full(score.shape, -np.inf), np.full(score.shape, np.inf), category)


def settled(chains: Chains, rounds: int | None = None) -> tuple[Draws, dict[str, float]]:
    """Run chains on until they agree, for at most so many rounds; their draws, and how it went."""
    *_, kept, usual = current_effort().scales
    rounds = rounds or usual
    held = [go_on(chains, kept)]
    diagnosis = diagnosed(held[0])
    while diagnosis["r_hat"] > CLOSE_ENOUGH and len(held) < rounds:
        held.append(go_on(chains, kept))
        diagnosis = diagnosed(joined(held))
    return joined(held), diagnosis


def diagnosed(draws: Draws) -> dict[str, float]:
    """Return the worst R-hat of standard deviations, systems and thresholds, and the fewest effective draws."""
    parameters = list(_list_parameters(draws))
    return {
        "r_hat": max(diagnosing.r_hat(value) for value in parameters),
        "effective_draws": min(diagnosing.effective_draws(value) for value in parameters),
        "draws": float(draws.mean.size),
        "chains": float(draws.mean.shape[1]),
    }


def worst_nested_r_hat(draws: Draws, per_start: int) -> float:
    """Return the worst nested R-hat of standard deviations, systems and thresholds."""
    return max(diagnosing.nested_r_hat(value, per_start) for value in _list_parameters(draws))


def _list_parameters(draws: Draws) -> Iterator[Floats]:
    """Yield standard deviations, effects of systems and raters, and thresholds: `[draw, chain]` each."""
    yield from (value for value in draws.sd.values() if np.ptp(value) > 0)
    for name in SINGLE:
        yield from np.moveaxis(draws.effect[name], 1, 0) if name in draws.effect else ()
    yield from np.moveaxis(draws.thresholds, 1, 0)


def assembled(
    rng: np.random.Generator, model: Model, held: Draws, scale: Scale, draws: int, n_systems: int
) -> list[ScaleEffects]:
    """Put evenly spaced draws together to laws."""
    return [_effects(rng, model, held, scale, n_systems, at) for at in picked(held, draws)]


def picked(held: Draws, draws: int) -> list[tuple[int, int]]:
    """Pick evenly spaced draws: each its number and its table."""
    kept, tables = held.mean.shape
    each = np.linspace(0, kept * tables - 1, draws).round().astype(int)
    return [(int(one % kept), int(one // kept)) for one in each]


def _effects(
    rng: np.random.Generator, model: Model, held: Draws, scale: Scale, n_systems: int, at: tuple[int, int]
) -> ScaleEffects:
    sd = {f"{name}_sd": float(value[at]) for name, value in held.sd.items()}
    single = {name: value[at[0], :, at[1]] for name, value in held.effect.items()}
    system = model.terms.level_of("system")
    leniency = _placed(rng, model, "leniency", single["leniency"], model.rater, model.n_raters, sd["leniency_sd"])
    cell, cells = model.rater * n_systems + system, model.n_raters * n_systems
    taste = _placed(rng, model, "rater_system", single["rater_system"], cell, cells, sd["rater_system_sd"])
    mean = float(held.mean[at]) + model.priors.mean
    sharp, sharp_sd = _sharpness(rng, model, held, at)
    absent = dict.fromkeys(("segment_sd", "output_sd"), 0.0)
    tail = model.priors.tails[int(held.tail[at])]
    cuts = held.thresholds[at[0], :, at[1]] if model.n_thresholds else scale.thresholds
    return ScaleEffects(
        mean=mean,
        system=mean + single["system"],
        leniency=leniency,
        sharpness=np.exp(sharp),
        taste=taste.reshape(model.n_raters, n_systems).T.copy(),
        sharpness_sd=sharp_sd,
        scale=replace(scale, tail=tail, thresholds=cuts),
        **(absent | sd),
    )


def _placed(
    rng: np.random.Generator, model: Model, name: str, values: Floats, unit: Ints, size: int, sd: float
) -> Floats:
    """Return one value for each unit of an effect, whose `unit[rating]` each rating is about.

    Where another effect groups the ratings alike (raters who each rate one system) values stand in the order of that
    one, and there are as many as it has; units without a rating are drawn anew.
    """
    if any(term.names[0] == name for term in model.terms.terms):
        return values
    found = sd * rng.standard_normal(size) if len(np.unique(unit)) < size else np.zeros(size)
    found[unit] = values[model.terms.level_of(name)]
    return found


def _sharpness(rng: np.random.Generator, model: Model, held: Draws, at: tuple[int, int]) -> tuple[Floats, float]:
    if model.sharpened:
        return held.sharp[at[0], :, at[1]], float(held.sharp_sd[at])
    return np.zeros(model.n_raters), float(np.abs(model.priors.sharpness * rng.standard_normal()))
