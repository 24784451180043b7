"""Test pairs of systems by flipping whole raters: if two systems are equal, a rater might as well prefer the other.

`rater_flips` returns p-values per pair, `compare_by_flips` the statistics under all patterns of flips.
"""

from __future__ import annotations

import numpy as np

from simlab.analysis import signs
from simlab.analysis.multiplicity import FlipFamily
from simlab.analysis.raters.contributions import Sides, differs_beyond_rounding, gather_by_label, lay_out_by_pair
from simlab.types import Floats, ScoredRatings
from simlab.types.bounds import Count

ROUNDING = 1e-9
"""Statistics lie between 0 and the root of the number of raters; those this close count as equal."""


def rater_flips(rng: np.random.Generator, rated: ScoredRatings, *, flips: Count) -> Floats:
    """Flip the sign of all that a rater contributes to a difference, rater by rater.

    All 2^(raters - 1) patterns (a pattern and its opposite are one) are enumerated when they are at most `flips`; else
    p = (1 + b) / (1 + B). The least p-value is 2^(1 - raters): below 6 raters nothing is significant at .05.
    Contributions are those left when each rater's own level is taken out; side by side that changes nothing, elsewhere
    a harsh rater who saw more of one system would count as a taste. A difference of the other sign than that of the
    means is none: p = 1. Source: Canay, Romano and Shaikh 2017.
    """
    family = compare_by_flips(rng, rated, flips=flips)
    return family.p_values()


def compare_by_flips(rng: np.random.Generator, rated: ScoredRatings, *, flips: int) -> FlipFamily:
    """Return the statistic of each pair as it is, and under each pattern: `|sum u| / sqrt(sum u^2)`, u by rater.

    Student's t is a growing function of it, the same for all pairs, and its denominator is the same for all patterns.
    """
    sides = lay_out_by_pair(rated)
    each = rater_contributions(rated, sides)
    length = np.sqrt(np.einsum("rp,rp->p", each, each))
    total, gap = each.sum(0), _gap(sides)
    each = np.divide(each, length, out=np.zeros_like(each), where=length > 0)
    counts = (
        differs_beyond_rounding(rated, gap) & differs_beyond_rounding(rated, length) & (np.sign(total) == np.sign(gap))
    )
    exact = len(each) < 63 and 2 ** (len(each) - 1) <= flips
    pattern = signs.list_half_patterns(len(each)) if exact else signs.draw_sign_patterns(rng, flips, len(each))
    observed = np.where(counts, np.abs(each.sum(0)), 0.0)
    return FlipFamily(observed, np.abs(pattern @ each), exact, ROUNDING)


def rater_contributions(rated: ScoredRatings, sides: Sides) -> Floats:
    """Return each rater's contribution to differences, the rater's own level taken out, `[rater, pair]`.

    A rating enters less the rater's own level and the mean of the two systems.
    """
    share, part = (gather_by_label(values, sides.rater) for values in (sides.share, sides.part))
    # If systems are equal both sides have the same mean, for which the middle of the two stands.
    explained = levels(rated)[np.unique(sides.rater)][:, None] + sides.mean.mean(0)
    centred = part - share * explained
    return np.asarray(centred[0] - centred[1])


def _gap(sides: Sides) -> Floats:
    return np.asarray(sides.mean[0] - sides.mean[1])


def levels(rated: ScoredRatings) -> Floats:
    """Return how much each rater's ratings lie above those of others on the same systems, `[rater]`."""
    weight = np.bincount(rated.system, weights=rated.share, minlength=rated.n_systems)
    score = np.bincount(rated.system, weights=rated.share * rated.value, minlength=rated.n_systems)
    mean = np.divide(score, weight, out=np.zeros_like(score), where=weight > 0)
    above = rated.share * (rated.value - mean[rated.system])
    load = np.bincount(rated.rater, weights=rated.share)
    return np.asarray(np.bincount(rated.rater, weights=above) / np.where(load > 0, load, 1.0))
