"""Say how much memory worlds and campaigns take, from the config alone.

What is large is an array over systems, items and raters, or over pairs. Numbers of bytes per entry were measured (the
test beside this holds them against what a process takes); they are of peaks, so what a formula needs on its way counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from simlab.studies.extent import Size


class Need(NamedTuple):
    """Hold a number of bytes, and the sizes that it is made of."""

    bytes: float
    sizes: tuple[Size, ...]

    @property
    def of(self) -> str:
        """Say what it is made of: `3 systems x 2 items`."""
        return " x ".join(f"{size.n:,.0f} {size.word}" for size in self._counted)

    @property
    def keys(self) -> tuple[str, ...]:
        """Name the keys that lower it, the one that counts most first."""
        largest = sorted(self._counted, key=lambda size: -size.n)
        return tuple(dict.fromkeys(size.key for size in largest if size.key))

    @property
    def _counted(self) -> list[Size]:
        return [size for size in self.sizes if size.n > 1] or list(self.sizes)


class Footprint(NamedTuple):
    """Hold what a world takes, what drawing it takes beyond that, and what a block of campaigns takes beyond it."""

    world: Sequence[Need]
    drawing: Sequence[Need]
    campaigns: Sequence[Need]

    def peak(self, kept: int = 1) -> float:
        """Return the most bytes that are held at a time, where a process keeps so many worlds."""
        return kept * total(self.world) + max(total(self.drawing), total(self.campaigns))

    def largest(self) -> Need:
        """Return what takes most of it, smaller counts before larger ones."""
        return max((*self.world, *self.drawing, *self.campaigns), key=lambda need: need.bytes)


NOTHING = Footprint((), (), ())
"""What is forecast of a kind of study that says nothing of its size."""


def need(bytes_each: float, *sizes: Size) -> Need:
    """Return what an array over these sizes takes.

    >>> need(8, Size(3, "systems", "systems.n_systems"), Size(2, "items", "systems.n_items")).bytes
    48.0
    """
    return Need(bytes_each * math.prod(float(size.n) for size in sizes), sizes)


def total(needs: Sequence[Need]) -> float:
    """Add up what is needed.

    >>> total([])
    0
    """
    return sum(need.bytes for need in needs)
