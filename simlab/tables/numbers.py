"""Read the scores, counts and times of a table."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from datetime import datetime

from simlab.files import decimal
from simlab.messages import legible
from simlab.types import InputError

MISSING = frozenset(("", "na", "n/a", "nan", "none", "null"))
"""What stands where nothing was rated, in lower case."""
MAX_SCORE = 1e6
_COUNT = re.compile(r"\d{1,6}", re.ASCII)


def missing(text: str) -> bool:
    """Tell a gap from what should be a number."""
    return text.lower() in MISSING


def score(text: str, where: str) -> float:
    """Read a score; raise InputError, beginning with `where`, for what is none."""
    value = decimal(text)
    if value is None:
        comma = "; write a decimal point" if decimal(text.replace(",", ".", 1)) is not None else ""
        raise InputError(f"{where}: score {legible(ascii(text), 40)} is not a number{comma}")
    if abs(value) > MAX_SCORE:
        raise InputError(f"{where}: score {legible(text, 40)} is not within -{MAX_SCORE:,.0f} and {MAX_SCORE:,.0f}")
    return value + 0.0  # -0.0 would be another zero


def count(column: str, text: str, where: str) -> int:
    """Read a number of errors; raise InputError, beginning with `where`, for what is none."""
    if not _COUNT.fullmatch(text):
        given = legible(ascii(text), 40)
        raise InputError(f"{where}: {column} {given} is not a count of errors (a whole number from 0)")
    return int(text)


def seconds(column: str, text: str, where: str) -> float:
    """Read a time, as seconds or as a date of ISO 8601; NaN for a gap.

    Raises InputError, beginning with `where`, for what is none.
    """
    if missing(text):
        return math.nan
    value = decimal(text)
    if value is None:
        try:
            value = datetime.fromisoformat(text).timestamp()
        except (ValueError, OverflowError, OSError) as error:
            given = legible(ascii(text), 40)
            raise InputError(f"{where}: {column} {given} is no time; write seconds, or 2024-03-01T12:00:00") from error
    return value


def each(texts: Sequence[str], read: Callable[[str, str], float], at: Callable[[int], str]) -> list[float]:
    """Read cells, each text once: scores repeat. `at(k)` says where cell k stands, for messages."""
    first: dict[str, int] = {}
    for k, text in enumerate(texts):
        first.setdefault(text, k)
    known = {text: read(text, at(k)) for text, k in first.items()}
    return [known[text] for text in texts]


def all_numbers(texts: Sequence[str]) -> list[float] | None:
    """Read cells that are all numbers or gaps (NaN); None where one is neither."""
    values = [math.nan if missing(text) else decimal(text) for text in texts]
    return None if any(value is None for value in values) else [value for value in values if value is not None]
