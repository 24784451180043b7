"""Bind the parts of a study of ratings, once a cell."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from simlab.parts import bind
from simlab.types import Array, Floats, Seen


class Prepared(NamedTuple):
    """Hold what a cell asks: its design, the bound parts, and what it costs."""

    seed: int
    design: Mapping[str, Any]
    group: Callable[..., Any]
    normalise: Callable[[Seen], Seen]
    test: Callable[[np.random.Generator, Floats], Array]
    level: float
    price_per_rating: float


def prepare(config: Mapping[str, Any]) -> Prepared:
    """Bind grouping, normalisation and test."""
    plugins = config.get("plugins", ())
    return Prepared(
        seed=config["seed"],
        design=config["design"],
        group=bind(config["design"]["grouping"], plugins),
        normalise=bind(config["analysis"]["normalization"], plugins),
        test=bind(config["analysis"]["test"], plugins),
        level=config["decision"]["level"],
        price_per_rating=config["budget"]["price_per_rating"],
    )


def same_layout(prepared: Prepared) -> str:
    """Write down what decides who can be asked about what."""
    return json.dumps([prepared.design["grouping"], prepared.design["ratings_per_item"]])
