"""Decide which trials a metric passes, and estimate its pass rates with exact intervals.

Call `pass_rates` on the scores of metrics; it returns `PassRates`. `passes` returns the verdict on each trial. Source:
Boag et al. 2016, section 6, for both rules; Clopper and Pearson 1934 for the interval.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import betaincinv

from simlab.answers.mutt import PassRate, PassRates
from simlab.metric_tests.scoring import ScorePairs
from simlab.types import Bools, Floats

EPSILON = 1e-9
"""Added to the score of the original in relative differences, so that they stay finite at 0."""

LEVEL = 0.95
"""Coverage of the intervals."""

# Sums of floating-point numbers depend on their order in the last bits, and so would what is a tie.
ROUNDING = 1e-13
"""Scores that differ by at most this share of the larger are the same but for rounding."""

# What packages add to keep denominators from 0 (1e-9 twice in BLEU) and the rounding of single precision (6e-8) lie
# below; a word more or less in sentences of any length lies far above.
NEAR = 1e-6
"""Scores that differ by more than rounding, but at most by this share, are near ties."""


def passes(pairs: ScorePairs, *, tolerance: float, near_tie: float = 0.0) -> Bools:
    """Return whether the metric passes each trial, `[trial]`; a trial without scores is not passed.

    Altering and disrupting corruptions must score worse than their originals, preserving ones must score alike, up to
    the share `tolerance` of the original's score. Differences up to the share `near_tie` of the scores are ties; with
    0, the published rule, only differences by rounding are.
    """
    if pairs.trials.kind == "preserving":
        return is_alike(pairs.original, pairs.corrupted, tolerance=tolerance, near_tie=near_tie)
    sign = -1 if pairs.lower_is_better else 1
    return is_better(sign * pairs.original, sign * pairs.corrupted, near_tie=near_tie)


def near_ties(pairs: ScorePairs, *, tolerance: float, near_tie: float = 0.0) -> Bools:
    """Mark which verdicts hang on next to nothing: they would be others if differences up to 1e-6 were ties.

    Of altering and disrupting corruptions these are passes by such a difference, of preserving ones failures by it. A
    `near_tie` that is larger than 1e-6 takes its place.
    """
    within = max(near_tie, NEAR)
    strict, lenient = (passes(pairs, tolerance=tolerance, near_tie=margin) for margin in (0.0, within))
    hang: Bools = pairs.scored & (strict != lenient)
    return hang


def is_better(original: Floats, corrupted: Floats, *, near_tie: float = 0.0) -> Bools:
    """Mark where an original scores higher than its corruption, by more than rounding and more than a near tie.

    >>> is_better(np.array([0.5, 0.5, 0.3 - 0.2]), np.array([0.4, 0.5, 0.1 - 1e-17])).tolist()
    [True, False, False]
    """
    margin = max(near_tie, ROUNDING)
    lost: Bools = original - corrupted > margin * np.maximum(np.abs(original), np.abs(corrupted))
    return lost


def is_alike(original: Floats, corrupted: Floats, *, tolerance: float, near_tie: float = 0.0) -> Bools:
    """Mark where |a - b| / (|a| + 1e-9) is within the tolerance, a the score of the original.

    The published rule divides by a + 1e-9, which is the same for scores that are not negative and has no meaning for
    others. Two scores of 0 are alike. A tie is within, and what exceeds the tolerance by one.

    >>> is_alike(np.array([1.0, 1.0, 0.0, -1.0]), np.array([0.9, 0.8, 0.0, -0.5]), tolerance=0.15).tolist()
    [True, False, True, False]
    """
    difference = np.abs(original - corrupted) / (np.abs(original) + EPSILON)
    # What lies exactly at the tolerance must not hang on the last bits of a quotient.
    within: Bools = difference <= max(tolerance * (1 + max(near_tie, ROUNDING)), near_tie)
    return within


def interval(passed: int, n: int, level: float = LEVEL) -> tuple[float, float]:
    """Return the exact binomial interval of a share (Clopper-Pearson); from 0 to 1 where nothing was tried.

    >>> [round(bound, 4) for bound in (*interval(14, 14), *interval(0, 0))]
    [0.7684, 1.0, 0.0, 1.0]
    """
    tail = (1 - level) / 2
    low = float(betaincinv(passed, n - passed + 1, tail)) if passed else 0.0
    high = float(betaincinv(passed + 1, n - passed, 1 - tail)) if passed < n else 1.0
    return low, high


def pass_rates(pairs: Sequence[ScorePairs], *, tolerance: float, near_tie: float = 0.0) -> PassRates:
    """Return the pass rate of each corruption, metric and number of references, in this order."""
    corruptions, metrics = (
        list(dict.fromkeys(names))
        for names in ((scores.trials.corruption for scores in pairs), (scores.metric for scores in pairs))
    )
    ordered = sorted(
        (scores for scores in pairs if scores.trials.name),
        key=lambda scores: (
            corruptions.index(scores.trials.corruption),
            metrics.index(scores.metric),
            scores.trials.n_references,
        ),
    )
    return PassRates(tuple(_pass_rate(scores, tolerance, near_tie) for scores in ordered))


def _pass_rate(pairs: ScorePairs, tolerance: float, near_tie: float) -> PassRate:
    passed = passes(pairs, tolerance=tolerance, near_tie=near_tie) & pairs.scored
    zero = (np.abs(pairs.original) <= pairs.zero) & (np.abs(pairs.corrupted) <= pairs.zero)
    n, count = int(pairs.scored.sum()), int(passed.sum())
    low, high = interval(count, n) if n else (np.nan, np.nan)
    return PassRate(
        corruption=pairs.trials.corruption,
        kind=pairs.trials.kind,
        metric=pairs.metric,
        references=pairs.trials.n_references,
        pass_rate=count / n if n else np.nan,
        low=low,
        high=high,
        passed=count,
        n=n,
        zero_passes=int((passed & zero).sum()),
        near_ties=int(near_ties(pairs, tolerance=tolerance, near_tie=near_tie).sum()),
        unscored=len(pairs.scored) - n,
        tolerance=tolerance,
        near_tie=near_tie,
    )
