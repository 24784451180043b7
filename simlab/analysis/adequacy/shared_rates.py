"""Infer the alphas of systems whose metric has the same rho and eta for all: one joint posterior.

alpha is the share of a system's outputs that are adequate; rho and eta are the probabilities that the metric calls
adequate outputs adequate, and others inadequate; rho + eta - 1 is Youden's index. They are estimated from a calibration
(TP, P, TN, N): of P adequate outputs the metric called TP adequate, of N others TN inadequate. Call `shared_rates`;
`infer_mixtures`, `contrasts` and `youden` then give alphas, differences of pairs, and the index, with intervals.

What is wrong with the estimate of rho and eta is wrong for all systems and mostly cancels in their differences. Given
rho and eta the systems are independent, so all is a mixture over rho and eta.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import betainc, betaincinv, ndtr, ndtri

from simlab.analysis.adequacy.joint import ALONG, AdequacyCounts, integrate_alpha, plane
from simlab.analysis.adequacy.likelihood import legendre
from simlab.types import Floats

NODES = 48
FARTHEST = 4.0
"""Alphas, their differences and rho + eta - 1 lie within -1 and 1; their normal stand-ins hardly leave twice that."""
ROUNDS = 40
NEAR = 1e-7
"""Steps of `quantile` at most, and the distance (normal quantile or bracket) at which it stops."""
TINY = 1e-300
NEGLIGIBLE = 1e-10
"""Weights below this share of the largest, thousands of them together, change no probability that is looked at."""


class SharedRates(NamedTuple):
    """Joint posterior as a mixture over nodes of rho and eta: `weight[node]`, `youden[node]`, alphas' moments.

    Alphas `[system, node]` are independent of each other at a node, and taken as normal there.
    """

    weight: Floats
    youden: Floats
    mean: Floats
    variance: Floats


def shared_rates(systems: AdequacyCounts, calibration: Floats, constrain: bool) -> SharedRates:
    """Infer all alphas from the counts of each system, `[system]`, and one `calibration` (TP, P, TN, N)."""
    one_row = [AdequacyCounts(*(np.reshape(x, 1) for x in counts)) for counts in zip(*systems, strict=True)]
    rho, eta, log_weight = plane(one_row, [np.reshape(x, 1) for x in calibration], constrain)
    known = [integrate_alpha(rho, eta, counts) for counts in one_row]
    log_weight = log_weight + sum(one.log_evidence for one in known)
    weight = np.exp(log_weight - log_weight.max())[0]
    mean, variance = (np.stack([getattr(one, name)[0] for one in known]) for name in ("mean", "variance"))
    return SharedRates(weight / weight.sum(), (rho + eta - 1)[0], mean, variance)


def youden(rates: SharedRates, level: float) -> tuple[float, float, float]:
    """Return mean and bounds of the interval, at 1 - `level`, of rho + eta - 1."""
    # `plane` lays ALONG nodes at each rho + eta, so sums over them are the law of rho + eta alone.
    weight, at = rates.weight.reshape(-1, ALONG).sum(1), rates.youden.reshape(-1, ALONG)[:, 0]
    low, high = (quantile_of_points(p, weight, at) for p in (level / 2, 1 - level / 2))
    return float(weight @ at), low, high


def youden_index(calibration: Floats, constrain: bool, level: float) -> tuple[Floats, Floats, Floats]:
    """Return mean and bounds of rho + eta - 1 `[row]` from `calibration[row, 4]` (TP, P, TN, N), uniform priors.

    `constrain`: rho + eta > 1 is known. The law of the sum is integrated over the quantiles of rho. Rows that share
    their calibration share the computation.
    """
    rows = len(calibration)
    shared = rows > 1 and bool((calibration == calibration[0]).all())
    index = _youden(np.asarray(calibration[:1] if shared else calibration, float).tobytes(), constrain, level)
    mean, low, high = (np.repeat(part, rows if shared else 1) for part in index)
    return mean, low, high


@lru_cache(256)
def _youden(counts: bytes, constrain: bool, level: float) -> tuple[Floats, Floats, Floats]:
    """Work out `youden_index` once for all cells of the same calibrations; `counts` are the bytes of `[row, 4]`."""
    tp, p, tn, n = np.frombuffer(counts).reshape(-1, 4).T
    node, part = legendre(NODES)
    rho = betaincinv(tp[:, None] + 1, (p - tp)[:, None] + 1, node)

    def weight_without_constraint(x: Floats) -> Floats:
        eta = np.clip(x[:, None] + 1 - rho, 0, 1)
        return np.asarray((part * betainc(tn[:, None] + 1, (n - tn)[:, None] + 1, eta)).sum(1))

    worse = weight_without_constraint(np.zeros(len(p))) if constrain else np.zeros(len(p))

    def distribution(x: Floats) -> Floats:
        # Below 0 nothing is left once rho + eta > 1 is known, and what lies above is rescaled to 1.
        return np.asarray(np.maximum(weight_without_constraint(x) - worse, 0.0) / (1 - worse))

    low, high = (quantile(q, distribution, len(p), within=1.0) for q in (level / 2, 1 - level / 2))
    if not constrain:
        return (tp + 1) / (p + 2) + (tn + 1) / (n + 2) - 1, low, high
    # The mean of what lies above 0 is the integral of the probability of being above x.
    above = [1 - distribution(np.full(len(p), x)) for x in node]
    return np.asarray(part @ above), low, high


class Inferred(NamedTuple):
    """Posterior of several quantities: mean, standard deviation and the bounds of an interval."""

    mean: Floats
    sd: Floats
    low: Floats
    high: Floats


def infer_mixtures(weight: Floats, mean: Floats, variance: Floats, level: float) -> Inferred:
    """Sum up mixtures, with `weight[node]`, of normal laws `mean[row, node]`, `variance[row, node]`.

    Intervals are equal-tailed, with probability 1 - `level`.
    """
    middle = mean @ weight
    sd = np.sqrt((variance + (mean - middle[:, None]) ** 2) @ weight)
    few, at, spread = thin_nodes(weight, mean, np.sqrt(variance))
    bounds = (
        quantile(p, lambda x: probability_below_x(x, few, at, spread), len(mean)) for p in (level / 2, 1 - level / 2)
    )
    return Inferred(middle, sd, *bounds)


def contrasts(
    weight: Floats, mean: Floats, variance: Floats, level: float, beside: Floats | float = 0.0
) -> tuple[Inferred, Floats]:
    """Infer the difference of each pair of systems `[system, node]`, independent at a node; return p-values, too.

    Pairs are those of `np.triu_indices`, the difference is first less second.

    A p-value is twice the posterior probability of the less likely sign. Where a difference may be off by `beside`
    `[pair]` for another reason, the interval is that much wider on both sides, and the p-value the largest that this
    allows.
    """
    first, second = np.triu_indices(len(mean), 1)
    weight, mean, variance = thin_nodes(weight, mean, variance)
    apart, spread = mean[first] - mean[second], variance[first] + variance[second]
    posterior = infer_mixtures(weight, apart, spread, level)
    toward = np.where(posterior.mean > 0, 1.0, -1.0)[:, None]
    tail = probability_below_x(np.broadcast_to(beside, len(first)), weight, toward * apart, np.sqrt(spread))
    return posterior._replace(low=posterior.low - beside, high=posterior.high + beside), np.minimum(2 * tail, 1.0)


def thin_nodes(weight: Floats, *others: Floats) -> tuple[Floats, ...]:
    """Drop nodes (the last axis) whose `weight[node]` is negligible; rescale the other weights to a sum of one."""
    kept = weight > NEGLIGIBLE * weight.max()
    return weight[kept] / weight[kept].sum(), *(other[..., kept] for other in others)


def probability_below_x(x: Floats, weight: Floats, mean: Floats, sd: Floats) -> Floats:
    """Return the probability of being below `x[row]` under normal laws `mean[row, node]`, `sd[row, node]`."""
    return np.asarray((weight * ndtr((x[:, None] - mean) / np.maximum(sd, TINY))).sum(-1))


def quantile(p: float, distribution: Callable[[Floats], Floats], rows: int, within: float = FARTHEST) -> Floats:
    """Find where each row's increasing `distribution(x[row])` passes p, between -within and within.

    The Illinois variant of the secant method, on the scale of a normal law's quantiles, where mixtures are almost
    straight; every third step halves the bracket, so that it always ends.
    """
    wanted = float(ndtri(p))

    def distance_from_target(x: Floats) -> Floats:
        # Infinite quantiles at 0 and 1 would make the secant NaN.
        return np.asarray(ndtri(np.clip(distribution(x), 1e-16, 1 - 1e-16)) - wanted)

    low: Floats = np.full(rows, -within)
    high: Floats = np.full(rows, within)
    middle = low
    at_low, at_high = distance_from_target(low), distance_from_target(high)
    for step in range(ROUNDS):
        secant = high - at_high * (high - low) / np.where(at_high > at_low, at_high - at_low, 1.0)
        middle = np.where((step % 3 == 2) | (at_high <= at_low), (low + high) / 2, np.clip(secant, low, high))
        there = distance_from_target(middle)
        above = there >= 0
        at_low, at_high = np.where(above, at_low / 2, there), np.where(above, there, at_high / 2)
        low, high = np.where(above, low, middle), np.where(above, middle, high)
        if np.all((np.abs(there) < NEAR) | (high - low < NEAR)):
            break
    return middle


def quantile_of_points(p: float, weight: Floats, at: Floats) -> float:
    """Return the p-quantile of weighted points `at[node]`, between two points a straight line."""
    order = np.argsort(at, kind="stable")
    share = weight[order] / weight.sum()
    # Half of a point's mass lies on either side of it, so that quantiles mirror when the order is turned round.
    return float(np.interp(p, np.cumsum(share) - share / 2, at[order]))
