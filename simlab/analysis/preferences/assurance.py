"""Say how many more comparisons settle a pair that may be looked at often, and which difference would be found.

The effect of an open pair is taken to be normal around what was found: nothing else is known of it. A number of
comparisons settles the pair if a claim comes with 80 % probability. Source: O'Hagan, Stevens and Campbell 2005
(assurance).
"""

from __future__ import annotations

import numpy as np

from simlab.analysis.settling import Needed
from simlab.types import Floats

POWER = 0.8
_Z_POWER = 0.8416212335729143
_PARTS = 400
"""Equally likely effects that stand for all."""

_STEPS = 1.02


def settle_anytime(
    difference: float, sd: float, n: float, decided: float, log_needed: float, concentration: float, limit: float
) -> Needed:
    """Return how many more settle a pair of which `n` comparisons gave `difference` with an error `sd`.

    The pair is claimed once a mixture e-process exceeds e^log_needed; `decided` of all votes are no ties.
    """
    effect, root = difference + sd * _quantiles(), sd * np.sqrt(n)
    more = np.unique(np.ceil(np.geomspace(1.0, limit, int(np.log(limit) / np.log(_STEPS)) + 2)))
    lead = np.abs(difference * n + effect[:, None] * more) - _Z_POWER * root * np.sqrt(more)
    enough = lead >= boundary((n + more) * decided, log_needed, concentration)
    return _summed(np.where(enough.any(1), more[enough.argmax(1)], np.inf), limit)


def boundary(decided: Floats | float, log_needed: float, concentration: float) -> Floats:
    """Return how far wins must lead after so many votes that are no ties (normal mixture for the Beta one)."""
    k = 2 * concentration + 1
    return np.asarray(np.sqrt(2 * (decided + k) * (log_needed + np.log((decided + k) / k) / 2)))


def detectable(sd: float, critical: float) -> float:
    """Return the smallest difference that is claimed with 80 % probability at an error `sd`."""
    return float((critical + _Z_POWER) * sd)


def _quantiles() -> Floats:
    from scipy.special import ndtri

    return np.asarray(ndtri((np.arange(_PARTS) + 0.5) / _PARTS))


def _summed(more: Floats, limit: float) -> Needed:
    more = np.ceil(np.maximum(more, 1.0))
    more = np.where(more > limit, np.inf, more)
    low, median, high = (float(np.quantile(more, q, method="higher")) for q in (0.25, 0.5, 0.75))
    return Needed(median, low, high)
