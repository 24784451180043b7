"""Give a world of rated documents a metric that scores every segment of every system.

`segment_metric`, an option of `metric`, takes a world and a correlation and returns the world with scores
`[system, item]` as its metric; `agreed_quality` is the quality with which these correlate.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, cast

import numpy as np
from annotated_types import Ge, Le

from simlab.types import RATE, Anew, Floats, RatedWorld, RatingLaw, World
from simlab.types.bounds import Spread


def segment_metric(
    rng: np.random.Generator,
    world: RatedWorld,
    *,
    correlation: Annotated[float, Ge(-1), Le(1)],
    correlation_sd: Spread,
) -> RatedWorld:
    """Add a metric whose score of an output has a `correlation` with the quality that its raters agree on.

    The correlation is within systems; with `correlation_sd` each system has its own, clipped to [-1, 1]. Quality is
    what the raters of a segment expect on average, or gave, and the higher score is the better one. A campaign then
    corrects the ratings that it has by what the metric says of the segments that it has not (control variates, Chaganty
    et al. 2018): the means that it estimates are still those of the raters.
    """
    n_systems = world.frame.n_systems
    rho = np.clip(correlation + correlation_sd * rng.standard_normal(n_systems), -1, 1)[:, None]
    return _score_segments(world, rho, rng.standard_normal((n_systems, len(world.frame.document))))


def _score_segments(world: World, rho: Floats, noise: Floats) -> World:
    """Score the segments; of other documents the metric's errors are others, of other raters its aim is."""
    quality = agreed_quality(world)
    spread = quality.std(1, keepdims=True)
    followed = (quality - quality.mean(1, keepdims=True)) / np.where(spread > 0, spread, 1.0)
    sign = -1.0 if world.frame.lower_is_better else 1.0
    scored = replace(world, metric=sign * rho * followed + np.sqrt(1 - rho**2) * noise)
    if world.again is None:
        return scored
    rated_again = world.again

    def again(anew: Anew) -> World:
        rated = rated_again(anew)
        # After the documents themselves, whoever rates them.
        own = noise if anew.documents is None else anew.documents.standard_normal(noise.shape)
        return _score_segments(rated, rho, own)

    return replace(scored, again=again)


def agreed_quality(world: World) -> Floats:
    """Average the expected, or fixed, ratings of each output over its raters: `[system, item]`; gaps: system's mean."""
    by_rater = cast(RatingLaw, world.answers[RATE]).expected_ratings()
    known = np.isfinite(by_rater) & (world.frame.rater >= 0)
    n = known.sum(2)
    mean = np.where(known, by_rater, 0.0).sum(2) / np.maximum(n, 1)
    overall = np.where(n > 0, mean, 0.0).sum(1) / np.maximum((n > 0).sum(1), 1)
    return np.asarray(np.where(n > 0, mean, overall[:, None]))
