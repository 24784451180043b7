"""Say which setting each cell of a store has: on an axis, shared by all cells, or as its option has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simlab.engine import ledger
from simlab.store.coordinates import as_written, axis_values
from simlab.store.held_fixed import entry_of
from simlab.store.opening import config_of
from simlab.types import Array, InputError

if TYPE_CHECKING:
    import xarray as xr


def setting(dataset: xr.Dataset, key: str, axes: Sequence[str]) -> Array:
    """Return the value of a key in every cell, over axes in this order; None where nothing tells.

    What all cells share, and what is on an axis, stands in the store. What the options on an axis have beside that
    stands in the ledger only, which may not be there.
    """
    values = np.full([dataset.sizes[axis] for axis in axes], None, object)
    on_axis = [axis for axis in axes if dataset[axis].attrs.get("key") == key]
    if on_axis:
        k = axes.index(on_axis[0])
        values[...] = np.array(as_written(dataset[on_axis[0]].values), object).reshape(
            [-1 if other == k else 1 for other in range(len(axes))]
        )
        return values
    shared = entry_of(config_of(dataset) if "config" in dataset.attrs else {}, key)
    if shared is not None or not axes:
        values[...] = shared
        return values
    configs, held = _configs(dataset), [as_written(dataset[axis].values) for axis in axes]
    for index in np.ndindex(values.shape):
        at = {axis: of[i] for axis, of, i in zip(axes, held, index, strict=True)}
        values[index] = entry_of(configs.get(frozenset(at.items()), {}), key)
    return values


def _configs(dataset: xr.Dataset) -> dict[frozenset[tuple[str, Any]], Mapping[str, Any]]:
    """Return the config of each cell that the ledger beside a store knows, by its values on the axes."""
    source = dataset.encoding.get("source")
    if source is None:
        return {}
    try:
        with ledger.reading(Path(str(source)).parent) as book:
            axes = (book.declaration() or {"axes": []})["axes"]
            values = [as_written(axis_values(axis["values"])) for axis in axes]
            return {
                frozenset((axis["name"], of[k]) for axis, of, k in zip(axes, values, entry.position, strict=True)):
                entry.config for entry in book.entries()
            }  # fmt: skip
    except (InputError, OSError):
        return {}
