"""Draw worlds: systems first, then who judges them, then the metric."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, get_type_hints

from simlab.parts import bind, resolve
from simlab.rng import stream
from simlab.types import Contest, InputError, JudgementWorld, Outputs, PreferenceWorld, World


def draw_world(config: Mapping[str, Any], world: int) -> World | PreferenceWorld | JudgementWorld:
    """Draw a world; the same for every design (the last ones are kept)."""
    drawn: World | PreferenceWorld | JudgementWorld = drawn_at(address(config), world)
    return drawn


def address(config: Mapping[str, Any]) -> str:
    """Write down all of a config that determines its worlds."""
    parts = {name: config.get(name, {}) for name in ("seed", "systems", "raters", "metric")}
    return json.dumps(parts | {"plugins": config.get("plugins", [])}, sort_keys=True)


@lru_cache(maxsize=4)
def drawn_at(written: str, world: int) -> Any:
    """Draw the world of an address, of the kind that its raters make: who rate, compare or judge outputs."""
    at = json.loads(written)
    drawn = bind(at["systems"], at["plugins"])(stream(at["seed"], "world", world, "systems"))
    if "_target_" in at["raters"]:
        _refuse_other_raters(drawn, at)
        drawn = bind(at["raters"], at["plugins"])(stream(at["seed"], "world", world, "raters"), drawn)
    if "_target_" in at["metric"]:
        drawn = bind(at["metric"], at["plugins"])(stream(at["seed"], "world", world, "metric"), drawn)
    return drawn


def _refuse_other_raters(drawn: Outputs | World | Contest, at: Mapping[str, Any]) -> None:
    """Raise InputError where the raters rate outputs and the systems are compared, or the other way round."""
    target = at["raters"]["_target_"]
    made = get_type_hints(resolve(target, at["plugins"])).get("return")
    if (made in (PreferenceWorld, JudgementWorld)) == isinstance(drawn, Outputs):
        kinds: dict[Any, str] = {PreferenceWorld: "compare outputs", JudgementWorld: "judge single outputs"}
        kind = kinds.get(made, "rate outputs")
        name = target.rpartition(".")[2]
        raise InputError(f"raters={name} {kind}, which these systems do not offer; choose other raters or systems")
