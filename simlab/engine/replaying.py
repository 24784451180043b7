"""Carry out a sample of finished studies once more, alone: what does not come again is no result.

Every random number of a study follows from its address, so that the same study gives the same bits in any company. A
part that draws from a generator of its own, or keeps something from one call to the next, breaks that without a word.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from itertools import islice, zip_longest
from typing import Any

import numpy as np

from simlab.engine.addresses import Address, Finished, unpack
from simlab.engine.backends import Backend
from simlab.engine.dispatch import dispatch
from simlab.engine.ledger import Ledger
from simlab.engine.limits import Limits
from simlab.engine.workers import BlockFunction, BlockLike, Task, work
from simlab.types import Array, Place

ONE_IN = 500
"""Of so many campaigns one is carried out again: alone a short study costs as much as six in a block."""

CAUSE = "a part draws from a generator of its own, or keeps state"


def withdraw_what_does_not_come_again(
    tasks: Sequence[Task], book: Ledger, block: BlockFunction, backend: Backend, limits: Limits
) -> None:
    """Carry out a sample of the studies of finished blocks again; a block whose study differs has failed."""
    kept = {task.address: task for task in sample(tasks, book)}
    owners = {study_of(at, address_hash(at) % at.count): at for at in kept}

    def compare(several: Sequence[Finished]) -> None:
        for alone in several:
            at = owners[alone.address]
            held = book.block(at)
            why = None if held is None else difference(held, alone)
            if why is not None:
                book.withdraw(at, why)

    again = [Task(study, kept[at].config) for study, at in owners.items()]
    if again:
        dispatch(partial(afresh, block), again, backend, limits, compare)


def replayed(block: BlockFunction, config: Mapping[str, Any], address: Address) -> Finished:
    """Carry out a block, or a single study, as a worker does, with nothing kept from what was carried out before."""
    return work(partial(afresh, block), config, address)


def afresh(block: BlockFunction, config: Mapping[str, Any], places: Sequence[Place]) -> BlockLike:
    """Forget the worlds and layouts of earlier blocks, then carry out a block."""
    from simlab.studies import blocks, worlds

    worlds.forget()
    blocks.forget()
    return block(config, places)


def sample(tasks: Sequence[Task], book: Ledger) -> list[Task]:
    """Choose blocks by the hash of their addresses, from all cells in turn; those that failed are left out."""
    failed = {block.address for block in book.failed()}
    campaigns = sum(task.address.count for task in tasks)
    wanted = -(-campaigns // ONE_IN)
    by_cell: dict[str, list[Task]] = {}
    for task in tasks:
        if task.address not in failed:
            by_cell.setdefault(task.address.cell, []).append(task)
    return list(islice(_in_turn(by_cell, wanted), wanted))


def _in_turn(by_cell: Mapping[str, Sequence[Task]], most: int) -> Iterator[Task]:
    ranked = [heapq.nsmallest(most, cell, key=lambda task: address_hash(task.address)) for cell in by_cell.values()]
    # Which cells come first is left to the hash, too, where there are more cells than campaigns to choose.
    ranked.sort(key=lambda cell: address_hash(cell[0].address))
    return (task for turn in zip_longest(*ranked) for task in turn if task is not None)


def address_hash(at: Address) -> int:
    """Turn an address into a number, the same in every run."""
    return int.from_bytes(blake2b(f"{at.cell} {at}".encode(), digest_size=8).digest(), "big")


def study_of(at: Address, k: int) -> Address:
    """Name the k-th study of a block."""
    return replace(at, first=at.first + k, count=1)


def difference(held: Finished, alone: Finished) -> str | None:
    """Say in what a study carried out alone differs from what its block holds; None where not a bit does."""
    study = alone.address.first
    if alone.failed:
        return f"study {study} failed when it was carried out again: {alone.reason}"
    names = differing(unpack(held.payload), study - held.address.first, unpack(alone.payload), 0)
    if not names and [why for which, why in held.failures if which == study] == [why for _, why in alone.failures]:
        return None
    what = f"another {names[0]}" if names else "another reason for its failure"
    return f"study {study} gave {what} when it was carried out again: {CAUSE}"


def differing(block: Mapping[str, Array], k: int, again: Mapping[str, Array], j: int) -> list[str]:
    """Name the outcomes in which the k-th study of a block is not the j-th of another, or that one of them lacks."""
    return [name for name in {**block, **again} if not same(_row(block, name, k), _row(again, name, j))]


def _row(arrays: Mapping[str, Array], name: str, k: int) -> Array | None:
    if name not in arrays:
        return None
    row: Array = arrays[name][0 if name.startswith("true_") else k]
    return row


def same(first: Array | None, second: Array | None) -> bool:
    """Tell whether two arrays hold the same bits; all numbers that are no number are one."""
    if first is None or second is None:
        return first is second
    # Which of the numbers that are no number a processor gives depends on how many it works on at a time.
    same_values = np.array_equal(first, second, equal_nan=first.dtype.kind == "f")
    return same_values and bool(first.dtype == second.dtype)
