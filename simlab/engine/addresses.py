"""Addresses and results of blocks of studies, their checksums, and the gaps between finished blocks.

A *block* is consecutive studies of one cell of a sweep, in one world, with one pool of raters and one draw of
documents: `Address` names it, `Finished` is its result, with arrays as bytes (`pack`, `unpack`). Call `gaps` with
finished intervals of studies `(first, count)`, which returns the missing ones; `cut` divides one into blocks.
"""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.lib import format as npy

from simlab.types import Array, Place

MOST_BYTES = 2 * 2**30
"""Most bytes of a block's arrays: a larger one would not fit into a store."""


@dataclass(frozen=True, slots=True)
class Address:
    """Address of consecutive studies of one world of a cell, with one pool of raters and one draw of documents."""

    cell: str
    world: int
    first: int
    count: int
    pool: int = 0
    draw: int = 0

    @property
    def places(self) -> tuple[Place, ...]:
        """List the place (world, pool, draw, study) of each study of the block."""
        studies = range(self.first, self.first + self.count)
        return tuple(Place(self.world, self.pool, self.draw, study) for study in studies)

    @property
    def order(self) -> tuple[int, ...]:
        """Sort key of a block: its place first, so that the blocks of all cells at a place are neighbours."""
        return self.world, self.pool, self.draw, self.first, self.count

    def campaign(self, cell: int) -> str:
        """Name the first campaign by numbers, as `simlab verify --replay` takes it; `cell` is that of its cell."""
        nested = [self.pool, self.draw] if self.pool or self.draw else []
        return ".".join(map(str, [cell, self.world, *nested, self.first]))

    def __str__(self) -> str:
        """Name the world and the studies, the last one included."""
        last = self.first + self.count - 1
        nested = "".join(f"{word} {k}, " for word, k in (("pool", self.pool), ("draw", self.draw)) if k)
        return f"world {self.world}, {nested}{f'studies {self.first} to {last}' if self.count > 1 else f'study {last}'}"


@dataclass(frozen=True, slots=True)
class Finished:
    """Result of a block: its arrays as bytes, or the reason why it failed.

    `failures` lists (study, reason) of the studies whose design could not be carried out; `seconds` is the time that
    the block took a worker, which the ledger does not keep.
    """

    address: Address
    payload: bytes = b""
    reason: str = ""
    failures: tuple[tuple[int, str], ...] = ()
    seconds: float = field(default=0.0, compare=False)

    @property
    def failed(self) -> bool:
        """True if the block as a whole failed."""
        return bool(self.reason)

    @property
    def checksum(self) -> str:
        """Return the checksum of result and address, so that a payload at a wrong address is found, too."""
        at = self.address
        # The first pool and draw leave no word, here as in the addresses of random numbers.
        more = [at.pool, at.draw] if at.pool or at.draw else []
        sealed = json.dumps([at.cell, at.world, at.first, at.count, *more, self.reason, self.failures]).encode()
        return blake2b(sealed + self.payload, digest_size=16).hexdigest()


def pack(arrays: Mapping[str, Array]) -> bytes:
    """Write arrays as bytes (a compressed npz, as numpy reads it); raise ValueError for an array of objects.

    `numpy.savez_compressed` and `numpy.load` write and read the header of each array anew, which takes more than the
    campaigns of a small block.
    """
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            content = _header(array.dtype, array.shape) + array.tobytes()
            # A ZipInfo has a fixed date; with a name alone the clock's would stand in the bytes, and in their checksum.
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), content, zipfile.ZIP_DEFLATED)
    return file.getvalue()


def unpack(payload: bytes) -> dict[str, Array]:
    """Read the arrays of a block; raise ValueError where they would be larger than any block is."""
    with zipfile.ZipFile(io.BytesIO(payload)) as archive:
        members = archive.infolist()
        size = sum(member.file_size for member in members)
        if size > MOST_BYTES:
            raise ValueError(f"its arrays take {size / 2**30:.3g} GiB")
        return {member.filename.removesuffix(".npy"): _array(_content(archive, member, payload)) for member in members}


def _content(archive: zipfile.ZipFile, member: zipfile.ZipInfo, payload: bytes) -> bytes:
    """Read a member of an archive; for a few hundred bytes `ZipFile.read` takes five times as long."""
    if member.compress_type != zipfile.ZIP_DEFLATED or member.flag_bits:
        return archive.read(member)
    names = struct.unpack_from("<HH", payload, member.header_offset + _LENGTHS)
    begin = member.header_offset + _HEADER + sum(names)
    packed = payload[begin : begin + member.compress_size]
    # No more is unpacked than was announced, whatever there is.
    content = zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, max(member.file_size, 1))
    if zlib.crc32(content) != member.CRC:
        raise zipfile.BadZipFile(f"the checksum of {member.filename} does not hold")
    return content


_HEADER, _LENGTHS = 30, 26
"""Bytes of the header before a member, and where in it the lengths of the name and of the extra field stand."""


@lru_cache(maxsize=1024)
def _header(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    if dtype.hasobject:
        raise ValueError("an array of objects cannot be kept")
    file = io.BytesIO()
    about = {"descr": npy.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    npy.write_array_header_1_0(file, about)
    return file.getvalue()


def _array(content: bytes) -> Array:
    """Read an array; one with a header that is not of the first version is left to numpy."""
    if content[: npy.MAGIC_LEN] != npy.magic(1, 0):
        array: Array = npy.read_array(io.BytesIO(content), allow_pickle=False)
        return array
    begin = npy.MAGIC_LEN + 2 + int.from_bytes(content[npy.MAGIC_LEN : npy.MAGIC_LEN + 2], "little")
    shape, by_columns, dtype = _read_header(content[:begin])
    if dtype.hasobject:
        raise ValueError("an array of objects is not read")
    flat = np.frombuffer(content, dtype, offset=begin)
    # What lies in a buffer of bytes cannot be written to; a copy can.
    return flat.reshape(shape, order="F" if by_columns else "C").copy()


@lru_cache(maxsize=1024)
def _read_header(header: bytes) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read the header of an array: its shape, whether columns come first, and its type."""
    file = io.BytesIO(header)
    npy.read_magic(file)
    layout: tuple[tuple[int, ...], bool, np.dtype[Any]] = npy.read_array_header_1_0(file)
    return layout


def gaps(done: Iterable[tuple[int, int]], stop: int) -> list[tuple[int, int]]:
    """List the studies of 0, ..., stop - 1 that are in none of the `done` intervals, as (first, count).

    >>> gaps([(0, 10), (30, 10)], 50)
    [(10, 20), (40, 10)]
    """
    left, reached = [], 0
    for first, count in sorted(done):
        if min(first, stop) > reached:
            left.append((reached, min(first, stop) - reached))
        reached = max(reached, first + count)
    return [*left, (reached, stop - reached)] if reached < stop else left


def cut(interval: tuple[int, int], size: int) -> Iterator[tuple[int, int]]:
    """Cut an interval into blocks of at most `size` studies.

    >>> list(cut((10, 5), 2))
    [(10, 2), (12, 2), (14, 1)]
    """
    first, count = interval
    return ((start, min(size, first + count - start)) for start in range(first, first + count, size))
