"""Infer the share alpha of adequate outputs of a system from human ratings, metric ratings, or both.

Source: von Däniken et al. 2022, "On the Effectiveness of Automated Metrics for Text Generation Systems", section 3:
error-free ratings, error-prone ratings with rho and eta provided or estimated, and the mixed case.

rho and eta are the probabilities that the metric calls adequate outputs adequate, and others inadequate. Call
`alpha_posterior`; `posterior_rows` is the same for flat arrays `[row]` that are checked. Where von Däniken et al. 2022
sample, simlab integrates.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv

from simlab.analysis.adequacy import likelihood
from simlab.analysis.adequacy.likelihood import Nodes, cumulative_weights, legendre, nodes
from simlab.types import Floats, InputError

Calibration = tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike]
"""TP of P outputs that are adequate, and TN of N that are not, were rated so by the metric; in this order."""
PANELS, PER_PANEL = 14, 8
"""Panels over alpha, and quadrature nodes in each."""
BLOCK = 2048
"""Rows that are integrated at once."""


def alpha_posterior(
    n_plus: ArrayLike,
    n: ArrayLike,
    m_plus: ArrayLike = 0,
    m: ArrayLike = 0,
    *,
    rho: ArrayLike | None = None,
    eta: ArrayLike | None = None,
    calibration: Calibration | None = None,
    constrain: bool = False,
    level: float = 0.05,
    method: str = "quadrature",
    seed: int = 0,
) -> AlphaPosterior:
    """Infer alpha from `n_plus` of `n` adequate by human and `m_plus` of `m` by metric ratings; all broadcast.

    Source: von Däniken et al. 2022, section 3.

    The prior is uniform. The metric's `rho` and `eta` are given, or estimated from `calibration` = (TP, P, TN, N) with
    uniform priors; `constrain` adds to these that rho + eta > 1. A metric with rho + eta < 1 needs no turning round
    here: its ratings say the same either way. Without metric ratings the posterior is a Beta distribution, exactly.
    `method="nuts"` samples with NumPyro as published, one setting at a time, and `seed` is its seed (InputError where
    the chains disagree).

    Raises InputError for counts that cannot be, for both or neither of rho, eta and a calibration, and for
    rho + eta = 1. Where human and metric ratings contradict each other by more than about six standard deviations and
    rho and eta are estimated, the result is rough.

    >>> np.round(alpha_posterior(6, 10).mean, 3).tolist(), alpha_posterior(6, 10).mode.tolist()
    (0.583, 0.6)
    """
    check_counts("n_plus", n_plus, "n", n)
    check_counts("m_plus", m_plus, "m", m)
    values = _metric(m, rho, eta, calibration)
    arrays = np.broadcast_arrays(*(np.asarray(x, float) for x in (n_plus, n, m_plus, m, *values)))
    rows = [x.ravel() for x in arrays]
    if method == "nuts":
        from simlab.analysis.adequacy.nuts import sample_posterior

        inferred = sample_posterior(*rows[:4], metric=rows[4:], constrain=constrain, level=level, seed=seed).posterior
    elif method == "quadrature":
        inferred = posterior_rows(rows, constrain, level)
    else:
        raise InputError(f"method={method} is neither quadrature nor nuts")
    return AlphaPosterior(*(x.reshape(arrays[0].shape) for x in inferred))


def check_counts(name: str, part: Any, of: str, whole: Any) -> None:
    """Raise InputError unless `part` lies between 0 and `whole`, everywhere."""
    part, whole = np.broadcast_arrays(np.asarray(part, float), np.asarray(whole, float))
    wrong = ~((part >= 0) & (part <= whole) & np.isfinite(whole))
    if wrong.any():
        raise InputError(f"{name}={part[wrong][0]:g} is not between 0 and {of}={whole[wrong][0]:g}")


def check_metric(rho: ArrayLike, eta: ArrayLike) -> None:
    """Raise InputError unless rho and eta are probabilities and tell adequate from inadequate outputs."""
    rho, eta = np.broadcast_arrays(np.asarray(rho, float), np.asarray(eta, float))
    for name, value in (("rho", rho), ("eta", eta)):
        wrong = ~((value >= 0) & (value <= 1))
        if wrong.any():
            raise InputError(f"{name}={value[wrong][0]:g} is not a probability; give a number from 0 to 1")
    # Decimal shares that add up to 1 need not do so exactly in binary.
    idle = np.abs(rho + eta - 1) < 1e-9
    if idle.any():
        raise InputError(
            f"rho={rho[idle][0]:g} and eta={eta[idle][0]:g} add up to 1: such a metric says 'adequate' as often of"
            " inadequate outputs as of adequate ones, so its ratings carry no information; change one of them"
        )


def _metric(m: ArrayLike, rho: Any, eta: Any, calibration: Calibration | None) -> list[ArrayLike]:
    """Return (rho, eta) or (TP, P, TN, N), checked; a perfect metric where there are no metric ratings."""
    if calibration is not None:
        if rho is not None or eta is not None:
            raise InputError("rho and eta are either given or estimated from a calibration; leave one of the two out")
        check_counts("TP", calibration[0], "P", calibration[1])
        check_counts("TN", calibration[2], "N", calibration[3])
        return list(calibration)
    if rho is None or eta is None:
        if np.any(np.asarray(m) > 0):
            raise InputError("metric ratings need rho and eta, or a calibration that they are estimated from")
        return [1.0, 1.0]
    rated = np.asarray(m) > 0
    # Where there are no metric ratings rho and eta are never used, so they may even add up to 1.
    check_metric(np.where(rated, rho, 1.0), np.where(rated, eta, 1.0))
    return [rho, eta]


class AlphaPosterior(NamedTuple):
    """Posterior of alpha, arrays of one shape; `low`, `high` bound the equal-tailed interval.

    `mode` is NaN where the density is flat.
    """

    mean: Floats
    sd: Floats
    mode: Floats
    low: Floats
    high: Floats


def posterior_rows(rows: list[Floats], constrain: bool, level: float = 0.05) -> AlphaPosterior:
    """Infer alpha from checked columns n_plus, n, m_plus, m and rho, eta or TP, P, TN, N, each `[row]`."""
    posterior = beta_posterior(rows[0], rows[1], level)
    mixed = np.flatnonzero(rows[3] > 0)
    for start in range(0, len(mixed), BLOCK):
        some = mixed[start : start + BLOCK]
        block = [x[some] for x in rows]
        for whole, part in zip(posterior, integrate(block, constrain, level), strict=True):
            whole[some] = part
    return posterior


def beta_posterior(n_plus: Floats, n: Floats, level: float) -> AlphaPosterior:
    """Return the posterior given error-free ratings: Beta(n_plus + 1, n - n_plus + 1)."""
    first, second = n_plus + 1.0, n - n_plus + 1.0
    mean = first / (n + 2)
    mode = np.divide(n_plus, n, out=np.full_like(mean, np.nan), where=n > 0)
    bounds = (betaincinv(first, second, p) for p in (level / 2, 1 - level / 2))
    return AlphaPosterior(mean, np.sqrt(mean * (1 - mean) / (n + 3)), mode, *bounds)


def integrate(rows: list[Floats], constrain: bool, level: float) -> AlphaPosterior:
    """Integrate over alpha given columns n_plus, n, m_plus, m and rho, eta or TP, P, TN, N, each `[row]`."""
    n_plus, n, *metric = rows
    rule, log_likelihood = ratings(metric, n_plus[:, None], n[:, None], constrain, PANELS, PER_PANEL)
    log_density = log_likelihood + likelihood.human_log_likelihood(rule.alpha, n_plus[:, None, None], n[:, None, None])
    share = shares(rule, log_density)
    mean, sd = moments(rule, share)
    bounds = (_quantile(rule, share, p) for p in (level / 2, 1 - level / 2))
    return AlphaPosterior(mean, sd, _mode(rule, log_density), *bounds)


def ratings(
    metric: list[Floats],
    n_plus: Floats,
    n: Floats,
    constrain: bool,
    panels: int,
    k: int,
    sizes: tuple[int, int] = likelihood.SIZES,
) -> tuple[Nodes, Floats]:
    """Return nodes over alpha, and the log-likelihood of the metric's ratings there, `[row, panel, k]`.

    `metric` holds m_plus, m and rho, eta or TP, P, TN, N, each `[row]`; nodes serve all human counts `[row, variant]`.
    The likelihood does not depend on them, so it is computed once and human counts are varied at little cost. `sizes`:
    nodes over rho, eta and q at each alpha.
    """
    m_plus, m, *quality = metric
    given = likelihood.evidence(m_plus, m, quality, constrain) if len(quality) == 4 else None

    def approximate_log_likelihood(alpha: Floats) -> Floats:
        own = likelihood.human_log_likelihood(alpha[:, None], n_plus[..., None], n[..., None])
        other = (
            likelihood.log_likelihood_at_known_rates(alpha, *metric)
            if given is None
            else likelihood.sketch(alpha, given)
        )
        return np.asarray(own + other[:, None])

    if given is None:
        rule = nodes(approximate_log_likelihood, len(m), panels, k)
        return rule, likelihood.log_likelihood_at_known_rates(rule.alpha, *metric)
    # Where rho and eta are all but unknown, the likelihood has a kink where a metric that is always right about one
    # class and always wrong about the other fits: alpha rho + (1 - alpha)(1 - eta) = q at rho, 1 - eta = 1, 0 or 0, 1.
    q = (m_plus + 1) / (m + 2)
    rule = nodes(approximate_log_likelihood, len(m), panels, k, kinks=np.stack([q, 1 - q], axis=1))
    return rule, likelihood.log_likelihood_without_rates(rule.alpha.reshape(len(m), -1), given, sizes).reshape(
        rule.alpha.shape
    )


def shares(rule: Nodes, log_density: Floats) -> Floats:
    """Return the posterior's mass at each node, adding up to one over panels and nodes (the last two axes)."""
    mass = rule.weight * np.exp(log_density - log_density.max((-2, -1), keepdims=True))
    return np.asarray(mass / mass.sum((-2, -1), keepdims=True))


def moments(rule: Nodes, share: Floats) -> tuple[Floats, Floats]:
    """Return mean and standard deviation of alpha from the posterior's mass `share` at each node."""
    mean = np.einsum("...pk,...pk->...", share, rule.alpha)
    off = rule.alpha - mean[..., None, None]
    return mean, np.sqrt(np.einsum("...pk,...pk,...pk->...", share, off, off))


def _quantile(rule: Nodes, share: Floats, p: float) -> Floats:
    """Find where the distribution function passes p: in its panel it is a polynomial, between two nodes a parabola."""
    per_panel = share.sum(-1)
    before = np.cumsum(per_panel, axis=1) - per_panel
    at_nodes = before[..., None] + share / legendre(share.shape[-1])[1] @ cumulative_weights(share.shape[-1]).T
    density = np.divide(share, rule.weight, out=np.zeros_like(share), where=rule.weight > 0)
    alpha, below, height = (x.reshape(len(share), -1) for x in (rule.alpha, at_nodes, density))
    last = np.clip((below < p).sum(1), 1, alpha.shape[1] - 1)
    rows = np.arange(len(share))
    (a0, f0, d0), (a1, f1, d1) = ([x[rows, last - k] for x in (alpha, below, height)] for k in (1, 0))
    part = np.clip((p - f0) / np.maximum(f1 - f0, 1e-300), 0.0, 1.0)
    # This form of the root of the quadratic does not divide by d1 - d0, which is 0 where the density is flat.
    root = d0 + np.sqrt(np.maximum(d0 * d0 + (d1 - d0) * part * (d0 + d1), 0.0))
    step = np.divide(part * (d0 + d1), root, out=part.copy(), where=root > 0)
    return np.asarray(a0 + (a1 - a0) * step)


def _mode(rule: Nodes, log_density: Floats) -> Floats:
    """Put a parabola through the highest node and its neighbours; beyond the last node the mode is 0 or 1."""
    rows = np.arange(len(log_density))
    alpha, height = (x.reshape(len(rows), -1) for x in (rule.alpha, log_density))
    top = height.argmax(1)
    at = np.clip(top, 1, alpha.shape[1] - 2)
    (x0, x1, x2), (y0, y1, y2) = ([v[rows, at + d] for d in (-1, 0, 1)] for v in (alpha, height))
    with np.errstate(divide="ignore", invalid="ignore"):
        left, right = (y1 - y0) / (x1 - x0), (y2 - y1) / (x2 - x1)
        bend = (right - left) / (x2 - x0)
        inside = (x0 + x1) / 2 - left / (2 * np.where(bend < 0, bend, -1.0))
    # Two nodes meet where a panel has no width.
    inside = np.where(np.isfinite(inside), inside, x1)
    mode = np.clip(inside, alpha[rows, np.maximum(top - 1, 0)], alpha[rows, np.minimum(top + 1, alpha.shape[1] - 1)])
    return np.where(top == 0, 0.0, np.where(top == alpha.shape[1] - 1, 1.0, mode))
