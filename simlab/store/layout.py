"""Layout of outcomes in a store: their dimensions, the padding of cells, and the chunks on the disk.

`grid` reads the sizes of a sweep from its ledger, `gather` joins the blocks of a cell into outcomes `[campaign, ...]`,
and `spread` lays one of these out on the grid. `cut` divides the cells into runs, which are chunks of a store.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import Any, NamedTuple

import numpy as np

from simlab.engine.addresses import Address, unpack
from simlab.engine.conclusions import gather_conclusions
from simlab.engine.continuation import CROSSED
from simlab.engine.ledger import Ledger, LedgerEntry, LedgerRow
from simlab.formulas import systems_of_pairs
from simlab.store.fill_values import mask_values, missing_value, stored_type
from simlab.studies.outcomes import DRAW, IDENTITY, POOL
from simlab.types import BLOCK_FAILED, OK, Array, InputError, Ints, Outcome

CHUNK_BYTES = 16 * 2**20


@dataclass(frozen=True, slots=True)
class Grid:
    """Sizes of everything that a ledger holds, and its cells.

    `sizes` are those of the dimensions that are not axes; cells with fewer systems are padded. `outcomes` declares the
    outcomes that campaigns can have, `along` the names along dimensions that have some.
    """

    axes: tuple[Mapping[str, Any], ...]
    worlds: int
    pools: int
    draws: int
    studies: int
    entries: Mapping[tuple[int, ...], LedgerEntry]
    sizes: Mapping[str, int]
    outcomes: Mapping[str, Outcome]
    along: Mapping[str, tuple[str, ...]]

    @property
    def shape(self) -> tuple[int, ...]:
        """Count the values of each axis."""
        return tuple(len(axis["values"]) for axis in self.axes)

    def replicates(self, outcomes: Mapping[str, Array]) -> Ints:
        """Return the index of each campaign on the replicate dimension: by world, pool, draw of documents, study."""
        none = np.zeros_like(outcomes["world"])
        # Indices have 32 bits, and the number of a campaign among all may need more.
        of_pool = outcomes["world"].astype(np.int64) * self.pools + outcomes.get(POOL, none)
        return np.asarray((of_pool * self.draws + outcomes.get(DRAW, none)) * self.studies + outcomes["study"])

    @property
    def names(self) -> tuple[str, ...]:
        """Name the axes."""
        return tuple(axis["name"] for axis in self.axes)


def grid(book: Ledger) -> Grid:
    """Read the sizes and the cells of a sweep from its ledger."""
    declared = book.declaration()
    if declared is None:
        raise InputError(f"{book.folder} holds no sweep yet")
    axes, places = sort_axes(declared["axes"])
    entries = {
        tuple(where.index(k) for where, k in zip(places, entry.position, strict=True)): entry
        for entry in book.entries()
    }
    worlds, studies = declared["worlds"], declared["studies"]
    pools, draws = (declared.get(key, 1) for key in CROSSED)
    n = max((len(entry.systems) for entry in entries.values()), default=0)
    sizes = {"replicate": worlds * pools * draws * studies, "of_world": worlds, "system": n, "pair": n * (n - 1) // 2}
    about = gather_conclusions(declared, [entry.config for entry in entries.values()])
    sizes |= about.sizes
    return Grid(axes, worlds, pools, draws, studies, entries, sizes, about.outcomes, about.along)


def sort_axes(axes: Sequence[Mapping[str, Any]]) -> tuple[tuple[dict[str, Any], ...], list[list[int]]]:
    """Put the values of numeric axes in ascending order, null first; return with the axes where each stood before.

    Values that were added later would else stand last, and whoever interpolates or draws a line would not notice.

    >>> sort_axes([{"name": "documents", "values": [20, 40, 10]}, {"name": "grouping", "values": ["b", "a"]}])[1]
    [[2, 0, 1], [0, 1]]
    """
    places = [list(range(len(axis["values"]))) for axis in axes]
    for axis, place in zip(axes, places, strict=True):
        if all(type(value) in (int, float, NoneType) for value in axis["values"]):
            place.sort(key=[-math.inf if value is None else value for value in axis["values"]].__getitem__)
    sorted_axes = (
        {**axis, **{name: [axis[name][k] for k in place] for name in ("values", "sets") if name in axis}}
        for axis, place in zip(axes, places, strict=True)
    )
    return tuple(sorted_axes), places


def columns(dim: str, n_systems: int, size: int) -> Ints:
    """Return the indices, of `size` along a dimension, that a cell of `n_systems` has: all but of systems and pairs.

    Pairs of the first systems do not come first in the order of pairs: of 4 systems, the pairs of the first 3 are

    >>> columns("pair", 3, 6)
    array([0, 1, 3])
    """
    if dim != "pair":
        return np.arange(n_systems if dim == "system" else size)
    return np.flatnonzero(np.triu_indices(systems_of_pairs(size), 1)[1] < n_systems)


def gather(rows: Iterable[LedgerRow], config: Mapping[str, Any], declared: Mapping[str, Outcome]) -> dict[str, Array]:
    """Join the blocks of a cell: replicates in the order of worlds, pools, draws and studies, failed ones with status.

    Outcomes per world are indexed by world; pool and draw are left out where there is one of each. Raises InputError
    where a block is torn or holds what is not declared.
    """
    parts = [_part(row, config, declared) for row in rows]
    if not any(part[name].any() for part in parts for name in (POOL, DRAW)):
        parts = [{name: array for name, array in part.items() if name not in (POOL, DRAW)} for part in parts]
    names = list(dict.fromkeys(name for part in parts for name in part))
    of_world = [name for name in names if is_per_world(declared, name)]
    joined = {name: _join_parts(parts, name, declared) for name in names if name not in of_world}
    return joined | {name: _stack_worlds(parts, name, declared[name]) for name in of_world}


def is_per_world(declared: Mapping[str, Outcome], name: str) -> bool:
    """True if an outcome has one row per world, not one per campaign."""
    return name in declared and declared[name].dims[0] == "of_world"


def _part(row: LedgerRow, config: Mapping[str, Any], declared: Mapping[str, Outcome]) -> dict[str, Array]:
    at = row.block.address
    if not row.sound:
        raise InputError(f"a block of the ledger is damaged ({at}); run the same sweep again to compute it anew")
    if not row.block.failed:
        arrays = {name: _convert_type(name, array, declared) for name, array in unpack(row.block.payload).items()}
        return arrays | _nested_indices(at)
    study = np.arange(at.first, at.first + at.count, dtype=np.int32)
    # A failed replicate keeps its document set, so that designs compared have the same clusters.
    per_set = config.get("design", {}).get("studies_per_document_set", 1)
    return {
        "world": np.full(at.count, at.world, np.int32),
        "study": study,
        "document_set": study // np.int32(per_set),
        "status": np.full(at.count, BLOCK_FAILED, np.int8),
        **_nested_indices(at),
    }


def _nested_indices(at: Address) -> dict[str, Array]:
    """Return with which pool of raters and draw of documents the studies of a block were carried out."""
    return {name: np.full(at.count, number, np.int32) for name, number in ((POOL, at.pool), (DRAW, at.draw))}


def _convert_type(name: str, array: Array, declared: Mapping[str, Outcome]) -> Array:
    """Return an outcome in its declared type; raise InputError for one that nobody declares, rather than drop it."""
    if name in IDENTITY:
        return array.astype("int32", copy=False)
    if name not in declared:
        raise InputError(f"the ledger holds the outcome {name}, which no kind of study declares; run the sweep anew")
    typed = array.astype(declared[name].dtype, copy=False)
    if typed is not array and not np.array_equal(typed, array, equal_nan=array.dtype.kind == "f"):
        raise InputError(
            f"the ledger holds {name} as {array.dtype}, which is not {declared[name].dtype}; run the sweep anew"
        )
    return typed


def _join_parts(parts: Sequence[Mapping[str, Array]], name: str, declared: Mapping[str, Outcome]) -> Array:
    # A failed block has no outcomes: another block of the cell says of which type and shape they are.
    row = next(part[name][:1] for part in parts if name in part)
    fill = np.full_like(row, declared[name].fill) if name in declared else row
    return np.concatenate([part.get(name, np.repeat(fill, len(part["status"]), axis=0)) for part in parts])


def _stack_worlds(parts: Sequence[Mapping[str, Array]], name: str, outcome: Outcome) -> Array:
    known = {int(part["world"][0]): part[name][0] for part in parts if name in part}
    worlds = 1 + max(int(part["world"][0]) for part in parts)
    filler = np.full_like(next(iter(known.values())), outcome.fill)
    return np.stack([known.get(world, filler) for world in range(worlds)])


def spread(outcomes: Mapping[str, Array], name: str, grid: Grid, n_systems: int) -> Array:
    """Return the outcome `name` of a cell, padded to all replicates (worlds) and systems (pairs) of the grid."""
    outcome = grid.outcomes[name]
    padded = make_empty([grid.sizes[dim] for dim in outcome.dims], name, outcome)
    of_world, status = is_per_world(grid.outcomes, name), outcomes["status"]
    # A world is known once a campaign of it has met it, even where its design could not be carried out.
    worlds = np.arange(len(outcomes[name]))
    known = np.isin(worlds, outcomes["world"][status != BLOCK_FAILED]) if of_world else status == OK
    array = mask_values(outcomes[name], name, outcome, known)
    rows = worlds if of_world else grid.replicates(outcomes)
    columns_of = [
        columns(dim, n_systems, grid.sizes[dim])[:length]
        for dim, length in zip(outcome.dims[1:], array.shape[1:], strict=True)
    ]
    padded[np.ix_(rows, *columns_of)] = array
    return padded


def make_empty(shape: Sequence[int], name: str, outcome: Outcome) -> Array:
    """Return an array filled with the empty value of an outcome."""
    return np.full(shape, missing_value(name, outcome), stored_type(name, outcome))


class Cut(NamedTuple):
    """Division of cells into runs: one value of each axis before `axis`, `step` values of it, all of the others.

    Runs follow each other in the order of the cells.
    """

    axis: int
    step: int

    def chunk(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Return how many values of each axis a run has; the last run may be shorter."""
        # Without axes a sweep is one cell, and its arrays have no dimension of cells to cut.
        return (*[1] * self.axis, self.step, *shape[self.axis + 1 :])[: len(shape)]

    def runs(self, shape: Sequence[int]) -> Iterator[Run]:
        """List the runs in the order of the cells."""
        rest = [slice(0, size) for size in shape[self.axis + 1 :]]
        steps = range(0, shape[self.axis] if shape else 1, self.step)
        for leading in itertools.product(*map(range, shape[: self.axis])):
            for start in steps:
                here = [*(slice(k, k + 1) for k in leading), slice(start, start + self.step), *rest]
                yield Run(tuple(slice(*one.indices(n)) for one, n in zip(here, shape, strict=False)))


class Run(NamedTuple):
    """A run of cells that lie together, by their region on each axis."""

    region: tuple[slice, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Count the values of each axis."""
        return tuple(part.stop - part.start for part in self.region)

    def positions(self) -> Iterator[tuple[int, ...]]:
        """List the cells in their order."""
        return itertools.product(*(range(part.start, part.stop) for part in self.region))


def cut(shape: Sequence[int], cell_bytes: int) -> Cut:
    """Divide a grid of cells, each of at most `cell_bytes`, into runs; up to 16 MiB in all is one run.

    Larger grids have runs of at most a quarter of that, since reading one cell reads its run.

    >>> cut((1000, 10), 100), cut((1000, 10), 20_000), cut((1000, 10), 10**6)
    (Cut(axis=0, step=1000), Cut(axis=0, step=20), Cut(axis=1, step=4))
    """
    if not shape or math.prod(shape) * cell_bytes <= CHUNK_BYTES:
        return Cut(0, shape[0] if shape else 1)
    most = CHUNK_BYTES // 4
    fits = (k for k in range(len(shape)) if math.prod(shape[k + 1 :]) * cell_bytes <= most)
    axis = next(fits, len(shape) - 1)
    return Cut(axis, max(1, min(shape[axis], most // (math.prod(shape[axis + 1 :]) * cell_bytes))))


def chunks(shape: Sequence[int], of_cells: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Return the shape of chunks for a run of `of_cells` (values of each axis); large cells are cut by replicate."""
    whole = [max(size, 1) for size in (*of_cells, *shape[len(of_cells) :])]
    k = len(of_cells)
    if k < len(whole) and itemsize * math.prod(whole) > CHUNK_BYTES:
        row = itemsize * math.prod(whole[k + 1 :])
        whole[k] = max(1, min(whole[k], CHUNK_BYTES // row))
    return tuple(whole)


def count_largest_bytes(grid: Grid, names: Iterable[str]) -> int:
    """Count the bytes of the largest of some outcomes of a cell; those whose dimensions the grid lacks do not count."""
    known = (grid.outcomes[name] for name in names)
    return max((width(one, grid.sizes) for one in known if grid.sizes.keys() >= set(one.dims)), default=1)


def width(outcome: Outcome, sizes: Mapping[str, int]) -> int:
    """Count the bytes of an outcome of a cell, given the sizes of dimensions."""
    return np.dtype(outcome.dtype).itemsize * math.prod(sizes[dim] for dim in outcome.dims)
