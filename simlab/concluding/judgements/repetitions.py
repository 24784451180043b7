"""Simulate a study of judgements again: `repetition` repeats its claims, `control` counts claims about equal systems.

In both functions `systems` are the numbers of those that humans rated, and `places` the first and the second system of
each pair, as places among them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simlab.analysis.means import document_pairs
from simlab.analysis.means.document_pairs import MeanInfluence, Segments
from simlab.analysis.means.documents import Totals
from simlab.answers.conclude import Control, RepeatedShares, Repetition
from simlab.answers.standings import UNKNOWN, Interval, Pair
from simlab.concluding.judgements.gathering import OutputEvidence
from simlab.effort import current_effort
from simlab.fitting.predictions import widen_by_chance
from simlab.rng import stream
from simlab.types import Bools, Floats, Ints

WORLD = "documents of this table drawn again whole, the ratings of each system moved to one mean"
WORLDS = 400
TRUE = "true means normal about a common one, given this table; documents bring what they brought here"


def control(
    evidence: OutputEvidence,
    systems: Ints,
    of: Totals,
    places: tuple[Ints, Ints],
    *,
    corrected: bool,
    level: float,
    seed: int,
) -> Control:
    """Simulate studies like this one on equal systems; return the shares that claim some pair, and that t tests do.

    `of` are sums by document; `corrected`: means are corrected by the metric in them.
    """
    studies = document_pairs.count_affordable_studies(of, len(places[0]), current_effort().equal_studies)
    claims, documents = document_pairs.some_claims(
        stream(seed, "conclude", "control"), of, places, corrected=corrected, level=level, studies=studies
    )
    naive = document_pairs.decide_without_documents(_segments(evidence, systems, places), documents, level)
    promised, plain = float(claims.mean()), float(naive.mean())
    return Control(
        studies=studies,
        some_claim=promised,
        some_claim_mcse=_mcse(promised, studies),
        promised=level,
        uncorrected=plain,
        uncorrected_mcse=_mcse(plain, studies),
        world=WORLD,
    )


def repetition(
    evidence: OutputEvidence,
    systems: Ints,
    of: MeanInfluence,
    places: tuple[Ints, Ints],
    pairs: Sequence[Pair],
    seed: int,
) -> Repetition | None:
    """Estimate how likely all claims are found again: on the same documents and on others, by the same raters.

    `of` are the means, `pairs` the records of pairs in the conclusion. None where nothing was claimed.
    """
    claimed = np.array([pair.verdict != 0 for pair in pairs])
    if not claimed.any():
        return None
    gap = np.array([np.sign(pair.difference) for pair in pairs])
    claims = places[0][claimed], places[1][claimed], gap[claimed]
    # A difference as uncertain as this one is claimed where it is as large as its bounds are wide.
    bar = np.array([(pair.high - pair.low) / 2 for pair in pairs])[claimed]
    rng, same = stream(seed, "conclude", "repetition"), (UNKNOWN, UNKNOWN)
    if evidence.noise is not None:
        same = _widen_shares(document_pairs.confirmation_probabilities(rng, of, claims, bar, _noise(evidence, systems)))
    other = _widen_shares(document_pairs.confirmation_probabilities(rng, of, claims, bar))
    sign, anew = (RepeatedShares.build(*one) for one in zip(same, other, strict=True))
    unknown = dict.fromkeys(("new_raters", "new_study"), "raters of judgements are taken as given")
    if evidence.noise is None:
        unknown["same"] = "no output was judged twice, so that what the same raters would say anew is not known"
    return Repetition(same_sign=sign, claimed_again=anew, studies=WORLDS * 400, world=TRUE, unknown=unknown)


def _widen_shares(shares: tuple[document_pairs.Confirmed, document_pairs.Confirmed]) -> tuple[Interval, Interval]:
    sign, claim = (Interval.build(share.value, *widen_by_chance(*share, WORLDS)) for share in shares)
    return sign, claim


def _mcse(share: float, n: int) -> float:
    """Return the error of a share; where none, or all, are counted that of a share of one more."""
    inside = min(max(share, 1 / (n + 2)), 1 - 1 / (n + 2))
    return float(np.sqrt(inside * (1 - inside) / n))


def _noise(evidence: OutputEvidence, systems: Ints) -> Floats:
    """Return the variance of each system's mean over what the same raters might have said of the same outputs."""
    rated = evidence.rated
    noise = np.zeros(len(rated)) if evidence.noise is None else evidence.noise
    width = len(evidence.system_names)
    n = np.bincount(evidence.system[rated], minlength=width)
    # The variance of a mean of n outputs is the sum of their variances over the square of n.
    return np.asarray((np.bincount(evidence.system[rated], noise[rated], width) / np.maximum(n, 1) ** 2)[systems])


def _segments(evidence: OutputEvidence, systems: Ints, places: tuple[Ints, Ints]) -> Segments:
    """Sum up differences of single outputs of the same item, systems moved to one mean."""
    laid, document = _lay_out_by_item(evidence, systems)
    # Equal means make the null true in the table's own scores, with their scatter and skewness.
    laid = laid - np.nanmean(laid, 1, keepdims=True)
    shape = evidence.n_documents, len(places[0])
    sums = Segments(np.zeros(shape), np.zeros(shape), np.zeros(shape))
    for pair, (i, j) in enumerate(zip(*(place.tolist() for place in places), strict=True)):
        gap = laid[i] - laid[j]
        both: Bools = np.isfinite(gap)
        at, gap = document[both], gap[both]
        for into, weight in zip(sums, (None, gap, gap**2), strict=True):
            into[:, pair] = np.bincount(at, weight, evidence.n_documents)
    return sums


def _lay_out_by_item(evidence: OutputEvidence, systems: Ints) -> tuple[Floats, Ints]:
    """Lay ratings out as `[system, item]`, and say each item's document."""
    n_items = int(evidence.item.max()) + 1
    laid = np.full((len(evidence.system_names), n_items), np.nan)
    laid[evidence.system, evidence.item] = evidence.human
    document = np.zeros(n_items, np.int64)
    document[evidence.item] = evidence.document
    return laid[systems], document
