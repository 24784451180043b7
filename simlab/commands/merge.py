"""Carry out `simlab merge`: put folders of one sweep into one (shards from several machines, or parts of a grid).

`carry_out` merges and returns `MergedFolders`; `write` makes the finding of the merged store.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from simlab.commands import launch
from simlab.commands.exit_codes import DONE, NOTHING, RESERVED
from simlab.commands.notes import note
from simlab.commands.typed_commands import Given, Launched

if TYPE_CHECKING:
    from simlab.drawing.text.tables import Form


class MergedFolders(NamedTuple):
    """Result of a merge: the folder, lines about what went wrong and what is missing, and the number of blocks."""

    out: Path
    lines: list[str]
    missing: list[str]
    blocks: int


def write(merged: MergedFolders, form: Form, given: Given) -> Launched:
    """Format the finding of the merged store as table, csv or json, with a note on campaigns that are missing."""
    if not merged.blocks:
        return Launched("no campaign was carried out in any of these folders", merged.missing, NOTHING)
    launched = launch.finding(merged.out, form)
    code = launched.code if launched.code != DONE or not merged.missing else RESERVED
    return launched._replace(notes=[*merged.missing, *launched.notes], code=code)


def carry_out(
    out: Path,
    folders: Sequence[Path],
    *,
    plugins: Sequence[str] = (),
    allow_version: bool = False,
    quiet: bool = False,
) -> MergedFolders:
    """Merge `folders` into `out`. Raises InputError, before anything is written, for what cannot be merged.

    Parts of `plugins` may be used; `allow_version` merges what different versions of simlab filled.
    """
    from simlab.measures.labels import LABELS
    from simlab.store.filling import merge
    from simlab.store.folder import remember_last

    # What parts print in this process, in a measure, is not the answer.
    with redirect_stdout(sys.stderr):
        merged, missing = merge(out, folders, labels=LABELS, plugins=plugins, allow_version=allow_version, quiet=quiet)
    lines = list(launch.list_failures(merged))
    lines += remember_last(out) if merged.blocks else []
    for line in lines:
        note(line)
    return MergedFolders(out, lines, [missing] if missing else [], merged.blocks)
