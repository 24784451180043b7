"""Read from a fitted file which checks against its pilot it failed, without reading the rest of it."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from simlab import files
from simlab.messages import legible
from simlab.types import InputError
from simlab.world.files.fitted_world import MAX_BYTES, REMEDY
from simlab.world.files.plain_document import document, refuse_other_format

_MAKER = re.compile(r"^simlab: *(\S+)", re.MULTILINE)
_FORMAT = re.compile(r"simlab fitted (world|preferences|metric) [0-9]+")
# A key at the left edge and what is indented below it; whoever writes YAML another way has it read whole.
_BLOCK = re.compile(r"^checks:.*?(?=^[^\s#-]|\Z)", re.MULTILINE | re.DOTALL)


class FailedCheck(NamedTuple):
    """Hold a trait of the pilot that lies outside what the world allows."""

    name: str
    real: float
    low: float
    high: float


def failed_checks(path: str) -> tuple[FailedCheck, ...]:
    """Return the checks that a fitted file says it failed; none of a file that was never checked, or is another one.

    Raises InputError for a file that cannot be read, and for checks that are not written as `simlab fit` writes them.
    """
    file = files.expanded(path)
    return _failed(file.absolute(), files.regular(file, legible(file), remedy=REMEDY))


@lru_cache(maxsize=8)
def _failed(path: Path, state: files.State) -> tuple[FailedCheck, ...]:
    where = legible(path)
    text = files.text(files.content(path, where, most=MAX_BYTES, remedy=REMEDY), where)
    if (told := _FORMAT.search(text)) is None:
        return ()
    by = _MAKER.search(text)
    refuse_other_format({"format": told[0], "simlab": by and by[1]}, told[1], where, where)
    if "checks" not in text:
        return ()
    found = _BLOCK.search(text)
    held = document(text if found is None else found[0], where, REMEDY)
    checks = held.get("checks") if isinstance(held, dict) else None
    if checks is None:
        return ()
    try:
        return tuple(_one(entry) for entry in checks["failed"])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{where}: checks.failed: each needs name, real, low, high; {REMEDY}") from error


def _one(entry: Any) -> FailedCheck:
    return FailedCheck(str(entry["name"]), *(float(entry[key]) for key in ("real", "low", "high")))
