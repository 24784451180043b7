"""Describe how far raters agree, from ratings alone: before a study is planned, or beside a fitted world.

Agreement of pairs of raters on the order of systems, the scores of each rater, each rater beside those who rated the
same outputs (leniency, sharpness, time, failed controls), and the hours that they worked.

Call `measure_agreement` on a table, or `agreement` on a world: both return an `Agreement`. `predict_hours` predicts the
hours of one table from the times of another.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import betaincinv, stdtrit

from simlab.answers.agreement import (
    Agreement,
    HoursPredicted,
    HoursWorked,
    MeanAgreement,
    PairAgreement,
    RaterBesideOthers,
    RaterScores,
)
from simlab.answers.records import read_record
from simlab.answers.tables import ReadTable
from simlab.fitting.agreement_coefficients import RatedOutputs, coefficients, keep_pairable, number_outputs
from simlab.fitting.speeds import LEAST_SECONDS, compare_predicted_hours, fitted_speeds
from simlab.tables import table_summary
from simlab.tables.rating_table import Ratings
from simlab.tables.times import CUT, CUTS, Times
from simlab.types import Bools, Floats, InputError, Ints, World
from simlab.world.laws.fixed import fixed_ratings
from simlab.world.recorded import make_world

RULES = {
    "ends": "Time is that between the ends of two answers in a row within a login, control items and practice included",
    "durations": "Time is what the table says that answers took",
}
"""Sentences on how seconds are measured, by the rule of a table's `Times`."""


def measure_agreement(ratings: Ratings, where: str = "the table", cut: float = CUT) -> Agreement:
    """Measure how far the raters of a table agree, and compare each with the others who rated the same outputs.

    Seconds are of work: time between answers, gaps cut at `cut` seconds. Raises InputError, beginning
    with `where`, for a table of which no world can be made.
    """
    of_world = agreement(make_world(ratings, where))
    return of_world.model_copy(
        update={
            "read": read_record(ReadTable, table_summary.record(ratings), "read"),
            "coefficients": coefficients(ratings),
            "corated": compare_with_others(ratings, cut),
            "hours": tuple(add_hours(ratings.times, cut)),
            "cut": cut,
            "rule": "" if ratings.times is None else describe_rule(ratings.times, cut),
            "controls": "" if ratings.controls is None else ratings.controls.rule,
        }
    )


def agreement(world: World) -> Agreement:
    """Measure agreement between the raters of a world as in Riley et al. 2024, Table 2.

    Systems are ranked by their mean score; equal means tie (Kendall tau-b). Raises InputError for a world
    that holds no ratings: it must be recorded, or synthetic with potential noise.
    """
    given = _extract_ratings(world)
    sums, full, met = _sum_by_document(given, world)
    names = world.frame.rater_names
    meetings = [(a, b) for a, b in combinations(range(len(names)), 2) if (met[a] & met[b]).any()]
    pairs = tuple(_pair(names[a], names[b], sums[[a, b]], full[[a, b]], met[[a, b]]) for a, b in meetings)
    # One rater of a document agrees with nobody: two must have rated it in full.
    documents = int((full.sum(axis=0) > 1).sum())
    active = np.flatnonzero(np.bincount(given.rater, minlength=len(names))).tolist()
    frame = world.frame
    return Agreement(
        read=ReadTable(
            used=len(given.value),
            systems=frame.n_systems,
            documents=frame.n_documents,
            raters=len(active),
            better="lower" if frame.lower_is_better else "higher",
        ),
        coefficients=(),
        agreement=(_average_single_documents(pairs, documents), _average_shared_documents(pairs, documents)),
        pairs=pairs,
        raters=tuple(describe_scores(names[rater], given, given.rater == rater) for rater in active),
        corated=(),
        hours=(),
        cut=CUT,
    )


def kendall(x: Floats, y: Floats) -> float:
    """Return Kendall's tau-b, NaN where either ranks nothing.

    >>> round(kendall(np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0])), 3)
    0.333
    """
    first, second = np.triu_indices(len(x), k=1)
    up_x, up_y = np.sign(x[first] - x[second]), np.sign(y[first] - y[second])
    untied = math.sqrt(np.abs(up_x).sum() * np.abs(up_y).sum())
    return float(up_x @ up_y) / untied if untied else math.nan


def _extract_ratings(world: World) -> AvailableRatings:
    ratings = fixed_ratings(world)
    if ratings is None:
        raise InputError("agreement needs ratings: use systems=recorded, or raters.noise=potential")
    system, item, slot = np.nonzero((world.frame.rater >= 0) & np.isfinite(ratings.value))
    at = system, item, slot
    return AvailableRatings(
        rater=world.frame.rater[at],
        system=system,
        document=world.frame.document[item],
        value=ratings.value[at],
        errors=ratings.errors[at],
    )


def _sum_by_document(given: AvailableRatings, world: World) -> tuple[Floats, Bools, Bools]:
    """Add up scores over the segments of a document: sums[rater, system, document].

    `full[rater, document]` says whether the rater rated every output of the document, `met` whether any.
    """
    frame = world.frame
    sums = np.zeros((frame.n_raters, frame.n_systems, frame.n_documents))
    counts = np.zeros(sums.shape, dtype=np.int64)
    at = given.rater, given.system, given.document
    np.add.at(sums, at, given.value)
    np.add.at(counts, at, 1)
    segments = np.bincount(frame.document, minlength=frame.n_documents)
    return sums, np.all(counts == segments, axis=1), np.any(counts, axis=1)


def _pair(first: str, second: str, sums: Floats, full: Bools, met: Bools) -> PairAgreement:
    both = full.all(axis=0)
    # Scores are multiples of .1: without rounding, equal sums would differ in their last bits and rank.
    a, b = np.round(sums[..., both], 6)
    taus = np.array([kendall(a[:, k], b[:, k]) for k in range(int(both.sum()))])
    shared = kendall(np.round(a.sum(axis=1), 6), np.round(b.sum(axis=1), 6))
    defined = taus[np.isfinite(taus)]
    partial = int((met.all(axis=0) & ~both).sum())
    single = float(defined.mean()) if len(defined) else math.nan
    return PairAgreement(
        first=first,
        second=second,
        single=single,
        shared=shared,
        documents=len(taus),
        constant=len(taus) - len(defined),
        partial=partial,
    )


def _average_single_documents(pairs: Sequence[PairAgreement], documents: int) -> MeanAgreement:
    comparisons = sum(pair.documents for pair in pairs)
    constant = sum(pair.constant for pair in pairs)
    return _mean("single documents", [pair.single for pair in pairs], documents, comparisons, constant)


def _average_shared_documents(pairs: Sequence[PairAgreement], documents: int) -> MeanAgreement:
    together = [pair.shared for pair in pairs if pair.documents]
    constant = sum(not math.isfinite(tau) for tau in together)
    return _mean("all shared documents", [pair.shared for pair in pairs], documents, len(together), constant)


def _mean(kind: str, taus: Sequence[float], documents: int, comparisons: int, undefined: int) -> MeanAgreement:
    known = np.array([tau for tau in taus if math.isfinite(tau)])
    mean = float(known.mean()) if len(known) else math.nan
    error = float(known.std(ddof=1)) / math.sqrt(len(known)) if len(known) > 1 else math.nan
    return MeanAgreement(
        kind=kind,
        kendall=mean,
        standard_error=error,
        rater_pairs=len(known),
        pairs_left_out=len(taus) - len(known),
        documents=documents,
        comparisons=comparisons,
        undefined=undefined,
    )


@dataclass(frozen=True, slots=True)
class AvailableRatings:
    """Ratings, one entry each: indices of rater, system and document, the score, the number of errors marked."""

    rater: Ints
    system: Ints
    document: Ints
    value: Floats
    errors: Ints


def describe_scores(name: str, given: AvailableRatings, own: Bools) -> RaterScores:
    """Describe the scores of one rater, `name`; `own[rating]` marks that rater's ratings among the `given` ones."""
    value, errors = given.value[own], given.errors[own]
    q25, q50, q75, q90 = np.quantile(value, (0.25, 0.5, 0.75, 0.9)).tolist()
    return RaterScores(
        rater=name,
        ratings=len(value),
        documents=len(np.unique(given.document[own])),
        mean=float(value.mean()),
        sd=float(value.std(ddof=1)) if len(value) > 1 else math.nan,
        maximum=float(value.max()),
        zero_share=float((value == 0).mean()),
        errors_per_segment=float(errors.mean()) if (errors >= 0).all() else math.nan,
        q25=q25,
        q50=q50,
        q75=q75,
        q90=q90,
    )


def compare_with_others(ratings: Ratings, cut: float = CUT) -> tuple[RaterBesideOthers, ...]:
    """Compare each rater with others on the same outputs; an answer counts at most `cut` seconds."""
    rated = keep_pairable(number_outputs(ratings))
    total = np.bincount(rated.output, rated.score)
    count = np.bincount(rated.output)
    others = (total[rated.output] - rated.score) / np.maximum(count[rated.output] - 1, 1)
    # Where lower is better a lenient rater scores lower: the sign is turned, so that positive is always lenient.
    sign = -1 if ratings.lower_is_better else 1
    there = np.flatnonzero(np.bincount(ratings.rater, minlength=ratings.n_raters)).tolist()
    times = {} if ratings.times is None else ratings.times.split_by_person(cut)
    return tuple(_compare(ratings, rater, rated, others, sign, times) for rater in there)


def _compare(
    ratings: Ratings, rater: int, rated: RatedOutputs, others: Floats, sign: int, times: Mapping[str, Floats]
) -> RaterBesideOthers:
    own = rated.rater == rater
    document = np.unique(rated.document[rated.output[own]], return_inverse=True)[1]
    failures = _failures(ratings, rater)
    numbers = (
        int(own.sum()),
        int(document.max(initial=-1)) + 1,
        *mean_by_cluster(sign * (rated.score[own] - others[own]), document),
        *slope_by_cluster(others[own], rated.score[own], document),
        *mean_time(times.get(ratings.rater_names[rater])),
        *failures,
        *share_interval(*failures),
    )
    _, *names = RaterBesideOthers.model_fields
    fields: dict[str, Any] = dict(zip(names, numbers, strict=True))
    return RaterBesideOthers(rater=ratings.rater_names[rater], **fields)


def mean_by_cluster(value: Floats, cluster: Ints) -> tuple[float, float, float]:
    """Return the mean of `value` and its 95 % interval, (mean, low, high), by t over clusters; NaN: not known.

    `cluster[k]` is the cluster of `value[k]`. The variance is that of a ratio of sums over clusters (Cochran 1977,
    section 9A.2).
    """
    if not len(value):
        return math.nan, math.nan, math.nan
    mean = float(value.mean())
    return _add_interval(mean, np.bincount(cluster, value - mean) / len(value))


def slope_by_cluster(x: Floats, y: Floats, cluster: Ints) -> tuple[float, float, float]:
    """Return the slope of y on x and its 95 % interval, (slope, low, high), robust to clusters; NaN: not known.

    `cluster[k]` is the cluster of entry k. Source: Liang and Zeger 1986, with the correction clusters / (clusters - 1)
    and t with as many degrees of freedom.
    """
    # Two points always lie on a line, which leaves no residual to judge the slope by.
    spread = float(((x - x.mean()) ** 2).sum()) if len(x) > 2 else 0.0
    if spread <= 0:
        return math.nan, math.nan, math.nan
    along = x - x.mean()
    slope = float(along @ y) / spread
    residual = y - y.mean() - slope * along
    return _add_interval(slope, np.bincount(cluster, along * residual) / spread)


def _add_interval(value: float, influence: Floats) -> tuple[float, float, float]:
    """Return an estimate with its 95 % interval; `influence[cluster]` is what each cluster adds to its error."""
    n = len(influence)
    if n < 2:
        return value, math.nan, math.nan
    # Influences add up to 0, which takes one degree of freedom: hence n / (n - 1).
    reach = float(stdtrit(n - 1, 0.975)) * math.sqrt(n / (n - 1) * float((influence**2).sum()))
    return value, value - reach, value + reach


def _failures(ratings: Ratings, rater: int) -> tuple[int, int]:
    """Return how many control items a rater met, and how many of them were failed."""
    if ratings.controls is None:
        return 0, 0
    failed: Bools = ratings.controls.failed[ratings.controls.rater == rater]
    return len(failed), int(failed.sum())


def share_interval(n: int, k: int) -> tuple[float, float, float]:
    """Return k of n as a share with its exact 95 % interval, (share, low, high); NaN for 0 of 0.

    Source: Clopper and Pearson 1934.
    """
    if not n:
        return math.nan, math.nan, math.nan
    # The Beta quantile has no meaning at 0 of n, nor at n of n: there the exact bounds are 0 and 1.
    low = float(betaincinv(k, n - k + 1, 0.025)) if k else 0.0
    return k / n, low, float(betaincinv(k + 1, n - k, 0.975)) if k < n else 1.0


def add_hours(times: Times | None, cut: float) -> Iterator[HoursWorked]:
    """Yield the hours of a table with gaps cut at the usual seconds, and at `cut`; nothing where it has no times."""
    if times is None:
        return
    n = len(times.gap)
    for limit in sorted({*CUTS, cut}):
        hours = times.hours(limit)
        yield HoursWorked(
            rule=times.rule,
            cut=limit,
            hours=hours,
            seconds=3600 * hours / n,
            answers=n,
            logins=len(times.login_names),
            people=len(times.person_names),
        )


def predict_hours(known: Times | None, times: Times | None, cut: float, named: str) -> HoursPredicted:
    """Predict the hours of a table from the speeds of the people of another.

    `times` are those of the table, `known` those of the other, which errors call `named`; `cut` is the most seconds
    that an answer counts. The hours that the table really took are returned beside their prediction.
    Raises InputError, beginning with `named`, where either has none.
    """
    learnt = fitted_speeds(known, cut)
    if learnt is None:
        raise InputError(f"{named}: holds no times to learn speeds from; give a table that says when answers ended")
    prediction = None if times is None else compare_predicted_hours(learnt, times)
    if prediction is None:
        raise InputError(f"{named}: the ratings themselves have no times to hold the prediction against; leave it out")
    low, median, high = prediction.predicted
    return HoursPredicted(
        cut=cut,
        people=len(set(learnt.worked.person.tolist())),
        low=low,
        median=median,
        high=high,
        happened=prediction.happened,
        inside=prediction.inside,
        log_score=prediction.log_score,
        flat_log_score=prediction.flat,
    )


def describe_rule(times: Times, cut: float) -> str:
    """Return the sentence that says how the hours and seconds of a table are measured."""
    return f"{RULES[times.rule]}; raters' seconds are means with gaps cut at {cut:g} s."


def mean_time(seconds: Floats | None) -> tuple[float, int, float]:
    """Return mean seconds, how many answers were timed, and hours; NaN where answers were sent in at once."""
    if seconds is None or not len(seconds):
        return math.nan, 0, math.nan
    mean = float(seconds.mean())
    known = mean >= LEAST_SECONDS
    return (mean if known else math.nan), len(seconds), (float(seconds.sum()) / 3600 if known else math.nan)
