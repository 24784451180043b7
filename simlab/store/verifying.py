"""Check that a folder holds what it should: every block sound, every chunk there, the store as the ledger says."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from joblib import cpu_count

from simlab.engine import ledger
from simlab.engine.addresses import Address
from simlab.engine.block_checks import unusable
from simlab.engine.failures import cell_names, failures
from simlab.engine.ledger import FILE, STORE, Ledger
from simlab.engine.ledger_file import DamagedLedger, EmptyLedger, damage
from simlab.engine.provenance import LOST
from simlab.engine.shards import listed
from simlab.files import reason
from simlab.store.coordinates import coordinates
from simlab.store.folder import store_in, valid_store
from simlab.store.hearing import heard, slab
from simlab.store.kept import refuse_strange_declaration
from simlab.store.layout import Grid, Run, cut, empty, grid, widest
from simlab.store.measures import Measures, summaries
from simlab.store.sharded import missing, shards_in
from simlab.store.tally import Tally
from simlab.store.undivided import ATTRIBUTE as UNDIVIDED
from simlab.store.wholeness import SEAL, examine, remedy, seal_of_attributes
from simlab.store.writing import attributes, kept_outcomes
from simlab.types import Array, InputError, Place


@dataclass(frozen=True, slots=True)
class Report:
    """Hold what was checked, and what is wrong: one line each; `shards` names the part of its sweep that it holds."""

    cells: int
    blocks: int
    arrays: int
    problems: tuple[str, ...]
    shards: str = ""


def verify(folder: Path, measures: Measures | None = None, jobs: int | None = None) -> Report:
    """Check the ledger and the store of a folder, reading only; recompute the given measures, too.

    Where there are many cells `jobs` processes (None: one per core) look at them.

    A ledger that cannot be read is a problem, too. Raises InputError where the folder holds no sweep or a run is
    writing to it.
    """
    try:
        with ledger.reading(folder) as book:
            if wrong := book.complaints():
                raise damage(folder / FILE, wrong[0])
            return _verify(book, measures or {}, cpu_count() if jobs is None else jobs)
    except EmptyLedger as error:
        return of_emptied(folder, error)
    except DamagedLedger as error:
        return Report(0, 0, 0, (str(error), *without_ledger(folder)))


def _verify(book: Ledger, measures: Measures, jobs: int) -> Report:
    refuse_strange_declaration(book)
    records = [f"damaged: {record} in {FILE}: its checksum does not hold" for record in book.damaged()]
    blocks, torn, lost = _unusable(book)
    problems = [
        *records,
        *torn,
        *lost,
        *_unasked(book),
        *(f"failed: {failure.address}: {failure.reason}" for failure in failures(book)),
    ]
    problems += _missing(book)
    # What a damaged block or record, or one that is lost, held is not known, so the store cannot be held against it.
    shards = shards_in(book)
    # A folder of shards has no store, and one that holds no longer all of the ledger is none to hold against it.
    unknown = torn or records or lost or (shards and not book.laid())
    arrays, wrong = (0, []) if unknown else _check_store(book, measures, jobs)
    return Report(len(book.entries()), blocks, arrays, tuple(dict.fromkeys(problems + wrong)), listed(shards))


def without_ledger(folder: Path, *, lost: str = "only blocks are lost that --repair cannot read") -> list[str]:
    """Say what a folder whose ledger cannot be read still answers, and what is lost if its store is whole."""
    path = store_in(folder)
    try:
        problems = None if path is None else examine(path).problems
    except InputError:
        problems = ("it cannot be read",)
    if problems is None:
        return [f"{folder} has no {STORE} either: what the ledger does not give back is lost"]
    return [*problems] or [f"{STORE} is whole: query, compare and plot answer from it, and {lost}"]


def of_emptied(folder: Path, error: EmptyLedger) -> Report:
    """Say of a folder whose ledger is empty what is lost; nothing can mend it."""
    return Report(0, 0, 0, (str(error), *without_ledger(folder, lost="what the ledger held is lost")))


def _unusable(book: Ledger) -> tuple[int, list[str], list[str]]:
    """Count the blocks; list those that cannot be used (torn, or unlike what their cell declares), and lost cells."""
    names = cell_names(book)
    lines, torn = [], Counter[str]()
    for row, why in unusable(book):
        at = row.block.address
        torn[at.cell] += 1
        word = "misfit" if row.sound else "torn"
        lines.append(f"{word}: {names.get(at.cell, 'unknown cell, ')}{at}: {why}")
    return book.n_blocks(), lines, lost_cells(book, torn)


def lost_cells(book: Ledger, torn: Mapping[str, int]) -> list[str]:
    """List the cells that the ledger does not know any more though it has blocks of them, or was asked for them.

    A torn block may name any cell: `torn` counts them.
    """
    return [
        f"lost: {f'the cell {cell[:8]} of {count} blocks' if count else 'a cell without blocks'} is not in {FILE} any "
        "more; the same command writes it anew"
        for cell, count in book.without_cell().items()
        if not count or count > torn.get(cell, 0)
    ]


def _unasked(book: Ledger) -> list[str]:
    """List the cells of which it is lost what was asked."""
    names, wanted = cell_names(book), book.wanted()
    return [
        f"lost: what was asked of {names[cell].removesuffix(', ') or 'the cell'} is not in {FILE} any more; all that "
        "its sweep declares is wanted of it"
        for cell in wanted.lost
        if cell in names
    ]


def _missing(book: Ledger) -> list[str]:
    """List what is missing of the whole sweep, or of the shards that the folder is to hold."""
    names, wanted = cell_names(book), book.wanted()
    if shards_in(book):
        return [f"missing: {names[at.cell]}{at}" for at in missing(book)]
    return [
        f"missing: {names[cell]}{Address(cell, world, first, count, pool, draw)}"
        for cell in names
        for world, studies in enumerate(wanted.of_worlds(cell))
        for pool, draw in wanted.crossed
        for first, count in book.missing(cell, Place(world, pool, draw), studies, failed=False)
    ]


def _check_store(book: Ledger, measures: Measures, jobs: int) -> tuple[int, list[str]]:
    """Count the arrays of the store, and list what is wrong with them."""
    import zarr

    try:
        path = valid_store(book.folder)
        examined = examine(path)
        root = zarr.open_group(path, mode="r", use_consolidated=False)
        arrays = {name: root[name] for name in examined.arrays}
    except InputError as error:
        return 0, [str(error)]
    except Exception as error:
        return 0, [f"{STORE} cannot be read ({reason(error)}); {remedy(book.folder / STORE)}"]
    problems = [*examined.problems, *_attributes(dict(root.attrs), book)]
    lossy = tuple(f"{STORE} lacks {name}" for name in examined.lossy)
    wrong = [problem for problem in _contents(arrays, book, measures, jobs) if problem not in lossy]
    return len(arrays) + len(lossy), problems + wrong


def _contents(arrays: dict[str, Any], book: Ledger, measures: Measures, jobs: int) -> Iterator[str]:
    """Hold every array against the ledger, run by run; those that only a measure could tell are read."""
    size = grid(book)
    with closing(Tally(size, list(measures), None)) as tally:
        kept = yield from _outcomes(arrays, book, size, measures, tally, jobs)
        yield from _summaries(arrays, size, measures, tally, kept)


def _outcomes(
    arrays: dict[str, Any], book: Ledger, size: Grid, measures: Measures, tally: Tally, jobs: int
) -> Generator[str, None, list[str]]:
    """Hold outcomes against the ledger, run by run; return which of them a store keeps."""
    wanted = kept_outcomes(book, size)
    held = [name for name in arrays if name in wanted and set(size.names) <= _dims(arrays[name])]
    wrong: dict[str, list[str]] = {}
    for run, parts in heard(book, size, cut(size.shape, widest(size, wanted)), measures, wanted, jobs):
        tally.take(run, parts)
        laid = slab(size, run, parts)
        for name in {*held, *laid} - wrong.keys():
            if found := list(_differs(arrays, name, run.region, laid.get(name, _unkept(size, name, run)))):
                wrong[name] = found
    kept = [name for name in tally.present if name != "document_set" or tally.document_set is None]
    yield from itertools.chain.from_iterable(wrong[name] for name in sorted(wrong) if name in kept)
    return kept


def _summaries(
    arrays: dict[str, Any], size: Grid, measures: Measures, tally: Tally, kept: Sequence[str]
) -> Iterator[str]:
    """Hold coordinates and measures against what was heard of all cells."""
    known = {**coordinates(size, tally.document_set)}
    known |= summaries(size.names, size.shape, tally.columns(), {name: {} for name in measures})
    for name, (dims, array, _) in known.items():
        yield from _other_dimensions(arrays, name, dims)
        yield from _differs(arrays, name, (), array)
    for j, name in enumerate(f"{name}_influence" for name in measures):
        yield from _other_dimensions(arrays, name, (*size.names, "cluster"))
        yield from _influence(arrays, name, size, tally, j)
    told = {*known, *kept, *(f"{name}_influence" for name in measures)}
    for name in sorted(arrays.keys() - told):
        yield from _unreadable(arrays, name)


def _dims(array: Any) -> set[str]:
    return set(array.metadata.dimension_names or ())


def _unkept(size: Grid, name: str, run: Run) -> Array:
    """Return what stands for an outcome in cells that have none of it."""
    outcome = size.outcomes[name]
    return empty((*run.shape, *(size.sizes[dim] for dim in outcome.dims)), name, outcome)


def _other_dimensions(arrays: dict[str, Any], name: str, dims: Sequence[str]) -> Iterator[str]:
    if name in arrays and tuple(arrays[name].metadata.dimension_names or ()) != tuple(dims):
        yield f"{STORE}/{name} has other dimensions than the ledger says"


def _influence(arrays: dict[str, Any], name: str, size: Grid, tally: Tally, measure: int) -> Iterator[str]:
    """Hold the influence of each cluster on a measure against the ledger, run by run."""
    if name in arrays and arrays[name].shape != (*size.shape, tally.n_clusters):
        yield f"{STORE}/{name} is not what the ledger says"
        return
    for run, wanted in tally.influence(measure, cut(size.shape, 8 * tally.n_clusters).runs(size.shape)):
        if found := list(_differs(arrays, name, run.region, wanted)):
            yield from found
            return


def _unreadable(arrays: dict[str, Any], name: str) -> Iterator[str]:
    """Read an array of which nothing more is known, as much of it at a time as a chunk holds."""
    array = arrays[name]
    for run in cut(array.shape, array.dtype.itemsize).runs(array.shape):
        if found := list(_differs(arrays, name, run.region, None)):
            yield from found
            return


def _differs(arrays: dict[str, Any], name: str, region: tuple[slice, ...], wanted: Array | None) -> Iterator[str]:
    if name not in arrays:
        yield f"{STORE} lacks {name}"
        return
    try:
        stored = arrays[name][region or ...]
    except Exception as error:
        yield f"{STORE}/{name} is damaged: {reason(error)}"
        return
    if wanted is not None and not _same(np.asarray(stored), wanted):
        yield f"{STORE}/{name} is not what the ledger says"


def _same(stored: Array, wanted: Array) -> bool:
    if wanted.dtype.kind == "U":
        return bool(stored.tolist() == wanted.tolist())
    same_values = bool(np.array_equal(stored, wanted, equal_nan=wanted.dtype.kind == "f"))
    return same_values and bool(stored.dtype == wanted.dtype)


def _attributes(stored: dict[str, Any], book: Ledger) -> Iterator[str]:
    wanted = attributes(book)
    if LOST in book.provenance():
        # The store may still say what the ledger does not know any more.
        wanted = wanted | {name: stored[name] for name in (*LOST, "dirty", "earlier_versions") if name in stored}
    # What can be told apart is read from outcomes.
    wanted = wanted | {name: stored[name] for name in (UNDIVIDED,) if name in stored}
    wanted = wanted | {SEAL: seal_of_attributes(wanted)}
    for name in sorted(stored.keys() | wanted.keys()):
        if stored.get(name) != wanted.get(name):
            yield f"{STORE}: the attribute {name} is not what the ledger says"
