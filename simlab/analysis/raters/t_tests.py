"""Test pairs of systems by t: the raters who rated, or raters and documents, are a sample."""

from __future__ import annotations

import numpy as np

from simlab.analysis.raters.clusters import Spread, spread
from simlab.analysis.raters.contributions import by_pair, differ
from simlab.types import Floats, Rated
from simlab.types.bounds import Count


def by_rater(rng: np.random.Generator, rated: Rated) -> Floats:
    """Ask whether other raters would find the same difference: a t test on what each rater contributes to it.

    With one rating of a segment documents are nested in raters, whose contributions then hold what both vary. Side by
    side with equal loads this is the t test on raters' mean differences, exact for normal ones, and of a level of at
    most alpha for unequal variances and scale mixtures up to alpha = .08 (Bakirov and Szekely 2005; Ibragimov and
    Mueller 2010). Elsewhere the variance is CR2 and the degrees of freedom are Satterthwaite's (see `clusters`). A
    system that one rater rated alone cannot be told from that rater's taste: p = 1. `rng` is not used.
    """
    sides = by_pair(rated)
    gap = sides.mean[0] - sides.mean[1]
    return _two_sided(rated, gap, spread(sides, sides.rater))


def two_way(rng: np.random.Generator, rated: Rated, *, rater_alone: Count) -> Floats:
    """Ask whether other raters would find the same difference on other documents, where raters and documents cross.

    The variance is the largest of three, `V = max(V_r, V_x, V_r + V_x - V_rx)`: by rater, by document, and their sum
    less what both count (Cameron, Gelbach and Miller 2011; the sum can be negative, hence the floor). The degrees of
    freedom are the fewer of the two, min(raters, documents) - 1 where loads are equal. Up to `rater_alone` raters the
    variance by rater counts alone, on two degrees of freedom the largest of three finding nothing; where outputs have
    several ratings, which share what their documents are like, the larger of it and that by document. `rng` is not
    used.
    """
    sides = by_pair(rated, documents=True)
    gap = sides.mean[0] - sides.mean[1]
    raters = spread(sides, sides.rater)
    few = len(np.unique(sides.rater)) <= rater_alone
    if few and bool((rated.share == 1).all()):
        return _two_sided(rated, gap, raters)
    documents = spread(sides, sides.document)
    if few:
        return _two_sided(rated, gap, Spread(np.maximum(raters.variance, documents.variance), raters.df))
    cells = spread(sides, np.arange(len(sides.rater)))
    crossed = raters.variance + documents.variance - cells.variance
    variance = np.maximum(np.maximum(raters.variance, documents.variance), crossed)
    return _two_sided(rated, gap, Spread(variance, np.minimum(raters.df, documents.df)))


def _two_sided(rated: Rated, gap: Floats, told: Spread) -> Floats:
    """Return the p-values of t tests; 1 where nothing is known of the spread, or systems are equal."""
    from scipy.special import stdtr

    t = np.divide(np.abs(gap), np.sqrt(told.variance), out=np.full_like(gap, np.inf), where=told.variance > 0)
    known = differ(rated, gap) & (told.df > 0)
    return np.where(known, 2 * stdtr(np.where(known, told.df, 1.0), -t), 1.0)
