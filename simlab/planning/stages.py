"""Give a part of a plan its share of the patience, so that no part takes the time of those behind it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from simlab.planning.terms import Bench, Design, Looked


@dataclass(frozen=True, slots=True)
class Stage:
    """Look at designs as a bench does, for so many seconds of its patience."""

    bench: Bench
    seconds: float
    began: float = field(default_factory=time.monotonic)

    @property
    def campaigns(self) -> int:
        """Count the campaigns of the bench."""
        return self.bench.campaigns

    def left(self) -> float:
        """Return how many seconds are left of this part."""
        return min(self.bench.left(), self.seconds - (time.monotonic() - self.began))

    def look(self, wants: Mapping[Design, int]) -> Mapping[Design, Looked]:
        """Carry out what is missing, and measure."""
        return self.bench.look(wants)
