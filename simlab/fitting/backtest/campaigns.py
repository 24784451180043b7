"""Carry out the same studies in many worlds at once, and compute performance measures (power, SRP, ...) of them.

Call `sums` on worlds, `campaigns` on these sums and dealt studies, and `measure_worlds` on the conclusions. A *set* is
studies of the same documents; a pair is one of systems i < j.

Fixed ratings are added up once, so that a study picks sums of documents instead of ratings. Normalisations, the
permutation test and the measures are those of `analysis.normalization`, `analysis.significance` and `measures`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from simlab.analysis.significance import RELATIVE_TOLERANCE
from simlab.answers.backtest import Measure
from simlab.fitting.backtest.designs import LEVEL, DealtStudies
from simlab.formulas import differences, passes, sign
from simlab.types import Array, Bools, Floats, Frame, Ints, World
from simlab.world.laws.fixed import fixed_ratings

NEGLIGIBLE = 1e-12
"""Variances are differences of sums of squares here, whose rounding is this small beside the mean square."""
SURELY_NOT, SURELY = 1.0, 2.7
"""Ratios of a pair's difference to the root of its sum of squares that need no test at level .05.

Randomly signed sums exceed their standard deviation with probability .1 at least (Oleszkiewicz 1996), and 2.7 of them
with at most 3.18 times the normal probability, .022 (Bentkus and Dzindzalieta 2015): of 500 patterns 25 or more, or
fewer than 25, with probabilities of .9999 and above.
"""
SINGLE = 4e-6
"""Rounding of a sum in single precision, beside the sum of absolute values: a few tens of times its precision."""
PAIRWISE = ("srp", "confirmed", "kendall")
"""Measures of pairs of studies: the first and its repetition; the others are of single studies."""


@dataclass(frozen=True, slots=True)
class Campaigns:
    """Conclusions of studies: `claim` and `direction` are `[world, set, study, pair]` of +1, 0, -1.

    `direction` is +1 where the first system of a pair looks better, `claim` the same where it is significant, else 0.

    `truth[world, pair]` is the true direction, None where nobody knows it.
    """

    claim: Array
    direction: Array
    truth: Floats | None


def campaigns(sums: DocumentSums, dealt: DealtStudies, normalizations: Sequence[str]) -> dict[str, Campaigns]:
    """Carry out the `dealt` studies with the ratings in `sums`; return their conclusions by normalisation."""
    concluded: dict[str, list[tuple[Floats, Floats]]] = {name: [] for name in normalizations}
    up = -1.0 if sums.frame.lower_is_better else 1.0
    for study in range(len(dealt.document)):
        answers = pick_sums(sums, dealt, study)
        for name, own in concluded.items():
            claimed, difference = find_significant_pairs(totals(answers, name), dealt.patterns[study], LEVEL)
            direction = up * np.sign(difference)
            own.append((direction * claimed, direction))
    truth = None if sums.truth is None else up * sign(differences(sums.truth))
    return {name: Campaigns(*_group_by_set(own, dealt.per_set), truth) for name, own in concluded.items()}


def _group_by_set(own: Sequence[tuple[Floats, Floats]], per_set: int) -> tuple[Array, Array]:
    """Order by sets what was concluded study by study; single studies of other documents are one set."""
    # Sums of +1, 0 and -1 are exact in single precision, at half of the memory.
    claim, direction = (np.stack([pair[k] for pair in own], axis=1).astype(np.float32) for k in (0, 1))
    shape = len(claim), -1 if per_set > 1 else 1, per_set if per_set > 1 else len(own), claim.shape[-1]
    return claim.reshape(shape), direction.reshape(shape)


@dataclass(frozen=True, slots=True)
class DocumentSums:
    """Sums over the segments of a document: `value[world, system, document, slot]`, of squares, of errors.

    `segments[document]` counts them; a rater who did not rate the whole document has NaN. `truth[world, system]` is the
    true mean of a system, None where nobody knows it. All worlds have one frame.
    """

    frame: Frame
    value: Floats
    square: Floats
    errors: Floats
    segments: Ints
    truth: Floats | None


@dataclass(frozen=True, slots=True)
class PickedSums:
    """Sums of the ratings that one study collects in every world: `value[world, system, k, rating]`, squares, errors.

    `rater[system, k, rating]` answered about the k-th document, which has `segments[k]`; `n_raters` are in the pool.
    """

    value: Floats
    square: Floats
    errors: Floats
    rater: Ints
    segments: Ints
    n_raters: int


def sums(worlds: Sequence[World]) -> DocumentSums:
    """Add up the fixed ratings of worlds of one frame by document; the result is what `campaigns` takes."""
    frame = worlds[0].frame
    ratings = [fixed_ratings(world) for world in worlds]
    if any(rating is None for rating in ratings):
        raise ValueError("only fixed ratings can be added up once for all studies")
    # Stable, so that the segments of a document are added up in their own order and sums keep their bits.
    order = np.argsort(frame.document, kind="stable")
    start = np.searchsorted(frame.document[order], np.arange(frame.n_documents))

    def sum_by_document(values: Sequence[Floats]) -> Floats:
        return np.stack([np.add.reduceat(value[:, order], start, axis=1) for value in values])

    values = [rating.value for rating in ratings if rating is not None]
    known = [world.truth for world in worlds if world.truth is not None]
    return DocumentSums(
        frame,
        sum_by_document(values),
        sum_by_document([value**2 for value in values]),
        sum_by_document([rating.errors.astype(float) for rating in ratings if rating is not None]),
        np.bincount(frame.document, minlength=frame.n_documents),
        np.stack(known) if len(known) == len(worlds) else None,
    )


def pick_sums(sums: DocumentSums, dealt: DealtStudies, study: int) -> PickedSums:
    """Pick the sums of the ratings that study number `study` collects."""
    slot, document = dealt.slot[study], dealt.document[study]
    at = slice(None), np.arange(len(slot))[:, None, None], document[None, :, None], slot
    return PickedSums(
        sums.value[at],
        sums.square[at],
        sums.errors[at],
        dealt.rater[study],
        sums.segments[document],
        sums.frame.n_raters,
    )


def totals(picked: PickedSums, name: str) -> Floats:
    """Return normalised totals `[world, document, system]`; several ratings of an output are averaged."""
    value = picked.value
    if name != "none":
        factor, shift = NORMALIZERS[name](picked)
        at = slice(None), picked.rater
        value = factor[at] * value
        if shift is not None:
            value += shift[at] * picked.segments[:, None]
    return np.asarray(value.mean(axis=3).transpose(0, 2, 1))


def _mean(picked: PickedSums) -> tuple[Floats, None]:
    count, total = _count(picked), _sum_by_rater(picked, picked.value)
    target = total.sum(1, keepdims=True) / count.sum()
    # No factor moves a mean of 0, so such a rater keeps factor 1.
    return np.divide(target * count, total, out=np.ones_like(total), where=total != 0), None


def _error(picked: PickedSums) -> tuple[Floats, None]:
    level, _ = _mean(picked)
    total, errors = level * _sum_by_rater(picked, picked.value), _sum_by_rater(picked, picked.errors)
    scaled = (errors * total).sum(1, keepdims=True)
    share = np.divide(total.sum(1, keepdims=True), scaled, out=np.zeros_like(scaled), where=scaled != 0)
    # Where nobody marked an error all factors would be 0; then only the means are evened out.
    return np.where(scaled == 0, level, level * errors * share), None


def _zscore(picked: PickedSums) -> tuple[Floats, Floats]:
    count = _count(picked)
    mean, square = (_sum_by_rater(picked, values) / np.maximum(count, 1) for values in (picked.value, picked.square))
    variance = (square - mean**2) * count / np.maximum(count - 1, 1)
    # A z-score needs two ratings and some spread; without these all scores of a rater become 0.
    usable = (count > 1) & (variance > NEGLIGIBLE * square)
    factor = np.divide(1.0, np.sqrt(np.maximum(variance, 0)), out=np.zeros_like(variance), where=usable)
    return factor, -mean * factor


NORMALIZERS: Mapping[str, Callable[[PickedSums], tuple[Floats, Floats | None]]] = {
    "mean": _mean,
    "error": _error,
    "zscore": _zscore,
}
"""Functions by the name of a normalisation: they return normalised sums, and factors where they have any."""


def _sum_by_rater(picked: PickedSums, value: Floats) -> Floats:
    """Add up what each rater gave, `[world, rater]`."""
    mine = picked.rater.ravel()[:, None] == np.arange(picked.n_raters)
    return np.asarray(value.reshape(len(value), -1) @ mine.astype(float))


def _count(picked: PickedSums) -> Floats:
    """Count the ratings of single segments that each rater gave."""
    each = np.broadcast_to(picked.segments[:, None], picked.rater.shape)
    return np.asarray(np.bincount(picked.rater.ravel(), weights=each.ravel(), minlength=picked.n_raters), float)


def find_significant_pairs(total: Floats, patterns: Floats, level: float) -> tuple[Bools, Floats]:
    """Test all pairs of systems; return which differ significantly, and differences of sums, both `[world, pair]`.

    `total[world, document, system]` has no gaps; `patterns[pattern, document]` are the signs (+1, -1) of the
    permutation test, `level` is its significance level.
    """
    first, second = np.triu_indices(total.shape[2], 1)
    sums = total.sum(1)
    tolerance = RELATIVE_TOLERANCE * np.abs(total).sum(1).max(1)
    difference = sums[:, first] - sums[:, second]
    # A difference within rounding is a tie and must get no direction.
    difference[np.abs(difference) <= tolerance[:, None]] = 0.0
    ratio = _ratios(total, difference)
    significant = ratio >= SURELY
    world, pair = np.nonzero((ratio > SURELY_NOT) & ~significant)
    gap = total[world, :, first[pair]] - total[world, :, second[pair]]
    least = np.abs(difference[world, pair]) - tolerance[world]
    significant[world, pair] = _passes(gap, least, patterns, level)
    return significant & (difference != 0), difference


def _ratios(total: Floats, difference: Floats) -> Floats:
    """Divide each pair's difference by the root of the sum of squared differences of its documents."""
    first, second = np.triu_indices(total.shape[2], 1)
    product = total.transpose(0, 2, 1) @ total
    own = np.diagonal(product, axis1=1, axis2=2)
    squares = own[:, first] + own[:, second] - 2 * product[:, first, second]
    # Two systems that are equal on every document leave 0, or a rounding error below it.
    return np.asarray(np.abs(difference) / np.sqrt(np.maximum(squares, 1e-300)))


def _passes(gap: Floats, least: Floats, patterns: Floats, level: float) -> Bools:
    """Test the pairs that need it, by `gap[pair, document]`; `least[pair]` is the least sum that is as extreme.

    Single precision decides, unless a sum so close to the difference that it may be rounded matters.
    """
    band = SINGLE * np.abs(gap).sum(1)
    sums = gap.astype(np.float32) @ patterns.T.astype(np.float32)
    np.abs(sums, out=sums)
    loose, strict = (_reaches_level(sums, (least + side).astype(np.float32), patterns, level) for side in (-band, band))
    unsure = np.flatnonzero(loose != strict)
    loose[unsure] = _reaches_level(np.abs(gap[unsure] @ patterns.T), least[unsure], patterns, level)
    return loose


def _reaches_level(sums: Array, least: Array, patterns: Floats, level: float) -> Bools:
    n_patterns, n_documents = patterns.shape
    # A sum of bytes is several times as fast as count_nonzero along an axis.
    extreme = (sums >= least[:, None]).view(np.int8).sum(1, dtype=np.int16)
    every = n_documents < 63 and 2**n_documents == n_patterns
    # A full list of patterns holds the observed one; drawn patterns do not, so it is added to both counts.
    return passes(extreme / n_patterns if every else (1 + extreme) / (1 + n_patterns), level)


class MeasuredWorlds(NamedTuple):
    """A measure of every world, `value[world]`, and the standard error that simulating it leaves, `error[world]`.

    NaN: the measure is not defined, or its error cannot be told.
    """

    value: Floats
    error: Floats


def measure_worlds(campaigns: Campaigns) -> dict[Measure, MeasuredWorlds]:
    """Return each measure of every world, by name.

    Errors are jackknifed over sets of documents, or over studies of one set.
    """
    return {name: _estimate_ratio(measure(campaigns), pairwise=name in PAIRWISE) for name, measure in MEASURES.items()}


def _estimate_ratio(ratio: tuple[Floats, Floats], *, pairwise: bool) -> MeasuredWorlds:
    """Divide sums over studies, `[world, set, study]`, or over ordered pairs of them, `[world, set, first, second]`."""
    top, below = (_clear_diagonal(side) if pairwise else side for side in ratio)
    axes = tuple(range(1, top.ndim))
    whole_top, whole_below = top.sum(axes), below.sum(axes)
    lost_top, lost_below = (_sum_by_cluster(side, pairwise=pairwise) for side in (top, below))
    value = _divide_or_nan(whole_top, whole_below)
    without = _divide_or_nan(whole_top[:, None] - lost_top, whole_below[:, None] - lost_below)
    n = without.shape[1]
    # Without a cluster the ratio may be 0 / 0: that cluster is taken to have no influence.
    influence = (n - 1) * np.where(np.isfinite(without), without, value[:, None])
    influence = influence - influence.mean(1, keepdims=True)
    # These are pseudo-values: the delete-one jackknife in its usual form.
    error = np.sqrt((influence**2).sum(1) / max(n * (n - 1), 1)) if n > 1 else np.full(len(value), np.nan)
    return MeasuredWorlds(value, np.where(np.isfinite(value), error, np.nan))


def _sum_by_cluster(side: Floats, *, pairwise: bool) -> Floats:
    """Add up what is lost with each cluster: a set, or a study where there is one set, `[world, cluster]`."""
    if side.shape[1] > 1:
        return np.asarray(side.reshape(*side.shape[:2], -1).sum(2))
    # A study stands in pairs as the first and as the second: without it both are gone.
    return np.asarray(side[:, 0].sum(2) + side[:, 0].sum(1) if pairwise else side[:, 0])


def _clear_diagonal(matrix: Floats) -> Floats:
    return np.asarray(matrix * (1 - np.eye(matrix.shape[-1])))


def _divide_or_nan(top: Floats, below: Floats) -> Floats:
    return np.asarray(np.divide(top, below, out=np.full(np.shape(top), np.nan), where=below > 0))


def _srp(campaigns: Campaigns) -> tuple[Floats, Floats]:
    agreement = campaigns.claim @ campaigns.direction.swapaxes(2, 3)
    # A claim adds +1 only where the other study has its strict direction, so a full sum means that all agree.
    stable = (agreement >= np.abs(campaigns.claim).sum(3)[..., None]).astype(float)
    return stable, np.ones_like(stable)


def _confirmed_share(campaigns: Campaigns) -> tuple[Floats, Floats]:
    claimed = np.abs(campaigns.claim)
    judged = claimed @ np.abs(campaigns.direction).swapaxes(2, 3)
    balance = campaigns.claim @ campaigns.direction.swapaxes(2, 3)
    each = np.broadcast_to(claimed.sum(3)[..., None], judged.shape)
    # `judged` is those that agree plus those that do not, `balance` the difference: half their sum agrees.
    return (judged + balance) / 2, each.astype(float)


def _kendall(campaigns: Campaigns) -> tuple[Floats, Floats]:
    untied = np.sqrt(np.abs(campaigns.direction).sum(3).astype(float))
    defined = untied[..., :, None] * untied[..., None, :]
    return _or_zero(campaigns.direction @ campaigns.direction.swapaxes(2, 3), defined), (defined > 0).astype(float)


def _or_zero(top: Floats, below: Floats) -> Floats:
    return np.asarray(np.divide(top, below, out=np.zeros(top.shape), where=below > 0), float)


def _significant_share(campaigns: Campaigns) -> tuple[Floats, Floats]:
    claimed = np.abs(campaigns.claim).sum(3).astype(float)
    return claimed, np.full(claimed.shape, float(campaigns.claim.shape[3]))


def _power(campaigns: Campaigns) -> tuple[Floats, Floats]:
    if campaigns.truth is None:
        unknown = np.zeros(campaigns.claim.shape[:3])
        return unknown, unknown
    truth = campaigns.truth[:, None, None]
    right = ((campaigns.claim == truth) & (truth != 0)).sum(3)
    return right.astype(float), np.broadcast_to((truth != 0).sum(3), right.shape).astype(float)


MEASURES: Mapping[Measure, Callable[[Campaigns], tuple[Floats, Floats]]] = {
    "srp": _srp,
    "confirmed": _confirmed_share,
    "significant_share": _significant_share,
    "power": _power,
    "kendall": _kendall,
}
"""Functions by measure: they return the numerator and the denominator of its ratio."""
