"""Refuse a clock that takes its speeds from a world which has none, before anything is run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simlab.types import InputError, World

OF_THE_WORLD = ("seconds_per_answer", "rater_sd", "screen_sd")
"""Keys of a clock that are null where they are those of the world."""


def check_speeds(config: Mapping[str, Any], world: World) -> None:
    """Raise InputError where the world knows nothing of the speeds that the clock wants of it."""
    clock = config["design"].get("collection") or {}
    wanted = [key for key in OF_THE_WORLD if key in clock and clock[key] is None]
    if wanted and world.speeds is None:
        raise InputError(
            f"design.collection.{wanted[0]}=null: this world says nothing of how fast people work; fit one to a table"
            " with times (simlab fit), or choose design.collection=experts, crowd or team"
        )
