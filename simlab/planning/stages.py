"""Give each part of a plan its place on one clock, so that no part takes the time of those behind it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from simlab.planning.terms import Bench, Design, Looked


@dataclass(frozen=True, slots=True)
class Stage:
    """Look at designs as a bench does, until a moment `ends` of the plan's clock (`time.monotonic`).

    A part that took longer than its share leaves less to the next ones, and not more to the whole.
    """

    bench: Bench
    ends: float

    @property
    def campaigns(self) -> int:
        """Count the campaigns of the bench."""
        return self.bench.campaigns

    def left(self) -> float:
        """Return how many seconds are left of this part."""
        return min(self.bench.left(), self.ends - time.monotonic())

    def pace(self) -> float:
        """Return how many seconds a world of a design takes."""
        return self.bench.pace()

    def look(self, wants: Mapping[Design, int]) -> Mapping[Design, Looked]:
        """Carry out what is missing, and measure."""
        return self.bench.look(wants)


def in_time(bench: Bench, worlds: int) -> int:
    """Return how many of so many worlds of a design end before patience does; all of them where no pace is known."""
    pace = bench.pace()
    return worlds if not pace or worlds * pace <= bench.left() else max(int(bench.left() / pace), 0)
