"""Answer what folders of one sweep find together: shards from several machines, or runs of parts of a grid."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

from simlab.commands import launch
from simlab.commands.exit_codes import DONE, NOTHING, RESERVED
from simlab.commands.notes import note

if TYPE_CHECKING:
    from simlab.drawing.text.tables import Form


def answer(
    out: Path,
    folders: Sequence[Path],
    *,
    plugins: Sequence[str] = (),
    form: Form = "table",
    keep: launch.Keep | None = None,
    allow_version: bool = False,
) -> launch.Launched:
    """Merge folders into one and return the finding of what is there; of what is missing it says so.

    Raises InputError, before anything is written, for what cannot be merged.
    """
    lines, missing, n_blocks = carry_out(out, folders, plugins=plugins, allow_version=allow_version)
    for line in lines:
        note(line)
    if not n_blocks:
        return launch.Launched("no campaign was carried out in any of these folders", missing, NOTHING)
    found = launch.finding(out, form, keep)
    if found.code == NOTHING and form == "table":
        return launch.Launched("no campaign could be carried out", missing, NOTHING)
    code = found.code if found.code != DONE or not missing else RESERVED
    return found._replace(notes=[*missing, *found.notes], code=code)


def carry_out(
    out: Path,
    folders: Sequence[Path],
    *,
    plugins: Sequence[str] = (),
    allow_version: bool = False,
    quiet: bool = False,
) -> tuple[list[str], list[str], int]:
    """Merge folders; return lines about what went wrong, one about what is missing, if so, and the number of blocks."""
    from simlab.measures.labels import LABELS
    from simlab.store.folder import remember_last
    from simlab.store.merging import merge

    # What parts print in this process, in a measure, is not the answer.
    with redirect_stdout(sys.stderr):
        merged, missing = merge(out, folders, labels=LABELS, plugins=plugins, allow_version=allow_version, quiet=quiet)
    lines = launch.told(merged)
    return [*lines, *(remember_last(out) if merged.blocks else [])], [missing] if missing else [], merged.blocks
