"""Test all pairs of systems' mean judgements by flipping whole documents, at one error level for all pairs.

Call `influence` on the `Totals` of documents (sums of judgements y and of the metric's scores g of n outputs), then
`compare_by_flips`, which returns differences, p-values and bounds `[pair]`. Two checks: `some_claims` simulates how
often equal systems would be told apart, `confirmation_probabilities` how likely a repetition confirms the claims.
Documents are drawn; two systems that are equal might as well have changed places in any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri, stdtrit

from simlab.analysis import signs
from simlab.analysis.means.documents import LEAST_LEFT, Apart, Totals, cr2_freedom, split_errors
from simlab.types import Array, Bools, Floats, Ints

ROUNDING = 1e-9
"""Statistics lie between 0 and the root of the number of documents; those this close count as equal."""
# Entries `[pattern, pair]` of one slice of patterns, so that memory does not grow with their product.
STEP = 1 << 18
PRIOR = 12.0
"""Degrees of freedom (about documents) that the median variance over pairs is worth beside a pair's own."""
MANY = 12
"""Documents from which on the bar is that of documents about the means as found, times `1 + MARGIN / documents`."""
MARGIN = 0.5
HELD = 0.02
"""Share of the metric's sum of squares over judged outputs that lambda's divisor grows by, which draws it towards 0."""
WORK = 1.2e10
"""Products that a thousand studies may take; with more pairs and documents fewer studies are carried out."""
# With 99 flips p-values are multiples of .01, so that the level .05 is met exactly.
FEWEST, FLIPS = 100, 99
BUNDLES = 64


class MeanInfluence(NamedTuple):
    """Estimated means: `value[system]`, and each document's part in their error, `part[system, document]`.

    Parts of a system add up to 0, `share[system, document]` (of its judged outputs) to 1.
    """

    value: Floats
    part: Floats
    share: Floats


class PairDifferences(NamedTuple):
    """Differences of pairs: `difference`, its error `se`, own and family-wise `p_value`s, bounds `low` and `high`.

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


def influence(of: Totals, *, corrected: bool) -> MeanInfluence:
    """Estimate means of judgements alone, or corrected by the metric with a lambda that other documents have tuned.

    A document that is corrected by the lambda of all others is not drawn towards the line that it is held against, so
    that its part needs no stretching. Raises nothing: `of` has been through `document_mean`.
    """
    n = of.n.sum(1, keepdims=True)
    parts, share, value = split_errors(of), of.n / n, of.y.sum(1) / n[:, 0]
    if not corrected:
        return MeanInfluence(value, parts.y, share)
    part = parts.y - _tune_for_differences(parts) * parts.off
    moved = part.sum(1)
    # Parts of a system add up to 0, so each gives back its share of what has moved the mean.
    return MeanInfluence(value + moved, part - share * moved[:, None], share)


def share_intervals(of: MeanInfluence, level: float) -> tuple[Floats, Floats]:
    """Return bounds of shares `[system]`: those of means, within 0 and 1.

    Where all judgements are alike Clopper and Pearson's bound holds, documents taken for single judgements.
    """
    low, high = (np.clip(bound, 0, 1) for bound in intervals(of, level))
    alike = ~of.part.any(1)
    beyond = 1 - (level / 2) ** (1 / np.maximum((of.share > 0).sum(1), 1))
    low = np.where(alike, np.maximum(of.value - beyond, 0), low)
    return low, np.where(alike, np.minimum(of.value + beyond, 1), high)


def _tune_for_differences(parts: Apart) -> Floats:
    """Return, for each document, the lambda of all others that makes differences of two means least variable.

    One lambda serves all systems, so that differences are those of the means.
    """
    loading = parts.g - parts.rest
    product, square = products_of_differences(parts.y, loading), products_of_differences(loading, loading)
    whole = products_of_differences(parts.g, parts.g)
    remain = square.sum() - square
    # What little the metric adds where nearly all it saw was judged tells lambda badly: it is drawn towards 0.
    divisor = remain + HELD * whole.sum()
    safe = remain > 1e-9 * whole.sum()
    return np.asarray(np.divide(product.sum() - product, divisor, out=np.zeros_like(remain), where=safe))


def products_of_differences(first: Floats, second: Floats) -> Floats:
    """Add up, over pairs, products of differences of `first` and `second` `[system, document]`: `[document]`.

    Squares of all differences add up to `S sum x_s^2 - (sum x_s)^2`.
    """
    return np.asarray(len(first) * (first * second).sum(0) - first.sum(0) * second.sum(0))


def intervals(of: MeanInfluence, level: float) -> tuple[Floats, Floats]:
    """Return bounds of each mean by itself: t, CR2 and Satterthwaite's freedom as in `document_mean`."""
    error = np.sqrt((of.part**2 / np.maximum(1 - of.share, LEAST_LEFT)).sum(1))
    reach = stdtrit(cr2_freedom(of.share), 1 - level / 2) * error
    return of.value - reach, of.value + reach


def compare_by_flips(
    rng: np.random.Generator,
    of: MeanInfluence,
    pairs: tuple[Ints, Ints],
    *,
    level: float,
    flips: int,
    pool: float | None = None,
) -> PairDifferences:
    """Test pairs by flipping whole documents, all pairs of a document together; the largest t sets the bar for all.

    `pairs` are the numbers of first and second systems, `flips` how many patterns of signs are drawn.

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
    # CR3 stretches by 1 / (1 - h); of the shares of two systems the larger one is on the safe side.
    stretch = 1 / np.maximum(1 - np.maximum(of.share[pairs[0]], of.share[pairs[1]]), LEAST_LEFT)
    part = (of.part[pairs[0]] - of.part[pairs[1]]) * stretch
    towards = _find_shrinkage_target(of, pairs, stretch, pool)
    se = np.sqrt(towards.shrink_squares(np.einsum("pd,pd->p", part, part)))
    observed = ratio(np.abs(gap), se, np.abs(gap))
    informative = np.asarray(of.part.any(0) | of.share.any(0))
    n = int(informative.sum())
    pattern, every = _patterns(rng, n, flips)
    own, adjusted, bar = np.zeros(len(gap)), np.zeros(len(gap)), 0.0
    # Of a single pair nothing is moderated, and flips of systems that are equal are exact.
    as_found = n >= MANY and len(gap) > 1 and bool((se > 0).all())
    hypotheses, further = ((0 * gap,), 1 + MARGIN / n) if as_found else ((gap, 0 * gap), 1.0)
    for nearer in hypotheses:
        reached, largest = _count_flips(
            _sides(of, pairs, nearer, stretch, informative), pattern, observed / further, towards
        )
        beyond = len(largest) - np.searchsorted(np.sort(largest), _lower_to_reach(observed / further))
        own, adjusted = (np.maximum(p, _share(n, largest, every)) for p, n in ((own, reached), (adjusted, beyond)))
        bar = max(bar, further * _bar(largest, level, every=every))
    half = np.where(se > 0, bar * se, 0.0) if np.isfinite(bar) else np.full(len(gap), np.inf)
    return PairDifferences(gap, se, own, adjusted, gap - half, gap + half, np.full(len(gap), bar))


def _patterns(rng: np.random.Generator, n_documents: int, flips: int) -> tuple[Floats, bool]:
    """Return patterns of signs `[pattern, document]`, and whether these are all that there are."""
    every = n_documents < 63 and 2 ** max(n_documents - 1, 0) <= flips
    if every:
        return signs.list_half_patterns(max(n_documents, 1))[:, :n_documents], True
    return signs.draw_sign_patterns(rng, flips, n_documents), False


def _share(count: Ints, largest: Floats, every: bool) -> Floats:
    n = len(largest)
    # The pattern that flips nothing is among all patterns, but not among drawn ones, where it is added.
    return np.asarray(count / n if every else (count + 1) / (n + 1))


class _Towards(NamedTuple):
    """Shrinkage of pairs' squared errors: by `share` to the middle, in units of those were documents alike, `unit`."""

    unit: Floats
    share: Floats
    middle: Callable[..., Floats]

    def shrink_squares(self, square: Floats) -> Floats:
        """Draw squares `[..., pair]` towards their middle over pairs."""
        return square + self.share * (self.middle(square / self.unit, -1, keepdims=True) * self.unit - square)


def _find_shrinkage_target(
    of: MeanInfluence, pairs: tuple[Ints, Ints], stretch: Floats, pool: float | None
) -> _Towards:
    first, second = (of.share[system] for system in pairs)
    if pool is not None:
        return _Towards(np.ones(len(first)), np.full(len(first), pool), np.mean)
    # Documents with shares w tell as much as 1 / sum w^2 equal ones, and one of these goes to the mean.
    freedom = 1 / (((first + second) / 2) ** 2).sum(1) - 1
    return _Towards((stretch**2 * (first**2 + second**2)).sum(1), PRIOR / (PRIOR + freedom), np.median)


class _Sides(NamedTuple):
    """Contributions of documents to both means of each pair under a hypothesis, and their part in the error.

    `sums` are laid out `[document, pair]`: both sides, and the squares of their difference times each weight; `own` are
    sums over documents, of the difference squared and of products of weights.
    """

    sums: tuple[Floats, ...]
    own: tuple[Floats, ...]


def _sides(of: MeanInfluence, pairs: tuple[Ints, Ints], gap: Floats, stretch: Floats, variances: Array) -> _Sides:
    """Lay the documents marked by `variances` out about means that lie `gap[pair]` nearer to each other than found."""
    nearer, stretch = gap[:, None] / 2, stretch[:, variances]
    left, right = (
        of.part[system][:, variances] + sign * of.share[system][:, variances] * nearer
        for system, sign in zip(pairs, (1, -1), strict=True)
    )
    first, second = (of.share[system][:, variances] * stretch for system in pairs)
    each = (left - right) * stretch
    products = ((each, each), (first, first), (second, second), (first, second))
    sums = tuple(np.ascontiguousarray(x.T) for x in (left, right, each * first, each * second))
    return _Sides(sums, tuple(np.einsum("pd,pd->p", a, b) for a, b in products))


def _count_flips(sides: _Sides, pattern: Floats, observed: Floats, towards: _Towards) -> tuple[Ints, Floats]:
    """Count the patterns in which each pair's t reaches what was observed; return the largest t of each pattern."""
    reached, largest = np.zeros(len(observed), np.int64), np.zeros(len(pattern))
    step, least = max(1, STEP // max(len(observed), 1)), _lower_to_reach(observed)
    for start in range(0, len(pattern), step):
        some = slice(start, start + step)
        t = _t([pattern[some] @ x for x in sides.sums], sides.own, towards)
        reached += (t >= least).sum(0)
        largest[some] = t.max(1, initial=0.0)
    return reached, largest


def _t(sums: Sequence[Floats], own: Sequence[Floats], towards: _Towards) -> Floats:
    """Return `t[pattern, pair]` of flipped documents from sums over them."""
    first, second, by_first, by_second = sums
    each, first_square, second_square, cross = own
    # Squares about both means estimated anew, multiplied out: a sign squared is 1, so patterns enter by four sums only.
    square = each + first**2 * first_square + second**2 * second_square - 2 * first * second * cross
    square -= 2 * (first * by_first - second * by_second)
    top = np.abs(first - second)
    # What is left of documents that all say the same is rounding.
    return ratio(
        top, np.sqrt(towards.shrink_squares(np.maximum(square, 0.0))), np.broadcast_to(np.sqrt(each), top.shape)
    )


def pool_variances(variance: Floats, share: float) -> Floats:
    """Draw variances `[..., pair]` towards their mean over pairs by a share between 0 and 1."""
    return variance + share * (variance.mean(-1, keepdims=True) - variance) if share else variance


def ratio(top: Floats, error: Floats, scale: Floats) -> Floats:
    """Divide by an error; where that is nothing beside `scale`, a difference is infinite, and none is 0."""
    tiny = ROUNDING * np.maximum(scale, 1e-300)
    return np.divide(top, error, out=np.where(top > tiny, np.inf, 0.0), where=error > tiny)


def _lower_to_reach(t: Floats) -> Floats:
    """Return what counts as reaching a t: those this close are equal."""
    return np.asarray(t - ROUNDING * (1 + np.where(np.isfinite(t), t, 0.0)))


def _bar(largest: Floats, level: float, *, every: bool) -> float:
    """Return what a t has to exceed so that at most the `level` of patterns reach it in any pair."""
    ordered, n = np.sort(largest)[::-1], len(largest)
    # A whole number may come out just below itself in binary, and a t equal but for rounding must not pass the bar.
    beyond = int(level * n + ROUNDING) if every else int(level * (n + 1) + ROUNDING) - 1
    return float(ordered[beyond]) * (1 + ROUNDING) + ROUNDING if 0 <= beyond < n else np.inf


class Segments(NamedTuple):
    """Differences of single outputs of the same item: their number, sums, sums of squares `[document, pair]`."""

    n: Floats
    sums: Floats
    squares: Floats


class Confirmed(NamedTuple):
    """A share of simulated repetitions, or of claims in them, with bounds of 90 %."""

    value: float
    low: float
    high: float


def equalise_means(of: Totals) -> Totals:
    """Move the judgements of each system, so that all have one mean.

    The metric's scores of outputs that it alone has seen are moved to the mean of its scores of the judged: in a world
    that draws both again, they are drawn from one law.
    """
    n = of.n.sum(1, keepdims=True)
    mean = of.y.sum(1, keepdims=True) / n
    world = of._replace(y=of.y - of.n * (mean - mean.mean()))
    if of.n_all is None or of.g_all is None:
        return world
    more, rest = of.n_all - of.n, of.g_all - of.g
    size = more.sum(1, keepdims=True)
    off = of.g.sum(1, keepdims=True) / n - rest.sum(1, keepdims=True) / np.maximum(size, 1)
    return world._replace(g_all=of.g_all + more * off)


def count_affordable_studies(of: Totals, n_pairs: int, studies: int) -> int:
    """Return how many of the `studies` wanted can be simulated within `WORK` products, at least `FEWEST`."""
    judged = int((of.n > 0).any(0).sum())
    documents = judged + min(of.n.shape[1] - judged, BUNDLES)
    # Eight products a flip at most: four sums over documents under two hypotheses.
    return int(max(FEWEST, min(studies, WORK / (8 * FLIPS * documents * max(n_pairs, 1)))))


def bundle_documents(of: MeanInfluence) -> MeanInfluence:
    """Put documents that only the metric has seen into bundles, which are as independent as they are."""
    judged: Bools = np.asarray(of.share.any(0))
    rest = of.part[:, ~judged]
    if rest.shape[1] <= BUNDLES:
        return of
    sums = np.add.reduceat(rest, np.linspace(0, rest.shape[1], BUNDLES, endpoint=False).astype(int), axis=1)
    share = np.concatenate([of.share[:, judged], np.zeros_like(sums)], axis=1)
    return MeanInfluence(of.value, np.concatenate([of.part[:, judged], sums], axis=1), share)


def redraw_documents(rng: np.random.Generator, of: Totals) -> tuple[Totals, Ints]:
    """Resample documents with judgements, and apart from them the others; return the sums, and the documents drawn."""
    judged: Bools = np.asarray((of.n > 0).any(0))
    groups = [np.flatnonzero(judged), np.flatnonzero(~judged)]
    at = np.concatenate([rng.choice(group, len(group)) for group in groups if len(group)])
    n_all, g_all = (None if part is None else part[:, at] for part in (of.n_all, of.g_all))
    return Totals(of.n[:, at], of.y[:, at], of.g[:, at], n_all, g_all), at


def some_claims(
    rng: np.random.Generator, of: Totals, pairs: tuple[Ints, Ints], *, corrected: bool, level: float, studies: int
) -> tuple[Bools, list[Ints]]:
    """Simulate studies of equal systems; return which claim something, and the documents that each drew.

    `corrected`: by the metric. A study in which a system lost all of its judged documents but one claims nothing.
    """
    world, claims, documents = equalise_means(of), np.zeros(studies, bool), []
    for study in range(studies):
        again, at = redraw_documents(rng, world)
        documents.append(at)
        if int((again.n > 0).sum(1).min()) > 1:
            means = bundle_documents(influence(again, corrected=corrected))
            claims[study] = bool(
                (
                    compare_by_flips(
                        rng, means, pairs, level=level, flips=max(FLIPS, int(np.ceil(5 / level)) - 1)
                    ).adjusted
                    <= level
                ).any()
            )
    return claims, documents


def decide_without_documents(of: Segments, documents: list[Ints], level: float) -> Bools:
    """Mark which studies claim something by z tests of single outputs, each pair by itself, that know of no documents.

    `documents[study]` are the documents that each study drew (of `some_claims`); returned is `[study]`.
    """
    counts = np.stack([np.bincount(at, minlength=len(of.n)) for at in documents]).astype(float)
    n, total, square = counts @ of.n, counts @ of.sums, counts @ of.squares
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = (square - total**2 / n) / (n - 1) * n
        z = np.abs(total) / np.sqrt(variance)
    return np.asarray((np.nan_to_num(z) > -ndtri(level / 2)).any(1))


def confirmation_probabilities(
    rng: np.random.Generator,
    of: MeanInfluence,
    claims: tuple[Ints, Ints, Ints],
    bar: Floats,
    noise: Floats | None = None,
    *,
    worlds: int = 400,
    studies: int = 400,
) -> tuple[Confirmed, Confirmed]:
    """Return the chance that a repetition finds the direction of all claims, and the share of claims found again.

    `claims` are first system, second system and direction (+1, -1), each `[claim]`; `bar[claim]` is the difference from
    which on a pair is claimed. Both answers are means over `worlds`, with bounds.

    True means are drawn from their posterior, which draws means together as far as they are noise (systems are normal
    about a common mean); a repetition errs as this study does, or, of the same documents rated again, with the
    variances `noise[system]`. Without claims both are 1.
    """
    first, second, direction = claims
    if not len(first):
        return Confirmed(1.0, 1.0, 1.0), Confirmed(1.0, 1.0, 1.0)
    if noise is None:
        error = of.part @ of.part.T
        middle, spread = _shrink_means(of.value, error)
    else:
        # Of documents that are the same, what these brought is known but for the noise of ratings.
        error = np.diag(noise)
        middle, spread = of.value, error
    truth, chance, anew = middle + _draw_normal(rng, spread, worlds), np.zeros(worlds), np.zeros(worlds)
    for world in range(worlds):
        means = truth[world] + _draw_normal(rng, error, studies)
        lead = direction * (means[:, first] - means[:, second])
        chance[world], anew[world] = (lead > 0).all(1).mean(), (lead > bar).mean()
    return _share_of_worlds(chance), _share_of_worlds(anew)


def _share_of_worlds(of_worlds: Floats) -> Confirmed:
    """Return the mean of a share over worlds, and where the middle nine tenths of it lie."""
    return Confirmed(float(of_worlds.mean()), *(float(x) for x in np.quantile(of_worlds, (0.05, 0.95))))


def _shrink_means(value: Floats, error: Floats) -> tuple[Floats, Floats]:
    """Return mean and covariance of true means that are normal about a common one, given what was found."""
    n, centred = len(value), value - value.mean()
    # This is the variance between means that errors alone would bring, what they share left out.
    noise = (np.trace(error) - error.sum() / n) / (n - 1)
    spread = float(centred @ centred) / (n - 1) - noise
    if spread <= 0:
        return np.full(n, value.mean()), np.zeros((n, n))
    weight = spread * np.linalg.inv(spread * np.eye(n) + error)
    return value.mean() + weight @ centred, spread * (np.eye(n) - weight)


def _draw_normal(rng: np.random.Generator, covariance: Floats, size: int) -> Floats:
    """Draw normal numbers, `[size, system]`; a covariance may lack rank."""
    value, vector = np.linalg.eigh((covariance + covariance.T) / 2)
    return np.asarray(rng.standard_normal((size, len(value))) @ (vector * np.sqrt(np.maximum(value, 0.0))).T)
