"""Say what the rows of a ledger hold: cells and blocks, as they are written and as they are read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from simlab.engine.addresses import Address, Finished
from simlab.messages import legible

Written = dict[tuple[str, int | str], str]
"""What was written of the keys of configs, by where their sections are in memory, or what they hold."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Place a cell on the sweep's grid: its key, its config and the names of its systems."""

    position: tuple[int, ...]
    cell: str
    config: Mapping[str, Any]
    systems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """Hold a block as it was read, whether its checksum still holds, and at which row of the ledger it stands."""

    block: Finished
    sound: bool
    at: int = 0


@dataclass(frozen=True, slots=True)
class Record:
    """Name a row beside the blocks whose checksum does not hold: its table, where it stands, and what it was."""

    table: str
    at: int
    key: str

    def __str__(self) -> str:
        """Say what is damaged."""
        return legible(f"the {'record' if self.table == 'meta' else 'cell at'} {self.key}", 80)


@lru_cache(maxsize=64)
def names(text: str) -> tuple[str, ...]:
    """Read the names of the systems of a cell, which are those of most others."""
    return tuple(json.loads(text))


def cell_row(entry: Entry, written: Written | None = None) -> tuple[str, str, str, str]:
    """Write a cell as a row of its table; sections that stay in memory are written once where `written` is shared."""
    written = {} if written is None else written
    config = ", ".join([_text(key, value, written) for key, value in entry.config.items()])
    return json.dumps(entry.position), entry.cell, f"{{{config}}}", _listed(entry.systems)


def _text(key: str, value: Any, written: Written) -> str:
    where = key, id(value) if isinstance(value, dict) else repr(value)
    if where not in written:
        written[where] = json.dumps({key: value})[1:-1]
    return written[where]


@lru_cache(maxsize=64)
def _listed(systems: tuple[str, ...]) -> str:
    return json.dumps(systems)


def block_row(block: Finished) -> tuple[Any, ...]:
    """Write a finished block as a row of its table."""
    status = "failed" if block.failed else "ok"
    at = block.address
    held = (status, block.reason, json.dumps(block.failures), block.checksum, block.payload)
    return at.cell, at.world, at.first, at.count, *held, at.pool, at.draw


def read_block(row: Sequence[Any]) -> Row:
    """Read the row of a block, whatever it has become."""
    at, cell, world, first, count, status, reason, failures, checksum, payload, pool, draw = row
    numbers = [number if type(number) is int else -1 for number in (world, first, count, pool, draw)]
    address = Address(str(cell), *numbers)
    try:
        listed = () if failures == "[]" else tuple((study, why) for study, why in json.loads(failures))
        block = Finished(address, bytes(payload), str(reason), listed)
        sound = block.checksum == checksum and status == ("failed" if block.failed else "ok")
        return Row(block, sound, at)
    except (ValueError, TypeError, RecursionError):
        return Row(Finished(address), sound=False, at=at)
