"""Read the results of an interrupted run from its ledger, with a line that says how much is missing.

`compare_with_ledger` finds whether a store is behind its ledger, `view` returns a store in
memory that is made from the ledger, so that nothing in a user's folder changes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from simlab.engine import ledger
from simlab.engine.block_checks import find_unusable
from simlab.engine.continuation import CROSSED
from simlab.engine.ledger import FILE, STORE, Ledger
from simlab.engine.ledger_file import damaged_ledger, lost_ledger
from simlab.engine.preparing import cell_names
from simlab.measures.labels import LABELS
from simlab.messages import clip
from simlab.parts import is_own
from simlab.store.layout import Grid, grid
from simlab.store.measures import Measures, bound_measures_of
from simlab.store.writing import lay_arrays, lay_group
from simlab.types import BLOCK_FAILED, UNRUN, InputError

if TYPE_CHECKING:
    import xarray as xr
    from zarr.storage import MemoryStore

PATIENCE = 0.1
MOST_BYTES = 512 * 2**20
"""Most bytes of a view: a larger one holds measures only, and is refused where these are still larger."""


def own_measures(book: Ledger) -> tuple[Measures, list[str]]:
    """Return the measures that a sweep declares, and the names of those of plug-ins, which are not imported."""
    sections = (book.declaration() or {}).get("measure", {})
    own = {name: section for name, section in sections.items() if is_own(section)}
    return bound_measures_of({"measure": own}), sorted(sections.keys() - own.keys())


def compare_with_ledger(folder: Path, dataset: xr.Dataset) -> tuple[bool, str | None]:
    """Return whether an open store lacks campaigns of its ledger, and a line if the ledger lacks requested ones.

    Blocks are counted, not read. Raises InputError where another run is at it, or the ledger cannot be read.
    """
    with ledger.reading(folder, PATIENCE) as book:
        there, wanted = book.shortfall()
        line = f"incomplete: {FILE} keeps {there:,} of {wanted:,} campaigns; the same command computes the rest"
        return not book.is_laid() and _lacks(dataset, book.campaigns()), line if there < wanted else None


def _lacks(dataset: xr.Dataset, counts: Mapping[tuple[str, str], int]) -> bool:
    status = dataset["status"].values
    ran, failed = int(np.sum(status != UNRUN)), int(np.sum(status == BLOCK_FAILED))
    n_done = sum(count for (_, state), count in counts.items() if state == "ok")
    return n_done > ran - failed or sum(counts.values()) > ran


def view(folder: Path) -> tuple[MemoryStore, str]:
    """Write the campaigns of a folder's ledger as a store in memory; return it, and a line on those that are missing.

    Raises InputError where another run is at it, or the ledger cannot be read.
    """
    from zarr.storage import MemoryStore

    with ledger.reading(folder, PATIENCE, whole=True) as book:
        refuse_strange_declaration(book)
        if not book.entries():
            raise damaged_ledger(folder / FILE, "its cells are lost")
        left_out = [row for row, _ in find_unusable(book)]
        book.leave_out(left_out)
        size = grid(book)
        measures, others = own_measures(book)
        store = MemoryStore()
        outcomes = _bytes(size, folder) <= MOST_BYTES
        lay_group(store, lambda root: lay_arrays(root, book, size, measures, LABELS, outcomes=outcomes))
        more = [f"{len(left_out)} damaged blocks are left out"] if left_out else []
        more += (
            [f"{len(book.list_damaged())} damaged records of the ledger are left out"] if book.list_damaged() else []
        )
        more += [f"blocks of {len(lost)} cells that are lost are left out"] if (lost := book.count_orphans()) else []
        more += [f"what was asked of {len(cells)} cells is lost"] if (cells := book.read_requested_sizes().lost) else []
        more += [f"measures of plug-ins are left out ({', '.join(others)})"] if others else []
        return store, "; ".join([_describe_gaps(book), *more, "the same command continues it"])


def refuse_strange_declaration(book: Ledger) -> None:
    """Raise InputError where the declaration of a ledger is no valid sweep, although its checksum holds."""
    declared = book.declaration()
    if declared is None:
        raise InputError(f"{book.folder} holds no sweep yet; run one")
    try:
        # Names that are no texts raise TypeError here, or leave the shape too short for the places below.
        shape = [len(axis["values"]) for axis in declared["axes"] if isinstance(axis["name"] + axis["key"], str)]
        typed = [type(declared[key]) for key in ("worlds", "studies", "measures", "measure", "base")]
        places = [entry.position for entry in book.entries()]
        fits = all(
            len(place) == len(shape) and all(0 <= k < n for k, n in zip(place, shape, strict=True)) for place in places
        )
        crossed = [declared.get(key, 1) for key in CROSSED]
        if typed != [int, int, list, dict, dict] or not fits or min(declared["worlds"], declared["studies"]) < 0:
            raise TypeError("of another type")
        if any(type(number) is not int or number < 1 for number in crossed):
            raise TypeError("no number of pools or draws")
    except (KeyError, TypeError, ValueError) as error:
        raise lost_ledger(book.folder / FILE, "what it declares is no sweep") from error


def _bytes(size: Grid, folder: Path) -> int:
    """Estimate how large a view is; raise InputError where even its measures are larger than a store can be."""
    cells = math.prod(size.shape)
    if cells * size.sizes["replicate"] > MOST_BYTES:
        raise InputError(
            f"{folder}: {cells:,} cells of {size.sizes['replicate']:,} campaigns are more than can be shown without a "
            "store; the same command lays it"
        )
    width = sum(
        np.dtype(outcome.dtype).itemsize * math.prod(size.sizes[dim] for dim in outcome.dims)
        for outcome in size.outcomes.values()
        if all(dim in size.sizes for dim in outcome.dims)
    )
    return cells * width


def _describe_gaps(book: Ledger) -> str:
    """Count the campaigns that are there, and name the cells that have none."""
    names = {cell: name.removesuffix(", ") for cell, name in cell_names(book).items()}
    wanted = sum(book.read_requested_sizes().campaigns().values())
    there = {cell: sum(row.block.address.count for row in book.blocks(cell)) for cell in names}
    none = [names[cell] for cell, count in there.items() if not count]
    if sum(there.values()) == wanted:
        return f"interrupted: all {wanted:,} campaigns are there, but not yet in {STORE}"
    return f"interrupted: {sum(there.values()):,} of {wanted:,} campaigns are there{_name_empty_cells(none)}"


def _name_empty_cells(cells: Sequence[str], most: int = 3) -> str:
    if not cells or cells == [""]:
        return ""
    shown = " and ".join(clip(cell, 80) for cell in cells[:most])
    more = f" and {len(cells) - most} more" if len(cells) > most else ""
    return f" (none of {shown}{more})"
