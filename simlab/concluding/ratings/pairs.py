"""Lay out what is concluded about pairs of systems: differences, claims, margins, and what would settle the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from simlab.analysis.settling import Seen, needed
from simlab.analysis.simultaneous import consistent
from simlab.answers.conclude import FamilySays, More, Pair
from simlab.concluding.ratings.intervals import Spans
from simlab.concluding.standing import within
from simlab.concluding.wanted import Wanted
from simlab.types import Array, Bools, Floats

MOST_DOCUMENTS, MOST_RATERS = 100_000, 1_000
"""Beyond so many more nothing is foreseen."""
ANSWERS = "ratings of these two"


class Verdicts(NamedTuple):
    """Hold of each pair its p-value, the one adjusted for its family, the direction and the verdict.

    `family` marks the pairs that the promise is about; of others the adjusted p-value is not known.
    """

    p_value: Floats
    adjusted: Floats
    direction: Array
    verdict: Array
    family: Bools


def pairs_of(
    names: Sequence[str],
    found: Verdicts,
    told: Spans,
    wanted: Wanted,
    *,
    lower_is_better: bool,
    widest: float,
    blind: bool,
    raters_drawn: bool,
    marks: Sequence[FamilySays | None],
) -> tuple[Pair, ...]:
    """Return the pairs of the family, in the order of the systems' names; no two means differ by more than `widest`.

    What would settle a pair is not foreseen where units are so few that nothing could be claimed: the bar is not known.
    Nor is it where the test of all pairs is `blind`, whose bar pairs of few raters rule, or where nothing scatters.
    """
    known = told.within_reach & told.scatter & (not blind)
    foreseen, detectable = known & (found.verdict == 0), told.detectable
    first, second = np.triu_indices(len(names), 1)
    model = told.of.comparisons
    at_large = np.full(len(first), raters_drawn) if model is None else model.at_large
    means = told.of.centre
    low, high = consistent(means, *told.bounds(), found.verdict != 0)
    unknown = ~told.of.known
    means = np.where(unknown, np.nan, means)
    low, high = np.where(unknown, -np.inf, low), np.where(unknown, np.inf, high)
    # Infinite bounds say that nothing is known of a spread; finite ones end where the scale does.
    low, high = (np.where(np.isfinite(of), np.clip(of, -widest, widest), of) for of in (low, high))
    return tuple(
        Pair(
            first=names[first[k]],
            second=names[second[k]],
            difference=float(means[k]),
            low=float(low[k]),
            high=float(high[k]),
            p_value=float(found.p_value[k]),
            adjusted=float(found.adjusted[k]),
            direction=int(found.direction[k]),
            verdict=int(found.verdict[k]),
            within=None if wanted.margin is None else within(low[k], high[k], wanted.margin, lower=lower_is_better),
            more=needed_more(told, int(k)) if foreseen[k] else None,
            plain_mean=float(told.of.means[k]),
            scope="raters_at_large" if at_large[k] else "these_raters",
            detectable=float(detectable[k]) if known[k] else None,
            family=marks[int(k)],
        )
        for k in np.flatnonzero(found.family)
    )


def needed_more(told: Spans, k: int) -> More:
    """Return how many more documents settle an open pair, or raters as busy as now where claims are about others, too.

    Raters who stay the same leave a part of the variance that documents do not shrink. How large it is a table hardly
    says: where it was estimated at 0, further documents of the same raters were found to settle half of what they were
    said to settle.
    """
    of = told.of
    value, variance, bar = float(of.centre[k]), float(of.variance[k]), float(told.bar[k])
    documents, raters, each = float(of.documents[k]), float(of.raters[k]), float(told.per_document[k])
    if of.lasts[k]:
        found = needed(Seen(value, variance, 0.0, bar, raters), MOST_RATERS)
        return More.of("raters", *found, limit=MOST_RATERS, per_unit=each * documents / raters, answers=ANSWERS)
    found = needed(Seen(value, variance, 0.0, bar, documents), MOST_DOCUMENTS)
    return More.of("documents", *found, limit=MOST_DOCUMENTS, per_unit=each, answers=ANSWERS)
