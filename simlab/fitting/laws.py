"""List the laws (distributions of answers) that can be fitted to ratings; a new one is one entry here.

`laws` returns them as `FittableLaw`; its `fit` takes a table, the pilot, and returns `Fitted`: draws of parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from simlab.tables.rating_table import Ratings
from simlab.types import Array, Floats, Frame, World


class SampledPosterior(NamedTuple):
    """Draws of chains: `draws[site]` and `stats[name]` are `[chain, draw, ...]`, `dims[site]` name the rest."""

    draws: Mapping[str, Array]
    dims: Mapping[str, tuple[str, ...]]
    stats: Mapping[str, Array]


@dataclass(frozen=True, slots=True)
class Fitted:
    """Draws of all parameters of a law, given a pilot (the table `ratings`).

    `effects[draw]` is a draw as the law's functions take it; `components[name][draw]` are standard deviations by the
    name of an effect; `not_identified` are sentences on parameters that the pilot does not identify, `unknown` names
    components that only the priors inform. `diagnosis` has R-hat and the like by name, `posterior` is all that its
    chains kept (None: the law is fitted without chains, or in a hurry).
    """

    law: str
    ratings: Ratings
    effects: Sequence[Any]
    components: Mapping[str, Floats]
    not_identified: Sequence[str]
    unknown: frozenset[str]
    diagnosis: Mapping[str, float]
    posterior: SampledPosterior | None = None


class FittableLaw(NamedTuple):
    """Functions that fit a law to ratings and draw from it.

    `refused(ratings)` says why a table does not allow the law (None: it does). `fit(ratings, seed=, draws=, rough=)`
    returns `Fitted`; `rough` takes less time, enough to compare laws. `answer(rng, effects, design)` draws new
    documents and returns a score `[rating]` for each rating of `design`, by the same systems and raters. `world(rng,
    effects, frame, potential=)` draws a world for a frame. `content(fitted)` returns the part of a world's file that
    holds the draws.
    """

    name: str
    refused: Callable[[Ratings], str | None]
    fit: Callable[..., Fitted]
    answer: Callable[[np.random.Generator, Any, Ratings], Floats]
    world: Callable[..., World]
    content: Callable[[Fitted], Mapping[str, Any]]


def laws_by_name(name: str) -> tuple[FittableLaw, ...]:
    """List the laws among which a name chooses: those of simlab, or a user's own, given as MODULE:FUNCTION.

    Raises InputError where there is no such function, or where it is no law.
    """
    if ":" not in name:
        return laws()
    from simlab.fitting.own_law import own_law

    return (own_law(name),)


def laws() -> tuple[FittableLaw, ...]:
    """List the laws of ratings, each imported when it is asked for."""
    from simlab.fitting.mqm import MQM
    from simlab.fitting.scales import BINARY, GAUSSIAN, NORMAL_SCORES, ORDINAL

    return BINARY, GAUSSIAN, NORMAL_SCORES, ORDINAL, MQM


def draw_fixed_world(law: FittableLaw, rng: np.random.Generator, effects: Any, frame: Frame) -> World:
    """Draw a world for a frame from `effects`, a draw of the law; every rating is fixed, as in a recorded table."""
    return law.world(rng, effects, frame, potential=True)
