"""Describe how far raters agree, from ratings alone: before a study is planned, or beside a fitted world."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np

from simlab.types import Bools, Floats, InputError, Ints, World
from simlab.world.laws.fixed import fixed_ratings

Rows: TypeAlias = list[dict[str, Any]]

QUANTILES = (0.25, 0.5, 0.75, 0.9)


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """Compare the system rankings of two raters, on the `documents` in which both rated every output.

    `single` is the mean Kendall tau-b over single documents, `shared` the tau-b over all of them together.
    A document where a rater gives all systems the same score ranks nothing: it is left out of `single`
    and counted as `constant`. `partial` counts documents that both rated, but not every output of.
    """

    first: str
    second: str
    single: float
    shared: float
    documents: int
    constant: int
    partial: int


@dataclass(frozen=True, slots=True)
class MeanAgreement:
    """Average the Kendall tau-b of single documents, or of all shared ones, over rater pairs, with what it rests on.

    `standard_error` is the spread between pairs over the root of their number; pairs share raters, so it
    speaks of these pairs and is too small for raters at large. `undefined` of the `comparisons` had a
    constant ranking; `pairs_left_out` pairs met on documents but have no defined value.
    """

    kind: str
    kendall: float
    standard_error: float
    rater_pairs: int
    pairs_left_out: int
    documents: int
    comparisons: int
    undefined: int


@dataclass(frozen=True, slots=True)
class RaterProfile:
    """Describe the scores of one rater; `errors_per_segment` is NaN where errors were not counted."""

    rater: str
    ratings: int
    documents: int
    mean: float
    sd: float
    quantiles: tuple[float, ...]
    maximum: float
    zero_share: float
    errors_per_segment: float


@dataclass(frozen=True, slots=True)
class Agreement:
    """Hold agreement between raters and the profile of each; `scores[k]` are the scores of `raters[k]`."""

    single: MeanAgreement
    shared: MeanAgreement
    pairs: tuple[PairAgreement, ...]
    raters: tuple[RaterProfile, ...]
    scores: tuple[Floats, ...]

    def tables(self) -> dict[str, Rows]:
        """Give everything but the scores as plain records, by the names `agreement`, `pairs` and `raters`."""
        return {
            "agreement": [asdict(self.single), asdict(self.shared)],
            "pairs": [asdict(pair) for pair in self.pairs],
            "raters": [_profile_row(rater) for rater in self.raters],
        }

    def bands(self) -> tuple[Floats, Floats]:
        """Return the upper edges of bands of scores (zero, quarters of all above zero), and `share[rater, band]`."""
        edges = _band_edges(np.concatenate(self.scores))
        counts = np.array([np.bincount(np.searchsorted(edges, own), minlength=len(edges)) for own in self.scores])
        return edges, counts / counts.sum(axis=1, keepdims=True)

    def notes(self) -> list[str]:
        """Say in sentences what the numbers rest on and what they leave out."""
        lines = [
            "Standard errors are over rater pairs, which share raters: too small for raters at large.",
            "Raters rated different documents: their scores differ by documents as well as by leniency.",
        ]
        if partial := sum(pair.partial for pair in self.pairs):
            lines.append(f"Left out: {partial} comparisons on a document that the two did not both rate completely.")
        if constant := self.single.undefined:
            lines.append(f"Left out: {constant} comparisons in which a rater gave all systems the same score.")
        if not self.shared.comparisons:
            lines.append("No two raters rated all outputs of a document, so their agreement is not known.")
        return lines


@dataclass(frozen=True, slots=True)
class _Given:
    """Hold the ratings that exist, flat."""

    rater: Ints
    system: Ints
    document: Ints
    value: Floats
    errors: Ints


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
    return Agreement(
        single=_mean_single(pairs, documents),
        shared=_mean_shared(pairs, documents),
        pairs=pairs,
        raters=tuple(_profile(names[rater], given, given.rater == rater) for rater in active),
        scores=tuple(given.value[given.rater == rater] for rater in active),
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


def _given(world: World) -> _Given:
    ratings = fixed_ratings(world)
    if ratings is None:
        raise InputError("agreement needs ratings: use systems=recorded, or raters.noise=potential")
    system, item, slot = np.nonzero((world.frame.rater >= 0) & np.isfinite(ratings.value))
    at = system, item, slot
    return _Given(
        rater=world.frame.rater[at],
        system=system,
        document=world.frame.document[item],
        value=ratings.value[at],
        errors=ratings.errors[at],
    )


def _per_document(given: _Given, world: World) -> tuple[Floats, Bools, Bools]:
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
    return PairAgreement(first, second, single, shared, len(taus), len(taus) - len(defined), partial)


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
    left_out = len(taus) - len(known)
    return MeanAgreement(kind, mean, error, len(known), left_out, documents, comparisons, undefined)


def _profile(name: str, given: _Given, own: Bools) -> RaterProfile:
    value, errors = given.value[own], given.errors[own]
    return RaterProfile(
        rater=name,
        ratings=len(value),
        documents=len(np.unique(given.document[own])),
        mean=float(value.mean()),
        sd=float(value.std(ddof=1)) if len(value) > 1 else math.nan,
        quantiles=tuple(np.quantile(value, QUANTILES).tolist()),
        maximum=float(value.max()),
        zero_share=float((value == 0).mean()),
        errors_per_segment=float(errors.mean()) if (errors >= 0).all() else math.nan,
    )


def _profile_row(rater: RaterProfile) -> dict[str, Any]:
    row = asdict(rater)
    quantiles = row.pop("quantiles")
    return row | {f"q{100 * share:.0f}": value for share, value in zip(QUANTILES, quantiles, strict=True)}


def _band_edges(scores: Floats) -> Floats:
    positive = scores[scores > 0]
    if not len(positive):
        return np.zeros(1)
    return np.unique([0, *np.quantile(positive, (0.25, 0.5, 0.75, 1), method="lower")])
