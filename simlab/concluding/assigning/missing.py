"""List what is missing of an assignment, so that it can be asked for."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from simlab.concluding.assigning.cells import table
from simlab.concluding.assigning.key import Meant
from simlab.files import write_whole

NAME = "missing.csv"
COLUMNS = ("rater", "position", "slot", "document", "segment")


def write(file: Path, key: Mapping[str, Meant], came: Collection[str]) -> None:
    """Write which ratings did not come; where all did, no such file is left.

    A file of that name that somebody else wrote stays as it is, and a folder that cannot be written is none the worse.
    """
    lacking = [(slot, one) for slot, one in key.items() if one.counts and slot not in came]
    rows = sorted((one.rater, one.position, slot, one.document, one.segment) for slot, one in lacking)
    try:
        if file.exists() and not is_own(file):
            return
        if rows:
            write_whole({file: table(COLUMNS, rows)})
        else:
            file.unlink(missing_ok=True)
    except OSError:
        return


def is_own(file: Path) -> bool:
    """Tell whether a file is such a list."""
    if not file.is_file():
        return False
    with file.open("rb") as held:
        return held.readline(200).rstrip() == ",".join(COLUMNS).encode()
