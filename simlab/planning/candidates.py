"""Read a list of designs between which a plan is to choose."""

from __future__ import annotations

import csv
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
    if file.suffix.lower() == ".csv":
        rows: Any = [dict(row) for row in csv.DictReader(text.splitlines())]
        rows = [{key: parse(f"{key}={value}").values[0] for key, value in row.items() if value} for row in rows]
    else:
        try:
            rows = yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise InputError(f"{where}: is no YAML; write a list of lines such as `- design.documents: 40`") from error
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) and row for row in rows):
        raise InputError(f"{where}: holds no designs; give a column, or a line, for each key that differs")
    return [tuple((str(key), value) for key, value in row.items()) for row in rows]
