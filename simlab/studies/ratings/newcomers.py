"""Draw who comes in place of raters who have left: new people in the same seats, as a pool drawn anew."""

from __future__ import annotations

from collections import OrderedDict

from simlab.rng import stream
from simlab.types import Anew, Place, World

KEPT = 4
"""Worlds of newcomers that a process keeps."""

_drawn: OrderedDict[tuple[int, int, tuple[int, ...], int], tuple[World, World]] = OrderedDict()


def newcomers(seed: int, world: World, place: Place, turn: int) -> World:
    """Draw who comes after others in the same seats: the same people in all studies of a pool (the last are kept)."""
    key = (id(world), seed, place[:3], turn)
    # An id is that of another world once the first is gone, so the world is held with it.
    if key not in _drawn or _drawn[key][0] is not world:
        _drawn[key] = world, _draw_newcomers(seed, world, place, turn)
        if len(_drawn) > KEPT:
            _drawn.popitem(last=False)
    return _drawn[key][1]


def _draw_newcomers(seed: int, world: World, place: Place, turn: int) -> World:
    if world.again is None:
        raise ValueError("newcomers of a world that cannot be drawn anew, which a check refuses")
    return world.again(
        Anew(
            stream(seed, *place.of_pool, "raters", "newcomers", turn),
            None,
            stream(seed, *place.of_world, "both", "newcomers", turn),
        )
    )
