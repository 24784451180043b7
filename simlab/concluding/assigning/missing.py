"""List what is missing of an assignment, so that it can be asked for."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from simlab.concluding.assigning.cells import table
from simlab.concluding.assigning.key import Meant
from simlab.files import reason, write_whole
from simlab.messages import legible

NAME = "missing.csv"
COLUMNS = ("rater", "position", "slot", "document", "segment")


NOT_LISTED = "what is missing is not listed"


def write(file: Path, key: Mapping[str, Meant], came: Collection[str]) -> str:
    """Write which ratings did not come; where all did, no such file is left. Return why that could not be ("": it was).

    A file of that name that somebody else wrote stays as it is.
    """
    lacking = [(slot, one) for slot, one in key.items() if one.counts and slot not in came]
    rows = sorted((one.rater, one.position, slot, one.document, one.segment) for slot, one in lacking)
    try:
        if file.exists() and not is_own(file):
            why = f"{legible(file)} is no such list, and stays; move it away"
            return f"{NOT_LISTED} ({why})" if rows else ""
        if rows:
            write_whole({file: table(COLUMNS, rows)})
        else:
            file.unlink(missing_ok=True)
    except OSError as error:
        return f"{NOT_LISTED} ({legible(file)}: {reason(error)})"
    return ""


def is_own(file: Path) -> bool:
    """Tell whether a file is such a list."""
    if not file.is_file():
        return False
    with file.open("rb") as held:
        return held.readline(200).rstrip() == ",".join(COLUMNS).encode()
