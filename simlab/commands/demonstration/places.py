"""Prepare the folder of a demonstration: a new or empty one, or one whose demonstration was interrupted, cleared.

`begin` prepares it; `end` marks the demonstration as complete.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from simlab.files import reason
from simlab.messages import clip
from simlab.types import InputError

UNFINISHED = ".demo-unfinished"
"""File that lies in the folder while a demonstration is going on."""
FILES = ("pilot.csv", "world.yaml", "fit.json", "items.csv", "filled.csv", "report.html", "truth.csv")
"""Files that a demonstration writes; only these are cleared."""
STUDY = "study"


def begin(out: Path) -> None:
    """Make the folder, or clear what is left of a demonstration that was halted; nobody else's file is touched.

    Raises InputError for a folder that holds anything else, and where none can be made.
    """
    marker = out / UNFINISHED
    try:
        if marker.is_file():
            _clear(out)
        elif out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise InputError(
                f"--out {clip(out)}: is there already; a demo needs a new folder, such as {_find_free_folder(out)}"
            )
        out.mkdir(parents=True, exist_ok=True)
        marker.touch()
    except OSError as error:
        raise InputError(f"--out {clip(out)}: cannot be written ({reason(error)}); name another folder") from error


def end(out: Path) -> None:
    """Mark the demonstration as complete: remove the file that `begin` made."""
    (out / UNFINISHED).unlink(missing_ok=True)


def _clear(out: Path) -> None:
    for name in FILES:
        (out / name).unlink(missing_ok=True)
    if (out / STUDY).exists():
        shutil.rmtree(out / STUDY)


def _find_free_folder(out: Path) -> str:
    """Return a folder that is not there.

    >>> _find_free_folder(Path("nothing-here"))
    'nothing-here-2'
    """
    return next(str(place) for k in range(2, 10_000) if not (place := out.with_name(f"{out.name}-{k}")).exists())
