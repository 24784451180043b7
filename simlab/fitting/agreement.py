"""Describe how far raters agree, from ratings alone: before a study is planned, or beside a fitted world."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np

from simlab.fitting.agreement_coefficients import Coefficient, coefficients
from simlab.fitting.agreement_corated import Corated, corated
from simlab.fitting.agreement_hours import Predicted, Worked, rule_of, worked
from simlab.fitting.agreement_profiles import Given, RaterProfile, band_edges, profile, profile_row
from simlab.tables.held import Ratings
from simlab.tables.times import CUT
from simlab.types import Bools, Floats, InputError, World
from simlab.world.laws.fixed import fixed_ratings
from simlab.world.recorded import world_of

Rows: TypeAlias = list[dict[str, Any]]


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
class Agreement:
    """Hold agreement between raters and the profile of each; `scores[k]` are the scores of `raters[k]`.

    `coefficients` and `corated`, by rater, are there where ratings were given, not a world; `controls` says when a
    control item is failed, `named` whether the table says who rated. `worked` are the hours of the table at several
    cuts, where it has times, and `rule` what they are.
    """

    single: MeanAgreement
    shared: MeanAgreement
    pairs: tuple[PairAgreement, ...]
    raters: tuple[RaterProfile, ...]
    scores: tuple[Floats, ...]
    lower_is_better: bool = True
    coefficients: tuple[Coefficient, ...] = ()
    corated: tuple[Corated, ...] = ()
    worked: tuple[Worked, ...] = ()
    predicted: tuple[Predicted, ...] = ()
    rule: str = ""
    controls: str = ""
    named: bool = True

    def tables(self) -> dict[str, Rows]:
        """Give everything but the scores as plain records, by the names of what they hold."""
        return {
            "coefficients": [asdict(one) for one in self.coefficients],
            "agreement": [asdict(self.single), asdict(self.shared)],
            "pairs": [asdict(pair) for pair in self.pairs],
            "raters": [profile_row(rater) for rater in self.raters],
            "corated": [asdict(rater) for rater in self.corated],
            "hours": [asdict(one) for one in self.worked],
            "predicted": [asdict(one) for one in self.predicted],
        }

    def bands(self) -> tuple[Floats, Floats]:
        """Return the upper edges of bands of scores, and `share[rater, band]`.

        Bands are zero and quarters of all above it, or fifths of all where hardly any is zero.
        """
        edges = band_edges(np.concatenate(self.scores))
        counts = np.array([np.bincount(np.searchsorted(edges, own), minlength=len(edges)) for own in self.scores])
        return edges, counts / counts.sum(axis=1, keepdims=True)

    def notes(self) -> list[str]:
        """Say in sentences what the numbers rest on and what they leave out."""
        lines = [*self._known()]
        if self.shared.comparisons:
            lines.append("Standard errors are over rater pairs, which share raters: too small for raters at large.")
        if len(self.raters) > 1:
            lines.append("Where raters rated different documents, their mean scores differ by these as well.")
        if partial := sum(pair.partial for pair in self.pairs):
            lines.append(f"Left out: {partial} comparisons on a document that the two did not both rate completely.")
        if constant := self.single.undefined:
            lines.append(f"Left out: {constant} comparisons in which a rater gave all systems the same score.")
        if not self.shared.comparisons and len(self.raters) > 1:
            lines.append("No two raters rated all outputs of a document, so their agreement is not known.")
        return lines

    def _known(self) -> list[str]:
        """Say what coefficients and comparisons with other raters rest on, or why there are none."""
        lines = [f"A control item is failed where {self.controls}."] if self.controls else []
        lines += [self.rule] if self.rule else []
        if not self.named:
            return ["The table does not say who rated: how far raters agree is not known.", *lines]
        if len(self.raters) == 1:
            return ["All ratings are by one rater: how far raters agree is not known.", *lines]
        if not any(rater.shared for rater in self.corated):
            alone = "No output has ratings of two raters: alpha, ICC and leniency are not known."
            return [alone, *lines] if self.corated else lines
        return [
            "Intervals (95 %) are over documents, for the raters of this table.",
            "Leniency is how much better than the other raters of the same outputs one scores, in points.",
            "Sharpness is the slope on their mean: noise in it makes all slopes smaller, so compare raters.",
            *lines,
        ]


def agreement_of(ratings: Ratings, where: str = "the table", cut: float = CUT) -> Agreement:
    """Measure how far the raters of a table agree, and hold each against the others who rated the same outputs.

    Seconds are of work: time between answers, gaps cut at `cut` seconds. Raises InputError, beginning
    with `where`, for a table of which no world can be made.
    """
    return replace(
        agreement(world_of(ratings, where)),
        coefficients=coefficients(ratings),
        corated=corated(ratings, cut),
        worked=tuple(worked(ratings.times, cut)),
        rule="" if ratings.times is None else rule_of(ratings.times, cut),
        controls="" if ratings.controls is None else ratings.controls.rule,
        named=ratings.rater_known,
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
    return Agreement(
        single=_mean_single(pairs, documents),
        shared=_mean_shared(pairs, documents),
        pairs=pairs,
        raters=tuple(profile(names[rater], given, given.rater == rater) for rater in active),
        scores=tuple(given.value[given.rater == rater] for rater in active),
        lower_is_better=world.frame.lower_is_better,
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
