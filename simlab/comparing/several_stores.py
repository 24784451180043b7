"""Put the cells of several stores beside each other, so that designs of different kinds of studies can be compared."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from simlab.store.opening import axes_of, measures_of
from simlab.store.query import records
from simlab.types import Floats, InputError

if TYPE_CHECKING:
    import xarray as xr

DESIGN = "design"


def common_measures(stores: Mapping[str, xr.Dataset]) -> tuple[str, ...]:
    """Name the measures that all stores hold, in the order of the first."""
    first, *others = stores.values()
    return tuple(name for name in measures_of(first) if all(name in measures_of(other) for other in others))


def join(stores: Mapping[str, xr.Dataset], measure: str) -> tuple[xr.Dataset, bool]:
    """Return a measure of all cells of all stores along one axis, `design`, and whether all met the same worlds.

    Stores of the same seed and systems met the same worlds, so that their differences are paired; others are
    independent. Raises InputError for stores whose measures are not replicated over worlds or are calculations.
    """
    import xarray as xr

    _check(stores, measure)
    worlds = {name: _worlds(dataset) for name, dataset in stores.items()}
    slots = {world: k for k, world in enumerate(dict.fromkeys(worlds.values()))}
    size = max(dataset.sizes["cluster"] for dataset in stores.values())
    rows = [row for name, dataset in stores.items() for row in _cells(name, dataset, measure)]
    # Worlds of its own have columns of their own.
    influence = np.full((len(rows), size * len(slots)), np.nan)
    for spread, (store, _, _, values) in zip(influence, rows, strict=True):
        start = slots[worlds[store]] * size
        spread[start : start + len(values)] = values
    variables: dict[str, Any] = {
        f"{measure}{suffix}": (DESIGN, np.array([record[f"{measure}{suffix}"] for _, _, record, _ in rows]))
        for suffix in ("", "_mcse", "_n")
    }
    variables[f"{measure}_influence"] = ((DESIGN, "cluster"), influence)
    joined = xr.Dataset(variables, {DESIGN: [design for _, design, _, _ in rows]})
    joined[measure].attrs.update(next(iter(stores.values()))[measure].attrs)
    return joined, len(slots) == 1


def _check(stores: Mapping[str, xr.Dataset], measure: str) -> None:
    for name, dataset in stores.items():
        if not np.isfinite(dataset[measure].values).any():
            raise InputError(f"{measure} has no value in {name}; name another --measure")
    clusters = {str(dataset[measure].attrs.get("cluster")) for dataset in stores.values()}
    if clusters != {"world"}:
        raise InputError(
            f"{measure} is replicated over {', '.join(sorted(clusters))}; stores are compared over worlds: "
            "run each with several worlds"
        )


def _cells(store: str, dataset: xr.Dataset, measure: str) -> Iterator[tuple[str, str, Mapping[str, Any], Floats]]:
    """Yield the store, the name of the design, the record and the influence values of each cell."""
    axes = axes_of(dataset)
    influence = dataset[f"{measure}_influence"].transpose(*axes, "cluster").values
    flat = influence.reshape(-1, influence.shape[-1])
    for record, values in zip(records(dataset, [measure]), flat, strict=True):
        at = ", ".join(f"{axis}={record[axis]}" for axis in axes)
        yield store, f"{store}: {at}" if at else store, record, values


def _worlds(dataset: xr.Dataset) -> str:
    """Write down what determines the systems of a store's worlds; where they vary within it, all that varies."""
    config = json.loads(dataset.attrs["config"])
    axes = [axis for axis in json.loads(dataset.attrs["sweep"])["axes"] if axis["key"].startswith("systems")]
    return json.dumps([config.get("seed"), config.get("systems"), axes], sort_keys=True)
