"""Test pairs of systems by flipping raters and documents, where the two cross: several raters rate a document.

`crossed_flips` returns p-values per pair, `compare_by_crossed_flips` the statistics under all patterns of flips. V_r,
V_x and V_rx are variances of a difference by rater, by document, and by both; u_r and u_x are contributions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simlab.analysis import signs
from simlab.analysis.multiplicity import FlipFamily
from simlab.analysis.raters.contributions import Sides, add_by_label, differs_beyond_rounding, lay_out_by_pair
from simlab.analysis.raters.flips import ROUNDING, levels
from simlab.types import Floats, Ints, ScoredRatings
from simlab.types.bounds import Count

CAUTION = 0.5
"""Standard errors by which what documents share is taken for more than estimated: of few documents it is not known."""


class Crossed(NamedTuple):
    """Contributions of raters, `[rater, pair]`, and of documents, `[document, pair]`, to differences.

    Contributions of documents are reduced to what their raters share: so the squares of both add up to the variance.
    `sides` holds the cells of raters and documents that they come from.
    """

    raters: Floats
    documents: Floats
    sides: Sides

    @property
    def n_raters(self) -> Floats:
        """Count who contributes to each pair."""
        return self._count(self.sides.rater)

    @property
    def n_documents(self) -> Floats:
        """Count the documents that each pair has in common."""
        return self._count(self.sides.document)

    def _count(self, label: Ints) -> Floats:
        return np.asarray(np.count_nonzero(add_by_label(self.sides.share.sum(0), label), axis=0), float)


def crossed_flips(rng: np.random.Generator, rated: ScoredRatings, *, flips: Count) -> Floats:
    """Flip the signs of all that a rater, and of all that a document, contributes to a difference, each by itself.

    Ratings of a document by several raters share what it is like, so that raters are not independent: flips of raters
    alone call equal systems different too often. The variance of a difference is `V_r + V_x - V_rx`, by rater, by
    document, less what both count. A pattern of flips draws `sum s_r u_r + sum s_x k u_x`, `k^2` being about
    `1 - V_rx / V_x` (see `shared_part`): its variance is that sum, and the part of the few, the raters, is as in
    `rater_flips`, which this test becomes where each document has one rater. The statistic is Student's, its variance
    estimated anew under each pattern. The least p-value is about 2^(1 - raters). Contributions are without each rater's
    own level, as there. Source: Cameron, Gelbach and Miller 2011 for the variance; Canay, Romano and Shaikh 2017 for
    flips of few.
    """
    return compare_by_crossed_flips(rng, rated, flips=flips).p_values()


def compare_by_crossed_flips(rng: np.random.Generator, rated: ScoredRatings, *, flips: int) -> FlipFamily:
    """Return the statistic of each pair as it is, and under each pattern of flips.

    For t it is `|t| / sqrt(1 + t^2)`, which is 1 where nothing is left to vary.
    """
    of = sum_contributions(rated)
    return flip_family(rng, rated, of, of.sides.mean[0] - of.sides.mean[1], flips)


def flip_family(rng: np.random.Generator, rated: ScoredRatings, of: Crossed, gap: Floats, flips: int) -> FlipFamily:
    """Flip contributions of raters and documents, and return each pair's statistic under `flips` patterns.

    Totals of another sign than the difference of means, `gap[pair]`, count as 0.
    """
    length = np.sqrt(np.einsum("rp,rp->p", of.raters, of.raters) + np.einsum("xp,xp->p", of.documents, of.documents))
    # Contributions of a pair are scaled to length 1, so that one tolerance serves the statistics of all pairs.
    per = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
    raters, documents = of.raters * per, of.documents * per
    total = raters.sum(0)
    flipped = (
        signs.draw_sign_patterns(rng, flips, len(raters)) @ raters,
        signs.draw_sign_patterns(rng, flips, len(documents)) @ documents,
    )
    counts = (
        differs_beyond_rounding(rated, gap) & differs_beyond_rounding(rated, length) & (np.sign(total) == np.sign(gap))
    )
    # One rater, or one document, says nothing of how others would vary.
    counts &= (of.n_raters > 1) & (of.n_documents != 1)
    left = (
        (np.einsum("rp,rp->p", raters, raters), of.n_raters),
        (np.einsum("xp,xp->p", documents, documents), of.n_documents),
    )
    observed = _statistic(total, _variance_of_rest(total, *left[0]) + _variance_of_rest(documents.sum(0), *left[1]))
    null = _statistic(sum(flipped), _variance_of_rest(flipped[0], *left[0]) + _variance_of_rest(flipped[1], *left[1]))
    return FlipFamily(np.where(counts, observed, 0.0), null, False, ROUNDING)


def sum_contributions(rated: ScoredRatings) -> Crossed:
    """Add up the contributions of each rater, and of each document, to differences."""
    sides = lay_out_by_pair(rated, documents=True)
    explained = levels(rated)[sides.rater][:, None] + sides.mean.mean(0)
    centred = sides.part - sides.share * explained
    cells = centred[0] - centred[1]
    raters, documents = add_by_label(cells, sides.rater), add_by_label(cells, sides.document)
    return Crossed(raters, documents * shared_part(raters, documents, add_by_label(cells**2, sides.document)), sides)


def shared_part(raters: Floats, documents: Floats, alone: Floats) -> Floats:
    """Return the factor that reduces contributions of documents to the part that raters share there, `[pair]`.

    `raters[rater, pair]` and `documents[document, pair]` are contributions, `alone[document, pair]` sums of squares of
    single cells of rater and document.

    `C = V_x - V_rx` adds up over documents, so that its standard error is known. Raters' own squares, about their mean,
    lack C / (R - 1) of it, which is put back.
    """
    common = documents**2 - alone
    n = np.maximum(np.count_nonzero(documents, axis=0), 1)
    error = np.sqrt(((common - common.sum(0) / n) ** 2 * (documents != 0)).sum(0))
    squares = np.einsum("xp,xp->p", documents, documents)
    some = np.where(error > ROUNDING * squares, np.maximum(common.sum(0), 0.0) + CAUTION * error, 0.0)
    n_raters = np.maximum(np.count_nonzero(raters, axis=0), 2)
    factor = np.divide(some * n_raters / (n_raters - 1), squares, out=np.zeros_like(squares), where=squares > 0)
    return np.asarray(np.sqrt(factor))


def _variance_of_rest(total: Floats, squares: Floats, n: Floats) -> Floats:
    """Estimate the variance of a sum of n contributions with so large a total and sum of squares."""
    of = np.maximum(n, 2)
    return np.asarray(np.maximum(squares - total**2 / of, 0.0) * of / (of - 1))


def _statistic(total: Floats, variance: Floats) -> Floats:
    size = np.sqrt(total**2 + variance)
    return np.asarray(np.divide(np.abs(total), size, out=np.zeros_like(size), where=size > 0))
