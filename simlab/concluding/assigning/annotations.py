"""Read the annotations that Label Studio exports: JSON in full, or JSON_MIN."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from simlab import files
from simlab.concluding.assigning.filled import BESIDE, Given
from simlab.messages import legible, several
from simlab.types import InputError

MOST_BYTES = 1 << 28
KINDS = ("number", "rating", "choices")
"""Values of the controls by which ratings are given."""


def annotated(path: Path) -> Iterator[Given]:
    """Go through the ratings of an export; tasks without one are left out.

    Raises InputError, naming file and entry, for what is no export, and for a task that several people rated.
    """
    where = legible(path)
    try:
        held = json.loads(files.text(files.content(path, where, most=MOST_BYTES, remedy="give the export"), where))
    except (ValueError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        line = f", line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise InputError(f"{where}{line}: is no JSON; export the project again") from error
    if not isinstance(held, list) or not all(isinstance(one, dict) for one in held):
        raise InputError(f"{where}: is no list of tasks; export the project as JSON")
    for number, task in enumerate(held, 1):
        yield from _of_task(task, f"{where}, task {number}", number)


def _of_task(task: Mapping[str, Any], where: str, number: int) -> Iterator[Given]:
    data = task.get("data") if isinstance(task.get("data"), dict) else task
    slot = str(data.get("slot", "")) if isinstance(data, dict) else ""
    # Who annotated is known to the tool by a number of its own.
    beside = {name: _text(data[name]) for name in BESIDE if isinstance(data, dict) and name in data and name != "rater"}
    if "data" not in task:
        rating = _text(task.get("rating"))
        yield Given(slot, "", rating, where, number, beside)
        return
    done = [one for one in task.get("annotations") or [] if isinstance(one, dict) and not one.get("was_cancelled")]
    ratings = [rating for one in done for rating in _ratings(one.get("result"))]
    if len(ratings) > 1:
        raise InputError(f"{where}: has {several(len(ratings), 'rating')} of {legible(slot, 40)}; keep one")
    for rating in ratings:
        yield Given(slot, "", rating, where, number, beside)


def _ratings(result: Any) -> Iterator[str]:
    for one in result if isinstance(result, Sequence) and not isinstance(result, str) else ():
        if isinstance(one, dict) and one.get("from_name") == "rating" and isinstance(one.get("value"), dict):
            value = next((one["value"][kind] for kind in KINDS if kind in one["value"]), None)
            yield _text(value)


def _text(value: Any) -> str:
    """Write a value as a cell has it; of a list of one choice that choice."""
    if isinstance(value, list) and len(value) == 1:
        return _text(value[0])
    if isinstance(value, dict):
        return _text(next((value[kind] for kind in KINDS if kind in value), None))
    return "" if value is None else repr(value) if isinstance(value, float) else str(value).strip()
