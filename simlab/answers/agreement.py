"""Records of `simlab agreement`: coefficients of agreement between raters, and traits of each rater's scores.

`Agreement` is the whole answer, which `simlab.fitting.agreement` makes of a table or a world; the others are its parts.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from simlab.answers.records import Count, Num, Record
from simlab.answers.tables import ReadTable


class Coefficient(Record):
    """One coefficient with its 95 % interval (documents drawn anew, raters as they are), and what it rests on.

    `ratings` of `outputs` that `raters` rated, on `documents`, went into it; `ratings_each` is how many ratings
    ICC(A,k) averages, NaN for the others.
    """

    coefficient: str
    value: Num
    low: Num
    high: Num
    ratings: Count
    outputs: Count
    raters: Count
    documents: Count
    ratings_each: Num = float("nan")


class MeanAgreement(Record):
    """Mean Kendall tau-b between two raters' rankings of the systems, over pairs of raters, with its numbers.

    `kind` is "single documents" (a tau for each document, averaged by pair of raters) or "all shared documents" (one
    tau for each pair of raters); `comparisons` counts these taus. `standard_error` is the spread between pairs over the
    root of their number; pairs share raters, so it is that of these pairs and too small for raters at large.
    `undefined` of the `comparisons` had a constant ranking; `pairs_left_out` pairs met on documents but have no defined
    value.
    """

    kind: str
    kendall: Num
    standard_error: Num
    rater_pairs: Count
    pairs_left_out: Count
    documents: Count
    comparisons: Count
    undefined: Count


class PairAgreement(Record):
    """Agreement of two raters' system rankings, on the `documents` in which both rated every output.

    `single` is the mean Kendall tau-b over single documents, `shared` the tau-b over all of them together.
    A document where a rater gives all systems the same score ranks nothing: it is left out of `single`
    and counted as `constant`. `partial` counts documents that both rated, but not every output of.
    """

    first: str
    second: str
    single: Num
    shared: Num
    documents: Count
    constant: Count
    partial: Count


class RaterScores(Record):
    """Scores of one rater, summarised [points]; `errors_per_segment` is NaN where errors were not counted."""

    rater: str
    ratings: Count
    documents: Count
    mean: Num
    sd: Num
    maximum: Num
    zero_share: Num
    errors_per_segment: Num
    q25: Num
    q50: Num
    q75: Num
    q90: Num


class RaterBesideOthers(Record):
    """A rater beside the others who rated the same outputs; NaN: not known.

    `leniency` is how much better than the others' mean their scores are [points], `sharpness` the slope of their scores
    on the others' mean; both over `shared` outputs of `shared_documents`, with 95 % intervals (documents are the
    clusters). `seconds` is the mean time of `timed` answers (control items and practice included) and `hours` that of
    all of them, not known where answers were sent in at once. `failed` of `controls` control items were failed.
    """

    rater: str
    shared: Count
    shared_documents: Count
    leniency: Num
    leniency_low: Num
    leniency_high: Num
    sharpness: Num
    sharpness_low: Num
    sharpness_high: Num
    seconds: Num
    timed: Count
    hours: Num
    controls: Count
    failed: Count
    failed_share: Num
    failed_low: Num
    failed_high: Num


class HoursWorked(Record):
    """Hours that all raters worked together, with gaps between answers cut at `cut` seconds.

    `rule` says how a gap is measured; `seconds` is the mean time of an answer under this cut. `people` had `logins`.
    """

    rule: str
    cut: Num
    hours: Num
    seconds: Num
    answers: Count
    logins: Count
    people: Count


class HoursPredicted(Record):
    """Hours predicted by the speeds of another table, cut at `cut` seconds, beside those that were worked.

    The 90 % interval is of other people than those `people` whose speeds were learnt, who answer as much as each did
    here; `happened` are the hours worked, `inside` says that the interval holds them. `log_score` is the log predictive
    density [nats] per login, `flat_log_score` that of one lognormal for everybody.
    """

    cut: Num
    people: Count
    low: Num
    median: Num
    high: Num
    happened: Num
    inside: bool
    log_score: Num
    flat_log_score: Num


class Agreement(Record):
    """Answer of `simlab agreement`: agreement between raters, and traits of each rater.

    `agreement` has two rows: over single documents, and over all shared ones. `coefficients` and `corated`, by rater,
    are there where ratings were given, not a world; `controls` says when a control item is failed. `hours` are those of
    the table at several cuts, where it has times; `cut` [s] is the chosen one, and `rule` says what seconds are.
    """

    read: ReadTable
    coefficients: tuple[Coefficient, ...]
    agreement: tuple[MeanAgreement, ...]
    pairs: tuple[PairAgreement, ...]
    raters: Annotated[tuple[RaterScores, ...], Field(min_length=1)]
    corated: tuple[RaterBesideOthers, ...]
    hours: tuple[HoursWorked, ...]
    predicted: tuple[HoursPredicted, ...] = ()
    cut: Num
    rule: str = ""
    controls: str = ""

    @property
    def single(self) -> MeanAgreement:
        """Agreement over single documents."""
        return self.agreement[0]

    @property
    def shared(self) -> MeanAgreement:
        """Agreement over all documents that two raters share."""
        return self.agreement[1]
