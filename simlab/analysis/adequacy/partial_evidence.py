"""Say what a system's ratings tell of its metric's rates: evidence, and alpha given them, on a grid of logits.

With `slopes` (b_r, b_e) the logits of rho and eta are those of the grid plus b times `logit(alpha) - centre`: a metric
that cuts a score calls more adequate outputs adequate in a system whose outputs are good (spectrum effect). The
calibration then tells of alpha, too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv, expit, log_expit, logit

from simlab.analysis.adequacy.joint import Counts, given, rough
from simlab.analysis.adequacy.nodes import legendre
from simlab.types import Bools, Floats, Ints

DROPPED = 25.0
"""Nodes whose log-density is roughly that much below the highest say nothing."""

BLOCK = 256
FEWEST, MOST, TAIL = 48, 320, 1e-9
"""Nodes over alpha where rates depend on it: one and a half to a standard deviation of what the metric says."""


class Seen(NamedTuple):
    """Hold what is told at each node `[rho, eta]`: evidence, alpha's moments, and rho + eta - 1 at its mean.

    The largest evidence is 1; `log_top` is what its logarithm would be.
    """

    evidence: Floats
    mean: Floats
    variance: Floats
    youden: Floats
    log_top: float


def seen(first: Floats, second: Floats, counts: Counts, calibration: Floats, allowed: Bools) -> Seen:
    """Integrate over alpha at each node that neither the calibration nor, roughly, the ratings rule out.

    `first` and `second` are the grids of the logits of rho and eta, `allowed[rho, eta]` what is possible.
    """
    log_density = _of_calibration(first[:, None], second, calibration)
    rho, eta = np.broadcast_arrays(expit(first)[:, None], expit(second))
    ridge = log_density + rough((rho + 1 - eta) / 2, rho + eta - 1, np.full(1, 0.5), counts)
    where = np.nonzero(allowed & (ridge > ridge[allowed].max() - DROPPED))
    log_evidence, alpha, spread = _given(rho[where], eta[where], counts)
    return _laid(where, rho.shape, log_evidence + log_density[where], alpha, spread, (rho + eta - 1)[where])


def sloped(
    first: Floats,
    second: Floats,
    counts: Counts,
    calibration: Floats,
    allowed: Bools,
    slopes: tuple[float, float],
    centre: float,
) -> Seen:
    """Integrate over alpha where the rates depend on it: on a grid of alphas that serves all nodes."""
    alpha, part = _alphas(counts)
    more = logit(alpha) - centre
    u, v = first[:, None] + slopes[0] * more, second[:, None] + slopes[1] * more
    n_plus, n, m_plus, m = (float(x[0]) for x in counts)
    own = np.log(part) + n_plus * np.log(alpha) + (n - n_plus) * np.log1p(-alpha)
    of_rho, of_eta = (_binomial(x, *pair) for x, pair in ((u, calibration[:2]), (v, calibration[2:])))
    # Where the calibration alone rules a node out, at any alpha, nothing is computed.
    bound = (of_rho + own).max(1)[:, None] + of_eta.max(1)
    where = np.nonzero(allowed & (bound > bound[allowed].max() - DROPPED))
    found = np.empty((3, len(where[0])))
    for start in range(0, len(where[0]), BLOCK):
        some = slice(start, start + BLOCK)
        i, j = where[0][some], where[1][some]
        q = alpha * expit(u[i]) + (1 - alpha) * expit(-v[j])
        log_f = own + of_rho[i] + of_eta[j] + m_plus * np.log(q) + (m - m_plus) * np.log1p(-q)
        top = log_f.max(1)
        mass = np.exp(log_f - top[:, None])
        total = mass.sum(1)
        mean = mass @ alpha / total
        found[:, some] = np.log(total) + top, mean, np.maximum(mass @ alpha**2 / total - mean**2, 0.0)
    at = logit(np.clip(found[1], alpha[0], alpha[-1])) - centre
    youden = expit(first[where[0]] + slopes[0] * at) + expit(second[where[1]] + slopes[1] * at) - 1
    return _laid(where, bound.shape, found[0], found[1], found[2], youden)


def _binomial(x: Floats, successes: float, trials: float) -> Floats:
    return np.asarray(successes * log_expit(x) + (trials - successes) * log_expit(-x))


def _of_calibration(first: Floats, second: Floats, calibration: Floats) -> Floats:
    return np.asarray(_binomial(first, *calibration[:2]) + _binomial(second, *calibration[2:]))


def _given(rho: Floats, eta: Floats, counts: Counts) -> Floats:
    """Return log-evidence, mean and variance of alpha `[3, node]`, a few nodes at a time: they fit into the cache."""
    found = np.empty((3, len(rho)))
    for start in range(0, len(rho), BLOCK):
        some = slice(start, start + BLOCK)
        known = given(rho[None, some], eta[None, some], counts)
        found[:, some] = known.log_evidence[0], known.mean[0], known.variance[0]
    return found


def _alphas(counts: Counts) -> tuple[Floats, Floats]:
    """Lay nodes where human ratings leave alpha, as fine as the metric's ratings can tell; return weights, too."""
    n_plus, n, _, m = (float(x[0]) for x in counts)
    low, high = (float(betaincinv(n_plus + 1, n - n_plus + 1, p)) for p in (TAIL, 1 - TAIL))
    wanted = (high - low) * 3 * np.sqrt(m + 1)
    node, part = legendre(int(np.clip(wanted, FEWEST, MOST)))
    return low + (high - low) * node, (high - low) * part


def _laid(where: tuple[Ints, ...], shape: tuple[int, ...], *values: Floats) -> Seen:
    """Lay what was found at some nodes on the grid; the others have no evidence."""
    log_evidence, *others = values
    top = float(log_evidence.max())
    laid = np.zeros((4, *shape))
    laid[:, where[0], where[1]] = np.exp(log_evidence - top), *others
    return Seen(laid[0], laid[1], laid[2], laid[3], top)
