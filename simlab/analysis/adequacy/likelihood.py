"""Likelihood of alpha given a metric's ratings, with its rho and eta known or unknown; quadrature rules over alpha.

alpha is the share of a system's outputs that are adequate; rho and eta are the probabilities that the metric calls
adequate outputs adequate, and others inadequate. `m_plus` of its `m` ratings say adequate, each with the probability
q = alpha rho + (1 - alpha)(1 - eta). Rows are independent problems: a row is one setting or one system. Call
`log_likelihood_at_known_rates`, or `log_likelihood_without_rates` on `evidence`; `nodes` lays the rule over alpha.

With U ~ rho, V ~ 1 - eta and Q ~ Beta(m_plus + 1, m - m_plus + 1), all independent, the likelihood of alpha after
integrating rho and eta out is the density of `alpha U + (1 - alpha) V - Q` at 0: a binomial likelihood of q is a Beta
density. So it is a double integral of products of Beta densities, whichever two of the three are integrated over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv, betaln, ndtr, xlog1py, xlogy

from simlab.types import Bools, Floats, Ints

SIZES = 10, 20
"""Nodes of the outer and the inner quadrature over rho, eta and q; enough for ratings that contradict each other."""
# The mass of a Beta law that the interval of the inner quadrature leaves out at either end.
TAIL = 1e-9
WORK = 200_000
"""Numbers in one intermediate array: few enough to stay in the processor's cache."""
REACH = 5.0
"""How far panels go, in standard deviations of the tempered density; what lies beyond has no mass that matters."""
TEMPER = 0.5
"""The power of the density that panels share out: below 1 so that tails get their nodes."""
CELLS, ROUNDS = 64, 4


class BetaEvidence(NamedTuple):
    """Beta parameters of U = rho, V = 1 - eta and Q, `first[row, 3]` and `second[row, 3]`.

    `rated[row]`: there are metric ratings. `constrain`: rho + eta > 1 is known.
    """

    first: Floats
    second: Floats
    rated: Bools
    constrain: bool


def log_likelihood_at_known_rates(alpha: Floats, m_plus: Floats, m: Floats, rho: Floats, eta: Floats) -> Floats:
    """Return the log-likelihood of `alpha[row, ...]` where rho and eta `[row]` are known.

    >>> log_likelihood_at_known_rates(np.array([0.5]), *map(np.array, ([2], [4], [1], [1]))).round(3).tolist()
    [-2.773]
    """
    m_plus, m, rho, eta = (np.reshape(x, (-1,) + (1,) * (alpha.ndim - 1)) for x in (m_plus, m, rho, eta))
    q = alpha * rho + (1 - alpha) * (1 - eta)
    return np.asarray(xlogy(m_plus, q) + xlogy(m - m_plus, alpha * (1 - rho) + (1 - alpha) * eta))


def evidence(m_plus: Floats, m: Floats, calibration: Sequence[Floats], constrain: bool) -> BetaEvidence:
    """Turn counts `[row]` into Beta parameters; `calibration` holds TP of P adequate, TN of N inadequate outputs."""
    tp, p, tn, n = calibration
    first = np.stack([tp + 1.0, n - tn + 1.0, m_plus + 1.0], axis=1)
    second = np.stack([p - tp + 1.0, tn + 1.0, m - m_plus + 1.0], axis=1)
    return BetaEvidence(first, second, m > 0, constrain)


def sketch(alpha: Floats, given: BetaEvidence) -> Floats:
    """Return roughly the log-likelihood of `alpha[row, k]`: means and variances of U, V and Q, with heavy tails."""
    mean, sd = _moments(given)
    miss = alpha * mean[:, :1] + (1 - alpha) * mean[:, 1:2] - mean[:, 2:]
    variance = (alpha * sd[:, :1]) ** 2 + ((1 - alpha) * sd[:, 1:2]) ** 2 + sd[:, 2:] ** 2
    z = np.abs(miss) / np.sqrt(variance)
    # Tails are linear from 2.5 on, since U, V and Q are not normal and panels must reach where they still have mass.
    log_density = -np.where(z < 2.5, z * z / 2, 2.5 * z - 3.125) - np.log(variance) / 2
    return np.asarray(np.where(given.rated[:, None], log_density, 0.0))


def log_likelihood_without_rates(alpha: Floats, given: BetaEvidence, sizes: tuple[int, int] = SIZES) -> Floats:
    """Return the log-likelihood of `alpha[row, k]` with rho and eta integrated out, as a density of 0.

    `given` comes from `evidence`; `sizes` are the nodes of the outer and the inner quadrature.

    The variable with the least spread is integrated over by Gauss-Jacobi quadrature, of the other two the one that
    moves the sum less by Gauss-Legendre quadrature on the interval that leaves the last within [0, 1].
    """
    logs = np.zeros(alpha.shape)
    _, sd = _moments(given)
    least = np.argmin(sd, axis=1)
    batch = max(WORK // (sizes[0] * sizes[1] * alpha.shape[1]), 1)
    for which in range(3):
        rows = np.flatnonzero((least == which) & given.rated)
        for start in range(0, len(rows), batch):
            some = rows[start : start + batch]
            logs[some] = _slices(alpha[some], given.first[some], given.second[some], which, given.constrain, sizes)
    return logs


def _moments(given: BetaEvidence) -> tuple[Floats, Floats]:
    total = given.first + given.second
    mean = given.first / total
    return mean, np.sqrt(mean * (1 - mean) / (total + 1))


def _slices(
    alpha: Floats, first: Floats, second: Floats, outer: int, constrain: bool, sizes: tuple[int, int]
) -> Floats:
    """Return `log_likelihood_without_rates` of rows whose outer variable is U, V or Q (`outer` 0, 1 or 2)."""
    order = [outer, *(k for k in range(3) if k != outer)]
    weight = np.stack([alpha, 1 - alpha, -np.ones_like(alpha)], axis=-1)[..., order]
    order_of_rho = np.array([1.0, -1.0, 0.0])[order]
    first, second = first[:, order], second[:, order]
    x, share = jacobi(first[:, 0], second[:, 0], sizes[0])
    low, high = betaincinv(first, second, TAIL), betaincinv(first, second, 1 - TAIL)
    width = (high - low)[:, None, 1:] * np.abs(weight[..., 1:])
    inner: Ints = 1 + (width[..., 1] < width[..., 0]).astype(int)

    def pick_slice(values: Floats, which: Ints) -> Floats:
        return np.asarray(np.where(which == 1, values[..., 1], values[..., 2]))[..., None]

    first, second, low, high = (np.broadcast_to(v[:, None], weight.shape) for v in (first, second, low, high))
    cy, ay, by, cz, az, bz = (pick_slice(v, i) for i in (inner, 3 - inner) for v in (weight, first - 1, second - 1))
    rest = -weight[..., :1] * x[:, None, :]
    ends = rest / cy, (rest - cz) / cy
    least = np.maximum(pick_slice(low, inner), np.minimum(*ends))
    most = np.minimum(pick_slice(high, inner), np.maximum(*ends))
    if constrain:
        gy, gz = (pick_slice(np.broadcast_to(order_of_rho, weight.shape), i) for i in (inner, 3 - inner))
        least, most = _cut_to_better_than_chance(
            least, most, order_of_rho[0] * x[:, None, :] + gz * rest / cz, gy - gz * cy / cz
        )
    node, part = legendre(sizes[1])
    width = np.maximum(most - least, 0.0)
    y = least[..., None] + width[..., None] * node
    # At the ends of its interval z is 0 or 1 but for rounding, and its logarithm must stay finite.
    z = np.clip((rest[..., None] - cy[..., None] * y) / cz[..., None], 1e-300, 1 - 1e-16)
    y = np.clip(y, 1e-300, 1 - 1e-16)
    ay, by, az, bz = (v[..., None] for v in (ay, by, az, bz))
    log_f = ay * np.log(y) + by * np.log(1 - y) + az * np.log(z) + bz * np.log(1 - z)
    top = log_f.max((-2, -1), keepdims=True)
    log_f -= top
    total = np.einsum("rkxy,y,rkx,rx->rk", np.exp(log_f, out=log_f), part, width, share, optimize=True)
    # Gauss-Jacobi weights hold the outer density with its constant; |cz| comes from solving the sum for z.
    scale = betaln(first + 0.0, second)[..., 1:].sum(-1) + np.log(np.abs(cz[..., 0]))
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(total) + top[..., 0, 0] - scale)


def _cut_to_better_than_chance(least: Floats, most: Floats, at_zero: Floats, slope: Floats) -> tuple[Floats, Floats]:
    """Cut an interval of y to where `at_zero + slope y`, which is rho + eta - 1, is positive."""
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.where(slope == 0, np.where(at_zero > 0, -np.inf, np.inf), -at_zero / slope)
    return np.where(slope >= 0, np.maximum(least, root), least), np.where(slope < 0, np.minimum(most, root), most)


def jacobi(first: Floats, second: Floats, k: int) -> tuple[Floats, Floats]:
    """Return k nodes and weights `[row, k]` that integrate polynomials over Beta(first, second), `[row]`, exactly.

    Golub and Welsch 1969: eigenvalues of the matrix of the recurrence of Jacobi polynomials, on [0, 1].
    """
    a, b = (second - 1)[:, None], (first - 1)[:, None]
    j = np.arange(k)
    s = 2 * j + a + b
    # For uniform laws the general term is 0 / 0 at first; the first entries are set apart below as their limits.
    diagonal = (b * b - a * a) / np.where(s == 0, 1.0, s * (s + 2))
    diagonal[:, :1] = (b - a) / (a + b + 2)
    j, s = j[1:], s[:, 1:]
    square = 4 * j * (j + a) * (j + b) * (j + a + b) / (s * s * (s + 1) * np.where(s == 1, 1.0, s - 1))
    square[:, :1] = 4 * (1 + a) * (1 + b) / ((2 + a + b) ** 2 * (3 + a + b))
    matrix = np.zeros((len(a), k, k))
    matrix[:, range(k), range(k)] = (1 + diagonal) / 2
    matrix[:, range(1, k), range(k - 1)] = np.sqrt(square) / 2
    value, vector = np.linalg.eigh(matrix)
    return value, vector[:, 0, :] ** 2


def human_log_likelihood(alpha: Floats, n_plus: Floats, n: Floats) -> Floats:
    """Return the log-likelihood of `alpha[row, ...]` given human counts `[row, ...]`, broadcast."""
    return np.asarray(xlogy(n_plus, alpha) + xlog1py(n - n_plus, -alpha))


class Nodes(NamedTuple):
    """A Gauss-Legendre rule in panels: `alpha[row, panel, k]` and its `weight[row, panel, k]`."""

    alpha: Floats
    weight: Floats


@cache
def legendre(k: int) -> tuple[Floats, Floats]:
    """Return the k nodes and weights of the Gauss-Legendre rule on [0, 1]."""
    node, weight = np.polynomial.legendre.leggauss(k)
    return (node + 1) / 2, weight / 2


@cache
def cumulative_weights(k: int) -> Floats:
    """Return the matrix that integrates from 0 to each Gauss-Legendre node on [0, 1] from values at the nodes."""
    node, _ = legendre(k)
    powers = np.arange(k)
    return np.asarray((node[:, None] ** (powers + 1) / (powers + 1)) @ np.linalg.inv(node[:, None] ** powers))


def nodes(
    log_density: Callable[[Floats], Floats], rows: int, panels: int, k: int, kinks: Floats | None = None
) -> Nodes:
    """Share out panels evenly over a density, up to its far tails, and put k nodes in each.

    `log_density(alpha[row, cell])` returns `[row, variant, cell]`, unnormalised; nodes serve all variants of a row. It
    may be rough: it only says where nodes are needed. Panels are laid in t = arcsin(sqrt(alpha)), where proportions
    have the same spread everywhere, and refined in rounds, so that a peak narrower than the first cells is found. Where
    the density has `kinks[row, ...]`, panels are cut in two: no polynomial is right on both sides.
    """
    edges = np.broadcast_to(np.linspace(0, np.pi / 2, CELLS + 1), (rows, CELLS + 1))
    for left in range(ROUNDS)[::-1]:
        middle = (edges[:, 1:] + edges[:, :-1]) / 2
        mass = _temper_density(log_density(np.sin(middle) ** 2), np.diff(edges))
        edges = _quantiles(edges, mass, CELLS if left else panels)
    node, weight = legendre(k)
    edges = np.sin(edges) ** 2 if kinks is None else _cut(np.sin(edges) ** 2, kinks)
    width = np.diff(edges)[..., None]
    return Nodes(edges[:, :-1, None] + width * node, width * weight)


def _cut(edges: Floats, kinks: Floats) -> Floats:
    """Add an edge at each kink; one that lies beyond all panels cuts a middle one instead."""
    outside = (kinks <= edges[:, :1]) | (kinks >= edges[:, -1:])
    some = edges.shape[1] // 2 + np.arange(kinks.shape[1])
    middle = (edges[:, some - 1] + edges[:, some]) / 2
    return np.sort(np.concatenate([edges, np.where(outside, middle, kinks)], axis=1), axis=1)


def _temper_density(log_density: Floats, width: Floats) -> Floats:
    scaled = TEMPER * (log_density - log_density.max(-1, keepdims=True))
    mass = np.exp(scaled) * width[:, None]
    mass = (mass / mass.sum(-1, keepdims=True)).mean(1)
    # A peak on the border of two cells must not be lost to one of them.
    mass[:, 1:-1] = (mass[:, :-2] + 2 * mass[:, 1:-1] + mass[:, 2:]) / 4
    return np.asarray(mass)


def _quantiles(edges: Floats, mass: Floats, n: int) -> Floats:
    """Find n + 1 edges that are evenly spaced as the quantiles of a normal distribution are."""
    below = np.concatenate([np.zeros((len(mass), 1)), np.cumsum(mass, axis=1)], axis=1)
    below /= below[:, -1:]
    wanted = ndtr(np.linspace(-REACH, REACH, n + 1))
    # Rows are told apart by whole numbers, so that one call interpolates all of them.
    row = 2.0 * np.arange(len(mass))[:, None]
    edge = np.interp((wanted + row).ravel(), (below + row).ravel(), edges.ravel())
    return np.asarray(edge.reshape(len(mass), n + 1))
