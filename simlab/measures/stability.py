"""Measure how far repeated campaigns agree about the ranking of systems."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from simlab.measures.jackknife import comparable, ratio_over_campaigns, ratio_over_pairs, unknown
from simlab.types import NO_TWIN, Estimate, Floats, Ints, Outcomes


def srp(outcomes: Outcomes) -> Estimate:
    """Estimate the stable ranking probability.

    The share of ordered pairs of comparable campaigns in which every pair of systems that is significant in the
    first has the same strict direction in the second. A campaign without any significant pair is stable by
    emptiness: read it beside `significant_share` and `srp_given_any`. Source: Riley et al. 2024, section 5.
    """
    return _over_pairs(outcomes, lambda significant, direction: (_stable(significant, direction), None))


def srp_given_any(outcomes: Outcomes) -> Estimate:
    """Estimate SRP over those first campaigns that claimed anything significant at all."""

    def kernel(significant: Floats, direction: Floats) -> tuple[Floats, Floats]:
        claimed = np.repeat(significant.max(axis=1, keepdims=True), len(significant), axis=1)
        return _stable(significant, direction) * claimed, claimed

    return _over_pairs(outcomes, kernel)


def srp_both_significant(outcomes: Outcomes) -> Estimate:
    """Estimate the stricter SRP that wants every significant pair to be significant again in the same direction."""

    def kernel(significant: Floats, direction: Floats) -> tuple[Floats, None]:
        signed = significant * direction
        again = signed @ signed.T
        return (again >= significant.sum(1)[:, None]).astype(float), None

    return _over_pairs(outcomes, kernel)


def srp_disjoint(outcomes: Outcomes) -> Estimate:
    """Estimate SRP between each campaign and its twin: the same documents and design, no output shared with a rater.

    Two campaigns that reveal from three recorded ratings share a third of them, which inflates SRP; the
    twins share none. Undefined (NaN, n = 0) where ratings are drawn afresh or buckets have too few raters.
    """
    if "twin_direction" not in outcomes:
        return unknown()
    twin = outcomes["twin_direction"]
    defined = (twin != NO_TWIN).all(1)
    same = outcomes["direction"] == twin
    forth = np.all(same | ~outcomes["significant"].astype(bool), axis=1)
    back = np.all(same | ~outcomes["twin_significant"].astype(bool), axis=1)
    return ratio_over_campaigns(outcomes, (0.5 * forth + 0.5 * back) * defined, defined)


def kendall(outcomes: Outcomes) -> Estimate:
    """Average Kendall's tau-b between the rankings of comparable campaigns."""

    def kernel(significant: Floats, direction: Floats) -> tuple[Floats, Floats]:
        untied = np.sqrt(np.abs(direction).sum(1))
        defined = np.outer(untied, untied)
        tau = np.divide(direction @ direction.T, defined, out=np.zeros_like(defined), where=defined > 0)
        return tau, (defined > 0).astype(float)

    return _over_pairs(outcomes, kernel)


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


def _stable(significant: Floats, direction: Floats) -> Floats:
    """Judge all ordered pairs at once: agreements less contradictions must equal the number of significant pairs."""
    agreement = (significant * direction) @ direction.T
    stable: Floats = (agreement >= significant.sum(1)[:, None]).astype(float)
    return stable


def _over_pairs(outcomes: Outcomes, kernel: Callable[[Floats, Floats], tuple[Floats, Floats | None]]) -> Estimate:
    """Apply a kernel to the significance and direction of each set of comparable campaigns."""
    pairs: list[tuple[Ints, Floats, Floats]] = []
    for campaigns in comparable(outcomes):
        significant = outcomes["significant"][campaigns].astype(float)
        numerator, denominator = kernel(significant, outcomes["direction"][campaigns].astype(float))
        pairs.append((campaigns, numerator, np.ones_like(numerator) if denominator is None else denominator))
    return ratio_over_pairs(outcomes, pairs)
