"""Infer alphas where a metric's rho and eta differ between systems, but are alike: partial pooling.

`logit rho_s ~ N(m_r, t_r^2)`, `logit eta_s ~ N(m_e, t_e^2)`; the mean rates are uniform a priori, t_r and t_e
half-normal(SPREAD). With t = 0 the rates are shared, with large t each system has its own.

Everything is a sum over grids, no chain: given (m, t) systems are independent, and what one system's ratings say of
(logit rho, logit eta) is one matrix. The law of a system's rates is a product of two normal kernels, so its evidence at
all (m_r, t_r) x (m_e, t_e) is a product of three matrices, and so are its posterior moments there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit, log_expit, logit, ndtri

from simlab.analysis.adequacy.joint import Counts, given, rough
from simlab.analysis.adequacy.nodes import legendre
from simlab.types import Bools, Floats, Ints

SPREAD = 0.5
"""Scale of the half-normal prior of t."""

STEP = 0.125
"""Of the grids of logits. A sum over a normal kernel is right to 1e-4 from a standard deviation of .65 steps on; m lies
on the same grid, so that with less spread a kernel becomes a single node: shared rates."""

SPREADS = 7
BEYOND, OWN_BEYOND, FARTHEST = 1.5, 2.5, 9.0
DROPPED = 25.0
"""Nodes whose log-density is roughly that much below the highest say nothing."""

BLOCK = 256

POINTS = 1500
"""Hyperparameters, evenly spaced in their posterior probability, that stand for all."""


class _Axis(NamedTuple):
    """Hold the grid of a rate's logit, and the law of a system's logit there.

    `kernel[hyper, node]` is the probability of a node given a mean and a spread, `prior[hyper]` that of these.
    """

    at: Floats
    kernel: Floats
    prior: Floats


class Own(NamedTuple):
    """Hold a system's posterior as a mixture over its rates: weight, rho + eta - 1, and alpha's moments `[node]`."""

    weight: Floats
    youden: Floats
    mean: Floats
    variance: Floats


class Partial(NamedTuple):
    """Hold the posterior: at hyperparameters `[node]` of equal weight the systems are independent of each other.

    `mean[system, node]`, `variance[system, node]` are those of alpha there; `own[system]` the posterior of a system's
    rates, a mixture of what follows from each node of their grid.
    """

    mean: Floats
    variance: Floats
    own: list[Own]


class _Seen(NamedTuple):
    """Hold what a system's ratings say at each node `[rho, eta]`: evidence, and alpha's moments given the rates."""

    evidence: Floats
    mean: Floats
    variance: Floats


def partial_rates(systems: Counts, calibration: Floats, constrain: bool) -> Partial:
    """Infer all alphas from the counts of each system `[system]` and its own `calibration[system, 4]`."""
    tp, p, tn, n = calibration.T
    first, second = _axis(tp, p), _axis(tn, n)
    allowed = (first.at[:, None] + second.at > 0) | (not constrain)
    seen = [
        _seen(first.at, second.at, Counts(*(np.reshape(x, 1) for x in counts)), own, allowed)
        for *counts, own in zip(*systems, calibration, strict=True)
    ]
    possible = first.kernel @ allowed @ second.kernel.T
    moments = [_moments(first, second, one, possible) for one in seen]
    log_weight = np.log(first.prior)[:, None] + np.log(second.prior)
    log_weight = log_weight + sum(np.log(np.maximum(one.evidence, 1e-300)) for one in moments)
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    some = _representatives(weight.ravel())
    mean, variance = (np.stack([getattr(one, name).ravel()[some] for one in moments]) for name in _Seen._fields[1:])
    own = [
        _own(first, second, one, weight / np.maximum(at.evidence * possible, 1e-300))
        for one, at in zip(seen, moments, strict=True)
    ]
    return Partial(mean, variance, own)


def _axis(right: Floats, of: Floats) -> _Axis:
    """Lay the grid of a rate's logit around what all calibrations together say, wide enough for what they leave open.

    Spreads are the quantiles of their prior at the nodes of a Gauss-Legendre rule.
    """
    successes, failures = right.sum() + 1, (of - right).sum() + 1
    middle, reach = float(logit(successes / (successes + failures))), 4 * np.sqrt(1 / successes + 1 / failures) + BEYOND
    at = STEP * np.arange(
        np.floor(max(middle - reach - OWN_BEYOND, -FARTHEST) / STEP),
        np.ceil(min(middle + reach + OWN_BEYOND, FARTHEST) / STEP) + 1,
    )
    mean = at[np.abs(at - middle) <= reach]
    node, part = legendre(SPREADS)
    spread = SPREAD * ndtri((1 + node) / 2)
    z = (at - mean[:, None]) / spread[:, None, None]
    kernel = np.exp(-z * z / 2).reshape(-1, len(at))
    # The mean rate is uniform: its logit has the logistic density.
    prior = part[:, None] * np.exp(log_expit(mean) + log_expit(-mean))
    return _Axis(at, kernel / kernel.sum(1, keepdims=True), prior.ravel())


def _seen(first: Floats, second: Floats, counts: Counts, calibration: Floats, allowed: Bools) -> _Seen:
    """Integrate over alpha at each node that neither the calibration nor, roughly, the ratings rule out."""
    tp, p, tn, n = calibration
    log_density = (tp * log_expit(first) + (p - tp) * log_expit(-first))[:, None]
    log_density = log_density + tn * log_expit(second) + (n - tn) * log_expit(-second)
    rho, eta = np.broadcast_arrays(expit(first)[:, None], expit(second))
    ridge = log_density + rough((rho + 1 - eta) / 2, rho + eta - 1, np.full(1, 0.5), counts)
    where = np.nonzero(allowed & (ridge > ridge[allowed].max() - DROPPED))
    log_evidence, alpha, spread = _given(rho[where], eta[where], counts)
    log_evidence += log_density[where]
    evidence, mean, variance = np.zeros_like(rho), np.full_like(rho, 0.5), np.zeros_like(rho)
    evidence[where] = np.exp(log_evidence - log_evidence.max())
    mean[where], variance[where] = alpha, spread
    return _Seen(evidence, mean, variance)


def _given(rho: Floats, eta: Floats, counts: Counts) -> Floats:
    """Return log-evidence, mean and variance of alpha `[3, node]`, a few nodes at a time: they fit into the cache."""
    found = np.empty((3, len(rho)))
    for start in range(0, len(rho), BLOCK):
        some = slice(start, start + BLOCK)
        known = given(rho[None, some], eta[None, some], counts)
        found[:, some] = known.log_evidence[0], known.mean[0], known.variance[0]
    return found


def _moments(first: _Axis, second: _Axis, seen: _Seen, possible: Floats) -> _Seen:
    """Return a system's evidence, and its alpha's moments, at all hyperparameters `[hyper of rho, hyper of eta]`."""
    terms = [seen.evidence, seen.evidence * seen.mean, seen.evidence * (seen.variance + seen.mean**2)]
    evidence, mean, square = (first.kernel @ term @ second.kernel.T for term in terms)
    least = np.maximum(evidence, 1e-300)
    mean = mean / least
    return _Seen(evidence / possible, mean, np.maximum(square / least - mean**2, 0.0))


def _own(first: _Axis, second: _Axis, seen: _Seen, pull: Floats) -> Own:
    """Return a system's posterior over its own rates: its evidence times what all hyperparameters say of them."""
    weight = seen.evidence * (first.kernel.T @ pull @ second.kernel)
    kept = weight > 1e-9 * weight.max()
    youden = (expit(first.at)[:, None] + expit(second.at) - 1)[kept]
    return Own(weight[kept] / weight[kept].sum(), youden, seen.mean[kept], seen.variance[kept])


def _representatives(weight: Floats) -> Ints:
    """Choose nodes at evenly spaced quantiles of a posterior that is laid out along its grid."""
    return np.asarray(np.searchsorted(np.cumsum(weight), (np.arange(POINTS) + 0.5) / POINTS))
