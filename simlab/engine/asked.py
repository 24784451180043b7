"""Say what was asked of the cells of a ledger, also where the record of that is lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from itertools import pairwise, product
from typing import Any, NamedTuple, TypeAlias

from simlab.engine.continuation import CROSSED

Requests: TypeAlias = Mapping[tuple[int, int], AbstractSet[str]]
"""The cells of which so many worlds and studies were asked."""


class Asked(NamedTuple):
    """Hold the worlds and studies that were ever asked of each cell; `lost` are cells of which no record says so.

    Of these all is wanted that the sweep declares: that much the store has places for. Each world is wanted with all
    `crossed` pairs of a pool of raters and a draw of documents.
    """

    sizes: Mapping[str, tuple[tuple[int, int], ...]]
    lost: tuple[str, ...]
    crossed: tuple[tuple[int, int], ...] = ((0, 0),)

    def of_worlds(self, cell: str) -> list[int]:
        """Return how many studies of each world of a cell are wanted, with each pool and draw of documents."""
        return [studies for worlds, studies in self._steps(cell) for _ in range(worlds)]

    def campaigns(self) -> dict[str, int]:
        """Count the campaigns that are wanted of each cell."""
        pairs = len(self.crossed)
        return {cell: pairs * sum(worlds * studies for worlds, studies in self._steps(cell)) for cell in self.sizes}

    def _steps(self, cell: str) -> Sequence[tuple[int, int]]:
        """List runs of worlds of which as many studies are wanted."""
        return _steps(self.sizes.get(cell, ()))


@lru_cache(maxsize=1024)
def _steps(sizes: tuple[tuple[int, int], ...]) -> Sequence[tuple[int, int]]:
    """List runs of worlds of which as many studies are wanted; cells of a sweep mostly have the same sizes."""
    ends = sorted({0, *(worlds for worlds, _ in sizes if worlds > 0)})
    return [(end - begin, max(studies for worlds, studies in sizes if worlds >= end)) for begin, end in pairwise(ends)]


def size_of(declared: Any) -> tuple[int, int] | None:
    """Return the worlds and studies that a sweep declares; None where it declares none."""
    if not isinstance(declared, Mapping):
        return None
    worlds, studies = declared.get("worlds"), declared.get("studies")
    return (worlds, studies) if isinstance(worlds, int) and isinstance(studies, int) else None


def crossed_in(declared: Any) -> tuple[tuple[int, int], ...]:
    """List the pairs of a pool and a draw of documents that a sweep declares for each world."""
    sizes = declared if isinstance(declared, Mapping) else {}
    numbers = [sizes.get(key, 1) for key in CROSSED]
    pools, draws = (number if type(number) is int and number > 0 else 1 for number in numbers)
    return tuple(product(range(pools), range(draws)))
