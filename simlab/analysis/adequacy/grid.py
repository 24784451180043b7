"""Compute the measurable difference epsilon of two systems' alphas for whole grids of settings.

alpha is the share of a system's outputs that are adequate; rho and eta are the probabilities that the metric calls
adequate outputs adequate, and others inadequate. `constrain`: rho + eta > 1 is taken as known.
`measurable_grid` takes counts of ratings at their expectation, one epsilon per setting; `drawn_differences` draws the
counts, one epsilon per draw. Both compute once the parts that several settings share.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from simlab.analysis.adequacy import likelihood, posterior
from simlab.analysis.adequacy.likelihood import Nodes
from simlab.analysis.adequacy.plans import (
    Plan,
    adequate_call_probability,
    check,
    critical_value,
    map_arrays,
    other_alpha,
    ravel,
    set_expected_counts,
)
from simlab.rng import stream
from simlab.types import Floats, InputError

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
ROWS = 256
"""Posteriors of the metric's ratings in one task."""
PANELS_OF_DRAWN = 32
"""More nodes than at expected counts: humans and a metric that are drawn contradict each other now and then."""


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

    Source: von Däniken et al. 2022, sections 3 and 4.

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
        epsilon[:, some] = _block(map_arrays(rows, lambda x: x[some]), human, level, constrain).T

    with ThreadPoolExecutor(jobs or os.cpu_count()) as pool:
        list(pool.map(fill, range(0, len(rows.alpha), BLOCK)))
    return epsilon.reshape(len(human), *rest[0].shape)


def _block(rows: Plan[Floats], human: Floats, level: float, constrain: bool) -> Floats:
    """Return epsilon `[row, human]` of settings that each meet all numbers of human ratings."""
    each = [set_expected_counts(rows._replace(n_human=np.full_like(rows.alpha, n))).counts.n_plus for n in human]
    plan = set_expected_counts(rows)
    n_plus, n = np.stack(each, axis=1), np.broadcast_to(human, (len(rows.alpha), len(human)))
    metric = [plan.counts.m_plus, plan.counts.m, *(plan.calibration or plan.quality)]
    sd = posterior.beta_posterior(n_plus, n, level).sd
    rated = np.flatnonzero(plan.counts.m > 0)
    if len(rated):
        sd[rated] = moments([x[rated] for x in metric], n_plus[rated], n[rated], constrain)[1]
    # With no rating at all the published epsilon is 1 by convention; the formula would give .80.
    return np.where((n > 0) | (plan.counts.m > 0)[:, None], critical_value(level) * np.sqrt(2) * sd, 1.0)


def moments(
    metric: list[Floats], n_plus: Floats, n: Floats, constrain: bool, panels: int = PANELS
) -> tuple[Floats, Floats]:
    """Return the posterior mean and standard deviation of alpha for each of several human counts `[row, variant]`.

    `n_plus` of `n` human ratings `[row, variant]` say adequate; `metric` holds m_plus and m (the same of the metric's
    ratings) and rho, eta or TP, P, TN, N (see `posterior.Calibration`), each `[row]`. `panels`: of the quadrature.
    """
    rule, log_likelihood = posterior.ratings(metric, n_plus, n, constrain, panels, PER_PANEL, SIZES)
    log_density = log_likelihood[:, None] + likelihood.human_log_likelihood(
        rule.alpha[:, None], n_plus[..., None, None], n[..., None, None]
    )
    share = posterior.shares(Nodes(rule.alpha[:, None], rule.weight[:, None]), log_density)
    # Moments as matrix products: shares of all variants meet the same nodes.
    alpha, flat = rule.alpha.reshape(len(n), -1, 1), share.reshape(*n.shape, -1)
    mean = (flat @ alpha)[..., 0]
    off = alpha[..., 0][:, None] - mean[..., None]
    return mean, np.asarray(np.sqrt(np.einsum("rvk,rvk,rvk->rv", flat, off, off)))


class DrawnDifferences(NamedTuple):
    """Draws of the measurable difference and of whether a difference was found, `[..., draw]`.

    `found` is 0 or 1; NaN where no difference was asked about, and where there is no rating.
    """

    epsilon: Floats
    found: Floats


class MetricSetting(NamedTuple):
    """A plan without its number of human ratings: settings that differ only there share the metric's draws."""

    n_metric: float
    rho: float
    eta: float
    alpha: float
    n_calibration: float | None = None


def drawn_differences(
    plan: Plan[ArrayLike],
    *,
    draws: int = 50,
    seed: int = 0,
    difference: float | None = None,
    level: float = 0.05,
    constrain: bool = False,
    jobs: int | None = None,
) -> DrawnDifferences:
    """Draw the counts of every setting of a plan; all broadcast. Settings that differ in n_human share the metric's.

    With a `difference` a second system is drawn, too: worse by it where alpha is at least .5, else better. It is
    `found` where the two are told apart. Draws of a setting are the same whatever the others are.

    Raises InputError for a plan that cannot be, fewer than 2 draws, and a `difference` that no other alpha can have.

    >>> one = drawn_differences(Plan([0, 100], 1000, 0.7, 0.7, 0.6), draws=20)
    >>> one.epsilon.mean(-1).round(3).tolist()
    [0.109, 0.085]
    """
    if draws < 2:
        raise InputError(f"draws={draws} is fewer than 2; an error needs at least two draws")
    checked, flipped = check(plan, level)
    rows = ravel(checked)
    if difference is not None:
        other_alpha(rows.alpha, difference)
    human, which = np.unique(rows.n_human, return_inverse=True)
    sides = np.stack([x for x in rows[1:] if x is not None], axis=1)
    settings, at = np.unique(sides, axis=0, return_inverse=True)
    step = max(ROWS // draws, 1)

    def slice_rows(start: int) -> Floats:
        block = [MetricSetting(*map(float, setting)) for setting in settings[start : start + step]]
        return _drawn_block(block, human, draws, seed, difference, level, constrain)

    with ThreadPoolExecutor(jobs or os.cpu_count()) as pool:
        blocks = np.concatenate(list(pool.map(slice_rows, range(0, len(settings), step))))
    each = blocks[at.ravel(), :, which.ravel()]
    return DrawnDifferences(*(each[..., k].reshape(*flipped.shape, draws) for k in range(2)))


def _drawn_block(
    settings: Sequence[MetricSetting],
    human: Floats,
    draws: int,
    seed: int,
    difference: float | None,
    level: float,
    constrain: bool,
) -> Floats:
    """Return epsilon and `found` (the last axis) of settings, `[setting, draw, human, 2]`."""
    mean, sd = _posteriors(settings, human, draws, seed, "one", constrain)
    rated = (human > 0) | (np.array([s.n_metric for s in settings]) > 0)[:, None, None]
    epsilon = np.where(rated, critical_value(level) * np.sqrt(2) * sd, 1.0)
    differs = np.full(sd.shape, np.nan)
    if difference is not None:
        away = [s._replace(alpha=float(other_alpha(np.array(s.alpha), difference))) for s in settings]
        other, spread = _posteriors(away, human, draws, seed, "other", constrain)
        differs = np.where(rated, np.abs(mean - other) > critical_value(level) * np.hypot(sd, spread), np.nan)
    return np.stack([epsilon, differs], axis=-1)


def _posteriors(
    settings: Sequence[MetricSetting], human: Floats, draws: int, seed: int, which: str, constrain: bool
) -> tuple[Floats, Floats]:
    """Return mean and standard deviation of alpha `[setting, draw, human]`."""
    metric, n_plus = zip(*(_counts(setting, human, draws, seed, which) for setting in settings), strict=True)
    counts, plus = np.concatenate(metric, axis=1), np.concatenate(n_plus)
    n = np.broadcast_to(human, plus.shape)
    mean, sd = np.empty(plus.shape), np.empty(plus.shape)
    rated = np.repeat([setting.n_metric > 0 for setting in settings], draws)
    # Without metric ratings the posterior is a Beta law, exactly; the level only moves bounds, which are not used here.
    bare = posterior.beta_posterior(plus[~rated], n[~rated], 0.05)
    mean[~rated], sd[~rated] = bare.mean, bare.sd
    if rated.any():
        mean[rated], sd[rated] = moments(list(counts[:, rated]), plus[rated], n[rated], constrain, PANELS_OF_DRAWN)
    shape = (len(settings), draws, len(human))
    return mean.reshape(shape), sd.reshape(shape)


def _counts(setting: MetricSetting, human: Floats, draws: int, seed: int, which: str) -> tuple[Floats, Floats]:
    """Draw the metric's m_plus, m and rho, eta or TP, P, TN, N `[4 or 6, draw]`, and humans' n_plus `[draw, human]`.

    `human` are the numbers of human ratings; `which` names the system, so that two draw independently.
    Draws have the address of their setting, so that a grid with more settings repeats them.
    """
    n_metric, rho, eta, alpha, n_calibration = setting
    # An address that names no class: a class that is renamed moves no draw.
    named = ", ".join(f"{name}={value!r}" for name, value in setting._asdict().items())
    rng = stream(seed, "drawn_differences", which, f"Setting({named})")
    # Rounding can put q a hair outside [0, 1], which the binomial generator refuses.
    q = float(np.clip(adequate_call_probability(Plan(*np.array([0, n_metric, rho, eta, alpha]))), 0, 1))
    counts = [rng.binomial(int(n_metric), q, draws), np.full(draws, n_metric)]
    if n_calibration is None:
        counts += [np.full(draws, rho), np.full(draws, eta)]
    else:
        p = rng.binomial(int(n_calibration), alpha, draws)
        n = int(n_calibration) - p
        counts += [rng.binomial(p, rho), p, rng.binomial(n, eta), n]
    # Draws of humans have an address without the metric's side, so settings that differ only there share them.
    by_humans = [
        stream(seed, "drawn_differences", which, "human", repr(alpha), int(n)).binomial(int(n), alpha, draws)
        for n in human
    ]
    return np.stack(counts).astype(float), np.stack(by_humans, axis=1).astype(float)


def quantile(values: Floats, share: float) -> tuple[Floats, Floats]:
    """Return the `share` quantile over draws (the last axis), and the influence of each draw on it, as `values`.

    The root of the mean square of the influence over the root of the number of draws is the error of the quantile:
    half of what lies between the quantiles of one error of the share to either side (Woodruff 1952).
    """
    n = values.shape[-1]
    step = np.sqrt(share * (1 - share) / n)
    low, at, high = np.quantile(values, [max(share - step, 0), share, min(share + step, 1)], axis=-1)
    width = (high - low) / (min(share + step, 1) - max(share - step, 0))
    below = values <= at[..., None]
    off = below.mean(-1, keepdims=True) - below
    return at, off * width[..., None]
