"""Measure how far repeated campaigns agree about the ranking of systems.

Each measure takes the outcomes of a cell (arrays by name, `[campaign, pair]`) and returns an `Estimate`: a value, and
the influence of each world or campaign on it, from which its error follows. By default the same raters rate the same
documents in a repetition; measures named `_new_documents`, `_new_raters` and `_new_study` draw documents, raters or
both anew. Pairs of campaigns are ordered and of one world, so systems are always the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from simlab.measures.errors import claims
from simlab.measures.jackknife import (
    Anew,
    comparable,
    ratio_over_campaigns,
    ratio_over_pairs,
    repetitions,
    unknown_estimate,
)
from simlab.types import NO_TWIN, Estimate, Floats, Ints, Outcomes


class CampaignClaims(NamedTuple):
    """Claims of campaigns on pairs of systems, `[campaign, pair]` (+1, 0, -1), and directions, claimed or not."""

    claim: Floats
    direction: Floats


Kernel = Callable[[CampaignClaims], tuple[Floats, Floats | None]]
"""Judges ordered pairs of campaigns: numerator and denominator `[first, second]` (None: each counts once)."""


def srp(outcomes: Outcomes) -> Estimate:
    """Estimate how often the same raters, asked again about the same documents, confirm all that a study found.

    The stable ranking probability: the share of ordered pairs of comparable campaigns in which every pair of systems
    that is significant in the first has the same strict direction in the second. Raters and documents are held fixed;
    see `srp_new_study` for a repetition by others. Where every campaign has a document set of its own
    (`design.studies_per_document_set=1`), sets are drawn from the same documents and raters are held fixed. A campaign
    without any significant pair is stable by emptiness: read it beside `power`, `significant_share` and
    `srp_given_any`. Source: Riley et al. 2024, section 5.
    """
    return _apply_to_pairs(outcomes, _count_stable)


def srp_new_documents(outcomes: Outcomes) -> Estimate:
    """Estimate SRP between studies of the same raters on other documents: raters are held fixed.

    Undefined (NaN, n = 0) without a second draw of documents (`document_draws`).
    """
    return _apply_to_repetitions(outcomes, "documents", _count_stable)


def srp_new_raters(outcomes: Outcomes) -> Estimate:
    """Estimate SRP between studies of other raters on the same documents: documents are held fixed.

    Other raters are new people in the same seats. Undefined (NaN, n = 0) without a second pool (`pools`), which a
    recorded table never has.
    """
    return _apply_to_repetitions(outcomes, "raters", _count_stable)


def srp_new_study(outcomes: Outcomes) -> Estimate:
    """Estimate SRP between studies of other raters on other documents: what a repetition by others would confirm.

    Undefined (NaN, n = 0) without second pools and draws (`pools`, `document_draws`).
    """
    return _apply_to_repetitions(outcomes, "study", _count_stable)


def confirmed(outcomes: Outcomes) -> Estimate:
    """Estimate the share of a study's significant pairs that have the same strict direction when it is repeated.

    By the same raters on the same documents; the repetition need not find them significant. By chance it is .5, and
    undefined where nothing is significant.
    """
    return _apply_to_pairs(outcomes, _count_confirmed)


def confirmed_new_documents(outcomes: Outcomes) -> Estimate:
    """Estimate `confirmed` between studies of the same raters on other documents."""
    return _apply_to_repetitions(outcomes, "documents", _count_confirmed)


def confirmed_new_raters(outcomes: Outcomes) -> Estimate:
    """Estimate `confirmed` between studies of other raters on the same documents."""
    return _apply_to_repetitions(outcomes, "raters", _count_confirmed)


def confirmed_new_study(outcomes: Outcomes) -> Estimate:
    """Estimate `confirmed` between studies of other raters on other documents."""
    return _apply_to_repetitions(outcomes, "study", _count_confirmed)


def srp_given_any(outcomes: Outcomes) -> Estimate:
    """Estimate SRP over those first campaigns that claimed anything significant at all."""

    def kernel(claims: CampaignClaims) -> tuple[Floats, Floats]:
        claimed = np.repeat(np.abs(claims.claim).max(axis=1, keepdims=True), len(claims.claim), axis=1)
        return _count_stable(claims)[0] * claimed, claimed

    return _apply_to_pairs(outcomes, kernel)


def srp_both_significant(outcomes: Outcomes) -> Estimate:
    """Estimate the stricter SRP that wants every significant pair to be significant again in the same direction."""

    def kernel(claims: CampaignClaims) -> tuple[Floats, None]:
        again = claims.claim @ claims.claim.T
        return (again >= np.abs(claims.claim).sum(1)[:, None]).astype(float), None

    return _apply_to_pairs(outcomes, kernel)


def srp_disjoint(outcomes: Outcomes) -> Estimate:
    """Estimate SRP between each campaign and its twin: the same documents and design, no output shared with a rater.

    Two campaigns that reveal from three recorded ratings share a third of them, which inflates SRP; the
    twins share none. The raters are the same people: this is no `srp_new_raters`. Undefined (NaN, n = 0) where ratings
    are drawn afresh or buckets have too few raters.
    """
    if "twin_direction" not in outcomes:
        return unknown_estimate()
    twin = outcomes["twin_direction"]
    defined = (twin != NO_TWIN).all(1)
    same = outcomes["direction"] == twin
    forth = np.all(same | ~outcomes["significant"].astype(bool), axis=1)
    back = np.all(same | ~outcomes["twin_significant"].astype(bool), axis=1)
    # SRP is over ordered pairs: each of the two campaigns is once the study and once the repetition.
    return ratio_over_campaigns(outcomes, (0.5 * forth + 0.5 * back) * defined, defined)


def kendall(outcomes: Outcomes) -> Estimate:
    """Average Kendall's tau-b between the rankings of comparable campaigns."""

    def kernel(claims: CampaignClaims) -> tuple[Floats, Floats]:
        # Tau-b: pairs that are tied in a ranking leave its part of the denominator.
        untied = np.sqrt(np.abs(claims.direction).sum(1))
        defined = np.outer(untied, untied)
        tau = np.divide(claims.direction @ claims.direction.T, defined, out=np.zeros_like(defined), where=defined > 0)
        return tau, (defined > 0).astype(float)

    return _apply_to_pairs(outcomes, kernel)


def pearson(outcomes: Outcomes) -> Estimate:
    """Average the Pearson correlation between the systems' estimates of comparable campaigns."""
    pairs = []
    for campaigns in comparable(outcomes):
        estimate = outcomes["estimate"][campaigns]
        centred = estimate - estimate.mean(1, keepdims=True)
        length = np.sqrt(np.sum(centred**2, axis=1, keepdims=True))
        unit = np.divide(centred, length, out=np.zeros_like(centred), where=length > 0)
        defined = (length > 0) & (length > 0).T
        pairs.append((campaigns, unit @ unit.T, defined.astype(float)))
    return ratio_over_pairs(outcomes, pairs)


def _count_stable(concluded: CampaignClaims) -> tuple[Floats, None]:
    """Judge all ordered pairs at once: agreements less contradictions must equal the number of significant pairs."""
    agreement = concluded.claim @ concluded.direction.T
    return (agreement >= np.abs(concluded.claim).sum(1)[:, None]).astype(float), None


def _count_confirmed(concluded: CampaignClaims) -> tuple[Floats, Floats]:
    """Count claims of the first campaign, and those among them that the second has in the same direction, untied."""
    claimed = np.abs(concluded.claim)
    # Agreements and contradictions together, and the one less the other.
    judged, balance = claimed @ np.abs(concluded.direction).T, concluded.claim @ concluded.direction.T
    return (judged + balance) / 2, np.repeat(claimed.sum(1, keepdims=True), len(claimed), axis=1)


def _apply_to_pairs(outcomes: Outcomes, kernel: Kernel) -> Estimate:
    """Apply a kernel to each set of comparable campaigns."""
    pairs: list[tuple[Ints, Floats, Floats]] = []
    for campaigns in comparable(outcomes):
        numerator, denominator = kernel(_select_conclusions(outcomes, campaigns))
        pairs.append((campaigns, numerator, np.ones_like(numerator) if denominator is None else denominator))
    return ratio_over_pairs(outcomes, pairs)


def _apply_to_repetitions(outcomes: Outcomes, anew: Anew, kernel: Kernel) -> Estimate:
    """Apply a kernel to each campaign and its repetitions with other raters, other documents, or both."""
    pairs: list[tuple[Ints, Floats, Floats]] = []
    for campaigns, partner in repetitions(outcomes, anew):
        numerator, denominator = kernel(_select_conclusions(outcomes, campaigns))
        counted = partner if denominator is None else np.where(partner, denominator, 0.0)
        pairs.append((campaigns, np.where(partner, numerator, 0.0), counted.astype(float)))
    return ratio_over_pairs(outcomes, pairs) if pairs else unknown_estimate()


def _select_conclusions(outcomes: Outcomes, campaigns: Ints) -> CampaignClaims:
    claim, direction = claims(outcomes)[campaigns], outcomes["direction"][campaigns]
    return CampaignClaims(claim.astype(float), direction.astype(float))
