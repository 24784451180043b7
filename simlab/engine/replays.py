"""Carry out finished campaigns once more, alone: to check them, and to return the answers that were collected.

`collect_campaign` returns the answers of one campaign; `withdraw_what_does_not_come_again` checks a sample of blocks.
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
from simlab.engine.workers import BlockFunction, BlockLike, BlockLimits, BlockTask, work
from simlab.studies import blocks, worlds
from simlab.studies.blocks import find_layout
from simlab.studies.kind import Kind
from simlab.studies.kinds import identify_kind
from simlab.studies.outcomes import refuse_impossible
from simlab.studies.read_only import notice_writing, seal
from simlab.studies.worlds import draw_world
from simlab.types import Array, Campaign, Collected, DesignFailure, InputError, Place

ONE_IN = 500
"""One campaign in this number is carried out again: alone a short study costs as much as six in a block."""

CAUSE = "a part draws from a generator of its own, or keeps state"


def collect_campaign(config: Mapping[str, Any], place: Place) -> Collected:
    """Collect one campaign, with nothing kept from what was carried out before.

    Raises InputError where its design cannot be carried out, or where it meets a value that cannot be.
    """
    worlds.forget()
    blocks.forget()
    kind = identify_kind(config)
    try:
        with notice_writing():
            campaign = _campaign(kind, config, place)
            refuse_impossible(campaign.collected)
    except DesignFailure as failure:
        raise InputError(
            f"world {place.world}, study {place.study}: this campaign failed ({failure}), so that there is nothing to "
            "export; name another"
        ) from failure
    return seal(campaign.collected)


def _campaign(kind: Kind, config: Mapping[str, Any], place: Place) -> Campaign:
    prepared, world = kind.prepare(config), draw_world(config, *place[:3])
    laid = find_layout(kind, config, prepared, world, place)
    noise = seal(kind.draw(prepared, world, laid, place))
    (campaign,) = kind.collect(prepared, world, laid, iter([noise]), [place])
    if isinstance(campaign, DesignFailure):
        raise campaign
    return campaign


def differs(config: Mapping[str, Any], collected: Collected, finished: Finished, study: int) -> list[str]:
    """Name the outcomes of study number `study` of a finished block that the collected answers do not give again."""
    kind = identify_kind(config)
    concluded = kind.conclude(kind.prepare(config), [collected])
    block = unpack(finished.payload)
    kept = {name: array for name, array in block.items() if name in concluded}
    return name_differing(kept, study - finished.address.first, concluded, 0)


def withdraw_what_does_not_come_again(
    tasks: Sequence[BlockTask], book: Ledger, block: BlockFunction, backend: Backend, limits: BlockLimits
) -> None:
    """Carry out a sample of the studies of finished blocks again; mark a block whose study differs as failed."""
    kept = {task.address: task for task in sample(tasks, book)}
    owners = {name_study(at, address_hash(at) % at.count): at for at in kept}

    def compare(several: Sequence[Finished]) -> None:
        for alone in several:
            at = owners[alone.address]
            stored = book.block(at)
            why = None if stored is None else difference(stored, alone)
            if why is not None:
                book.withdraw(at, why)

    again = [BlockTask(study, kept[at].config) for study, at in owners.items()]
    if again:
        dispatch(partial(run_afresh, block), again, backend, limits, compare)


def replay_block(block: BlockFunction, config: Mapping[str, Any], address: Address) -> Finished:
    """Carry out a block, or a single study, as a worker does, with nothing kept from what was carried out before."""
    return work(partial(run_afresh, block), config, address)


def run_afresh(block: BlockFunction, config: Mapping[str, Any], places: Sequence[Place]) -> BlockLike:
    """Forget the worlds and layouts of earlier blocks, then carry out a block."""
    from simlab.studies import blocks, worlds

    worlds.forget()
    blocks.forget()
    return block(config, places)


def sample(tasks: Sequence[BlockTask], book: Ledger) -> list[BlockTask]:
    """Choose blocks by the hash of their addresses, from all cells in turn; those that failed are left out."""
    failed = {block.address for block in book.list_failed()}
    campaigns = sum(task.address.count for task in tasks)
    wanted = -(-campaigns // ONE_IN)
    by_cell: dict[str, list[BlockTask]] = {}
    for task in tasks:
        if task.address not in failed:
            by_cell.setdefault(task.address.cell, []).append(task)
    return list(islice(_take_turns(by_cell, wanted), wanted))


def _take_turns(by_cell: Mapping[str, Sequence[BlockTask]], most: int) -> Iterator[BlockTask]:
    ranked = [heapq.nsmallest(most, cell, key=lambda task: address_hash(task.address)) for cell in by_cell.values()]
    # Which cells come first is left to the hash, too, where there are more cells than campaigns to choose.
    ranked.sort(key=lambda cell: address_hash(cell[0].address))
    return (task for turn in zip_longest(*ranked) for task in turn if task is not None)


def address_hash(at: Address) -> int:
    """Turn an address into a number, the same in every run."""
    return int.from_bytes(blake2b(f"{at.cell} {at}".encode(), digest_size=8).digest(), "big")


def name_study(at: Address, k: int) -> Address:
    """Name the k-th study of a block."""
    return replace(at, first=at.first + k, count=1)


def difference(finished: Finished, alone: Finished) -> str | None:
    """Describe how a study carried out alone differs from its block; None where no bit does."""
    study = alone.address.first
    if alone.failed:
        return f"study {study} failed when it was carried out again: {alone.reason}"
    names = name_differing(unpack(finished.payload), study - finished.address.first, unpack(alone.payload), 0)
    if not names and [why for which, why in finished.failures if which == study] == [why for _, why in alone.failures]:
        return None
    what = f"another {names[0]}" if names else "another reason for its failure"
    return f"study {study} gave {what} when it was carried out again: {CAUSE}"


def name_differing(block: Mapping[str, Array], k: int, again: Mapping[str, Array], j: int) -> list[str]:
    """Name the outcomes in which the k-th study of a block is not the j-th of another, or that one of them lacks."""
    return [name for name in {**block, **again} if not are_same(_row(block, name, k), _row(again, name, j))]


def _row(arrays: Mapping[str, Array], name: str, k: int) -> Array | None:
    if name not in arrays:
        return None
    # Truths are those of the world, one row for all studies of a block.
    row: Array = arrays[name][0 if name.startswith("true_") else k]
    return row


def are_same(first: Array | None, second: Array | None) -> bool:
    """True if two arrays hold the same bits; all numbers that are no number are one."""
    if first is None or second is None:
        return first is second
    # Which of the numbers that are no number a processor gives depends on how many it works on at a time.
    same_values = np.array_equal(first, second, equal_nan=first.dtype.kind == "f")
    return same_values and bool(first.dtype == second.dtype)
