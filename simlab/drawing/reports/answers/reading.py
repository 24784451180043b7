"""Read a kept answer as something that others may have written: what is not of its form is one line, not a failure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from simlab.messages import legible, shown
from simlab.types import InputError

Row = dict[str, Any]

REMEDY = "keep the answer anew with --save"
MOST_ROWS = 20_000
LARGEST = 1e15
"""No number of an answer is larger: of what is, nothing that is written would be right."""


class Kind(NamedTuple):
    """Hold what a field may be, in words, and whether a value is that."""

    rule: str
    allows: Callable[[Any], bool]


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST


def _whole(value: Any) -> bool:
    return _number(value) and value == math.floor(value) and value >= 0


def _text(value: Any) -> bool:
    return isinstance(value, str)


NUMBER = Kind("a number", _number)
MAYBE = Kind("a number or null", lambda value: value is None or _number(value))
WHOLE = Kind("a whole number from 0", _whole)
MAYBE_WHOLE = Kind("a whole number from 0, or null", lambda value: value is None or _whole(value))
TEXT = Kind("a text", _text)
MAYBE_TEXT = Kind("a text or null", lambda value: value is None or _text(value))
FLAG = Kind("true or false", lambda value: isinstance(value, bool))
TEXTS = Kind("a list of texts", lambda value: isinstance(value, list) and all(map(_text, value)))
OBJECT = Kind("an object", lambda value: isinstance(value, dict))


def one_of(names: Sequence[str]) -> Kind:
    """Return what one of these names is."""
    return Kind(f"one of {', '.join(names)}", lambda value: isinstance(value, str) and value in names)


def record(held: Any, where: str, fields: Mapping[str, Kind], optional: Mapping[str, Kind] | None = None) -> Row:
    """Return the fields of a record, whole numbers as int; those that are optional are left out where they are missing.

    Raises InputError for what is no record, has a field not or has it of another kind.
    """
    if not isinstance(held, dict):
        raise InputError(f"{where}: {shown(_brief(held))} must be an object; {REMEDY}")
    for name in fields:
        if name not in held:
            raise InputError(f"{where}: has no {name}; {REMEDY}")
    wanted = {**fields, **{name: kind for name, kind in (optional or {}).items() if name in held}}
    return {name: checked(held[name], f"{where}.{name}", kind) for name, kind in wanted.items()}


def records(held: Any, where: str, fields: Mapping[str, Kind], optional: Mapping[str, Kind] | None = None) -> list[Row]:
    """Return a list of records, as `record` returns each. Raises InputError for what is no list, or too long a one."""
    if not isinstance(held, list):
        raise InputError(f"{where}: {shown(_brief(held))} must be a list of records; {REMEDY}")
    if len(held) > MOST_ROWS:
        raise InputError(f"{where}: has {len(held):,} records, more than {MOST_ROWS:,}; {REMEDY}")
    return [record(one, f"{where}[{k}]", fields, optional) for k, one in enumerate(held)]


def filled(held: Any, where: str, fields: Mapping[str, Kind], optional: Mapping[str, Kind] | None = None) -> list[Row]:
    """Return a list of records that has one at least. Raises InputError as `records` does, and for an empty list."""
    found = records(held, where, fields, optional)
    if not found:
        raise InputError(f"{where}: is empty, so that there is nothing to report; {REMEDY}")
    return found


def wrong(where: str, why: str) -> InputError:
    """Return the error for what is of the right kinds, and still no answer."""
    return InputError(f"{where}: {why}; {REMEDY}")


def command(saved: Mapping[str, Any]) -> str:
    """Return the command line of a kept answer on one line. Raises InputError where it has none."""
    held = saved.get("command")
    if not isinstance(held, str):
        raise InputError(f"command: {shown(_brief(held))} must be the command line of the answer; {REMEDY}")
    return legible(held, 2000)


def provenance(saved: Mapping[str, Any]) -> dict[str, str]:
    """Say which simlab kept an answer."""
    return {"simlab": legible(saved.get("simlab", "unknown"), 60), "command": command(saved)}


def known(row: Row) -> Row:
    """Return a record with NaN for what is null."""
    return {name: math.nan if held is None else held for name, held in row.items()}


def checked(held: Any, where: str, kind: Kind) -> Any:
    """Return a value, whole numbers as int; raise InputError for one of another kind."""
    if not kind.allows(held):
        raise InputError(f"{where}: {shown(_brief(held))} must be {kind.rule}; {REMEDY}")
    return int(held) if kind in (WHOLE, MAYBE_WHOLE) and held is not None else held


def _brief(held: Any) -> Any:
    """Return what fits in a line: of a list or an object, that it is one."""
    if isinstance(held, dict | list):
        return f"{'an object' if isinstance(held, dict) else 'a list'} of {len(held)}"
    if isinstance(held, int) and not isinstance(held, bool) and abs(held) > LARGEST:
        return "a number of many digits"
    return legible(held, 60) if isinstance(held, str) else held
