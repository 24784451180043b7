"""Draw pools of raters who rate on a scale: points, categories, or yes and no.

`scale_raters`, an option of `raters`, takes the systems' `Outputs` and the option's keys, and returns a `World` of
ratings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Gt, Le

from simlab.types import Floats, Frame, InputError, Outputs, RatedWorld
from simlab.types.bounds import Count, Spread
from simlab.world.laws.scales import ScaleEffects, ScaleSources, draw_raters, draw_world
from simlab.world.raters import redraw_documents, seat_pool


def scale_raters(
    rng: np.random.Generator,
    outputs: Outputs,
    *,
    law: Literal["gaussian", "ordinal", "binary"],
    pool_size: Count,
    raters_per_bucket: Count,
    buckets_per_rater: Count | None,
    documents_per_bucket: Count | None,
    leniency_sd: Spread,
    sharpness_sd: Annotated[float, Ge(0), Le(3)],
    rater_system_sd: Spread,
    rater_document_sd: Spread,
    residual_sd: Spread,
    tail: Annotated[float, Gt(2), Le(1e6)] | None,
    noise: Literal["fresh", "potential"],
) -> RatedWorld:
    """Seat a pool of raters who rate every output of their buckets on the scale of the systems.

    A rater spreads what outputs are worth about the mean by a factor of their own (sharpness, lognormal with median 1)
    and adds a leniency, a taste for the system, a taste for the document, and a residual that is each rating's own,
    with Student tails where `tail` (degrees of freedom) is given. Floor and ceiling, steps or thresholds then make it a
    score. With `noise=fresh` each study draws the residual anew; with `noise=potential` a rating is fixed, as in a
    recorded table. Systems are truly worth what raters at large give them on average.

    Raises InputError for systems of another law, and for buckets that the pool cannot fill (see `count_buckets`).
    """
    effects = replace(
        _require_scale(outputs, law),
        leniency_sd=leniency_sd,
        sharpness_sd=sharpness_sd,
        rater_system_sd=rater_system_sd,
        rater_document_sd=rater_document_sd,
        residual_sd=residual_sd,
    )
    effects = replace(effects, scale=replace(effects.scale, tail=np.inf if tail is None else tail))
    seat = partial(
        seat_pool,
        pool_size=pool_size,
        raters_per_bucket=raters_per_bucket,
        buckets_per_rater=buckets_per_rater,
        per_bucket=documents_per_bucket,
    )
    people = partial(draw_raters, effects=effects, n_raters=pool_size)
    others = ScaleSources(people, lambda rng: _lay_out_seats(redraw_documents(outputs, rng), seat))
    frame, seen = _lay_out_seats(outputs, seat)
    return draw_world(rng, people(rng), frame, potential=noise == "potential", others=others, seen=seen)


def _require_scale(outputs: Outputs, law: str) -> ScaleEffects:
    """Return the effects that systems were drawn with; raise InputError where these raters rate on another scale."""
    known = outputs.scale
    if not isinstance(known, ScaleEffects):
        raise InputError(
            f"raters: these rate on a scale of the law {law}, and the errors of these systems are counted; choose "
            f"systems={law}, or raters=expert_pool"
        )
    if known.scale.law != law:
        raise InputError(
            f"raters.law={law} speaks of spreads on another scale than these systems have; choose "
            f"raters={known.scale.law}, or systems={law}"
        )
    return known


def _lay_out_seats(outputs: Outputs, seat: Callable[[Outputs], Frame]) -> tuple[Frame, Floats]:
    """Return the frame with raters in seats, and each output's deviation from its system's mean, `[system, item]`."""
    return seat(outputs), outputs.quality - outputs.truth[:, None]
