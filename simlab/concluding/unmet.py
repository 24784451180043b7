"""Say which groups of people a sample of raters may have missed: a limit of every conclusion about raters at large."""

from __future__ import annotations

from simlab.answers.conclude import Conclusion, UnmetPeople

ONE_IN_FIVE = 0.2

SURE = 0.05
"""Chance of meeting none of a group up to which the group counts as one that may not have been met."""


def unmet_people(n_raters: int) -> UnmetPeople:
    """Return the groups of people that so many raters may have missed.

    >>> [round(one, 3) for one in dict(unmet_people(10)).values()]
    [10, 0.259, 0.107]
    """
    return UnmetPeople(
        raters=n_raters, unmet_share=1 - SURE ** (1 / n_raters), one_in_five_unmet=(1 - ONE_IN_FIVE) ** n_raters
    )


def raters_at_large(found: Conclusion) -> int | None:
    """Count the raters of a conclusion about ratings that takes them as drawn; None where it speaks of these alone."""
    n = found.read.get("raters")
    return n if found.about.get("raters") == "drawn" and isinstance(n, int) and n > 0 else None
