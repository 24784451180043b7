"""Hold what a promise says, and what simulation found of it."""

from __future__ import annotations

from typing import Literal, NamedTuple

Side = Literal["at most", "at least", "control above", "control below"]


class Row(NamedTuple):
    """Hold a promise: what, where, its bound, what was found, with which error, in how many worlds.

    `side` says which way the bound is meant. A control is something that nobody should rely on: it must lie far beyond
    the bound, above that of a level, or below that of a coverage.
    """

    name: str
    setting: str
    bound: float
    value: float
    mcse: float
    n: int
    side: Side = "at most"

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

    def holds(self, errors: float) -> bool:
        """Tell whether a promise holds up to so many errors, or a control fails by as many of its own."""
        above = self.value - self.bound
        beyond = above if self.side in ("at most", "control above") else -above
        return beyond > errors * self.mcse if self.control else beyond <= errors * self.allowed

    def sharp(self) -> bool:
        """Tell whether the error is at most a fifth of what is between value and bound, or a tenth of the bound."""
        return self.mcse <= max(abs(self.value - self.bound) / 5, self.bound / 10)
