"""List the numbers that a world consists of, so that none passes that cannot be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from simlab.types import Floats, Latent, World
from simlab.world.laws.fixed import FixedRatings
from simlab.world.laws.scales import Scale


def numbers(drawn: Any, name: str = "value") -> Iterator[tuple[str, Floats]]:
    """Go through the numbers of what a part has drawn: the name of each, and the numbers that must be finite.

    What may be missing, or infinite by design, is left out: ratings where nobody sits, the quality of systems that are
    always adequate, or never, the ends of a scale that has none. Records that are not simlab's own are known to their
    plug-in alone.
    """
    if isinstance(drawn, World):
        yield from _of_world(drawn)
    elif isinstance(drawn, Latent):
        # Infinity is a quality here, and as no bound holds it nothing but numbers that are none are shown.
        yield "quality", np.where(np.isinf(drawn.quality), 0.0, drawn.quality)
        yield from _of_record(drawn, except_for="quality")
    elif isinstance(drawn, Scale):
        yield from (("thresholds", drawn.thresholds), ("values", drawn.values))
    elif isinstance(drawn, np.ndarray | float):
        yield name, np.asarray(drawn)
    elif isinstance(drawn, tuple) and hasattr(drawn, "_fields"):
        for part, value in zip(drawn._fields, drawn, strict=True):
            yield from numbers(value, part)
    elif is_dataclass(drawn) and type(drawn).__module__.startswith("simlab."):
        yield from _of_record(drawn)


def _of_record(record: Any, except_for: str = "") -> Iterator[tuple[str, Floats]]:
    for field in fields(record):
        if field.name != except_for:
            yield from numbers(getattr(record, field.name), field.name)


def _of_world(world: World) -> Iterator[tuple[str, Floats]]:
    laws: Mapping[str, Any] = world.answers
    for law in laws.values():
        if isinstance(law, FixedRatings):
            yield "ratings", law.value[np.broadcast_to(world.frame.rater >= 0, law.value.shape)]
        else:
            yield from numbers(law, "answers")
    yield from numbers(world.truth, "truth")
    yield from numbers(world.metric, "metric")
