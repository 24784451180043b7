"""Records of `simlab mutt`: pass rates of metrics, or the agreement of two metrics about trials.

`PassRates` or (with --agreement) `MetricAgreement` is the whole answer, a list of rows. A trial is a sentence and its
corruption, scored by a metric against references. A metric passes one that alters or disrupts the sentence if it scores
the corruption worse, one that preserves it if both scores are about the same.
"""

from __future__ import annotations

from typing import Literal

from simlab.answers.records import Count, Num, Record, Rows

ALL = "all"
"""The name of all corruptions together."""


class PassRate(Record):
    """Share of the trials of a corruption that a metric passes, with its exact 95 % interval.

    `n` trials have two finite scores, and the rate is of these; `unscored` have not. `zero_passes` are passes in which
    both scores are 0, `near_ties` verdicts that hang on next to nothing. `tolerance` and `near_tie` say what passes.
    """

    corruption: str
    kind: Literal["altering", "disrupting", "preserving"]
    metric: str
    references: Count
    pass_rate: Num
    low: Num
    high: Num
    passed: Count
    n: Count
    zero_passes: Count
    near_ties: Count
    unscored: Count
    tolerance: Num
    near_tie: Num


class PassRates(Rows[PassRate]):
    """Pass rates by corruption, metric and number of references."""


class EqualVerdicts(Record):
    """Share of trials of which two metrics give the same verdict, and how their verdicts correlate (phi).

    Errors are standard errors over `originals`, whose trials are together. `n` trials have verdicts of both, in
    `near_ties` of which one hangs on a near tie. NaN is what cannot be known; `reason` says why there is no
    correlation. The corruption `all` is all of them together.
    """

    corruption: str
    references: Count
    metric: str
    other: str
    agreement: Num
    agreement_error: Num
    correlation: Num
    correlation_error: Num
    n: Count
    originals: Count
    near_ties: Count
    reason: str


class MetricAgreement(Rows[EqualVerdicts]):
    """Equal verdicts by number of references, two metrics and corruption."""
