"""Answer what one campaign, or a block that failed, comes to when it is carried out again, alone."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from simlab.commands.exit_codes import DONE, RESERVED
from simlab.commands.next_steps import ended
from simlab.messages import shown
from simlab.types import Array, InputError

if TYPE_CHECKING:
    from simlab.engine.addresses import Address, Finished
    from simlab.engine.block_checks import Fitting
    from simlab.engine.ledger import Entry, Ledger
    from simlab.engine.limits import Limits

WRITTEN = "CELL.WORLD.STUDY or CELL.WORLD.POOL.DRAW.STUDY"
KEY_LENGTH = 8
"""From so many letters on, CELL is the beginning of a cell's key, below it is its number on the grid."""
LARGEST = 10**9


class Kept(NamedTuple):
    """Hold what a folder says of a campaign: its cell, where the cell stands, and the block that holds it, if any."""

    entry: Entry
    name: str
    block: Finished | None


def answer(folder: Path, words: str, *, plugins: Sequence[str], form: str, debug: bool) -> tuple[str, int]:
    """Carry out a campaign again and write what it came to; return the exit code beside it.

    A campaign whose block failed is carried out with its whole block. With `debug` the interpreter stops where the
    campaign fails. Raises InputError for an address that the folder does not have, and for a folder whose cell cannot
    be trusted: one that names a package which the user did not, or whose config is not the one that its key seals.
    """
    from simlab.drawing.text import replays
    from simlab.engine import ledger
    from simlab.engine.addresses import Address
    from simlab.engine.block_checks import Fitting
    from simlab.engine.run import study_block
    from simlab.supervision import entering

    cell, world, pool, draw, study = parsed(words)
    with ledger.reading(folder) as book:
        entry = _entry(book, cell)
        kept = Kept(entry, _name(book, entry), block_of(book, entry, (world, pool, draw, study)))
    config = trusted(entry, plugins, f"{folder}, {words}")
    failed = kept.block is not None and kept.block.failed
    address = kept.block.address if failed and kept.block else Address(entry.cell, world, study, 1, pool, draw)
    began = time.monotonic()
    fitting, limits = Fitting(study_block(), len(entry.systems)), block_limits(entry)
    entering(f"carrying out {words} (engine.block_seconds={limits.seconds})", plugins)
    finished = _debugged(fitting, config, address) if debug else _again(fitting, config, address, limits)
    said = _record(kept, finished, address, time.monotonic() - began)
    following = ["replay", str(folder), words, "--debug"] if said["failed"] else ["verify", str(folder)]
    text = json.dumps(said, indent=1) if form == "json" else ended(replays.page(said), *following)
    as_kept = said["same"] if said["same"] is not None else said["kept"] is None
    return text, DONE if as_kept and not said["failed"] else RESERVED


def parsed(words: str) -> tuple[str, int, int, int, int]:
    """Take an address apart: the cell's word, then world, pool, draw and study.

    >>> parsed("4.3.0"), parsed("4.3.1.2.0")
    (('4', 3, 0, 0, 0), ('4', 3, 1, 2, 0))
    """
    cell, *numbers = words.split(".")
    places = [int(text) for text in numbers if text.isascii() and text.isdigit() and int(text[:10]) <= LARGEST]
    if len(places) != len(numbers) or len(places) not in (2, 4) or not (cell.isascii() and cell.isalnum()):
        raise InputError(f"{shown(words)} names no campaign; write {WRITTEN}, in whole numbers from 0, such as 4.3.0")
    world, *nested, study = places
    pool, draw = nested or (0, 0)
    return cell, world, pool, draw, study


def trusted(entry: Entry, plugins: Sequence[str], where: str) -> dict[str, Any]:
    """Return the config of a cell as it was asked for; raise InputError for one that nobody should carry out.

    A folder may come from a stranger: the packages that it names are imported only if the user names them, too, its
    keys are held against their rules, and all that determines numbers against the cell's key.
    """
    from simlab.config.sections import check
    from simlab.engine.continuation import cell_key

    config = {key: value for key, value in entry.config.items() if key not in ("measure", "engine")}
    for plugin in config.get("plugins", []):
        if plugin not in plugins:
            raise InputError(
                f"{where}: it uses parts of the package {shown(plugin)}; if you trust it, add --plugins {plugin}"
            )
    if cell_key(entry.config) != entry.cell:
        raise InputError(f"{where}: the config of this cell is not the one that its key seals; the ledger is damaged")
    return check(config, plugins=plugins)


def _entry(book: Ledger, cell: str) -> Entry:
    entries = book.entries()
    if len(cell) >= KEY_LENGTH:
        found = [entry for entry in entries if entry.cell.startswith(cell.lower())]
    else:
        found = [entries[int(cell)]] if cell.isdigit() and int(cell) < len(entries) else []
    if not found and (damaged := book.damaged()):
        raise InputError(
            f"{book.folder}: damaged in its ledger: {damaged[0]}; `simlab verify DIR` says what can be mended"
        )
    if not found:
        raise InputError(f"{book.folder} has no cell {shown(cell)}; it has cells 0 to {len(entries) - 1}")
    return found[0]


def _name(book: Ledger, entry: Entry) -> str:
    from simlab.engine.failures import cell_names

    return cell_names(book)[entry.cell]


def block_of(book: Ledger, entry: Entry, place: tuple[int, int, int, int]) -> Finished | None:
    """Find the block that holds a campaign; one that failed only where no other does."""
    world, pool, draw, study = place
    held = [
        row.block
        for row in book.blocks(entry.cell)
        if (at := row.block.address).world == world and (at.pool, at.draw) == (pool, draw)
        if row.sound and at.first <= study < at.first + at.count
    ]
    return min(held, key=lambda block: block.failed, default=None)


def block_limits(entry: Entry) -> Limits:
    """Return how long a block of a cell may take; what a file says beside numbers is not believed."""
    from simlab.engine.limits import Limits

    seconds = entry.config.get("engine", {}).get("block_seconds")
    return Limits(float(seconds) if type(seconds) in (int, float) and seconds > 0 else None)


def _again(fitting: Fitting, config: Mapping[str, Any], address: Address, limits: Limits) -> Finished:
    """Carry out a block here, for as long as a block may take: past that the system ends this process."""
    from simlab.engine.limits import start_clock, stop_clock
    from simlab.engine.replaying import replayed

    start_clock(limits)
    finished = replayed(fitting, config, address)
    stop_clock()
    return finished


def _debugged(fitting: Fitting, config: Mapping[str, Any], address: Address) -> Finished:
    """Carry out a block in this process; where an exception leaves it, hand the terminal to the debugger."""
    import pdb

    from simlab.engine.addresses import Finished, pack

    try:
        done = fitting(config, address.places)
    except Exception as error:
        pdb.post_mortem(error.__traceback__)
        return Finished(address, reason=f"{type(error).__name__}: {error}")
    failures = tuple((address.first + index, reason) for index, reason in done.failures)
    return Finished(address, pack(done.arrays), failures=failures)


def _record(kept: Kept, finished: Finished, address: Address, seconds: float) -> dict[str, Any]:
    """Say what a campaign came to, beside what the folder keeps of it."""
    from simlab.engine.addresses import unpack

    outcomes = {} if finished.failed else unpack(finished.payload)
    reasons = [finished.reason] if finished.failed else [reason for _, reason in finished.failures]
    before = kept.block
    differs = _differing(outcomes, before, address)
    known = before is not None and not before.failed and bool(outcomes)
    return {
        "cell": kept.name.removesuffix(", "),
        "key": address.cell,
        "at": str(address),
        "seconds": seconds,
        "failed": finished.failed or bool(finished.failures),
        "reason": "; ".join(dict.fromkeys(reasons)),
        "kept": None if before is None else before.reason or "carried out",
        "same": not differs if known else None,
        "differs": differs,
        "outcomes": {name: _plain(array) for name, array in outcomes.items()},
    }


def _differing(outcomes: Mapping[str, Array], before: Finished | None, address: Address) -> list[str]:
    from simlab.engine.addresses import unpack
    from simlab.engine.replaying import differing

    if before is None or before.failed or not outcomes:
        return []
    row = address.first - before.address.first
    return [name for k in range(address.count) for name in differing(unpack(before.payload), row + k, outcomes, k)]


def _plain(array: Array) -> Any:
    """Write an array as JSON can: what is not a number is null."""
    from simlab.drawing.text.tables import plain

    listed = array[0].tolist() if len(array) == 1 else array.tolist()
    return json.loads(json.dumps(plain([{"value": listed}])[0]["value"]).replace("NaN", "null"))
