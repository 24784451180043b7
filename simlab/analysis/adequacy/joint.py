"""Infer the difference of two systems' alphas when both rely on the same estimate of a metric's rho and eta.

alpha is the share of a system's outputs that are adequate; rho and eta are the probabilities that the metric calls
adequate outputs adequate, and others inadequate. They are estimated from a calibration (TP, P, TN, N): of P adequate
outputs the metric called TP adequate, of N others TN inadequate. `constrain`: rho + eta > 1 is taken as known.
Call `difference`, or `difference_at_known_rates` where rho and eta are given.

Given rho and eta the systems are independent, so the posterior of the difference is a mixture over rho and eta, each
weighted by how well it explains both systems' ratings. What is wrong with the estimate is wrong for both and mostly
cancels. It is assumed that rho and eta are the same for both systems.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import xlog1py, xlogy

from simlab.analysis.adequacy.likelihood import legendre, nodes
from simlab.types import Floats

# A normal law has less than 1e-18 of its mass beyond nine standard deviations, which is below rounding.
ALPHAS, WINDOW = 32, 9.0
"""Nodes over alpha, and how far they go to either side in standard deviations."""
ALONG = 30
"""Nodes over rho and eta with the same rho + eta."""
# A row takes 2,400 nodes of rho and eta times ALPHAS numbers, so blocks of rows bound the memory.
BLOCK = 16


class AdequacyCounts(NamedTuple):
    """One system's counts `[row]`: `n_plus` of `n` adequate by human, `m_plus` of `m` by metric ratings."""

    n_plus: Floats
    n: Floats
    m_plus: Floats
    m: Floats

    def rows(self, some: slice) -> AdequacyCounts:
        """Take some rows."""
        return AdequacyCounts(*(x[some] for x in self))


class GivenRates(NamedTuple):
    """Posterior of alpha at given rho and eta `[row, ...]`: evidence, mean, variance.

    `human` and `metric` are the slopes of the mean in n_plus and m_plus, `cov(alpha, logit(alpha))` and
    `cov(alpha, logit(q))`, as counts are the natural statistics of these logits; q = alpha rho + (1 - alpha)(1 - eta)
    is the probability that the metric says adequate.
    """

    log_evidence: Floats
    mean: Floats
    variance: Floats
    human: Floats
    metric: Floats


def integrate_alpha(rho: Floats, eta: Floats, counts: AdequacyCounts) -> GivenRates:
    """Integrate over alpha at given `rho[row, ...]` and `eta[row, ...]`; the system's counts are `[row]`."""
    n_plus, n, m_plus, m = (np.reshape(x, (-1,) + (1,) * rho.ndim) for x in counts)
    low, high = (x[..., None] for x in _window(rho, eta, *(x[..., 0] for x in (n_plus, n, m_plus, m))))
    node, part = legendre(ALPHAS)
    alpha = low + (high - low) * node
    # Logarithms must stay finite at q = 0 and 1, since a count of 0 times an infinite one is NaN.
    q = np.clip(alpha * rho[..., None] + (1 - alpha) * (1 - eta[..., None]), 1e-300, 1 - 1e-16)
    log_alpha, log_beta, log_q, log_not_q = np.log(alpha), np.log1p(-alpha), np.log(q), np.log1p(-q)
    log_f = n_plus * log_alpha + (n - n_plus) * log_beta + m_plus * log_q + (m - m_plus) * log_not_q
    top = log_f.max(-1, keepdims=True)
    mass = part * np.exp(log_f - top)
    total = mass.sum(-1, keepdims=True)
    mass /= total
    mean = (mass * alpha).sum(-1)
    off = mass * (alpha - mean[..., None])
    evidence = np.log(total * (high - low)) + top
    slopes = ((off * logit).sum(-1) for logit in (log_alpha - log_beta, log_q - log_not_q))
    return GivenRates(evidence[..., 0], mean, (off * alpha).sum(-1), *slopes)


def _window(rho: Floats, eta: Floats, n_plus: Floats, n: Floats, m_plus: Floats, m: Floats) -> tuple[Floats, Floats]:
    """Bound alpha: both kinds of ratings taken as normal, nine standard deviations to either side."""
    slope, q, variance = rho + eta - 1, *_beta(m_plus, m)
    own, own_variance = _beta(n_plus, n)
    by_human = np.where(n > 0, 1 / own_variance, 0.0)
    by_metric = np.where(m > 0, slope**2 / variance, 0.0)
    # A unit precision at .5 stands for the uniform prior and keeps the window finite where nothing is rated.
    precision = by_human + by_metric + 1.0
    pull = own * by_human + np.where(m > 0, slope * (q - 1 + eta) / variance, 0.0) + 0.5
    middle = np.clip(pull / precision, 0.0, 1.0)
    reach = WINDOW / np.sqrt(precision)
    return np.maximum(middle - reach, 0.0), np.minimum(middle + reach, 1.0)


def _beta(plus: Floats, n: Floats) -> tuple[Floats, Floats]:
    mean = (plus + 1) / (n + 2)
    return mean, mean * (1 - mean) / (n + 3)


def difference(
    first: AdequacyCounts,
    second: AdequacyCounts | None,
    calibration: tuple[Floats, ...],
    *,
    constrain: bool = False,
    correlation: float = 0.0,
) -> tuple[Floats, Floats]:
    """Return mean and standard deviation of alpha_1 - alpha_2 given one `calibration` (TP, P, TN, N), all `[row]`.

    `second` None: the counts of the first. `correlation` is that of the adequacy of two systems' outputs for the same
    input, where both were rated on the same inputs; 0 otherwise.
    """
    moments = np.zeros((2, len(first.n)))
    for start in range(0, len(first.n), BLOCK):
        some = slice(start, start + BLOCK)
        counts, other = first.rows(some), second.rows(some) if second else None
        rho, eta, log_weight = plane([counts, other or counts], [x[some] for x in calibration], constrain)
        moments[:, some] = _mixture(counts, other, rho, eta, log_weight, correlation)
    return moments[0], moments[1]


def difference_at_known_rates(
    first: AdequacyCounts, second: AdequacyCounts | None, rho: Floats, eta: Floats, correlation: float = 0.0
) -> tuple[Floats, Floats]:
    """Return mean and standard deviation of alpha_1 - alpha_2 where rho and eta `[row]` are known.

    `second` and `correlation` are those of `difference`.
    """
    return _mixture(first, second, rho[:, None], eta[:, None], np.zeros((len(rho), 1)), correlation)


def _mixture(
    first: AdequacyCounts,
    second: AdequacyCounts | None,
    rho: Floats,
    eta: Floats,
    log_weight: Floats,
    correlation: float,
) -> tuple[Floats, Floats]:
    """Return mean and standard deviation `[row]` of alpha_1 - alpha_2 over nodes of rho and eta, `[row, node]`."""
    first_alpha = integrate_alpha(rho, eta, first)
    second_alpha = integrate_alpha(rho, eta, second) if second else first_alpha
    log_weight = log_weight + first_alpha.log_evidence + second_alpha.log_evidence
    weight = np.exp(log_weight - log_weight.max(1, keepdims=True))
    weight /= weight.sum(1, keepdims=True)
    apart = first_alpha.mean - second_alpha.mean
    mean = (weight * apart).sum(1)
    within = (
        first_alpha.variance
        + second_alpha.variance
        - 2 * _covariance_of_means(first_alpha, second_alpha, rho + eta - 1, first, correlation)
    )
    # The law of total variance: within nodes of rho and eta, and between them.
    return mean, np.sqrt((weight * (within + (apart - mean[:, None]) ** 2)).sum(1))


def _covariance_of_means(
    first: GivenRates, second: GivenRates, slope: Floats, counts: AdequacyCounts, correlation: float
) -> Floats:
    """Return the covariance of two posterior means whose counts come from the same inputs, to first order."""
    spread = correlation * np.sqrt(first.mean * (1 - first.mean) * second.mean * (1 - second.mean))
    human = counts.n[:, None] * first.human * second.human
    return np.asarray(spread * (human + counts.m[:, None] * first.metric * second.metric * slope**2))


def plane(systems: list[AdequacyCounts], calibration: list[Floats], constrain: bool) -> tuple[Floats, Floats, Floats]:
    """Lay quadrature nodes over rho and eta; return them and the log of density times weight, `[row, node]`.

    The density is rho's and eta's given the `calibration` (TP, P, TN, N, each `[row]`); ratings of `systems` only say
    where nodes are needed.

    Nodes of the same rho + eta stand together, `ALONG` of them. Ratings pin down W = a rho + (1 - a)(1 - eta) at
    alpha = a much more tightly than D = rho + eta - 1, so nodes are laid over D and, for each, over W: a grid along
    the ridge.
    """
    tp, p, tn, n = calibration
    means = [_beta(tp, p), _beta(n - tn, n)]
    at = _reference(systems, means)
    across = nodes(lambda x: _slope_densities(2 * x - 1, systems, means, at, constrain), len(p), 16, 5)
    slope = 2 * across.alpha.reshape(len(p), -1) - 1
    flat, part = slope.ravel(), np.log(across.weight.reshape(len(p), -1))

    def repeat(x: Floats) -> Floats:
        return np.repeat(x, slope.shape[1])[:, None]

    a, d = repeat(at), flat[:, None]
    # These are the bounds of W at D that keep both rho = W + (1 - a) D and 1 - eta = W - a D within [0, 1].
    low = np.maximum(-(1 - a) * d, a * d)
    width = np.minimum(1 - (1 - a) * d, 1 + a * d) - low

    def log_density(x: Floats, roughly: bool) -> Floats:
        w = low + width * x
        u, v = np.clip(w + (1 - a) * d, 0, 1), np.clip(w - a * d, 0, 1)
        own = xlogy(repeat(tp), u) + xlog1py(repeat(p - tp), -u) + xlogy(repeat(n - tn), v) + xlog1py(repeat(tn), -v)
        # Ratings only say where nodes are needed: callers add their exact evidence to the weights of the nodes.
        if not roughly:
            return np.asarray(own)
        return np.asarray(
            own + sum(rough_evidence(w, d, a, AdequacyCounts(*map(repeat, system))) for system in systems)
        )

    # Counts times the logarithm of 0 are minus infinity; where a whole row is, its panels would be NaN.
    along = nodes(lambda x: np.maximum(log_density(x, True), -1e300)[:, None], len(flat), ALONG // 5, 5)
    x = along.alpha.reshape(len(flat), -1)
    w = low + width * x
    log_weight = log_density(x, False) + np.log(along.weight.reshape(len(flat), -1) * width) + part.ravel()[:, None]
    rho, eta = (np.clip(x, 0, 1).reshape(len(p), -1) for x in (w + (1 - a) * d, 1 - w + a * d))
    return rho, eta, log_weight.reshape(len(p), -1)


def _reference(systems: list[AdequacyCounts], means: list[tuple[Floats, Floats]]) -> Floats:
    """Guess the systems' mean alpha: from human ratings, and from metric ratings at the mean of rho and eta."""
    guesses = []
    for counts in systems:
        low, high = _window(means[0][0], 1 - means[1][0], *counts)
        guesses.append((low + high) / 2)
    return np.asarray(sum(guesses) / len(guesses))


def rough_evidence(w: Floats, slope: Floats, at: Floats, counts: AdequacyCounts) -> Floats:
    """Return roughly a system's log-evidence at W and D: its alpha and q taken as normal, with heavy tails."""
    miss, variance = _miss_and_variance(slope, w, at, counts)
    z = np.abs(miss) / np.sqrt(variance)
    # Linear from 2.5 on, where value and slope meet: tails get nodes although a normal law would leave them none.
    return np.asarray(-np.where(z < 2.5, z * z / 2, 2.5 * z - 3.125) - np.log(variance) / 2)


def _slope_densities(
    slope: Floats, systems: list[AdequacyCounts], means: list[tuple[Floats, Floats]], at: Floats, constrain: bool
) -> Floats:
    """Return two rough log-densities of D = rho + eta - 1 `[row, 2, cell]`: its prior, and after seeing the ratings.

    U, V, alpha and q are taken as normal: then W given D is normal, and the ratings miss it by a normal vector. Near
    D = 0 any alpha explains the ratings, so there is mass there even if the prior leaves little.
    """
    (u, var_u), (v, var_v) = ((x[:, None], y[:, None]) for x, y in means)
    a = at[:, None]
    variance, covariance = var_u + var_v, a * var_u - (1 - a) * var_v
    z = (slope - u + v) / np.sqrt(variance)
    prior = -np.where(np.abs(z) < 2.5, z * z / 2, 2.5 * np.abs(z) - 3.125)
    middle = a * u + (1 - a) * v + covariance / variance * (slope - u + v)
    spread = a**2 * var_u + (1 - a) ** 2 * var_v - covariance**2 / variance
    missed = [_miss_and_variance(slope, middle, a, AdequacyCounts(*(x[:, None] for x in counts))) for counts in systems]
    seen = (_add_misses_of_two if len(missed) == 2 else _add_misses_of_many)(-z * z / 2, missed, spread)
    # A finite stand-in for minus infinity keeps differences of log-densities defined.
    return np.where(constrain & (slope < 0)[:, None], -1e300, np.stack([prior, seen], axis=1))


def _add_misses_of_two(first: Floats, missed: list[tuple[Floats, Floats]], spread: Floats) -> Floats:
    """Add to `first` the log-density of two systems' misses with variances of their own and one that they share.

    It is `_add_misses_of_many` for two, kept in this form for the sake of the last bits of published numbers.
    """
    miss_1, miss_2 = missed
    determinant = spread * (miss_1[1] + miss_2[1]) + miss_1[1] * miss_2[1]
    square = spread * (miss_1[0] - miss_2[0]) ** 2 + miss_1[1] * miss_2[0] ** 2 + miss_2[1] * miss_1[0] ** 2
    return np.asarray(first - square / determinant / 2 - np.log(determinant) / 2)


def _add_misses_of_many(first: Floats, missed: list[tuple[Floats, Floats]], spread: Floats) -> Floats:
    """Add the log-density of systems' misses: `diag(variance) + spread` is inverted by Sherman and Morrison."""
    precision = sum((1 / variance for _, variance in missed), np.zeros_like(spread))
    pull = sum((miss / variance for miss, variance in missed), np.zeros_like(spread))
    square = sum((miss**2 / variance for miss, variance in missed), np.zeros_like(spread))
    square = square - spread * pull**2 / (1 + spread * precision)
    logs = sum((np.log(variance) for _, variance in missed), np.zeros_like(spread))
    return np.asarray(first - square / 2 - (logs + np.log1p(spread * precision)) / 2)


def _miss_and_variance(slope: Floats, w: Floats, at: Floats, counts: AdequacyCounts) -> tuple[Floats, Floats]:
    """Return by how much a system's ratings miss W (`w`) at D (`slope`) and alpha = a (`at`), and its variance."""
    alpha, variance = _beta(counts.n_plus, counts.n)
    q, noise = _beta(counts.m_plus, counts.m)
    return q - w - (alpha - at) * slope, noise + variance * slope**2
