"""A bench whose truth is known: power and cost of a design follow a formula, worlds scatter around them.

Influence values of designs are correlated, as those of designs that met the same worlds are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from simlab.planning.terms import Design, MeasuredDesign
from simlab.types import Estimate

Truth = Callable[[Design], Mapping[str, float]]
"""True measures of a design: power, no_wrong_claim, money, hours, days, ended_as_planned, ..."""


@dataclass
class MadeBench:
    """Carry out made-up campaigns: a share in (0, 1) is `truth` plus a world's noise of spread `sd`, some of it shared.

    Costs are known without error.
    """

    truth: Truth
    seed: int
    sd: float = 0.2
    shared: float = 0.7
    seconds: float = math.inf
    worlds: dict[Design, int] = field(default_factory=dict)

    @property
    def campaigns(self) -> int:
        """Count the campaigns."""
        return sum(self.worlds.values())

    def remaining_seconds(self) -> float:
        """Return the seconds that are left."""
        return self.seconds

    def pace(self) -> float:
        """Return that a look takes no time."""
        return 0.0

    def look(self, wants: Mapping[Design, int]) -> dict[Design, MeasuredDesign]:
        """Carry out what is missing, and measure."""
        for design, n in wants.items():
            self.worlds[design] = max(n, self.worlds.get(design, 0))
        return {design: self._measure_design(design) for design in wants}

    def _measure_design(self, design: Design) -> MeasuredDesign:
        n = self.worlds[design]
        return {name: self._estimate(design, name, value, n) for name, value in self.truth(design).items()}

    def _estimate(self, design: Design, name: str, value: float, n: int) -> Estimate:
        if not 0 < value < 1:
            return Estimate(value, np.zeros(n), "world", n)
        spread = self.sd * 2 * math.sqrt(value * (1 - value))
        shared = _normals(n, self.seed, name, "worlds")
        own = _normals(n, self.seed, name, repr(design))
        values = value + spread * (math.sqrt(self.shared) * shared + math.sqrt(1 - self.shared) * own)
        mean = float(values.mean())
        return Estimate(mean, values - mean, "world", n)


def _normals(n: int, seed: int, *path: str) -> np.ndarray:
    """Draw normal numbers of an address: those of fewer worlds are the first of more."""
    words = [seed, *(byte for word in path for byte in word.encode())]
    return np.random.default_rng(np.random.SeedSequence(words)).standard_normal(5000)[:n]
