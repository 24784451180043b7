"""Keep answers in files for reports, and give every answer the forms that programs read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from simlab.files import check_writable, reason
from simlab.messages import legible
from simlab.types import InputError

SCHEMA = 1


def check(file: Path | None) -> None:
    """Raise InputError, before any work, for a file that an answer cannot be kept in."""
    if file is None:
        return
    if file.suffix.lower() != ".json":
        raise InputError(f"--save {legible(file)}: an answer is kept as JSON; end the name with .json")
    check_writable(file, "--save")


def keep(file: Path, command: str, text: str) -> None:
    """Keep an answer, given as JSON text, with the command line that it answers and the version that gave it."""
    from importlib.metadata import version

    kept = {"simlab": version("simlab"), "command": command, "schema": SCHEMA, "answer": json.loads(text)}
    file.write_text(json.dumps(kept, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def kept(keep: Callable[[str], None], text: str) -> list[str]:
    """Keep an answer; return a line, or none, that says why that could not be: the answer itself is not withheld."""
    try:
        keep(text)
    except OSError as error:
        return [f"--save: not kept ({legible(error.filename or '')}: {reason(error)})"]
    return []


def to_csv(text: str) -> str:
    """Write the records of a JSON answer as comma-separated values; a list in a cell as JSON."""
    from simlab.drawing.text import tables

    return tables.to_csv([{key: _cell(value) for key, value in record.items()} for record in json.loads(text)])


def soundness(text: str, sound: bool) -> str:
    """Write as JSON what checking a store came to: lines of problems, and what was checked."""
    *problems, checked = text.splitlines()
    return json.dumps([{"sound": sound, "checked": checked, "problems": problems}], indent=1)


def _cell(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, list | dict) else value
