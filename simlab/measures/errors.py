"""Measure how often campaigns find what is there, miss it, or claim its opposite."""

from __future__ import annotations

import numpy as np

from simlab.formulas import systems_of_pairs
from simlab.measures.jackknife import of_campaign, ratio_over_campaigns, unknown
from simlab.types import Array, Bools, Estimate, Outcomes


def significant_share(outcomes: Outcomes) -> Estimate:
    """Estimate the share of pairs of systems that a campaign declares different."""
    significant = outcomes["significant"]
    return ratio_over_campaigns(outcomes, significant.sum(1), np.full(len(significant), significant.shape[1]))


def power(outcomes: Outcomes) -> Estimate:
    """Estimate the share of truly different pairs that a campaign declares different in the true direction."""
    if "true_direction" not in outcomes:
        return unknown()
    truth = of_campaign(outcomes, "true_direction")
    right = outcomes["significant"].astype(bool) & (outcomes["direction"] == truth) & (truth != 0)
    return ratio_over_campaigns(outcomes, right.sum(1), (truth != 0).sum(1))


def type_s(outcomes: Outcomes) -> Estimate:
    """Estimate the share of significant pairs that point against the truth.

    Source: Gelman and Carlin 2014 (type S = sign). Undefined where nothing is significant.
    """
    if "true_direction" not in outcomes:
        return unknown()
    truth = of_campaign(outcomes, "true_direction")
    significant = outcomes["significant"].astype(bool) & (truth != 0)
    wrong = significant & (outcomes["direction"] == -truth)
    return ratio_over_campaigns(outcomes, wrong.sum(1), significant.sum(1))


def best_system_found(outcomes: Outcomes) -> Estimate:
    """Estimate how often a campaign puts a truly best system first; systems tied for the first place share it."""
    if "true_direction" not in outcomes:
        return unknown()
    first = _unbeaten(outcomes["direction"])
    best = _unbeaten(of_campaign(outcomes, "true_direction"))
    share = (first & best).sum(1) / np.maximum(first.sum(1), 1)
    return ratio_over_campaigns(outcomes, share, np.ones(len(share)))


def _unbeaten(direction: Array) -> Bools:
    """Mark the systems that no other beats: `[campaign, system]` from `direction[campaign, pair]`."""
    n_systems = systems_of_pairs(direction.shape[1])
    first, second = np.triu_indices(n_systems, 1)
    beats = np.zeros((len(direction), n_systems, n_systems), bool)
    beats[:, first, second] = direction > 0
    beats[:, second, first] = direction < 0
    return np.asarray(np.logical_not(np.any(beats, axis=1)))
