"""Reduce a table of ratings to mean products of pairs of ratings, by what the two share: what tells spreads apart.

All factors of the law are independent with mean 1, so the mean product of two ratings, each divided by what is
expected of its system and its rater, is the product of `exp(sd ** 2)` over the factors that the two share. Kinds of
pairs (same document? same segment? same system? same rater?) tell the spreads apart.
"""

from __future__ import annotations

import numpy as np

from simlab.fitting.mqm.layout import Sums
from simlab.fitting.mqm.pilot import Pilot
from simlab.fitting.mqm.ranks import agreement
from simlab.types import Bools, Floats

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
NEXT |= {12: (10,), 13: (12,), 14: (12,), 15: (10,), 16: (15,), 17: (15,)}
"""Which kind of pairs shares a little less than another, the first that a table has; see `contrasts`."""


def of_all_kinds(pilot: Pilot, expected: Floats) -> Floats:
    """Return what is found of pairs, `[kind]` in the order of PAIRS; `expected` of each rating by system and rater."""
    products = mean_products(pilot, pilot.score, expected)
    return np.concatenate([products, kinds(pilot), _zeros(pilot), [_mean_root(pilot)], agreement(pilot)])


def mean_products(pilot: Pilot, score: Floats, expected: Floats) -> Floats:
    """Return the logarithm of products of pairs of scores to those of what is expected of them, by kind; see PAIRS.

    Pairs count as much as is expected of them: strict raters and poor systems vary less in proportion than lenient ones
    and good ones, and what a study concludes hangs on how far scores vary, not on how far they do in proportion.
    """
    expected = expected * (score.sum() / max(float(expected.sum()), 1e-12))
    sums = pilot.layout.sums
    return _log_ratio(_by_kind(sums(score)), _by_kind(sums(expected)))


def _by_kind(sums: tuple[Sums, Sums, Sums]) -> Floats:
    every, document, segment = map(_by_sharing, sums)
    return np.concatenate([(document - segment), segment, (every - document)[3:]])


def contrasts(used: Bools) -> Floats:
    """Return the matrix `[contrast, kind]` that takes from each of the used kinds of pairs the next one.

    All products rise with a few high scores; what pairs that share more have beyond others hardly does, and that is
    what tells the spreads.
    """
    matrix = np.eye(len(used))
    for kind, others in NEXT.items():
        held = [other for other in others if used[other]]
        if held:
            matrix[kind, held[0]] = -1.0
    return np.asarray(matrix[np.ix_(used, used)])


def kinds(pilot: Pilot) -> Floats:
    """Return logarithms of mean products of numbers of minor and major errors; NaN where these are not told apart."""
    if not (pilot.counts[0].any() and pilot.counts[1].any()):
        return np.full(9, np.nan)
    counts = [count.astype(float) for count in pilot.counts[:2]]
    expected = [_expected(pilot, count) for count in counts]
    return _log_ratio(*(_of_both(pilot, *pair) for pair in (counts, expected)))


def _of_both(pilot: Pilot, minor: Floats, major: Floats) -> Floats:
    """Add up products of the two kinds, then of each kind, over pairs of a segment.

    Those of the two are over one rating, other ratings of its segment, other segments of its document.
    """
    (_, document, segment), (_, of_document, of_segment) = (pilot.layout.sums(count) for count in (minor, major))
    rating, within = float((minor * major).sum()), _cross(segment.all, of_segment.all)
    crossed = [rating, within - rating, _cross(document.all, of_document.all) - within]
    return np.concatenate([crossed, _by_sharing(segment)[:3], _by_sharing(of_segment)[:3]])


def _expected(pilot: Pilot, count: Floats) -> Floats:
    """Return the counts that the averages of their system and their rater let one expect; as many in all."""
    by_system, by_rater = (
        np.bincount(label, weights=count) / np.maximum(np.bincount(label), 1) for label in (pilot.system, pilot.rater)
    )
    expected = by_system[pilot.system] * by_rater[pilot.rater]
    return np.asarray(expected * (count.sum() / max(float(expected.sum()), 1e-12)))


def _zeros(pilot: Pilot) -> tuple[float, float]:
    """Return the log odds of a score of less than a minor error, and how much it is that of a segment."""
    zero = (pilot.score < pilot.minor_weight - 1e-9).astype(float)
    n, sum_ = len(zero), zero.sum()
    odds = float(np.log((sum_ + 0.5) / (n - sum_ + 0.5)))
    total, number = (_by_sharing(sums[2]) for sums in (pilot.layout.sums(zero), pilot.layout.ones))
    return odds, float(np.log((sum(total[:2]) + 0.5) / (sum(number[:2]) + 0.5)) - 2 * np.log((sum_ + 0.5) / (n + 0.5)))


def _mean_root(pilot: Pilot) -> float:
    """Return the log of the mean square root over the root of the mean: how far scores crowd near 0 and far above."""
    return float(np.log(np.sqrt(pilot.score).mean() + 1e-12) - 0.5 * np.log(pilot.score.mean() + 1e-12))


def _by_sharing(sums: Sums) -> Floats:
    """Add up products over ordered pairs that share as much: other system and rater, same rater, same system, both."""
    every, rater, system, both = (_cross(one, one) for one in sums)
    return np.array([every - rater - system + both, rater - both, system - both, both])


def _cross(x: Floats, y: Floats) -> float:
    """Add up products over ordered pairs of one label, each with itself, too; the sums are those of the labels."""
    return float((x * y).sum())


def _log_ratio(total: Floats, number: Floats) -> Floats:
    usable = (number > 0) & (total > 0)
    return np.asarray(np.log(np.divide(total, number, out=np.full(len(total), np.nan), where=usable)))


def identified(pilot: Pilot) -> Bools:
    """Mark the kinds of pairs that a table has; those of mean products only."""
    return np.asarray(_by_kind(pilot.layout.ones) > 0)
