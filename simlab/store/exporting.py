"""Export a whole store to files that other programs read (NetCDF, or tables as Parquet).

Call `export` with an open store, a file name and the form, which returns the files that it wrote.
"""

from __future__ import annotations

import io
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from simlab import files
from simlab.engine.ledger import ARCHIVE
from simlab.messages import clip
from simlab.store.fill_values import HOLDS, missing_value, stored_type
from simlab.types import InputError, Outcome

if TYPE_CHECKING:
    import xarray as xr

CHUNK = 2**20
"""Bytes of a compressed chunk of the file: HDF5 holds one at a time in memory, so that a slice is read fast."""

Whole: TypeAlias = Literal["netcdf", "parquet", "archive"]
ENDINGS: Mapping[Whole, str] = {"netcdf": ".nc", "parquet": ".parquet", "archive": ARCHIVE}
NEEDS: Mapping[Whole, tuple[str, ...]] = {"netcdf": ("h5netcdf", "h5py", "dask"), "parquet": ("pyarrow",)}

AT_ONCE = 32 * 2**20
"""Bytes of a store that are in memory at a time: they are read, then written."""

Slab: TypeAlias = tuple[slice, ...]

_ERRNO = re.compile(r"errno (?:= )?(\d+)", re.IGNORECASE)


def write(dataset: xr.Dataset, file: Path) -> None:
    """Write a dataset as a NetCDF file; raises OSError (of HDF5) where the disk does not take it."""
    import dask

    plain = _read_by_slab(dataset)
    encoding = {str(name): _encoding(plain[name]) for name in plain.variables}
    with CheckedFile(file, "x+b") as kept:
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


class CheckedFile(io.FileIO):
    """A file for HDF5, which would crash at a failing write: `failed` keeps the first error instead.

    Later writes are lost, and the file is not to be used then.
    """

    failed: OSError | None = None

    def write(self, data: Any) -> int:
        """Write all bytes; after a failure report them as written."""
        view = memoryview(data).cast("B")
        done = 0
        try:
            while self.failed is None and done < len(view):
                done += super().write(view[done:])
        except OSError as error:
            self.failed = error
        # HDF5 goes on from where it believes to be, so the place moves as if all had been written.
        self.seek(len(view) - done, io.SEEK_CUR)
        return len(view)

    def truncate(self, size: int | None = None) -> int:
        """Give the file a size; after a failure report it as given."""
        try:
            return super().truncate(size)
        except OSError as error:
            self.failed = self.failed or error
            return size or 0


def _read_by_slab(dataset: xr.Dataset) -> xr.Dataset:
    """Return a dataset that is read slab by slab as it is written."""
    chunked = {name: variable.chunk(_slab(variable)) for name, variable in dataset.data_vars.items() if variable.size}
    plain: xr.Dataset = dataset.assign(chunked).drop_encoding()
    return plain


def _encoding(variable: xr.DataArray) -> dict[str, Any]:
    if not variable.ndim or variable.dtype.kind in "UO" or not variable.size:
        return {}
    chunks = _lengths(variable.shape, variable.dtype.itemsize, CHUNK)
    packed = {"zlib": True, "complevel": 4, "shuffle": True, "chunksizes": chunks}
    if HOLDS not in variable.attrs:
        return packed
    outcome = Outcome((), str(variable.attrs[HOLDS]), None, "")
    return packed | {"dtype": stored_type("", outcome), "_FillValue": missing_value("", outcome)}


def _slab(variable: xr.DataArray) -> dict[Any, int]:
    """Return how long slabs are along each dimension: whole chunks of the file, so that none is packed twice."""
    small = _lengths(variable.shape, variable.dtype.itemsize, CHUNK)
    large = _lengths(variable.shape, variable.dtype.itemsize, AT_ONCE)
    return {
        dim: max(length // least * least, least) for dim, length, least in zip(variable.dims, large, small, strict=True)
    }


def _lengths(shape: Sequence[int], itemsize: int, most: int) -> tuple[int, ...]:
    first = next(iter(slabs(shape, itemsize, most)))
    return tuple(part.stop - part.start for part in first)


def export(dataset: xr.Dataset, out: Path, form: Whole) -> list[Path]:
    """Write a store, or a selection of it, to files named after `out`; return their paths.

    The store is read slab by slab, so that its size does not matter. Raises InputError where the disk does not take the
    files (nothing is left of them then, and older ones stay), and for a chunk of the store that is damaged.
    """
    if form == "netcdf":
        with write_aside([out]) as parts:
            write(dataset, parts[out])
        return [out]
    from simlab.store import parquet

    wanted = parquet.tables(dataset, out)
    with write_aside(list(wanted)) as parts:
        for file, table in wanted.items():
            parquet.write(table, parts[file])
    return list(wanted)


def check(out: Path, form: Whole) -> None:
    """Raise InputError, before anything is read, for a file of another ending or that cannot be written.

    It is also raised where a package that writes this form is not installed.
    """
    if out.suffix.lower() != ENDINGS[form]:
        raise InputError(f"--out {clip(out)}: with --as {form} end the name with {ENDINGS[form]}")
    for package in NEEDS.get(form, ()):
        if find_spec(package) is None:
            raise InputError(
                f"--as {form} needs the package {package}, which is not installed; pip install 'simlab[export]'"
            )
    for file in [out, *name_side_files(out).values()] if form == "parquet" else [out]:
        files.check_writable(file, "--out")


def name_side_files(out: Path) -> dict[str, Path]:
    """Name the files beside a table of cells: that of the campaigns, and that of the worlds' truths."""
    return {name: out.with_name(f"{out.stem}.{name}{out.suffix}") for name in ("campaigns", "worlds")}


@contextmanager
def write_aside(wanted: Sequence[Path]) -> Iterator[dict[Path, Path]]:
    """Give each file a name aside, under which it is written; all take their places once all of them are whole.

    Raises InputError where the disk does not take them.
    """
    parts = {file: file.with_name(f".{file.name}.{os.getpid()}.part") for file in wanted}
    try:
        yield parts
        for file, part in parts.items():
            os.replace(part, file)
    except (OSError, RuntimeError) as error:
        failed = _find_os_error(error)
        if failed is None:
            raise
        raise InputError(
            f"--out {clip(wanted[0])}: cannot be written ({files.reason(failed)}); {files.describe_need(failed)} and "
            "export again"
        ) from error
    finally:
        for part in parts.values():
            part.unlink(missing_ok=True)


def _find_os_error(error: Exception) -> OSError | None:
    """Return the system's error; HDF5 and Arrow put it into a text of their own, perhaps as they close the file."""
    chain: BaseException | None = error
    while chain is not None:
        match = _ERRNO.search(str(chain))
        number = int(match.group(1)) if match else chain.errno if isinstance(chain, OSError) else None
        if number is not None:
            return OSError(number, os.strerror(number))
        chain = chain.__context__
    return error if isinstance(error, OSError) else None


def slabs(sizes: Sequence[int], row: int, most: int = AT_ONCE) -> Iterator[Slab]:
    """Cut dimensions into slabs, in order, of at most so many bytes where a `row` of them is no larger.

    >>> list(slabs([2, 3], 10, 20))
    [(slice(0, 1, None), slice(0, 2, None)), (slice(0, 1, None), slice(2, 3, None)), \
(slice(1, 2, None), slice(0, 2, None)), (slice(1, 2, None), slice(2, 3, None))]
    """
    if not sizes:
        yield ()
        return
    inner = math.prod(sizes[1:]) * max(row, 1)
    if inner <= most or len(sizes) == 1:
        step = max(1, most // max(inner, 1))
        rest = tuple(slice(0, size) for size in sizes[1:])
        for start in range(0, sizes[0], step):
            yield slice(start, min(start + step, sizes[0])), *rest
        return
    for first in range(sizes[0]):
        for others in slabs(sizes[1:], row, most):
            yield slice(first, first + 1), *others
