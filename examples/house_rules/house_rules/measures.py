"""Measure what the house cares about."""

from __future__ import annotations

import numpy as np

from simlab.measures.jackknife import comparable, ratio_over_pairs
from simlab.types import Estimate, Outcomes


def same_winner(outcomes: Outcomes, *, lower_is_better: bool) -> Estimate:
    """Estimate how often two comparable campaigns put the same system first."""
    sign = -1 if lower_is_better else 1
    pairs = []
    for campaigns in comparable(outcomes):
        first = (sign * outcomes["estimate"][campaigns]).argmax(1)
        same = np.equal.outer(first, first).astype(float)
        pairs.append((campaigns, same, np.ones_like(same)))
    return ratio_over_pairs(outcomes, pairs)
