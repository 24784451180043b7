"""Divide the patience of a plan (how much it may simulate) among its parts.

Patience is counted in studies, so that the same command gives the same advice on every machine, or in seconds.
`Patience` holds the amount; `share_of` takes a bench and returns a `Stage`: a bench that may use a share of the rest.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from simlab.messages import duration
from simlab.planning.terms import Bench, Design, MeasuredDesign


@dataclass(slots=True)
class Patience:
    """Amount that a plan may simulate: studies or, `in_seconds`, seconds since `began`; `studies` counts those done."""

    amount: float
    in_seconds: bool = False
    began: float = field(default_factory=time.monotonic)
    studies: int = 0

    def remaining_seconds(self) -> float:
        """Return how many studies, or seconds, are left."""
        return self.amount - (time.monotonic() - self.began if self.in_seconds else self.studies)

    def __str__(self) -> str:
        """Name the amount with its unit."""
        return duration(self.amount) if self.in_seconds else f"{self.amount:,.0f} studies"


@dataclass(frozen=True, slots=True)
class CountedBench:
    """A bench whose studies, `per_world` in each world of a design, are counted against the patience of its plan.

    Studies that a folder holds already count as if they were simulated now: a plan that goes on gives the same advice.
    """

    bench: Bench
    patience: Patience
    per_world: int

    @property
    def campaigns(self) -> int:
        """Count the campaigns of the bench."""
        return self.bench.campaigns

    def remaining_seconds(self) -> float:
        """Return how much patience is left."""
        return self.patience.remaining_seconds()

    def pace(self) -> float:
        """Return how much patience a world of a design takes."""
        return self.bench.pace() if self.patience.in_seconds else float(self.per_world)

    def look(self, wants: Mapping[Design, int]) -> Mapping[Design, MeasuredDesign]:
        """Carry out what is missing, and measure."""
        before = self.bench.campaigns
        looked = self.bench.look(wants)
        self.patience.studies += self.bench.campaigns - before
        return looked


@dataclass(frozen=True, slots=True)
class Stage:
    """A bench for one part of a plan, which keeps the amount `keeps` of patience for later parts."""

    bench: Bench
    keeps: float

    @property
    def campaigns(self) -> int:
        """Count the campaigns of the bench."""
        return self.bench.campaigns

    def remaining_seconds(self) -> float:
        """Return how much patience is left for this part."""
        return self.bench.remaining_seconds() - self.keeps

    def pace(self) -> float:
        """Return how much patience a world of a design takes."""
        return self.bench.pace()

    def look(self, wants: Mapping[Design, int]) -> Mapping[Design, MeasuredDesign]:
        """Carry out what is missing, and measure."""
        return self.bench.look(wants)


def share_of(bench: Bench, share: float) -> Stage:
    """Return a stage that may take a share (0 to 1) of the patience that is left."""
    return Stage(bench, (1 - share) * max(bench.remaining_seconds(), 0.0))


def worlds_in_time(bench: Bench, worlds: int) -> int:
    """Return how many of `worlds` worlds of a design end before patience does; all where no pace is known."""
    pace = bench.pace()
    seconds = bench.remaining_seconds()
    return worlds if not pace or worlds * pace <= seconds else max(int(seconds / pace), 0)
