"""Reduce a table of ratings to moments that inform the parameters of the MQM law: margins, and products of pairs.

Call `margins` on a pilot; it returns `Margins`.

All factors of the law are independent with mean 1, so the mean product of two ratings, each divided by its expectation
given its system and its rater, is the product of `exp(sd ** 2)` over the factors that the two share. Kinds of pairs
(same document? same segment? same system? same rater?) tell the spreads apart.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from simlab.fitting.mqm.pilot import MqmPilot, SharingSums
from simlab.types import Bools, Floats, Ints

ROUNDS, CLOSE = 30, 1e-5
"""Rounds of the multiplicative fit at most, and the change below which it ends."""
PAIRS = (
    "same document, other segment, other system, other rater",
    "same document, other segment, other system, same rater",
    "same document, other segment, same system, other rater",
    "same document, other segment, same system, same rater",
    "same segment, other system, other rater",
    "same segment, other system, same rater",
    "same segment, same system, other rater",
    "the rating itself",
    "other document, same system, same rater",
    "minor and major, the rating itself",
    "minor and major, same segment, other rating",
    "minor and major, same document, other segment",
    "minor, same segment, other system, other rater",
    "minor, same segment, other system, same rater",
    "minor, same segment, same system, other rater",
    "major, same segment, other system, other rater",
    "major, same segment, other system, same rater",
    "major, same segment, same system, other rater",
    "the log odds of a score below 1",
    "both scores below 1, same segment, other system",
    "the mean root of scores",
    "Kendall's tau per document",
    "Kendall's tau over shared documents",
)
"""Kinds of pairs whose mean products are used, and how far pairs of raters agree, in the order of `Margins.pairs`.

Mean products are ruled by high scores. What a study concludes hangs on how raters rank systems, so that is held, too.
"""
NEXT = {1: (0,), 2: (0,), 3: (1, 2), 4: (0,), 5: (4, 1), 6: (4, 2), 7: (6, 5, 3), 9: (10,), 10: (4,), 11: (0,)}
"""Kinds of pairs, one of which is subtracted from a kind: the first that a table has; see `contrasts`."""
# That is 160 MB of scores by rater, document and system; of larger tables agreement is not worked out.
MAX_CELLS = 20_000_000


class Margins(NamedTuple):
    """Logarithms of the mean scores of systems and the factors of raters, and of pairs' mean products.

    `system[system]` are in points for a rater of average factor, `rater[rater]` have mean 0 over raters;
    `severity[rater]` is the log odds that an error is major, `punctuation[rater]` the log of punctuation errors per
    average segment, `sharpness[rater]` the slope of scores on systems' mean scores (both logarithms, in one step from
    slope 1), `minor_sharpness[0]` that of minor errors over all raters; `pairs[kind]`, of `PAIRS`, is NaN where
    there are no such pairs.
    """

    system: Floats
    rater: Floats
    severity: Floats
    sharpness: Floats
    minor_sharpness: Floats
    punctuation: Floats
    pairs: Floats


def margins(pilot: MqmPilot) -> Margins:
    """Reduce a table to its margins and pairs; half an error is added where a system or rater has none."""
    by_system, by_rater, fitted = multiplicative_fit(pilot)
    centre = np.log(by_rater).mean()
    severity, punctuation = _rater_kinds(pilot)
    x = np.log(by_system)
    sharpness, minor = _sharpness(pilot, x - x.mean(), fitted)
    pairs = pair_statistics(pilot, by_system[pilot.system] * by_rater[pilot.rater])
    rater = np.log(by_rater) - centre
    return Margins(x + centre, rater, severity, sharpness, minor, punctuation, pairs)


def _sharpness(pilot: MqmPilot, x: Floats, fitted: Floats) -> tuple[Floats, Floats]:
    """Return how steeply each rater's scores go with the systems' means `x`, and minor errors of all raters."""
    at, n = x[pilot.system], pilot.n_raters
    # Centring within items takes out whose outputs a rater happened to see.
    weight = np.bincount(pilot.rater, weights=fitted, minlength=n)
    mean = np.bincount(pilot.rater, weights=fitted * at, minlength=n) / np.maximum(weight, 1e-12)
    centred = at - mean[pilot.rater]
    moved = np.bincount(pilot.rater, weights=centred * (pilot.score - fitted), minlength=n)
    room = np.bincount(pilot.rater, weights=centred**2 * fitted, minlength=n)
    # A rater who saw systems of one quality tells no slope.
    slope = np.divide(moved, room, out=np.zeros(n), where=room > 1e-9 * max(weight.max(), 1e-12))
    minor = pilot.counts[0] if pilot.counted else pilot.score
    by_rater = np.bincount(pilot.rater, weights=minor, minlength=n) / np.maximum(weight, 1e-12)
    expected = fitted * by_rater[pilot.rater]
    spread = float((centred**2 * expected).sum())
    of_minor = float((centred * (minor - expected)).sum()) / spread if spread > 0 else 0.0
    # A single step may leap where a rater saw systems that hardly differ, so it is bounded.
    return 1 + np.clip(slope, -2, 3), np.array([1 + of_minor])


def multiplicative_fit(pilot: MqmPilot) -> tuple[Floats, Floats, Floats]:
    """Fit score = system x rater x segment by equating margins in turn; return systems, raters and fitted scores.

    Segments are taken out, so that raters who had long ones are not held to be strict. These are the maximum
    likelihood equations of a Poisson law, which hold on average for any law.
    """
    labels = (pilot.system, pilot.rater, pilot.item)
    totals = [np.maximum(np.bincount(label, weights=pilot.score), _half_minor_error(pilot)) for label in labels]
    factors = [np.ones(len(total)) for total in totals]
    factors[2] = totals[2] / np.bincount(pilot.item)
    crossed, by_item = pilot.layout.crossed
    for _ in range(ROUNDS):
        before = factors[0]
        segments = (crossed @ factors[2]).reshape(len(totals[0]), -1)
        factors[0] = _ratio(totals[0], segments @ factors[1])
        factors[1] = _ratio(totals[1], factors[0] @ segments)
        factors[2] = _ratio(totals[2], by_item @ np.outer(factors[0], factors[1]).ravel())
        if np.abs(factors[0] / before - 1).max() < CLOSE:
            break
    of_ratings = [factor[label] for factor, label in zip(factors, labels, strict=True)]
    mean_item = factors[2].mean()
    return factors[0] * mean_item, factors[1], of_ratings[0] * of_ratings[1] * of_ratings[2]


def _ratio(total: Floats, others: Floats) -> Floats:
    return np.divide(total, others, out=np.ones_like(others), where=others > 0)


def _half_minor_error(pilot: MqmPilot) -> float:
    return 0.5 * pilot.minor_weight


def _rater_kinds(pilot: MqmPilot) -> tuple[Floats, Floats]:
    """Return each rater's log odds of major errors, and log of punctuation errors per segment."""
    n = pilot.n_raters
    minor, major, comma = (np.bincount(pilot.rater, weights=row, minlength=n) for row in pilot.counts)
    size = np.bincount(pilot.rater, minlength=n)
    if not pilot.counted:
        return np.zeros(n), np.full(n, -np.inf)
    punctuation = np.log((comma + 0.5) / np.maximum(size, 1)) if comma.any() else np.full(n, -np.inf)
    return np.log((major + 0.5) / (minor + 0.5)), punctuation


NEXT |= {12: (10,), 13: (12,), 14: (12,), 15: (10,), 16: (15,), 17: (15,)}


"""Which kind of pairs shares a little less than another, the first that a table has; see `contrasts`."""


def pair_statistics(pilot: MqmPilot, expected: Floats) -> Floats:
    """Return the statistics of PAIRS, `[kind]`; `expected[rating]` is the score by system and rater."""
    products = mean_products(pilot, pilot.score, expected)
    return np.concatenate([products, kinds(pilot), _zeros(pilot), [_mean_root(pilot)], agreement(pilot)])


def mean_products(pilot: MqmPilot, score: Floats, expected: Floats) -> Floats:
    """Return, by kind of pair (`PAIRS`), the log ratio of products of scores to products of their expectations.

    Pairs count as much as is expected of them: strict raters and poor systems vary less in proportion than lenient ones
    and good ones, and what a study concludes hangs on how far scores vary, not on how far they do in proportion.
    """
    # As much in all as was given, so that ratios tell how products spread and not how high scores are.
    expected = expected * (score.sum() / max(float(expected.sum()), 1e-12))
    sums = pilot.layout.sums
    return _log_ratio(_sums_by_kind(sums(score)), _sums_by_kind(sums(expected)))


def _sums_by_kind(sums: tuple[SharingSums, SharingSums, SharingSums]) -> Floats:
    every, document, segment = map(_sum_by_sharing, sums)
    # Sums of a document hold those of its segments, and sums of all those of documents: they are taken out.
    return np.concatenate([(document - segment), segment, (every - document)[3:]])


def contrasts(used: Bools) -> Floats:
    """Return the matrix `[contrast, kind]` that subtracts from each kind of pairs in `used[kind]` one that shares less.

    All products rise with a few high scores; their differences hardly do, and these inform the spreads.
    """
    matrix = np.eye(len(used))
    for kind, others in NEXT.items():
        usable = [other for other in others if used[other]]
        if usable:
            matrix[kind, usable[0]] = -1.0
    return np.asarray(matrix[np.ix_(used, used)])


def kinds(pilot: MqmPilot) -> Floats:
    """Return logarithms of mean products of numbers of minor and major errors; NaN where these are not known."""
    if not (pilot.counts[0].any() and pilot.counts[1].any()):
        return np.full(9, np.nan)
    counts = [count.astype(float) for count in pilot.counts[:2]]
    expected = [_expected_counts(pilot, count) for count in counts]
    return _log_ratio(*(_sum_kind_products(pilot, *pair) for pair in (counts, expected)))


def _sum_kind_products(pilot: MqmPilot, minor: Floats, major: Floats) -> Floats:
    """Add up products of the two kinds, then of each kind, over pairs of a segment.

    Those of the two are over one rating, other ratings of its segment, other segments of its document.
    """
    (_, document, segment), (_, of_document, of_segment) = (pilot.layout.sums(count) for count in (minor, major))
    rating, within = float((minor * major).sum()), _cross(segment.all, of_segment.all)
    crossed = [rating, within - rating, _cross(document.all, of_document.all) - within]
    return np.concatenate([crossed, _sum_by_sharing(segment)[:3], _sum_by_sharing(of_segment)[:3]])


def _expected_counts(pilot: MqmPilot, count: Floats) -> Floats:
    """Return the counts that the averages of their system and their rater let one expect; as many in all."""
    by_system, by_rater = (
        np.bincount(label, weights=count) / np.maximum(np.bincount(label), 1) for label in (pilot.system, pilot.rater)
    )
    expected = by_system[pilot.system] * by_rater[pilot.rater]
    return np.asarray(expected * (count.sum() / max(float(expected.sum()), 1e-12)))


def _zeros(pilot: MqmPilot) -> tuple[float, float]:
    """Return the log odds of a score of less than a minor error, and how much it is that of a segment."""
    # Tenths are not exact in binary: a score of one minor error must not fall below it.
    zero = (pilot.score < pilot.minor_weight - 1e-9).astype(float)
    n, sum_ = len(zero), zero.sum()
    # Half a rating is added on either side, so that log odds are finite.
    odds = float(np.log((sum_ + 0.5) / (n - sum_ + 0.5)))
    total, number = (_sum_by_sharing(sums[2]) for sums in (pilot.layout.sums(zero), pilot.layout.ones))
    return odds, float(np.log((sum(total[:2]) + 0.5) / (sum(number[:2]) + 0.5)) - 2 * np.log((sum_ + 0.5) / (n + 0.5)))


def _mean_root(pilot: MqmPilot) -> float:
    """Return the log of the mean square root over the root of the mean: how far scores crowd near 0 and far above."""
    return float(np.log(np.sqrt(pilot.score).mean() + 1e-12) - 0.5 * np.log(pilot.score.mean() + 1e-12))


def _sum_by_sharing(sums: SharingSums) -> Floats:
    """Add up products over ordered pairs that share as much: other system and rater, same rater, same system, both."""
    every, rater, system, both = (_cross(one, one) for one in sums)
    # By inclusion and exclusion: sums by rater and by system both hold the pairs that share both.
    return np.array([every - rater - system + both, rater - both, system - both, both])


def _cross(x: Floats, y: Floats) -> float:
    """Add up products over ordered pairs of one label, each with itself, too; the sums are those of the labels."""
    return float((x * y).sum())


def _log_ratio(total: Floats, number: Floats) -> Floats:
    usable = (number > 0) & (total > 0)
    return np.asarray(np.log(np.divide(total, number, out=np.full(len(total), np.nan), where=usable)))


def mark_identified(pilot: MqmPilot) -> Bools:
    """Mark the kinds of pairs that a table has, `[kind]` in the order of `PAIRS`; those of mean products only."""
    return np.asarray(_sums_by_kind(pilot.layout.ones) > 0)


def agreement(pilot: MqmPilot) -> tuple[float, float]:
    """Average Kendall's tau-b between rater pairs: per document, and over all documents they share.

    Only documents of which both rated every output count; NaN where there are none. Source: Riley et al. 2024, table 2.
    """
    layout = pilot.layout
    if np.prod(layout.shape) > MAX_CELLS or not len(layout.by_two.pair):
        return float("nan"), float("nan")
    summed = np.bincount(layout.cell, weights=pilot.score, minlength=int(np.prod(layout.shape)))
    # Equal sums may differ in their last bits, and would then rank.
    total: Floats = summed.reshape(layout.shape).astype(np.float64).round(6)
    pair, rater, other, document = layout.by_two
    first, second = total[rater, document], total[other, document]
    shared = sparse.csr_matrix((np.ones(len(pair)), (pair, np.arange(len(pair)))))
    together = kendall_tau((shared @ first).round(6), (shared @ second).round(6))
    return _mean(_mean_by_pair(pair, kendall_tau(first, second))), _mean(together)


def _mean_by_pair(pair: Ints, values: Floats) -> Floats:
    known = np.isfinite(values)
    number = np.bincount(pair[known], minlength=pair[-1] + 1)
    total = np.bincount(pair[known], weights=values[known], minlength=pair[-1] + 1)
    return np.asarray(np.divide(total, number, out=np.full(len(total), np.nan), where=number > 0))


def _mean(values: Floats) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else float("nan")


def kendall_tau(x: Floats, y: Floats) -> Floats:
    """Return Kendall's tau-b of each row of `x[..., unit]` and `y[..., unit]`; NaN where either ranks nothing.

    >>> kendall_tau(np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0])).round(3).item()
    0.333
    """
    first, second = np.triu_indices(x.shape[-1], k=1)
    up_x, up_y = np.sign(x[..., first] - x[..., second]), np.sign(y[..., first] - y[..., second])
    untied = np.sqrt(np.abs(up_x).sum(-1) * np.abs(up_y).sum(-1))
    return np.asarray(np.divide((up_x * up_y).sum(-1), untied, out=np.full_like(untied, np.nan), where=untied > 0))
