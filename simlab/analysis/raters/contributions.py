"""Split each pair's difference by rater and document; estimate its variance between clusters.

`lay_out_by_pair` returns each rater's (and document's) part of both systems' means, `spread` the variance. Everything
is laid out by pair, `[..., pair]`, pairs i < j in the order of `np.triu_indices`, and by side: side 0 is the first
system of a pair, side 1 the second. A document counts for a pair if all its segments are rated for both systems. In
`ScoredRatings` a rating has a weight, `share`; `total[document, system]` is NaN where a segment has no rating.

The model behind it is one mean per system and independent ratings; what the data say of clusters then corrects it.
There all of the general theory has a closed form: the hat matrix of a cluster averages within systems, so that its
adjustment multiplies a cluster's residuals of a system by `(1 - h)^(-1/2)`, h being the cluster's share of the
system's ratings. Source: Bell and McCaffrey 2002; Pustejovsky and Tipton 2018, section 2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simlab.types import Bools, Floats, Ints, ScoredRatings

RELATIVE_TOLERANCE = 1e-9
"""Means that differ by rounding only are equal."""
ALL = 1 - 1e-9
"""A cluster with this share of a system's ratings is that system's only one."""


class Sides(NamedTuple):
    """Sides of pairs: `share[side, cell, pair]`, a cell's share of the ratings, `part[side, cell, pair]`, of the mean.

    A cell holds the ratings of one document, `document[cell]`, by one rater, `rater[cell]`; the parts of a side add up
    to its mean, which rests on `size[side, pair]` segments.
    """

    share: Floats
    part: Floats
    size: Floats
    rater: Ints
    document: Ints

    @property
    def mean(self) -> Floats:
        """Give the two means of each pair, `[side, pair]`."""
        return np.asarray(self.part.sum(1))

    @property
    def residual(self) -> Floats:
        """Return how far each cell draws a side's mean from where the others' ratings lie, `[side, cell, pair]`."""
        return np.asarray(self.part - self.share * self.mean[:, None])


def lay_out_by_pair(rated: ScoredRatings, *, documents: bool = False) -> Sides:
    """Lay ratings out by rater, and by document if `documents`, or where some segments have no rating; see `Sides`.

    `size[side, pair]` is the number of segments that a mean rests on; a pair that shares no document has none.
    """
    came = ~np.isnan(rated.total)
    apart = documents or not bool(came.all())
    rater, document, weight, score = _cells(rated, apart=apart)
    first, second = np.triu_indices(rated.n_systems, 1)
    sides = np.stack([first, second])
    weights, scores = (np.moveaxis(table[:, sides], 0, 1) for table in (weight, score))
    if not came.all():
        both = (came[:, first] & came[:, second])[document]
        weights, scores = weights * both, np.where(both, scores, 0.0)
    size = weights.sum(1)
    per = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0)[:, None]
    return Sides(weights * per, scores * per, size, rater, document)


def _cells(rated: ScoredRatings, *, apart: bool) -> tuple[Ints, Ints, Floats, Floats]:
    """Add ratings up, `[cell, system]`: by rater and document if these are kept `apart`, else by rater."""
    n_documents = rated.n_documents if apart else 1
    code = rated.rater * n_documents + rated.document if apart else rated.rater
    # Finding who rated what by marking it is faster than sorting.
    marked = np.zeros(int(code.max(initial=-1)) + 1, bool)
    marked[code] = True
    cells = np.flatnonzero(marked)
    cell = (np.cumsum(marked) - 1)[code] * rated.n_systems + rated.system
    size = len(cells) * rated.n_systems
    weight, score = (
        np.bincount(cell, weights=values, minlength=size).astype(float, copy=False).reshape(-1, rated.n_systems)
        for values in (rated.share, rated.share * rated.value)
    )
    return cells // n_documents, cells % n_documents, weight, score


def gather_by_label(values: Floats, label: Ints) -> Floats:
    """Add up `values[side, cell, pair]` by label: `[side, label, pair]`, labels that occur in their order."""
    order = np.argsort(label, kind="stable")
    in_order = label[order]
    starts = np.flatnonzero(np.diff(in_order, prepend=-1))
    return np.asarray(np.add.reduceat(values[:, order], starts, axis=1))


def add_by_label(values: Floats, label: Ints) -> Floats:
    """Add up `values[cell, pair]` by label: `[label, pair]`, labels that occur in their order."""
    return np.asarray(gather_by_label(values[None], label)[0])


def differs_beyond_rounding(rated: ScoredRatings, gap: Floats) -> Bools:
    """Mark which pairs differ by more than rounding."""
    size = np.abs(rated.value).max(initial=0.0)
    return np.asarray(np.abs(gap) > RELATIVE_TOLERANCE * size)


class DifferenceVariance(NamedTuple):
    """Estimated `variance[pair]` of differences and the degrees of freedom `df[pair]` of that estimate.

    Both are NaN where a system was rated in one cluster only, which says nothing of how clusters differ.
    """

    variance: Floats
    df: Floats


def spread(sides: Sides, label: Ints) -> DifferenceVariance:
    """Estimate the variance of each pair's difference, clusters being the cells with the same `label[cell]`.

    The degrees of freedom are Satterthwaite's under the working model: `(n - 1)` of n clusters with equal loads.
    """
    share, residual = (gather_by_label(values, label) for values in (sides.share, sides.residual))
    alone = (share >= ALL).any((0, 1)) | (sides.size == 0).any(0)
    # A cluster that is a system's only one gets NaN in the end, and must not divide by 0 on the way.
    stretch = 1 / np.sqrt(1 - np.minimum(share, ALL))
    apart = residual[0] * stretch[0] - residual[1] * stretch[1]
    variance = np.einsum("gp,gp->p", apart, apart)
    return DifferenceVariance(
        *(np.where(alone, np.nan, values) for values in (variance, _degrees(share, stretch, sides.size)))
    )


def _degrees(share: Floats, stretch: Floats, size: Floats) -> Floats:
    """Match the first two moments of the variance's estimate: `tr(M)^2 / tr(M^2)`.

    `M[g, h]` is the covariance of the clusters' contributions if ratings were independent: of a side with n segments
    `h_g / n` on the diagonal, `-q_g q_h / n` beside it, `q = h (1 - h)^(-1/2)`.
    """
    per = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0)
    q = share * stretch
    squared: Floats = np.zeros(size.shape[1])
    for first, second, times in ((0, 0, 1), (1, 1, 1), (0, 1, 2)):
        cross = q[first] * q[second]
        diagonal = (share[first] * share[second]).sum(0)
        # The square of the sum less the squares is the sum over different clusters, without a matrix of them.
        squared += times * per[first] * per[second] * (diagonal + cross.sum(0) ** 2 - (cross**2).sum(0))
    return np.asarray(np.divide(per.sum(0) ** 2, squared, out=np.zeros_like(squared), where=squared > 0))
