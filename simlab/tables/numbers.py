"""Read the scores, counts and times of a table."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from simlab.files import decimal
from simlab.messages import legible
from simlab.types import InputError

MISSING = frozenset(("", "na", "n/a", "#n/a", "n.a.", "nan", "none", "null", "missing", "-", "--", "–", "—"))
"""What stands where nothing was rated, in lower case."""
MAX_SCORE = 1e6
_COUNT = re.compile(r"\d{1,6}", re.ASCII)
_COMMA = re.compile(r"[-+]?\d*,\d+", re.ASCII)
_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2},\d{3}", re.ASCII)
_LABELLED = re.compile(r"([-+]?\d+(?:\.\d+)?)(?:\s*[:=).–—-]\s*|\s+)([^\W\d_(].*|\(.*)", re.ASCII)
_PAIRS = (
    ("false", "true"),
    ("no", "yes"),
    ("fail", "pass"),
    ("failed", "passed"),
    ("incorrect", "correct"),
    ("unresolved", "resolved"),
)
ANSWERS = {word: (float(value), pair) for pair in _PAIRS for value, word in enumerate(pair)}
"""Words that answer a question of yes or no: which score each is, and the two that belong together."""


def missing(text: str) -> bool:
    """Tell a gap from what should be a number."""
    return text.lower() in MISSING


def decimal_commas(told: str | None, apart: bool) -> bool | None:
    """Say whether a comma may be a decimal one: as told, else where no comma sets cells apart, else None: unclear.

    `apart`: something else sets cells apart.
    """
    return told == "," if told else True if apart else None


def with_point(text: str, commas: bool | None) -> str:
    """Write a decimal comma as a point; where it is unclear (None), not in what may count thousands.

    >>> with_point("3,5", True), with_point("3,5", None), with_point("1,500", None), with_point("3,5", False)
    ('3.5', '3.5', '1,500', '3,5')
    """
    if not _COMMA.fullmatch(text) or commas is False or (commas is None and _THOUSANDS.fullmatch(text)):
        return text
    return text.replace(",", ".", 1)


def score(text: str, where: str, remedy: str = "mend it, or leave it empty") -> float:
    """Read a score; raise InputError, beginning with `where` and ending with a remedy, for what is none."""
    value = decimal(text)
    if value is None:
        comma = decimal(text.replace(",", ".", 1)) is not None
        what_to_do = "write a decimal point, or say --decimal ," if comma else remedy
        raise InputError(f"{where}: score {legible(ascii(text), 40)} is not a number; {what_to_do}")
    if abs(value) > MAX_SCORE:
        raise InputError(
            f"{where}: score {legible(text, 40)} is not within -{MAX_SCORE:,.0f} and {MAX_SCORE:,.0f}; "
            "rescale the scores"
        )
    return value + 0.0  # -0.0 would be another zero


@dataclass(slots=True)
class ScoreColumn:
    """Read a column of scores that are all written in one way: as numbers, as yes and no, or a number and its label.

    `commas`: a comma in a score may be a decimal one, None: where that is clear. `ways` keeps the first cell
    written in each way and where it stands; `labels[number]` is what stands behind a number.
    """

    commas: bool | None
    ways: dict[str, tuple[str, str, float]] = field(default_factory=dict)
    labels: dict[float, str] = field(default_factory=dict)

    def read(self, text: str, where: str) -> float:
        """Read a score; raise InputError, beginning with `where`, for what is none, or is written in another way."""
        way, value = self._read(text, where)
        self.ways.setdefault(way, (text, where, value))
        for one, other in (("comma", "point"), ("comma", "label"), *((way, "word") for way in self.ways)):
            if one != other and one in self.ways and other in self.ways:
                before = self.ways[other if one == way else one]
                place = before[1].rpartition(", ")[2]
                raise InputError(
                    f"{where}: score {legible(ascii(text), 40)} is written in another way than "
                    f"{legible(ascii(before[0]), 40)} on {place}; write all scores in one way"
                )
        return value

    def _read(self, text: str, where: str) -> tuple[str, float]:
        word = ANSWERS.get(text.lower())
        if word is not None:
            return f"word {word[1][0]}" if self._other_pair(word[1]) else "word", word[0]
        if decimal(text) is None and (point := with_point(text, self.commas)) != text:
            return "comma", score(point, where)
        if decimal(text) is None and (found := _LABELLED.fullmatch(text)):
            value = score(found[1], where)
            label = " ".join(found[2].lower().split())
            # A number with two labels is no answer on a scale: 5 apples, 5 pears.
            if self.labels.setdefault(value, label) == label:
                return "label", value
        remedy = "mend it, leave it empty, or name the column of scores (--columns score=NAME)"
        return "point" if "." in text else "whole", score(text, where, remedy)

    def _other_pair(self, pair: tuple[str, str]) -> bool:
        before = self.ways.get("word")
        return before is not None and before[0].lower() not in pair

    def remarks(self) -> Iterator[str]:
        """Say in which way scores are written, where that is not as numbers."""
        if "comma" in self.ways:
            text, _, value = self.ways["comma"]
            yield f"scores have a decimal comma: {text} is {value:g}"
        if "label" in self.ways:
            text, _, value = self.ways["label"]
            yield f"of scores such as {legible(text, 40)!r} the number counts: {value:g}"
        if "word" in self.ways:
            no, yes = ANSWERS[self.ways["word"][0].lower()][1]
            yield f"scores are answers: {yes} is 1, {no} is 0"


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
