"""Write a store as one NetCDF-4 file that plain xarray, ncdump, R and Julia read."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simlab.store.exporting import AT_ONCE, slabs
from simlab.store.fill_values import HOLDS, missing_value, stored_type
from simlab.types import Outcome

if TYPE_CHECKING:
    import xarray as xr

CHUNK = 2**20
"""Bytes of a compressed chunk of the file: HDF5 holds one at a time in memory, so that a slice is read fast."""


def write(dataset: xr.Dataset, file: Path) -> None:
    """Write variables, coordinates and attributes; raises OSError (of HDF5) where the disk does not take them."""
    import dask

    plain = _plain(dataset)
    encoding = {str(name): _encoding(plain[name]) for name in plain.variables}
    with Kept(file, "x+b") as kept:
        try:
            # One slab is read and written after the other: memory does not grow with the store.
            with dask.config.set(scheduler="synchronous"):
                plain.to_netcdf(kept, engine="h5netcdf", format="NETCDF4", encoding=encoding)
        except Exception:
            # What HDF5 makes of a file that is not what it wrote follows from that.
            if kept.failed is None:
                raise
        if kept.failed is not None:
            raise kept.failed


class Kept(io.FileIO):
    """Write a file for HDF5, which crashes where a write fails: `failed` keeps what the disk answered.

    What comes after that is lost, and nobody is to use the file then.
    """

    failed: OSError | None = None

    def write(self, held: Any) -> int:
        """Write all bytes, or say so as if they were."""
        view = memoryview(held).cast("B")
        done = 0
        try:
            while self.failed is None and done < len(view):
                done += super().write(view[done:])
        except OSError as error:
            self.failed = error
        self.seek(len(view) - done, io.SEEK_CUR)
        return len(view)

    def truncate(self, size: int | None = None) -> int:
        """Give the file a size, or say so as if it had it."""
        try:
            return super().truncate(size)
        except OSError as error:
            self.failed = self.failed or error
            return size or 0


def _plain(dataset: xr.Dataset) -> xr.Dataset:
    """Return a dataset that is read slab by slab as it is written."""
    held = {name: variable.chunk(_slab(variable)) for name, variable in dataset.data_vars.items() if variable.size}
    plain: xr.Dataset = dataset.assign(held).drop_encoding()
    return plain


def _encoding(variable: xr.DataArray) -> dict[str, Any]:
    if not variable.ndim or variable.dtype.kind in "UO" or not variable.size:
        return {}
    chunks = _lengths(variable.shape, variable.dtype.itemsize, CHUNK)
    packed = {"zlib": True, "complevel": 4, "shuffle": True, "chunksizes": chunks}
    if HOLDS not in variable.attrs:
        return packed
    held = Outcome((), str(variable.attrs[HOLDS]), None, "")
    return packed | {"dtype": stored_type("", held), "_FillValue": missing_value("", held)}


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
