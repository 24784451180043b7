"""Read off a finished study what it bought, and say in which cells of a sweep to look first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simlab.engine.addresses import Finished, unpack

GOLDEN = 0.618033988749895


@dataclass(frozen=True, slots=True)
class Purchase:
    """Hold what one campaign paid for, all systems together: ratings and their price; `outcomes` names what it gave."""

    ratings: int
    cost: float
    systems: int
    outcomes: frozenset[str]


def purchase(finished: Finished) -> Purchase | None:
    """Return what the first campaign of a block bought; None where it failed, or does not say."""
    if finished.failed or finished.failures:
        return None
    arrays = unpack(finished.payload)
    if not {"ratings_used", "cost", "estimate"} <= arrays.keys() or not np.isfinite(arrays["cost"][0]):
        return None
    systems = arrays["estimate"].shape[1]
    return Purchase(int(arrays["ratings_used"][0]), float(arrays["cost"][0]), systems, frozenset(arrays))


def ends_first(cells: Sequence[tuple[Any, ...]]) -> list[int]:
    """Order cells, given by their values on the axes: those first that likely buy least and most.

    That is where all numbers are least, or all most; then each number either; then the others. Of alike cells any first
    few are spread over all.

    >>> ends_first([(n, how) for n in (1, 2, 3) for how in "ab"])
    [0, 5, 4, 1, 2, 3]
    """
    numbers = [
        (k, min(values), max(values))
        for k, values in enumerate(zip(*cells, strict=True))
        if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    ]

    def late(cell: tuple[Any, ...]) -> int:
        least = all(cell[k] == low for k, low, _ in numbers)
        most = all(cell[k] == high for k, _, high in numbers)
        return 0 if least or most else 1 if all(cell[k] in ends for k, *ends in numbers) else 2

    # Multiples of the golden section, without their whole part, lie evenly, wherever one stops.
    return sorted(range(len(cells)), key=lambda k: (late(cells[k]), k * GOLDEN % 1.0))
