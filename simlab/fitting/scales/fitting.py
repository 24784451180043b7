"""Fit a law of ratings on a scale to a table by chains that run until they agree.

Call `fit` on the law's name and a table; it returns `Fitted`, draws of all parameters. Measures of how well chains
mixed follow Gelman et al., Bayesian Data Analysis, 3rd edition, 11.4 and 11.5.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

import numpy as np

from simlab.effort import current_effort
from simlab.fitting.laws import Fitted, SampledPosterior
from simlab.fitting.scales.chain import (
    ChainModel,
    LatentBounds,
    Priors,
    categories,
    gaussian_scale,
    priors_for_latents,
    priors_for_normal_scores,
    priors_for_points,
    ranked_scale,
    seen_points,
    seen_ranks,
)
from simlab.fitting.scales.sampling import ResumableChains, ScaleDraws, begin, go_on, join_draws
from simlab.fitting.scales.terms import EFFECTS, SINGLE, Terms, find_terms
from simlab.rng import stream
from simlab.tables.rating_table import Ratings
from simlab.types import Floats, Ints
from simlab.world.laws.scales import Scale, ScaleEffects

LawName = Literal["gaussian", "normal_scores", "ordinal", "binary"]
"""Names of the laws on a scale."""
CLOSE_ENOUGH = 1.01
"""Chains run on until every R-hat is below, or as often as they may."""
DRAWS = 200
"""Draws of the parameters that a fit returns."""
SHARPNESS = 0.3
"""Scale of the half-normal prior of how far raters of an ordinal scale differ in sharpness (logarithm)."""
MOST_RATINGS = 30_000
"""Most ratings that a fit takes; of larger tables whole documents are drawn."""
FEW = 5
"""With fewer units a spread between them is mostly prior."""
WORDS = {
    "system": "systems",
    "document": "documents",
    "segment": "segments",
    "system_document": "systems on documents",
    "output": "outputs",
    "leniency": "raters' leniency",
    "rater_system": "raters on systems",
    "rater_document": "raters on documents",
    "residual": "the residual",
}
"""Effects in words, for sentences on those that are not identified."""


def fit(
    law: LawName, ratings: Ratings, *, seed: int = 0, draws: int = DRAWS, rounds: int | None = None, rough: bool = False
) -> Fitted:
    """Fit a law to a table; the same seed gives the same draws. Chains run on for at most `rounds` rounds.

    `rough` runs few chains for a short time: enough to compare laws.
    """
    chains = current_effort().rough_scales if rough else current_effort().scales
    used, note = thin_table(stream(seed, "fit", law, "documents"), ratings)
    scale = scale_of(law, used)
    model, seen = prepare(law, used, scale, choose_priors(law, used), chains.chains)
    rng = stream(seed, "fit", law)
    running = begin(rng, model, seen, chains.warmup)
    sampled, diagnosis = (go_on(running, chains.kept), {}) if rough else settle_chains(running, rounds)
    effects = assemble_effects(stream(seed, "fit", law, "others"), model, sampled, scale, draws, ratings.n_systems)
    names = [f"{name}_sd" for name in (*EFFECTS, "residual") if name in model.terms.names]
    sharpened = law == "ordinal"
    return Fitted(
        law=law,
        ratings=ratings,
        effects=effects,
        components={name: np.array([getattr(one, name) for one in effects]) for name in names},
        not_identified=[*note, *list_unidentified(used, model.terms, sharpened)],
        unknown=unknown_components(used, model.terms, sharpened),
        diagnosis=diagnosis,
        posterior=None if rough else _posterior(model, sampled, scale, ratings),
    )


def _posterior(model: ChainModel, scale_draws: ScaleDraws, scale: Scale, ratings: Ratings) -> SampledPosterior:
    """Return all that chains kept; single effects of raters are there where each has one."""
    n_systems, n_raters = ratings.n_systems, ratings.n_raters
    draws = {
        "mean": scale_draws.mean + model.priors.mean,
        **{f"{name}_sd": value for name, value in scale_draws.sd.items()},
    }
    dims: dict[str, tuple[str, ...]] = {}
    for name, site, dim, n in (
        ("system", "system_effect", "system", n_systems),
        ("leniency", "leniency", "rater", n_raters),
    ):
        if scale_draws.effect[name].shape[1] == n:
            draws[site], dims[site] = np.moveaxis(scale_draws.effect[name], 1, -1), (dim,)
    if scale_draws.effect["rater_system"].shape[1] == n_raters * n_systems:
        taste = np.moveaxis(scale_draws.effect["rater_system"], 1, -1)
        draws["rater_system"] = taste.reshape(*taste.shape[:2], n_raters, n_systems)
        dims["rater_system"] = ("rater", "system")
    if model.sharpened:
        draws |= {"sharpness_sd": scale_draws.sharp_sd, "log_sharpness": np.moveaxis(scale_draws.sharp, 1, -1)}
        dims["log_sharpness"] = ("rater",)
    if model.n_thresholds:
        draws["thresholds"], dims["thresholds"] = np.moveaxis(scale_draws.thresholds, 1, -1), ("cut",)
    if len(model.priors.tails) > 1:
        draws["tail"] = np.asarray(model.priors.tails)[scale_draws.tail]
    return SampledPosterior({name: np.swapaxes(value, 0, 1) for name, value in draws.items()}, dims, {})


def scale_of(law: LawName, ratings: Ratings) -> Scale:
    """Return how a law turns latent values into the scores of a table; thresholds still to be sampled are 0."""
    if law == "gaussian":
        return gaussian_scale(ratings)
    if law == "normal_scores":
        return ranked_scale(ratings)
    values = categories(ratings) if law == "ordinal" else np.unique(ratings.score)
    return Scale(law, -np.inf, np.inf, 0.0, np.inf, np.zeros(len(values) - 1), values)


def choose_priors(law: LawName, ratings: Ratings) -> Priors:
    """Return the priors that a table is fitted with."""
    if law == "normal_scores":
        return priors_for_normal_scores()
    return (
        priors_for_points(ratings.score)
        if law == "gaussian"
        else priors_for_latents(SHARPNESS if law == "ordinal" else 0.0)
    )


def prepare(
    law: LawName, ratings: Ratings, scale: Scale, priors: Priors, tables: int
) -> tuple[ChainModel, LatentBounds]:
    """Return the model, and the bounds of latent values `[rating, table]`: the table once for each of its chains."""
    model = build_model(law, ratings, priors, len(scale.values))
    score = np.repeat(ratings.score[:, None], tables, axis=1)
    return model, seen_scores(score, scale, priors)


def build_model(law: LawName, ratings: Ratings, priors: Priors, n_values: int) -> ChainModel:
    """Return the model of a design: its terms, priors and thresholds; `n_values` is the number of different scores."""
    n_thresholds = n_values - 1 if law == "ordinal" else 0
    # Normal scores are latent values between known cuts, so only the bounds differ from the law of points.
    law = "gaussian" if law == "normal_scores" else law
    return ChainModel(
        law, find_terms(ratings, priors.sharpness > 0), priors, ratings.rater, ratings.n_raters, n_thresholds
    )


def seen_scores(score: Floats, scale: Scale, priors: Priors) -> LatentBounds:
    """Return the bounds that `score[rating, table]` puts on latent values, the prior mean subtracted."""
    if scale.law == "gaussian":
        seen = seen_points(score, scale)
        return LatentBounds(seen.low - priors.mean, seen.high - priors.mean, seen.category)
    category = np.searchsorted(scale.values, score)
    # Thresholds that are sampled are 0 before.
    if scale.thresholds.any():
        return seen_ranks(category, scale.thresholds)
    if scale.law == "binary":
        return LatentBounds(
            np.where(category > 0, 0.0, -np.inf), np.where(category > 0, np.inf, 0.0), np.zeros_like(category)
        )
    return LatentBounds(np.full(score.shape, -np.inf), np.full(score.shape, np.inf), category)


def settle_chains(chains: ResumableChains, rounds: int | None = None) -> tuple[ScaleDraws, dict[str, float]]:
    """Run chains on until they agree, for at most `rounds` rounds; return their draws and the diagnosis by name."""
    *_, kept, usual = current_effort().scales
    rounds = rounds or usual
    rounds_drawn = [go_on(chains, kept)]
    diagnosis = diagnose_draws(rounds_drawn[0])
    while diagnosis["r_hat"] > CLOSE_ENOUGH and len(rounds_drawn) < rounds:
        rounds_drawn.append(go_on(chains, kept))
        diagnosis = diagnose_draws(join_draws(rounds_drawn))
    return join_draws(rounds_drawn), diagnosis


def diagnose_draws(draws: ScaleDraws) -> dict[str, float]:
    """Return the worst R-hat of standard deviations, systems and thresholds, and the fewest effective draws."""
    parameters = list(_list_parameters(draws))
    return {
        "r_hat": max(split_rhat(value) for value in parameters),
        "effective_draws": min(effective_draws(value) for value in parameters),
        "draws": float(draws.mean.size),
        "chains": float(draws.mean.shape[1]),
    }


def worst_nested_rhat(draws: ScaleDraws, per_start: int) -> float:
    """Return the worst nested R-hat of standard deviations, systems and thresholds."""
    return max(nested_rhat(value, per_start) for value in _list_parameters(draws))


def _list_parameters(draws: ScaleDraws) -> Iterator[Floats]:
    """Yield standard deviations, effects of systems and raters, and thresholds: `[draw, chain]` each."""
    # A standard deviation that never moves (a latent law's residual is 1) has no R-hat.
    yield from (value for value in draws.sd.values() if np.ptp(value) > 0)
    for name in SINGLE:
        yield from np.moveaxis(draws.effect[name], 1, 0) if name in draws.effect else ()
    yield from np.moveaxis(draws.thresholds, 1, 0)


def assemble_effects(
    rng: np.random.Generator, model: ChainModel, scale_draws: ScaleDraws, scale: Scale, draws: int, n_systems: int
) -> list[ScaleEffects]:
    """Turn `draws` evenly spaced draws of the chains into draws of the law."""
    return [_effects(rng, model, scale_draws, scale, n_systems, at) for at in pick_draws(scale_draws, draws)]


def pick_draws(scale_draws: ScaleDraws, draws: int) -> list[tuple[int, int]]:
    """Pick evenly spaced draws: each its number and its table."""
    kept, tables = scale_draws.mean.shape
    each = np.linspace(0, kept * tables - 1, draws).round().astype(int)
    return [(int(place % kept), int(place // kept)) for place in each]


def _effects(
    rng: np.random.Generator, model: ChainModel, draws: ScaleDraws, scale: Scale, n_systems: int, at: tuple[int, int]
) -> ScaleEffects:
    sd = {f"{name}_sd": float(value[at]) for name, value in draws.sd.items()}
    single = {name: value[at[0], :, at[1]] for name, value in draws.effect.items()}
    system = model.terms.level_by_name("system")
    leniency = _place_effects(
        rng, model, "leniency", single["leniency"], model.rater, model.n_raters, sd["leniency_sd"]
    )
    cell, cells = model.rater * n_systems + system, model.n_raters * n_systems
    taste = _place_effects(rng, model, "rater_system", single["rater_system"], cell, cells, sd["rater_system_sd"])
    mean = float(draws.mean[at]) + model.priors.mean
    sharp, sharp_sd = _sharpness(rng, model, draws, at)
    absent = dict.fromkeys(("segment_sd", "output_sd"), 0.0)
    tail = model.priors.tails[int(draws.tail[at])]
    cuts = draws.thresholds[at[0], :, at[1]] if model.n_thresholds else scale.thresholds
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


def _place_effects(
    rng: np.random.Generator, model: ChainModel, name: str, values: Floats, unit: Ints, size: int, sd: float
) -> Floats:
    """Return one value for each unit of an effect, whose `unit[rating]` each rating is about.

    Where another effect groups the ratings alike (raters who each rate one system) values stand in the order of that
    one, and there are as many as it has; units without a rating are drawn anew.
    """
    if any(term.names[0] == name for term in model.terms.terms):
        return values
    placed = sd * rng.standard_normal(size) if len(np.unique(unit)) < size else np.zeros(size)
    placed[unit] = values[model.terms.level_by_name(name)]
    return placed


def _sharpness(
    rng: np.random.Generator, model: ChainModel, draws: ScaleDraws, at: tuple[int, int]
) -> tuple[Floats, float]:
    if model.sharpened:
        return draws.sharp[at[0], :, at[1]], float(draws.sharp_sd[at])
    # A single rater tells nothing of how sharpness spreads: it keeps its prior.
    return np.zeros(model.n_raters), float(np.abs(model.priors.sharpness * rng.standard_normal()))


def thin_table(rng: np.random.Generator, ratings: Ratings) -> tuple[Ratings, list[str]]:
    """Keep whole documents, drawn at random, of at most `MOST_RATINGS` ratings; return also sentences on the rest."""
    where = ratings.document[ratings.item]
    sizes = np.bincount(where, minlength=ratings.n_documents)
    if len(where) <= MOST_RATINGS:
        return ratings, []
    order = rng.permutation(ratings.n_documents)
    chosen = order[: max(int(np.searchsorted(np.cumsum(sizes[order]), MOST_RATINGS, "right")), 2)]
    kept = np.flatnonzero(np.isin(where, chosen))
    note = (
        f"{len(where):,} ratings: the law is fitted to the {len(kept):,} of {len(chosen)} documents drawn at random; "
        "intervals are as wide as these allow"
    )
    fields = ("system", "item", "rater", "score", "errors", "seconds")
    parts = {name: getattr(ratings, name)[kept] for name in fields}
    criteria = {name: values[kept] for name, values in ratings.criteria.items()}
    return replace(ratings, **parts, criteria=criteria), [note]


def unknown_components(ratings: Ratings, terms: Terms, sharpened: bool) -> frozenset[str]:
    """Name the components that only the priors inform: those joined to another, or with a single unit."""
    names = {name for term in terms.terms[1:] for name in term.names[1:]} | set(terms.noise)
    if ratings.n_raters == 1:
        names |= {"leniency", "rater_system", "rater_document"} | ({"sharpness"} if sharpened else set())
    if ratings.n_systems == 1:
        names |= {"system", "system_document", "rater_system"}
    if ratings.n_documents == 1:
        names |= {"document", "system_document", "rater_document"}
    return frozenset(f"{name}_sd" for name in names)


def list_unidentified(ratings: Ratings, terms: Terms, sharpened: bool) -> list[str]:
    """List, in sentences, the effects that a table does not identify, and what their values rest on."""
    return [
        *_sentences_on_single_units(ratings, sharpened),
        *_sentences_on_joint_effects(ratings, terms),
        *_sentences_on_few_units(ratings),
    ]


def _sentences_on_single_units(ratings: Ratings, sharpened: bool) -> Iterator[str]:
    if ratings.n_systems == 1:
        yield "one system: how far systems differ, at large and on documents, is what the priors say"
    if ratings.n_raters == 1:
        own = ", in sharpness" if sharpened else ""
        yield f"one rater: how far raters differ, in leniency{own}, on systems and on documents, is what the priors say"
    if ratings.n_documents == 1:
        yield "one document: how far documents differ, and systems and raters on them, is what the priors say"
    if np.ptp(ratings.score) == 0:
        yield "all scores are equal: every spread is what the priors leave"


def _sentences_on_joint_effects(ratings: Ratings, terms: Terms) -> Iterator[str]:
    if len(np.unique(ratings.document[ratings.item])) == len(np.unique(ratings.item)):
        yield "one segment per document: what segments, and outputs, differ by is counted with their documents"
    for term in terms.terms[1:]:
        names = [name for name in term.names if not _is_single(ratings, name)]
        if len(names) > 1:
            yield f"{_join_words(names)} are not told apart: only their sum is known, and the priors share it out"
    if terms.noise:
        names = [*terms.noise, "residual"]
        joint = _join_words(names)
        yield f"one rating each: {joint} are not told apart: only their sum is known, the priors share it out"


def _is_single(ratings: Ratings, name: str) -> bool:
    """True if an effect is spoken of already, since there is but one rater, or system."""
    of_raters = name in ("leniency", "rater_system", "rater_document")
    return (ratings.n_raters == 1 and of_raters) or (ratings.n_systems == 1 and "system" in name)


def _join_words(names: list[str]) -> str:
    words = [WORDS[name] for name in names]
    return f"{', '.join(words[:-1])} and {words[-1]}"


def _sentences_on_few_units(ratings: Ratings) -> Iterator[str]:
    if 1 < ratings.n_raters < FEW:
        yield (
            f"{ratings.n_raters} raters: how far raters at large differ, above all on systems, is mostly prior; "
            "these raters are known"
        )
    if 1 < ratings.n_systems < FEW:
        yield f"{ratings.n_systems} systems: how far systems at large differ is mostly prior; these systems are known"
    if 1 < ratings.n_documents < FEW:
        yield f"{ratings.n_documents} documents: how far documents differ is mostly prior"


def split_rhat(draws: Floats) -> float:
    """Return the split R-hat of `draws[draw, chain]`."""
    half = len(draws) // 2
    parts = np.concatenate([draws[:half], draws[half : 2 * half]], axis=1)
    within = parts.var(0, ddof=1).mean()
    if within == 0:
        return 1.0
    between = parts.mean(0).var(ddof=1)
    return float(np.sqrt((half - 1) / half + between / within))


def nested_rhat(draws: Floats, per_start: int) -> float:
    """Return the nested R-hat of `draws[draw, chain]`; each `per_start` neighbouring chains began at one place.

    Unlike that of few long chains it asks whether starts are forgotten, and not how long each chain is (Margossian and
    others, Bayesian Analysis 2024, "Nested R-hat").
    """
    means = draws.mean(0).reshape(-1, per_start)
    within = draws.var(0, ddof=1).mean() + (means.var(1, ddof=1).mean() if per_start > 1 else 0.0)
    if within == 0:
        return 1.0
    return float(np.sqrt(1 + means.mean(1).var(ddof=1) / within))


def effective_draws(draws: Floats) -> float:
    """Return the number of independent draws that tell a mean as well as `draws[draw, chain]` do (Geyer 1992)."""
    n, chains = draws.shape
    centred = draws - draws.mean(0)
    # Padded to twice the length, since products of the transform wrap around.
    size = 1 << (2 * n - 1).bit_length()
    spectrum = np.fft.rfft(centred, size, axis=0)
    covariance = np.fft.irfft(np.abs(spectrum) ** 2, size, axis=0)[:n].mean(1) / n
    within = covariance[0] * n / (n - 1)
    total = covariance[0] + (draws.mean(0).var(ddof=1) if chains > 1 else 0.0)
    if total == 0:
        return float(n * chains)
    rho = 1 - (within - covariance * n / (n - 1)) / total
    pairs = rho[: n // 2 * 2].reshape(-1, 2).sum(1)
    # In a reversible chain sums of neighbours are positive and fall: what comes after a negative one is noise.
    negative = np.flatnonzero(pairs < 0)
    pairs = np.minimum.accumulate(pairs[: negative[0]] if len(negative) else pairs)
    # Chains that alternate may tell more than independent draws; the bound keeps the estimate from growing at will.
    return float(min(n * chains / max(2 * pairs.sum() - 1, 1e-12), n * chains * np.log10(n * chains)))
