"""Infer the share alpha of adequate outputs of a system from human ratings, metric ratings, or both.

Source: von Däniken et al. 2022, "On the Effectiveness of Automated Metrics for Text Generation Systems", section 3:
error-free ratings, error-prone ratings with rho and eta provided or estimated, and the mixed case.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from simlab.analysis.adequacy.quadrature import Posterior, posterior_rows
from simlab.types import InputError

Calibration = tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike]
"""TP of P outputs that are adequate, and TN of N that are not, were rated so by the metric; in this order."""


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
) -> Posterior:
    """Infer alpha from `n_plus` of `n` adequate by human and `m_plus` of `m` by metric ratings; all broadcast.

    The prior is uniform. The metric's `rho` and `eta` are given, or estimated from `calibration` = (TP, P, TN, N) with
    uniform priors; `constrain` adds to these that rho + eta > 1. A metric with rho + eta < 1 needs no turning round
    here: its ratings say the same either way. Without metric ratings the posterior is a Beta distribution, exactly.
    `method="nuts"` samples with NumPyro as published, one setting at a time, and `seed` is its seed.

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
        from simlab.analysis.adequacy.nuts import nuts

        inferred = nuts(*rows[:4], metric=rows[4:], constrain=constrain, level=level, seed=seed)
    elif method == "quadrature":
        inferred = posterior_rows(rows, constrain, level)
    else:
        raise InputError(f"method={method} is neither quadrature nor nuts")
    return Posterior(*(x.reshape(arrays[0].shape) for x in inferred))


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
    check_metric(np.where(rated, rho, 1.0), np.where(rated, eta, 1.0))
    return [rho, eta]
