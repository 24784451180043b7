"""Infer alphas where a metric's rho and eta differ between systems, but are alike: partial pooling.

alpha is the share of a system's outputs that are adequate; rho and eta are the probabilities that the metric calls
adequate outputs adequate, and others inadequate. `partial_rates` takes counts of ratings and a calibration per system
(TP of P adequate outputs called adequate, TN of N others called inadequate) and returns the joint posterior.

`logit rho_s ~ N(m_r, t_r^2)`, `logit eta_s ~ N(m_e, t_e^2)`; the mean rates are uniform a priori, t_r and t_e
half-normal(SPREAD). With t = 0 the rates are shared, with large t each system has its own.

Everything is a sum over grids, no chain: given (m, t) systems are independent, and what one system's ratings say of
(logit rho, logit eta) is one matrix. The law of a system's rates is a product of two normal kernels, so its evidence at
all (m_r, t_r) x (m_e, t_e) is a product of three matrices, and so are its posterior moments there.

With `slopes` (b_r, b_e) the logits of rho and eta are those of the grid plus b times `logit(alpha) - centre`: a metric
that cuts a score calls more adequate outputs adequate in a system whose outputs are good (spectrum effect). The
calibration then tells of alpha, too.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv, expit, log_expit, logit, ndtri

from simlab.analysis.adequacy.joint import AdequacyCounts, integrate_alpha, rough_evidence
from simlab.analysis.adequacy.likelihood import legendre
from simlab.types import Bools, Floats, Ints

SPREAD = 0.5
"""Scale of the half-normal prior of t."""
STEP = 0.125
"""Of the grids of logits. A sum over a normal kernel is right to 1e-4 from a standard deviation of .65 steps on; m lies
on the same grid, so that with less spread a kernel becomes a single node: shared rates."""
SPREADS = 7
"""Nodes over t, the spread of logits between systems."""
# In logits: room around the mean rate, more around a system's own (five prior SPREADs), and at most 9, a rate of .9999.
BEYOND, OWN_BEYOND, FARTHEST = 1.5, 2.5, 9.0
TINY = 1e-300
POINTS = 1500
"""Hyperparameters, evenly spaced in their posterior probability, that stand for all."""
DROPPED = 25.0
"""Nodes whose log-density is roughly that much below the highest say nothing."""
BLOCK = 256
FEWEST, MOST, TAIL = 48, 320, 1e-9
"""Least and most nodes over alpha where rates depend on it (1.5 to a standard deviation), and the tail cut off."""


class _Axis(NamedTuple):
    """Grid of the logit of rho or of eta, `at[node]`, and the law of a system's logit there.

    `kernel[hyper, node]` is the probability of a node given hyperparameters (a mean m and a spread t), `prior[hyper]`
    that of these.
    """

    at: Floats
    kernel: Floats
    prior: Floats


class Own(NamedTuple):
    """A system's posterior as a mixture over its rates: weight, rho + eta - 1, and alpha's moments `[node]`."""

    weight: Floats
    youden: Floats
    mean: Floats
    variance: Floats


class Partial(NamedTuple):
    """Posterior of all systems: at hyperparameters `[node]` of equal weight they are independent of each other.

    `mean[system, node]`, `variance[system, node]` are those of alpha there; `own[system]` the posterior of a system's
    rates, a mixture of what follows from each node of their grid.
    """

    mean: Floats
    variance: Floats
    own: list[Own]


class _SlopeFit(NamedTuple):
    """Fit at given slopes: their own evidence, and the posterior of the hyperparameters.

    `evidence[system, hyper of rho, hyper of eta]` is each system's; `weight` adds up to one.
    """

    axes: tuple[_Axis, _Axis]
    node_evidence: list[NodeEvidence]
    log_evidence: float
    evidence: Floats
    weight: Floats


def partial_rates(systems: AdequacyCounts, calibration: Floats, constrain: bool, slope_sd: float = 0.0) -> Partial:
    """Infer all alphas from the counts of each system `[system]` and its own `calibration[system, 4]` (TP, P, TN, N).

    With `slope_sd` the logits of rho and eta rise or fall with that of alpha, by slopes whose prior is normal around 0
    with this standard deviation: three nodes of a Gauss-Hermite rule for each of the two. `constrain`: no system's
    rates have rho + eta below 1.
    """
    nodes = [(0.0, 1.0)] if slope_sd == 0 else [(-np.sqrt(3), 1 / 6), (0.0, 2 / 3), (np.sqrt(3), 1 / 6)]
    fits, log_weights = [], []
    for (b, weight_b), (c, weight_c) in itertools.product(nodes, nodes):
        fits.append(_fit(systems, calibration, constrain, (b * slope_sd, c * slope_sd) if slope_sd else None))
        log_weights.append(fits[-1].log_evidence + np.log(weight_b * weight_c))
    share = np.exp(np.array(log_weights) - max(log_weights))
    share /= share.sum()
    moments = [_moments(fit, round(POINTS * k)) for fit, k in zip(fits, share, strict=True)]
    mean, variance = (np.concatenate(parts, axis=1) for parts in zip(*moments, strict=True))
    own = [_mix_posteriors([_own_rates(fit, k) for fit in fits], share) for k in range(len(systems.n))]
    return Partial(mean, variance, own)


def _fit(
    systems: AdequacyCounts, calibration: Floats, constrain: bool, slopes: tuple[float, float] | None
) -> _SlopeFit:
    """Fit the hyperparameters at given `slopes` (None: rates do not depend on alpha); see `partial_rates`."""
    tp, p, tn, n = calibration.T
    first, second = _axis(tp, p), _axis(tn, n)
    allowed = (first.at[:, None] + second.at > 0) | (not constrain)
    systems_evidence = [
        _system_evidence(first, second, systems, calibration, k, allowed, slopes) for k in range(len(systems.n))
    ]
    evidence = np.stack([first.kernel @ system.evidence @ second.kernel.T for system in systems_evidence])
    log_weight = np.log(first.prior)[:, None] + np.log(second.prior)
    for density in evidence:
        log_weight += np.log(np.maximum(density, TINY))
    top = float(log_weight.max())
    weight = np.exp(log_weight - top)
    total = float(weight.sum())
    log_evidence = top + float(np.log(total)) + sum(system.log_top for system in systems_evidence)
    return _SlopeFit((first, second), systems_evidence, log_evidence, evidence, weight / total)


def _system_evidence(
    first: _Axis,
    second: _Axis,
    systems: AdequacyCounts,
    calibration: Floats,
    k: int,
    allowed: Bools,
    slopes: tuple[float, float] | None,
) -> NodeEvidence:
    """Return the evidence of system `k`'s ratings at each node of the grids of its rates."""
    counts = systems.rows(slice(k, k + 1))
    if slopes is None:
        return seen_rates(first.at, second.at, counts, calibration[k], allowed)
    # Slopes turn around a share of adequate outputs that is common to all, so that they say nothing of the mean rates.
    successes, trials = systems.n_plus.sum() + calibration[:, 1].sum(), systems.n.sum() + calibration[:, [1, 3]].sum()
    centre = float(logit((successes + 1) / (trials + 2)))
    return sloped_evidence(first.at, second.at, counts, calibration[k], allowed, slopes, centre)


def _axis(right: Floats, of: Floats) -> _Axis:
    """Lay the grid of a rate's logit around its estimate from all calibrations, wide enough for their uncertainty.

    A rate is rho or eta: `right[system]` of `of[system]` calibration outputs are called so.

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


def _moments(fit: _SlopeFit, n: int) -> tuple[Floats, Floats]:
    """Return mean and variance of each system's alpha `[system, node]` at n hyperparameters that stand for all."""
    rows, columns = np.unravel_index(_choose_representatives(fit.weight.ravel(), n), fit.weight.shape)
    first, second = fit.axes[0].kernel[rows], fit.axes[1].kernel[columns]
    means, variances = [], []
    for system, evidence in zip(fit.node_evidence, fit.evidence, strict=True):
        terms = [system.evidence * system.mean, system.evidence * (system.variance + system.mean**2)]
        mean, square = (
            np.einsum("kv,kv->k", first @ term, second) / np.maximum(evidence[rows, columns], TINY) for term in terms
        )
        means.append(mean)
        # Cancellation can leave a difference of squares slightly below 0.
        variances.append(np.maximum(square - mean**2, 0.0))
    return np.stack(means), np.stack(variances)


def _own_rates(fit: _SlopeFit, k: int) -> Own:
    """Return system `k`'s posterior over its own rates: its evidence times their law over all hyperparameters."""
    system, (first, second) = fit.node_evidence[k], fit.axes
    pull = fit.weight / np.maximum(fit.evidence[k], TINY)
    weight = system.evidence * (first.kernel.T @ pull @ second.kernel)
    # Nodes that weigh so little move no moment, and mixtures stay short without them.
    kept = weight > 1e-9 * weight.max()
    return Own(weight[kept] / weight[kept].sum(), system.youden[kept], system.mean[kept], system.variance[kept])


def _mix_posteriors(parts: list[Own], share: Floats) -> Own:
    """Put posteriors under different slopes together, each with its share."""
    weight = np.concatenate([part.weight * k for part, k in zip(parts, share, strict=True)])
    return Own(weight, *(np.concatenate([getattr(part, name) for part in parts]) for name in Own._fields[1:]))


def _choose_representatives(weight: Floats, n: int) -> Ints:
    """Choose n nodes at evenly spaced quantiles of a posterior that is laid out along its grid."""
    return np.asarray(np.searchsorted(np.cumsum(weight), (np.arange(n) + 0.5) / max(n, 1)))


class NodeEvidence(NamedTuple):
    """Evidence of one system's ratings at each node `[rho, eta]`, alpha's moments there, rho + eta - 1 at its mean.

    The largest evidence is 1; `log_top` is the logarithm of its value before scaling.
    """

    evidence: Floats
    mean: Floats
    variance: Floats
    youden: Floats
    log_top: float


def seen_rates(
    first: Floats, second: Floats, counts: AdequacyCounts, calibration: Floats, allowed: Bools
) -> NodeEvidence:
    """Integrate over alpha at each node that neither the calibration nor, roughly, the ratings rule out.

    `first` and `second` are the grids of the logits of rho and eta, `allowed[rho, eta]` marks possible nodes.
    """
    log_density = _calibration_evidence(first[:, None], second, calibration)
    rho, eta = np.broadcast_arrays(expit(first)[:, None], expit(second))
    # The rough evidence is taken at one alpha; at .5 the metric says adequate with probability (rho + 1 - eta) / 2.
    ridge = log_density + rough_evidence((rho + 1 - eta) / 2, rho + eta - 1, np.full(1, 0.5), counts)
    where = np.nonzero(allowed & (ridge > ridge[allowed].max() - DROPPED))
    log_evidence, alpha, spread = _given_rates(rho[where], eta[where], counts)
    return _lay_on_grid(where, rho.shape, log_evidence + log_density[where], alpha, spread, (rho + eta - 1)[where])


def sloped_evidence(
    first: Floats,
    second: Floats,
    counts: AdequacyCounts,
    calibration: Floats,
    allowed: Bools,
    slopes: tuple[float, float],
    centre: float,
) -> NodeEvidence:
    """Integrate over alpha where the rates depend on it: on a grid of alphas that serves all nodes.

    `slopes` are (b_r, b_e), `centre` is the logit of alpha at which the rates are those of the grid; the others are
    those of `seen_rates`.
    """
    alpha, part = _alphas(counts)
    more = logit(alpha) - centre
    u, v = first[:, None] + slopes[0] * more, second[:, None] + slopes[1] * more
    n_plus, n, m_plus, m = (float(x[0]) for x in counts)
    own = np.log(part) + n_plus * np.log(alpha) + (n - n_plus) * np.log1p(-alpha)
    of_rho, of_eta = (_binomial(x, *pair) for x, pair in ((u, calibration[:2]), (v, calibration[2:])))
    # Where the calibration alone rules a node out, at any alpha, nothing is computed.
    bound = (of_rho + own).max(1)[:, None] + of_eta.max(1)
    where = np.nonzero(allowed & (bound > bound[allowed].max() - DROPPED))
    moments = np.empty((3, len(where[0])))
    for start in range(0, len(where[0]), BLOCK):
        some = slice(start, start + BLOCK)
        i, j = where[0][some], where[1][some]
        q = alpha * expit(u[i]) + (1 - alpha) * expit(-v[j])
        log_f = own + of_rho[i] + of_eta[j] + m_plus * np.log(q) + (m - m_plus) * np.log1p(-q)
        top = log_f.max(1)
        mass = np.exp(log_f - top[:, None])
        total = mass.sum(1)
        mean = mass @ alpha / total
        moments[:, some] = np.log(total) + top, mean, np.maximum(mass @ alpha**2 / total - mean**2, 0.0)
    at = logit(np.clip(moments[1], alpha[0], alpha[-1])) - centre
    youden = expit(first[where[0]] + slopes[0] * at) + expit(second[where[1]] + slopes[1] * at) - 1
    return _lay_on_grid(where, bound.shape, moments[0], moments[1], moments[2], youden)


def _binomial(x: Floats, successes: float, trials: float) -> Floats:
    return np.asarray(successes * log_expit(x) + (trials - successes) * log_expit(-x))


def _calibration_evidence(first: Floats, second: Floats, calibration: Floats) -> Floats:
    return np.asarray(_binomial(first, *calibration[:2]) + _binomial(second, *calibration[2:]))


def _given_rates(rho: Floats, eta: Floats, counts: AdequacyCounts) -> Floats:
    """Return log-evidence, mean and variance of alpha `[3, node]`, a few nodes at a time: they fit into the cache."""
    moments = np.empty((3, len(rho)))
    for start in range(0, len(rho), BLOCK):
        some = slice(start, start + BLOCK)
        known = integrate_alpha(rho[None, some], eta[None, some], counts)
        moments[:, some] = known.log_evidence[0], known.mean[0], known.variance[0]
    return moments


def _alphas(counts: AdequacyCounts) -> tuple[Floats, Floats]:
    """Lay nodes where human ratings leave alpha, as fine as the metric's ratings can tell; return weights, too."""
    n_plus, n, _, m = (float(x[0]) for x in counts)
    low, high = (float(betaincinv(n_plus + 1, n - n_plus + 1, p)) for p in (TAIL, 1 - TAIL))
    # A share of m ratings has a standard deviation of at most .5 / sqrt(m): 3 sqrt(m) nodes per unit give it 1.5.
    wanted = (high - low) * 3 * np.sqrt(m + 1)
    node, part = legendre(int(np.clip(wanted, FEWEST, MOST)))
    return low + (high - low) * node, (high - low) * part


def _lay_on_grid(where: tuple[Ints, ...], shape: tuple[int, ...], *values: Floats) -> NodeEvidence:
    """Lay `values` (log-evidence, mean, variance, rho + eta - 1) of some nodes on the grid; others have no evidence."""
    log_evidence, *others = values
    top = float(log_evidence.max())
    laid = np.zeros((4, *shape))
    laid[:, where[0], where[1]] = np.exp(log_evidence - top), *others
    return NodeEvidence(laid[0], laid[1], laid[2], laid[3], top)
