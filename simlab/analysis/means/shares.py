"""Give intervals of shares that hold where shares are near 0 or 1 and judgements are few.

`value[row]` is the observed share of `n[row]` judgements; n need not be whole: judgements that are not independent, or
that exhaust a test set, count as another number of independent ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, ndtri, stdtrit

from simlab.analysis.means.checks import at_least, check_level, reject
from simlab.analysis.means.estimates import Interval
from simlab.types import Floats


def wilson(value: ArrayLike, n: ArrayLike, level: float = 0.05) -> Interval:
    """Give score intervals: all shares that a z test of the observed one does not reject.

    With alpha from .01 to .99 and at least 20 judgements they cover at least .89 at the level .05, .95 on average; for
    a share below .2 / n (or so far below 1) they dip to .84. Source: Wilson 1927; Brown, Cai and DasGupta 2001.

    Raises InputError for shares outside [0, 1], no judgements, or a level that is none.

    >>> [round(float(bound), 3) for bound in wilson(1.0, 20)]
    [0.839, 1.0]
    """
    share, size = _checked(value, n, level)
    z2 = ndtri(level / 2) ** 2
    stretch = z2 / size
    centre = (share + stretch / 2) / (1 + stretch)
    half = np.sqrt(stretch * (share * (1 - share) + stretch / 4)) / (1 + stretch)
    # Rounding must not shut out the share itself where it is 0 or 1.
    return Interval(np.where(share <= 0, 0.0, centre - half), np.where(share >= 1, 1.0, centre + half))


def clopper_pearson(value: ArrayLike, n: ArrayLike, level: float = 0.05) -> Interval:
    """Give exact intervals: they cover at least `1 - level` at any share, and often more.

    Raises InputError as `wilson`. Source: Clopper and Pearson 1934.

    >>> [round(float(bound), 3) for bound in clopper_pearson(1.0, 20)]
    [0.832, 1.0]
    """
    share, size = _checked(value, n, level)
    seen, unseen = share * size, (1 - share) * size
    # Where nothing was seen the lower bound is 0; the function is asked about something, and not heard.
    low = np.where(seen > 0, betaincinv(np.where(seen > 0, seen, 1.0), unseen + 1, level / 2), 0.0)
    high = np.where(unseen > 0, betaincinv(seen + 1, np.where(unseen > 0, unseen, 1.0), 1 - level / 2), 1.0)
    return Interval(low, high)


def effective_number(
    value: Floats, se: Floats, n: ArrayLike, n_documents: ArrayLike, freedom: ArrayLike, level: float
) -> Floats:
    """Return how many independent judgements tell as much of a share as n do that come in documents.

    `value (1 - value) / se^2`, at most n, shortened by the squared ratio of normal and t quantiles since the standard
    error is known from few documents. A share of 0 or 1 shows no standard error: its documents count.
    Source: Korn and Graubard 1998.
    """
    spread, variance = value * (1 - value), se**2
    known = (spread > 0) & (variance > 0)
    like = np.divide(spread, variance, out=np.zeros_like(spread), where=known)
    shorter = (ndtri(level / 2) / stdtrit(np.asarray(freedom, float), level / 2)) ** 2
    return np.asarray(np.where(known, np.minimum(like * shorter, n), n_documents))


def _checked(value: ArrayLike, n: ArrayLike, level: float) -> tuple[Floats, Floats]:
    check_level(level)
    share, size = np.broadcast_arrays(np.asarray(value, float), np.asarray(n, float))
    reject(bool(np.any(~((share >= 0) & (share <= 1)))), "value: shares must lie between 0 and 1; correct them")
    at_least("n", size, 1e-9)
    return share, size
