"""Calculate the power to detect a difference of alpha (share of adequate outputs) with one shared calibration.

The calibration estimates the metric's rho and eta: how often it calls adequate outputs adequate, and others inadequate.
`constrain`: rho + eta > 1 is taken as known.

`analysis.estimator.sharing=joint` calls two systems different where the posterior probability of the less likely sign
is below half the level. At expected, unrounded counts that probability is a normal quantile T, around which studies
scatter with a standard deviation close to 1: rho and eta, which scale the difference, do not change its sign. (Mean
over standard deviation of the difference would not do: both grow as rho + eta - 1 turns out small.)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from simlab.analysis.adequacy.joint import BLOCK, AdequacyCounts, integrate_alpha, plane
from simlab.analysis.adequacy.measurable_difference import approximate_power, detectable_difference, joint_difference
from simlab.analysis.adequacy.plans import (
    Plan,
    PlannedCounts,
    check,
    critical_value,
    other_alpha,
    ravel,
    set_expected_counts,
)
from simlab.types import Floats, InputError

STEPS = 3
"""Fixed-point steps of `joint_detectable_difference`."""


def joint_power(plan: Plan[ArrayLike], difference: float, *, level: float = 0.05, constrain: bool = False) -> Floats:
    """Return how often a true `difference` is found between systems that share the plan's calibration; all broadcast.

    The other system is worse than one from .5 on, better than one below; the calibration holds as many outputs of both.
    NaN where there is no rating; differences found in the wrong direction do not count. With rho and eta known it is
    `approximate_power`.

    Raises InputError for a plan that cannot be, and a `difference` that no other alpha can have.

    With 94 human and 5,000 metric ratings, rho = eta = .8, alpha = .6 and 50 calibration outputs:

    >>> joint_power(Plan(94, 5000, .8, .8, .6, 50), .06).round(2).tolist()
    0.96
    """
    checked, flipped = check(plan, level)
    if checked.n_calibration is None:
        return approximate_power(plan, difference, level=level, constrain=constrain)
    rows = ravel(checked)
    power = ndtr(_expected_quantile(rows, difference, constrain) - critical_value(level))
    return np.where(rows.n_human + rows.n_metric > 0, power, np.nan).reshape(flipped.shape)


def joint_detectable_difference(
    plan: Plan[ArrayLike], *, power: float = 0.8, level: float = 0.05, constrain: bool = False
) -> Floats:
    """Return the true difference that `joint_power` finds with a power; NaN where no other system is different enough.

    Raises InputError for a plan that cannot be, and a power that is not from .5 to below 1.
    """
    checked, flipped = check(plan, level)
    if checked.n_calibration is None:
        return detectable_difference(plan, power=power, level=level, constrain=constrain)
    if not 0.5 <= power < 1:
        raise InputError(f"power={power:g} is not from .5 to below 1")
    rows = ravel(checked)
    farthest = np.maximum(rows.alpha, 1 - rows.alpha)
    wanted = critical_value(level) + float(ndtri(power))
    # The search starts from what `joint_difference` calls detectable.
    apart = wanted / critical_value(level) * joint_difference(rows, level=level, constrain=constrain).epsilon
    step = apart
    # T is nearly proportional to the difference, so few steps reach the fixed point.
    for _ in range(STEPS):
        apart = np.minimum(step, farthest)
        step = apart * wanted / np.maximum(_expected_quantile(rows, apart, constrain), 1e-9)
    rated = rows.n_human + rows.n_metric > 0
    return np.where(rated & (step <= farthest), step, np.nan).reshape(flipped.shape)


def _expected_quantile(rows: Plan[Floats], difference: Floats | float, constrain: bool) -> Floats:
    """Return T `[row]`: minus the normal quantile of the probability that the worse system is the better one."""
    away = other_alpha(rows.alpha, difference)
    first, second = (set_expected_counts(rows._replace(alpha=alpha), whole=False) for alpha in (rows.alpha, away))
    both = set_expected_counts(rows._replace(alpha=(rows.alpha + away) / 2), whole=False)
    tail = np.empty(len(rows.alpha))
    for start in range(0, len(tail), BLOCK):
        some = slice(start, start + BLOCK)
        tail[some] = _tail(first.counts.rows(some), second.counts.rows(some), _rows(both, some), constrain)
    # The other system is the worse one from alpha = .5 on and the better one below, so the tail changes its side.
    return np.asarray(-ndtri(np.clip(np.where(rows.alpha >= 0.5, tail, 1 - tail), 1e-300, 1.0)))


def _rows(planned: PlannedCounts, some: slice) -> list[Floats]:
    if planned.calibration is None:
        raise ValueError("where rho and eta are known there is no calibration")
    return [counts[some] for counts in planned.calibration]


def _tail(
    first_system: AdequacyCounts, second_system: AdequacyCounts, calibration: list[Floats], constrain: bool
) -> Floats:
    """Return the posterior probability `[row]` that the first system's alpha is the smaller one."""
    rho, eta, log_weight = plane([first_system, second_system], calibration, constrain)
    first, second = integrate_alpha(rho, eta, first_system), integrate_alpha(rho, eta, second_system)
    log_weight = log_weight + first.log_evidence + second.log_evidence
    weight = np.exp(log_weight - log_weight.max(1, keepdims=True))
    sd = np.sqrt(np.maximum(first.variance + second.variance, 1e-300))
    return np.asarray((weight * ndtr((second.mean - first.mean) / sd)).sum(1) / weight.sum(1))
