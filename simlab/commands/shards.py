"""Carry out a shard, one of N parts of a sweep for as many machines, and write what its folder holds.

`carry_out` takes the sweep and the shard, and returns lines on failures and the counts of the folder. A shard's folder
has a ledger and no store of measures; `simlab merge` puts the shards together.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

from simlab.commands import launch
from simlab.commands.exit_codes import DONE, NOTHING, RESERVED
from simlab.commands.typed_commands import Launched
from simlab.drawing.text import shards as drawn

if TYPE_CHECKING:
    from simlab.config import Sweep
    from simlab.drawing.text.tables import Form
    from simlab.engine.shards import Shard


def write(doubts: Sequence[str], did: drawn.Did, form: Form) -> Launched:
    """Format the counts `did` of a shard's folder, with the next command and `doubts`, a note for each failure."""
    text = drawn.describe_shard(did) if form == "table" else drawn.write([did], form)
    nothing = did.blocks > 0 and did.failed == did.blocks
    return Launched(text, doubts, NOTHING if nothing else RESERVED if doubts else DONE)


def carry_out(
    sweep: Sweep, folder: Path, jobs: int | None, shard: Shard, *, quiet: bool = False, allow_version: bool = False
) -> tuple[list[str], drawn.Did]:
    """Carry out what is missing of a shard; return a line for each thing that went wrong, and the folder's counts.

    Raises InputError where the folder holds something else, or another run is at it.
    """
    from simlab.engine import ledger
    from simlab.engine import run as engine

    # What parts print in this process is not the answer.
    with redirect_stdout(sys.stderr):
        summary = engine.run(sweep, folder, jobs, quiet=quiet, allow_version=allow_version, shard=shard)
    with ledger.reading(folder) as book:
        blocks, campaigns = book.n_blocks(), sum(book.campaigns().values())
    did = drawn.Did(
        str(shard),
        sweep.name,
        summary.blocks,
        blocks,
        len(summary.failures),
        campaigns,
        str(folder),
        _suggest_next(folder, shard),
    )
    return launch.list_failures(summary), did


def _suggest_next(folder: Path, shard: Shard) -> str:
    """Write the command that brings shards together, as far as the name of a folder tells those of the others."""
    import shlex

    ending = f"-shard-{shard.number}-of-{shard.n_shards}"
    if folder.name.endswith(ending):
        whole = str(folder).removesuffix(ending)
        return f"simlab merge {shlex.quote(whole)} {shlex.quote(whole)}-shard-*-of-{shard.n_shards}"
    return f"simlab merge DIR {shlex.quote(str(folder))} ..."
