"""Draw the worlds of a config: first systems, then raters, then a metric; refuse impossible numbers.

Call `draw_world` with a config and the indices of world, rater pool and draw of documents, which returns the `World`.
An address is the part of a config that determines its worlds, as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache
from typing import Any, TypeVar, get_type_hints

import numpy as np

from simlab.parts import bind, name_of, resolve
from simlab.rng import stream
from simlab.studies.drawn_keys import draw_keys
from simlab.studies.outcomes import explain_impossible, find_worst, is_in_bounds
from simlab.studies.read_only import seal
from simlab.types import COMPARE, JUDGE, RATE, Anew, Contest, Floats, InputError, Latent, Outputs, Place, World
from simlab.world.laws.fixed import FixedRatings
from simlab.world.laws.scales import Scale

Drawn = TypeVar("Drawn")
KEPT = 4
"""Most worlds in the cache of a process."""
_ASK = {RATE: "rate outputs", COMPARE: "compare outputs", JUDGE: "judge single outputs"}
_NOTHING_ANEW = (
    "pools and document_draws: of this world neither raters nor documents can be drawn anew (a recorded table has its "
    "own, once); set pools=1 and document_draws=1"
)


def draw_world(config: Mapping[str, Any], world: int, pool: int = 0, draw: int = 0) -> World:
    """Draw world number `world`, with rater pool number `pool` and documents number `draw` (0: the world's first).

    The same for every design; the last few are kept. Raises InputError where raters or documents cannot be drawn anew.
    """
    return draw_at(address(config), world) if pool == draw == 0 else draw_again(address(config), world, pool, draw)


def forget() -> None:
    """Clear the cache of worlds."""
    draw_at.cache_clear()
    draw_again.cache_clear()


def address(config: Mapping[str, Any]) -> str:
    """Return as JSON all of a config that determines its worlds."""
    parts = {name: config.get(name, {}) for name in ("seed", "systems", "raters", "metric")}
    return json.dumps(parts | {"plugins": config.get("plugins", [])}, sort_keys=True)


@lru_cache(maxsize=KEPT)
def draw_at(written: str, world: int) -> World:
    """Draw the world of an address (JSON of a config) and an index, with its first raters and documents."""
    at = draw_keys(json.loads(written), world)
    drawn = bind(at["systems"], at["plugins"])(stream(at["seed"], "world", world, "systems"))
    drawn = _check(drawn, "systems", at["systems"])
    if "_target_" in at["raters"]:
        _refuse_other_raters(drawn, at)
        drawn = bind(at["raters"], at["plugins"])(stream(at["seed"], "world", world, "raters"), drawn)
        drawn = _check(drawn, "raters", at["raters"])
    if not isinstance(drawn, World):
        raise InputError("nobody rates, compares or judges the outputs of these systems; choose raters")
    if "_target_" not in at["metric"]:
        return drawn
    scored: World = bind(at["metric"], at["plugins"])(stream(at["seed"], "world", world, "metric"), drawn)
    return _check(scored, "metric", at["metric"])


@lru_cache(maxsize=KEPT)
def draw_again(written: str, world: int, pool: int, draw: int) -> World:
    """Draw other raters, other documents, or both for the systems of a world.

    Pools and draws of documents cross: a pool is the same people whatever they rate, a draw of documents the same
    whoever rates it.
    """
    first, seed = draw_at(written, world), json.loads(written)["seed"]
    if first.again is None:
        raise InputError(_NOTHING_ANEW)
    place = Place(world, pool, draw)
    drawn = first.again(
        Anew(
            stream(seed, *place.of_pool, "raters") if pool else None,
            stream(seed, *place.of_documents, "documents drawn") if draw else None,
            stream(seed, *place.of_world, "both"),
        )
    )
    if drawn.metric is None and isinstance(first.metric, np.ndarray):
        raise InputError("this metric scores the documents that there are, and no others; set document_draws=1")
    if drawn.metric is None and first.metric is not None:
        drawn = replace(drawn, metric=first.metric)
    return _check(drawn, "raters", json.loads(written)["raters"])


def _check(drawn: Drawn, group: str, section: Mapping[str, Any]) -> Drawn:
    """Make what a part has drawn read-only; raise InputError where a number in it cannot be."""
    for name, value in numbers(drawn):
        if not is_in_bounds(value):
            worst = find_worst(value)
            raise InputError(
                f"{group}={name_of(section)} draws a world with {name} {worst:.3g}; "
                f"{explain_impossible(worst)}; change its keys"
            )
    if isinstance(drawn, World):
        # `seal` takes frames for sealed already: this is where they are.
        seal([drawn.frame.document, drawn.frame.bucket, drawn.frame.rater])
    return seal(drawn)


def _refuse_other_raters(drawn: Outputs | World | Contest, at: Mapping[str, Any]) -> None:
    """Raise InputError where the raters rate outputs and the systems are compared, or the other way round."""
    returned = get_type_hints(resolve(at["raters"]["_target_"], at["plugins"]), include_extras=True).get("return")
    question = getattr(returned, "__metadata__", (None,))[0]
    if question in _ASK and (question == RATE) != isinstance(drawn, Outputs):
        name = name_of(at["raters"])
        raise InputError(
            f"raters={name} {_ASK[question]}, which these systems do not offer; choose other raters or systems"
        )


def numbers(drawn: Any, name: str = "value") -> Iterator[tuple[str, Floats]]:
    """Yield name and array of all numbers of a drawn world or record that must be finite.

    Numbers that may be missing, or infinite by design, are left out: ratings of empty slots, the quality of systems
    that are always, or never, adequate, the ends of a scale that has none. Records of plug-ins are not checked.
    """
    if isinstance(drawn, World):
        yield from _list_world_numbers(drawn)
    elif isinstance(drawn, Latent):
        # Infinity is a quality here, and as no bound holds it nothing but numbers that are none are shown.
        yield "quality", np.where(np.isinf(drawn.quality), 0.0, drawn.quality)
        yield from _list_record_numbers(drawn, except_for="quality")
    elif isinstance(drawn, Scale):
        yield from (("thresholds", drawn.thresholds), ("values", drawn.values))
    elif isinstance(drawn, np.ndarray | float):
        yield name, np.asarray(drawn)
    elif isinstance(drawn, tuple) and hasattr(drawn, "_fields"):
        for part, value in zip(drawn._fields, drawn, strict=True):
            yield from numbers(value, part)
    elif is_dataclass(drawn) and type(drawn).__module__.startswith("simlab."):
        yield from _list_record_numbers(drawn)


def _list_record_numbers(record: Any, except_for: str = "") -> Iterator[tuple[str, Floats]]:
    for field in fields(record):
        if field.name != except_for:
            yield from numbers(getattr(record, field.name), field.name)


def _list_world_numbers(world: World) -> Iterator[tuple[str, Floats]]:
    laws: Mapping[str, Any] = world.answers
    for law in laws.values():
        if isinstance(law, FixedRatings):
            yield "ratings", law.value[np.broadcast_to(world.frame.rater >= 0, law.value.shape)]
        else:
            yield from numbers(law, "answers")
    yield from numbers(world.truth, "truth")
    yield from numbers(world.metric, "metric")
