"""Say what was asked of the cells of a ledger, also where the record of that is lost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise, product
from typing import Any, NamedTuple

from simlab.engine.continuation import CROSSED


class Asked(NamedTuple):
    """Hold the worlds and studies that were ever asked of each cell; `lost` are cells of which a record is lost.

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


def asked_of(
    cells: Iterable[str],
    rows: Iterable[tuple[str, int, int]],
    damaged: Iterable[Any],
    declared: tuple[int, int] | None,
) -> Asked:
    """Say what was asked of cells, given the rows whose checksums hold, and the names in those that are damaged.

    `declared` are the worlds and studies of the sweep, the largest that were ever asked (None: that is lost, too).
    """
    known, sizes, wrong = set(cells), dict[str, tuple[tuple[int, int], ...]](), set(damaged)
    for cell, worlds, studies in rows:
        sizes[cell] = (*sizes.get(cell, ()), (worlds, studies))
    lost = (known - sizes.keys()) | wrong
    if not wrong <= known or (declared and not lost and not _reach(sizes, declared)):
        # Nothing says of which cell it was.
        lost = known
    lost &= known
    if declared is not None:
        sizes |= {cell: (*sizes.get(cell, ()), declared) for cell in lost}
    return Asked(sizes, tuple(sorted(lost)))


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


def _reach(sizes: Mapping[str, tuple[tuple[int, int], ...]], declared: tuple[int, int]) -> bool:
    """Tell whether rows are as large as the sweep, which has grown with each of them."""
    largest = [max((size[k] for of_cell in sizes.values() for size in of_cell), default=0) for k in (0, 1)]
    return largest[0] >= declared[0] and largest[1] >= declared[1]
