"""Infer the alphas of all systems together where one metric, with the same rho and eta for all, has rated them.

What is wrong with the estimate of rho and eta is wrong for all systems and mostly cancels in their differences. Given
rho and eta the systems are independent, so all is a mixture over rho and eta.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simlab.analysis.adequacy.joint import ALONG, Counts, given, plane
from simlab.analysis.adequacy.mixtures import below, of_points, quantile, thinned
from simlab.types import Floats


class Rates(NamedTuple):
    """Hold the joint posterior as a mixture: `weight[node]`, rho + eta - 1 there, alphas' `mean`, `variance`.

    Alphas `[system, node]` are independent of each other at a node, and taken as normal there.
    """

    weight: Floats
    youden: Floats
    mean: Floats
    variance: Floats


class Inferred(NamedTuple):
    """Hold what a posterior says of several quantities: mean, standard deviation and the bounds of an interval."""

    mean: Floats
    sd: Floats
    low: Floats
    high: Floats


def shared_rates(systems: Counts, calibration: Floats, constrain: bool) -> Rates:
    """Infer all alphas from the counts of each system, `[system]`, and one `calibration` (TP, P, TN, N)."""
    one_row = [Counts(*(np.reshape(x, 1) for x in counts)) for counts in zip(*systems, strict=True)]
    rho, eta, log_weight = plane(one_row, [np.reshape(x, 1) for x in calibration], constrain)
    known = [given(rho, eta, counts) for counts in one_row]
    log_weight = log_weight + sum(one.log_evidence for one in known)
    weight = np.exp(log_weight - log_weight.max())[0]
    mean, variance = (np.stack([getattr(one, name)[0] for one in known]) for name in ("mean", "variance"))
    return Rates(weight / weight.sum(), (rho + eta - 1)[0], mean, variance)


def alphas(rates: Rates, level: float) -> Inferred:
    """Return what is known of each system's alpha, with equal-tailed intervals inside [0, 1]."""
    inferred = _mixed(rates.weight, rates.mean, rates.variance, level)
    return inferred._replace(low=np.clip(inferred.low, 0, 1), high=np.clip(inferred.high, 0, 1))


def contrasts(rates: Rates, level: float, beside: Floats | float = 0.0) -> tuple[Inferred, Floats]:
    """Return what is known of alpha_i - alpha_j of each pair, and the two-sided p-value that it is 0.

    The p-value is twice the posterior probability of the less likely sign. Where a difference may be off by `beside`
    `[pair]` for another reason, the interval is that much wider on both sides, and the p-value the largest that this
    allows.
    """
    first, second = np.triu_indices(len(rates.mean), 1)
    apart, variance = rates.mean[first] - rates.mean[second], rates.variance[first] + rates.variance[second]
    inferred = _mixed(rates.weight, apart, variance, level)
    weight, apart, variance = thinned(rates.weight, apart, variance)
    toward = np.where(inferred.mean > 0, 1.0, -1.0)[:, None]
    tail = below(np.broadcast_to(beside, len(first)), weight, toward * apart, np.sqrt(variance))
    return inferred._replace(low=inferred.low - beside, high=inferred.high + beside), np.minimum(2 * tail, 1.0)


def youden(rates: Rates, level: float) -> tuple[float, float, float]:
    """Return mean and interval of rho + eta - 1."""
    weight, at = rates.weight.reshape(-1, ALONG).sum(1), rates.youden.reshape(-1, ALONG)[:, 0]
    low, high = (of_points(p, weight, at) for p in (level / 2, 1 - level / 2))
    return float(weight @ at), low, high


def _mixed(weight: Floats, mean: Floats, variance: Floats, level: float) -> Inferred:
    middle = mean @ weight
    sd = np.sqrt((variance + (mean - middle[:, None]) ** 2) @ weight)
    few, at, spread = thinned(weight, mean, np.sqrt(variance))
    bounds = (quantile(p, lambda x: below(x, few, at, spread), len(mean)) for p in (level / 2, 1 - level / 2))
    return Inferred(middle, sd, *bounds)
