"""Compute measurable differences on a grid of settings, sharing what settings have in common."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from simlab.analysis.adequacy import likelihood, quadrature
from simlab.analysis.adequacy.nodes import Nodes
from simlab.analysis.adequacy.plans import Plan, check, critical, each, expected, ravel
from simlab.types import Floats

PUBLISHED: Mapping[str, Sequence[float]] = {
    "n_human": (0, 10, 100, 500, 1000, 2000, 5000, 10_000),
    "n_metric": (0, 500, 1000, 5000, 10_000, 20_000, 50_000, 100_000, 1_000_000),
    "rho": (0.55, 0.65, 0.75, 0.85, 0.95),
    "eta": (0.55, 0.65, 0.75, 0.85, 0.95),
    "alpha": tuple(k / 10 for k in range(11)),
    "n_calibration": (0, 10, 100, 500, 1000, 2000, 5000, 10_000),
}
"""The grid of the published calculator, 158,400 settings."""

PANELS, PER_PANEL, SIZES = 20, 6, (8, 16)
"""Fewer nodes than for a single posterior: expected counts do not contradict each other."""

BLOCK = 32
"""Settings of the metric in one task: small enough that all cores have some."""


def measurable_grid(
    *,
    n_human: Sequence[float],
    n_metric: Sequence[float],
    rho: Sequence[float],
    eta: Sequence[float],
    alpha: Sequence[float],
    n_calibration: Sequence[float] | None,
    level: float = 0.05,
    constrain: bool = False,
    jobs: int | None = None,
) -> Floats:
    """Return the published epsilon of all combinations, one axis per argument in this order (no last one if None).

    The likelihood of the metric's ratings is computed once for all numbers of human ratings. Blocks of settings run in
    `jobs` threads, by default one per core.

    Raises InputError for counts, shares or levels that cannot be.

    >>> grid = measurable_grid(n_human=[0, 10], n_metric=[1000], rho=[.7], eta=[.7], alpha=[.6], n_calibration=None)
    >>> grid.ravel().round(3).tolist()
    [0.109, 0.106]
    """
    axes = [
        np.asarray(x, float) for x in (n_metric, rho, eta, alpha, *([] if n_calibration is None else [n_calibration]))
    ]
    rest = np.meshgrid(*axes, indexing="ij")
    checked, _ = check(Plan(np.max(n_human), *rest), level)
    rows, human = ravel(checked), np.asarray(n_human, float)
    epsilon = np.empty((len(human), len(rows.alpha)))

    def fill(start: int) -> None:
        some = slice(start, start + BLOCK)
        epsilon[:, some] = _block(each(rows, lambda x: x[some]), human, level, constrain).T

    with ThreadPoolExecutor(jobs or os.cpu_count()) as pool:
        list(pool.map(fill, range(0, len(rows.alpha), BLOCK)))
    return epsilon.reshape(len(human), *rest[0].shape)


def _block(rows: Plan[Floats], human: Floats, level: float, constrain: bool) -> Floats:
    """Return epsilon `[row, human]` of settings that each meet all numbers of human ratings."""
    each = [expected(rows._replace(n_human=np.full_like(rows.alpha, n))).counts.n_plus for n in human]
    plan = expected(rows)
    n_plus, n = np.stack(each, axis=1), np.broadcast_to(human, (len(rows.alpha), len(human)))
    metric = [plan.counts.m_plus, plan.counts.m, *(plan.calibration or plan.quality)]
    sd = quadrature.exact(n_plus, n, level).sd
    rated = np.flatnonzero(plan.counts.m > 0)
    if len(rated):
        sd[rated] = moments([x[rated] for x in metric], n_plus[rated], n[rated], constrain)[1]
    return np.where((n > 0) | (plan.counts.m > 0)[:, None], critical(level) * np.sqrt(2) * sd, 1.0)


def moments(
    metric: list[Floats], n_plus: Floats, n: Floats, constrain: bool, panels: int = PANELS
) -> tuple[Floats, Floats]:
    """Return the posterior mean and standard deviation for each of several human counts `[row, variant]`."""
    rule, log_likelihood = quadrature.ratings(metric, n_plus, n, constrain, panels, PER_PANEL, SIZES)
    log_density = log_likelihood[:, None] + likelihood.human(
        rule.alpha[:, None], n_plus[..., None, None], n[..., None, None]
    )
    share = quadrature.shares(Nodes(rule.alpha[:, None], rule.weight[:, None]), log_density)
    # Moments as matrix products: shares of all variants meet the same nodes.
    alpha, flat = rule.alpha.reshape(len(n), -1, 1), share.reshape(*n.shape, -1)
    mean = (flat @ alpha)[..., 0]
    off = alpha[..., 0][:, None] - mean[..., None]
    return mean, np.asarray(np.sqrt(np.einsum("rvk,rvk,rvk->rv", flat, off, off)))
