"""Tests of all pairs of systems that are judged on the suite: a table in, differences, intervals and claims out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

import numpy as np

from simlab.analysis.raters.contributions import lay_out_by_pair, spread
from simlab.analysis.raters.model_comparisons import compare_by_model
from simlab.analysis.raters.moderated import moderated_comparisons
from simlab.types import Bools, Floats, Ints, ScoredRatings
from tests.statistics import null_tables

LEVEL, DRAWS = 0.05, 1999


class Found(NamedTuple):
    """Differences of all pairs, first less second, with simultaneous intervals, infinite where nothing is known."""

    difference: Floats
    lower: Floats
    upper: Floats
    claimed: Bools


Test: TypeAlias = Callable[[Ints, Ints, Ints, Floats], Found]
"""Takes the system, document, rater and score of each rating, numbered from 0."""


def mixed_model(system: Ints, document: Ints, rater: Ints, score: Floats) -> Found:
    """Test by the mixed model for raters and documents at large, however few there are."""
    found = compare_by_model(_rated(system, document, rater, score), "apart")
    family, variance = found.family(at_large=True), found.at_large_variance
    claimed = found.comparable & (family.max_t() <= LEVEL) & (found.difference != 0)
    known = found.comparable & (variance > 0) & (found.at_large_freedom > 0)
    reach = np.where(known, family.bar(LEVEL) * np.sqrt(variance), np.inf)
    return _with_reach(found.difference, reach, claimed)


def by_rater(system: Ints, document: Ints, rater: Ints, score: Floats) -> Found:
    """Test each pair by t over what raters contribute to it, with Bonferroni's level."""
    from scipy.special import stdtrit

    sides = lay_out_by_pair(_rated(system, document, rater, score))
    gap = np.asarray(sides.mean[0] - sides.mean[1])
    variance, freedom = spread(sides, sides.rater)
    known = (variance > 0) & (freedom > 0)
    bound = stdtrit(np.where(known, freedom, 1.0), 1 - LEVEL / 2 / len(gap))
    reach = np.where(known, bound * np.sqrt(np.where(known, variance, 0.0)), np.inf)
    return _with_reach(gap, reach, np.abs(gap) > reach)


def moderated(system: Ints, document: Ints, rater: Ints, score: Floats) -> Found:
    """Test by moderated variances for raters at large; of few raters, or few effective ones, nothing is said."""
    found = moderated_comparisons(_rated(system, document, rater, score), "apart", DRAWS)
    family = found.family()
    known = found.comparable & found.at_large & (found.variance > 0)
    claimed = known & (family.max_t() <= LEVEL) & (found.difference != 0)
    reach = np.where(known, family.bar(LEVEL) * np.sqrt(found.variance), np.inf)
    return _with_reach(found.difference, reach, claimed)


TESTS: Mapping[str, Test] = {"mixed_model": mixed_model, "by_rater": by_rater, "moderated": moderated}


def _rated(system: Ints, document: Ints, rater: Ints, score: Floats) -> ScoredRatings:
    return null_tables.rated_table(null_tables.Meeting(system, rater, document, document), score)


def _with_reach(difference: Floats, reach: Floats, claimed: Bools) -> Found:
    centre = np.nan_to_num(difference)
    return Found(difference, centre - reach, centre + reach, claimed)
