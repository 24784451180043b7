"""Record beside a plan when its table was looked at: looking repeatedly and stopping at will breaks a promise.

Call `look` with the plan's file and the collected answers, which returns the earlier looks (`Looked`).
"""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from simlab import files, schemas
from simlab.messages import clip
from simlab.types import Collected, InputError

ENDING = ".looks.json"
MOST_BYTES = 10_000_000
MOST_LOOKS = 100_000
NOT_RECORDED = "this look is not recorded"


class Looked(NamedTuple):
    """Numbers of answers at each earlier look, and why this look could not be recorded ("": it was)."""

    earlier: tuple[int, ...]
    warning: str = ""


def record_of(plan: Path) -> Path:
    """Return the path of the file that records the looks at a plan's table."""
    return plan.with_name(plan.name + ENDING)


def look(plan: Path, digest: str, collected: Collected) -> Looked:
    """Record a look at a table, unless it is one of the same answers; return those before it.

    `plan` is the study's file, `digest` names the study, and the record stands beside that file.
    Raises InputError for a record that is none, or one of another plan.
    """
    file = record_of(plan)
    table, n = digest_of(collected), len(collected.seen.value)
    looks = _read(file, digest)
    before = [one["table"] for one in looks]
    if table in before:
        # Concluding twice from the same answers shows nothing new, and counts once.
        return Looked(tuple(one["answers"] for one in looks[: before.index(table)]))
    looks.append({"table": table, "answers": n})
    content = json.dumps({"schema": schemas.PLAN, "digest": digest, "looks": looks}, indent=1) + "\n"
    warning = ""
    try:
        files.write_whole({file: content})
    except OSError as error:
        warning = f"{NOT_RECORDED} ({clip(file)}: {files.reason(error)}): later ones will not know of it"
    return Looked(tuple(one["answers"] for one in looks[:-1]), warning)


def digest_of(collected: Collected) -> str:
    """Return a SHA-256 of the answers of a table, whatever the order of rows."""
    frame, seen = collected.frame, collected.seen
    # Names rather than numbers, which depend on the order of rows; -1, nobody, takes the empty last one.
    raters = np.array([*frame.rater_names, ""])[seen.rater]
    rows = sorted(zip(seen.unit.tolist(), seen.item.tolist(), raters.tolist(), seen.value.tolist(), strict=True))
    return sha256(json.dumps([list(frame.system_names), rows]).encode()).hexdigest()


def _read(file: Path, digest: str) -> list[dict[str, Any]]:
    where = clip(file)
    if not file.exists():
        return []
    remedy = "look at it, or move it away"
    try:
        record = json.loads(files.text(files.content(file, where, most=MOST_BYTES, remedy=remedy), where))
    except (ValueError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{where}: is no record of looks at a plan; {remedy}") from error
    looks = record.get("looks") if isinstance(record, dict) else None
    if not isinstance(looks, list) or len(looks) > MOST_LOOKS or not all(map(_is_look, looks)):
        raise InputError(f"{where}: is no record of looks at a plan; {remedy}")
    if not {"schema", "simlab"} & record.keys():
        raise InputError(f"{where}: is no record of looks at a plan; {remedy}")
    schemas.refuse_other(where, "a record of looks", record.get("schema", record.get("simlab")), schemas.PLAN)
    if record.get("digest") != digest:
        raise InputError(f"{where}: the plan was changed after a look; undo that, or {remedy}")
    return looks


def _is_look(entry: Any) -> bool:
    return (
        isinstance(entry, dict)
        and isinstance(entry.get("table"), str)
        and type(entry.get("answers")) is int
        and entry["answers"] >= 0
    )
