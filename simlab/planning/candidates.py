"""Read a list of designs between which a plan is to choose."""

from __future__ import annotations

import csv
import itertools
from pathlib import Path
from typing import Any

import yaml

from simlab.config.overrides import parse
from simlab.messages import legible
from simlab.planning.terms import Design
from simlab.types import InputError


def listed(file: Path) -> list[Design]:
    """Read designs from a file: a table with a key a column, or a YAML list of mappings."""
    where = f"--candidates {legible(file)}"
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{where}: cannot be read; name a .csv or a .yaml file") from error
    rows = _in_table(text, where) if file.suffix.lower() == ".csv" else _in_list(text, where)
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) and row for row in rows):
        raise InputError(f"{where}: holds no designs; give a column, or a line, for each key that differs")
    found = [tuple((str(key), value) for key, value in row.items()) for row in rows]
    for key, value in itertools.chain.from_iterable(found):
        if isinstance(value, list | dict):
            raise InputError(f"{where}: {legible(key, 60)} holds several values; a design has one value of a key")
    return found


def _in_table(text: str, where: str) -> list[dict[str, Any]]:
    """Read a table with a key a column; an empty field sets nothing."""
    rows = list(csv.DictReader(text.splitlines()))
    if any(None in row for row in rows):
        raise InputError(f"{where}: a row has more fields than the first, which names the keys; mend it")
    try:
        return [{key: parse(f"{key}={value}").values[0] for key, value in row.items() if value} for row in rows]
    except InputError as error:
        raise InputError(f"{where}: {error}") from error


def _in_list(text: str, where: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise InputError(f"{where}: is no YAML; write a list of lines such as `- design.documents: 40`") from error
