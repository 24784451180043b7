"""Keep answers in files (`--save FILE`) and read them for reports; write JSON answers as CSV.

`check` refuses a file before the work, `keep` writes an answer given as JSON text, and `read` returns it as a mapping.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from simlab import files, schemas
from simlab.files import check_writable, reason
from simlab.messages import clip
from simlab.types import InputError

MOST_BYTES = 50_000_000
"""Largest size of a file that is read."""
HELD: Mapping[str, tuple[type, ...]] = {"simlab": (str,), "command": (str,), "schema": (int,), "answer": (dict, list)}
"""Keys of a kept answer, with the types allowed."""
REMEDY = "name a file that --save wrote"


def check(file: Path | None) -> None:
    """Raise InputError, before any work, for a file that an answer cannot be kept in."""
    if file is None:
        return
    if file.suffix.lower() != ".json":
        raise InputError(f"--save {clip(file)}: an answer is kept as JSON; end the name with .json")
    check_writable(file, "--save")


def keep(file: Path, command: str, text: str) -> None:
    """Keep an answer, given as JSON text, with the command line that it answers and the version that gave it."""
    from importlib.metadata import version

    kept = {"simlab": version("simlab"), "command": command, "schema": schemas.ANSWER, "answer": json.loads(text)}
    files.write_whole({file: json.dumps(kept, indent=1, allow_nan=False) + "\n"})


def read(file: Path) -> dict[str, Any]:
    """Read a kept answer: the object with the keys of `HELD`.

    Raises InputError for a file that is none, and for one of another schema.
    """
    where = clip(file, 200)
    saved = files.read_json(file, where, most=MOST_BYTES, remedy=REMEDY)
    for key, kind in HELD.items():
        if not isinstance(saved.get(key), kind) or isinstance(saved.get(key), bool):
            raise InputError(
                f"{where}: is not an answer that was kept ({key} is missing, or of another type); {REMEDY}"
            )
    schemas.refuse_other(where, "an answer", saved["schema"], schemas.ANSWER, saved["simlab"])
    return saved


def keep_answer(keep: Callable[[str], None], text: str) -> list[str]:
    """Keep an answer, given as JSON text, by `keep`; return a line on why the disk did not take it, or none."""
    try:
        keep(text)
    except OSError as error:
        return [f"--save: not kept ({clip(error.filename or '')}: {reason(error)})"]
    return []


def format_csv(text: str) -> str:
    """Return a JSON answer (a list of records, or one) as comma-separated values; lists in cells stay JSON."""
    from simlab.drawing.text import tables

    answer = json.loads(text)
    records = [answer] if isinstance(answer, dict) else answer
    return tables.write_csv([{key: _cell(value) for key, value in record.items()} for record in records])


def _cell(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, list | dict) else value
