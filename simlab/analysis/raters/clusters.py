"""Estimate how far a difference would vary with other raters, or other documents: cluster-robust variances (CR2).

The model behind it is one mean per system and independent ratings; what the data say of clusters then corrects it.
There all of the general theory has a closed form: the hat matrix of a cluster averages within systems, so that its
adjustment multiplies a cluster's residuals of a system by `(1 - h)^(-1/2)`, h being the cluster's share of the
system's ratings. Source: Bell and McCaffrey 2002; Pustejovsky and Tipton 2018, section 2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simlab.analysis.raters.contributions import Sides, gathered
from simlab.types import Floats, Ints

ALL = 1 - 1e-9
"""A cluster with this share of a system's ratings is that system's only one."""


class Spread(NamedTuple):
    """Hold the estimated `variance[pair]` of differences and the degrees of freedom `df[pair]` of that estimate.

    Both are NaN where a system was rated in one cluster only, which says nothing of how clusters differ.
    """

    variance: Floats
    df: Floats


def spread(sides: Sides, label: Ints) -> Spread:
    """Estimate the variance of each pair's difference, clusters being the cells with the same label.

    The degrees of freedom are Satterthwaite's under the working model: `(n - 1)` of n clusters with equal loads.
    """
    share, residual = (gathered(values, label) for values in (sides.share, sides.residual))
    alone = (share >= ALL).any((0, 1)) | (sides.size == 0).any(0)
    stretch = 1 / np.sqrt(1 - np.minimum(share, ALL))
    apart = residual[0] * stretch[0] - residual[1] * stretch[1]
    variance = np.einsum("gp,gp->p", apart, apart)
    return Spread(*(np.where(alone, np.nan, values) for values in (variance, _degrees(share, stretch, sides.size))))


def _degrees(share: Floats, stretch: Floats, size: Floats) -> Floats:
    """Match the first two moments of the variance's estimate: `tr(M)^2 / tr(M^2)`.

    `M[g, h]` is the covariance of the clusters' contributions if ratings were independent: of a side with n segments
    `h_g / n` on the diagonal, `-q_g q_h / n` beside it, `q = h (1 - h)^(-1/2)`.
    """
    per = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0)
    q = share * stretch
    squared: Floats = np.zeros(size.shape[1])
    for one, other, times in ((0, 0, 1), (1, 1, 1), (0, 1, 2)):
        cross = q[one] * q[other]
        diagonal = (share[one] * share[other]).sum(0)
        squared += times * per[one] * per[other] * (diagonal + cross.sum(0) ** 2 - (cross**2).sum(0))
    return np.asarray(np.divide(per.sum(0) ** 2, squared, out=np.zeros_like(squared), where=squared > 0))
