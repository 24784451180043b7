"""Compare two stores cell by cell: settings that differ, and values of measures that differ by more than chance.

Call `compare_stores` with the datasets of two sweeps; it returns `ChangedStores`, which lists the keys that differ, and
old and new values with the p-value of each difference. A value moved if that is significant at a false discovery rate.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from simlab.analysis.multiplicity import bh
from simlab.answers.compare import ChangedKey, ChangedStores, ChangedValue
from simlab.messages import clip, flatten, suggest, word
from simlab.store.opening import config_of, measures_of, name_axes
from simlab.store.query import ensure_measures, records
from simlab.types import Array, Floats, InputError

if TYPE_CHECKING:
    import xarray as xr

LEVEL = 0.05
"""False discovery rate: expected share of false ones among the values that are called moved."""
ROUNDING = 1e-9
"""Relative difference up to which two values without an error count as equal."""
TARGET = "._target_"
"""Ending of a key whose value is the dotted path of a part's function."""
VERSIONS = ("simlab", "commit")
"""Attributes of a store that name the version of simlab and the commit that filled it."""

Cell = tuple[str, ...]
"""Settings of a cell as texts, in the order of the keys that either store varies."""


def compare_stores(old: xr.Dataset, new: xr.Dataset, names: Sequence[str], measure: str | None) -> ChangedStores:
    """Compare the cells of two stores that have the same settings on all axes.

    `names` are the two folders, as answers print them; `measure` None stands for all measures of both. Raises
    InputError where they have no cell, or no measure, in common.
    """
    keys = list(dict.fromkeys([*_axis_keys(old).values(), *_axis_keys(new).values()]))
    measures = _list_common_measures(old, new, measure)
    cells_old, cells_new = (_cells(dataset, keys, measures) for dataset in (old, new))
    both = [cell for cell in cells_old if cell in cells_new]
    if not both:
        raise InputError(
            f"{names[0]} and {names[1]} have no cell with the same {', '.join(keys) or 'settings'}; narrow them with "
            "AXIS=VALUE, or compare stores of one sweep"
        )
    pairs = [
        (name, _place(cell, keys), cells_old[cell], cells_new[cell])
        for cell in both
        for name in measures
        if np.isfinite([cells_old[cell][name], cells_new[cell][name]]).all()
    ]
    return ChangedStores(
        old=names[0],
        new=names[1],
        matched=len(both),
        only_old=len(cells_old) - len(both),
        only_new=len(cells_new) - len(both),
        same_seed=old.attrs.get("seed") is not None and old.attrs.get("seed") == new.attrs.get("seed"),
        keys=tuple(_list_changed_keys(old, new, keys)),
        values=tuple(_values(pairs)),
    )


def _axis_keys(dataset: xr.Dataset) -> dict[str, str]:
    return {axis: str(dataset[axis].attrs["key"]) for axis in name_axes(dataset)}


def _list_common_measures(old: xr.Dataset, new: xr.Dataset, measure: str | None) -> list[str]:
    """Name the measures of both stores, or the one that is asked for."""
    there = set(measures_of(new))
    common = [name for name in measures_of(old) if name in there]
    if measure is not None:
        if measure not in common:
            raise InputError(f"--measure {clip(measure)} is not in both stores; {suggest(measure, common)}")
        return [measure]
    if not common:
        raise InputError("these stores have no measure in common; name one of both with --measure")
    return common


def _cells(dataset: xr.Dataset, keys: Sequence[str], measures: Sequence[str]) -> dict[Cell, Mapping[str, Any]]:
    """Return each cell's record (see `store.query.records`) by its settings of `keys`, as typed, in their order.

    Keys that the store does not vary have the value that all its cells share.
    """
    own, shared = _axis_keys(dataset), _settings(dataset)
    rows: dict[Cell, Mapping[str, Any]] = {}
    for row in records(ensure_measures(dataset, measures), measures):
        at = {**shared, **{key: row[axis] for axis, key in own.items()}}
        rows[tuple(word(at.get(key)) for key in keys)] = row
    return rows


def _place(cell: Cell, keys: Sequence[str]) -> dict[str, str]:
    return {key.rpartition(".")[2]: value for key, value in zip(keys, cell, strict=True)}


def _settings(dataset: xr.Dataset) -> dict[str, Any]:
    """Return the settings that all cells share; that of a part is the name of its function."""
    return {
        key.removesuffix(TARGET): str(value).rpartition(".")[2] if key.endswith(TARGET) else value
        for key, value in flatten(config_of(dataset))
    }


def _list_changed_keys(old: xr.Dataset, new: xr.Dataset, keys: Sequence[str]) -> Iterator[ChangedKey]:
    """Name what differs beside the axes: settings, sizes, and what filled the stores."""
    sizes = [
        {**_settings(store), **_sizes(store), **{key: store.attrs.get(key) for key in VERSIONS}} for store in (old, new)
    ]
    for key in dict.fromkeys([*sizes[0], *sizes[1]]):
        before, after = (values.get(key) for values in sizes)
        if before != after and not any(key == axis or key.startswith(f"{axis}.") for axis in keys):
            yield ChangedKey(key=key, old=before, new=after)


def _sizes(dataset: xr.Dataset) -> dict[str, Any]:
    declared = json.loads(dataset.attrs["sweep"])
    return {key: declared.get(key) for key in ("worlds", "studies", "pools", "document_draws")}


def _values(
    pairs: Sequence[tuple[str, dict[str, str], Mapping[str, Any], Mapping[str, Any]]],
) -> Iterator[ChangedValue]:
    """Yield the change of each pair: a measure, the settings of its cell, the cell's old and its new record."""
    values = np.array([[row[name] for row in rows] for name, _, *rows in pairs], float).reshape(-1, 2)
    errors = np.array([[_error(row, name) for row in rows] for name, _, *rows in pairs], float).reshape(-1, 2)
    clusters = np.array([[row[f"{name}_clusters"] for row in rows] for name, _, *rows in pairs]).reshape(-1, 2)
    p_values = find_p_values(values, errors, clusters)
    moved = find_moved(p_values)
    for k, (name, at, old, new) in enumerate(pairs):
        yield ChangedValue(
            measure=name,
            at=dict(at),
            old=float(values[k, 0]),
            old_mcse=float(old[f"{name}_mcse"]),
            new=float(values[k, 1]),
            new_mcse=float(new[f"{name}_mcse"]),
            difference=float(values[k, 1] - values[k, 0]),
            error=float(np.hypot(*errors[k])),
            p_value=float(p_values[k]),
            moved=bool(moved[k]),
        )


def _error(row: Mapping[str, Any], name: str) -> float:
    """Return the error of a value; that of one that no campaign differed on follows from its interval."""
    error, n = row[f"{name}_mcse"], row[f"{name}_clusters"]
    low, high = row.get(f"{name}_low", np.nan), row.get(f"{name}_high", np.nan)
    if error == 0 and n > 1 and np.isfinite([low, high]).all():
        # Such a value lies at one end of its interval, whose whole width is then one margin.
        return float((high - low) / stats.t.ppf(0.975, n - 1))
    return float(error)


def find_p_values(values: Floats, errors: Floats, clusters: Array) -> Floats:
    """Return p-values `[value]` of the hypothesis that old and new are equal; NaN where an error is not known.

    All arguments are `[value, store]`, the old store first: `errors` are standard errors, `clusters` the numbers of
    clusters (worlds) behind them. Two-sided t-tests with the degrees of freedom of Welch 1947. Where both errors are 0
    the p-value is 1 or 0.
    """
    variances = errors**2
    total = variances.sum(1)
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = total**2 / (variances**2 / np.maximum(clusters - 1, 1)).sum(1)
        p_values = 2 * stats.t.sf(np.abs(values[:, 1] - values[:, 0]) / np.sqrt(total), freedom)
    exact = np.isclose(values[:, 0], values[:, 1], rtol=ROUNDING, atol=ROUNDING)
    # Without an error any difference beyond rounding is certain.
    return np.where(exact, 1.0, np.where(total == 0, 0.0, p_values))


def find_moved(p_values: Floats) -> Array:
    """Mark the values that moved, `[value]`, from their p-values `[value]`, at a false discovery rate of 5 %.

    Source: Benjamini and Hochberg 1995. A p-value of NaN is not marked.
    """
    known = np.isfinite(p_values)
    moved = np.zeros(len(p_values), bool)
    if known.any():
        moved[known] = bh(p_values[known]) <= LEVEL
    return moved
