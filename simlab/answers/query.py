"""Records of `simlab query`: cells of a store, each with its values on the axes and its measures.

A store is the result of a sweep; a cell is one value of each of its axes. `QueriedCells` answers with cells,
`CellStatistics` with a statistic (`--quantiles`, `--share`, `--importance`, `--solve`, `--sensitivity`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any, Literal

from pydantic import Field

from simlab.answers.records import Count, Record
from simlab.messages import word

WITHIN_ERROR = "within_error"
"""Field of cells where a measure was bounded: the bounds on whose both sides the 95 % interval of a cell lies."""

CellFields = dict[str, Any]


class QueriedCells(Record):
    """Cells that meet the `conditions`, in order: `found` of the store's `total` do, and `--top` left `kept`.

    A cell has a field for each of the `axes`; of a measure `m` it has `m`, `m_mcse`, `m_n`, `m_clusters`, `m_low`,
    `m_high` and `m_failed`, as JSON has them. `clusters` are the words for what measures are replicated over. `missed`
    cells miss a bound within the error, of which a few stand in `missed_within_error`; where no cell meets the
    conditions, the `nearest` are those that come closest. `bounded` names the measures of bounds, and `compared` those
    and the one that sorts. With `pivot` the values of this axis are columns of the measure `pivoted`. `drawn` holds the
    law of each key that worlds draw.
    """

    cells: tuple[CellFields, ...]
    axes: tuple[str, ...]
    measures: tuple[str, ...]
    clusters: dict[str, str]
    conditions: tuple[str, ...] = ()
    bounded: tuple[str, ...] = ()
    sort: str | None = None
    pivot: str | None = None
    pivoted: str | None = None
    kept: Count
    found: Count
    total: Count
    missed: Count = 0
    missed_within_error: tuple[CellFields, ...] = ()
    nearest: tuple[CellFields, ...] = ()
    drawn: dict[str, str] = Field(default_factory=dict)

    def serialise(self) -> list[dict[str, Any]]:  # type: ignore[override]
        """Return the cells as JSON holds them, null for what is not finite."""
        return [{name: _replace_non_finite(value) for name, value in cell.items()} for _, cell in self.each_row()]

    def each_row(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the cells, each with no name of a table: there is one; with `pivot` a row for several cells."""
        for cell in self._pivot(self.pivot, self.pivoted) if self.pivot and self.pivoted else self.cells:
            yield "", cell

    def _pivot(self, pivot: str, measure: str) -> list[CellFields]:
        """Return a row for each place on the other axes, with value and error at each value of the pivot."""
        others = [axis for axis in self.axes if axis != pivot]
        columns = dict.fromkeys(f"{pivot}={word(cell[pivot])}" for cell in self.cells)
        blank = {f"{column}{end}": None for column in columns for end in ("", "_mcse")}
        places: dict[tuple[Any, ...], CellFields] = {}
        for cell in self.cells:
            at = {axis: cell[axis] for axis in others}
            row = places.setdefault(tuple(at.values()), at | blank)
            for end in ("", "_mcse"):
                row[f"{pivot}={word(cell[pivot])}{end}"] = cell[f"{measure}{end}"]
        return list(places.values())

    @property
    def compared(self) -> tuple[str, ...]:
        """Measures that were bounded, then the one by which cells are sorted."""
        by = (self.sort or "").removeprefix("-")
        return tuple(dict.fromkeys((*self.bounded, *([by] if by in self.measures else []))))

    def rows(self, cells: tuple[CellFields, ...] | None = None) -> list[Mapping[str, Any]]:
        """Return cells (None: those of the answer), each with the kind of cluster of each measure as `m_cluster`."""
        words = {f"{name}_cluster": word for name, word in self.clusters.items()}
        return [cell | words for cell in (self.cells if cells is None else cells)]


def _replace_non_finite(value: Any) -> Any:
    return None if isinstance(value, float) and not isfinite(value) else value


class CellStatistics(Record):
    """A statistic of a measure for each cell of a store, or for each axis.

    A row has a field for each of the `axes`, and `value`, `mcse`, `low` and `high`, an interval at `level`; of
    quantiles and shares over worlds beside it `worlds`, `studies` and `reliability`, of `importance` the value with
    the name `main` and the same of `total`, of a `solve` `reach` (crossed, not_reached, reached_everywhere) and `side`.
    An end of a `solve` that is null lies beyond the sweep. Of `sensitivity` a row is a `setting` of an `axis` with its
    value, the `difference` from the base (null: it is the base, or has no value), paired over `clusters`, and the
    `swing` of its axis, each with `_mcse`, the difference with `_low` and `_high`. `drawn` holds the law of each key
    that worlds draw; then `importance` is that over cells and worlds, and `rest` (value, mcse, low, high) what neither
    axes nor keys explain.
    """

    statistic: Literal["quantiles", "share", "importance", "solve", "sensitivity"]
    measure: str
    quantity: str
    axes: tuple[str, ...]
    level: float
    rows: tuple[dict[str, Any], ...]
    drawn: dict[str, str] = Field(default_factory=dict)
    rest: dict[str, float] = Field(default_factory=dict)
