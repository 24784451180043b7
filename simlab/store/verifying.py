"""Check a folder of results: every block undamaged, every chunk present, the store equal to its ledger.

Call `verify` with a folder, which returns a `StoreReport` with a line for each problem.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from joblib import cpu_count

from simlab.engine import ledger
from simlab.engine.addresses import Address
from simlab.engine.block_checks import find_unusable
from simlab.engine.ledger import FILE, STORE, Ledger
from simlab.engine.ledger_file import DamagedLedger, LostLedger
from simlab.engine.ledger_rows import list_crossings
from simlab.engine.preparing import cell_names, failures
from simlab.engine.provenance import LOST
from simlab.engine.shards import Shard, SweepSizes, list_shards, missing_blocks, name_shards
from simlab.files import reason
from simlab.store.folder import store_in, valid_store
from simlab.store.interrupted_runs import refuse_strange_declaration
from simlab.store.layout import cut, grid
from simlab.store.measures import LARGEST_ERROR, Measures
from simlab.store.wholeness import SEAL, FilesOfFolder, examine, remedy
from simlab.store.writing import lay_arrays
from simlab.types import Array, InputError, Place


def read_shards(book: Ledger) -> list[Shard]:
    """List the shards that a folder is to hold; none where it is to hold all of its sweep."""
    return list_shards(book.read_note("shards", []))


def list_missing(book: Ledger) -> list[Address]:
    """List the missing blocks of a folder, cell by cell, without failed ones; without shards a gap is one block.

    Blocks of a shard whose sweep has grown since are unknown, and left out.
    """
    whole, cells, noted = _read_sizes(book), _cells(book), book.read_note("shards", [])
    if whole is None:
        return []
    shards: list[Shard] | list[None] = [None]
    wanted = dict.fromkeys(cells, [whole.studies] * whole.worlds)
    if noted:
        seal = whole.seal(cells)
        shards = list_shards(shard for shard in noted if shard["seal"] == seal)
    else:
        whole, sizes = replace(whole, block=whole.studies), book.read_requested_sizes()
        wanted = {cell: sizes.studies_by_world(cell) for cell in cells}

    def gaps(cell: str, at: Place) -> list[tuple[int, int]]:
        studies = wanted[cell]
        return book.find_gaps(cell, at, studies[at.world], failed=False) if at.world < len(studies) else []

    number = {cell: k for k, cell in enumerate(cells)}
    return sorted(missing_blocks(whole, cells, gaps, shards), key=lambda at: number[at.cell])


def list_incomplete(book: Ledger) -> list[Shard]:
    """List the shards with missing blocks; none where the sweep has grown since, so that they are unknown."""
    whole, cells, noted = _read_sizes(book), _cells(book), book.read_note("shards", [])
    shards, seals = list_shards(noted), {shard["seal"] for shard in noted}
    if whole is None or len({shard.n_shards for shard in shards}) != 1 or seals != {whole.seal(cells)}:
        return []
    of = shards[0].n_shards
    numbers = {
        number
        for place, at in enumerate(whole.places())
        for k, cell in enumerate(cells)
        for gap in book.find_gaps(cell, Place(*at), whole.studies, failed=False)
        for number in whole.owners(gap, of, place, k)
    }
    return [Shard(number, of) for number in sorted(numbers)]


def _cells(book: Ledger) -> list[str]:
    return list(dict.fromkeys(book.cells().values()))


def _read_sizes(book: Ledger) -> SweepSizes | None:
    """Read the sizes of the whole sweep; None for an empty folder."""
    declared, entries = book.declaration(), book.entries()
    if declared is None or not entries:
        return None
    crossed = list_crossings(declared)
    pools, draws = (max(pair[k] for pair in crossed) + 1 for k in (0, 1))
    block = entries[0].config.get("engine", {}).get("block", declared["studies"])
    return SweepSizes(declared["worlds"], pools, draws, declared["studies"], len(_cells(book)), block)


@dataclass(frozen=True, slots=True)
class StoreReport:
    """Report on a store: numbers of things checked, and a line for each problem; `shards` names its part of a sweep.

    `lost` is true of a folder that the command of its sweep cannot mend.
    """

    cells: int
    blocks: int
    arrays: int
    problems: tuple[str, ...]
    shards: str = ""
    lost: bool = False


def verify(folder: Path, measures: Measures | None = None, jobs: int | None = None) -> StoreReport:
    """Check the ledger and the store of a folder, reading only; recompute the given measures, too.

    Many cells are checked by `jobs` processes (None: one per core).

    A ledger that cannot be read is a problem, too. Raises InputError where the folder holds no sweep or a run is
    writing to it.
    """
    try:
        with ledger.reading(folder, whole=True) as book:
            return _verify(book, measures or {}, cpu_count() if jobs is None else jobs)
    except DamagedLedger as error:
        lost = isinstance(error, LostLedger)
        return StoreReport(0, 0, 0, (str(error), *_describe_loss(folder, lost=lost)), lost=lost)


def _verify(book: Ledger, measures: Measures, jobs: int) -> StoreReport:
    refuse_strange_declaration(book)
    names, shards = cell_names(book), read_shards(book)
    damaged = _damage(book, names)
    problems = [
        *damaged,
        *(
            f"lost: what was asked of {names[cell].removesuffix(', ') or 'the cell'} is not in {FILE} any more; all "
            "that its sweep declares is wanted of it"
            for cell in book.read_requested_sizes().lost
            if cell in names
        ),
        *(f"failed: {failure.address}: {failure.reason}" for failure in failures(book)),
        *(f"missing: {names[at.cell]}{at}" for at in list_missing(book)),
    ]
    # What a damaged block or record, or one that is lost, held is not known, so the store cannot be held against it.
    # A folder of shards has no store, and one that holds no longer all of the ledger is none to hold against it.
    unknown = damaged or (shards and not book.is_laid())
    arrays, wrong = (0, []) if unknown else _check_store(book, measures, jobs)
    problems = list(dict.fromkeys(problems + wrong))
    return StoreReport(len(book.entries()), book.n_blocks(), arrays, tuple(problems), name_shards(shards))


def _damage(book: Ledger, names: Mapping[str, str]) -> list[str]:
    """List damaged records, blocks that cannot be used (torn, or unlike what their cell declares), and lost cells."""
    lines = [f"damaged: {record} in {FILE}: its checksum does not hold" for record in book.list_damaged()]
    torn = Counter[str]()
    for row, why in find_unusable(book):
        at = row.block.address
        torn[at.cell] += 1
        word = "misfit" if row.sound else "torn"
        lines.append(f"{word}: {names.get(at.cell, 'unknown cell, ')}{at}: {why}")
    for cell, count in book.count_orphans().items():
        # A torn block may name any cell.
        if not count or count > torn[cell]:
            what = f"the cell {cell[:8]} of {count} blocks" if count else "a cell without blocks"
            lines.append(f"lost: {what} is not in {FILE} any more; the same command writes it anew")
    return lines


def _describe_loss(folder: Path, *, lost: bool) -> list[str]:
    """State what a folder whose ledger cannot be read still answers, and what is lost if its store is whole."""
    path = store_in(folder)
    try:
        problems = None if path is None else examine(FilesOfFolder(path)).problems
    except InputError:
        problems = ("it cannot be read",)
    if problems is None:
        return [f"{folder} has no {STORE} either: what the ledger does not give back is lost"]
    what = "what the ledger held is lost" if lost else "only blocks are lost that cannot be read"
    return [*problems] or [f"{STORE} is whole: query, compare and plot answer from it, and {what}"]


def _check_store(book: Ledger, measures: Measures, jobs: int) -> tuple[int, list[str]]:
    """Count the arrays of the store, and list what is wrong with them."""
    import zarr

    try:
        path = valid_store(book.folder)
        examined = examine(FilesOfFolder(path))
        root = zarr.open_group(path, mode="r", use_consolidated=False)
        arrays = {name: root[name] for name in examined.arrays}
    except InputError as error:
        return 0, [str(error)]
    except Exception as error:
        return 0, [f"{STORE} cannot be read ({reason(error)}); {remedy(book.folder / STORE)}"]
    kept, stored = StoreComparison(arrays), dict(root.attrs)
    about = lay_arrays(kept, book, grid(book), measures, {}, jobs=jobs)
    if not measures:
        # The error is that of a measure, and none is computed anew.
        stored.pop(LARGEST_ERROR, None)
    lossy = tuple(f"{STORE} lacks {name}" for name in examined.lossy)
    wrong = [problem for problem in kept.problems() if problem not in lossy]
    return len(arrays) + len(lossy), [*examined.problems, *_attributes(stored, about, book), *wrong]


class StoreComparison:
    """A stand-in for the group of a store: arrays that would be written are compared with those that are there."""

    def __init__(self, arrays: Mapping[str, Any]) -> None:
        self._arrays = arrays
        self._held: dict[str, ComparedArray] = {}

    def create_array(
        self, name: str, *, shape: tuple[int, ...], dtype: np.dtype[Any], dimension_names: Sequence[str], **_: Any
    ) -> ComparedArray:
        """Compare the dimensions, shape and type of a stored array with those that would be laid."""
        array = self._arrays.get(name)
        if array is None:
            wrong = f"{STORE} lacks {name}"
        elif tuple(array.metadata.dimension_names or ()) != tuple(dimension_names):
            wrong = f"{STORE}/{name} has other dimensions than the ledger says"
        elif array.shape != shape or (dtype.kind != "U" and array.dtype != dtype):
            wrong = f"{STORE}/{name} is not what the ledger says"
        else:
            wrong = ""
        self._held[name] = ComparedArray(name, array, wrong)
        return self._held[name]

    def __delitem__(self, name: str) -> None:
        del self._held[name]

    def problems(self) -> Iterator[str]:
        """Yield the problems of all arrays; those that no given measure would lay are only read."""
        yield from (check.wrong for check in self._held.values() if check.wrong)
        for name in sorted(self._arrays.keys() - self._held.keys()):
            array = self._arrays[name]
            for run in cut(array.shape, array.dtype.itemsize).runs(array.shape):
                if isinstance(stored := read(array, name, run.region), str):
                    yield stored
                    break


@dataclass(slots=True)
class ComparedArray:
    """An array of a store, and its first mismatch with what would be written ('': none)."""

    name: str
    array: Any
    wrong: str

    def __getitem__(self, _: object) -> ComparedArray:
        return self

    def __setitem__(self, region: Any, wanted: Any) -> None:
        if isinstance(wanted, ComparedArray):
            self.wrong = wanted.wrong
        elif not self.wrong:
            stored = read(self.array, self.name, region)
            if isinstance(stored, str):
                self.wrong = stored
            elif not _are_same(stored, np.broadcast_to(wanted, stored.shape)):
                self.wrong = f"{STORE}/{self.name} is not what the ledger says"

    def update_attributes(self, about: Mapping[str, Any]) -> None:
        """Do nothing: labels are covered by the checksum of the metadata."""


def read(array: Any, name: str, region: Any) -> Array | str:
    """Return a region of an array, or a line on its damage."""
    try:
        return np.asarray(array[region or ...])
    except Exception as error:
        return f"{STORE}/{name} is damaged: {reason(error)}"


def _are_same(stored: Array, wanted: Array) -> bool:
    if stored.dtype.kind == "U":
        return bool(stored.tolist() == wanted.tolist())
    return bool(np.array_equal(stored, wanted, equal_nan=stored.dtype.kind == "f"))


def _attributes(stored: dict[str, Any], wanted: dict[str, Any], book: Ledger) -> Iterator[str]:
    if LOST in book.provenance():
        # The store may still say what the ledger does not know any more.
        wanted = wanted | {name: stored[name] for name in (*LOST, "dirty", "earlier_versions") if name in stored}
    # Whether their seal holds was looked at before.
    for name in sorted((stored.keys() | wanted.keys()) - {SEAL}):
        if stored.get(name) != wanted.get(name):
            yield f"{STORE}: the attribute {name} is not what the ledger says"
