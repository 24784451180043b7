"""Describe how far raters agree, from ratings alone: before a study is planned, or beside a fitted world."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from simlab.answers.agreement import Agreement, MeanAgreement, PairAgreement
from simlab.answers.records import read_record
from simlab.answers.tables import ReadTable
from simlab.fitting.agreement_coefficients import coefficients
from simlab.fitting.agreement_corated import compare_with_others
from simlab.fitting.agreement_hours import add_hours, rule_of
from simlab.fitting.agreement_profiles import Given, describe_scores
from simlab.tables import understood
from simlab.tables.held import Ratings
from simlab.tables.times import CUT
from simlab.types import Bools, Floats, InputError, World
from simlab.world.laws.fixed import fixed_ratings
from simlab.world.recorded import world_of


def agreement_of(ratings: Ratings, where: str = "the table", cut: float = CUT) -> Agreement:
    """Measure how far the raters of a table agree, and hold each against the others who rated the same outputs.

    Seconds are of work: time between answers, gaps cut at `cut` seconds. Raises InputError, beginning
    with `where`, for a table of which no world can be made.
    """
    of_world = agreement(world_of(ratings, where))
    return of_world.model_copy(
        update={
            "read": read_record(ReadTable, understood.record(ratings), "read"),
            "coefficients": coefficients(ratings),
            "corated": compare_with_others(ratings, cut),
            "hours": tuple(add_hours(ratings.times, cut)),
            "cut": cut,
            "rule": "" if ratings.times is None else rule_of(ratings.times, cut),
            "controls": "" if ratings.controls is None else ratings.controls.rule,
        }
    )


def agreement(world: World) -> Agreement:
    """Measure agreement between the raters of a world as in Riley et al. 2024, Table 2.

    Systems are ranked by their mean score; equal means tie (Kendall tau-b). Raises InputError for a world
    that holds no ratings: it must be recorded, or synthetic with potential noise.
    """
    given = _given(world)
    sums, full, met = _per_document(given, world)
    names = world.frame.rater_names
    meetings = [(a, b) for a, b in combinations(range(len(names)), 2) if (met[a] & met[b]).any()]
    pairs = tuple(_pair(names[a], names[b], sums[[a, b]], full[[a, b]], met[[a, b]]) for a, b in meetings)
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
        agreement=(_mean_single(pairs, documents), _mean_shared(pairs, documents)),
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


def _given(world: World) -> Given:
    ratings = fixed_ratings(world)
    if ratings is None:
        raise InputError("agreement needs ratings: use systems=recorded, or raters.noise=potential")
    system, item, slot = np.nonzero((world.frame.rater >= 0) & np.isfinite(ratings.value))
    at = system, item, slot
    return Given(
        rater=world.frame.rater[at],
        system=system,
        document=world.frame.document[item],
        value=ratings.value[at],
        errors=ratings.errors[at],
    )


def _per_document(given: Given, world: World) -> tuple[Floats, Bools, Bools]:
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


def _mean_single(pairs: Sequence[PairAgreement], documents: int) -> MeanAgreement:
    comparisons = sum(pair.documents for pair in pairs)
    constant = sum(pair.constant for pair in pairs)
    return _mean("single documents", [pair.single for pair in pairs], documents, comparisons, constant)


def _mean_shared(pairs: Sequence[PairAgreement], documents: int) -> MeanAgreement:
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
