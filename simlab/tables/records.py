"""Read JSON as a table: a list of records, or one record after the other, each a row of cells."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from simlab.messages import legible
from simlab.tables.lines import REMEDY, beginning, whole_text
from simlab.types import InputError

MOST_BYTES = 1 << 28
"""Parsed, a file takes about ten times as much memory."""
FORM = (
    'JSON is read as records: a list of them, or one a line, such as {"system": "A", "document": 1, "rater": "r1", '
    '"score": 4}'
)
_BLANK = re.compile(r"[ \t\r\n]*")


class Records(NamedTuple):
    """The keys of records in the order in which they come first, and a row of cells each with the number of its line.

    `where` names the file in messages.
    """

    where: str
    keys: tuple[str, ...]
    rows: list[tuple[int, list[str]]]


def is_json(path: Path, remedy: str = REMEDY) -> bool:
    """Tell JSON by its content: it begins with a bracket, and no header of a table does."""
    return beginning(path, remedy) in ("[", "{")


def first_record(path: Path) -> Mapping[str, Any]:
    """Return the first record of a file; an empty one where it holds none that can be read."""
    if not path.is_file() or not is_json(path):
        return {}
    try:
        return next(_records(whole_text(path, MOST_BYTES), legible(path)), (0, {}))[1]
    except InputError:
        return {}


def read_records(path: Path) -> Records:
    """Read all records of a file; a key that a record lacks is an empty cell.

    Raises InputError naming the line of what is no JSON, and for JSON that is something else than records.
    """
    where = legible(path)
    found = list(_records(whole_text(path, MOST_BYTES), where))
    if not found:
        raise InputError(f"{where}: holds no record; {FORM}")
    if len(found) == 1 and any(isinstance(value, list | dict) for value in found[0][1].values()):
        shown = legible(", ".join(found[0][1]), 100)
        raise InputError(f"{where}: holds one JSON object with the keys {shown}; {FORM}")
    keys = tuple(dict.fromkeys(key for _, record in found for key in record))
    lines = [line for line, _ in found]
    if len(set(lines)) < len(lines):
        where = f"{where} (record by record)"
        lines = list(range(1, len(found) + 1))
    cells = ([_cell(record.get(key)) for key in keys] for _, record in found)
    return Records(where, keys, list(zip(lines, cells, strict=True)))


def _records(text: str, where: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Go through records and the lines that they begin on."""
    line, before = 1, 0
    for at, value in _values(text, where):
        line += text.count("\n", before, at)
        before = at
        if not isinstance(value, dict):
            kind = "a list" if isinstance(value, list) else "a text" if isinstance(value, str) else "a number"
            raise InputError(f"{where}, line {line}: holds {kind} where a record is read; {FORM}")
        yield line, value


def _values(text: str, where: str) -> Iterator[tuple[int, Any]]:
    """Go through the elements of a list, or values that follow each other, and their places."""
    decoder = json.JSONDecoder()
    at = _after_blanks(text, 0)
    listed = text[at : at + 1] == "["
    at = _after_blanks(text, at + 1) if listed else at
    closed = "]" if listed else ""
    while text[at : at + 1] != closed:
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            place = getattr(error, "pos", at)
            said = legible(getattr(error, "msg", "nested too deeply"), 60)
            raise InputError(
                f"{where}, line {text.count(chr(10), 0, place) + 1}: is no JSON ({said}); mend it"
            ) from error
        yield at, value
        at = _after_blanks(text, end)
        if text[at : at + 1] == ",":
            at = _after_blanks(text, at + 1)
        elif listed and text[at : at + 1] != "]":
            line = text.count("\n", 0, at) + 1
            raise InputError(
                f"{where}, line {line}: the list of records does not go on with a comma, nor ends; mend it"
            )


def _after_blanks(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return at if found is None else found.end()


def _cell(value: Any) -> str:
    """Write a value as a cell; several words, such as a model and its prompt, are joined."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
        return " ".join(value)
    return json.dumps(value, ensure_ascii=False) if not isinstance(value, bool) else str(value)
