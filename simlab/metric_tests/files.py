"""Read trials from a path: a folder of COCO caption JSON, or a .jsonl or .tsv file with one trial per line.

Call `read`; it returns `CollectedTrials`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from simlab.metric_tests import coco, plain
from simlab.metric_tests.trials import CollectedTrials, Kind
from simlab.types import InputError


def read(
    path: Path, n_references: Sequence[int] | None = None, kinds: Mapping[str, Kind] | None = None
) -> CollectedTrials:
    """Read the trials of a path for each number of references; without numbers, with all references.

    `kinds` gives the kind of a corruption by its name, where neither the file nor the list of published ones does.
    Raises InputError for a missing or malformed file.
    """
    if not _is_there(path):
        raise InputError(f"{path}: there is no such file or folder; name one that holds trials")
    return (coco.read if path.is_dir() else plain.read)(path, n_references, kinds or {})


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False
