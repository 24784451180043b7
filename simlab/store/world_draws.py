"""Lay out the values that worlds draw for keys set by a law, as `raters.leniency_sd=uniform(0.1,0.5)`.

`drawn_values` returns a variable over worlds for each such key, `read_drawn_inputs` reads them from an open store.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from simlab.store.layout import Grid
from simlab.store.measures import Variables
from simlab.studies.drawn_keys import POSTERIOR, draw_value, read_key_laws
from simlab.types import Array, InputError

if TYPE_CHECKING:
    import xarray as xr

KEY, LAW = "key", "law"
"""Attributes of a variable of drawn values: its key and its law."""
DRAWN = "drawn"
"""The attribute of a store that names the law of each drawn key."""
PREFIX = "drawn_"
_FILE = re.compile(rf"{POSTERIOR}\((\w+)\)", re.ASCII)


def drawn_values(size: Grid) -> Variables:
    """Lay out each drawn key as `drawn_NAME[of_world]`, by its full name where two keys share the last part.

    `size` is the grid of the sweep. Variables are `(dims, values, attributes)` by name. Where cells draw a key by
    different laws, or some have a number, the axes along which they do come first.
    """
    laws = {position: read_key_laws(entry.config) for position, entry in size.entries.items()}
    keys = sorted({key for of_cell in laws.values() for key in of_cell})
    last = Counter(key.rpartition(".")[2] for key in keys)
    variables: Variables = {}
    for key in keys:
        section, _, name = key.partition(".")
        table: Any = np.full((*size.shape, size.worlds), np.nan)
        by_law: dict[str, Any] = {}
        for position, entry in size.entries.items():
            law = laws[position].get(key)
            text = str(entry.config.get(section, {}).get(name)) if law is None else str(law)
            if text not in by_law:
                by_law[text] = _values_by_world(law, entry.config, key, size.worlds)
            table[position] = by_law[text]
        dims, values = _drop_constant(size, table)
        named = f"{PREFIX}{name if last[name] == 1 else key.replace('.', '_')}"
        by = " or ".join(dict.fromkeys(of[key].label for of in laws.values() if key in of))
        label = f"{key} of each world, drawn by {by}"
        variables[named] = (dims, values, {"label": label, KEY: key, LAW: by})
    return variables


def laws_attribute(drawn: Variables) -> dict[str, str]:
    """Write down the laws that keys are drawn from, by key; nothing where none is."""
    laws = {about[KEY]: about[LAW] for _, _, about in drawn.values()}
    return {DRAWN: json.dumps(laws)} if laws else {}


def read_laws(dataset: xr.Dataset) -> dict[str, str]:
    """Return the laws that keys of an open store are drawn from, world by world."""
    laws: dict[str, str] = json.loads(dataset.attrs.get(DRAWN, "{}"))
    return laws


def read_drawn_inputs(dataset: xr.Dataset) -> dict[str, Array]:
    """Return the drawn values that differ between worlds, `[world]`, by the variable of an open store that holds them.

    Where cells draw by several laws a world lies at the same place in each of them, and the values are those of one.
    """
    inputs = {}
    for name in dataset.variables:
        about = dataset[name].attrs
        if not str(name).startswith(PREFIX) or about.get(KEY) not in read_laws(dataset):
            continue
        rows = np.atleast_2d(dataset[name].transpose(..., "of_world").values).reshape(-1, dataset.sizes["of_world"])
        drawn = [row for row in rows if np.isfinite(row).all() and len(np.unique(row)) > 1]
        if drawn:
            inputs[str(name)] = drawn[0]
    return inputs


def refuse_dependent(dataset: xr.Dataset, drawn: Iterable[str]) -> None:
    """Raise InputError where two variables were drawn together, from one fitted file."""
    keys: dict[str, str] = {}
    for name in drawn:
        for file in dict.fromkeys(_FILE.findall(dataset[name].attrs[LAW])):
            if file in keys:
                raise InputError(
                    f"{keys[file]} and {dataset[name].attrs[KEY]} were drawn together, by posterior({file}), and how "
                    "much each explains is told of what was drawn independently; draw one of them by another law"
                )
            keys[file] = dataset[name].attrs[KEY]


def _values_by_world(law: Any, config: Mapping[str, Any], key: str, worlds: int) -> Any:
    """Return the value of a key in each world; NaN where it is null or the cell has no such key."""
    if law is not None:
        return [draw_value(law, config["seed"], world, key) for world in range(worlds)]
    section, _, name = key.partition(".")
    value = config.get(section, {}).get(name)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else np.nan


def _drop_constant(size: Grid, table: Any) -> tuple[tuple[str, ...], Any]:
    """Leave out the axes along which all asked cells have the same values."""
    mask: Any = np.zeros(size.shape, bool)
    if size.entries:
        mask[tuple(np.transpose(list(size.entries)))] = True
    names = list(size.names)
    for name in size.names:
        k = names.index(name)
        # A gap of the grid has the values of a cell beside it.
        filled = _first_values(table, mask, k)
        if np.array_equal(np.where(mask[..., None], table, filled), np.broadcast_to(filled, table.shape), True):
            table, mask = np.squeeze(filled, k), mask.any(k)
            names.remove(name)
    return (*names, "of_world"), table


def _first_values(table: Any, requested: Any, k: int) -> Any:
    """Return the values of the first asked cell along an axis, which keeps one place."""
    first = np.expand_dims(requested.argmax(k), k)
    return np.take_along_axis(table, first[..., None], k)
