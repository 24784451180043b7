"""Measure how often campaigns find true differences of systems, miss them, or make false claims.

They are for studies of every kind. Each measure takes the outcomes of a cell (arrays by name, `[campaign, ...]`; truths
are `[world, ...]`) and returns an `Estimate`: a value, and the influence of each world or campaign on it, from which
its error follows.
"""

from __future__ import annotations

import numpy as np

from simlab.formulas import systems_of_pairs
from simlab.measures.jackknife import mark_successes, ratio_over_campaigns, repeat_by_campaign, unknown_estimate
from simlab.types import Array, Bools, Estimate, Outcomes


def significant_share(outcomes: Outcomes) -> Estimate:
    """Estimate the share of pairs of systems that a campaign declares different."""
    claimed = claims(outcomes) != 0
    return ratio_over_campaigns(outcomes, claimed.sum(1), np.full(len(claimed), claimed.shape[1]))


def power(outcomes: Outcomes) -> Estimate:
    """Estimate the share of truly different pairs that a campaign declares different in the true direction."""
    if "true_direction" not in outcomes:
        return unknown_estimate()
    truth = repeat_by_campaign(outcomes, "true_direction")
    right = (claims(outcomes) == truth) & (truth != 0)
    return ratio_over_campaigns(outcomes, right.sum(1), (truth != 0).sum(1))


def type_s(outcomes: Outcomes) -> Estimate:
    """Estimate the share of significant pairs that point against the truth, of those that truly differ.

    Source: Gelman and Carlin 2014 (type S = sign). Undefined where nothing is significant.
    """
    if "true_direction" not in outcomes:
        return unknown_estimate()
    truth, claim = repeat_by_campaign(outcomes, "true_direction"), claims(outcomes)
    claimed = (claim != 0) & (truth != 0)
    wrong = claimed & (claim == -truth)
    return ratio_over_campaigns(outcomes, wrong.sum(1), claimed.sum(1))


def false_positive(outcomes: Outcomes) -> Estimate:
    """Estimate how often a truly equal pair is declared different, of the truly equal pairs.

    With no equal pair in any campaign that was carried out there is nothing to be wrong about: NaN with n = 0, not 0.
    """
    if "true_direction" not in outcomes:
        return unknown_estimate()
    equal = repeat_by_campaign(outcomes, "true_direction") == 0
    if not equal[mark_successes(outcomes)].any():
        return unknown_estimate()
    return ratio_over_campaigns(outcomes, (equal & (claims(outcomes) != 0)).sum(1), equal.sum(1))


def family_wise_error(outcomes: Outcomes) -> Estimate:
    """Estimate how often a campaign claims anything false: an equal pair told apart, or a pair inverted."""
    if "true_direction" not in outcomes:
        return unknown_estimate()
    wrong = _has_wrong_claim(outcomes)
    return ratio_over_campaigns(outcomes, wrong, np.ones(len(wrong)))


def no_wrong_claim(outcomes: Outcomes) -> Estimate:
    """Estimate how often all that a campaign claims is true: no pair significant that is equal or opposite in truth.

    `1 - family_wise_error`. A campaign that claims nothing makes no wrong claim: read it beside `power`.
    """
    if "true_direction" not in outcomes:
        return unknown_estimate()
    wrong = _has_wrong_claim(outcomes)
    return ratio_over_campaigns(outcomes, ~wrong, np.ones(len(wrong)))


def best_system_found(outcomes: Outcomes) -> Estimate:
    """Estimate how often a campaign puts a truly best system first; systems tied for the first place share it.

    Where all systems are truly equal none is the best, and such a world counts for nothing.
    """
    if "true_direction" not in outcomes:
        return unknown_estimate()
    first, truth = _mark_unbeaten(outcomes["direction"]), repeat_by_campaign(outcomes, "true_direction")
    there = (truth != 0).any(1)
    # Directions may go round in a circle, and then nobody is unbeaten.
    share = (first & _mark_unbeaten(truth)).sum(1) / np.maximum(first.sum(1), 1)
    return ratio_over_campaigns(outcomes, np.where(there, share, 0.0), there.astype(float))


def _has_wrong_claim(outcomes: Outcomes) -> Bools:
    """Mark the campaigns with a claim that is not true."""
    claim = claims(outcomes)
    return np.asarray(((claim != 0) & (claim != repeat_by_campaign(outcomes, "true_direction"))).any(axis=1))


def _mark_unbeaten(direction: Array) -> Bools:
    """Mark the systems that no other beats: `[campaign, system]` from `direction[campaign, pair]`."""
    n_systems = systems_of_pairs(direction.shape[1])
    first, second = np.triu_indices(n_systems, 1)
    beats = np.zeros((len(direction), n_systems, n_systems), bool)
    beats[:, first, second] = direction > 0
    beats[:, second, first] = direction < 0
    return np.asarray(np.logical_not(np.any(beats, axis=1)))


def claims(outcomes: Outcomes) -> Array:
    """Return `[campaign, pair]`: +1 the first system is called better, -1 the second, 0 neither.

    Studies of preferences say so in `verdict`; others call a pair different where it is `significant`, in its
    `direction`. Raises KeyError, naming the outcome, where a kind of study concludes neither.

    >>> claims({"significant": np.array([[True, False]]), "direction": np.array([[-1, 1]])}).tolist()
    [[-1, 0]]
    """
    if "verdict" in outcomes:
        return outcomes["verdict"]
    return np.where(outcomes["significant"].astype(bool), outcomes["direction"], np.int8(0))
