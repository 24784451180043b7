"""The rows of a ledger, as they are written and read: cells, blocks, and the sizes asked of each cell."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, product
from typing import Any, NamedTuple, TypeAlias

from simlab.engine.addresses import Address, Finished
from simlab.engine.continuation import CROSSED
from simlab.messages import clip

Written = dict[tuple[str, int | str], str]
"""Cache of sections of configs as JSON, by key and identity in memory (of plain values: by their text)."""


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """A cell on the sweep's grid: its place, its key, its config and the names of its systems."""

    position: tuple[int, ...]
    cell: str
    config: Mapping[str, Any]
    systems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """A block as it was read; `sound`: its checksum holds; `at` is its row number in the ledger."""

    block: Finished
    sound: bool
    at: int = 0


@dataclass(frozen=True, slots=True)
class UnsoundRow:
    """A row of cells or records whose checksum does not hold: its table, its row number, and its key."""

    table: str
    at: int
    key: str

    def __str__(self) -> str:
        """Name the damaged record or cell."""
        return clip(f"the {'record' if self.table == 'meta' else 'cell at'} {self.key}", 80)


@lru_cache(maxsize=64)
def names(text: str) -> tuple[str, ...]:
    """Parse the names of a cell's systems from JSON; cached, since most cells have the same."""
    return tuple(json.loads(text))


def cell_row(entry: LedgerEntry, written: Written | None = None) -> tuple[str, str, str, str]:
    """Return a cell as a row of its table; `written` is a cache of sections as JSON, for calls that share it."""
    written = {} if written is None else written
    config = ", ".join([_text(key, value, written) for key, value in entry.config.items()])
    return json.dumps(entry.position), entry.cell, f"{{{config}}}", _serialise_systems(entry.systems)


def _text(key: str, value: Any, written: Written) -> str:
    where = key, id(value) if isinstance(value, dict) else repr(value)
    if where not in written:
        written[where] = json.dumps({key: value})[1:-1]
    return written[where]


@lru_cache(maxsize=64)
def _serialise_systems(systems: tuple[str, ...]) -> str:
    return json.dumps(systems)


def block_row(block: Finished) -> tuple[Any, ...]:
    """Return a finished block as a row of its table."""
    status = "failed" if block.failed else "ok"
    at = block.address
    columns = (status, block.reason, json.dumps(block.failures), block.checksum, block.payload)
    return at.cell, at.world, at.first, at.count, *columns, at.pool, at.draw


def read_block(row: Sequence[Any]) -> LedgerRow:
    """Return the block of a row, also of a damaged one."""
    at, cell, world, first, count, status, reason, failures, checksum, payload, pool, draw = row
    # SQLite keeps any type in any column: a damaged row may hold texts. -1 is no address, so its seal does not hold.
    numbers = [number if type(number) is int else -1 for number in (world, first, count, pool, draw)]
    address = Address(str(cell), *numbers)
    try:
        listed = () if failures == "[]" else tuple((study, why) for study, why in json.loads(failures))
        block = Finished(address, bytes(payload), str(reason), listed)
        sound = block.checksum == checksum and status == ("failed" if block.failed else "ok")
        return LedgerRow(block, sound, at)
    except (ValueError, TypeError, RecursionError):
        return LedgerRow(Finished(address), sound=False, at=at)


Requests: TypeAlias = Mapping[tuple[int, int], AbstractSet[str]]
"""Keys of cells by the `(worlds, studies)` that were requested of them."""


class RequestedSizes(NamedTuple):
    """The `(worlds, studies)` ever requested of each cell, by key; `lost` are cells without a record of requests.

    Of lost cells all is wanted that the sweep declares, since the store has places for it. Each world is wanted with
    all `crossed` pairs of a pool of raters and a draw of documents.
    """

    sizes: Mapping[str, tuple[tuple[int, int], ...]]
    lost: tuple[str, ...]
    crossed: tuple[tuple[int, int], ...] = ((0, 0),)

    def studies_by_world(self, cell: str) -> list[int]:
        """Return how many studies of each world of a cell are wanted, with each pool and draw of documents."""
        return [studies for worlds, studies in self._steps(cell) for _ in range(worlds)]

    def campaigns(self) -> dict[str, int]:
        """Count the campaigns that are wanted of each cell."""
        pairs = len(self.crossed)
        return {cell: pairs * sum(worlds * studies for worlds, studies in self._steps(cell)) for cell in self.sizes}

    def _steps(self, cell: str) -> Sequence[tuple[int, int]]:
        """List runs of worlds of which as many studies are wanted."""
        return _steps(self.sizes.get(cell, ()))


@lru_cache(maxsize=1024)
def _steps(sizes: tuple[tuple[int, int], ...]) -> Sequence[tuple[int, int]]:
    """List runs of worlds of which as many studies are wanted; cells of a sweep mostly have the same sizes."""
    ends = sorted({0, *(worlds for worlds, _ in sizes if worlds > 0)})
    return [(end - begin, max(studies for worlds, studies in sizes if worlds >= end)) for begin, end in pairwise(ends)]


def size_of(declared: Any) -> tuple[int, int] | None:
    """Return the worlds and studies that a sweep declares; None where it declares none."""
    if not isinstance(declared, Mapping):
        return None
    worlds, studies = declared.get("worlds"), declared.get("studies")
    return (worlds, studies) if isinstance(worlds, int) and isinstance(studies, int) else None


def list_crossings(declared: Any) -> tuple[tuple[int, int], ...]:
    """List the pairs of a pool and a draw of documents that a sweep declares for each world."""
    sizes = declared if isinstance(declared, Mapping) else {}
    numbers = [sizes.get(key, 1) for key in CROSSED]
    pools, draws = (number if type(number) is int and number > 0 else 1 for number in numbers)
    return tuple(product(range(pools), range(draws)))
