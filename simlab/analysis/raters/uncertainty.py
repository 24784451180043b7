"""Say how far each difference is uncertain, by the contributions that its test flips, and how much of that is raters.

Everything is laid out by pair, as in `contributions`; differences are of means per rating.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simlab.analysis.raters.clusters import spread
from simlab.analysis.raters.contributions import Sides, added, by_pair
from simlab.analysis.raters.crossed import contributed
from simlab.analysis.raters.flips import levels
from simlab.types import Floats, Ints, Rated


class Uncertainty(NamedTuple):
    """Hold of each pair the difference of `means` of documents that both have, and of what is tested: its `centre`.

    The two differ where raters' own levels are taken out. `variance` is that of the centre, `lasting` what part of it
    more documents do not shrink, because raters stay the same. `freedom` goes with t; infinite: with a normal law.
    `raters` and `documents` count whom and what each pair rests on.
    """

    means: Floats
    centre: Floats
    variance: Floats
    lasting: Floats
    freedom: Floats
    raters: Floats
    documents: Floats


def of_documents(rated: Rated) -> Uncertainty:
    """Take documents for a sample, and the raters as they are."""
    sides = by_pair(rated, documents=True)
    gap, weight = _apart(sides), sides.share.mean(0)
    by_document = added(gap, sides.document) - added(weight, sides.document) * gap.sum(0)
    raters, n = _counted(weight, sides.rater), _counted(weight, sides.document)
    variance = _squares(by_document, n)
    none = np.zeros_like(variance)
    return Uncertainty(_means(sides), gap.sum(0), variance, none, np.maximum(n - 1, 0), raters, n)


def of_raters(rated: Rated) -> Uncertainty:
    """Take raters for a sample, and their documents with them."""
    sides, cells, weight = _centred(rated)
    raters, n = _counted(weight, sides.rater), _counted(weight, sides.document)
    variance = _squares(added(cells, sides.rater) - added(weight, sides.rater) * cells.sum(0), raters)
    lasting = np.maximum(variance - _within(sides, cells, weight), 0.0)
    return Uncertainty(_means(sides), cells.sum(0), variance, lasting, np.maximum(raters - 1, 0), raters, n)


def of_both(rated: Rated) -> Uncertainty:
    """Take raters and documents for samples that cross; what raters of a document share is as in `crossed`."""
    sides, cells, weight = _centred(rated)
    raters, n = _counted(weight, sides.rater), _counted(weight, sides.document)
    total = cells.sum(0)
    by_rater = _squares(added(cells, sides.rater) - added(weight, sides.rater) * total, raters)
    documents = contributed(rated).documents
    shared = _squares(documents - added(weight, sides.document) * documents.sum(0), n)
    lasting = np.maximum(by_rater + shared - _within(sides, cells, weight), 0.0)
    freedom = np.maximum(np.minimum(raters, n) - 1, 0)
    return Uncertainty(_means(sides), total, by_rater + shared, lasting, freedom, raters, n)


def of_t_tests(rated: Rated, *, crossed: bool) -> Uncertainty:
    """Take raters for a sample as tests by t do, with their variances (CR2) and degrees of freedom."""
    sides = by_pair(rated, documents=True)
    of = spread(sides, sides.rater)
    variance, freedom = of.variance, of.df
    if crossed:
        documents, cells = spread(sides, sides.document), spread(sides, np.arange(len(sides.rater)))
        both = of.variance + documents.variance - cells.variance
        variance = np.maximum(np.maximum(of.variance, documents.variance), both)
        freedom = np.minimum(of.df, documents.df)
    gap, weight = _apart(sides), sides.share.mean(0)
    lasting = np.maximum(variance - _within(sides, gap, weight), 0.0)
    raters, n = _counted(weight, sides.rater), _counted(weight, sides.document)
    return Uncertainty(_means(sides), gap.sum(0), variance, lasting, np.nan_to_num(freedom), raters, n)


def _means(sides: Sides) -> Floats:
    """Return differences of means; NaN where two systems share no document."""
    return np.where((sides.size > 0).all(0), sides.mean[0] - sides.mean[1], np.nan)


def _apart(sides: Sides) -> Floats:
    return np.asarray(sides.part[0] - sides.part[1])


def _centred(rated: Rated) -> tuple[Sides, Floats, Floats]:
    """Return contributions of cells without their raters' own levels, and the cells' shares, `[cell, pair]`."""
    sides = by_pair(rated, documents=True)
    explained = levels(rated)[sides.rater][:, None] + sides.mean.mean(0)
    centred = sides.part - sides.share * explained
    return sides, np.asarray(centred[0] - centred[1]), np.asarray(sides.share.mean(0))


def _counted(weight: Floats, label: Ints) -> Floats:
    return np.asarray(np.count_nonzero(added(weight, label), axis=0), float)


def _squares(contribution: Floats, n: Floats) -> Floats:
    """Add up squares of contributions that add up to 0; of fewer than two nothing is known (infinite)."""
    few = n < 2
    squares = np.einsum("up,up->p", contribution, contribution) * n / np.where(few, 1.0, n - 1)
    return np.where(few, np.inf, squares)


def _within(sides: Sides, cells: Floats, weight: Floats) -> Floats:
    """Estimate what part of a variance documents make, each rater's own mean difference taken out."""
    _, at = np.unique(sides.rater, return_inverse=True)
    load = added(weight, sides.rater)
    own = np.divide(added(cells, sides.rater), load, out=np.zeros_like(load), where=load > 0)
    by_document = added(cells - weight * own[at], sides.document)
    n, taken = _counted(weight, sides.document), np.count_nonzero(load, axis=0)
    spare = np.divide(n, n - taken, out=np.zeros_like(n), where=n > taken)
    return np.asarray(np.einsum("xp,xp->p", by_document, by_document) * spare)
