"""Say what would settle open pairs, what was large enough to be found, and what lies within a margin."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from simlab.analysis.preferences.assurance import boundary, detectable, settle_anytime
from simlab.analysis.preferences.fresh import CONCENTRATION
from simlab.analysis.preferences.places import orders_of
from simlab.analysis.settling import Seen, needed
from simlab.concluding.conclusion import More
from simlab.concluding.preferences.claims import Claims

LIMIT = 100_000.0
"""More comparisons of a pair than anybody would buy."""


def more(found: Claims, k: int) -> More | None:
    """Return how many more comparisons settle an open pair with 80 % probability; None for one that is claimed."""
    of = found.tested
    if found.verdict[k] or not of.n[k] or orders_of(found.votes).one_way[k]:
        return None
    # Votes that are all alike have no error of their own; one more that is not must be reckoned with.
    n, sd = float(of.n[k]), max(float(of.sd[k]), 1 / float(of.n[k]))
    difference = float(of.difference[k])
    if found.promise.name == "anytime":
        decided = (float(np.count_nonzero(found.votes.value[found.votes.pair == k])) + 1) / (n + 1)
        number = settle_anytime(difference, sd, n, decided, of.critical_open, CONCENTRATION, LIMIT)
    else:
        # Flips of few clusters reach less far than those of the many that more comparisons bring.
        least = float(ndtri(1 - found.promise.level / 2))
        number = needed(Seen(difference, sd**2, 0.0, max(of.critical_open, least), n), LIMIT)
    return More("comparisons", number.median, number.low, number.high, LIMIT, 1.0, "comparisons of these two")


def detectable_difference(found: Claims) -> float | None:
    """Return the share of wins less losses that a typical pair of such a table is claimed at with 80 % probability."""
    of = found.tested
    there = found.family & (of.n > 1) & (of.sd > 0)
    if not there.any():
        return None
    sd, n = float(np.median(of.sd[there])), float(np.median(of.n[there]))
    if found.promise.name == "fixed":
        size = detectable(sd, of.critical)
    else:
        decided = float(np.mean(found.votes.value != 0)) * n
        size = detectable(sd, 0.0) + float(boundary(decided, of.critical, CONCENTRATION)) / n
    return size if size <= 1 else None
