"""What `simlab query` answers about the worlds, the axes and the curves of a store, cell by cell."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from simlab.answers.records import Record


class CellStatistics(Record):
    """Hold a statistic of a measure for each cell of a store, or for each axis.

    A row has a field for each of the `axes`, and `value`, `mcse`, `low` and `high`, an interval at `level`; of
    quantiles and shares over worlds beside it `worlds`, `studies` and `reliability`, of `importance` the value with
    the name `main` and the same of `total`, of a `solve` `reach` (crossed, not_reached, reached_everywhere) and `side`.
    An end of a `solve` that is null lies beyond the sweep. `drawn` holds the law of each key that worlds draw; then
    `importance` is that over cells and worlds, and `rest` (value, mcse, low, high) what neither axes nor keys explain.
    """

    statistic: Literal["quantiles", "share", "importance", "solve"]
    measure: str
    quantity: str
    axes: tuple[str, ...]
    level: float
    rows: tuple[dict[str, Any], ...]
    drawn: dict[str, str] = Field(default_factory=dict)
    rest: dict[str, float] = Field(default_factory=dict)
