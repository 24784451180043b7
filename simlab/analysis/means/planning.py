"""Plan how many judgements a mean needs: data efficiency, sample size, split of a budget, price of precision.

f is an output's expected judgement. Variances are that of f over outputs, `signal_variance = sigma_f^2`, and that of a
judgement about f, `annotator_variance = sigma_a^2`; `gamma = sigma_a^2 / sigma_f^2`, and `correlation`, rho, is that
of the metric with f. Data efficiency is the number of judgements without the metric that do as much as one with it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from simlab.analysis.means.estimates import check_at_least, check_correlation, check_level, reject
from simlab.types import Floats


class Split(NamedTuple):
    """Split of a budget: human `judgements`, `metric_only` outputs beside them (0: do without the metric).

    `variance` is that of PPI++ with this split, in units of the variance of one judgement.
    """

    judgements: Floats
    metric_only: Floats
    variance: Floats


def data_efficiency(correlation: ArrayLike, gamma: ArrayLike, fraction: ArrayLike | None = None) -> Floats:
    """Return how many judgements without the metric do as much as one with it: a ratio of variances.

    `(1 + gamma) / (1 - rho^2 + gamma)`, at most `(1 + gamma) / gamma`. That assumes outputs drawn with replacement; if
    a `fraction` of a finite test set is drawn without, `((1 - f) + gamma) / ((1 - f)(1 - rho^2) + gamma)`, since what
    the metric could tell of an exhausted test set is known anyway. Infinite where nothing is left to estimate.

    Raises InputError where |correlation| > 1, gamma < 0, or a fraction is outside [0, 1].
    Source: Chaganty, Mussmann and Liang 2018, equation 7.

    >>> float(data_efficiency(1.0, 0.5)), float(data_efficiency(1.0, 0.5, fraction=0.5))
    (3.0, 2.0)
    """
    rho, noise = np.asarray(correlation, float), np.asarray(gamma, float)
    left = 1.0 - np.asarray(0.0 if fraction is None else fraction, float)
    check_correlation(rho)
    check_at_least("gamma", noise, 0.0)
    reject(bool(np.any((left < 0) | (left > 1))), "fraction: must lie between 0 and 1; divide by the test set's size")
    without, with_metric = np.broadcast_arrays(left + noise, left * (1 - rho**2) + noise)
    return np.asarray(np.divide(without, with_metric, out=np.full(without.shape, np.inf), where=with_metric > 0))


def judgements_for_variance(
    variance: ArrayLike,
    signal_variance: ArrayLike,
    annotator_variance: ArrayLike,
    correlation: ArrayLike = 0.0,
    size: ArrayLike = np.inf,
) -> Floats:
    """Return the least number of judgements that brings the variance of the mean down to `variance`.

    `(sigma_f^2 (1 - rho^2) (1 - n / size) + sigma_a^2) / n`; correlation 0 is the sample mean, `size` that of a
    test set drawn from without replacement. May exceed `size`: then outputs have to be judged more than once. The
    coefficient counts as known. Raises InputError for impossible variances, correlations or sizes.
    Source: Chaganty et al. 2018, equation 6.

    >>> float(judgements_for_variance(0.01, 0.28, 0.28)), float(judgements_for_variance(0.01, 0.28, 0.28, 0.5))
    (56.0, 49.0)
    """
    target, f, a, rho, whole = (
        np.asarray(part, float) for part in (variance, signal_variance, annotator_variance, correlation, size)
    )
    check_correlation(rho)
    check_at_least("size", whole, 1.0)
    for name, part in (("signal_variance", f), ("annotator_variance", a)):
        check_at_least(name, part, 0.0)
    reject(bool(np.any(~(target > 0))), "variance: must be above 0; ask for one that judgements can reach")
    left = f * (1 - rho**2)
    # Rounding must not ask for one more.
    return np.asarray(np.ceil((left + a) / (target + left / whole) * (1 - 1e-12)))


def judgements_for_width(
    width: ArrayLike,
    signal_variance: ArrayLike,
    annotator_variance: ArrayLike,
    correlation: ArrayLike = 0.0,
    size: ArrayLike = np.inf,
    level: float = 0.05,
) -> Floats:
    """Return the least number of judgements that brings the normal `1 - level` interval down to `width`.

    Raises InputError as `judgements_for_variance`, and for widths that are not positive or levels outside (0, 1).

    >>> float(judgements_for_width(0.1, 0.28, 0.28))
    861.0
    """
    check_level(level)
    wanted = np.asarray(width, float)
    reject(bool(np.any(~(wanted > 0))), "width: must be above 0; ask for one that judgements can reach")
    variance = (wanted / (2 * ndtri(1 - level / 2))) ** 2
    return judgements_for_variance(variance, signal_variance, annotator_variance, correlation, size)


def split_budget(
    budget: ArrayLike, judgement_price: ArrayLike, metric_price: ArrayLike, correlation: ArrayLike
) -> Split:
    """Split a budget between human judgements and metric scores so that PPI++ is most precise.

    `correlation` is that of the metric with a *single judgement*, `r = rho / sqrt(1 + gamma)`. With n judgements and
    M = n + N scored outputs the variance is `(1 - r^2) / n + r^2 / M`, the cost `judgement_price n + metric_price M`,
    so `n : M = sqrt((1 - r^2) / judgement_price) : |r| / sqrt(metric_price)`. The metric pays only where that beats the
    plain mean, which it does iff `sqrt(metric_price / judgement_price) < tan(asin(|r|) / 2)`. Numbers are not rounded;
    with a free metric `metric_only` is infinite, with |r| = 1 and a priced one the ratio is kept to M > n = 0 and has
    no solution: InputError, as for prices and budgets that are not positive.

    >>> split = split_budget(1000.0, 0.15, 0.001, 0.4)
    >>> float(split.judgements.round()), float(split.metric_only.round()), float(split.variance.round(6))
    (6437.0, 27971.0, 0.000135)
    """
    money, human, metric, r = np.broadcast_arrays(
        *(np.asarray(part, float) for part in (budget, judgement_price, metric_price, np.abs(correlation)))
    )
    check_correlation(r)
    reject(
        bool(np.any(r == 1)), "correlation: a metric that equals the judgement needs no judgements; give one below 1"
    )
    reject(bool(np.any(~((money > 0) & (human > 0)))), "budget and judgement_price must be above 0; correct them")
    check_at_least("metric_price", metric, 0.0)
    root = np.sqrt((1 - r**2) * human) + r * np.sqrt(metric)
    # root^2 over the budget is the variance with the metric, the price of a judgement over it that without.
    pays = root**2 < human
    n = np.where(pays, money * np.sqrt((1 - r**2) / human) / root, money / human)
    scored = np.divide(money - n * human, metric, out=np.full(n.shape, np.inf), where=metric > 0)
    variance = np.where(pays, root**2, human) / money
    return Split(n, np.where(pays, scored - n, 0.0), variance)


def price_of_precision(
    price: ArrayLike, gamma: ArrayLike, correlation: ArrayLike = 0.0, signal_variance: ArrayLike = 1.0
) -> Floats:
    """Return what a prompt costs per unit of precision (1 / variance): `price sigma_f^2 (1 - rho^2 + gamma)`.

    The cheaper prompt has the lower value. Prompts whose scales differ are compared at `signal_variance` 1, so that
    precision is relative to how much outputs differ. Raises InputError for impossible arguments.

    >>> price_of_precision(np.array([0.15, 0.40]), np.array([1.0, 0.36])).round(3).tolist()
    [0.3, 0.544]
    """
    cost, noise, rho, f = (np.asarray(part, float) for part in (price, gamma, correlation, signal_variance))
    check_correlation(rho)
    for name, part in (("price", cost), ("gamma", noise), ("signal_variance", f)):
        check_at_least(name, part, 0.0)
    return np.asarray(cost * f * (1 - rho**2 + noise))
