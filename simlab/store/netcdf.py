"""Write a store as one NetCDF-4 file that plain xarray, ncdump, R and Julia read."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simlab.store.exporting import AT_ONCE, slabs

if TYPE_CHECKING:
    import xarray as xr

CHUNK = 2**20
"""Bytes of a compressed chunk of the file: HDF5 holds one at a time in memory, so that a slice is read fast."""

TAKEN = {"bounds": "bounds_of_measure"}
"""Attributes that mean something else in the conventions of NetCDF: there `bounds` names a variable."""


def write(dataset: xr.Dataset, file: Path) -> None:
    """Write variables, coordinates and attributes; raises OSError (of HDF5) where the disk does not take them.

    Attributes that NetCDF does not know are given in others: truth values as 0 and 1, what is nested as JSON text.
    """
    import dask

    plain = _plain(dataset)
    encoding = {str(name): _encoding(plain[name]) for name in plain.variables}
    with file.open("x+b", buffering=0) as opened:
        kept = Kept(opened)
        try:
            # One slab is read and written after the other: memory does not grow with the store.
            with dask.config.set(scheduler="synchronous"):
                plain.to_netcdf(kept, engine="h5netcdf", format="NETCDF4", encoding=encoding)
        finally:
            if kept.failed is not None:
                raise kept.failed


class Kept(io.RawIOBase):
    """Let HDF5 write to a file, and keep what the disk answers: HDF5 crashes where a write fails.

    What is written after that is lost, and is not read again: `failed` says to whoever asked for it that it is.
    """

    def __init__(self, file: io.FileIO) -> None:
        self.file, self.failed = file, None  # type: tuple[io.FileIO, OSError | None]

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        return self.file.seek(offset, whence)

    def tell(self) -> int:
        return self.file.tell()

    def readinto(self, buffer: Any) -> int:
        return self.file.readinto(buffer) or 0

    def write(self, held: Any) -> int:
        view = memoryview(held).cast("B")
        done = 0
        while self.failed is None and done < len(view):
            try:
                done += self.file.write(view[done:])
            except OSError as error:
                self.failed = error
        if self.failed is not None:
            self.file.seek(len(view) - done, 1)
        return len(view)

    def truncate(self, size: int | None = None) -> int:
        try:
            return self.file.truncate(size)
        except OSError as error:
            self.failed = self.failed or error
            return size or 0

    def flush(self) -> None:
        pass


def _plain(dataset: xr.Dataset) -> xr.Dataset:
    """Return a dataset of types and attributes that NetCDF knows, read slab by slab as it is written."""
    held = {name: variable.chunk(_slab(variable)) for name, variable in dataset.data_vars.items() if variable.size}
    plain = dataset.assign(held)
    for name in [name for name in plain.variables if plain[name].dtype.kind in "TUO"]:
        # Texts of a variable width; numpy's own type for them is not known to HDF5.
        plain = plain.assign_coords({name: plain[name].astype(object)})
    plain.attrs = attributes(plain.attrs)
    for variable in plain.variables.values():
        variable.attrs = attributes(variable.attrs)
        variable.encoding = {}
    plain.encoding = {}
    return plain


def attributes(about: Mapping[Any, Any]) -> dict[str, Any]:
    """Turn attributes into those of NetCDF: numbers, lists of numbers and texts stay, others become JSON text.

    >>> attributes({"seed": 1, "dirty": False, "bounds": [0, 1], "absent": [[0, 1]], "none": None})
    {'seed': 1, 'dirty': np.int8(0), 'bounds': [0, 1], 'absent': '[[0, 1]]', 'none': 'null'}
    """
    return {TAKEN.get(str(name), str(name)): _attribute(value) for name, value in about.items()}


def _attribute(value: Any) -> Any:
    if isinstance(value, bool | np.bool_):
        return np.int8(value)
    numbers = isinstance(value, list | tuple) and value and all(type(entry) in (int, float) for entry in value)
    if isinstance(value, str | int | float | np.number) or numbers:
        return value
    return json.dumps(value.tolist() if isinstance(value, np.ndarray) else value)


def _encoding(variable: xr.DataArray) -> dict[str, Any]:
    if not variable.ndim or variable.dtype.kind == "O" or not variable.size:
        return {}
    chunks = _lengths(variable.shape, variable.dtype.itemsize, CHUNK)
    return {"zlib": True, "complevel": 4, "shuffle": True, "chunksizes": chunks}


def _slab(variable: xr.DataArray) -> dict[Any, int]:
    """Say how long slabs are along each dimension: whole chunks of the file, so that none is packed twice."""
    small = _lengths(variable.shape, variable.dtype.itemsize, CHUNK)
    large = _lengths(variable.shape, variable.dtype.itemsize, AT_ONCE)
    return {
        dim: max(length // least * least, least) for dim, length, least in zip(variable.dims, large, small, strict=True)
    }


def _lengths(shape: Sequence[int], itemsize: int, most: int) -> tuple[int, ...]:
    first = next(iter(slabs(shape, itemsize, most)))
    return tuple(part.stop - part.start for part in first)
