"""Write a store as Parquet: a table of its cells, one of its campaigns, and one of the truths of their worlds.

Campaigns are rows and not cells of a wide table, so that they can be filtered, grouped and joined; values of each
system or pair are a list in their row. A row for each of them would repeat all else a hundred times, and whoever
wants that has it in a word: `explode` of pandas and polars, `unnest` of DuckDB. `tables` returns the tables by file,
and `write` writes one.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simlab.store import query
from simlab.store.exporting import name_side_files, slabs
from simlab.store.fill_values import HOLDS, absent_cells
from simlab.store.layout import columns
from simlab.store.opening import measures_of, name_axes, outcome_names
from simlab.store.query import REACHED, build_views
from simlab.studies.outcomes import IDENTITY
from simlab.types import UNRUN, Array

if TYPE_CHECKING:
    import pyarrow as pa
    import xarray as xr

_NAMES = ("system", "pair_first_name", "pair_second_name")


@dataclass(frozen=True, slots=True)
class ParquetTable:
    """Content of a table: a row for each place on `along`, unless it is not `kept`, and its columns.

    What lies on other dimensions is a list in its row. `about` is the metadata of the file.
    """

    dataset: xr.Dataset
    along: tuple[str, ...]
    names: tuple[str, ...]
    kept: Callable[[xr.Dataset], Array] | None
    about: Mapping[str, str]


def tables(dataset: xr.Dataset, out: Path) -> dict[Path, ParquetTable]:
    """Return the tables of a store by their files, which are named after `out`; outcomes only where it keeps some."""
    axes, about = name_axes(dataset), _describe_rows(dataset)
    cells = _add_measures(dataset)
    outcomes = outcome_names(dataset)
    inside = [str(n) for n in cells.data_vars if n not in outcomes and set(cells[n].dims) <= {*axes, "cluster"}]
    by_file = {out: ParquetTable(cells, axes, (*axes, *inside), None, about)}
    for row, file in zip(("replicate", "of_world"), name_side_files(out).values(), strict=True):
        names = [name for name in outcomes if row in dataset[name].dims]
        if names and dataset.sizes.get(row):
            dims = (*axes, row)
            by_file[file] = ParquetTable(
                _number_rows(dataset, row), dims, _columns(dataset, row, axes, names), _choose_mask(row), about
            )
    return by_file


def _add_measures(dataset: xr.Dataset) -> xr.Dataset:
    views = build_views(dataset, measures_of(dataset))
    reached = query.reached_column(dataset)
    rest = dataset.assign({name: views[name] for name in views.data_vars})
    ordered = [*views.data_vars, *(name for name in dataset.data_vars if name not in views)]
    # Whether a cell has its precision is true, false, or nothing, where no error can be told.
    return rest[ordered] if reached is None else rest[ordered].assign({REACHED: (name_axes(dataset), reached)})


def _number_rows(dataset: xr.Dataset, row: str) -> xr.Dataset:
    return dataset if row == "replicate" else dataset.assign_coords(of_world=np.arange(dataset.sizes["of_world"]))


def _columns(dataset: xr.Dataset, row: str, axes: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    if row == "of_world":
        return (*axes, row, *names)
    first = [name for name in dict.fromkeys([*IDENTITY, "document_set", "status"]) if name in dataset.variables]
    return (*axes, *first, *(name for name in names if name not in first))


def _choose_mask(row: str) -> Callable[[xr.Dataset], Array] | None:
    """Return a function that marks the campaigns of a slab that were run; None for worlds."""
    return (lambda part: part["status"].values != UNRUN) if row == "replicate" else None


def _describe_rows(dataset: xr.Dataset) -> dict[str, str]:
    """Describe where rows come from, and what the entries of their lists are."""
    named = {
        f"simlab.{name}": value if isinstance(value, str) else json.dumps(value)
        for name, value in dataset.attrs.items()
    }
    named["simlab"] = named.pop("simlab.simlab", "null")
    lists = {str(dim): dataset[dim].values.tolist() for dim in dataset.dims if dim in dataset.coords}
    lists |= {name: dataset[name].values.tolist() for name in _NAMES if name in dataset.coords}
    inner = {dim: values for dim, values in lists.items() if dim not in name_axes(dataset)}
    return {**named, "simlab.along": json.dumps(inner)}


def write(table: ParquetTable, file: Path) -> None:
    """Write a table, a row group for each slab of the store; raises OSError where the disk does not take it."""
    import pyarrow.parquet as pq

    schema = _schema(table)
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        for part in _parts(table):
            if part.num_rows:
                writer.write_table(part, row_group_size=part.num_rows)


def _schema(table: ParquetTable) -> pa.Schema:
    import pyarrow as pa

    fields = []
    for name in table.names:
        variable = table.dataset[name]
        dtype = np.dtype(variable.attrs.get(HOLDS, variable.dtype))
        inner: Any = pa.bool_() if name == REACHED else _type(dtype)
        for _ in _inner_dims(variable, table.along):
            inner = pa.list_(inner)
        wanted = {key: variable.attrs[key] for key in ("long_name", "units", "held_fixed") if key in variable.attrs}
        dims = {"dims": " ".join(_inner_dims(variable, table.along))} if _inner_dims(variable, table.along) else {}
        fields.append(pa.field(name, inner, metadata={**{k: str(v) for k, v in wanted.items()}, **dims} or None))
    return pa.schema(fields, metadata=dict(table.about))


def _type(dtype: np.dtype[Any]) -> pa.DataType:
    import pyarrow as pa

    return pa.string() if dtype.kind in "UO" else pa.from_numpy_dtype(dtype)


def _inner_dims(variable: xr.DataArray, along: Sequence[str]) -> list[str]:
    return [str(dim) for dim in variable.dims if dim not in along]


def _parts(table: ParquetTable) -> Iterator[pa.Table]:
    """Yield the rows of a table, slab by slab."""
    import pyarrow as pa

    dataset, along, schema = table.dataset, table.along, _schema(table)
    variables = [dataset[name] for name in table.names]
    row = sum(v.dtype.itemsize * math.prod(dataset.sizes[dim] for dim in _inner_dims(v, along)) for v in variables)
    lacking = {str(v.name): _mark_absent(v) for v in variables if absent_cells(v.attrs)}
    for slab in slabs([dataset.sizes[dim] for dim in along], row):
        part = dataset.isel(dict(zip(along, slab, strict=True)))
        kept = np.full([part.sizes[dim] for dim in along], True)
        if table.kept is not None:
            kept &= table.kept(part)
        nowhere = {name: _rows(cells[slab[: cells.ndim]], kept) for name, cells in lacking.items()}
        arrays = [_array(part, field, along, kept, nowhere.get(field.name)) for field in schema]
        yield pa.Table.from_arrays(arrays, schema=schema)


def _mark_absent(variable: xr.DataArray) -> Array:
    """Find the cells that lack an outcome."""
    positions = absent_cells(variable.attrs)
    lacking = np.full(variable.shape[: len(positions[0])], False)
    lacking[tuple(np.transpose(positions))] = True
    return lacking


def _rows(array: Array, kept: Array) -> Array:
    """Return the rows that are kept of what lies on the first dimensions of a table, or on all."""
    return np.broadcast_to(array.reshape(array.shape + (1,) * (kept.ndim - array.ndim)), kept.shape)[kept]


def _array(part: xr.Dataset, field: pa.Field, along: Sequence[str], kept: Array, nowhere: Array | None) -> pa.Array:
    """Return a column: the rows that are kept, each a value, or a list of as many as its cell has systems or pairs."""
    variable = part[field.name]
    inner = _inner_dims(variable, along)
    shape = [part.sizes[dim] if dim in variable.dims else 1 for dim in along]
    values = variable.values.reshape(shape + [part.sizes[dim] for dim in inner])
    rows = np.broadcast_to(values, (*kept.shape, *values.shape[kept.ndim :]))[kept]
    if not inner:
        return _convert_values(rows, field.type, nowhere)
    own = _rows_of_lists(part, inner[0], kept)
    if nowhere is not None:
        own = own & ~nowhere[:, None]
    return _make_lists(_nest(rows[own], field.type.value_type), own.sum(axis=1), field.type, nowhere)


def _rows_of_lists(part: xr.Dataset, dim: str, kept: Array) -> Array:
    """Find the entries of a dimension that each row has: fewer where its cell has fewer systems."""
    size = part.sizes[dim]
    if dim not in ("system", "pair") or "n_systems" not in part:
        return np.full((int(kept.sum()), size), True)
    counts = part["n_systems"].values
    own = np.full((*counts.shape, size), False)
    for n in np.unique(counts):
        entries = np.full(size, False)
        entries[columns(dim, int(n), size)] = True
        own[counts == n] = entries
    own = own.reshape(counts.shape + (1,) * (kept.ndim - counts.ndim) + (size,))
    return np.broadcast_to(own, (*kept.shape, size))[kept]


def _nest(rows: Array, wanted: pa.DataType) -> pa.Array:
    """Turn further dimensions into lists of lists."""
    if rows.ndim == 1:
        return _convert_values(rows, wanted, None)
    inner = _nest(rows.reshape(-1, *rows.shape[2:]), wanted.value_type)
    return _make_lists(inner, np.full(len(rows), rows.shape[1]), wanted, None)


def _make_lists(values: pa.Array, lengths: Array, wanted: pa.DataType, nowhere: Array | None) -> pa.Array:
    import pyarrow as pa

    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
    return pa.ListArray.from_arrays(offsets, values, wanted, mask=None if nowhere is None else pa.array(nowhere))


def _convert_values(values: Array, wanted: pa.DataType, nowhere: Array | None) -> pa.Array:
    """Return values; what is NaN in the store, where there is none, is null: a database leaves it out of its means."""
    import pyarrow as pa

    if values.dtype.kind == "U":
        values = values.astype(object)
    if values.dtype.kind == "f" and not pa.types.is_floating(wanted):
        gone = np.isnan(values)
        nowhere = gone if nowhere is None else gone | nowhere
        # No integer stands for NaN: a 0 takes its place, and is masked as null.
        values = np.where(gone, 0, values).astype(wanted.to_pandas_dtype())
    return pa.array(values, wanted, mask=nowhere, from_pandas=True)
