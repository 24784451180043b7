"""Draw worlds: systems first, then who judges them, then the metric."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, TypeVar, get_type_hints

from simlab.parts import bind, name_of, resolve
from simlab.rng import stream
from simlab.studies.possible import rule_of, within, worst
from simlab.studies.sealing import sealed
from simlab.types import COMPARE, JUDGE, RATE, Contest, InputError, Outputs, World
from simlab.world.numbers import numbers

Drawn = TypeVar("Drawn")

KEPT = 4
"""Worlds that a process keeps."""

_ASK = {RATE: "rate outputs", COMPARE: "compare outputs", JUDGE: "judge single outputs"}


def draw_world(config: Mapping[str, Any], world: int) -> World:
    """Draw a world; the same for every design (the last ones are kept)."""
    return drawn_at(address(config), world)


def forget() -> None:
    """Let the next block draw its world anew."""
    drawn_at.cache_clear()


def address(config: Mapping[str, Any]) -> str:
    """Write down all of a config that determines its worlds."""
    parts = {name: config.get(name, {}) for name in ("seed", "systems", "raters", "metric")}
    return json.dumps(parts | {"plugins": config.get("plugins", [])}, sort_keys=True)


@lru_cache(maxsize=KEPT)
def drawn_at(written: str, world: int) -> World:
    """Draw the world of an address; its raters decide which questions it answers."""
    at = json.loads(written)
    drawn = bind(at["systems"], at["plugins"])(stream(at["seed"], "world", world, "systems"))
    drawn = _checked(drawn, "systems", at["systems"])
    if "_target_" in at["raters"]:
        _refuse_other_raters(drawn, at)
        drawn = bind(at["raters"], at["plugins"])(stream(at["seed"], "world", world, "raters"), drawn)
        drawn = _checked(drawn, "raters", at["raters"])
    if not isinstance(drawn, World):
        raise InputError("nobody rates, compares or judges the outputs of these systems; choose raters")
    if "_target_" not in at["metric"]:
        return drawn
    scored: World = bind(at["metric"], at["plugins"])(stream(at["seed"], "world", world, "metric"), drawn)
    return _checked(scored, "metric", at["metric"])


def _checked(drawn: Drawn, group: str, section: Mapping[str, Any]) -> Drawn:
    """Make what a part has drawn read-only; raise InputError where a number in it cannot be."""
    for name, value in numbers(drawn):
        if not within(value):
            said = worst(value)
            raise InputError(
                f"{group}={name_of(section)} draws a world with {name} {said:.3g}; {rule_of(said)}; change its keys"
            )
    if isinstance(drawn, World):
        sealed([drawn.frame.document, drawn.frame.bucket, drawn.frame.rater])
    return sealed(drawn)


def _refuse_other_raters(drawn: Outputs | World | Contest, at: Mapping[str, Any]) -> None:
    """Raise InputError where the raters rate outputs and the systems are compared, or the other way round."""
    returned = get_type_hints(resolve(at["raters"]["_target_"], at["plugins"]), include_extras=True).get("return")
    question = getattr(returned, "__metadata__", (None,))[0]
    if question in _ASK and (question == RATE) != isinstance(drawn, Outputs):
        name = name_of(at["raters"])
        raise InputError(
            f"raters={name} {_ASK[question]}, which these systems do not offer; choose other raters or systems"
        )
