"""Draw worlds from a file of `simlab fit`: the systems and raters of its pilot, the fitted table, on new documents.

`fitted`, an option of `systems`, takes the file and the option's keys, and returns a `World` of ratings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from annotated_types import Ge, Le

from simlab.messages import clip, name_things, suggest
from simlab.types import Anew, Floats, Frame, InputError, Ints, RatedWorld, Speeds, World
from simlab.types.bounds import Count
from simlab.world.files.fitted_scales import FittedScales
from simlab.world.files.fitted_world import AnyWorld, FittedMqmWorld, read_world
from simlab.world.files.kept_answers import KeptWorld
from simlab.world.laws import resampled_answers as kept_law
from simlab.world.laws import scales
from simlab.world.laws.fitted import Effects, FittedSources, draw_world
from simlab.world.raters import seat_raters
from simlab.world.systems import draw_lognormal

Spread: TypeAlias = Annotated[float, Ge(0), Le(1e6)]

MOST_LOG = 10.0
"""The largest standard deviation of a logarithm that the file of a fitted world may hold."""
USUAL_SEATS = 3
"""Raters of a bucket where each document of the pilot had one: else a design would have nobody to choose from."""


def fitted(
    rng: np.random.Generator,
    *,
    path: str | None,
    sha256: str | None,
    names: list[str] | None,
    n_documents: Annotated[int, Ge(1), Le(100_000)],
    raters_per_bucket: Count | None,
    rater_pool: Literal["pilot", "new"],
    n_raters: Count | None,
    noise: Literal["fresh", "potential"],
    draw: Annotated[int, Ge(0)] | None,
    assumed_rater_system_sd: Spread | None,
    assumed_leniency_sd: Spread | None,
    assumed_residual_sd: Spread | None,
    assumed_system_document_sd: Spread | None,
) -> RatedWorld:
    """Draw a world of a pilot's systems and raters with documents that the pilot did not see.

    The file is what `simlab fit` wrote (`path=None`: the fit that is built in). A world takes one draw of the
    parameters from it at random, so that worlds differ by what the pilot left open. Of a law of one's own the file
    keeps answers; documents and raters at large are drawn from those, with replacement. Documents are as long as those
    of the pilot, drawn with replacement; buckets take the pilot's sets of raters in turn. With `rater_pool=new` as many
    raters are drawn anew from the population that the pilot's raters stand for; so are those of further pools. They are
    `n_raters`, where that is given, and sit as evenly as can be.

    `draw` takes the same draw of the parameters in all worlds; `assumed_...` are spreads that take the place of those
    of every draw, on the scale of the law (where errors are counted: of logarithms, and the share of the noise that is
    a rating's own in place of the residual).

    How fast people work is a draw, too, where the pilot had times: none is taken by itself, so that worlds of older
    files keep their bits.

    Raises InputError for a file that is no fitted world or whose digest is not `sha256` (None: any), for names and a
    draw that are not in it, and for another number of raters than the pilot's where these are its own.
    """
    fitted_world = read_world(path, sha256)
    kept, at = _list_kept(fitted_world, names), _draw(rng, fitted_world, draw)
    new, potential = rater_pool == "new", noise == "potential"
    people = _people(fitted_world, n_raters, new=new)
    frame = partial(
        _frame, world=fitted_world, names=names, n_documents=n_documents, per_bucket=raters_per_bucket, people=people
    )
    spreads = {
        "rater_system_sd": assumed_rater_system_sd,
        "leniency_sd": assumed_leniency_sd,
        "residual_sd": assumed_residual_sd,
        "system_document_sd": assumed_system_document_sd,
    }
    assumed = {name: spread for name, spread in spreads.items() if spread is not None}
    speeds = fitted_world.timing[at % len(fitted_world.timing)] if fitted_world.timing else None
    if isinstance(fitted_world, KeptWorld):
        _refuse_assumed(fitted_world, assumed)
        population = _population(fitted_world, at, kept, frame, n_documents, len(people))
        whom = population.raters(rng) if new else np.arange(len(fitted_world.rater_names))
        return set_speeds(speeds, kept_law.draw_world(rng, population, whom, potential=potential))
    if isinstance(fitted_world, FittedScales):
        effects = replace_spreads(_select_systems(fitted_world.effects[at], kept), assumed)
        world = _draw_on_scale(rng, effects, frame, len(people), new=new, potential=potential)
        return set_speeds(speeds, world)
    counted, leniency_sd = _counting_effects(fitted_world, at, kept, assumptions_for_counts(assumed))
    raters = partial(
        new_raters,
        effects=counted,
        leniency_sd=leniency_sd,
        severity_sd=fitted_world.severity_sd[at],
        n_raters=None if n_raters is None else len(people),
    )
    others = FittedSources(raters=raters, documents=frame)
    own = others.raters(rng) if new else counted
    return set_speeds(speeds, draw_world(rng, own, others.documents(rng), potential=potential, others=others))


def _refuse_assumed(kept: KeptWorld, assumed: Mapping[str, float]) -> None:
    for name, spread in assumed.items():
        raise InputError(
            f"systems.assumed_{name}={spread:g}: this world keeps answers of {clip(kept.model)} and no spread that "
            "another could take the place of; leave it out"
        )


def _population(
    world: KeptWorld, at: int, kept: Ints, frame: Callable[..., Frame], n_documents: int, n_raters: int
) -> kept_law.AnswerPopulation:
    """Return the population of kept answers of draw `at` for systems `kept`, with its draws of documents and raters."""
    value, pilot = world.answers(at)[kept], len(world.rater_names)
    sizes = np.array(world.kept_sizes)
    starts = np.cumsum(sizes) - sizes

    def raters(rng: np.random.Generator) -> Ints:
        return rng.integers(pilot, value.shape[2], size=n_raters)

    def documents(rng: np.random.Generator) -> kept_law.DrawnDocuments:
        chosen = rng.integers(len(sizes), size=n_documents)
        segment = np.concatenate([np.arange(starts[k], starts[k] + sizes[k]) for k in chosen])
        return kept_law.DrawnDocuments(frame(rng, sizes=sizes[chosen]), segment)

    return kept_law.AnswerPopulation(value, pilot, raters, documents)


def _draw(rng: np.random.Generator, world: AnyWorld, draw: int | None) -> int:
    """Return which draw of the parameters a world has: its own, or that which all have."""
    # Drawn in any case, so that a given draw leaves all later random numbers as they are.
    own = int(rng.integers(len(world.effects)))
    if draw is not None and draw >= len(world.effects):
        raise InputError(f"systems.draw={draw}: the fitted world has the draws 0 to {len(world.effects) - 1}")
    return own if draw is None else draw


def _people(world: AnyWorld, n_raters: int | None, *, new: bool) -> tuple[str, ...]:
    """Name the raters: the pilot's where there are as many."""
    if n_raters is None or n_raters == len(world.rater_names):
        return world.rater_names
    if not new:
        raise InputError(
            f"systems.n_raters={n_raters}: the pilot has {len(world.rater_names)} raters; set systems.rater_pool=new "
            "to draw others, or leave it out"
        )
    return name_things("rater", n_raters)


def assumptions_for_counts(assumed: Mapping[str, float]) -> dict[str, float]:
    """Return assumed spreads by the names that they have where errors are counted: `residual_sd` is `noise_share`.

    Raises InputError for shares and spreads of logarithms that cannot be.
    """
    for name, spread in assumed.items():
        most, what = (1.0, "the share of the noise") if name == "residual_sd" else (MOST_LOG, "the spread of a log")
        if spread > most:
            raise InputError(
                f"systems.assumed_{name}={spread:g}: where errors are counted it is {what}; give at most {most:g}"
            )
    return {"noise_share" if name == "residual_sd" else name: spread for name, spread in assumed.items()}


def replace_spreads(effects: scales.ScaleEffects, assumed: Mapping[str, Any]) -> scales.ScaleEffects:
    """Return effects with the `assumed` spreads, by name; the pilot raters' leniency and taste are scaled to them."""
    own = effects
    for name, of_raters in (("leniency_sd", "leniency"), ("rater_system_sd", "taste")):
        if name in assumed and (spread := getattr(effects, name)) > 0:
            own = replace(own, **{of_raters: getattr(own, of_raters) * (assumed[name] / spread)})
    return replace(own, **assumed)


def _counting_effects(world: FittedMqmWorld, at: int, kept: Ints, assumed: Mapping[str, Any]) -> tuple[Effects, float]:
    """Return the effects of a draw of counted errors, and the spread of leniency among raters at large."""
    effects = replace(world.effects[at], system_mean=world.effects[at].system_mean[kept])
    was, leniency_sd = world.leniency_sd[at], assumed.get("leniency_sd", world.leniency_sd[at])
    if leniency_sd != was > 0:
        effects = replace(effects, leniency=_stretch_factors(effects.leniency, was, leniency_sd))
    return replace(effects, **{name: sd for name, sd in assumed.items() if name != "leniency_sd"}), leniency_sd


def _stretch_factors(factors: Floats, was: float, sd: float) -> Floats:
    """Give lognormal factors with mean 1 another standard deviation of their logarithm."""
    return np.asarray(np.exp((np.log(factors) + was**2 / 2) * (sd / was) - sd**2 / 2))


def set_speeds(speeds: Speeds | None, world: World) -> World:
    """Return a world whose people, and those of all worlds it draws anew, work at these speeds; None: as it is."""
    if speeds is None:
        return world
    again = None if world.again is None else partial(_redraw, world.again, speeds)
    return replace(world, speeds=speeds, again=again)


def _redraw(again: Callable[[Anew], World], speeds: Speeds, anew: Anew) -> World:
    return set_speeds(speeds, again(anew))


def _draw_on_scale(
    rng: np.random.Generator,
    effects: scales.ScaleEffects,
    frame: Callable[[np.random.Generator], Frame],
    n_raters: int,
    *,
    new: bool,
    potential: bool,
) -> RatedWorld:
    """Draw a world on a scale; the pilot's raters keep their leniency, sharpness and taste."""

    def documents(rng: np.random.Generator) -> tuple[Frame, Floats]:
        laid = frame(rng)
        return laid, scales.latent_draw(rng, effects, laid.document)

    others = scales.ScaleSources(partial(scales.draw_raters, effects=effects, n_raters=n_raters), documents)
    own = others.raters(rng) if new else effects
    laid, seen = documents(rng)
    return scales.draw_world(rng, own, laid, potential=potential, others=others, seen=seen)


def _select_systems(effects: scales.ScaleEffects, kept: Ints) -> scales.ScaleEffects:
    return replace(effects, system=effects.system[kept], taste=effects.taste[kept])


def _list_kept(world: AnyWorld, names: Sequence[str] | None) -> Ints:
    """List the named systems, in the order of the names."""
    if names is None:
        if len(world.system_names) < 2:
            raise InputError("systems.path: was fitted to one system; a study compares at least two")
        return np.arange(len(world.system_names))
    for name in names:
        if name not in world.system_names:
            hint = suggest(name, world.system_names, "it has", 300)
            raise InputError(f"systems.names: the fitted world has no system {clip(name, 60)}; {hint}")
    if len(set(names)) != len(names) or len(names) < 2:
        raise InputError(f"systems.names={list(names)}: name at least two systems, each once")
    return np.array([world.system_names.index(name) for name in names])


def new_raters(
    rng: np.random.Generator, effects: Effects, leniency_sd: float, severity_sd: float, n_raters: int | None = None
) -> Effects:
    """Return effects with raters drawn anew, as many as in the pilot (None) or `n_raters`.

    Their sharpness and punctuation errors are taken from the pilot's raters.
    """
    n = n_raters or len(effects.leniency)
    like = rng.integers(len(effects.leniency), size=n)
    return replace(
        effects,
        leniency=draw_lognormal(rng, leniency_sd, n),
        severity=draw_lognormal(rng, severity_sd, n),
        sharpness=effects.sharpness[like],
        punctuation=effects.punctuation[like],
    )


def _frame(
    rng: np.random.Generator,
    world: AnyWorld,
    names: Sequence[str] | None,
    n_documents: int,
    per_bucket: int | None,
    people: tuple[str, ...],
    sizes: Ints | None = None,
) -> Frame:
    """Lay out documents, as long as some of the pilot's or of these sizes."""
    if sizes is None:
        sizes = rng.choice(np.array(world.document_sizes), n_documents)
    document = np.repeat(np.arange(n_documents), sizes)
    seats = _seats(world, per_bucket, len(people))
    n_buckets = min(len(seats), n_documents)
    bucket = np.sort(np.arange(n_documents) % n_buckets)
    system_names = world.system_names if names is None else tuple(names)
    rater = np.broadcast_to(seats[bucket[document]], (len(system_names), len(document), seats.shape[1]))
    return Frame(
        document=document,
        bucket=bucket,
        rater=rater,
        system_names=system_names,
        document_names=tuple(f"document{k + 1:0{len(str(n_documents))}d}" for k in range(n_documents)),
        rater_names=people,
        lower_is_better=isinstance(world, FittedMqmWorld) or world.lower_is_better,
    )


def _seats(world: AnyWorld, per_bucket: int | None, n_raters: int) -> Ints:
    """List the raters of each bucket, -1 where it has fewer than others; more or fewer raters sit in a ring."""
    together = max(map(len, world.seats))
    if per_bucket is None and (together == 1 or n_raters != len(world.rater_names)):
        per_bucket = min(max(together, USUAL_SEATS), n_raters)
    if per_bucket is not None:
        if per_bucket > n_raters:
            whose = "of the pilot" if n_raters == len(world.rater_names) else "that there are (systems.n_raters)"
            raise InputError(f"systems.raters_per_bucket={per_bucket} exceeds the {n_raters} raters {whose}")
        return seat_raters(max(len(world.seats), n_raters), n_raters, per_bucket)
    seats = np.full((len(world.seats), max(map(len, world.seats))), -1)
    for row, raters in zip(seats, world.seats, strict=True):
        row[: len(raters)] = raters
    return seats
