"""Give rows what they measure with: two trees in turn, at full or reduced size."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from tests.benchmarks.performance.measuring import Taken, simlab, taken

TASKS = Path(__file__).with_name("tasks.py")


class Pair(NamedTuple):
    """Hold a number before (None: nothing to compare with) and now."""

    before: float | None
    now: float


@dataclass(frozen=True, slots=True)
class Found:
    """Hold what a row measured: repeats of a number, in a unit, with what ran and what it held in memory.

    `ratio` is that of each repeat: now over before, unless a row says otherwise.
    """

    pairs: Sequence[Pair]
    unit: str
    ran: str
    memory: str = ""
    ratios: Sequence[float] = ()
    note: str = ""

    @property
    def ratio(self) -> Sequence[float]:
        """Return now over before in each repeat; nothing without a before."""
        if self.ratios:
            return self.ratios
        return [pair.now / pair.before for pair in self.pairs if pair.before]


@dataclass(slots=True)
class Bench:
    """Hold the trees that are measured, in which folder, how often and at which size."""

    now: Path
    before: Path | None
    place: Path
    quick: bool = False
    repeats: int = 3
    jobs: int = 2
    count: int = field(default=0, init=False)

    def size(self, full: Any, quick: Any) -> Any:
        """Return what is carried out at full size, or on a slow machine."""
        return quick if self.quick else full

    def folder(self) -> Path:
        """Return a folder that nothing was written to."""
        self.count += 1
        return self.place / f"folder{self.count}"

    def run(self, tree: Path, *words: object, settings: Mapping[str, str] | None = None) -> Taken:
        """Carry out a command of simlab."""
        return taken(simlab(*words), tree, self.place, settings)

    def task(self, tree: Path, *words: object) -> tuple[Taken, dict[str, Any]]:
        """Carry out a task of `tasks.py` in a process of its own, which finds nothing that another has compiled."""
        cache = self.folder()
        settings = {"XDG_CACHE_HOME": str(cache)}
        found = taken([sys.executable, str(TASKS), *map(str, words)], tree, self.place, settings)
        return found, json.loads(found.printed.strip().splitlines()[-1])

    def alternating(self, measure: Callable[[Path], float]) -> list[Pair]:
        """Measure both trees in turn, as often as wanted: what slows a machine down slows both."""
        return [
            Pair(None if self.before is None else measure(self.before), measure(self.now)) for _ in range(self.repeats)
        ]


def spread(values: Sequence[float], form: str = "{:.3g}") -> str:
    """Write the median of repeats, with their range where there are several."""
    if not values:
        return "-"
    middle = form.format(median(values))
    return middle if len(values) == 1 else f"{middle} ({form.format(min(values))} to {form.format(max(values))})"
