"""Check the arrays of blocks against the outcomes that their cells declare; a misfit is not committed.

A block of another shape or type, or with other campaigns than its address names, would bar the store for good.
`Fitting` carries out blocks and checks them at once; `misfit` returns why one does not fit; `find_unusable` goes
through a ledger and yields its unusable blocks with reasons.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from simlab.engine.addresses import Address, Finished, unpack
from simlab.engine.conclusions import gather_conclusions
from simlab.engine.ledger import Ledger, LedgerRow
from simlab.engine.workers import BlockFunction, BlockLike, BlocksFunction, Ended
from simlab.studies.kinds import find_built_in, identify_kind
from simlab.studies.outcomes import COMMON, IDENTITY
from simlab.types import DESIGN_FAILED, IMPOSSIBLE, OK, Array, Outcome, Place

NEEDED = ("world", "study", "document_set", "status")
"""Arrays that every block has: which campaigns it holds, and how each ended."""
_TORN = "its checksum does not hold"
ENDS = (OK, DESIGN_FAILED, IMPOSSIBLE)
_CAMPAIGN = Outcome(("replicate",), "int32", -1, "where a campaign lives")


class BlockSchema(NamedTuple):
    """Schema of a cell's blocks: outcomes and sizes of dimensions, by name; unless `exact` sizes are upper limits."""

    outcomes: Mapping[str, Outcome]
    sizes: Mapping[str, int]
    exact: bool


@dataclass(frozen=True, slots=True)
class Fitting:
    """Carry out blocks of cells of `n_systems` (None: of several sizes); raise ValueError for one that misfits.

    `block` carries out the studies of one cell, `blocks` those of several cells (None: one after the other).
    """

    block: BlockFunction
    n_systems: int | None
    blocks: BlocksFunction | None = None

    def __call__(self, config: Mapping[str, Any], places: Sequence[Place]) -> BlockLike:
        """Carry out a block, and check it against the outcomes that its kind of study declares."""
        return self._check_fit(self.block(config, places), config, places)

    def run_together(self, configs: Sequence[Mapping[str, Any]], places: Sequence[Place]) -> list[Ended]:
        """Carry out blocks of several cells at the same places, and check each as `__call__` does."""
        if self.blocks is None:
            return [_try_block(self, config, places) for config in configs]
        ended = self.blocks(configs, places)
        return [
            result
            if isinstance(result, Exception | SystemExit)
            else _try_block(partial(self._check_fit, result), config, places)
            for result, config in zip(ended, configs, strict=True)
        ]

    def _check_fit(self, done: BlockLike, config: Mapping[str, Any], places: Sequence[Place]) -> BlockLike:
        kind = identify_kind(config)
        sizes = {**kind.sizes(config), **_read_system_sizes(self.n_systems, done.arrays)}
        outcomes = {**COMMON, **kind.outcomes}
        at = Address("", places[0].world, places[0].study, len(places), places[0].pool, places[0].draw)
        if why := misfit(done.arrays, at, BlockSchema(outcomes, sizes, exact=True)):
            raise ValueError(f"the block {why}")
        return done


def _try_block(block: BlockFunction, config: Mapping[str, Any], places: Sequence[Place]) -> Ended:
    try:
        return block(config, places)
    except (Exception, SystemExit) as error:
        return error


def misfit(arrays: Mapping[str, Array], at: Address, declared: BlockSchema) -> str | None:
    """Describe how arrays misfit the block's address and schema; None where they fit."""
    if lacking := [name for name in NEEDED if name not in arrays]:
        return f"has no {lacking[0]}"
    for name, array in arrays.items():
        outcome = declared.outcomes.get(name)
        if name in IDENTITY:
            outcome = _CAMPAIGN
        if outcome is None:
            return f"has the outcome {name}, which nobody declares"
        if why := _wrong_type(name, array, outcome) or _wrong_shape(name, array, outcome, at, declared):
            return why
    if np.any(arrays["world"] != at.world) or np.any(arrays["study"] != np.arange(at.first, at.first + at.count)):
        return "holds other campaigns than its address says"
    return None if np.isin(arrays["status"], ENDS).all() else "has a status that no campaign ends with"


def check_system_count(finished: Finished, n_systems: Mapping[str, int]) -> Finished:
    """Return a block, marked as failed if it has another number of systems than its cell (`n_systems[cell]`)."""
    wanted = n_systems.get(finished.address.cell)
    if finished.failed or wanted is None:
        return finished
    estimate = unpack(finished.payload).get("estimate")
    if estimate is None or estimate.shape[-1] == wanted:
        return finished
    return Finished(finished.address, reason=f"the block has {estimate.shape[-1]} systems, its cell {wanted}")


def find_unusable(
    book: Ledger, *, seen: bool = False, declared: Mapping[str, BlockSchema] | None = None
) -> Iterator[tuple[LedgerRow, str]]:
    """Go through all blocks of a ledger; yield those that cannot be used, each with the reason.

    If `seen` (an earlier run has checked them all) only checksums are tested. `declared` are the schemas of the blocks
    by cell (None: read from the ledger).
    """
    if seen:
        yield from ((row, _TORN) for row in book.blocks() if not row.sound)
        return
    declared = read_schemas(book) if declared is None else declared
    before, reached = None, 0
    for row in book.blocks():
        at = row.block.address
        here = (at.cell, at.world, at.pool, at.draw)
        before, reached = here, reached if here == before else 0
        if why := _reason_to_give_up(row, declared.get(at.cell), reached):
            yield row, why
        else:
            reached = at.first + at.count


def read_schemas(book: Ledger) -> dict[str, BlockSchema]:
    """Return the schema of the blocks of each cell of a ledger; none where its declaration is lost."""
    stored = None if book.is_damaged("sweep") else book.declaration()
    if stored is None:
        return {}
    entries = book.entries()
    about, declared = gather_conclusions(stored, [entry.config for entry in entries]), {}
    for entry in entries:
        kind = find_built_in(entry.config)
        # Of a plug-in's kind only the largest sizes are known here.
        sizes = {**(kind.sizes(entry.config) if kind else about.sizes), **_system_sizes(len(entry.systems))}
        declared[entry.cell] = BlockSchema(about.outcomes, sizes, exact=kind is not None and "foreign" not in stored)
    return declared


def _reason_to_give_up(row: LedgerRow, declared: BlockSchema | None, reached: int) -> str | None:
    if not row.sound:
        return _TORN
    if row.block.address.first < reached:
        return "holds campaigns that another block holds"
    if row.block.failed or declared is None:
        return None
    try:
        return misfit(unpack(row.block.payload), row.block.address, declared)
    except Exception as error:
        # Bytes that somebody sealed and that are no arrays.
        return f"cannot be read ({type(error).__name__})"


def _system_sizes(n_systems: int) -> dict[str, int]:
    return {"system": n_systems, "pair": n_systems * (n_systems - 1) // 2}


def _read_system_sizes(n_systems: int | None, arrays: Mapping[str, Array]) -> dict[str, int]:
    """Return the sizes along systems and pairs; where cells differ, by the block itself, which is checked again."""
    if n_systems is not None:
        return _system_sizes(n_systems)
    estimate = arrays.get("estimate")
    return _system_sizes(estimate.shape[-1]) if estimate is not None and estimate.ndim else {}


def _wrong_type(name: str, array: Array, outcome: Outcome) -> str | None:
    if not isinstance(array, np.ndarray):
        return f"has {name} as no array"
    wanted = _dtype(outcome.dtype)
    if array.dtype == wanted:
        return None
    same = array.dtype.kind in "biuf" and np.array_equal(
        array.astype(wanted), array, equal_nan=array.dtype.kind == wanted.kind == "f"
    )
    return None if same else f"has {name} as {array.dtype}, not {wanted}"


def _wrong_shape(name: str, array: Array, outcome: Outcome, at: Address, declared: BlockSchema) -> str | None:
    rows = 1 if outcome.dims[0] == "of_world" else at.count
    if array.ndim and len(array) != rows:
        return f"returned {len(array)} rows of {name}, not {rows}"
    if array.ndim != len(outcome.dims):
        return f"has {name} of shape {array.shape}, not one row per {', '.join(outcome.dims)}"
    for dim, size in zip(outcome.dims[1:], array.shape[1:], strict=True):
        most = declared.sizes.get(dim, size)
        if size > most or (size != most and (declared.exact or dim in ("system", "pair"))):
            return f"has {name} with {size} entries along {dim}, not {most}"
    return None


_dtype = cache(np.dtype)
