"""Say how outcomes lie in a store: which variable has which dimensions, how a cell is padded and cut out again."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simlab.engine.addresses import unpack
from simlab.engine.ledger import Entry, Ledger, Row
from simlab.studies.outcomes import BLOCK_FAILED, OUTCOMES, PER_WORLD, n_rounds
from simlab.types import Array, InputError, Ints

CHUNK_BYTES = 16 * 2**20


@dataclass(frozen=True, slots=True)
class Grid:
    """Say how large everything is that a ledger holds, and which cells there are.

    `sizes` are those of the dimensions that are not axes; cells with fewer systems are padded.
    """

    axes: tuple[Mapping[str, Any], ...]
    worlds: int
    studies: int
    entries: Mapping[tuple[int, ...], Entry]
    sizes: Mapping[str, int]

    @property
    def shape(self) -> tuple[int, ...]:
        """Count the values of each axis."""
        return tuple(len(axis["values"]) for axis in self.axes)

    @property
    def names(self) -> tuple[str, ...]:
        """Name the axes."""
        return tuple(axis["name"] for axis in self.axes)


def grid(book: Ledger) -> Grid:
    """Read the size of everything from a ledger."""
    declared = book.declaration()
    if declared is None:
        raise InputError(f"{book.folder} holds no sweep yet")
    entries = {entry.position: entry for entry in book.entries()}
    worlds, studies = declared["worlds"], declared["studies"]
    n = max((len(entry.systems) for entry in entries.values()), default=0)
    rounds = max((n_rounds(entry.config) for entry in entries.values()), default=0)
    sizes = {"replicate": worlds * studies, "of_world": worlds, "system": n, "pair": n * (n - 1) // 2}
    sizes |= {"preference": 3, "round": rounds}
    return Grid(tuple(declared["axes"]), worlds, studies, entries, sizes)


def columns(dim: str, n_systems: int, size: int) -> Ints:
    """Find where the systems (pairs) of a cell of `n_systems` lie among all; along other dimensions all is its own.

    Pairs of the first systems do not come first in the order of pairs: of 4 systems, the pairs of the first 3 are

    >>> columns("pair", 3, 6)
    array([0, 1, 3])
    """
    if dim != "pair":
        return np.arange(n_systems if dim == "system" else size)
    largest = math.isqrt(2 * size) + 1
    return np.flatnonzero(np.triu_indices(largest, 1)[1] < n_systems)


def gather(rows: Iterable[Row], config: Mapping[str, Any]) -> dict[str, Array]:
    """Join the blocks of a cell: replicates in the order of worlds and studies, failed ones with their status.

    Outcomes per world are indexed by world. Raises InputError where a block is torn.
    """
    parts = [_part(row, config) for row in rows]
    names = list(dict.fromkeys(name for part in parts for name in part))
    joined = {name: _joined(parts, name) for name in names if name not in PER_WORLD}
    return joined | {name: _by_world(parts, name) for name in names if name in PER_WORLD}


def _part(row: Row, config: Mapping[str, Any]) -> dict[str, Array]:
    at = row.block.address
    if not row.sound:
        raise InputError(f"a block of the ledger is damaged ({at}); run the same sweep again to compute it anew")
    if not row.block.failed:
        return {name: _typed(name, array) for name, array in unpack(row.block.payload).items()}
    study = np.arange(at.first, at.first + at.count, dtype=np.int32)
    # A failed replicate keeps its document set, so that designs compared have the same clusters.
    per_set = config.get("design", {}).get("studies_per_document_set", 1)
    return {
        "world": np.full(at.count, at.world, np.int32),
        "study": study,
        "document_set": study // np.int32(per_set),
        "status": np.full(at.count, BLOCK_FAILED, np.int8),
    }


def _typed(name: str, array: Array) -> Array:
    return array.astype(OUTCOMES[name].dtype if name in OUTCOMES else "int32", copy=False)


def _joined(parts: Sequence[Mapping[str, Array]], name: str) -> Array:
    row = next(part[name][:1] for part in parts if name in part)
    fill = np.full_like(row, OUTCOMES[name].fill) if name in OUTCOMES else row
    return np.concatenate([part.get(name, np.repeat(fill, len(part["status"]), axis=0)) for part in parts])


def _by_world(parts: Sequence[Mapping[str, Array]], name: str) -> Array:
    found = {int(part["world"][0]): part[name][0] for part in parts if name in part}
    worlds = 1 + max(int(part["world"][0]) for part in parts)
    filler = np.full_like(next(iter(found.values())), OUTCOMES[name].fill)
    return np.stack([found.get(world, filler) for world in range(worlds)])


def spread(outcomes: Mapping[str, Array], name: str, grid: Grid, n_systems: int) -> Array:
    """Lay an outcome of a cell out on all replicates (worlds) and systems (pairs) of the grid."""
    kind = OUTCOMES[name]
    padded = np.full([grid.sizes[dim] for dim in kind.dims], kind.fill, kind.dtype)
    array = outcomes[name]
    rows = np.arange(len(array)) if name in PER_WORLD else outcomes["world"] * grid.studies + outcomes["study"]
    places = [
        columns(dim, n_systems, grid.sizes[dim])[:length]
        for dim, length in zip(kind.dims[1:], array.shape[1:], strict=True)
    ]
    padded[np.ix_(rows, *places)] = array
    return padded


def depth(grid: Grid, names: Iterable[str]) -> int:
    """Count the leading axes along which chunks hold one value each, so that a chunk stays small."""
    sizes = grid.sizes
    widest = max(
        np.dtype(OUTCOMES[name].dtype).itemsize * math.prod(sizes[dim] for dim in OUTCOMES[name].dims) for name in names
    )
    fits = (k for k in range(len(grid.shape)) if math.prod(grid.shape[k:]) * widest <= CHUNK_BYTES)
    return next(fits, len(grid.shape))


def slabs(book: Ledger, grid: Grid, names: Sequence[str]) -> Iterator[tuple[tuple[int, ...], dict[str, Array]]]:
    """Yield outcomes chunk by chunk: the place on the leading axes, and there each outcome on all other dimensions."""
    split, sizes = depth(grid, names), grid.sizes
    for prefix in _places(grid.shape[:split]):
        slab = {
            name: np.full(
                (*grid.shape[split:], *(sizes[dim] for dim in OUTCOMES[name].dims)),
                OUTCOMES[name].fill,
                OUTCOMES[name].dtype,
            )
            for name in names
        }
        for rest in _places(grid.shape[split:]):
            entry = grid.entries.get(prefix + rest)
            outcomes = gather(book.blocks(entry.cell), entry.config) if entry else {}
            for name in outcomes.keys() & slab.keys():
                slab[name][rest] = spread(outcomes, name, grid, len(entry.systems) if entry else 0)
        yield prefix, slab


def _places(shape: Sequence[int]) -> Iterator[tuple[int, ...]]:
    return itertools.product(*map(range, shape))
