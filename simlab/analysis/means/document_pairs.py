"""Hold each two means against each other, document by document, under one promise for all pairs.

Arrays are `[system, document]` or `[pair, document]`. Documents are drawn; two systems that are equal might as well
have changed places in any of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from simlab.analysis import signs
from simlab.analysis.means.documents import LEAST_LEFT, Apart, Totals, apart, freedom_of
from simlab.analysis.multiplicity import Family
from simlab.types import Floats, Ints

ROUNDING = 1e-9
"""Statistics lie between 0 and the root of the number of documents; those this close count as equal."""
STEP = 1 << 22


class Influence(NamedTuple):
    """Hold estimated means: `value[system]`, and each document's part in their error, `part[system, document]`.

    Parts of a system add up to 0, `share[system, document]` (of its judged outputs) to 1. `judged[document]` says which
    documents hold judgements.
    """

    value: Floats
    part: Floats
    share: Floats


class Compared(NamedTuple):
    """Hold pairs: `difference`, its standard error `se`, own and family-wise `p_value`s, bounds `low` and `high`.

    Bounds hold for all pairs at once, and leave 0 out where the adjusted p-value is at most the level. `reach` is how
    many standard errors a claim takes, `[pair]`.
    """

    difference: Floats
    se: Floats
    p_value: Floats
    adjusted: Floats
    low: Floats
    high: Floats
    reach: Floats


def influence(of: Totals, *, corrected: bool) -> Influence:
    """Estimate means of judgements alone, or corrected by the metric with a lambda that other documents have tuned.

    A document that is corrected by the lambda of all others is not drawn towards the line that it is held against, so
    that its part needs no stretching. Raises nothing: `of` has been through `document_mean`.
    """
    n = of.n.sum(1, keepdims=True)
    parts, share, value = apart(of), of.n / n, of.y.sum(1) / n[:, 0]
    if not corrected:
        return Influence(value, parts.y, share)
    part = parts.y - _for_differences(parts) * parts.off
    moved = part.sum(1)
    return Influence(value + moved, part - share * moved[:, None], share)


def _for_differences(parts: Apart) -> Floats:
    """Return, for each document, the lambda of all others that makes differences of two means least variable.

    One lambda serves all systems, so that differences are those of the means. Squares of all differences of pairs add
    up to `S sum x_s^2 - (sum x_s)^2`.
    """
    loading, n = parts.g - parts.rest, len(parts.y)
    product, square = (n * (one * loading).sum(0) - one.sum(0) * loading.sum(0) for one in (parts.y, loading))
    remain = square.sum() - square
    safe = remain > 1e-9 * square.sum()
    return np.asarray(np.divide(product.sum() - product, remain, out=np.zeros_like(remain), where=safe))


def intervals(of: Influence, level: float) -> tuple[Floats, Floats]:
    """Return bounds of each mean by itself: t, CR2 and Satterthwaite's freedom as in `document_mean`."""
    error = np.sqrt((of.part**2 / np.maximum(1 - of.share, LEAST_LEFT)).sum(1))
    reach = stdtrit(freedom_of(of.share), 1 - level / 2) * error
    return of.value - reach, of.value + reach


def compared(
    rng: np.random.Generator, of: Influence, pairs: tuple[Ints, Ints], *, level: float, flips: int
) -> Compared:
    """Test pairs by flipping whole documents, all pairs of a document together; the largest statistic sets the bar.

    The statistic of a pair is `|sum u| / sqrt(sum u^2)`, u by document under the hypothesis; bounds are the differences
    that would not be rejected (a quadratic in the difference), so that what is claimed and what an interval leaves out
    are the same. All `2^(documents - 1)` patterns are enumerated where they are at most `flips`. Source: Canay, Romano
    and Shaikh 2017; Romano and Wolf 2005 (in one step).
    """
    first, second = pairs
    apart_, weight = of.part[first] - of.part[second], (of.share[first] + of.share[second]) / 2
    gap = of.value[first] - of.value[second]
    each = apart_ + weight * gap[:, None]
    length = np.sqrt(np.einsum("pd,pd->p", each, each))
    each = np.divide(each, length[:, None], out=np.zeros_like(each), where=length[:, None] > 0)
    family = _flipped(rng, each, flips)
    bar = _bar(family, level)
    low, high = _bounds(gap, apart_, weight, bar)
    se = np.sqrt(np.einsum("pd,pd->p", apart_, apart_))
    largest = Family(family.observed, np.repeat(family.null.max(1, keepdims=True), len(gap), 1), family.every, ROUNDING)
    reach = np.divide(np.maximum(high - gap, gap - low), se, out=np.full(len(gap), np.inf), where=se > 0)
    return Compared(gap, se, family.p_values(), largest.p_values(), low, high, reach)


def _flipped(rng: np.random.Generator, each: Floats, flips: int) -> Family:
    """Return the statistic of each pair as it is, and under each pattern of signs, of parts `each[pair, document]`."""
    told = each[:, each.any(0)]
    n_documents = told.shape[1]
    exact = 0 < n_documents < 63 and 2 ** (n_documents - 1) <= flips
    pattern = signs.half(n_documents) if exact else signs.drawn(rng, flips, n_documents)
    return Family(np.abs(told.sum(1)), np.abs(pattern @ told.T), exact, ROUNDING)


def _bar(family: Family, level: float) -> float:
    """Return what a statistic has to exceed so that at most the `level` of patterns reach it, in any pair."""
    largest, n = np.sort(family.null.max(1))[::-1], len(family.null)
    beyond = int(level * n + ROUNDING) if family.every else int(level * (n + 1) + ROUNDING) - 1
    return float(largest[beyond] + ROUNDING) if beyond >= 0 else np.inf


def _bounds(gap: Floats, part: Floats, weight: Floats, bar: float) -> tuple[Floats, Floats]:
    """Return the differences at which no pair's statistic passes the bar; infinite where none would."""
    v, k, w = (np.einsum("pd,pd->p", a, b) for a, b in ((part, part), (part, weight), (weight, weight)))
    low, high = np.full(len(gap), -np.inf), np.full(len(gap), np.inf)
    bounded = bar**2 * w < 1 - ROUNDING if np.isfinite(bar) else np.zeros(len(gap), bool)
    a, b, c = 1 - bar**2 * w[bounded], bar**2 * k[bounded], bar**2 * v[bounded]
    reach = np.sqrt(b**2 + a * c)
    low[bounded], high[bounded] = gap[bounded] - (b + reach) / a, gap[bounded] - (b - reach) / a
    return low, high
