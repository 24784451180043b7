"""Compute intervals of a prediction from simulated worlds, without the noise of the simulations.

Call `prediction_interval` on values and errors of worlds; it returns (low, high). `widen_by_chance` widens one of a
share.
"""

from __future__ import annotations

import numpy as np

from simlab.fitting.report import INTERVAL
from simlab.types import Floats

# Spreads of the truth up to three times that of what was simulated, and errors from a third to three times as large.
_SPREADS, _ERRORS = np.linspace(0, 3, 61)[:, None], np.exp(np.linspace(-1.2, 1.2, 25))


def prediction_interval(values: Floats, errors: Floats, noise: float = 0.0) -> tuple[float, float]:
    """Return the 90 % interval (low, high) of a prediction: `values[world]` with standard errors `errors[world]`.

    World b's value is its true value and an error of simulation of variance `v_b = errors[b]^2`: `s_b = theta_b + e_b`.
    Values spread by `Var(theta) + mean v_b`, so that percentiles of s_b are too wide: twice, where the
    noise is twice the spread. Values are drawn to their mean by `sqrt(S2 / Var(s_b))`, S2 as `spread_of_truth` has it.
    To be held against a truth that was measured with an error, too, its variance `noise` is added back to S2.
    Percentiles are those between which a further value of the same law lies as often as they say.
    """
    spread = float(values.var(ddof=1)) if len(values) > 1 else 0.0
    scale = np.sqrt((spread_of_truth(values, errors) + noise) / spread) if spread > 0 else 0.0
    low, high = np.quantile(values.mean() + scale * (values - values.mean()), INTERVAL, method="weibull")
    return float(low), float(high)


def widen_by_chance(value: float, low: float, high: float, worlds: int) -> tuple[float, float]:
    """Return an interval of a share, at least as wide as the number of simulated `worlds` leaves it.

    Where every study comes out alike quantiles over worlds have no width, and still say nothing of what is rarer than
    once in so many worlds: 90 % bounds of a binomial share with a trial for each world, since studies of one world are
    not independent. Source: Clopper and Pearson 1934.

    >>> tuple(round(bound, 4) for bound in widen_by_chance(1.0, 1.0, 1.0, 100))
    (0.9705, 1.0)
    """
    from scipy.special import betaincinv

    hits, (below, above) = value * worlds, INTERVAL
    least = betaincinv(hits, worlds - hits + 1, below) if hits > 0 else 0.0
    most = betaincinv(hits + 1, worlds - hits, above) if hits < worlds else 1.0
    return float(min(low, least)), float(max(high, most))


def spread_of_truth(values: Floats, errors: Floats) -> float:
    """Return S2, the variance of theta that is left of `Var(s_b)` once the mean of `v_b` is taken out.

    The difference of both is right on average, and 0 half the time where simulations are noisy: intervals made of it
    hold .5 to .8 of what they should with 30 worlds. So it is the posterior mean, given both variances, each as certain
    as so many worlds make it (a prior flat in the standard deviation, one degree of freedom for each error). Errors
    that are not known (NaN: a single set of studies) are left in.
    """
    known = errors[np.isfinite(errors)]
    spread = float(values.var(ddof=1)) if len(values) > 1 else 0.0
    noise = float((known**2).mean()) if len(known) else 0.0
    if spread == 0 or noise == 0:
        return spread
    theta, error = _SPREADS**2 * spread, _ERRORS * noise
    total = theta + error
    log = -(len(values) - 1) / 2 * (np.log(total) + spread / total) - len(known) / 2 * (np.log(error) + noise / error)
    weight = np.exp(log - log.max())
    return float((weight * theta).sum() / weight.sum())
