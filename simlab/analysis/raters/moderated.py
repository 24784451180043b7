"""Test all pairs of systems by moderated variances, against the law of the largest |t| in studies of equal systems.

`moderated` returns p-values per pair, `moderated_comparisons` differences with variances, `moderated_studies` a `Judge`
that tests simulated studies of the same design.

Estimates are those of the mixed model. Raters' contributions to a difference show how far they disagree about it. Few
raters show little, so that this sum of squares, over the one that the model expects, is shrunk towards the median of
all pairs (moderated). The largest |t| of all pairs is held against its law in studies of equal systems that
are drawn from the fitted model and judged in the same way; systems in them differ in spread as their ratings do.

Source: Smyth 2004 (moderated variances); Westfall and Young 1993 (the largest of all statistics); Henderson 1975 (the
estimate from scores less the predicted effects of documents is the generalised least squares estimate).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from simlab.analysis.raters import side_by_side
from simlab.analysis.raters.mixed_model import MixedModelFit, Solved, predictions, system_estimates
from simlab.analysis.raters.model_comparisons import (
    RATERS,
    ROUNDING,
    TASTES,
    WITHIN_RATERS,
    ComparisonLayout,
    Key,
    ModelComparisons,
    Pools,
    SimulatedStudies,
    compare_by_key,
    compare_by_model,
    fit_model,
    make_key,
    model_studies,
    rounding_variance,
)
from simlab.analysis.studentized_range import SimulatedFamily, TFamily
from simlab.types import Bools, Floats, Ints, ScoredRatings
from simlab.types.bounds import Count

PRIOR = 12.0
"""Degrees of freedom of the median over pairs, to which the variance of each is shrunk."""

UNSHARED = PRIOR / 2
"""Degrees of freedom that an error has less than its weights say: pairs share raters, whose median errs with them.

Errors of repeated tables vary as those of two thirds of the nominal degrees (60 tables of five designs: 11 to 18 of 17
to 23); with these "finds a difference of X with 80 %" is kept.
"""

COMMON = 10.0
"""Degrees of freedom of the common spread of ratings, to which that of each system is shrunk."""

DRAWN_SCORES, LEAST_STUDIES, MOST_STUDIES = 500_000, 50, 500
"""Scores of cells drawn to learn how much variance predicted documents take along; least and most studies drawn."""

AT_ONCE = 20_000
"""Drawn scores of raters that are judged at once: arrays that fit a processor's cache take a third of the time."""

DOCUMENT, SEGMENT = "document", "segment"
"""Terms that are the same for all systems."""

FEW_DEALT = 12
"""Fewest raters that keep the level where systems of a document are dealt out among them.

Of 200 tables of equal systems some claim: 7 raters .085 (8 systems) to .095 (4), 12 raters .050, 15 raters .060.
"""

LEAST_FREEDOM, NOTHING = 0.5, 1e-300


def moderated(rng: np.random.Generator, rated: ScoredRatings, *, pools: Pools, draws: Count) -> Floats:
    """Test each pair by the difference of GLS estimates in the mixed model, its variance moderated over all pairs.

    All pairs at once are held against `draws` studies of equal systems. Where fewer than six raters, or fewer than
    four effective ones, rated a system of some pair, or fewer than twelve are dealt the systems of most documents among
    them, the test is that of the mixed model. `rng` is not used: draws follow the scores, whatever their order.
    """
    return moderated_family(rng, rated, pools=pools, draws=draws).p_values()


def moderated_family(rng: np.random.Generator, rated: ScoredRatings, *, pools: Pools, draws: Count) -> TFamily:
    """Return the t statistics of all pairs at once."""
    whole = _side_by_side(rated, draws)
    return moderated_comparisons(rated, pools, draws).family() if whole is None else whole[1]


def moderated_differences(rated: ScoredRatings, *, pools: Pools, draws: Count) -> Floats:
    """Return the difference of estimates of each pair, first less second; 0 where there is none."""
    whole = _side_by_side(rated, draws)
    return np.nan_to_num(compare_by_model(rated, pools).difference) if whole is None else whole[0]


def moderated_comparisons(rated: ScoredRatings, pools: Pools, draws: int) -> ModelComparisons:
    """Compare all pairs under the mixed model, with moderated variances and |t| of `draws` studies of equal systems."""
    return _compare_moderated(*make_key(rated, pools), draws)


@lru_cache(maxsize=2)
def _compare_moderated(key: Key, score: bytes, draws: int) -> ModelComparisons:
    """Compare ratings by their key and scores (`make_key`); the latest answers are cached."""
    layout, model_fit, value = fit_model(key, score)
    of = compare_by_key(key, score)
    if model_fit is None or not _keeps_level(layout):
        return of
    judge = make_judge(layout, model_fit, value, draws)
    factor = judge.factors(value[:, None])[0] / model_fit.component[0]
    return of._replace(
        variance=of.variance * factor,
        at_large_variance=of.at_large_variance * factor,
        lasting=of.lasting * factor,
        freedom=judge.freedom,
        at_large_freedom=judge.freedom,
        null=judge.null,
    )


def moderated_studies(rated: ScoredRatings, *, pools: Pools, draws: Count) -> Judge | SimulatedStudies:
    """Return the tests of simulated studies in the design of these ratings, with the weights of the fit to these."""
    layout, model_fit, value = fit_model(*make_key(rated, pools))
    if model_fit is None or not _keeps_level(layout):
        return model_studies(rated, pools=pools)
    return make_judge(layout, model_fit, value, draws)


def _keeps_level(layout: ComparisonLayout) -> bool:
    """True if enough raters rated each system, and share documents in a way for which the level was found to hold."""
    return bool(layout.comparable.any() and layout.enough[layout.comparable].all()) and not _is_dealt_to_few(layout)


def _is_dealt_to_few(layout: ComparisonLayout) -> bool:
    """True if few raters are dealt the systems of most documents among them, so that no one compares these.

    How uncertain the effects of documents then are is more than draws from the fitted model show.
    """
    return bool(np.count_nonzero(layout.met.any(1)) < FEW_DEALT and _complete_share(layout) < 1 / 2)


def _complete_share(layout: ComparisonLayout) -> float:
    """Return the share of pairs of rater and document with ratings of all systems that anybody rated there."""
    document = next((term.label for term in layout.design.terms if term.name == DOCUMENT), None)
    if document is None:
        return 1.0
    rated = np.zeros((len(layout.met), int(document.max()) + 1, layout.met.shape[1]), bool)
    rated[layout.cell_rater, document, layout.cell_system] = True
    whole = rated.sum(2) == rated.any(0).sum(1)
    return float(np.mean(whole[rated.any(2)]))


class Judge(NamedTuple):
    """Moderated tests of studies in one design: quantities that the fit's equations decide, in units of the noise.

    `precision[rater, system]` is that of a rater's mean score of a system given the rater's leniency, of variance
    `leniency`, and 0 where there is none; `inverse[system, system]` is the covariance of estimates. `added[rater and
    system, cell]` adds scores up, weighted. `unit[pair]` is the variance of a difference, `inflation[pair]` how many
    times as large it is since systems differ in spread, `expected[pair]` the sum of squares of what raters contribute
    to it, `freedom[pair]` the degrees of freedom of its moderated variance. `null[draw, pair]` are the |t| of equal
    systems.
    """

    layout: ComparisonLayout
    at: Solved
    precision: Floats
    leniency: float
    inverse: Floats
    added: Any
    unit: Floats
    inflation: Floats
    expected: Floats
    freedom: Floats
    null: Floats

    def differences(self, value: Floats) -> Floats:
        """Return the difference of estimates of each pair, `[study, pair]`, from `value[rating, study]`."""
        layout = self.layout
        return self._differences(system_estimates(layout.design, self.at, layout.average_cells(value)), value)

    def families(self, value: Floats) -> tuple[Floats, list[TFamily]]:
        """Return differences, and the t statistics of all pairs in each study."""
        estimate, squares = self._summarise_residuals(self.layout.average_cells(value))
        difference = self._differences(estimate, value)
        error = np.sqrt(self.unit * self._factors(squares))
        known = self.layout.comparable & (error > 0)
        t = np.divide(np.abs(difference), error, out=np.zeros_like(difference), where=known)
        return difference, [SimulatedFamily(study, self.freedom, self.null) for study in t]

    def factors(self, value: Floats) -> Floats:
        """Return the ratio of each difference's variance to that by a unit of noise, `[study, pair]`."""
        return self._factors(self.squares(self.layout.average_cells(value)))

    def squares(self, score: Floats) -> Floats:
        """Return sums of squares of raters' contributions to differences, `[study, pair]`; `score[cell, study]`."""
        return self._summarise_residuals(score)[1]

    def _differences(self, estimate: Floats, value: Floats) -> Floats:
        return np.nan_to_num(self.layout.difference(estimate.T, np.abs(value).max(0)))

    def _factors(self, squares: Floats) -> Floats:
        return self.inflation * self.shrink_ratios(squares / self.expected)

    def _summarise_residuals(self, score: Floats) -> tuple[Floats, Floats]:
        """Return estimates, `[system, study]`, and `squares`, of the same scores of cells."""
        layout = self.layout
        estimate, left = self.subtract_documents(score)
        apart = self.means(left) - np.nan_to_num(estimate.T[:, None])
        residual = self.contributions(np.where(layout.met, apart, 0.0))
        return estimate, _squares(residual, layout.first, layout.second)

    def subtract_documents(self, score: Floats) -> tuple[Floats, Floats]:
        """Subtract the predicted effects of documents and outputs from scores, `[cell, study]`.

        Returns the estimates of systems, `[system, study]`, and the scores that are left.
        """
        estimate, effects = predictions(self.layout.design, self.at, score)
        left = score
        for term in self.layout.design.terms:
            if term.name not in (RATERS, TASTES, WITHIN_RATERS):
                added = effects[term.name].take(term.label, axis=0)
                left = np.subtract(left, added, out=added if left is score else left)
        return estimate, left

    def means(self, left: Floats) -> Floats:
        """Return raters' mean scores, `[study, rater, system]`, from `left[cell, study]`."""
        return np.asarray((self.added @ left).T.reshape(-1, *self.layout.met.shape))

    def contributions(self, score: Floats) -> Floats:
        """Return raters' contributions to each estimate, `[..., rater, system]`, from mean scores of that shape."""
        weighted = self.precision * score
        level = self.shrunk * weighted.sum(-1)
        weighted -= self.precision * level[..., None]
        return np.asarray(weighted @ self.inverse)

    @property
    def shrunk(self) -> Floats:
        """Shrinkage of each rater's level to that of all, over the precision of the rater's scores."""
        return np.asarray(self.leniency / (1 + self.leniency * self.precision.sum(-1)))

    def shrink_ratios(self, ratio: Floats) -> Floats:
        """Shrink variances over their expectation, `[..., pair]`, towards the median of the pairs that are compared."""
        return _moderated_ratio(ratio, self.freedom, self.layout.comparable)

    def train_on_equals(self, spread: Floats, rng: np.random.Generator, draws: int) -> Judge:
        """Set the last four fields by studies of equal systems, with `spread[system]` times the standard deviation."""
        first, second = self.layout.first, self.layout.second
        known = self.precision > 0
        scale = np.where(known, spread / np.sqrt(np.where(known, self.precision, 1.0)), 0.0)
        scores = rng.standard_normal((draws, *self.precision.shape))
        levels = rng.standard_normal((draws, len(self.precision), 1)) if self.leniency > 0 else None

        def draw(part: slice) -> Floats:
            score = scores[part] * scale
            if levels is not None:
                score += np.sqrt(self.leniency) * levels[part]
            return score

        own = self.precision[:, :, None] * (np.eye(len(spread)) - (self.shrunk[:, None] * self.precision)[:, None])
        each = _variances_of_pairs(spread[:, None] * (self.inverse @ own @ self.inverse) * spread, first, second)
        variance = each.sum(0)
        of = _studies_of_equals(draw, self.contributions, each, draws, scale.shape, self.layout.comparable)
        inflation = variance / _variances_of_pairs(self.inverse, first, second)
        return self._replace(inflation=inflation, expected=of.expected, freedom=of.freedom, null=of.null)


class Equals(NamedTuple):
    """Studies of equal systems: see `Judge` for `expected[pair]`, `freedom[pair]` and `null[draw, pair]`."""

    expected: Floats
    freedom: Floats
    null: Floats


def _studies_of_equals(
    draw: Callable[[slice], Floats],
    contributions: Callable[[Floats], Floats],
    each: Floats,
    draws: int,
    shape: tuple[int, ...],
    comparable: Bools,
) -> Equals:
    """Judge studies whose mean scores `draw(part)` draws, `[study, rater, system]`, each in its turn.

    `contributions` are what raters add to estimates, of the shape of scores; `each[rater, pair]` what they add to the
    variance of a difference.
    """
    n_raters, n_systems = shape
    first, second = np.triu_indices(n_systems, 1)
    # Products are faster than picking pairs.
    pair, at_pair = np.arange(len(first)), first * n_systems + second
    plus, minus = np.zeros((n_systems, len(first))), np.zeros((n_systems, len(first)))
    plus[first, pair] = plus[second, pair] = minus[first, pair] = 1.0
    minus[second, pair] = -1.0
    squares, null = np.empty((draws, len(first))), np.empty((draws, len(first)))
    at_once = max(AT_ONCE // (n_raters * n_systems), 1)
    parts = [slice(start, min(start + at_once, draws)) for start in range(0, draws, at_once)]
    for part in parts:
        score = draw(part)
        estimate = np.einsum("krs->ks", contributions(score))
        score -= estimate[:, None]
        left = contributions(score)
        product = (np.ascontiguousarray(left.swapaxes(1, 2)) @ left).reshape(len(left), -1)
        np.matmul(product[:, :: n_systems + 1], plus, out=squares[part])
        squares[part] -= 2 * product.take(at_pair, axis=1)
        np.matmul(estimate, minus, out=null[part])
    np.maximum(squares, NOTHING, out=squares)
    expected, variance = squares.mean(0), each.sum(0)
    # Raters who add v_r to a variance tell as much as (sum v)^2 / sum v^2 equal ones, less one for their mean.
    freedom = PRIOR + np.maximum(variance**2 / (each**2).sum(0) - 1, LEAST_FREEDOM)
    for part in parts:
        ratio = squares[part]
        ratio /= expected
        null[part] /= np.sqrt(variance * _moderated_ratio(ratio, freedom, comparable))
    np.abs(null, out=null)
    # A pair that cannot be compared must not set the bar for others.
    null[:, ~comparable] = 0.0
    return Equals(expected, freedom, null)


def _moderated_ratio(ratio: Floats, freedom: Floats, comparable: Bools) -> Floats:
    """Shrink variances over their expectation, `[..., pair]`, towards the median of the pairs that are compared."""
    # A mean would let the few pairs that vary most raise the variances of all.
    middle = _medians(ratio if comparable.all() else ratio[..., comparable])
    shrunken = ratio * ((freedom - PRIOR) / freedom)
    shrunken += middle * (PRIOR / freedom)
    return np.asarray(shrunken)


def make_judge(layout: ComparisonLayout, fit: MixedModelFit, value: Floats, draws: int) -> Judge:
    """Make the judge of a design from the fit to scores `value[rating]`, with `draws` studies of equal systems."""
    from scipy import sparse

    at, n_cells = layout.cell_rater * layout.met.shape[1] + layout.cell_system, len(layout.cell_rater)
    ratio = dict(zip((term.name for term in layout.design.terms), fit.at.ratio, strict=True))
    weight = np.ones(n_cells)
    for term in layout.design.terms:
        if term.name == WITHIN_RATERS:
            # n ratings that share an effect of this ratio are together worth n / (1 + ratio n).
            weight = 1 / (1 + ratio[term.name] * np.bincount(term.label)[term.label])
    size = np.bincount(at, weight, layout.met.size)
    added = sparse.csr_matrix((weight / size[at], (at, np.arange(n_cells))), shape=(layout.met.size, n_cells))
    scatter = 1 / np.where(layout.met, size.reshape(layout.met.shape), 1.0)
    precision = np.where(layout.met, 1 / (ratio.get(TASTES, 0.0) + scatter), 0.0)
    leniency = ratio.get(RATERS, 0.0)
    shrunk = leniency / (1 + leniency * precision.sum(1))
    information = np.diag(precision.sum(0)) - (precision * shrunk[:, None]).T @ precision
    unit, nothing = np.append(1.0, fit.at.ratio) @ layout.shares(fit.at).large, np.zeros(0)
    # A system that nobody rated has no information, and a matrix with such a row no inverse.
    inverse = np.linalg.pinv(information, hermitian=True)
    judge = Judge(layout, fit.at, precision, leniency, inverse, added, unit, *(nothing,) * 4)
    # Sorted scores are the seed, so that a table has the same p-values whatever the order of its rows.
    rng = np.random.default_rng(zlib.crc32(np.sort(value).tobytes()))
    spread = _spread(judge, layout.average_cells(value), at, weight)
    judge = judge.train_on_equals(spread, rng, draws)
    return judge._replace(expected=judge.expected * _kept_share(judge, spread, rng))


def _kept_share(judge: Judge, spread: Floats, rng: np.random.Generator) -> float:
    """Return the share of raters' squared contributions left where documents are predicted from the same scores.

    The predicted effect of a document takes some of its raters' own scatter along, unless that is the same for all
    systems. Scores of the model are drawn, with all its terms, and treated as the table's.
    """
    layout, names = judge.layout, [term.name for term in judge.layout.design.terms]
    if set(names) <= {RATERS, TASTES, WITHIN_RATERS, DOCUMENT, SEGMENT} and _complete_share(layout) == 1:
        return 1.0
    n = len(layout.cell_rater)
    studies = int(np.clip(DRAWN_SCORES // n, LEAST_STUDIES, MOST_STUDIES))
    own = spread[layout.cell_system][:, None]
    # Draws go by who rated what, whatever the order of rows.
    rank = np.argsort(
        np.lexsort((layout.cell_system, layout.cell_rater, *(term.label for term in layout.design.terms)))
    )
    score = rng.standard_normal((n, studies)).take(rank, axis=0)
    score *= own
    effect = np.empty_like(score)
    for term, ratio in zip(layout.design.terms, judge.at.ratio, strict=True):
        levels = np.sqrt(ratio) * rng.standard_normal((term.n_levels, studies))
        # Without a look for labels out of bounds nothing is copied.
        levels.take(term.label, axis=0, out=effect, mode="clip")
        if term.name in (TASTES, WITHIN_RATERS):
            effect *= own
        score += effect
    squares = judge.squares(score)[:, layout.comparable]
    return float(np.mean(squares / judge.expected[layout.comparable]))


def _spread(judge: Judge, score: Floats, at: Ints, weight: Floats) -> Floats:
    """Return the standard deviation of each system's ratings within raters, relative to that of all, `[system]`."""
    met, (_, left) = judge.layout.met, judge.subtract_documents(score[:, None])
    mean = judge.means(left)[0].ravel()
    within = np.bincount(at, weight * (left[:, 0] - mean[at]) ** 2, met.size).reshape(met.shape).sum(0)
    freedom = np.bincount(judge.layout.cell_system, minlength=met.shape[1]) - met.sum(0)
    return _shrunken_spread(within, freedom)


def _shrunken_spread(within: Floats, freedom: Ints) -> Floats:
    """Return relative standard deviations of systems from their sums of squares and degrees of freedom, `[system]`."""
    common = within.sum() / max(int(freedom.sum()), 1)
    return np.sqrt((COMMON + within / common) / (COMMON + freedom)) if common > 0 else np.ones(len(within))


def _squares(contribution: Floats, first: Ints, second: Ints) -> Floats:
    """Sum up squares of what raters contribute to each difference, `[..., pair]`, from `[..., rater, system]`."""
    # A product with a copy is faster than what symmetry would save.
    by_system = np.ascontiguousarray(contribution.swapaxes(-1, -2))
    return np.maximum(_variances_of_pairs(by_system @ contribution, first, second), NOTHING)


def _medians(values: Floats) -> Floats:
    """Return medians over the last axis, which is kept: `np.median` without its look for NaN, in half the time."""
    middle, odd = divmod(values.shape[-1], 2)
    ranks = [middle] if odd else [middle - 1, middle]
    return np.asarray(np.partition(values, ranks, axis=-1)[..., ranks].mean(-1, keepdims=True))


def _variances_of_pairs(covariance: Floats, first: Ints, second: Ints) -> Floats:
    """Return the variance of each difference, `[..., pair]`, from `covariance[..., system, system]`."""
    own = np.diagonal(covariance, axis1=-2, axis2=-1)
    return np.asarray(own[..., first] + own[..., second] - 2 * covariance[..., first, second])


_judged: list[tuple[ScoredRatings, int, tuple[Floats, SimulatedFamily] | None]] = []
"""The last table that was judged: a campaign asks for p-values, the family and differences in turn."""


def _side_by_side(rated: ScoredRatings, draws: int) -> tuple[Floats, SimulatedFamily] | None:
    """Return differences, `[pair]`, and the family of a table of whole documents; None of tables of another kind.

    Up to rounding the answer is that of `moderated_comparisons`, in a small part of the time.
    """
    if _judged and _judged[0][0] is rated and _judged[0][1] == draws:
        return _judged[0][2]
    comparison = _judge_side_by_side(rated, draws)
    # What might still be written into may be another table next time.
    _judged[:] = [] if rated.value.flags.writeable else [(rated, draws, comparison)]
    return comparison


def _judge_side_by_side(rated: ScoredRatings, draws: int) -> tuple[Floats, SimulatedFamily] | None:
    """Compute `_side_by_side`, which caches it."""
    table = side_by_side.find_whole_documents(rated)
    if table is None:
        return None
    sums = side_by_side.sum_by_rater(table)
    model_fit, size = side_by_side.fit(sums), np.abs(rated.value).max()
    if model_fit is None or 2 * model_fit.component[0] / model_fit.weight.sum() <= rounding_variance(
        model_fit.component[:, None], size
    ):
        return None
    n_systems, precision, total = sums.n_systems, model_fit.weight, model_fit.weight.sum()
    first, second = np.triu_indices(n_systems, 1)
    difference = model_fit.estimate[first] - model_fit.estimate[second]
    difference[np.abs(difference) <= ROUNDING * size] = 0.0
    freedom = np.full(n_systems, len(table.rater) - len(sums.load))
    spread = _shrunken_spread(side_by_side.scatter_within_raters(sums, model_fit.ratio), freedom)
    # What each rater adds to the variance of a difference: of contrasts, and of the mean where spreads differ.
    leniency = model_fit.ratio[side_by_side.RATER]
    own = precision / (1 + leniency * n_systems * precision)
    alone, common = precision / total**2, (own / own.sum() ** 2 - precision / total**2) / n_systems
    square = spread**2
    each = alone[:, None] * (square[first] + square[second]) + common[:, None] * (spread[first] - spread[second]) ** 2
    share = (precision / total)[:, None]
    rng = np.random.default_rng(zlib.crc32(np.sort(rated.value).tobytes()))
    scale, comparable = spread / np.sqrt(precision)[:, None], np.ones(len(first), bool)

    def draw(part: slice) -> Floats:
        return scale * rng.standard_normal((part.stop - part.start, *scale.shape))

    null = _studies_of_equals(draw, lambda score: share * score, each, draws, scale.shape, comparable)
    ratio = _squares(share * (sums.mean - model_fit.estimate), first, second) / null.expected
    error = each.sum(0) * _moderated_ratio(ratio, null.freedom, comparable)
    return difference, SimulatedFamily(np.abs(difference) / np.sqrt(error), null.freedom, null.null)
