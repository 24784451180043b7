"""Choose the cells of a sweep to measure next, to locate where a curve crosses a target or another curve.

The engine calls `CellChoice` between rounds with the measure so far, by cell, and gets the number of worlds for each
cell. First come a few cells, evenly placed among the values of an axis, in few worlds; then the two values about the
crossing of the curve that is fitted to them (`simlab.comparing.solving`), in more and more worlds until they have those
of the whole grid. When these two stay, they get the rest of a fifth of the grid's campaigns. A choice follows from the
first worlds of each cell alone, so that a sweep that was interrupted comes to the same cells. The width and coverage of
intervals are simulated in tests/comparing/test_locating.py.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from simlab.comparing.contrasts import is_lower_better
from simlab.comparing.solving import Crossing, solve_curve
from simlab.config.locating import LEAST_WORLDS
from simlab.config.sweep import Sweep
from simlab.types import Estimate, Floats, InputError, Ints

FIRST_CELLS = 4
"""Cells of the first round."""
FIRST_SHARE = 8
"""Divisor of the worlds of a grid's cell that gives those of the first cells."""
GROWTH = 3
"""Largest factor by which a cell's worlds grow before the curve is fitted again."""
BUDGET = 0.2
"""Share of the whole grid's campaigns that locating a crossing may take."""

Position: TypeAlias = tuple[int, ...]
"""Indices of a cell on the axes of its sweep."""


class MeasuredCurve(NamedTuple):
    """Measure along an axis: `worlds[cell]` is the number of worlds carried out at the axis value `x[cell]`, ascending.

    `value[cell]` and `influence[cell, cluster]` are those of the measure, NaN where none is carried out.
    """

    x: Floats
    value: Floats
    influence: Floats
    worlds: Ints


def place_worlds(curve: MeasuredCurve, worlds: int, target: float, *, less_is_better: bool = False) -> Ints:
    """Return how many worlds each cell of a curve is to have next, `[cell]`: as many as it has where that is enough.

    `worlds` is the number that a cell of the whole grid would have, `target` the value of the measure to be reached:
    from below, or with `less_is_better` from above.
    """
    there = curve.worlds
    first = min(worlds, max(LEAST_WORLDS, -(-worlds // FIRST_SHARE)))
    if not there.any():
        places = np.unique(np.linspace(0, len(there) - 1, FIRST_CELLS).round().astype(int))
        return np.where(np.isin(np.arange(len(there)), places), first, 0)
    # What is left of the budget is spent once.
    if (there > worlds).any():
        return there
    try:
        crossing = solve_curve(curve.x, curve.value, curve.influence, target, less_is_better=less_is_better)
    except InputError:
        return there
    about, wanted = _find_cells_around(curve.x, crossing), there.copy()
    if (there[about] == 0).any():
        wanted[about] = np.maximum(there[about], first)
    elif (there[about] < worlds).any():
        wanted[about] = np.maximum(there[about], np.minimum(worlds, GROWTH * there[about]))
    else:
        left = BUDGET * len(there) * worlds - there.sum()
        wanted[about] += max(int(left / len(about)), 0)
    return wanted


def _find_cells_around(x: Floats, crossing: Crossing) -> Ints:
    """Return the two cells between which a curve crosses, or the one at the end beyond which it may."""
    last = len(x) - 1
    if np.isinf(crossing.value):
        return np.array([last if crossing.value > 0 else 0])
    place = min(max(int(np.searchsorted(x, crossing.value, side="right")) - 1, 0), last - 1)
    return np.array([place, place + 1])


@dataclass(frozen=True, slots=True)
class CellChoice:
    """Rule of a `sweep` that locates a crossing: which cells it measures next, and in how many worlds."""

    sweep: Sweep

    def __call__(self, measured: Mapping[Position, Estimate], worlds: Mapping[Position, int]) -> dict[Position, int]:
        """Return how many worlds each cell is to have next; `worlds` itself if no more are needed.

        The keys of all three are positions of cells, indices on the axes: `measured` is the measure so far, `worlds`
        the number of worlds so far.
        """
        located = self.sweep.locate
        if located is None:
            raise ValueError("nothing is located by this sweep")
        less, wanted = is_lower_better(located.measure), dict(worlds)
        for curve, against in self._curves():
            compared = [curve] if against is None else [curve, against]
            # A difference of curves has only the worlds that both cells met.
            there = np.array([min(worlds.get(line[k], 0) for line in compared) for k in range(len(curve))])
            cells = [
                [_NOTHING if n == 0 else measured.get(line[k], _NOTHING) for k, n in enumerate(there)]
                for line in compared
            ]
            x = np.array([self._axis_value(at) for at in curve], float)
            lines = [_lay(cell) for cell in cells]
            (value, influence), size = lines[0], min(line[1].shape[1] for line in lines)
            if against is not None:
                value, influence = value - lines[1][0], influence[:, :size] - lines[1][1][:, :size]
            target = 0.0 if located.value is None else located.value
            following = place_worlds(
                MeasuredCurve(x, value, influence, there), self.sweep.worlds, target, less_is_better=less
            )
            for line in compared:
                for at, n in zip(line, following.tolist(), strict=True):
                    if n:
                        wanted[at] = max(n, wanted.get(at, 0))
        return wanted

    def _axis_value(self, at: Position) -> float:
        k = self._index(self.sweep.locate.along if self.sweep.locate else None)
        return float(self.sweep.axes[k].values[at[k]])

    def _index(self, name: str | None) -> int:
        return [axis.name for axis in self.sweep.axes].index(name or "")

    def _curves(self) -> Iterator[tuple[list[Position], list[Position] | None]]:
        """Yield the places of each curve, by ascending values; where curves cross each other that of the first, too."""
        located, sweep = self.sweep.locate, self.sweep
        if located is None:
            return
        along = self._index(located.along)
        ascending = sorted(range(len(sweep.axes[along].values)), key=lambda k: float(sweep.axes[along].values[k]))
        by = None if located.by is None else self._index(located.by)
        others = [[0] if k == along else range(len(axis.values)) for k, axis in enumerate(sweep.axes)]
        for group in itertools.product(*others):
            if by is not None and group[by] == 0:
                continue
            curve = [(*group[:along], k, *group[along + 1 :]) for k in ascending]
            against = None if by is None else [(*at[:by], 0, *at[by + 1 :]) for at in curve]
            kept = [
                k
                for k, at in enumerate(curve)
                if sweep.kept is None or (at in sweep.kept and (against is None or against[k] in sweep.kept))
            ]
            if kept:
                yield [curve[k] for k in kept], None if against is None else [against[k] for k in kept]


_NOTHING = Estimate(float("nan"), np.full(0, np.nan), "world", 0)


def _lay(cells: list[Estimate]) -> tuple[Floats, Floats]:
    """Return the values `[cell]` and influence `[cell, cluster]` of cells, NaN where one has none."""
    influence = np.full((len(cells), max(len(cell.influence) for cell in cells)), np.nan)
    for k, cell in enumerate(cells):
        influence[k, : len(cell.influence)] = cell.influence
    return np.array([cell.value for cell in cells]), influence
