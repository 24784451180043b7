"""Measure how often campaigns find true differences of a size: of at least `smallest`, or of exactly `smallest`.

Both measures take the outcomes of a cell (arrays by name, `[campaign, ...]`) and return an `Estimate`: a value, and the
influence of each world or campaign on it, from which its error follows.
"""

from __future__ import annotations

import numpy as np

from simlab.formulas import systems_of_pairs
from simlab.measures.errors import claims
from simlab.measures.jackknife import (
    clusters,
    mark_successes,
    ratio_from_sums,
    ratio_over_campaigns,
    repeat_by_campaign,
    unknown_estimate,
)
from simlab.types import Estimate, Floats, Outcomes


def power_from(outcomes: Outcomes, *, smallest: float) -> Estimate:
    """Estimate the share of the pairs that truly differ by `smallest` or more which are declared different, rightly.

    `smallest` is in the unit of the systems' truth. Undefined where no two systems differ by so much.
    """
    if "true_value" not in outcomes:
        return unknown_estimate()
    large = _true_differences(outcomes) >= smallest
    return ratio_over_campaigns(outcomes, (large * _mark_found(outcomes)).sum(1), large.sum(1))


def power_at(outcomes: Outcomes, *, smallest: float, within: float) -> Estimate:
    """Estimate the share of pairs found that truly differ by exactly `smallest`, from pairs that nearly do.

    A line is fitted to what was found, by the logarithm of the true difference, with weights that fall from 1 at
    `smallest` to 0 at `within` times as much and as little; its value at `smallest` is the estimate (local linear
    regression; Fan and Gijbels 1996, ch. 3). Undefined unless pairs lie on both sides. The error is the jackknife's.
    """
    if "true_value" not in outcomes:
        return unknown_estimate()
    with np.errstate(divide="ignore"):
        distance = np.log(_true_differences(outcomes) / smallest) / np.log(within)
    weight = np.maximum(0.0, 1.0 - np.abs(distance)) * mark_successes(outcomes)[:, None]
    near = weight > 0
    if not (near & (distance <= 0)).any() or not (near & (distance >= 0)).any():
        return unknown_estimate()
    x, found_pairs = np.where(near, distance, 0.0), _mark_found(outcomes)
    group = clusters(outcomes)
    # Sums of weights times x^0, x^1, x^2, and of these times what was found, cluster by cluster.
    parts = [weight, weight * x, weight * x**2, weight * found_pairs, weight * x * found_pairs]
    sums = np.array([np.bincount(group.label, term.sum(1), group.n) for term in parts])
    whole = sums.sum(1)
    top, below = _line_at_zero(np.column_stack([whole, whole[:, None] - sums]))
    return ratio_from_sums(top[0], below[0], top[1:], below[1:], group.cluster, int(near.any(1).sum()))


def _line_at_zero(sums: Floats) -> tuple[Floats, Floats]:
    """Return numerator and denominator of a fitted line's value at 0, from the five sums of `power_at`, `[5, ...]`."""
    s0, s1, s2, t0, t1 = sums
    # These are the normal equations of weighted least squares, solved for the constant.
    return s2 * t0 - s1 * t1, s2 * s0 - s1**2


def _true_differences(outcomes: Outcomes) -> Floats:
    """Return how far apart the systems of each pair truly are: `[campaign, pair]`, in the unit of their truth."""
    truth = repeat_by_campaign(outcomes, "true_value")
    first, second = np.triu_indices(systems_of_pairs(outcomes["true_direction"].shape[1]), 1)
    return np.asarray(np.abs(truth[:, first] - truth[:, second]))


def _mark_found(outcomes: Outcomes) -> Floats:
    direction = repeat_by_campaign(outcomes, "true_direction")
    return np.asarray((claims(outcomes) == direction) & (direction != 0), float)
