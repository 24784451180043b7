"""Hold each two means against each other, document by document, under one promise for all pairs.

Arrays are `[system, document]` or `[pair, document]`. Documents are drawn; two systems that are equal might as well
have changed places in any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from simlab.analysis import signs
from simlab.analysis.means.documents import LEAST_LEFT, Apart, Totals, apart, freedom_of
from simlab.types import Array, Floats, Ints

ROUNDING = 1e-9
"""Statistics lie between 0 and the root of the number of documents; those this close count as equal."""
STEP = 1 << 18
PRIOR = 12.0
"""Spread of a pair counts beside the median over pairs as if this had been told by so many documents."""
MANY = 12
"""From so many documents on the bar is that of documents about means as found, and `MARGIN` over their number more."""
MARGIN = 0.5
HELD = 0.02
"""By so much of what the metric says of judged outputs lambda is drawn towards 0."""


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


def share_intervals(of: Influence, level: float) -> tuple[Floats, Floats]:
    """Return bounds of shares: as of means, within 0 and 1; where all judgements are alike, what documents rule out.

    Of a share without any spread Clopper and Pearson's bound holds, documents taken for single judgements.
    """
    low, high = (np.clip(bound, 0, 1) for bound in intervals(of, level))
    alike = ~of.part.any(1)
    beyond = 1 - (level / 2) ** (1 / np.maximum((of.share > 0).sum(1), 1))
    low = np.where(alike, np.maximum(of.value - beyond, 0), low)
    return low, np.where(alike, np.minimum(of.value + beyond, 1), high)


def _for_differences(parts: Apart) -> Floats:
    """Return, for each document, the lambda of all others that makes differences of two means least variable.

    One lambda serves all systems, so that differences are those of the means.
    """
    loading = parts.g - parts.rest
    product, square = of_differences(parts.y, loading), of_differences(loading, loading)
    whole = of_differences(parts.g, parts.g)
    remain = square.sum() - square
    # What little the metric adds where nearly all it saw was judged tells lambda badly: it is drawn towards 0.
    held = remain + HELD * whole.sum()
    safe = remain > 1e-9 * whole.sum()
    return np.asarray(np.divide(product.sum() - product, held, out=np.zeros_like(remain), where=safe))


def of_differences(one: Floats, other: Floats) -> Floats:
    """Add up products of differences of all pairs of systems, `[document]`, of `one` and `other` `[system, document]`.

    Squares of all differences add up to `S sum x_s^2 - (sum x_s)^2`.
    """
    return np.asarray(len(one) * (one * other).sum(0) - one.sum(0) * other.sum(0))


def intervals(of: Influence, level: float) -> tuple[Floats, Floats]:
    """Return bounds of each mean by itself: t, CR2 and Satterthwaite's freedom as in `document_mean`."""
    error = np.sqrt((of.part**2 / np.maximum(1 - of.share, LEAST_LEFT)).sum(1))
    reach = stdtrit(freedom_of(of.share), 1 - level / 2) * error
    return of.value - reach, of.value + reach


def compared(
    rng: np.random.Generator,
    of: Influence,
    pairs: tuple[Ints, Ints],
    *,
    level: float,
    flips: int,
    pool: float | None = None,
) -> Compared:
    """Test pairs by flipping whole documents, all pairs of a document together; the largest t sets the bar for all.

    Documents are flipped about the means as found, and estimated anew: both means, and from what is left of them the
    error. From `MANY` documents on the largest t so reached, `1 + MARGIN / documents` times as far, is the bar: about
    their own mean documents lie a little closer together than about the truth. Of fewer documents, and of one pair, the
    bar is at least that of systems taken for equal, too: their common mean halfway between both, so that what a
    document holds of either might as well lie on the other side of it (a large difference raises it for all pairs).
    Bounds, the bar times the standard error about the difference, leave out what is claimed and nothing else. All
    `2^(documents - 1)` patterns are enumerated where they are at most `flips`. Source: Canay, Romano and Shaikh 2017;
    Cameron, Gelbach and Miller 2008; Romano and Wolf 2005 (in one step); CR3 of Bell and McCaffrey 2002 for the error.

    Squared errors, beside what equal documents would make them, are drawn towards their median over pairs, which counts
    like `PRIOR` documents, in flipped documents too: otherwise the pair whose error is small by chance sets the bar for
    all (Smyth 2004). With a `pool`, they are drawn towards their mean by this share.
    """
    gap = of.value[pairs[0]] - of.value[pairs[1]]
    stretch = 1 / np.maximum(1 - np.maximum(of.share[pairs[0]], of.share[pairs[1]]), LEAST_LEFT)
    part = (of.part[pairs[0]] - of.part[pairs[1]]) * stretch
    towards = _towards(of, pairs, stretch, pool)
    se = np.sqrt(towards.moderated(np.einsum("pd,pd->p", part, part)))
    observed = ratio(np.abs(gap), se, np.abs(gap))
    told = np.asarray(of.part.any(0) | of.share.any(0))
    n = int(told.sum())
    pattern, every = _patterns(rng, n, flips)
    own, adjusted, bar = np.zeros(len(gap)), np.zeros(len(gap)), 0.0
    # Of a single pair nothing is moderated, and flips of systems that are equal are exact.
    as_found = n >= MANY and len(gap) > 1 and bool((se > 0).all())
    hypotheses, further = ((0 * gap,), 1 + MARGIN / n) if as_found else ((gap, 0 * gap), 1.0)
    for nearer in hypotheses:
        reached, largest = _flipped(_sides(of, pairs, nearer, stretch, told), pattern, observed / further, towards)
        beyond = len(largest) - np.searchsorted(np.sort(largest), _reached_from(observed / further))
        own, adjusted = (np.maximum(p, _share(n, largest, every)) for p, n in ((own, reached), (adjusted, beyond)))
        bar = max(bar, further * _bar(largest, level, every=every))
    half = np.where(se > 0, bar * se, 0.0) if np.isfinite(bar) else np.full(len(gap), np.inf)
    return Compared(gap, se, own, adjusted, gap - half, gap + half, np.full(len(gap), bar))


def _patterns(rng: np.random.Generator, n_documents: int, flips: int) -> tuple[Floats, bool]:
    """Return patterns of signs, and whether these are all."""
    every = n_documents < 63 and 2 ** max(n_documents - 1, 0) <= flips
    if every:
        return signs.half(max(n_documents, 1))[:, :n_documents], True
    return signs.drawn(rng, flips, n_documents), False


def _share(count: Ints, largest: Floats, every: bool) -> Floats:
    n = len(largest)
    return np.asarray(count / n if every else (count + 1) / (n + 1))


class _Towards(NamedTuple):
    """Hold squared errors of pairs were documents alike, `unit`, and the `share` by which they go to the middle."""

    unit: Floats
    share: Floats
    middle: Callable[..., Floats]

    def moderated(self, square: Floats) -> Floats:
        """Draw squares `[..., pair]` towards their middle over pairs."""
        return square + self.share * (self.middle(square / self.unit, -1, keepdims=True) * self.unit - square)


def _towards(of: Influence, pairs: tuple[Ints, Ints], stretch: Floats, pool: float | None) -> _Towards:
    first, second = (of.share[system] for system in pairs)
    if pool is not None:
        return _Towards(np.ones(len(first)), np.full(len(first), pool), np.mean)
    told = 1 / (((first + second) / 2) ** 2).sum(1) - 1
    return _Towards((stretch**2 * (first**2 + second**2)).sum(1), PRIOR / (PRIOR + told), np.median)


class _Sides(NamedTuple):
    """Hold what documents bring to both means of each pair under a hypothesis, and how they count in the error.

    `sums` are laid out `[document, pair]`: both sides, and the squares of their difference times each weight; `own` are
    sums over documents, of the difference squared and of products of weights.
    """

    sums: tuple[Floats, ...]
    own: tuple[Floats, ...]


def _sides(of: Influence, pairs: tuple[Ints, Ints], gap: Floats, stretch: Floats, told: Array) -> _Sides:
    """Lay documents out about means that lie `gap` nearer to each other than found."""
    nearer, stretch = gap[:, None] / 2, stretch[:, told]
    one, two = (
        of.part[system][:, told] + sign * of.share[system][:, told] * nearer
        for system, sign in zip(pairs, (1, -1), strict=True)
    )
    first, second = (of.share[system][:, told] * stretch for system in pairs)
    each = (one - two) * stretch
    products = ((each, each), (first, first), (second, second), (first, second))
    sums = tuple(np.ascontiguousarray(x.T) for x in (one, two, each * first, each * second))
    return _Sides(sums, tuple(np.einsum("pd,pd->p", a, b) for a, b in products))


def _flipped(sides: _Sides, pattern: Floats, observed: Floats, towards: _Towards) -> tuple[Ints, Floats]:
    """Count the patterns in which each pair's t reaches what was observed; return the largest t of each pattern."""
    reached, largest = np.zeros(len(observed), np.int64), np.zeros(len(pattern))
    step, least = max(1, STEP // max(len(observed), 1)), _reached_from(observed)
    for start in range(0, len(pattern), step):
        some = slice(start, start + step)
        t = _t([pattern[some] @ x for x in sides.sums], sides.own, towards)
        reached += (t >= least).sum(0)
        largest[some] = t.max(1, initial=0.0)
    return reached, largest


def _t(sums: Sequence[Floats], own: Sequence[Floats], towards: _Towards) -> Floats:
    """Return `t[pattern, pair]` of flipped documents from sums over them."""
    first, second, by_first, by_second = sums
    each, one, other, both = own
    square = each + first**2 * one + second**2 * other - 2 * first * second * both
    square -= 2 * (first * by_first - second * by_second)
    top = np.abs(first - second)
    # What is left of documents that all say the same is rounding.
    return ratio(top, np.sqrt(towards.moderated(np.maximum(square, 0.0))), np.broadcast_to(np.sqrt(each), top.shape))


def pooled(variance: Floats, share: float) -> Floats:
    """Draw variances `[..., pair]` towards their mean over pairs by a share between 0 and 1."""
    return variance + share * (variance.mean(-1, keepdims=True) - variance) if share else variance


def ratio(top: Floats, error: Floats, scale: Floats) -> Floats:
    """Divide by an error; where that is nothing beside `scale`, a difference is infinite, and none is 0."""
    tiny = ROUNDING * np.maximum(scale, 1e-300)
    return np.divide(top, error, out=np.where(top > tiny, np.inf, 0.0), where=error > tiny)


def _reached_from(t: Floats) -> Floats:
    """Return what counts as reaching a t: those this close are equal."""
    return np.asarray(t - ROUNDING * (1 + np.where(np.isfinite(t), t, 0.0)))


def _bar(largest: Floats, level: float, *, every: bool) -> float:
    """Return what a t has to exceed so that at most the `level` of patterns reach it in any pair."""
    ordered, n = np.sort(largest)[::-1], len(largest)
    beyond = int(level * n + ROUNDING) if every else int(level * (n + 1) + ROUNDING) - 1
    return float(ordered[beyond]) * (1 + ROUNDING) + ROUNDING if 0 <= beyond < n else np.inf
