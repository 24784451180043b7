"""Infer the alphas of all systems together where one metric, with the same rho and eta for all, has rated them.

What is wrong with the estimate of rho and eta is wrong for all systems and mostly cancels in their differences. Given
rho and eta the systems are independent, so all is a mixture over rho and eta.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simlab.analysis.adequacy.joint import ALONG, Counts, given, plane
from simlab.analysis.adequacy.mixtures import of_points
from simlab.types import Floats


class Rates(NamedTuple):
    """Hold the joint posterior as a mixture: `weight[node]`, rho + eta - 1 there, alphas' `mean`, `variance`.

    Alphas `[system, node]` are independent of each other at a node, and taken as normal there.
    """

    weight: Floats
    youden: Floats
    mean: Floats
    variance: Floats


def shared_rates(systems: Counts, calibration: Floats, constrain: bool) -> Rates:
    """Infer all alphas from the counts of each system, `[system]`, and one `calibration` (TP, P, TN, N)."""
    one_row = [Counts(*(np.reshape(x, 1) for x in counts)) for counts in zip(*systems, strict=True)]
    rho, eta, log_weight = plane(one_row, [np.reshape(x, 1) for x in calibration], constrain)
    known = [given(rho, eta, counts) for counts in one_row]
    log_weight = log_weight + sum(one.log_evidence for one in known)
    weight = np.exp(log_weight - log_weight.max())[0]
    mean, variance = (np.stack([getattr(one, name)[0] for one in known]) for name in ("mean", "variance"))
    return Rates(weight / weight.sum(), (rho + eta - 1)[0], mean, variance)


def youden(rates: Rates, level: float) -> tuple[float, float, float]:
    """Return mean and interval of rho + eta - 1."""
    weight, at = rates.weight.reshape(-1, ALONG).sum(1), rates.youden.reshape(-1, ALONG)[:, 0]
    low, high = (of_points(p, weight, at) for p in (level / 2, 1 - level / 2))
    return float(weight @ at), low, high
