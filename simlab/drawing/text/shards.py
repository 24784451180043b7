"""Return the result of running a shard, one of the K/N parts into which a sweep is split, as text or JSON.

Functions take one `Did`, or several, each the work on a shard.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from simlab.drawing.text import tables
from simlab.drawing.text.tables import list_under_title


@dataclass(frozen=True, slots=True)
class Did:
    """Work on a shard of a sweep: blocks carried out now, blocks and campaigns of its folder, and the next command.

    A block is some consecutive campaigns of one world of a cell; `failed` counts blocks. `shard` is written as 1/4.
    """

    shard: str
    sweep: str
    blocks_now: int
    blocks: int
    failed: int
    campaigns: int
    folder: str
    next: str


def describe_shard(did: Did) -> str:
    """Write what a folder of a shard holds, and which command brings shards together."""
    failed = f", {did.failed} of them failed" if did.failed else ""
    rows = [
        ["blocks", f"{did.blocks}{failed}; {did.blocks_now} carried out now"],
        ["campaigns", str(did.campaigns)],
        ["folder", did.folder],
        ["next", f"{did.next} (when all {did.shard.partition('/')[2]} shards are there)"],
    ]
    return list_under_title(f"Shard {did.shard} of {did.sweep} is carried out:", rows)


def write_json(shards: Sequence[Did]) -> str:
    """Return the work on shards as JSON."""
    return tables.write_json([asdict(shard) for shard in shards])


def write(shards: Sequence[Did], form: str) -> str:
    """Return the work on shards for a program to read, in a form of `tables.FORMS`."""
    return tables.write([asdict(shard) for shard in shards], form)
