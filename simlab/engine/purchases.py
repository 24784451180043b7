"""Read off a finished study what it bought."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simlab.engine.addresses import Finished, unpack


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
