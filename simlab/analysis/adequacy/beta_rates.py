"""Say what a calibration alone tells of a metric: rho and eta have independent Beta laws."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import betainc, betaincinv

from simlab.analysis.adequacy.mixtures import quantile
from simlab.analysis.adequacy.nodes import legendre
from simlab.types import Floats

NODES = 48


def youden_of(calibration: Floats, constrain: bool, level: float) -> tuple[Floats, Floats, Floats]:
    """Return mean and bounds of rho + eta - 1 `[row]` from `calibration[row, 4]` (TP, P, TN, N), uniform priors.

    `constrain`: rho + eta > 1 is known. The law of the sum is integrated over the quantiles of rho. Rows that share
    their calibration share what it tells.
    """
    rows = len(calibration)
    shared = rows > 1 and bool((calibration == calibration[0]).all())
    found = _youden(np.asarray(calibration[:1] if shared else calibration, float).tobytes(), constrain, level)
    mean, low, high = (np.repeat(part, rows if shared else 1) for part in found)
    return mean, low, high


@lru_cache(256)
def _youden(counts: bytes, constrain: bool, level: float) -> tuple[Floats, Floats, Floats]:
    """Work it out once for all cells that are told the same of a metric, whatever else they pay for."""
    tp, p, tn, n = np.frombuffer(counts).reshape(-1, 4).T
    node, part = legendre(NODES)
    rho = betaincinv(tp[:, None] + 1, (p - tp)[:, None] + 1, node)

    def unconstrained(x: Floats) -> Floats:
        eta = np.clip(x[:, None] + 1 - rho, 0, 1)
        return np.asarray((part * betainc(tn[:, None] + 1, (n - tn)[:, None] + 1, eta)).sum(1))

    worse = unconstrained(np.zeros(len(p))) if constrain else np.zeros(len(p))

    def distribution(x: Floats) -> Floats:
        return np.asarray(np.maximum(unconstrained(x) - worse, 0.0) / (1 - worse))

    low, high = (quantile(q, distribution, len(p), within=1.0) for q in (level / 2, 1 - level / 2))
    if not constrain:
        return (tp + 1) / (p + 2) + (tn + 1) / (n + 2) - 1, low, high
    # The mean of what lies above 0 is the integral of the probability of being above x.
    above = [1 - distribution(np.full(len(p), x)) for x in node]
    return np.asarray(part @ above), low, high
