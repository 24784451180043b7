"""Hold what a promise says, and what simulation found of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np

from simlab import rng

FRESH = int(os.environ.get("SIMLAB_PROMISES_FRESH", "0"))
"""Zero for the tables of a first look; another number draws tables that no first look has seen."""
WORLDS_APART = 1_000_000

NO_LEVEL = ("power", "width over", "width with", "bias", "noticed", "differences found", "withdrawn", "off on average")
"""Words in the name of a row that bounds neither an error nor a coverage."""
COVERAGE = ("coverage", "in their intervals", "in its interval", "in theirs", "in bounds that always hold")
"""Words in the name of a row that bounds a coverage."""


def stream(seed: int, *path: str | int) -> np.random.Generator:
    """Return simlab's stream of this address, and another one for fresh tables."""
    return rng.stream(seed, *path, *(("fresh", FRESH) if FRESH else ()))


def numbers(n: int) -> Iterator[int]:
    """Number n worlds: from 0 on, or from another number on for fresh ones."""
    return iter(range(FRESH * WORLDS_APART, FRESH * WORLDS_APART + n))


Side = Literal["at most", "at least", "control above", "control below"]


class Row(NamedTuple):
    """Hold a promise: what, where, its bound, what was found, with which error, in how many worlds.

    `side` says which way the bound is meant. A control is something that nobody should rely on: it must lie far beyond
    the bound, above that of a level, or below that of a coverage. `decided`: found in fresh
    tables, which have the last word.
    """

    name: str
    setting: str
    bound: float
    value: float
    mcse: float
    n: int
    side: Side = "at most"
    decided: bool = False

    @property
    def control(self) -> bool:
        """Tell whether this is meant to break the bound."""
        return self.side.startswith("control")

    @property
    def allowed(self) -> float:
        """Return the error of what is found where it is just what was promised.

        The further a share is above a small bound, the larger its own error: what breaks a promise would widen what is
        allowed. A share in each of n worlds varies at most as hits do, `sqrt(bound (1 - bound) / n)`.
        """
        if not self.n or not 0 < self.bound < 1:
            return self.mcse
        return min(self.mcse, (self.bound * (1 - self.bound) / self.n) ** 0.5)

    @property
    def nominal(self) -> float | None:
        """Return the nominal level of an error, or of a coverage; None of what has none, such as a power."""
        if any(word in self.name for word in NO_LEVEL):
            return None
        return 0.95 if any(word in self.name for word in COVERAGE) else 0.05

    @property
    def above(self) -> bool:
        """Tell whether this is a promise about a level that the simulation found broken by more than three errors."""
        return self.nominal is not None and not self.control and self.n > 0 and not self.holds(3)

    def afresh(self, fresh: Row) -> Row:
        """Return the row of fresh tables that decides, with a bound that is .005 wider and no Monte-Carlo slack."""
        wider = self.bound + (0.005 if self.side == "at most" else -0.005)
        return fresh._replace(bound=wider, decided=True)

    @property
    def beyond(self) -> float:
        """Return how far the value is beyond the bound, on the side that breaks it; below 0 where it keeps it."""
        above = self.value - self.bound
        return above if self.side in ("at most", "control above") else -above

    def holds(self, errors: float, beyond: float = 0.0) -> bool:
        """True if a promise is broken by at most `beyond` up to so many errors, or a control fails by as many."""
        if self.control:
            return self.beyond > errors * self.mcse
        return self.beyond <= beyond + (0.0 if self.decided else errors * self.allowed)

    def sharp(self) -> bool:
        """Tell whether the error is at most a fifth of what is between value and bound, or a tenth of the bound."""
        return self.mcse <= max(abs(self.value - self.bound) / 5, self.bound / 10)
