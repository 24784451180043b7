"""Summarise the measures of a grid of designs that is too large to be read cell by cell: `ranges` takes a store."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from simlab.store.opening import measures_of

if TYPE_CHECKING:
    import xarray as xr

QUARTILES = (0.0, 0.25, 0.5, 0.75, 1.0)


class Range(NamedTuple):
    """Range of a measure over cells: `quartiles` are the five values at `QUARTILES`; `missing` cells have no value."""

    measure: str
    quartiles: tuple[float, ...]
    missing: int


def ranges(dataset: xr.Dataset) -> list[Range]:
    """Return the range of each measure of a store over all its cells."""
    return [_range(name, dataset[name]) for name in measures_of(dataset)]


def _range(name: str, values: xr.DataArray) -> Range:
    quartiles = tuple(float(values.quantile(share)) for share in QUARTILES)
    return Range(name, quartiles, int(values.isnull().sum()))
