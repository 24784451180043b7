"""Test pairs of systems by t: raters (`by_rater`), raters and documents (`two_way`), or segments are the sample.

All take ratings and return two-sided `p_value[pair]`, pairs i < j in the order of `np.triu_indices`. `segment_t` takes
segments of a document, and ratings by the same rater, for independent; simlab counts how often it errs, and does not
offer it as an analysis.
"""

from __future__ import annotations

import numpy as np

from simlab.analysis.raters.contributions import DifferenceVariance, differs_beyond_rounding, lay_out_by_pair, spread
from simlab.types import Floats, Ints, ScoredRatings
from simlab.types.bounds import Count

FEWEST = 2
"""Fewest segments from which a variance is estimated."""
ROUNDING = 1e-12
"""Share of the largest score, and of squares, up to which means are equal and squares are 0."""


def by_rater(rng: np.random.Generator, rated: ScoredRatings) -> Floats:
    """Ask whether other raters would find the same difference: a t test on what each rater contributes to it.

    With one rating of a segment documents are nested in raters, whose contributions then hold what both vary. Side by
    side with equal loads this is the t test on raters' mean differences, exact for normal ones, and of a level of at
    most alpha for unequal variances and scale mixtures up to alpha = .08 (Bakirov and Szekely 2005; Ibragimov and
    Mueller 2010). Elsewhere the variance is CR2 and the degrees of freedom are Satterthwaite's (`contributions`). A
    system that one rater rated alone cannot be told from that rater's taste: p = 1. `rng` is not used.
    """
    sides = lay_out_by_pair(rated)
    gap = sides.mean[0] - sides.mean[1]
    return _two_sided_p_values(rated, gap, spread(sides, sides.rater))


def two_way(rng: np.random.Generator, rated: ScoredRatings, *, rater_alone: Count) -> Floats:
    """Ask whether other raters would find the same difference on other documents, where raters and documents cross.

    The variance is the largest of three, `V = max(V_r, V_x, V_r + V_x - V_rx)`: by rater, by document, and their sum
    less what both count (Cameron, Gelbach and Miller 2011; the sum can be negative, hence the floor). The degrees of
    freedom are the fewer of the two, min(raters, documents) - 1 where loads are equal. Up to `rater_alone` raters the
    variance by rater counts alone, on two degrees of freedom the largest of three finding nothing; where outputs have
    several ratings, which share what their documents are like, the larger of it and that by document. `rng` is not
    used.
    """
    sides = lay_out_by_pair(rated, documents=True)
    gap = sides.mean[0] - sides.mean[1]
    raters = spread(sides, sides.rater)
    few = len(np.unique(sides.rater)) <= rater_alone
    if few and bool((rated.share == 1).all()):
        return _two_sided_p_values(rated, gap, raters)
    documents = spread(sides, sides.document)
    if few:
        return _two_sided_p_values(
            rated, gap, DifferenceVariance(np.maximum(raters.variance, documents.variance), raters.df)
        )
    cells = spread(sides, np.arange(len(sides.rater)))
    crossed = raters.variance + documents.variance - cells.variance
    variance = np.maximum(np.maximum(raters.variance, documents.variance), crossed)
    return _two_sided_p_values(rated, gap, DifferenceVariance(variance, np.minimum(raters.df, documents.df)))


def _two_sided_p_values(rated: ScoredRatings, gap: Floats, spread: DifferenceVariance) -> Floats:
    """Return the p-values of t tests; 1 where nothing is known of the spread, or systems are equal."""
    from scipy.special import stdtr

    t = np.divide(np.abs(gap), np.sqrt(spread.variance), out=np.full_like(gap, np.inf), where=spread.variance > 0)
    known = differs_beyond_rounding(rated, gap) & (spread.df > 0)
    return np.where(known, 2 * stdtr(np.where(known, spread.df, 1.0), -t), 1.0)


def segment_t(score: Floats, system: Ints, item: Ints, n_systems: int) -> Floats:
    """Return the two-sided `p_value[..., pair]` of paired t tests over the segments that both systems have.

    `score[..., k]` is a rating of `item[k]` of `system[k]`, the axes before it are studies of one design; several
    ratings of an output are averaged. 1 where a pair shares fewer than two segments, or does not differ. Sums over the
    segments of pairs are products of matrices, `[study, system, system]`.
    """
    from scipy.special import stdtr

    studies = score.reshape(-1, len(system))
    cell, n_items = item * n_systems + system, int(item.max(initial=-1)) + 1
    count = np.bincount(cell, minlength=n_items * n_systems)
    # Squares of what lies around 0 lose fewer digits.
    level = studies.mean(1, keepdims=True)
    total = np.stack([np.bincount(cell, weights=study, minlength=len(count)) for study in studies - level])
    mean = (total / np.maximum(count, 1)).reshape(-1, n_items, n_systems)
    came = (count > 0).reshape(n_items, n_systems).astype(float)
    first, second = np.triu_indices(n_systems, 1)
    n = (came.T @ came)[first, second]
    by_system = np.swapaxes(mean, 1, 2)
    sums, squares = by_system @ came, by_system**2 @ came
    products = (by_system @ mean)[:, first, second]
    size = np.maximum(n, 1)
    centre = (sums[:, first, second] - sums[:, second, first]) / size
    whole = squares[:, first, second] + squares[:, second, first] - 2 * products
    left = whole - size * centre**2
    # Where all differences are alike the subtraction leaves rounding, which is no spread.
    variance = np.where(left > ROUNDING * whole, left, 0.0) / np.maximum(n - 1, 1) / size
    known = (n >= FEWEST) & (np.abs(centre) > ROUNDING * np.abs(studies).max(1, initial=0.0)[:, None])
    t = np.divide(np.abs(centre), np.sqrt(variance), out=np.full_like(centre, np.inf), where=variance > 0)
    p_value = np.where(known, 2 * stdtr(np.maximum(n - 1, 1), -t), 1.0)
    return np.asarray(p_value.reshape(*score.shape[:-1], -1))
