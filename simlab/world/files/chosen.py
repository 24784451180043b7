"""Say which file the systems of a study come from: that of `systems.path`, or the one built into simlab."""

from __future__ import annotations

from pathlib import Path

from simlab import files
from simlab.messages import legible
from simlab.types import InputError


def chosen_file(path: str | None, sha256: str | None, *, empty: str, remedy: str) -> tuple[Path, files.State] | None:
    """Return the file at `systems.path` and its state; None where that is null, for what is built in.

    Raises InputError for a digest without a path, an empty path, and what is no regular file.
    """
    if path is None:
        if sha256 is not None:
            raise InputError("systems.sha256 is the digest of a file; give systems.path, too, or leave it out")
        return None
    if not path.strip():
        raise InputError(f"systems.path is empty; {empty}")
    file = files.expanded(path)
    return file.absolute(), files.regular(file, legible(file), remedy=remedy)
