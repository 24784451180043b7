"""Read the scores, counts and times in cells of a table, and find scores that are probably slips of the pen.

`score`, `count` and `seconds` read a cell, `find_far_scores` returns the slips.

A score is far outside if its distance from the median is more than FAR times the distance within which 95 % of the
other scores lie, on their own scale *and* on a log scale. The first alone would flag the tails of sums of errors and of
magnitudes, the second alone scores near 0. Where the others are on a scale of 0 to 100, no score on it is flagged. Of
clean tables of sums of errors, magnitudes (lognormal, log sd up to 1.5), bounded scores and categories, of 20 to 5,000
scores, fewer than 1 % have any such score (`tests/tables/test_slips.py` simulates them).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np

from simlab.files import read_decimal
from simlab.messages import clip
from simlab.types import Bools, Floats, InputError, Ints

MISSING = frozenset(("", "na", "n/a", "#n/a", "n.a.", "nan", "none", "null", "missing", "-", "--", "–", "—"))
"""Cells of missing scores, in lower case."""
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
"""Answers of yes and no: the score of each word, and the pair of words that it belongs to."""
FAR = 3.5
SIGNED_FAR = 100.0
"""FAR for scores of both signs, which have no log scale; heavy tails (t with 3 degrees of freedom) reach 10."""
FEWEST = 20
MOST_SHARE, LEAST_SUSPECTS = 0.005, 2
_ENOUGH, _ENOUGH_ABOVE = 5, 16


def is_missing(text: str) -> bool:
    """True if a cell is a gap and not a mistyped number."""
    return text.lower() in MISSING


def decide_commas(decimal: str | None, apart: bool) -> bool | None:
    """True if a comma is a decimal one by the user's `decimal`, or if cells are not cut at commas; None: unclear.

    `apart`: cells are cut at another mark.
    """
    return decimal == "," if decimal else True if apart else None


def write_point(text: str, commas: bool | None) -> str:
    """Write a decimal comma as a point; where it is unclear (None), not in what may count thousands.

    >>> write_point("3,5", True), write_point("3,5", None), write_point("1,500", None), write_point("3,5", False)
    ('3.5', '3.5', '1,500', '3,5')
    """
    if not _COMMA.fullmatch(text) or commas is False or (commas is None and _THOUSANDS.fullmatch(text)):
        return text
    return text.replace(",", ".", 1)


def score(text: str, where: str, remedy: str = "mend it, or leave it empty") -> float:
    """Read a score; raise InputError, beginning with `where` and ending with `remedy`, for any other text."""
    value = read_decimal(text)
    if value is None:
        comma = read_decimal(text.replace(",", ".", 1)) is not None
        what_to_do = "write a decimal point, or say --decimal ," if comma else remedy
        raise InputError(f"{where}: score {clip(ascii(text), 40)} is not a number; {what_to_do}")
    if abs(value) > MAX_SCORE:
        raise InputError(
            f"{where}: score {clip(text, 40)} is not within -{MAX_SCORE:,.0f} and {MAX_SCORE:,.0f}; rescale the scores"
        )
    return value + 0.0  # -0.0 would be another zero


@dataclass(slots=True)
class ScoreColumn:
    """Read a column of scores that are all written in one way: as numbers, as yes and no, or a number and its label.

    `commas`: a comma may be a decimal one (None: where that is clear). `ways` keeps the first cell written in each way
    and its place; `labels[number]` is the label behind a number.
    """

    commas: bool | None
    ways: dict[str, tuple[str, str, float]] = field(default_factory=dict)
    labels: dict[float, str] = field(default_factory=dict)

    def read(self, text: str, where: str) -> float:
        """Read a score; raise InputError, beginning with `where`, for what is none, or is written in another way."""
        way, value = self._read(text, where)
        self.ways.setdefault(way, (text, where, value))
        for first, second in (("comma", "point"), ("comma", "label"), *((way, "word") for way in self.ways)):
            if first != second and first in self.ways and second in self.ways:
                before = self.ways[second if first == way else first]
                place = before[1].rpartition(", ")[2]
                raise InputError(
                    f"{where}: score {clip(ascii(text), 40)} is written in another way than "
                    f"{clip(ascii(before[0]), 40)} on {place}; write all scores in one way"
                )
        return value

    def _read(self, text: str, where: str) -> tuple[str, float]:
        word = ANSWERS.get(text.lower())
        if word is not None:
            return f"word {word[1][0]}" if self._other_pair(word[1]) else "word", word[0]
        if read_decimal(text) is None and (point := write_point(text, self.commas)) != text:
            return "comma", score(point, where)
        if read_decimal(text) is None and (match := _LABELLED.fullmatch(text)):
            value = score(match[1], where)
            label = " ".join(match[2].lower().split())
            # A number with two labels is no answer on a scale: 5 apples, 5 pears.
            if self.labels.setdefault(value, label) == label:
                return "label", value
        remedy = "mend it, leave it empty, or name the column of scores (--columns score=NAME)"
        return "point" if "." in text else "whole", score(text, where, remedy)

    def _other_pair(self, pair: tuple[str, str]) -> bool:
        before = self.ways.get("word")
        return before is not None and before[0].lower() not in pair

    def remarks(self) -> Iterator[str]:
        """State in which way scores are written, where that is not as numbers."""
        if "comma" in self.ways:
            text, _, value = self.ways["comma"]
            yield f"scores have a decimal comma: {text} is {value:g}"
        if "label" in self.ways:
            text, _, value = self.ways["label"]
            yield f"of scores such as {clip(text, 40)!r} the number counts: {value:g}"
        if "word" in self.ways:
            no, yes = ANSWERS[self.ways["word"][0].lower()][1]
            yield f"scores are answers: {yes} is 1, {no} is 0"


def count(column: str, text: str, where: str) -> int:
    """Read a number of errors; raise InputError, beginning with `where`, for any other text."""
    if not _COUNT.fullmatch(text):
        given = clip(ascii(text), 40)
        raise InputError(f"{where}: {column} {given} is not a count of errors (a whole number from 0)")
    return int(text)


def seconds(column: str, text: str, where: str) -> float:
    """Read a time, as seconds or as a date of ISO 8601; NaN for a gap.

    Raises InputError, beginning with `where`, for what is none.
    """
    if is_missing(text):
        return math.nan
    value = read_decimal(text)
    if value is None:
        try:
            value = datetime.fromisoformat(text).timestamp()
        except (ValueError, OverflowError, OSError) as error:
            given = clip(ascii(text), 40)
            raise InputError(f"{where}: {column} {given} is no time; write seconds, or 2024-03-01T12:00:00") from error
    return value


def read_each(texts: Sequence[str], read: Callable[[str, str], float], at: Callable[[int], str]) -> list[float]:
    """Read cells, each text once: scores repeat. `at(k)` says where cell k stands, for messages."""
    first: dict[str, int] = {}
    for k, text in enumerate(texts):
        first.setdefault(text, k)
    known = {text: read(text, at(k)) for text, k in first.items()}
    return [known[text] for text in texts]


def all_numbers(texts: Sequence[str]) -> list[float] | None:
    """Read cells that are all numbers or gaps (NaN); None where one is neither."""
    values = [math.nan if is_missing(text) else read_decimal(text) for text in texts]
    return None if any(value is None for value in values) else [value for value in values if value is not None]


class FarScores(NamedTuple):
    """Scores that are far outside of the others, with the lines of their table; the others go from `low` to `high`."""

    lines: tuple[int, ...]
    scores: tuple[float, ...]
    low: float
    high: float

    def phrase(self) -> str:
        """State which scores these are.

        >>> FarScores((7, 9, 12), (650, 777, 1e4), 55, 80).phrase()
        'score 650 is far outside of the others (55 to 80), as are those of lines 9, 12'
        """
        more = ", ".join(map(str, self.lines[1:4])) + (", ..." if len(self.lines) > 4 else "")
        also = f", as {'is that of line' if len(self.lines) == 2 else 'are those of lines'} {more}" if more else ""
        return f"score {self.scores[0]:g} is far outside of the others ({self.low:g} to {self.high:g}){also}"

    def record(self) -> dict[str, Any]:
        """Return the same for programs."""
        far = {"lines": list(self.lines), "scores": list(self.scores), "others": [self.low, self.high]}
        return {"far_outside": far}

    def refusal(self, file: str, rests: str = "") -> InputError:
        """Return the error that refuses a table for these scores; `rests` names the results that depend on them."""
        low, high = min(self.low, *self.scores), max(self.high, *self.scores)
        magnitudes = "; of magnitudes without bounds write logarithms or ranks" if 0 < self.low < self.high / 20 else ""
        mend = "mend the cell" if len(self.lines) == 1 else "mend the cells"
        return InputError(
            f"{file}, line {self.lines[0]}: {self.phrase()}{rests}; {mend}, or say --scale {low:g}..{high:g} if that "
            f"is meant{magnitudes}"
        )


def find_far_scores(score: Floats, line: Ints) -> FarScores | None:
    """Return the scores that are far outside of the others, with their lines; None where there are none."""
    far = find_outliers(score)
    if not len(far):
        return None
    others = np.delete(score, far)
    return FarScores(
        tuple(np.asarray(line)[far].tolist()), tuple(score[far].tolist()), float(others.min()), float(others.max())
    )


def find_outliers(score: Floats) -> Ints:
    """Return the indices of scores far outside of the others, in order; none if more than 2 and more than .5 % are.

    >>> find_outliers(np.append(np.linspace(55, 80, 30), 11111)).tolist()
    [30]
    """
    if len(score) < FEWEST:
        return np.zeros(0, np.int64)
    most = max(LEAST_SUSPECTS, math.floor(MOST_SHARE * len(score)))
    middle = float(np.median(score))
    order = np.argsort(np.abs(score - middle), kind="stable")
    # Without the farthest: a slip of the pen must not widen the bar that it is held against.
    others = score[order[:-most]]
    far = np.flatnonzero(_is_far(score, others, middle))
    # More than that are the tail of a law, and no slips.
    return far if len(far) <= most else np.zeros(0, np.int64)


def _is_far(score: Floats, others: Floats, middle: float) -> Bools:
    least, largest = float(others.min()), float(others.max())
    if least < 0 < largest:
        return _distance(score, others, middle) > SIGNED_FAR
    if largest <= 0 and least < 0:
        return _is_far(-score, -others, -middle)
    positive = others[others > 0]
    if not len(positive):
        return np.zeros(len(score), bool)
    # Sums of errors are 0 more often than not: their log scale begins at a usual one.
    unit = 0.0 if least > 0 else float(np.median(positive))
    above = np.maximum(score, 0 if unit else least)
    logs = [np.log1p(part / unit) if unit else np.log(part) for part in (above, others, np.array([max(middle, 0.0)]))]
    beyond = _distance(score, others, middle) > FAR
    high = beyond & (score > largest) & (_distance(logs[0], logs[1], float(logs[2][0])) > FAR)
    low = beyond & (score < 0)
    percent = 10 < largest <= 100
    return np.asarray((high & ~(percent & (score <= 100))) | low)


def _distance(score: Floats, others: Floats, middle: float) -> Floats:
    """Return how many times farther from the middle scores are than 95 % of the others on their side of it.

    Where hardly any lies above the middle, as where most reach the end of their scale, both sides count.
    """
    above = others[others > middle] - middle
    apart = above if len(above) >= _ENOUGH_ABOVE else np.abs(others - middle)[others != middle]
    if len(apart) < _ENOUGH:
        return np.zeros(len(score))
    return np.asarray(np.abs(score - middle) / float(np.quantile(apart, 0.95)))
