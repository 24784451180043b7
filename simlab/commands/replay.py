"""Carry out `simlab verify --replay`: one campaign of a store, or a block that failed, again and alone.

A campaign is one simulated study; a block is several studies of one world of a cell, which a worker carries out at
once. `carry_out` takes the folder and an address such as 4.3.0 (cell, world, study), and returns the outcomes, compared
with those that the folder keeps. `book` is the folder's ledger, `entry` its record of a cell.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simlab.answers.verify import ReplayedCampaign
from simlab.commands.exit_codes import DONE, RESERVED
from simlab.commands.next_steps import add_next_step
from simlab.messages import show
from simlab.types import Array, InputError, Place

if TYPE_CHECKING:
    from simlab.engine.addresses import Address, Finished
    from simlab.engine.block_checks import Fitting
    from simlab.engine.ledger import Ledger, LedgerEntry
    from simlab.engine.workers import BlockLimits

ADDRESS_FORM = "CELL.WORLD.STUDY or CELL.WORLD.POOL.DRAW.STUDY"
KEY_LENGTH = 8
"""Characters from which CELL is the beginning of a cell's key; a shorter CELL is a number on the grid."""
LARGEST = 10**9
"""Largest index in an address."""


def carry_out(folder: Path, words: str, *, plugins: Sequence[str], debug: bool) -> tuple[ReplayedCampaign, str, int]:
    """Carry out a campaign again; return its outcomes as a record and as a page, and the exit code.

    A campaign whose block failed is carried out with its whole block. With `debug` the interpreter stops where the
    campaign fails. Raises InputError for an address that the folder does not have, and for a folder whose cell cannot
    be trusted: one that names a package which the user did not, or whose config is not the one that its key seals.
    """
    from simlab.drawing.text import replays
    from simlab.engine import ledger
    from simlab.engine.addresses import Address
    from simlab.engine.block_checks import Fitting
    from simlab.engine.preparing import cell_names
    from simlab.engine.run import study_block
    from simlab.supervision import enter_phase

    cell, place = parse_address(words)
    with ledger.reading(folder) as book:
        entry = _find_cell(book, cell)
        name, kept = cell_names(book)[entry.cell], find_block(book, entry, place)
    config = trusted_config(entry, plugins, f"{folder}, {words}")
    alone = Address(entry.cell, place.world, place.study, 1, place.pool, place.draw)
    address = kept.address if kept is not None and kept.failed else alone
    began = time.monotonic()
    fitting, limits = Fitting(study_block(), len(entry.systems)), block_limits(entry)
    enter_phase(f"carrying out {words} (engine.block_seconds={limits.seconds})", plugins)
    run = _debug_block if debug else _run_block
    record = _record(name, kept, run(fitting, config, address, limits), address, time.monotonic() - began)
    following = ["verify", str(folder), *(["--replay", words, "--debug"] if record.failed else [])]
    as_kept = record.kept is None if record.same is None else record.same
    return record, add_next_step(replays.page(record), *following), DONE if as_kept and not record.failed else RESERVED


def parse_address(words: str) -> tuple[str, Place]:
    """Split the address of a campaign into the word for its cell and its place.

    >>> parse_address("4.3.0"), parse_address("4.3.1.2.0")[1]
    (('4', Place(world=3, pool=0, draw=0, study=0)), Place(world=3, pool=1, draw=2, study=0))
    """
    cell, *numbers = words.split(".")
    places = [int(text) for text in numbers if text.isascii() and text.isdigit() and int(text[:10]) <= LARGEST]
    if len(places) != len(numbers) or len(places) not in (2, 4) or not (cell.isascii() and cell.isalnum()):
        raise InputError(
            f"{show(words)} names no campaign; write {ADDRESS_FORM}, in whole numbers from 0, such as 4.3.0"
        )
    return cell, Place(*places) if len(places) == 4 else Place(places[0], study=places[1])


def trusted_config(entry: LedgerEntry, plugins: Sequence[str], where: str) -> dict[str, Any]:
    """Return the config of a cell, without measures and engine; raise InputError for one that cannot be trusted.

    A folder may come from a stranger: the packages that it names are imported only if the user names them, too
    (`plugins`), its keys must keep to their rules, and all that determines numbers must match the digest in the cell's
    key. `where` begins the errors.
    """
    from simlab.config.sections import check
    from simlab.engine.continuation import cell_key

    config = {key: value for key, value in entry.config.items() if key not in ("measure", "engine")}
    for plugin in config.get("plugins", []):
        if plugin not in plugins:
            raise InputError(
                f"{where}: it uses parts of the package {show(plugin)}; if you trust it, add --plugins {plugin}"
            )
    if cell_key(entry.config) != entry.cell:
        raise InputError(f"{where}: the config of this cell is not the one that its key seals; the ledger is damaged")
    return check(config, plugins=plugins)


def _find_cell(book: Ledger, cell: str) -> LedgerEntry:
    entries = book.entries()
    if len(cell) >= KEY_LENGTH:
        matches = [entry for entry in entries if entry.cell.startswith(cell.lower())]
    else:
        matches = [entries[int(cell)]] if cell.isdigit() and int(cell) < len(entries) else []
    if not matches and (damaged := book.list_damaged()):
        raise InputError(
            f"{book.folder}: damaged in its ledger: {damaged[0]}; `simlab verify DIR` says what can be mended"
        )
    if not matches:
        raise InputError(f"{book.folder} has no cell {show(cell)}; it has cells 0 to {len(entries) - 1}")
    return matches[0]


def find_block(book: Ledger, entry: LedgerEntry, place: Place) -> Finished | None:
    """Return the block that holds a campaign, one that failed only if no other does; None if none holds it."""
    holding = [
        row.block
        for row in book.blocks(entry.cell)
        if (at := row.block.address).world == place.world and (at.pool, at.draw) == (place.pool, place.draw)
        if row.sound and at.first <= place.study < at.first + at.count
    ]
    return min(holding, key=lambda block: block.failed, default=None)


def block_limits(entry: LedgerEntry) -> BlockLimits:
    """Return how long a block of a cell may take, from its config; anything but a positive number is no limit."""
    from simlab.engine.workers import BlockLimits

    seconds = entry.config.get("engine", {}).get("block_seconds")
    return BlockLimits(float(seconds) if type(seconds) in (int, float) and seconds > 0 else None)


def _run_block(fitting: Fitting, config: Mapping[str, Any], address: Address, limits: BlockLimits) -> Finished:
    """Carry out a block here, for as long as a block may take: past that the system ends this process."""
    from simlab.engine.replays import replay_block
    from simlab.engine.workers import start_clock, stop_clock

    start_clock(limits)
    finished = replay_block(fitting, config, address)
    stop_clock()
    return finished


def _debug_block(fitting: Fitting, config: Mapping[str, Any], address: Address, limits: BlockLimits) -> Finished:
    """Carry out a block here, without limits; where an exception leaves it, hand the terminal to the debugger."""
    import pdb

    from simlab.engine.addresses import Finished, pack

    try:
        done = fitting(config, address.places)
    except Exception as error:
        pdb.post_mortem(error.__traceback__)
        return Finished(address, reason=f"{type(error).__name__}: {error}")
    failures = tuple((address.first + index, reason) for index, reason in done.failures)
    return Finished(address, pack(done.arrays), failures=failures)


def _record(name: str, kept: Finished | None, finished: Finished, address: Address, seconds: float) -> ReplayedCampaign:
    """Return the record of a replay: the outcomes of the `finished` block, compared with the block that was `kept`."""
    from simlab.engine.addresses import unpack
    from simlab.engine.replays import name_differing

    outcomes = {} if finished.failed else unpack(finished.payload)
    reasons = [finished.reason] if finished.failed else [reason for _, reason in finished.failures]
    comparable = kept is not None and not kept.failed and bool(outcomes)
    differs: list[str] = []
    if kept is not None and comparable:
        block, row = unpack(kept.payload), address.first - kept.address.first
        differs = [name for k in range(address.count) for name in name_differing(block, row + k, outcomes, k)]
    return ReplayedCampaign(
        cell=name.removesuffix(", "),
        key=address.cell,
        at=str(address),
        seconds=seconds,
        failed=finished.failed or bool(finished.failures),
        reason="; ".join(dict.fromkeys(reasons)),
        kept=None if kept is None else kept.reason or "carried out",
        same=not differs if comparable else None,
        differs=tuple(differs),
        outcomes={name: _json_value(array) for name, array in outcomes.items()},
    )


def _json_value(array: Array) -> Any:
    """Return an array as lists for JSON; what is not a number is null."""
    from simlab.drawing.text.tables import replace_nan

    listed = array[0].tolist() if len(array) == 1 else array.tolist()
    return json.loads(json.dumps(replace_nan([{"value": listed}])[0]["value"]).replace("NaN", "null"))
