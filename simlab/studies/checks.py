"""Hold the keys of a cell against each other, once the shape of its world is known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from simlab.studies.kind import Shape
from simlab.studies.money_checks import check_money
from simlab.studies.questions import kind_of
from simlab.studies.sealing import writing_noticed
from simlab.studies.speed_checks import check_speeds
from simlab.studies.worlds import draw_world
from simlab.types import InputError


@np.errstate(all="ignore")
def covered(config: Mapping[str, Any]) -> list[str]:
    """Say what one answer of a cell covers, how many are asked for, and how its money cuts that; of the first world."""
    return kind_of(config).covers(config, draw_world(config, 0))


@np.errstate(all="ignore")
@writing_noticed()
def check(config: Mapping[str, Any]) -> Shape:
    """Return the shape of a cell's worlds; raise InputError where its keys contradict each other or its world."""
    kind = kind_of(config)
    check_money(config, kind.question)
    world = draw_world(config, 0)
    last = [config.get(key, 1) - 1 for key in ("pools", "document_draws")]
    if any(last):
        draw_world(config, 0, *last)
    if not kind.accepts(world):
        offered = " or ".join(sorted(world.answers))
        raise InputError(
            f"question={kind.question}: outputs of this world are there to {offered}; choose other raters or systems"
        )
    check_speeds(config, world)
    return kind.check(config, world)
