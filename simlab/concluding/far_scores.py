"""Warn of two limits of any conclusion: scores far outside of the others, and people whom no rater stands for.

`check_far_scores` concludes again without far scores; `unmet_people` bounds the share of people that a sample missed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from simlab.answers.conclude import Conclusion, UnmetPeople
from simlab.answers.standings import Limit, Rank
from simlab.concluding.options import ConcludeOptions
from simlab.messages import clip, pluralise
from simlab.tables.numbers import FarScores

ONE_IN_FIVE = 0.2

SURE = 0.05
"""Chance of meeting none of a group up to which the group counts as one that may not have been met."""


def unmet_people(n_raters: int) -> UnmetPeople:
    """Return the share of people that a sample of raters may have missed, and the chance that it missed one in five.

    >>> [round(one, 3) for one in dict(unmet_people(10)).values()]
    [10, 0.259, 0.107]
    """
    return UnmetPeople(
        # A group of share q is missed by n raters with probability (1 - q)^n; solving for .05 gives the share.
        # No test for raters at large can do better (rare blocs).
        raters=n_raters,
        unmet_share=1 - SURE ** (1 / n_raters),
        one_in_five_unmet=(1 - ONE_IN_FIVE) ** n_raters,
    )


def raters_at_large(conclusion: Conclusion) -> int | None:
    """Count the raters of a conclusion about ratings that takes them as drawn; None where it speaks of these alone."""
    n = conclusion.read.get("raters")
    return n if conclusion.about.get("raters") == "drawn" and isinstance(n, int) and n > 0 else None


def is_undecided(read: Mapping[str, Any], wanted: ConcludeOptions) -> bool:
    """True if a table has scores far outside, of which nobody knows yet whether they decide anything."""
    return read.get("far_outside") is not None and not wanted.far_checked


def check_far_scores(
    table: Path, conclusion: Conclusion, without: Callable[[tuple[int, ...]], Conclusion]
) -> tuple[Limit, ...]:
    """Return a limit saying that scores far outside change no claim; empty where there are no such scores.

    `without` concludes without the lines of those scores. Raises InputError naming the first of them where a claim, the
    order of the systems, or the verdict of an interval on a pair differs without them.
    """
    if (record := conclusion.read.get("far_outside")) is None:
        return ()
    far = FarScores(tuple(record["lines"]), tuple(record["scores"]), *record["others"])
    if (changed := _describe_change(conclusion, without(far.lines))) is not None:
        raise far.refusal(clip(table), f", and without {_refer_to(far.lines)} {changed}")
    same = f"without {_refer_to(far.lines)} claims, order and intervals say the same"
    return (Limit(f"line {far.lines[0]}: {far.phrase()}; {same}", Rank.LEFT_OUT),)


def _refer_to(lines: tuple[int, ...]) -> str:
    return "it" if len(lines) == 1 else f"these {pluralise(len(lines), 'score')}"


def _describe_change(conclusion: Conclusion, other: Conclusion) -> str | None:
    """State what is another in the second of two conclusions; None where nothing is."""
    if _claims(conclusion) != _claims(other):
        return "other claims are made"
    if _order(conclusion) != _order(other):
        return "the order of the systems is another"
    if _signs(conclusion) != _signs(other):
        return "intervals say something else"
    return None


def _claims(conclusion: Conclusion) -> dict[tuple[str, str], tuple[int, str | None]]:
    # A verdict on the margin is a claim, too: "within" may change where no difference is claimed.
    return {(pair.first, pair.second): (pair.verdict, pair.within) for pair in conclusion.pairs}


def _order(conclusion: Conclusion) -> list[str]:
    # NaN has no place in an order, and would make it depend on where it started.
    known = [system for system in conclusion.systems if math.isfinite(system.estimate)]
    return [system.system for system in sorted(known, key=lambda one: (one.estimate, one.system))]


def _signs(conclusion: Conclusion) -> dict[tuple[str, str], int]:
    """Return on which side of 0 the interval of each pair lies; 0: it covers 0."""
    return {(pair.first, pair.second): (pair.low > 0) - (pair.high < 0) for pair in conclusion.pairs}
