"""List systems, their pairs and raters with intervals that agree with the test of differences.

`spans` returns the uncertainty of all differences; `list_systems`, `list_pairs` and `list_raters` make the records of a
conclusion. Pairs are i < j in the order of the systems, `[pair]`; `rated` are the normalised ratings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from simlab.analysis.needed_units import ObservedEstimate, count_needed_units, least_detectable_difference
from simlab.analysis.raters.leniency import leniency
from simlab.analysis.raters.model_comparisons import ModelComparisons
from simlab.analysis.raters.moderated import UNSHARED
from simlab.analysis.raters.uncertainty import (
    Uncertainty,
    means,
    uncertainty_of_both,
    uncertainty_of_documents,
    uncertainty_of_model,
    uncertainty_of_raters,
    uncertainty_of_t_tests,
)
from simlab.analysis.simultaneous import bar, reconcile_intervals
from simlab.answers.standings import FamilySays, More, Pair, Rater, System
from simlab.concluding.options import ConcludeOptions
from simlab.concluding.possible_ranks import bound_ranks, compare_with_margin
from simlab.formulas import SLACK
from simlab.parts import name_of
from simlab.types import Array, Bools, Collected, Floats, ScoredRatings

DOCUMENTS, RATERS, BOTH = frozenset({"documents"}), frozenset({"raters"}), frozenset({"raters", "documents"})
DRAWN: Mapping[str, frozenset[str]] = {
    "permutation": DOCUMENTS,
    "normal": DOCUMENTS,
    "rater_flips": RATERS,
    "by_rater": RATERS,
    "crossed_flips": BOTH,
    "mixed_model": BOTH,
    "moderated": BOTH,
    "two_way": BOTH,
}
"""Units that each test takes as a sample from more; tests that are not listed take documents so."""

MODELS = ("mixed_model", "moderated")
"""Tests of the differences that the mixed model estimates."""

_OF: Mapping[str, Callable[[ScoredRatings], Uncertainty]] = {
    "rater_flips": uncertainty_of_raters,
    "crossed_flips": uncertainty_of_both,
    "by_rater": lambda rated: uncertainty_of_t_tests(rated, crossed=False),
    "two_way": lambda rated: uncertainty_of_t_tests(rated, crossed=True),
}


FLIPS = 2000
"""Number of random flips behind intervals."""


ROUNDING = 1e-9
"""Share of the largest score below which sums of scores are equal up to rounding."""

FEW, MUCH = 12, 1.2
"""Below so many units intervals are of Bonferroni's t; bounds of flips beyond it by this factor come from few units."""

MOST_DOCUMENTS, MOST_RATERS = 100_000, 1_000
"""Largest numbers of further documents and raters that are foreseen."""
ANSWERS = "ratings of these two"


class Spans(NamedTuple):
    """Uncertainty of differences, `[pair]`, and the number of standard errors that each must differ from 0: its `bar`.

    `per_document` is the number of ratings of the two systems on a document that both have. `scatter` marks pairs whose
    differences vary at all: the table does not show the error of others.
    """

    uncertainty: Uncertainty
    bar: Floats
    per_document: Floats
    scatter: Bools

    @property
    def error(self) -> Floats:
        """Return standard errors; infinite where nothing is known."""
        return np.asarray(np.sqrt(self.uncertainty.variance))

    @property
    def within_reach(self) -> Bools:
        """Return which differences could be claimed if they were large enough."""
        return np.isfinite(self.bar) & np.isfinite(self.uncertainty.variance) & self.uncertainty.known

    @property
    def detectable(self) -> Floats:
        """Return the difference of each pair that such a table finds with 80 %; NaN where it is not known."""
        differences, of = np.full(len(self.bar), np.nan), self.uncertainty.comparisons
        freedom = self.uncertainty.freedom if of is None or of.null is None else self.uncertainty.freedom - UNSHARED
        for k in np.flatnonzero(self.within_reach & self.scatter):
            differences[k] = least_detectable_difference(float(self.bar[k]), float(self.error[k]), float(freedom[k]))
        return differences

    def bounds(self) -> tuple[Floats, Floats]:
        """Return the bounds of all differences at once."""
        known = self.within_reach & self.scatter
        # Zeros in place of what is not known: infinity times 0 is NaN, and warns.
        reach = np.where(known, np.where(known, self.bar, 0.0) * np.where(known, self.error, 0.0), np.inf)
        return self.uncertainty.centre - reach, self.uncertainty.centre + reach


def adjust_false_coverage(spans: Spans, n_claimed: int, family: Bools, level: float) -> Spans:
    """Return intervals of which, among those of claimed pairs, a share of `level` misses on average.

    Each has the level times the share of pairs that is claimed; where none is, that of one. Those of false discovery
    rates hold 0 where and only where nothing is claimed. Source: Benjamini and Yekutieli 2005.
    """
    share = max(n_claimed, 1) / max(int(family.sum()), 1)
    return spans._replace(
        bar=np.where(np.isfinite(spans.bar), _find_t_quantile(spans.uncertainty.freedom, level * share), np.inf)
    )


def find_drawn_units(test: Mapping[str, Any]) -> frozenset[str]:
    """Return the units, raters or documents, that a test (its config) takes as a sample."""
    return DRAWN.get(name_of(test), DOCUMENTS)


def find_drawn_in_family(model: ModelComparisons, family: Bools) -> frozenset[str]:
    """Return the units that the tests of a family take as a sample; raters are in it if any pair takes them so."""
    return BOTH if model.at_large[family & model.comparable].any() else DOCUMENTS


def uncertainty(test: Mapping[str, Any], rated: ScoredRatings) -> Uncertainty:
    """Return the uncertainty of differences; `test` is the config of the test, which fixes the units of sampling."""
    if name_of(test) in MODELS:
        return uncertainty_of_model(rated, test["pools"], test.get("draws"))
    return _OF.get(name_of(test), uncertainty_of_documents)(rated)


def spans(
    test: Mapping[str, Any],
    rated: ScoredRatings,
    family: Bools,
    level: float,
    rng: np.random.Generator | None,
    times: int = 1,
) -> Spans:
    """Return the uncertainty of all differences of a family of pairs at once; with no `rng`, of each by itself.

    The bar is that of the family of a model, or of flips; Bonferroni's t where units are few, whose flips vary too
    little, and where it is much lower: pairs of few documents among others of many would else leave all without bounds.
    Tests without flips have t. `times` is the largest factor on p-values in the analysis: pairs that cannot be claimed
    then have no bounds.
    """
    of = uncertainty(test, rated)
    enough = _has_enough_units(test, of, level / times)
    shared = 1 if rng is None else max(int(family.sum()), 1)
    reach = _find_t_quantile(of.freedom, level / shared)
    met = family & (of.documents > 0)
    if rng is not None and of.family is not None and times == 1 and met.any():
        reach[family] = of.family.keep(family).bar(level)
    if rng is not None and of.parts and met.any():
        of_flips = bar(rng, of.parts, met, level, FLIPS)
        many = np.min([part.n for part in of.parts], axis=0) >= FEW
        reach = np.where(many & (of_flips <= MUCH * reach), of_flips, reach)
    scatter = np.sqrt(of.variance) > least_error(rated)
    return Spans(of, np.where(enough, reach, np.inf), _count_answers_per_document(rated), np.asarray(scatter))


def least_error(rated: ScoredRatings) -> float:
    """Return the standard error below which estimates from such scores differ by rounding alone."""
    return ROUNDING * max(1.0, float(np.abs(rated.value).max(initial=0.0)))


def _has_enough_units(test: Mapping[str, Any], of: Uncertainty, level: float) -> Bools:
    """Return which pairs have so many units, and flips, that a p-value may be as small as the level."""
    if of.comparisons is not None:
        # Without any scatter a model falls back on signs: n units that agree have chance 2^(1 - n).
        return np.asarray((of.variance > 0) | (2.0 ** (1 - of.comparisons.units) <= level + SLACK))
    # Documents decide how flips of all raters the same way come out: every other time as seen.
    n = {
        "rater_flips": of.raters,
        "crossed_flips": of.raters + 1,
        "permutation": of.documents,
    }.get(name_of(test))
    if n is None:
        return np.ones(len(of.means), bool)
    flips = int(test.get("flips", test.get("permutations", FLIPS)))
    # All flips give no less than 2^(1 - n), drawn ones no less than (1 + 0)/(1 + flips).
    return np.asarray(np.maximum(2.0 ** (1 - n), 1 / (1 + flips)) <= level + SLACK)


def _count_answers_per_document(rated: ScoredRatings) -> Floats:
    n, k = rated.n_documents, rated.n_systems
    came = (~np.isnan(rated.total)).astype(float)
    count = np.bincount(rated.document * k + rated.system, minlength=n * k).reshape(n, k) * came
    first, second = np.triu_indices(k, 1)
    both, ratings = came.T @ came, count.T @ came
    shared = both[first, second]
    answers = (ratings + ratings.T)[first, second]
    return np.asarray(np.divide(answers, shared, out=np.full(len(shared), np.nan), where=shared > 0))


def _find_t_quantile(freedom: Floats, level: float) -> Floats:
    from scipy.special import stdtrit

    known = freedom > 0
    # Without degrees of freedom nothing bounds a difference; the 1.0 only keeps NaN out.
    return np.where(known, stdtrit(np.where(known, freedom, 1.0), 1 - level / 2), np.inf)


def list_raters(collected: Collected, rated: ScoredRatings, level: float) -> tuple[Rater, ...]:
    """Return how far each rater scores above the others, on the scale of the conclusion, each with its own interval."""
    names = collected.frame.rater_names
    estimates = leniency(rated, len(names), level)
    return tuple(
        Rater(rater=name, n=int(n), leniency=float(above), low=float(above - width), high=float(above + width))
        for name, n, above, width in zip(names, estimates.n, estimates.above, estimates.width, strict=True)
    )


def list_systems(
    collected: Collected,
    outcome: Mapping[str, Array],
    rated: ScoredRatings,
    verdict: Array,
    raters_drawn: bool,
    level: float,
    scale: tuple[float, float],
    model: ModelComparisons | None,
) -> tuple[System, ...]:
    """Return the systems, best first; an interval ends at its scale, and is all of it where no spread is known.

    `outcome` holds estimates and counts, `[system]`, `verdict[pair]` bounds ranks. `model` is the fitted model whose
    means are given (None: plain means).
    """
    from scipy.special import stdtrit

    names, plain = collected.frame.system_names, outcome["estimate"]
    # Estimates of a model stay on the scale, too: the level of an average rater may lie beyond it.
    estimate = plain if model is None else np.clip(model.mean, *scale)
    if model is None:
        estimates = means(rated, raters_drawn=raters_drawn)
        error, freedom = estimates.error, estimates.freedom
    else:
        error, freedom = np.sqrt(model.mean_variance), model.mean_freedom
    # Scores that are all alike do not say how far others would be off.
    known = (freedom > 0) & np.isfinite(error) & (error > least_error(rated))
    reach = stdtrit(np.where(known, freedom, 1.0), 1 - level / 2) * np.where(known, error, 0.0)
    reach = np.where(known, reach, np.inf)
    best, worst = bound_ranks(verdict, len(names))
    # Equal estimates keep the order of the table, so that a page is the same each time.
    order = np.argsort(estimate if collected.frame.lower_is_better else -estimate, kind="stable")
    return tuple(
        System(
            system=names[k],
            n=int(outcome["human_count"][k]),
            estimate=float(estimate[k]),
            low=max(float(estimate[k] - reach[k]), scale[0]),
            high=min(float(estimate[k] + reach[k]), scale[1]),
            rank_low=int(best[k]),
            rank_high=int(worst[k]),
            plain_mean=float(plain[k]),
        )
        for k in order.tolist()
    )


class PairVerdicts(NamedTuple):
    """Verdicts on pairs, `[pair]`: the p-value, the one adjusted for the family, the direction and the verdict.

    `family` marks the pairs that the promise is about; of others the adjusted p-value is not known.
    """

    p_value: Floats
    adjusted: Floats
    direction: Array
    verdict: Array
    family: Bools


def list_pairs(
    names: Sequence[str],
    verdicts: PairVerdicts,
    spans: Spans,
    wanted: ConcludeOptions,
    *,
    lower_is_better: bool,
    widest: float,
    blind: bool,
    raters_drawn: bool,
    marks: Sequence[FamilySays | None],
) -> tuple[Pair, ...]:
    """Return the pairs of the family, in the order of the systems' names; no two means differ by more than `widest`.

    `marks[pair]` is the mark by the family (`mark_pairs`), `raters_drawn`: claims are about other raters, too. What
    would settle a pair is not foreseen where units are so few that nothing could be claimed: the bar is not known. Nor
    is it where the test of all pairs is `blind`, whose bar pairs of few raters rule, or where nothing scatters.
    """
    known = spans.within_reach & spans.scatter & (not blind)
    foreseen, detectable = known & (verdicts.verdict == 0), spans.detectable
    first, second = np.triu_indices(len(names), 1)
    model = spans.uncertainty.comparisons
    at_large = np.full(len(first), raters_drawn) if model is None else model.at_large
    means = spans.uncertainty.centre
    low, high = reconcile_intervals(means, *spans.bounds(), verdicts.verdict != 0)
    unknown = ~spans.uncertainty.known
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
            p_value=float(verdicts.p_value[k]),
            adjusted=float(verdicts.adjusted[k]),
            direction=int(verdicts.direction[k]),
            verdict=int(verdicts.verdict[k]),
            within=None
            if wanted.margin is None
            else compare_with_margin(low[k], high[k], wanted.margin, lower=lower_is_better),
            more=count_further_units(spans, int(k)) if foreseen[k] else None,
            plain_mean=float(spans.uncertainty.means[k]),
            scope="raters_at_large" if at_large[k] else "these_raters",
            detectable=float(detectable[k]) if known[k] else None,
            family=marks[int(k)],
        )
        for k in np.flatnonzero(verdicts.family)
    )


def count_further_units(spans: Spans, k: int) -> More:
    """Return how many more documents settle pair `k`, or how many raters where claims are about other raters, too.

    The part of the variance that comes from raters does not shrink with documents, and a table hardly shows its size:
    where it was estimated at 0, further documents settled half as many pairs as foreseen.
    """
    of = spans.uncertainty
    value, variance, bar = float(of.centre[k]), float(of.variance[k]), float(spans.bar[k])
    documents, raters, each = float(of.documents[k]), float(of.raters[k]), float(spans.per_document[k])
    if of.lasts[k]:
        counts = count_needed_units(ObservedEstimate(value, variance, 0.0, bar, raters), MOST_RATERS)
        return More.build("raters", *counts, limit=MOST_RATERS, per_unit=each * documents / raters, answers=ANSWERS)
    counts = count_needed_units(ObservedEstimate(value, variance, 0.0, bar, documents), MOST_DOCUMENTS)
    return More.build("documents", *counts, limit=MOST_DOCUMENTS, per_unit=each, answers=ANSWERS)
