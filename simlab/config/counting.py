"""Count what a grid asks for before any of it is composed; refuse what nobody could carry out."""

from __future__ import annotations

import math
from collections.abc import Mapping

from simlab.messages import legible
from simlab.types import InputError

MOST_CELLS = 200_000
"""A cell takes a millisecond to check and some kilobytes to hold: so many take minutes and a gigabyte before the first
campaign. The largest grids that are known, of a hundred thousand cells, are below."""

MOST_SETTINGS = 2_000_000
"""Settings of a calculation, which cost microseconds and no config of their own."""


def refuse_many(lengths: Mapping[str, int], most: int, what: str = "cells") -> None:
    """Raise InputError, naming the axes with their lengths, where a grid has too many points.

    >>> refuse_many({"design.documents": 3, "raters.noise_share": 4}, MOST_CELLS)
    """
    count = math.prod(lengths.values())
    if count <= most:
        return
    axes = " x ".join(f"{key} ({n:,})" for key, n in lengths.items())
    longest = max(lengths, key=lambda key: lengths[key])
    raise InputError(
        f"{legible(axes, 400)} are {count:,} {what}, more than {most:,}; give {longest} fewer values, or go through "
        "the axes one after the other"
    )
