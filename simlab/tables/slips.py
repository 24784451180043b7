"""Find scores so far outside that a slip of the pen is likelier than a rater who meant them.

A score is far outside if its distance from the median is more than FAR times what 95 % of the other scores keep to, as
it stands *and* on a log scale. The first alone would flag the tails of sums of errors and of magnitudes, the second
alone what is near to nothing. Scores within 0 to 100 are none where the others are on that scale. Of clean tables of
sums of errors, magnitudes (lognormal, log sd up to 1.5), bounded scores and categories, of 20 to 5,000 scores, fewer
than 1 % have any such score (`tests/tables/test_slips.py` simulates them).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from simlab.types import Bools, Floats, InputError, Ints

FAR = 3.5
SIGNED_FAR = 100.0
"""Scores of both signs have no log scale; those of heavy tails (t with 3 degrees of freedom) reach 10."""
FEWEST = 20
MOST_SHARE, LEAST_SUSPECTS = 0.005, 2
_ENOUGH, _ENOUGH_ABOVE = 5, 16


class FarScores(NamedTuple):
    """Scores that are far outside of the others, with the lines of their table; the others go from `low` to `high`."""

    lines: tuple[int, ...]
    scores: tuple[float, ...]
    low: float
    high: float

    def phrase(self) -> str:
        """Say which scores these are.

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
        """Return the line that refuses a table for them; `rests` says what rests on them."""
        low, high = min(self.low, *self.scores), max(self.high, *self.scores)
        magnitudes = "; of magnitudes without bounds write logarithms or ranks" if 0 < self.low < self.high / 20 else ""
        mend = "mend the cell" if len(self.lines) == 1 else "mend the cells"
        return InputError(
            f"{file}, line {self.lines[0]}: {self.phrase()}{rests}; {mend}, or say --scale {low:g}..{high:g} if that "
            f"is meant{magnitudes}"
        )


def find_far_scores(score: Floats, line: Ints) -> FarScores | None:
    """Return the scores that are far outside of the others, with their lines; None where there are none."""
    far = far_outside(score)
    if not len(far):
        return None
    others = np.delete(score, far)
    return FarScores(
        tuple(np.asarray(line)[far].tolist()), tuple(score[far].tolist()), float(others.min()), float(others.max())
    )


def far_outside(score: Floats) -> Ints:
    """Return which scores are far outside of the others, in order; at most 2, or .5 % of them, are.

    >>> far_outside(np.append(np.linspace(55, 80, 30), 11111)).tolist()
    [30]
    """
    if len(score) < FEWEST:
        return np.zeros(0, np.int64)
    most = max(LEAST_SUSPECTS, math.floor(MOST_SHARE * len(score)))
    middle = float(np.median(score))
    order = np.argsort(np.abs(score - middle), kind="stable")
    others = score[order[:-most]]
    far = np.flatnonzero(_is_far(score, others, middle))
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
