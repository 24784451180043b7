"""Estimate the variance of each pair's difference, and the part of it that stays however many documents are rated.

Each `uncertainty_of_...` takes ratings, belongs to one test (raters, documents, or both are the sample, or a mixed
model has terms for them), and returns `Uncertainty`. `means` estimates systems' means with errors.

Everything is laid out by pair, as in `contributions`; differences are of means per rating.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simlab.analysis.raters.contributions import Sides, add_by_label, lay_out_by_pair, spread
from simlab.analysis.raters.crossed import sum_contributions
from simlab.analysis.raters.flips import levels
from simlab.analysis.raters.model_comparisons import ModelComparisons, Pools, compare_by_model
from simlab.analysis.raters.moderated import moderated_comparisons
from simlab.analysis.studentized_range import TFamily
from simlab.types import Bools, Floats, Ints, ScoredRatings

ONE = 1 + 1e-6
"""Loads that amount to no more than this are those of one unit."""


class Part(NamedTuple):
    """Contributions of units (raters or documents) to differences, `[unit, pair]`, each pair's adding up to 0.

    `n[pair]` is the number of units of equal load that they are worth, `1 / sum w^2`, and `inflation[pair]` makes the
    sum of squares a variance.
    """

    contribution: Floats
    n: Floats
    inflation: Floats

    @property
    def variance(self) -> Floats:
        """Return the variance of differences by these units, `[pair]`; infinite where there is but one."""
        squares = np.einsum("up,up->p", self.contribution, self.contribution)
        return np.where(self.n > ONE, squares * self.inflation, np.inf)


class Uncertainty(NamedTuple):
    """Differences of each pair: of `means` over documents that both have, and as tested, `centre`.

    The two differ where raters' own levels are taken out. `variance` is that of the centre, the sum over `parts` where
    there are any, and `lasting` the part of it that more documents do not shrink, because raters stay the same.
    `freedom` are t's degrees of freedom. `raters` and `documents` count those that each pair rests on.
    """

    means: Floats
    centre: Floats
    variance: Floats
    lasting: Floats
    freedom: Floats
    raters: Floats
    documents: Floats
    parts: tuple[Part, ...] = ()
    comparisons: ModelComparisons | None = None

    @property
    def known(self) -> Bools:
        """True of pairs with an estimate: two systems that share documents."""
        return ~np.isnan(self.means if self.comparisons is None else self.centre)

    @property
    def lasts(self) -> Bools:
        """True where raters who stay leave a part that documents do not shrink; one estimated at 0 is seldom 0."""
        there = self.lasting > 0
        return there if self.comparisons is None else there | self.comparisons.lasts

    @property
    def family(self) -> TFamily | None:
        """The t statistics of all pairs under a model; None without one."""
        return None if self.comparisons is None else self.comparisons.family()


def uncertainty_of_documents(rated: ScoredRatings) -> Uncertainty:
    """Take documents for a sample, and the raters as they are."""
    sides = lay_out_by_pair(rated, documents=True)
    gap, weight = _separate_raters(sides), sides.share.mean(0)
    part = _part(add_by_label(gap, sides.document), add_by_label(weight, sides.document))
    return _add_parts(sides, gap, weight, (part,), lasting=False)


def uncertainty_of_raters(rated: ScoredRatings) -> Uncertainty:
    """Take raters for a sample, and their documents with them."""
    sides, cells, weight = _centre_raters(rated)
    part = _part(add_by_label(cells, sides.rater), add_by_label(weight, sides.rater))
    return _add_parts(sides, cells, weight, (part,), lasting=True)


def uncertainty_of_both(rated: ScoredRatings) -> Uncertainty:
    """Take raters and documents for samples that cross; contributions of documents are those of `crossed`."""
    sides, cells, weight = _centre_raters(rated)
    by_rater = _part(add_by_label(cells, sides.rater), add_by_label(weight, sides.rater))
    by_document = _part(sum_contributions(rated).documents, add_by_label(weight, sides.document))
    return _add_parts(sides, cells, weight, (by_rater, by_document), lasting=True)


def uncertainty_of_model(rated: ScoredRatings, pools: Pools, draws: int | None = None) -> Uncertainty:
    """Return the uncertainty of differences in the mixed model of ratings, for raters at large or these raters only.

    `pools`: how raters without a system in common are read. `draws` simulated studies moderate variances (None: they
    are the model's).
    """
    sides = lay_out_by_pair(rated, documents=True)
    of = compare_by_model(rated, pools) if draws is None else moderated_comparisons(rated, pools, draws)
    variance = np.where(of.comparable, of.variance, np.inf)
    family = of.family()
    raters = np.where(of.at_large, of.raters, len(np.unique(rated.rater)))
    return Uncertainty(
        _means(sides), of.difference, variance, of.lasting, family.freedom, raters, of.documents, comparisons=of
    )


def uncertainty_of_t_tests(rated: ScoredRatings, *, crossed: bool) -> Uncertainty:
    """Take raters (and with `crossed` documents) for a sample as t tests do, with their CR2 variances and freedom."""
    sides = lay_out_by_pair(rated, documents=True)
    of = spread(sides, sides.rater)
    variance, freedom = of.variance, of.df
    if crossed:
        documents, cells = spread(sides, sides.document), spread(sides, np.arange(len(sides.rater)))
        both = of.variance + documents.variance - cells.variance
        variance = np.maximum(np.maximum(of.variance, documents.variance), both)
        freedom = np.minimum(of.df, documents.df)
    gap, weight = _separate_raters(sides), sides.share.mean(0)
    variance = np.where(np.isnan(variance), np.inf, variance)
    return _sum_variances(sides, gap, weight, variance, np.nan_to_num(freedom), lasting=True)


def _add_parts(sides: Sides, cells: Floats, weight: Floats, parts: tuple[Part, ...], *, lasting: bool) -> Uncertainty:
    """Add up the variances of parts; the degrees of freedom are Satterthwaite's."""
    each = np.stack([part.variance for part in parts])
    variance = each.sum(0)
    spare = np.stack([np.maximum(part.n - 1, 1e-9) for part in parts])
    known = np.isfinite(variance)
    squares = (np.where(known, each, 0.0) ** 2 / spare).sum(0)
    freedom = np.divide(np.where(known, variance, 0.0) ** 2, squares, out=np.zeros_like(squares), where=squares > 0)
    # A variance of 0 is estimated, too.
    freedom = np.where(known & (squares == 0), spare.min(0), freedom)
    return _sum_variances(sides, cells, weight, variance, freedom, lasting=lasting)._replace(parts=parts)


def _sum_variances(
    sides: Sides, cells: Floats, weight: Floats, variance: Floats, freedom: Floats, *, lasting: bool
) -> Uncertainty:
    within = _variance_within_raters(sides, cells, weight) if lasting else variance
    known = np.isfinite(variance)
    # What raters' own mean differences take out of the variance is theirs, and no document shrinks it.
    lasts = np.where(known, np.maximum(np.where(known, variance, 0.0) - np.where(known, within, 0.0), 0.0), 0.0)
    raters, documents = _count_clusters(weight, sides.rater), _count_clusters(weight, sides.document)
    return Uncertainty(_means(sides), cells.sum(0), variance, lasts, freedom, raters, documents)


def _part(contribution: Floats, weight: Floats) -> Part:
    """Centre contributions by their weights, and correct their squares for what centring takes away.

    With loads w it takes a share `sum w^2` where variances go with loads, as those of means of documents do, and
    `2 sum w^3 / sum w^2 - sum w^2` where they go with the squares of loads, as tastes do; the larger counts.
    """
    squares, cubes = (weight**2).sum(0), (weight**3).sum(0)
    there = squares > 0
    taste = np.divide(2 * cubes, squares, out=np.ones_like(squares), where=there) - squares
    left = 1 - np.minimum(np.maximum(squares, taste), 1 - 1e-9)
    n = np.divide(1.0, squares, out=np.zeros_like(squares), where=there)
    return Part(contribution - weight * contribution.sum(0), n, 1 / left)


def _means(sides: Sides) -> Floats:
    """Return differences of means; NaN where two systems share no document."""
    return np.where((sides.size > 0).all(0), sides.mean[0] - sides.mean[1], np.nan)


def _separate_raters(sides: Sides) -> Floats:
    return np.asarray(sides.part[0] - sides.part[1])


def _centre_raters(rated: ScoredRatings) -> tuple[Sides, Floats, Floats]:
    """Return contributions of cells without their raters' own levels, and the cells' shares, `[cell, pair]`."""
    sides = lay_out_by_pair(rated, documents=True)
    explained = levels(rated)[sides.rater][:, None] + sides.mean.mean(0)
    centred = sides.part - sides.share * explained
    return sides, np.asarray(centred[0] - centred[1]), np.asarray(sides.share.mean(0))


def _count_clusters(weight: Floats, label: Ints) -> Floats:
    return np.asarray(np.count_nonzero(add_by_label(weight, label), axis=0), float)


def _variance_within_raters(sides: Sides, cells: Floats, weight: Floats) -> Floats:
    """Estimate the variance that documents add to differences, each rater's own mean difference taken out."""
    _, at = np.unique(sides.rater, return_inverse=True)
    load = add_by_label(weight, sides.rater)
    own = np.divide(add_by_label(cells, sides.rater), load, out=np.zeros_like(load), where=load > 0)
    by_document = add_by_label(cells - weight * own[at], sides.document)
    n, taken = _count_clusters(weight, sides.document), np.count_nonzero(load, axis=0)
    # Each rater's own mean difference costs a degree of freedom of the documents.
    spare = np.divide(n, n - taken, out=np.zeros_like(n), where=n > taken)
    return np.asarray(np.einsum("xp,xp->p", by_document, by_document) * spare)


class Means(NamedTuple):
    """Each system's `mean`, the standard `error` of it, and t's `freedom` (0: nothing is known of the error)."""

    mean: Floats
    error: Floats
    freedom: Floats


def means(rated: ScoredRatings, *, raters_drawn: bool) -> Means:
    """Estimate means over the documents that a system has in full, with cluster-robust errors.

    With raters taken as drawn the variance is the largest of by rater, by document, and both less what they share; with
    raters as given it is that by document (Cameron, Gelbach and Miller 2011). Each is stretched by n / (n - 1), with as
    many raters as loads amount to, `1 / sum share^2`.
    """
    came = ~np.isnan(rated.total)[rated.document, rated.system]
    weight = np.where(came, rated.share, 0.0)
    size = np.bincount(rated.system, weights=weight, minlength=rated.n_systems)
    per = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0)
    mean = np.bincount(rated.system, weights=weight * rated.value, minlength=rated.n_systems) * per
    share = weight * per[rated.system]
    residual = share * (rated.value - mean[rated.system])
    documents = _variances_by_label(rated.document, rated, share, residual, came)
    if not raters_drawn:
        return Means(np.where(size > 0, mean, np.nan), np.sqrt(documents[0]), documents[1])
    raters = _variances_by_label(rated.rater, rated, share, residual, came)
    cells = _variances_by_label(rated.rater * rated.n_documents + rated.document, rated, share, residual, came)
    # What is not known is infinite, and infinite less infinite is not a number, which is left out.
    with np.errstate(invalid="ignore"):
        both = raters[0] + documents[0] - cells[0]
    variance = np.fmax(np.fmax(raters[0], documents[0]), np.where(np.isnan(both), 0.0, both))
    freedom = np.minimum(raters[1], documents[1])
    return Means(np.where(size > 0, mean, np.nan), np.sqrt(variance), freedom)


def _variances_by_label(
    label: Ints, rated: ScoredRatings, share: Floats, residual: Floats, came: Bools
) -> tuple[Floats, Floats]:
    """Return variances and degrees of freedom of systems' means, clusters being ratings with the same label."""
    _, at = np.unique(label, return_inverse=True)
    shape = (int(at.max(initial=-1)) + 1, rated.n_systems)
    cell = at * rated.n_systems + rated.system
    parts, loads = (
        np.bincount(cell, weights=np.where(came, of, 0.0), minlength=shape[0] * shape[1]).reshape(shape)
        for of in (residual, share)
    )
    squares = (loads**2).sum(0)
    n = np.divide(1.0, squares, out=np.zeros_like(squares), where=squares > 0)
    few = n < 1 + 1e-9
    stretch = np.divide(n, n - 1, out=np.full_like(n, np.inf), where=~few)
    variance = (parts**2).sum(0)
    return np.where(few, np.inf, variance * np.where(few, 1.0, stretch)), np.where(few, 0.0, n - 1)
