"""Make worlds as a pilot says they are: its systems and raters, on new documents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Le

from simlab.messages import legible, or_nearest
from simlab.types import Anew, Floats, Frame, InputError, Ints, RatedWorld, Speeds, World
from simlab.types.bounds import Count
from simlab.world.files.fitted_scales import FittedScales
from simlab.world.files.fitted_world import FittedWorld, read_world
from simlab.world.laws import scales
from simlab.world.laws.fitted import Effects, Others, world_on
from simlab.world.raters import seat_raters
from simlab.world.systems import lognormal

USUAL_SEATS = 3
"""Raters who sit together where in the pilot each document had one: else a design would have nobody to choose from."""


def fitted(
    rng: np.random.Generator,
    *,
    path: str | None,
    sha256: str | None,
    names: list[str] | None,
    n_documents: Annotated[int, Ge(1), Le(100_000)],
    raters_per_bucket: Count | None,
    rater_pool: Literal["pilot", "new"],
    noise: Literal["fresh", "potential"],
) -> RatedWorld:
    """Draw a world of a pilot's systems and raters with documents that the pilot did not see.

    The file is what `simlab fit` wrote (`path=None`: the fit that is built in). A world takes one draw of the
    parameters from it at random, so that worlds differ by what the pilot left open. Documents are as long as those of
    the pilot, drawn with replacement; buckets take the pilot's sets of raters in turn. With `rater_pool=new` as many
    raters are drawn anew from the population that the pilot's raters stand for; so are those of further pools.

    How fast people work is a draw, too, where the pilot had times: none is taken by itself, so that worlds of older
    files keep their bits.

    Raises InputError for a file that is no fitted world or whose digest is not `sha256` (None: any), and for names that
    are not in it.
    """
    held = read_world(path, sha256)
    draw, kept = int(rng.integers(len(held.effects))), _kept(held, names)
    frame = partial(_frame, held=held, names=names, n_documents=n_documents, per_bucket=raters_per_bucket)
    new, potential = rater_pool == "new", noise == "potential"
    speeds = held.timing[draw % len(held.timing)] if held.timing else None
    if isinstance(held, FittedScales):
        world = _on_scale(rng, _of_systems(held.effects[draw], kept), frame, new=new, potential=potential)
        return working_at(speeds, world)
    effects = replace(held.effects[draw], system_mean=held.effects[draw].system_mean[kept])
    leniency_sd, severity_sd = held.leniency_sd[draw], held.severity_sd[draw]
    others = Others(
        raters=partial(new_raters, effects=effects, leniency_sd=leniency_sd, severity_sd=severity_sd),
        documents=frame,
    )
    own = others.raters(rng) if new else effects
    return working_at(speeds, world_on(rng, own, others.documents(rng), potential=potential, others=others))


def working_at(speeds: Speeds | None, world: World) -> World:
    """Say how fast people work in a world, and in all that it draws anew; None leaves it open."""
    if speeds is None:
        return world
    again = None if world.again is None else partial(_again, world.again, speeds)
    return replace(world, speeds=speeds, again=again)


def _again(again: Callable[[Anew], World], speeds: Speeds, anew: Anew) -> World:
    return working_at(speeds, again(anew))


def _on_scale(
    rng: np.random.Generator,
    effects: scales.ScaleEffects,
    frame: Callable[[np.random.Generator], Frame],
    *,
    new: bool,
    potential: bool,
) -> RatedWorld:
    """Draw a world on a scale; the pilot's raters keep their leniency, sharpness and taste."""

    def documents(rng: np.random.Generator) -> tuple[Frame, Floats]:
        laid = frame(rng)
        return laid, scales.latent_draw(rng, effects, laid.document)

    others = scales.Others(partial(scales.with_raters, effects=effects, n_raters=len(effects.leniency)), documents)
    own = others.raters(rng) if new else effects
    laid, seen = documents(rng)
    return scales.world_on(rng, own, laid, potential=potential, others=others, seen=seen)


def _of_systems(effects: scales.ScaleEffects, kept: Ints) -> scales.ScaleEffects:
    return replace(effects, system=effects.system[kept], taste=effects.taste[kept])


def _kept(held: FittedWorld | FittedScales, names: Sequence[str] | None) -> Ints:
    """List the named systems, in the order of the names."""
    if names is None:
        if len(held.system_names) < 2:
            raise InputError("systems.path: was fitted to one system; a study compares at least two")
        return np.arange(len(held.system_names))
    for name in names:
        if name not in held.system_names:
            hint = or_nearest(name, held.system_names, "it has", 300)
            raise InputError(f"systems.names: the fitted world has no system {legible(name, 60)}; {hint}")
    if len(set(names)) != len(names) or len(names) < 2:
        raise InputError(f"systems.names={list(names)}: name at least two systems, each once")
    return np.array([held.system_names.index(name) for name in names])


def new_raters(rng: np.random.Generator, effects: Effects, leniency_sd: float, severity_sd: float) -> Effects:
    """Draw raters anew; how sharp they are and how they mark punctuation is taken from the pilot's raters."""
    n = len(effects.leniency)
    like = rng.integers(n, size=n)
    return replace(
        effects,
        leniency=lognormal(rng, leniency_sd, n),
        severity=lognormal(rng, severity_sd, n),
        sharpness=effects.sharpness[like],
        punctuation=effects.punctuation[like],
    )


def _frame(
    rng: np.random.Generator,
    held: FittedWorld | FittedScales,
    names: Sequence[str] | None,
    n_documents: int,
    per_bucket: int | None,
) -> Frame:
    sizes = rng.choice(np.array(held.document_sizes), n_documents)
    document = np.repeat(np.arange(n_documents), sizes)
    seats = _seats(held, per_bucket)
    n_buckets = min(len(seats), n_documents)
    bucket = np.sort(np.arange(n_documents) % n_buckets)
    system_names = held.system_names if names is None else tuple(names)
    rater = np.broadcast_to(seats[bucket[document]], (len(system_names), len(document), seats.shape[1]))
    return Frame(
        document=document,
        bucket=bucket,
        rater=rater,
        system_names=system_names,
        document_names=tuple(f"document{k + 1:0{len(str(n_documents))}d}" for k in range(n_documents)),
        rater_names=held.rater_names,
        lower_is_better=held.lower_is_better if isinstance(held, FittedScales) else True,
    )


def _seats(held: FittedWorld | FittedScales, per_bucket: int | None) -> Ints:
    """List the raters of each bucket, -1 where it has fewer than others."""
    n_raters = len(held.rater_names)
    if per_bucket is None and max(map(len, held.seats)) == 1:
        per_bucket = min(USUAL_SEATS, n_raters)
    if per_bucket is not None:
        if per_bucket > n_raters:
            raise InputError(f"systems.raters_per_bucket={per_bucket} exceeds the {n_raters} raters of the pilot")
        return seat_raters(max(len(held.seats), n_raters), n_raters, per_bucket)
    seats = np.full((len(held.seats), max(map(len, held.seats))), -1)
    for row, raters in zip(seats, held.seats, strict=True):
        row[: len(raters)] = raters
    return seats
